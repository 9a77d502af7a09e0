//! Databases that can't be opened, or must not be changed: each says why, and stays as it was.

use crate::skips::skipped;
use crate::support::{Folder, Ran, flip, program};
use evergraph::Database;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process;

const COMMANDS: [&[&str]; 5] =
    [&["stats"], &["check"], &["checkpoint"], &["run", "wcc"], &["query", "g.V()"]];

/// Every command on the database `name` fails with `code` and `words`.
#[track_caller]
fn every_command_fails(folder: &Folder, name: &str, code: i32, words: &[&str]) {
    for command in COMMANDS {
        folder.run(&[&command[..1], &[name], &command[1..]].concat()).failed(code, words);
    }
}

/// Every command that opens the database `name` fails as corrupt, and `check` lists what is wrong.
#[track_caller]
fn every_command_finds_damage(folder: &Folder, name: &str, words: &[&str]) {
    for command in COMMANDS.iter().filter(|command| command[0] != "check") {
        folder.run(&[&command[..1], &[name], &command[1..]].concat()).failed(5, words);
    }
    let check = folder.run(&["check", name]);
    assert_eq!(check.code, Some(5), "{check:?}");
    assert!(words.iter().all(|word| check.out.contains(word)), "{check:?}");
    assert!(check.out.contains("social.eg is damaged: "), "{check:?}");
}

#[test]
fn a_missing_database_is_not_made_by_looking_at_it() {
    let folder = Folder::new();
    every_command_fails(&folder, "none.eg", 3, &["none.eg"]);
    assert!(!folder.path("none.eg").exists());
}

#[test]
fn a_folder_or_file_that_is_no_database_is_refused() {
    let folder = Folder::new();
    folder.write("people.csv", "id:ID\n1\n");
    fs::create_dir(folder.path("photos")).unwrap();
    folder.write("photos/a.jpeg", "not a graph");
    every_command_fails(&folder, "photos", 2, &["photos", "not an Evergraph database"]);
    every_command_fails(&folder, "people.csv", 2, &["people.csv is a file"]);
    folder.run(&["import", "photos", "people.csv"]).failed(2, &["photos", "not an Evergraph database"]);
    folder.run(&["import", "people.csv", "people.csv"]).failed(2, &["people.csv is a file"]);
    assert_eq!(folder.read("photos/a.jpeg"), "not a graph");
}

#[test]
fn an_import_adds_to_a_database_and_changes_no_vertex_that_is_there() {
    let folder = Folder::with_social();
    let again = ["import", "social.eg", "people.csv", "knows.csv"];
    folder.run(&again).failed(2, &["people.csv:2", "vertex \"1\" is in the database already"]);
    let counts = |folder: &Folder| {
        let stats = folder.json(&["stats", "social.eg"]);
        (stats["vertices_count"].as_u64(), stats["edges_count"].as_u64())
    };
    folder.run(&["generate", "rmat", "social.eg"]).failed(2, &["social.eg", "3 vertices"]);
    assert_eq!(counts(&folder), (Some(3), Some(3)), "nothing of a refused import is there");
    fs::write(folder.path("more.csv"), "id:ID,name:string,:LABEL\n4,Grace,Person\n").unwrap();
    fs::write(folder.path("met.csv"), ":START_ID,:END_ID,:TYPE\n4,1,MET\n").unwrap();
    folder.run(&["import", "social.eg", "more.csv", "met.csv"]).succeeded();
    assert_eq!(counts(&folder), (Some(4), Some(4)));
    folder.run(&["check", "social.eg"]).succeeded();
}

#[test]
fn an_empty_database_or_folder_takes_an_import() {
    let folder = Folder::with_social();
    fs::create_dir(folder.path("empty")).unwrap();
    folder.run(&["import", "empty", "people.csv"]).succeeded();
    Database::open(folder.path("new.eg")).unwrap().close().unwrap();
    folder.run(&["import", "new.eg", "people.csv"]).succeeded();
    assert_eq!(folder.json(&["stats", "new.eg"])["vertices_count"], 3);
}

#[test]
fn a_database_that_is_open_elsewhere_names_the_process() {
    let folder = Folder::with_social();
    let database = Database::open(folder.path("social.eg")).unwrap();
    let pid = process::id().to_string();
    every_command_fails(&folder, "social.eg", 8, &["social.eg", &pid]);
    folder.run(&["import", "social.eg", "people.csv"]).failed(8, &[&pid]);
    database.close().unwrap();
    drop(database);
    folder.run(&["stats", "social.eg"]).succeeded();
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let folder = Folder::with_social();
    let manifest = folder.path("social.eg/manifest");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes[8..12].copy_from_slice(&99u32.to_le_bytes());
    bytes[12..16].fill(0);
    let crc = crc32c::crc32c(&bytes[..64]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    fs::write(&manifest, bytes).unwrap();
    every_command_fails(&folder, "social.eg", 2, &["format 99", "newer Evergraph"]);
}

#[test]
fn a_damaged_checkpoint_is_named_with_its_offset() {
    let folder = Folder::with_social();
    let bodies = folder.file_of("social.eg", "bodies-");
    flip(&bodies, 4100);
    let name = bodies.file_name().unwrap().to_str().unwrap();
    every_command_finds_damage(&folder, "social.eg", &[name, "byte"]);
    flip(&bodies, 4100);
    folder.run(&["check", "social.eg"]).succeeded();
    flip(&folder.path("social.eg/manifest"), 70);
    every_command_finds_damage(&folder, "social.eg", &["manifest"]);
}

#[test]
fn a_damaged_log_is_named_with_its_offset() {
    let folder = Folder::with_social();
    let database = Database::open(folder.path("social.eg")).unwrap();
    for born in 0..20 {
        database.transact(|tx| tx.add_vertex("Person", &[("born", born.into())])).unwrap();
    }
    database.close().unwrap();
    drop(database);
    let log = folder.file_of("social.eg", "log-");
    // Into the payload of a batch with others behind it: page 0 is the file's header.
    flip(&log, 3 * 4096 + 45);
    let name = log.file_name().unwrap().to_str().unwrap();
    every_command_finds_damage(&folder, "social.eg", &[name, "byte"]);
    flip(&log, 3 * 4096 + 45);
    assert_eq!(folder.json(&["stats", "social.eg"])["vertices_count"], 23);
}

#[test]
fn files_that_may_not_be_written_are_named() {
    let folder = Folder::with_social();
    let set =
        |name: &str, mode| fs::set_permissions(folder.path(name), Permissions::from_mode(mode)).unwrap();
    set("", 0o755);
    set("social.eg", 0o555);
    fs::read_dir(folder.path("social.eg")).unwrap().for_each(|entry| {
        fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(0o444)).unwrap();
    });
    let run = |arguments: &[&str]| {
        let mut command = program();
        command.args(arguments).current_dir(folder.root());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            // Root may write everything: nobody may not.
            command.uid(65534).gid(65534);
        }
        command.output().map(Ran::of)
    };
    let Ok(stats) = run(&["stats", "social.eg"]) else {
        return skipped("the program is where only root reaches it");
    };
    let denied = "ermission denied";
    stats.failed(7, &["social.eg", denied]);
    run(&["import", "new.eg", "people.csv"]).unwrap().failed(7, &["new.eg", denied]);
    run(&["generate", "rmat", "--out", "new"]).unwrap().failed(7, &["new", denied]);
    set("social.eg", 0o755);
}
