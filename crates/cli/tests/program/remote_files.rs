//! Files of and for a server: imports, exports, backups, checks and checkpoints by URL, and what is left where they break off.

use crate::support::{Folder, Ran, Served, eventually, program, send};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;

/// A server of all databases in the folder `root`, with a copy of `from` there.
fn serve_root(folder: &Folder, from: &str) -> (Served, String) {
    fs::create_dir(folder.path("root")).unwrap();
    folder.run(&["backup", from, &format!("root/{from}")]).succeeded();
    let served = folder.serve(&["--root", "root"]);
    let url = format!("{}/{}", served.url(), from.trim_end_matches(".eg"));
    (served, url)
}

/// The files in `path` with their content.
fn content(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

/// The names in `path` that are not known, such as temporary ones.
fn left_in(path: &Path, known: &[&str]) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !known.contains(&&**name)).collect()
}

fn is_empty(folder: &Folder, spool: &str) -> bool {
    left_in(&folder.path("root/.evergraph-spool").join(spool), &[]).is_empty()
}

#[test]
fn an_export_of_a_server_is_that_of_the_folder() {
    let folder = Folder::with_social();
    let (_served, url) = serve_root(&folder, "social.eg");
    for (format, output) in [("csv", "tables"), ("parquet", "columns"), ("edgelist", "lists")] {
        let export = |place: &str, output: &str| {
            folder.json(&["export", place, "--format", format, "--output", output])
        };
        let local = export("social.eg", output);
        let remote = export(&url, &format!("remote_{output}"));
        assert_eq!(
            content(&folder.path(output)),
            content(&folder.path(&format!("remote_{output}"))),
            "{format}"
        );
        for member in ["files", "format", "vertices_count", "edges_count", "not_carried"] {
            assert_eq!(local[member], remote[member], "{format}: {member}");
        }
    }
    let one = |place: &str, output: &str| folder.run(&["export", place, "--output", output]).succeeded();
    one("social.eg", "social.json");
    let told = one(&url, "remote.json").out;
    assert!(told.starts_with(&format!("{url}: 3 vertices and 3 edges written to remote.json in ")), "{told}");
    assert_eq!(folder.read("social.json"), folder.read("remote.json"));
    one(&url, "remote.json.gz");
    assert!(fs::read(folder.path("remote.json.gz")).unwrap().starts_with(&[0x1f, 0x8b]));
    let printed = folder.run(&["export", &url, "--format", "graphson", "--output", "-"]).succeeded();
    assert_eq!(printed.out, folder.read("social.json"));
    let again = ["export", &url, "--output", "remote.json"];
    folder.run(&again).failed(2, &["already exists", "--overwrite"]);
    folder.run(&[&again[..], &["--overwrite"]].concat()).succeeded();
    folder.run(&["export", &url, "--format", "edgelist", "--output", "list.e"]).failed(2, &["folder"]);
    folder.run(&["export", &url, "--output", "x", "--label", "Persn"]).failed(3, &["Persn"]);
    eventually("what was fetched is forgotten", || is_empty(&folder, "jobs"));
}

#[test]
fn a_backup_of_a_server_is_a_database() {
    let folder = Folder::with_social();
    let (served, url) = serve_root(&folder, "social.eg");
    folder.run(&["query", &url, "g.addV('Person').property('id', '4')"]).succeeded();
    let told = folder.run(&["backup", &url, "copy.eg"]).succeeded().out;
    assert!(
        told.contains("4 vertices and 3 edges") && told.contains("copied to copy.eg and checked"),
        "{told}"
    );
    assert_eq!(folder.run(&["query", "copy.eg", "g.V().count()"]).succeeded().out, "4\n");
    folder.run(&["backup", &url, "copy.eg"]).failed(2, &["copy.eg isn't empty"]);
    let made = folder.json(&["backup", &url, "other.eg", "--no-check"]);
    assert_eq!((&made["vertices_count"], &made["checked"]), (&json!(4), &json!(false)));
    eventually("what was fetched is forgotten", || is_empty(&folder, "jobs"));
    served.end("-TERM").succeeded();
    let bare = folder.serve(&["social.eg"]);
    folder.run(&["backup", &(bare.url() + "/social"), "third.eg"]).failed(2, &["--spool"]);
    assert!(!folder.path("third.eg").exists());
}

#[test]
fn a_check_and_a_checkpoint_run_on_the_server() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url() + "/social";
    let told = folder.run(&["check", &url]).succeeded().out;
    assert!(told.starts_with(&format!("{url} is healthy: 3 vertices and 3 edges verified in ")), "{told}");
    let checked = folder.json(&["check", &url]);
    assert_eq!((&checked["healthy"], &checked["bytes_count"]), (&json!(true), &Json::Null));
    let told = folder.run(&["checkpoint", &url]).succeeded().out;
    assert!(told.starts_with(&format!("{url}: checkpoint through commit ")), "{told}");
    assert_eq!(folder.json(&["checkpoint", &url])["disk_bytes"], Json::Null);
}

#[test]
fn files_are_imported_into_a_server() {
    let folder = Folder::with_social();
    let (_served, url) = serve_root(&folder, "social.eg");
    folder.write("more.csv", "id:ID(Person),name:string,:LABEL\n7,Grace,Person\n8,Kurt,Person\n");
    folder.write("met.csv", ":START_ID(Person),:END_ID(Person),:TYPE\n7,8,MET\n");
    let told = folder.run(&["import", &url, "more.csv", "met.csv"]).succeeded().out;
    assert!(told.starts_with(&format!("{url}: 2 vertices and 1 edge added; ")), "{told}");
    assert_eq!(
        folder.run(&["query", &url, "g.V().has('id', '7').out('MET').values('name')"]).succeeded().out,
        "Kurt\n"
    );

    folder.write("bad.csv", "id:ID,born:int,:LABEL\n10,1815,Person\n11,unknown,Person\n");
    folder.run(&["import", &url, "bad.csv"]).failed(2, &["bad.csv:3", "unknown"]);
    assert_eq!(folder.run(&["query", &url, "g.V().count()"]).succeeded().out, "5\n");
    let skipped = folder.json(&["import", &url, "bad.csv", "--on-error", "skip", "--report", "rows.csv"]);
    assert_eq!((&skipped["vertices_count"], &skipped["bad_rows"]["count"]), (&json!(1), &json!(1)));
    assert!(folder.read("rows.csv").contains("unknown"), "{}", folder.read("rows.csv"));

    // A folder, and files by what they hold.
    fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/cities.csv", "id:ID(City),name\n1,London\n");
    folder.run(&["import", &url, "data"]).succeeded();
    folder.write("places.csv", "id,name\n1,Paris\n");
    folder.run(&["import", &url, "--nodes", "Place=places.csv", "--delimiter", ","]).succeeded();
    let counted = folder.run(&["query", &url, "g.V().hasLabel('cities', 'Place').count()"]).succeeded();
    assert_eq!(counted.out, "2\n");

    for (rest, code, word) in [
        (&["none.csv"][..], 3, "none.csv"),
        (&["more.csv", "--engine", "disk"], 2, "--engine"),
        (&["more.csv", "--memory", "1GiB"], 2, "--memory"),
        (&["more.csv", "--temporary", "."], 2, "--temporary"),
        (&["-"], 2, "standard input"),
        (&["more.csv", "data"], 2, "one folder"),
        (&["--relationships", "met.csv"], 2, "--edges"),
        (&["more.csv", "--propose"], 2, "--propose"),
    ] {
        folder.run(&[&["import", &url][..], rest].concat()).failed(code, &[word]);
    }
    eventually("nothing is left of imports", || is_empty(&folder, "uploads") && is_empty(&folder, "jobs"));
}

#[test]
fn a_reader_may_neither_import_nor_export() {
    let folder = Folder::with_social();
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
    folder.run(&["user", "grant", "users.json", "ann", "social", "reader"]).succeeded();
    let served = folder.serve(&["social.eg", "--users", "users.json", "--spool", "spool"]);
    let url = served.url().replace("ws://", "ws://ann@") + "/social";
    folder.write("more.csv", "id:ID,:LABEL\n7,Person\n");
    for arguments in [
        &["import", &*url, "more.csv"][..],
        &["export", &url, "--output", "out"],
        &["backup", &url, "copy.eg"],
        &["check", &url],
        &["checkpoint", &url],
    ] {
        let ran = folder.run_with(&[("EVERGRAPH_PASSWORD", "correct horse")], arguments);
        ran.failed(2, &["reader", "admin"]);
    }
    assert!(!folder.path("out").exists() && !folder.path("copy.eg").exists());
}

/// A proxy before `server` that cuts a connection off behind `bytes` of what comes from it, or of what goes to it, once a
/// request begins with `method` and has `word` in its first line.
fn cutting_proxy(server: &str, method: &'static str, word: &'static str, bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = server.to_owned();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let mut first = [0; 4096];
            let Ok(count @ 1..) = client.read(&mut first) else { continue };
            let head = String::from_utf8_lossy(&first[..count]).into_owned();
            let is_cut =
                head.starts_with(method) && head.lines().next().is_some_and(|line| line.contains(word));
            let limit = if is_cut { bytes } else { usize::MAX };
            let (mut to_server, mut from_server) = (server.try_clone().unwrap(), server);
            let (mut to_client, mut from_client) = (client.try_clone().unwrap(), client);
            thread::spawn(move || {
                let (up, down) = (
                    if method == "PUT" { limit } else { usize::MAX },
                    if method == "GET" { limit } else { usize::MAX },
                );
                let _ = to_server.write_all(&first[..count]);
                let closing = [to_server.try_clone().unwrap(), to_client.try_clone().unwrap()];
                let carrying = thread::spawn(move || carry(&mut from_client, &mut to_server, up));
                carry(&mut from_server, &mut to_client, down);
                closing.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
                carrying.join().unwrap();
            });
        }
    });
    format!("ws://{address}")
}

/// Carries at most `bytes` bytes; then both ends are closed.
fn carry(from: &mut TcpStream, to: &mut TcpStream, mut bytes: usize) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut part) {
        if count > bytes || to.write_all(&part[..count]).is_err() {
            break;
        }
        bytes -= count;
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_download_that_breaks_off_leaves_nothing() {
    let folder = Folder::with_bank();
    let (served, _) = serve_root(&folder, "bank.eg");
    let url = cutting_proxy(&served.address, "GET", "/files/", 20_000) + "/bank";
    let known = ["bank.eg", "root"];
    for arguments in [
        &["export", &*url, "--output", "out", "--format", "csv"][..],
        &["export", &url, "--output", "bank.json"],
        &["backup", &url, "copy.eg"],
    ] {
        let ran = folder.run(arguments);
        assert!(
            ran.code == Some(7) && ran.err.contains("127.0.0.1") | ran.err.contains("server"),
            "{arguments:?}: {ran:?}"
        );
        assert_eq!(left_in(folder.root(), &known), [""; 0], "a download that breaks off leaves nothing");
    }
    eventually("the server has forgotten the files", || is_empty(&folder, "jobs"));
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing() {
    let folder = Folder::with_social();
    let (served, direct) = serve_root(&folder, "social.eg");
    let url = cutting_proxy(&served.address, "PUT", "/uploads/", 50_000) + "/social";
    let rows: String = (10..20_000).map(|id| format!("{id},Person\n")).collect();
    folder.write("more.csv", format!("id:ID,:LABEL\n{rows}"));
    let ran = folder.run(&["import", &url, "more.csv"]);
    assert!(ran.code == Some(7), "{ran:?}");
    eventually("the upload is removed", || is_empty(&folder, "uploads"));
    assert_eq!(folder.run(&["query", &direct, "g.V().count()"]).succeeded().out, "3\n");
}

#[test]
fn ctrl_c_cancels_the_job_on_the_server() {
    let folder = Folder::with_social();
    let (served, url) = serve_root(&folder, "social.eg");
    // Some gigabytes in some megabytes, which take longer than the test waits.
    let pack = |rows: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(rows).unwrap();
        packed.finish().unwrap()
    };
    let rows = pack(&b"1,Person\n".repeat(1 << 14)).repeat(1 << 14);
    folder.write("people.csv.gz", [pack(b"id:ID,:LABEL\n"), rows].concat());
    let mut program = program();
    program.args(["import", &url, "people.csv.gz", "--on-error", "skip"]).current_dir(folder.root());
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the import runs", || served.get("/jobs").contains("\"running\""));
    send("-INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(ran.code == Some(130) && ran.err.contains("cancelled"), "{ran:?}");
    let jobs = served.get("/jobs");
    assert!(jobs.contains("\"cancelled\"") && !jobs.contains("\"running\""), "{jobs}");
    eventually("the upload is removed", || is_empty(&folder, "uploads"));
}

#[test]
fn a_server_of_an_older_version_is_said_to_be_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}/social", listener.local_addr().unwrap());
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            let _ =
                client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let folder = Folder::new();
    for arguments in [&["stats", &*url][..], &["check", &url], &["export", &url, "--output", "out"]] {
        folder.run(arguments).failed(2, &["older"]);
    }
    assert_eq!(left_in(folder.root(), &[]), [""; 0]);
}
