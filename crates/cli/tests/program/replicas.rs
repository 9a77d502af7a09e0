//! Replicas: mappings for a real PostgreSQL are proposed and checked as people do it, by the program.

use crate::running_replica::{RunningReplica, metrics_at};
use crate::shop::Shop;
use crate::support::{Folder, Ran, eventually, program};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::private_server::PrivateServerOptions;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_proposed_mapping_is_written_once_and_passes_the_check() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let printed = shop.run(&folder, &["replica", "propose", &url]).succeeded().out;
    for words in
        ["table = \"customer\"", "label = \"Customer\"", "type = \"ORDER_ITEM\"", "type = \"CUSTOMER\""]
    {
        assert!(printed.contains(words), "{words} is not in {printed}");
    }
    let propose = ["replica", "propose", &url, "-o", "shop.toml"];
    let written = shop.run(&folder, &propose).succeeded().out;
    assert!(
        written.starts_with("shop.toml: 4 rules") && written.contains("evergraph replica check"),
        "{written}"
    );
    assert_eq!(folder.read("shop.toml"), printed);
    shop.run(&folder, &propose).failed(2, &["shop.toml"]);
    shop.run(&folder, &[&propose[..], &["--overwrite"]].concat()).succeeded();

    let checked = shop.run(&folder, &["replica", "check", &url, "--mapping", "shop.toml"]).succeeded();
    let ends = "can be followed by shop.toml: 4 tables become 3 labels and 2 types of edges; 1 warning\n";
    assert!(checked.out.ends_with(ends), "{checked:?}");
    assert!(
        checked.out.starts_with("warning: there is no publication \"evergraph\"\n  CREATE PUBLICATION "),
        "{checked:?}"
    );
}

#[test]
fn what_fails_at_the_source_is_named_with_the_sql_that_mends_it() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    shop.run(&folder, &["replica", "propose", &url, "-o", "shop.toml"]).succeeded();
    shop.query("ALTER TABLE product REPLICA IDENTITY NOTHING");
    let check = ["replica", "check", &url, "--mapping", "shop.toml", "--json"];
    let found = shop.run(&folder, &check);
    assert_eq!(found.code, Some(2), "{found:?}");
    let document: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let error = findings.iter().find(|finding| finding["severity"] == "error").unwrap();
    let cause = error["cause"].as_str().unwrap();
    assert!(cause.starts_with("shop.toml:") && cause.contains("FAILS AT THE SOURCE"), "{cause}");
    assert_eq!(document["ready"], false);
    shop.query(error["remedy"].as_str().unwrap());
    shop.run(&folder, &check).succeeded();
}

#[test]
fn a_role_hears_which_rights_it_lacks_and_rules_where_they_are_wrong() {
    let Some(shop) = Shop::new() else { return };
    let folder = Folder::new();
    shop.run(&folder, &["replica", "propose", &shop.url(), "-o", "shop.toml"]).succeeded();
    shop.query("CREATE ROLE reader LOGIN PASSWORD 'of a reader'");
    let url = shop.url().replace("postgres://postgres@", "postgres://reader@");
    let check = ["replica", "check", &url, "--mapping", "shop.toml"];
    let found = folder.run_with(&[("PGPASSWORD", "of a reader")], &check);
    assert_eq!(found.code, Some(2), "{found:?}");
    for words in [
        "ALTER ROLE reader REPLICATION",
        "GRANT SELECT ON",
        "may not read customer",
        "cannot be followed yet",
    ] {
        assert!(found.out.contains(words), "{words} is not in {found:?}");
    }
    folder.run_with(&[("PGPASSWORD", "wrong")], &check).failed(2, &["password"]);
    folder.write("wrong.toml", "[[table]]\ntable = \"costumer\"\nlabel = \"C\"\n");
    let found = shop.run(&folder, &["replica", "check", &shop.url(), "--mapping", "wrong.toml"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(found.out.contains("wrong.toml:2: table: ") && found.out.contains("customer"), "{found:?}");
}

#[test]
fn without_a_server_a_mapping_or_a_url_the_program_says_so_and_shows_no_password() {
    let folder = Folder::new();
    let nobody = "postgres://ann@127.0.0.1:1/shop?connect_timeout=2";
    folder.run(&["replica", "propose", nobody]).failed(7, &["127.0.0.1:1/shop"]);
    folder.run(&["replica", "check", nobody, "--mapping", "none.toml"]).failed(3, &["none.toml"]);
    folder.write("files.toml", "[[file]]\npath = \"a.csv\"\n");
    folder.run(&["replica", "check", nobody, "--mapping", "files.toml"]).failed(2, &["[[table]]", "propose"]);
    folder.run(&["replica", "propose", "shop.eg"]).failed(2, &["postgres://"]);
    let secret = folder.run(&["replica", "propose", "postgres://ann:secret@127.0.0.1/shop"]);
    assert!(!secret.err.contains("secret"), "{secret:?}");
    secret.failed(2, &["PGPASSWORD"]);
}

/// The arguments of a replica of `shop` in `shop.eg`, by the mapping that is proposed.
pub fn following<'a>(shop: &Shop, folder: &Folder, url: &'a str) -> [&'a str; 4] {
    shop.run(folder, &["replica", "propose", url, "-o", "shop.toml"]).succeeded();
    ["--source", url, "--mapping", "shop.toml"]
}

/// The only result of a query.
pub fn one(folder: &Folder, query: &str) -> String {
    folder.run(&["query", "shop.eg", query, "--quiet"]).succeeded().out.trim().to_owned()
}

pub fn run_until_now(shop: &Shop, folder: &Folder, following: &[&str]) -> Ran {
    shop.run(folder, &[&["replica", "run", "shop.eg", "--until", "now"], following].concat())
}

#[test]
fn a_replica_is_copied_follows_is_verified_and_detached() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    let ran = run_until_now(&shop, &folder, &following).succeeded();
    assert!(ran.out.starts_with("shop.eg was copied, and has what the source had at "), "{ran:?}");
    assert_eq!(
        one(&folder, "g.V().hasLabel('Customer').has('vip', true).in('CUSTOMER').out('ORDER_ITEM').count()"),
        "2"
    );

    shop.query("INSERT INTO customer VALUES (3, 'Cem', true); UPDATE orders SET customer_id = 3 WHERE id = 2; DELETE FROM order_item WHERE order_id = 1 AND product_id = 2");
    let ran = run_until_now(&shop, &folder, &following).succeeded();
    assert!(ran.out.starts_with("shop.eg has what the source had at "), "{ran:?}");
    let kept = format!("/{} keeps its log for the slot evergraph_{}_", shop.name, shop.name);
    assert!(ran.out.contains(&kept) && ran.out.contains("`evergraph replica detach`"), "{ran:?}");
    assert_eq!(one(&folder, "g.V().has('Customer', 'name', 'Cem').in('CUSTOMER').count()"), "1");
    assert_eq!(one(&folder, "g.E().hasLabel('ORDER_ITEM').count()"), "2");
    let write = ["query", "shop.eg", "g.addV('Customer')"];
    folder.run(&write).failed(2, &["follows", "detach"]);

    let status = folder.run(&["replica", "status", "shop.eg", "--json"]);
    assert_eq!(status.code, Some(1), "nothing runs: {status:?}");
    let document: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!((&document["state"], &document["running"]), (&"stopped".into(), &false.into()));
    assert!(!status.out.contains(shop.password()));
    folder.run(&["replica", "stop", "shop.eg"]).failed(3, &["no replica runs"]);

    let verify = [&["replica", "verify", "shop.eg"], &following[..]].concat();
    let equal = shop.run(&folder, &verify).succeeded().out;
    assert!(equal.contains("shop.eg is equal to its source at "), "{equal}");
    let slots = "SELECT count(*)::text FROM pg_replication_slots WHERE database = current_database()";
    // The server takes a moment to notice that who had it is gone.
    eventually("a temporary slot is gone", || shop.query(slots)[0][0].as_deref() == Some("1"));
    folder.run(&["replica", "detach", "shop.eg"]).failed(2, &["--source"]);
    let detached = shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).succeeded().out;
    assert!(detached.contains("dropped at the source: the replication slot"), "{detached}");
    assert_eq!(shop.query(slots)[0][0].as_deref(), Some("0"));
    folder.run(&write).succeeded();
    folder.run(&["replica", "status", "shop.eg"]).failed(3, &["no replica"]);
    shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).failed(2, &["follows nothing"]);
}

#[test]
fn a_replica_in_the_background_is_told_about_measured_and_stopped() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    let replica = start_replica(&shop, &folder, &following);
    // What comes during the copy is part of it.
    get_until(&replica.address, "evergraph_replica_state{database=\"shop\",state=\"following\"} 1.0\n");
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let committed = shop.query("SELECT pg_current_wal_flush_lsn()::text")[0][0].clone().unwrap();
    get_until(&replica.address, "evergraph_replica_rows_total{database=\"shop\"} 1.0\n");
    let metrics =
        get_until(&replica.address, "evergraph_replica_freshness_seconds_count{database=\"shop\"} 1\n");
    assert!(metrics.contains("evergraph_replica_last_error_seconds{database=\"shop\"} 0.0\n"), "{metrics}");
    // What is killed before its log is synced has the row sent again: that is right, and not what is asked below.
    let is_told = format!(
        "SELECT coalesce(bool_and(confirmed_flush_lsn >= '{committed}'), false)::text FROM pg_replication_slots \
         WHERE database = current_database()"
    );
    eventually("the row is durable and its source told", || {
        shop.query(&is_told)[0][0].as_deref() == Some("true")
    });
    // The file is written once a second.
    let status = ["replica", "status", "shop.eg"];
    eventually("the status says so", || {
        folder.run(&status).succeeded().out.contains("state         following\n")
    });
    folder.run(&["query", "shop.eg", "g.V().count()"]).failed(8, &["open in process"]);
    let stop_first = ["`evergraph replica stop shop.eg`", "open in process"];
    for command in ["verify", "run", "resync"] {
        let arguments = [&["replica", command, "shop.eg"], &following[..]].concat();
        shop.run(&folder, &arguments).failed(8, &stop_first);
    }
    shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).failed(8, &stop_first);

    // Without a word, and again.
    replica.kill();
    let gone = folder.run(&["replica", "status", "shop.eg"]);
    assert!(gone.code == Some(1) && gone.out.contains("is gone"), "{gone:?}");
    shop.query("INSERT INTO customer VALUES (4, 'Dan', true)");
    let replica = start_replica(&shop, &folder, &following);
    get_until(&replica.address, "evergraph_replica_rows_total{database=\"shop\"} 1.0\n");
    let process = replica.id();
    let stopped = folder.run(&["replica", "stop", "shop.eg"]).succeeded().out;
    assert!(stopped.contains(&format!("process {process} has stopped following, at ")), "{stopped}");
    ended(replica).succeeded();
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "4");
}

/// Starts a replica of `shop.eg` in the background with `arguments`.
pub fn start_replica(shop: &Shop, folder: &Folder, arguments: &[&str]) -> RunningReplica {
    let mut program = program();
    program.args(["replica", "run", "shop.eg"]).args(arguments);
    RunningReplica::start(program.current_dir(folder.root()).env("PGPASSWORD", shop.password()))
}

/// What a replica left behind once it has ended.
pub fn ended(replica: RunningReplica) -> Ran {
    Ran::of(replica.ended())
}

/// What `GET /metrics` says once that has `wanted`.
pub fn get_until(address: &str, wanted: &str) -> String {
    let began = Instant::now();
    loop {
        let metrics = metrics_at(address).unwrap();
        if metrics.contains(wanted) {
            return metrics;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{wanted} does not come: {metrics}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn following_ends_at_the_position_that_is_named_and_not_before() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let position = shop.query("SELECT pg_current_wal_lsn()::text")[0][0].clone().unwrap();
    let until = ["replica", "run", "shop.eg", "--until", &position];
    let ran = shop.run(&folder, &[&until[..], &following].concat()).succeeded();
    let rest = ran.out.strip_prefix("shop.eg has what the source had at ");
    let reached = rest.unwrap_or_else(|| panic!("{ran:?}")).split(':').next().unwrap();
    let [reached, wanted] = [reached, &position].map(|position| position.parse::<Lsn>().unwrap());
    assert!(reached >= wanted, "{position}: {ran:?}");
    assert_eq!(one(&folder, "g.V().has('Customer', 'name', 'Cem').count()"), "1");

    // The source's log is not as long, and what the source has now is no end.
    let replica = start_replica(&shop, &folder, &[&following[..], &["--until", "FFFFFF/0"]].concat());
    shop.query("INSERT INTO customer VALUES (4, 'Dan', true)");
    get_until(&replica.address, "evergraph_replica_rows_total{database=\"shop\"} 1.0\n");
    folder.run(&["replica", "stop", "shop.eg"]).succeeded();
    let stopped = ended(replica).succeeded();
    assert!(stopped.out.starts_with("shop.eg stopped at "), "{stopped:?}");
}

#[test]
fn a_shell_reads_what_is_followed() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let shell = [&["replica", "run", "shop.eg", "--shell"], &following[..]].concat();
    let ran = shop.run_on(&folder, "g.V().hasLabel('Customer').count()\n", &shell).succeeded();
    assert_eq!(ran.out, "3\n", "{ran:?}");
    // The end of the shell is the end of following, with its exit code.
    let refused = shop.run_on(&folder, "g.addV('Customer')\n", &shell);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("standard input") && refused.err.contains("follows"), "{refused:?}");
    let status = folder.run(&["replica", "status", "shop.eg"]);
    assert!(status.code == Some(1) && status.out.contains("state         stopped\n"), "{status:?}");
    // The next run goes on where it was.
    let slots = "SELECT 1::text FROM pg_replication_slots WHERE database = current_database()";
    assert_eq!(shop.query(slots).len(), 1);
    shop.query("INSERT INTO customer VALUES (4, 'Dan', true)");
    let ran = run_until_now(&shop, &folder, &following).succeeded();
    assert!(ran.out.starts_with("shop.eg has what the source had at "), "{ran:?}");
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "4");
}

#[test]
fn a_pause_says_what_to_do_and_a_resync_is_the_way_out() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query("ALTER TABLE customer DROP COLUMN vip; INSERT INTO customer VALUES (3, 'Cem')");
    let paused = run_until_now(&shop, &folder, &following);
    assert_eq!(paused.code, Some(2), "{paused:?}");
    for words in ["error: shop.eg has paused at ", "the column vip", "evergraph replica resync"] {
        assert!(paused.err.contains(words) && !paused.err.contains("at 0/0"), "{words} is not in {paused:?}");
    }
    let status = folder.run(&["replica", "status", "shop.eg"]);
    assert_eq!(status.code, Some(1), "{status:?}");
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "2", "it is read as before: {paused:?}");

    let resync = [&["replica", "resync", "shop.eg"], &following[..]].concat();
    let done = shop.run(&folder, &resync).succeeded().out;
    assert!(done.starts_with("shop.eg was copied anew"), "{done}");
    let next = format!("\n  evergraph replica run shop.eg --source '{url}' --mapping shop.toml\n");
    assert!(done.ends_with(&next), "{done}");
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "3");
    let slots = "SELECT count(*)::text FROM pg_replication_slots WHERE database = current_database()";
    assert_eq!(shop.query(slots)[0][0].as_deref(), Some("1"), "the old slot is dropped");
    assert!(!folder.path("shop.eg.resync-old").exists() && !folder.path("shop.eg.resync").exists());
    shop.query("INSERT INTO customer VALUES (4, 'Dan')");
    run_until_now(&shop, &folder, &following).succeeded();
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "4");

    // The first replica made the publication; the one in its place drops it.
    let detach = ["replica", "detach", "shop.eg", "--source", &url];
    let detached = shop.run(&folder, &detach).succeeded().out;
    assert!(
        detached.contains("dropped at the source: the publication") && !detached.contains("LEFT"),
        "{detached}"
    );
    assert_eq!(shop.query(slots)[0][0].as_deref(), Some("0"));
    assert!(shop.query("SELECT 1 FROM pg_publication").is_empty());
}

/// A nightly job says so: nothing changed at the source, and what is here is what it had.
#[test]
fn until_now_is_not_reached_before_the_source_was_compared() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let other = shop.url_of("postgres");
    let elsewhere = ["--source", &other, "--mapping", "shop.toml"];
    let wanted = format!("name {:?} in the source's URL", shop.name);
    let is_paused = |following: &[&str], why: &str| {
        let paused = run_until_now(&shop, &folder, following);
        assert_eq!(paused.code, Some(2), "{paused:?}");
        assert!(
            paused.err.contains("error: shop.eg has paused at ") && paused.err.contains(why),
            "{paused:?}"
        );
    };
    is_paused(&elsewhere, &wanted);
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query(&drop_slot_of(&folder, "shop.eg"));
    is_paused(&following, "is gone");
}

/// The SQL that drops the slot of a replica.
pub fn drop_slot_of(folder: &Folder, database: &str) -> String {
    let status = folder.run(&["replica", "status", database, "--json"]).out;
    let document: serde_json::Value = serde_json::from_str(&status).unwrap();
    format!("SELECT pg_drop_replication_slot('{}')", document["slot"].as_str().unwrap())
}

#[test]
fn a_resync_goes_on_with_the_copy_of_a_call_before_or_begins_anew_if_that_is_of_no_use() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let slots = "SELECT count(*)::text FROM pg_replication_slots WHERE database = current_database()";
    // As after a swap that found the old one open.
    let copy = |following: &[&str]| {
        let run = ["replica", "run", "shop.eg.resync", "--until", "now"];
        shop.run(&folder, &[&run[..], following].concat()).succeeded();
        assert_eq!(shop.query(slots)[0][0].as_deref(), Some("2"));
    };
    let resync = |following: &[&str]| {
        let ran = shop.run(&folder, &[&["replica", "resync", "shop.eg"], following].concat()).succeeded();
        assert!(ran.out.starts_with("shop.eg was copied anew"), "{ran:?}");
        assert_eq!(shop.query(slots)[0][0].as_deref(), Some("1"), "{ran:?}");
        assert!(!folder.path("shop.eg.resync").exists());
        run_until_now(&shop, &folder, following).succeeded();
        ran.err
    };
    // Names that this call leaves out are its own.
    copy(&[&following[..], &["--publication", "second"]].concat());
    assert!(!resync(&following).contains("is removed"));
    // By another mapping.
    copy(&following);
    folder.write("other.toml", format!("{}# another text\n", folder.read("shop.toml")));
    let following = ["--source", &url, "--mapping", "other.toml"];
    let said = resync(&following);
    assert!(said.contains("shop.eg.resync is removed: it follows by another mapping"), "{said}");
    // Its slot is gone, and nobody would see what changed since.
    copy(&following);
    shop.query(&drop_slot_of(&folder, "shop.eg.resync"));
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    let said = resync(&following);
    assert!(said.contains("shop.eg.resync is removed: the replication slot"), "{said}");
    assert_eq!(one(&folder, "g.V().hasLabel('Customer').count()"), "3");
}

#[test]
fn a_resync_keeps_the_copy_of_another_server_whose_slot_would_stay() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let copy = ["replica", "run", "shop.eg.resync", "--until", "now"];
    shop.run(&folder, &[&copy[..], &following].concat()).succeeded();
    let elsewhere = Shop::of_server(&PrivateServerOptions::default()).unwrap();
    let resync = ["replica", "resync", "shop.eg", "--source", &elsewhere.url(), "--mapping", "shop.toml"];
    let refused = elsewhere.run(&folder, &resync);
    refused.failed(2, &["another system", "`evergraph replica detach shop.eg.resync` with --source"]);
    let resync = [&["replica", "resync", "shop.eg"], &following[..]].concat();
    assert!(!shop.run(&folder, &resync).succeeded().err.contains("is removed"), "its own URL");
}

#[test]
fn a_replica_is_not_detached_by_the_url_of_another_database() {
    let (Some(shop), Some(other)) = (Shop::new(), Shop::new()) else { return };
    let (folder, url, wrong) = (Folder::new(), shop.url(), other.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    // By the default name, and a person made it.
    other.query("CREATE PUBLICATION evergraph FOR ALL TABLES");
    let wanted = format!("name {:?} in the source's URL", shop.name);
    shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &wrong]).failed(2, &[&wanted]);
    assert_eq!(other.query("SELECT 1::text FROM pg_publication").len(), 1);
    run_until_now(&shop, &folder, &following).succeeded();
    let detached = shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).succeeded().out;
    assert!(!detached.contains("LEFT"), "{detached}");
}

#[test]
fn a_publication_that_somebody_made_for_the_replica_outlives_a_resync_and_a_detach() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    shop.query("CREATE PUBLICATION evergraph FOR ALL TABLES WITH (publish_via_partition_root = true)");
    run_until_now(&shop, &folder, &following).succeeded();
    shop.run(&folder, &[&["replica", "resync", "shop.eg"], &following[..]].concat()).succeeded();
    shop.run(&folder, &["replica", "detach", "shop.eg", "--source", &url]).succeeded();
    assert_eq!(shop.query("SELECT 1::text FROM pg_publication").len(), 1);
    assert!(shop.query("SELECT 1 FROM pg_replication_slots WHERE database = current_database()").is_empty());
}

#[test]
fn a_replica_that_cannot_begin_leaves_nothing_behind() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    shop.query("ALTER TABLE product REPLICA IDENTITY NOTHING");
    let refused = run_until_now(&shop, &folder, &following);
    assert!(
        !refused.err.contains("\\n"),
        "one line, without signs that a terminal would not show: {refused:?}"
    );
    refused.failed(
        2,
        &[
            "cannot be followed yet: shop.toml:",
            "FAILS AT THE SOURCE: ALTER TABLE public.product REPLICA IDENTITY",
        ],
    );
    assert!(!folder.path("shop.eg").exists());
    folder.run(&["generate", "rmat", "--scale", "4", "--out", "rmat/"]).succeeded();
    folder.run(&["import", "shop.eg", "rmat/"]).succeeded();
    shop.query("ALTER TABLE product REPLICA IDENTITY DEFAULT");
    run_until_now(&shop, &folder, &following).failed(2, &["16 vertices", "name a new folder"]);
    folder.run(&["replica", "status", "none.eg"]).failed(3, &["none.eg"]);
    folder
        .run(&["replica", "run", "shop.eg", "--source", &url, "--mapping", "shop.toml", "--until", "soon"])
        .failed(2, &["16/B374D848"]);
}
