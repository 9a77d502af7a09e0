//! Folders that `evergraph replica resync` may replace, and those that it must leave alone.

use crate::replicas::{following, one, run_until_now};
use crate::shop::Shop;
use crate::support::Folder;
use evergraph::{Database, EngineKind, Options};

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
