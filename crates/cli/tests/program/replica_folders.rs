//! Folders that `evergraph replica resync` may replace, and those that it must leave alone.

use crate::replicas::{following, one, run_until_now};
use crate::shop::Shop;
use crate::support::{Folder, eventually};
use evergraph::{Database, EngineKind, Options};
use std::process::Command;

const SLOTS: &str = "SELECT slot_name::text FROM pg_replication_slots WHERE database = current_database()";

/// A mistyped name replaced a database of another kind, and a detached one lost what users had written to it.
#[test]
fn a_resync_refuses_what_is_not_a_replica_before_it_copies() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::with_social(), shop.url());
    let following = following(&shop, &folder, &url);
    let resync = |database: &str| {
        let ran = shop.run(&folder, &[&["replica", "resync", database], &following[..]].concat());
        assert!(!folder.path(&format!("{database}.resync")).exists(), "{ran:?}");
        assert_eq!(shop.query(SLOTS), Vec::<Vec<Option<String>>>::new(), "{ran:?}");
        ran
    };
    let people = ["query", "social.eg", "g.V().hasLabel('Person').count()", "--quiet"];
    resync("social.eg").failed(2, &["social.eg stays as it is", "not a replica"]);
    assert_eq!(folder.run(&people).succeeded().out, "3\n");

    // While another process has it open, which no replica ever had.
    let served = folder.serve(&["social.eg"]);
    resync("social.eg").failed(8, &["open in process"]);
    served.end("-TERM");

    std::fs::create_dir(folder.path("plain")).unwrap();
    folder.write("plain/letter.txt", "hi");
    let refused = resync("plain");
    assert!(!refused.err.contains("call this again"), "{refused:?}");
    refused.failed(2, &["plain", "not an Evergraph database"]);
    assert_eq!(folder.read("plain/letter.txt"), "hi");

    run_until_now(&shop, &folder, &following).succeeded();
    shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).succeeded();
    folder.run(&["query", "shop.eg", "g.addV('Own')"]).succeeded();
    resync("shop.eg").failed(2, &["shop.eg stays as it is", "it was detached"]);
    assert_eq!(one(&folder, "g.V().hasLabel('Own').count()"), "1");
}

/// A comparison of an empty database copied the tables into it, and made a slot and a publication at the source.
#[test]
fn a_comparison_of_what_is_not_a_replica_changes_nothing() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::with_social(), shop.url());
    let following = following(&shop, &folder, &url);
    Database::open(folder.path("empty.eg")).unwrap().close().unwrap();
    for database in ["empty.eg", "social.eg"] {
        let verify = [&["replica", "verify", database], &following[..]].concat();
        shop.run(&folder, &verify).failed(2, &[database, "is not a replica"]);
    }
    assert!(shop.query("SELECT 1::text FROM pg_publication").is_empty() && shop.query(SLOTS).is_empty());
    folder.run(&["query", "empty.eg", "g.addV('Own')"]).succeeded();
}

#[test]
fn a_resync_of_a_replica_that_is_read_waits_with_the_swap() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let resync = [&["replica", "resync", "shop.eg"], &following[..]].concat();
    let served = folder.serve(&["shop.eg"]);
    shop.run(&folder, &resync).failed(8, &["shop.eg.resync is complete", "call this again"]);
    served.end("-TERM");
    let status = folder.run(&["replica", "status", "shop.eg"]);
    assert!(status.out.contains("\ncopy          shop.eg.resync; "), "{status:?}");
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "2");
    shop.run(&folder, &resync).succeeded();
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "3");
    assert_eq!(shop.query(SLOTS).len(), 1);
}

/// It became one of the memory engine, which no other process reads beside the one that follows.
#[test]
fn a_resync_keeps_the_engine_of_a_replica() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    for engine in [EngineKind::Mapped, EngineKind::Disk] {
        let path = folder.path("shop.eg");
        let options = Options { engine: Some(engine), memory_limit_bytes: 256 << 20, ..Options::default() };
        Database::open_with(&path, &options).unwrap().close().unwrap();
        run_until_now(&shop, &folder, &following).succeeded();
        assert_eq!(Database::engine_at(&path).unwrap(), engine);
        shop.run(&folder, &[&["replica", "resync", "shop.eg"], &following[..]].concat()).succeeded();
        assert_eq!(Database::engine_at(&path).unwrap(), engine);
        assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "2");
        shop.run(&folder, &[&["replica", "verify", "shop.eg"], &following[..]].concat()).succeeded();
        shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).succeeded();
        std::fs::remove_dir_all(&path).unwrap();
    }
}

/// A mistyped password left a slot at the source, whose log it keeps for nobody.
#[test]
fn a_source_that_does_not_answer_is_forgotten_on_request_alone() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let detach = ["replica", "detach", "shop.eg", "--source", &url];
    folder.run_with(&[("PGPASSWORD", "wrong")], &detach).failed(2, &["password", "--forget-source"]);
    let run = [&["replica", "run", "shop.eg"], &following[..]].concat();
    let paused = folder.run_with(&[("PGPASSWORD", "wrong")], &run);
    assert!(!paused.err.contains("shop.eg: follows"), "it never did: {paused:?}");
    paused.failed(2, &["has paused at", "password"]);
    let nobody = "postgres://ann@127.0.0.1:1/shop?connect_timeout=2";
    let detach = ["replica", "detach", "shop.eg", "--source", nobody];
    folder.run(&detach).failed(7, &["127.0.0.1:1/shop", "--forget-source"]);
    run_until_now(&shop, &folder, &following).succeeded();
    let forgotten = folder.run(&["replica", "detach", "shop.eg", "--forget-source"]).succeeded().out;
    let (_, drop_slot) = forgotten.split_once("LEFT AT THE SOURCE: the replication slot").unwrap();
    shop.query(drop_slot.lines().nth(1).unwrap());
    assert!(shop.query(SLOTS).is_empty());
    folder.run(&["query", "shop.eg", "g.addV('Own')"]).succeeded();
}

/// `detach` of a backup dropped the slot and the publication of the replica that followed.
#[test]
fn a_copy_of_a_replica_leaves_the_source_alone_and_may_take_its_place() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    folder.run(&["backup", "shop.eg", "copy.eg"]).succeeded();
    let status = folder.run(&["replica", "status", "copy.eg"]);
    assert_eq!(status.code, Some(1), "{status:?}");
    let slot = shop.query(SLOTS)[0][0].clone().unwrap();
    for words in ["a copy of a replica", &slot, "position      0/", "--forget-source"] {
        assert!(status.out.contains(words), "{words} is not in {status:?}");
    }
    let detach = ["replica", "detach", "copy.eg", "--source", &url];
    shop.run(&folder, &detach).failed(2, &["a copy of a replica", "--forget-source"]);
    let resync = [&["replica", "resync", "copy.eg"], &following[..]].concat();
    shop.run(&folder, &resync).failed(2, &["a copy of a replica", "--forget-source"]);
    assert!(!folder.path("copy.eg.resync").exists());
    assert_eq!(shop.query("SELECT 1::text FROM pg_publication").len(), 1);
    let forgotten = folder.run(&["replica", "detach", "copy.eg", "--forget-source"]).succeeded();
    assert!(forgotten.out.contains("if no other database follows by it: SELECT"), "{forgotten:?}");
    folder.run(&["query", "copy.eg", "g.addV('Own')"]).succeeded();
    folder.run(&["replica", "status", "copy.eg"]).failed(3, &["no replica"]);
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    run_until_now(&shop, &folder, &following).succeeded();

    folder.run(&["convert", "shop.eg", "mapped.eg", "--engine", "mapped"]).succeeded();
    std::fs::remove_dir_all(folder.path("shop.eg")).unwrap();
    std::fs::rename(folder.path("mapped.eg"), folder.path("shop.eg")).unwrap();
    shop.query("INSERT INTO customer VALUES (4, 'Dan', true)");
    run_until_now(&shop, &folder, &following).succeeded();
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "4");
    assert_eq!(shop.query(SLOTS), [[Some(slot)]], "it goes on by the slot of before");
    let detached = shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).succeeded();
    assert!(detached.out.contains("dropped at the source: the replication slot"), "{detached:?}");
}

/// A copied folder paused with the remedy `resync`, which dropped the slot that the original followed by.
#[test]
fn a_copied_folder_that_is_behind_does_not_drop_the_slot_of_the_original() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let [from, to] = ["shop.eg", "copy.eg"].map(|name| folder.path(name));
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    run_until_now(&shop, &folder, &following).succeeded();
    let shared = ["another database, perhaps a copy of this one, follows by", "--forget-source"];
    let of_copy = |command: &'static str| [&["replica", command, "copy.eg"], &following[..]].concat();
    let paused = shop.run(&folder, &of_copy("run"));
    assert_eq!(paused.code, Some(2), "{paused:?}");
    for words in [&shared[..], &["error: copy.eg has paused at "]].concat() {
        assert!(paused.err.contains(words), "{words} is not in {paused:?}");
    }
    shop.run(&folder, &of_copy("resync")).failed(2, &shared);
    assert!(!folder.path("copy.eg.resync").exists());
    shop.run(&folder, &["replica", "detach", "copy.eg", "--source", &url]).failed(2, &shared);
    assert_eq!(shop.query(SLOTS).len(), 1);
    shop.query("INSERT INTO customer VALUES (4, 'Dan', true)");
    run_until_now(&shop, &folder, &following).succeeded();
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "4");
    // The way out where the original is gone.
    let slot = shop.query(SLOTS)[0][0].clone().unwrap();
    shop.query(&format!("SELECT pg_drop_replication_slot('{slot}')"));
    shop.run(&folder, &of_copy("resync")).succeeded();
    let copied = folder.run(&["query", "copy.eg", "g.V().hasLabel('Customer').count()", "--quiet"]);
    assert_eq!(copied.succeeded().out, "4\n");
}

/// Nobody noticed slots whose folders were removed, until the disk was full.
#[test]
fn a_check_tells_of_a_slot_that_nobody_reads() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    std::fs::remove_dir_all(folder.path("shop.eg")).unwrap();
    let slot = shop.query(SLOTS)[0][0].clone().unwrap();
    let check = ["replica", "check", &url, "--mapping", "shop.toml"];
    let told = format!("warning: nobody reads the replication slot \"{slot}\"");
    let drop_slot = format!("SELECT pg_drop_replication_slot('{slot}')");
    // The server takes a moment to notice that its reader is gone.
    eventually("it is told", || {
        let checked = shop.run(&folder, &check).succeeded();
        checked.out.contains(&told) && checked.out.contains(&format!("\n  {drop_slot}\n"))
    });
    shop.query(&drop_slot);
    assert!(!shop.run(&folder, &check).succeeded().out.contains("nobody reads"));
}
