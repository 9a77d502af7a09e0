//! What `evergraph replica` says of a source that does not show all, and of errors that pass.

use crate::replicas::{ended, following, get_until, run_until_now, start_replica};
use crate::shop::Shop;
use crate::support::{Folder, eventually, program};
use evergraph_replica::private_server::PrivateServerOptions;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// A comparison blamed the graph for rows that the role did not see.
#[test]
fn a_comparison_needs_a_role_that_sees_all_rows() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    following(&shop, &folder, &url);
    shop.query(
        "CREATE ROLE part_seer LOGIN REPLICATION PASSWORD 'of a part'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO part_seer;
         CREATE PUBLICATION evergraph FOR ALL TABLES WITH (publish_via_partition_root = true)",
    );
    let url = url.replace("postgres://postgres@", "postgres://part_seer@");
    let run = |arguments: &[&str]| {
        let of_source = ["--source", &url, "--mapping", "shop.toml"];
        folder.run_with(&[("PGPASSWORD", "of a part")], &[&["replica"], arguments, &of_source].concat())
    };
    run(&["run", "shop.eg", "--until", "now"]).succeeded();
    run(&["verify", "shop.eg"]).succeeded();
    shop.query("ALTER TABLE customer ENABLE ROW LEVEL SECURITY");
    let refused =
        ["cannot be compared", "row-level security of customer may hide rows from part_seer", "BYPASSRLS"];
    run(&["verify", "shop.eg"]).failed(2, &refused);
    shop.query("ALTER ROLE part_seer BYPASSRLS");
    run(&["verify", "shop.eg"]).succeeded();
    shop.query("REVOKE SELECT ON product FROM part_seer; GRANT SELECT (id, title) ON product TO part_seer");
    run(&["verify", "shop.eg"]).failed(2, &["part_seer may not read price of product"]);
}

/// A service's journal had no line of a full disk, or of a lost connection.
#[test]
fn each_new_error_is_a_line_and_so_is_that_it_follows_again() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    run_until_now(&shop, &folder, &following).succeeded();
    let mut program = program();
    program.args([&["replica", "run", "shop.eg"], &following[..]].concat()).current_dir(folder.root());
    program.env("PGPASSWORD", shop.password()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut line_with = |words: &str| loop {
        let line = errors.next().unwrap_or_else(|| panic!("{words} does not come")).unwrap();
        if line.contains(words) {
            return line;
        }
    };
    line_with("shop.eg: follows");
    let walsender = "SELECT pg_terminate_backend(active_pid)::text FROM pg_replication_slots
        WHERE database = current_database() AND active";
    eventually("it streams", || shop.query(walsender).len() == 1);
    let error = line_with("shop.eg: ");
    assert!(error.contains("follow "), "{error}");
    line_with("shop.eg: follows again, from ");
    // A resync copies nothing while it follows.
    let resync = [&["replica", "resync", "shop.eg"], &following[..]].concat();
    shop.run(&folder, &resync).failed(8, &["a replica runs there", "replica stop"]);
    assert!(!folder.path("shop.eg.resync").exists());
    folder.run(&["replica", "stop", "shop.eg"]).succeeded();
    assert!(child.wait().unwrap().success());
}

/// A copy failed at its end, for want of a second WAL sender.
#[test]
fn two_wal_senders_do_and_a_check_says_when_fewer_are_free() {
    let options = PrivateServerOptions { settings: &["max_wal_senders=2"], ..Default::default() };
    let Some(shop) = Shop::of_server(&options) else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    let taken = shop.take_sender();
    let check = ["replica", "check", &url, "--mapping", "shop.toml"];
    let found = shop.run(&folder, &check);
    assert_eq!(found.code, Some(2), "{found:?}");
    let words = "max_wal_senders is 2, and 1 are in use: a copy and a comparison take 2";
    assert!(found.out.contains(words), "{found:?}");
    run_until_now(&shop, &folder, &following).failed(2, &[words]);

    drop(taken);
    eventually("it is free", || shop.query("SELECT 1::text FROM pg_stat_replication").is_empty());
    shop.run(&folder, &check).succeeded();
    run_until_now(&shop, &folder, &following).succeeded();
    shop.query("INSERT INTO customer VALUES (3, 'Cem', true)");
    for command in ["run", "verify", "resync"] {
        let until: &[&str] = if command == "run" { &["--until", "now"] } else { &[] };
        shop.run(&folder, &[&["replica", command, "shop.eg"], until, &following[..]].concat()).succeeded();
    }
}

/// An address that is taken was told behind the copy, and while that ran nobody answered.
#[test]
fn metrics_are_there_during_the_copy_or_refused_before_it() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    shop.run(&folder, &with_metrics(&address, &following)).failed(7, &["listen for metrics at", &address]);
    shop.run(&folder, &with_metrics("0.0.0.0:0", &following)).failed(2, &["listen on 127.0.0.1"]);
    assert!(!folder.path("shop.eg").exists());

    let mut holder = shop.connect();
    holder.query("hold a table of", "BEGIN; LOCK TABLE customer IN ACCESS EXCLUSIVE MODE").unwrap();
    let replica = start_replica(&shop, &folder, &following);
    get_until(&replica.address, "evergraph_replica_state{database=\"shop\",state=\"copying\"} 1.0\n");
    holder.query("let go of", "COMMIT").unwrap();
    get_until(&replica.address, "evergraph_replica_state{database=\"shop\",state=\"following\"} 1.0\n");
    folder.run(&["replica", "stop", "shop.eg"]).succeeded();
    ended(replica).succeeded();
}

/// Amazon RDS gives membership in a role in place of the attribute, and the check refused its members.
#[test]
fn a_member_of_rds_replication_passes_the_check_and_hears_what_the_server_says() {
    // Roles are those of a whole server.
    let Some(shop) = Shop::of_server(&PrivateServerOptions::default()) else { return };
    let (folder, url) = (Folder::new(), shop.url());
    following(&shop, &folder, &url);
    shop.query(
        "CREATE ROLE rds_replication; CREATE ROLE graph LOGIN PASSWORD 'of a graph';
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO graph;
         CREATE PUBLICATION evergraph FOR ALL TABLES WITH (publish_via_partition_root = true)",
    );
    let url = url.replace("postgres://postgres@", "postgres://graph@");
    let run = |arguments: &[&str]| folder.run_with(&[("PGPASSWORD", "of a graph")], arguments);
    let check = ["replica", "check", &url, "--mapping", "shop.toml"];
    let found = run(&check);
    assert_eq!(found.code, Some(2), "{found:?}");
    let finding = "error: the role graph may not read the log\n  GRANT rds_replication TO graph\n";
    assert!(found.out.starts_with(finding), "{found:?}");
    shop.query("GRANT rds_replication TO graph");
    let checked = run(&check).succeeded();
    assert!(checked.out.contains(" can be followed by shop.toml: "), "{checked:?}");
    // Here the role has the name alone.
    let start = ["replica", "run", "shop.eg", "--source", &url, "--mapping", "shop.toml", "--until", "now"];
    let refused = run(&start);
    assert!(!refused.err.contains("cannot be followed yet"), "{refused:?}");
    refused.failed(2, &["log in to 127.0.0.1:", "FATAL 42501: "]);
    assert!(!folder.path("shop.eg").exists());
}

/// The arguments of a replica that shows its metrics at `address`.
fn with_metrics<'a>(address: &'a str, following: &[&'a str]) -> Vec<&'a str> {
    [&["replica", "run", "shop.eg", "--metrics", address], following].concat()
}
