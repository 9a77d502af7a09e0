//! Replicas of a server: it follows, serves, and says when it does not.

use crate::replicas::{drop_slot_of, following, run_until_now};
use crate::shop::Shop;
use crate::support::{Folder, Served, eventually};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
fn a_server_follows_serves_and_says_when_it_does_not() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    let served = serve(&shop, &folder);
    eventually("it follows", || served.get("/readyz").ends_with("\r\n\r\nready\n"));
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let count = ["query", &served.url(), "g.V().hasLabel('Customer').count()", "--quiet"];
    eventually("it has the new row", || folder.run(&count).succeeded().out == "3\n");
    let write = folder.run(&["query", &served.url(), "g.addV('Customer')"]);
    assert!(write.code == Some(2) && write.err.contains("follows"), "{write:?}");
    let status = served.get("/databases/shop/replica");
    assert!(status.contains("\"state\":\"following\""), "{status}");
    assert!(served.get("/metrics").contains("evergraph_replica_rows_total{database=\"shop\"} 1.0\n"));
    let status = ["replica", "status", "shop.eg"];
    eventually("the status says so", || {
        folder.run(&status).succeeded().out.contains("state         following\n")
    });

    shop.query("ALTER TABLE customer DROP COLUMN vip; INSERT INTO customer VALUES (4, 'Dan')");
    eventually("it pauses", || served.get("/readyz").contains("degraded: a replica has paused"));
    let health = folder.run(&["health", &served.url()]).succeeded().out;
    assert!(health.contains("degraded"), "{health}");
    let status = served.get("/databases/shop/replica");
    assert!(status.contains("vip") && status.contains("resync"), "{status}");
    let metrics = served.get("/metrics");
    assert!(
        metrics.contains("evergraph_replica_state{database=\"shop\",state=\"paused\"} 1.0\n"),
        "{metrics}"
    );
    assert_eq!(folder.run(&count).succeeded().out, "3\n", "it is read as before");

    // The remedy needs the database to itself, and the server serves others meanwhile.
    assert!(served.ask("POST", "/databases/shop/close").contains("\"state\":\"closed\""));
    assert!(served.get("/databases/shop/replica").contains("\"state\":\"stopped\""));
    folder.write("shop.toml", folder.read("shop.toml").replace("Product", "Good"));
    shop.run(&folder, &[&["replica", "resync", "shop.eg"], &following[..]].concat()).succeeded();
    assert!(served.ask("POST", "/databases/shop/open").contains("\"state\":\"open\""));
    eventually("it follows again", || served.get("/readyz").ends_with("\r\n\r\nready\n"));
    assert_eq!(folder.run(&count).succeeded().out, "4\n");
    shop.query("INSERT INTO customer VALUES (5, 'Eve')");
    eventually("it has the new row", || folder.run(&count).succeeded().out == "5\n");
    let ended = served.end("-TERM");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("its replica has paused"), "{ended:?}");
}

/// A server whose database follows the shop.
fn serve(shop: &Shop, folder: &Folder) -> Served {
    let url = shop.url();
    folder.write(
        "server.toml",
        format!("[[serve.replica]]\ndatabase = 'shop.eg'\nsource = '{url}'\nmapping = 'shop.toml'\nmemory = '256MiB'\n"),
    );
    folder.serve_with(&[("PGPASSWORD", shop.password())], &["--config", "server.toml"])
}

/// A resync that was killed keeps log at the source, or leaves no database under the name of the old one.
#[test]
fn a_server_finishes_a_resync_that_died_in_its_swap() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let copy_anew = || {
        let run = ["replica", "run", "shop.eg.resync", "--until", "now"];
        shop.run(&folder, &[&run[..], &following].concat()).succeeded();
    };
    // As between the two renames: the old database is away, its slot dropped, and the new one not in its place.
    let die_in_swap = || {
        shop.query(&drop_slot_of(&folder, "shop.eg"));
        folder.write("shop.eg/replaced-by-resync", "");
        fs::rename(folder.path("shop.eg"), folder.path("shop.eg.resync-old")).unwrap();
    };
    let is_finished = || {
        !["shop.eg.resync", "shop.eg.resync-old", "shop.eg/replaced-by-resync"]
            .iter()
            .any(|name| folder.path(name).exists())
    };
    let slots = "SELECT 1::text FROM pg_replication_slots WHERE database = current_database()";

    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    copy_anew();
    die_in_swap();
    let served = serve(&shop, &folder);
    assert!(is_finished());
    eventually("it follows", || served.get("/readyz").ends_with("\r\n\r\nready\n"));
    let count = ["query", &served.url(), "g.V().hasLabel('Customer').count()", "--quiet"];
    assert_eq!(folder.run(&count).succeeded().out, "3\n");
    assert_eq!(shop.query(slots).len(), 1, "the copy was not made once more");

    // Before its swap, and beside a server that goes on.
    copy_anew();
    let status = served.get("/databases/shop/replica");
    assert!(status.contains("\"state\":\"following\"") && status.contains("shop.eg.resync\""), "{status}");
    assert!(served.ask("POST", "/databases/shop/close").contains("\"state\":\"closed\""));
    shop.query("INSERT INTO customer VALUES (4, 'Dan', true)");
    die_in_swap();
    assert!(served.ask("POST", "/databases/shop/open").contains("\"state\":\"open\""));
    assert!(is_finished());
    eventually("it has the new row", || folder.run(&count).succeeded().out == "4\n");
    assert_eq!(shop.query(slots).len(), 1);
    assert!(served.get("/databases/shop/replica").contains("\"copy\":null"));

    // Killed earlier, it leaves a copy that the log tells of.
    copy_anew();
    served.ask("POST", "/databases/shop/close");
    served.ask("POST", "/databases/shop/open");
    let ended = served.end("-TERM");
    assert!(!ended.err.contains("its replica is copying"), "all was copied before: {ended:?}");
    assert!(
        ended.err.contains("shop.eg.resync: a resync began it, and the source keeps log for it"),
        "{ended:?}"
    );
}

#[test]
fn a_hang_up_starts_a_replica_again_that_could_not_begin_or_was_stopped() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    following(&shop, &folder, &url);
    shop.query("ALTER TABLE product REPLICA IDENTITY NOTHING");
    let served = serve(&shop, &folder);
    let has_status = |words: &[&str]| {
        let status = served.get("/databases/shop/replica");
        words.iter().all(|words| status.contains(words))
    };
    eventually("it cannot begin", || {
        has_status(&["\"state\":\"paused\"", "FAILS AT THE SOURCE", "send the server SIGHUP"])
    });
    // With anything in it, the database could never become the replica's.
    let write = folder.run(&["query", &served.url(), "g.addV('Customer')"]);
    assert!(write.code == Some(2) && write.err.contains("follows"), "{write:?}");
    shop.query("ALTER TABLE product REPLICA IDENTITY DEFAULT");
    served.signal("-HUP");
    eventually("it follows", || served.get("/readyz").ends_with("\r\n\r\nready\n"));

    let stopped = folder.run(&["replica", "stop", "shop.eg"]).succeeded().out;
    assert!(stopped.contains(" has stopped following, at "), "{stopped}");
    eventually("it was stopped", || has_status(&["\"state\":\"stopped\""]));
    assert!(served.get("/readyz").contains("degraded: a replica was stopped"));
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let count = ["query", &served.url(), "g.V().hasLabel('Customer').count()", "--quiet"];
    assert_eq!(folder.run(&count).succeeded().out, "2\n", "it is read as before");
    served.signal("-HUP");
    eventually("it has the new row", || folder.run(&count).succeeded().out == "3\n");
}

#[test]
fn a_server_is_not_ready_before_the_source_of_its_replica_was_compared() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query(&drop_slot_of(&folder, "shop.eg"));
    let served = serve(&shop, &folder);
    eventually("it pauses", || {
        let answer = served.get("/readyz");
        assert!(!answer.ends_with("\r\n\r\nready\n"), "{answer}");
        answer.contains("degraded: a replica has paused")
    });
}

#[test]
fn a_server_says_that_a_replica_copies_and_when_something_went_wrong_last() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    following(&shop, &folder, &url);
    // No copy begins or ends meanwhile.
    let mut holder = shop.connect();
    holder.query("hold a table of", "BEGIN; LOCK TABLE customer IN ACCESS EXCLUSIVE MODE").unwrap();
    let served = serve(&shop, &folder);
    let has = |text: &str| {
        let metrics = served.get("/metrics");
        metrics.contains(&format!("evergraph_replica_{}\n", text.replace("LABELS", "database=\"shop\"")))
    };
    eventually("it copies", || has("state{LABELS,state=\"copying\"} 1.0"));
    assert!(has("state{LABELS,state=\"following\"} 0.0"));
    assert!(served.get("/readyz").contains("degraded: a replica copies its source"));
    assert!(served.get("/databases/shop/replica").contains("\"state\":\"copying\""));
    holder.query("let go of", "COMMIT").unwrap();
    eventually("it follows", || has("state{LABELS,state=\"following\"} 1.0"));
    assert!(has("state{LABELS,state=\"copying\"} 0.0") && has("last_error_seconds{LABELS} 0.0"));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let before = now();
    shop.query("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database()");
    eventually("the lost connection is told", || !has("last_error_seconds{LABELS} 0.0"));
    let metrics = served.get("/metrics");
    let seconds = metrics.split("evergraph_replica_last_error_seconds{database=\"shop\"} ").nth(1).unwrap();
    let seconds: f64 = seconds.lines().next().unwrap().parse().unwrap();
    assert!((before..=now()).contains(&seconds), "{before} {seconds}");
}
