//! Clusters as they are created: folders, who may read them, what is refused and how it is said.

use crate::free_ports::free_ports;
use crate::support::Folder;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

const NODES: [&str; 2] = ["--nodes", "db0:7400,db1:7400,db2:7400"];
const LOG: [&str; 2] = ["--log", "http://etcd0,http://etcd1:12379"];

/// Creates a cluster with more options.
fn create(more: &[&str]) -> Vec<String> {
    let words = [&["cluster", "create"][..], &NODES, &LOG, more].concat();
    words.into_iter().map(str::to_owned).collect()
}

fn run(folder: &Folder, more: &[&str]) -> crate::support::Ran {
    let words = create(more);
    folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Who may do what with a file, in octal digits.
fn mode(folder: &Folder, name: &str) -> u32 {
    fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_cluster_is_a_folder_for_each_node_that_its_owner_alone_reads() {
    let folder = Folder::new();
    let ran = run(&folder, &["shop"]).succeeded();
    for part in [
        "the cluster shop has 3 nodes, 64 partitions, 2 copies of each\n",
        "it survives the loss of 1 node",
        "  scp -rp shop/node-1 db1: && ssh -t db1 evergraph cluster serve node-1\n",
        "keep shop/ca.key where no node runs",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(ran.err, "");
    for (name, expected) in [("shop", 0o700), ("shop/node-2", 0o700), ("shop/ca.key", 0o600)] {
        assert_eq!(mode(&folder, name), expected, "{name}");
    }
    for secret in ["node.key", "cluster.toml"] {
        assert_eq!(mode(&folder, &format!("shop/node-0/{secret}")), 0o600, "{secret}");
    }
    let description = folder.read("shop/node-0/cluster.toml");
    assert_eq!(description, folder.read("shop/node-2/cluster.toml"), "all nodes agree");
    let own = folder.read("shop/node-1/node.toml");
    assert!(own.contains("node = 1") && own.contains("http://etcd1:12379"), "{own}");
    assert!(!folder.path("shop/node-1/ca.key").exists(), "no node can sign");
    run(&folder, &["shop"]).failed(2, &["shop is not empty", "nothing is overwritten"]);
}

#[test]
fn a_node_keeps_one_copy_of_a_partition_at_most() {
    let folder = Folder::new();
    let trial = ["cluster", "create", "trial", "--nodes", "db0:7400", LOG[0], LOG[1]];
    let ran = folder.run(&trial).succeeded();
    assert!(ran.out.starts_with("the cluster trial has 1 node, 64 partitions, 1 copy of each\n"), "{ran:?}");
    assert!(ran.out.contains("no node of it may be lost"), "{ran:?}");
}

#[test]
fn what_was_made_is_a_document_for_programs() {
    let folder = Folder::new();
    let more = create(&["shops/web", "--name", "shop", "--copies", "3", "--partitions", "8"]);
    let report = folder.json(&more.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        (&report["cluster"], &report["copies"], &report["partitions"]),
        (&json!("shop"), &json!(3), &json!(8))
    );
    assert_eq!(report["authority_key"], "shops/web/ca.key");
    assert_eq!(report["nodes"][2], json!({"node": 2, "address": "db2:7400", "folder": "shops/web/node-2"}));
    assert_eq!(report["cluster_id"].as_str().map(str::len), Some(32));
    let quiet = run(&folder, &["other", "--quiet"]).succeeded();
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn what_cannot_be_created_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    for (more, words) in [
        (&["shop", "--copies", "0"][..], &["--copies"][..]),
        (&["shop", "--partitions", "5000"], &["--partitions", "1 to 4096"]),
        (&["shop", "--name", "g"], &["aliases"]),
        (&["shop", "--log-root", "none.pem"], &["https"]),
        (&["shop", "--log-user", "ann"], &["--log-password-file"]),
        (&["ws://localhost/shop"], &["folder"]),
    ] {
        run(&folder, more).failed(2, words);
    }
    let wrong = |nodes: &str, log: &str, words: &[&str]| {
        folder.run(&["cluster", "create", "shop", "--nodes", nodes, "--log", log]).failed(2, words);
    };
    wrong("db0:1,db0:1", LOG[1], &["two nodes have the address db0:1"]);
    wrong("db0", LOG[1], &["\"db0\" is not the address of a node", "host:port"]);
    wrong("db0:1", "etcd0:2379", &["http://host:2379"]);
    let no_root = ["https://etcd0 needs the file of its root certificate", "--log-root"];
    wrong("db0:1", "http://etcd1,https://etcd0", &no_root);
    folder.run(&["cluster", "create", "shop", LOG[0], LOG[1]]).failed(2, &["--nodes"]);
    folder.run(&["cluster", "create", "shop", NODES[0], NODES[1]]).failed(2, &["--log"]);
    assert!(!folder.path("shop").exists());
}

#[test]
fn a_node_gets_another_certificate_and_keeps_what_else_it_has() {
    let folder = Folder::new();
    run(&folder, &["shop"]).succeeded();
    let files = ["node.key", "node.pem", "ca.pem", "cluster.toml", "node.toml"];
    let read = || files.map(|name| folder.read(&format!("shop/node-1/{name}")));
    let before = read();
    let ran = folder.run(&["cluster", "renew", "shop", "shop/node-1"]).succeeded();
    assert!(ran.out.starts_with("shop/node-1 has a new key and certificate"), "{ran:?}");
    let changed: Vec<&str> = files
        .into_iter()
        .zip(before.iter().zip(&read()))
        .filter(|(_, (old, new))| old != new)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(changed, ["node.key", "node.pem"]);
    assert_eq!(mode(&folder, "shop/node-1/node.key"), 0o600);
    folder.run(&["cluster", "renew", "shop/node-0", "shop/node-1"]).failed(3, &["ca.key"]);
    run(&folder, &["other"]).succeeded();
    let stranger = folder.run(&["cluster", "renew", "other", "shop/node-1"]);
    stranger.failed(2, &["for shop/node-1 by other/ca.key", "not signed by the cluster's CA"]);
}

#[test]
fn what_is_no_node_is_not_served_and_has_no_status() {
    let folder = Folder::with_social();
    let serve =
        |name: &str| folder.run(&["cluster", "serve", name, "--listen", "127.0.0.1:0", "--log-level", "off"]);
    serve("none").failed(3, &["none"]);
    serve("social.eg").failed(3, &["social.eg", "cluster.toml"]);
    for name in ["none", "social.eg"] {
        folder.run(&["cluster", "status", name]).failed(3, &[name, "cluster.toml"]);
    }
    folder.run(&["cluster", "status", "social.eg", "--tls-root", "a.pem"]).failed(2, &["--tls-root"]);
    run(&folder, &["shop"]).succeeded();
    folder.run(&["cluster", "status", "shop/node-0"]).failed(3, &["evergraph cluster serve shop/node-0"]);
    let public = ["cluster", "serve", "shop/node-0", "--listen", "0.0.0.0:8182"];
    folder.run(&public).failed(2, &["other machines"]);
    folder
        .run(&["cluster", "serve", "shop/node-0", "--durability", "none"])
        .failed(2, &["--durability", "cluster"]);
    // A folder that was not taken as a whole.
    fs::remove_file(folder.path("shop/node-1/node.key")).unwrap();
    serve("shop/node-1").failed(3, &["node.key"]);
    let edited = folder.read("shop/node-2/cluster.toml").replace("copies = 2", "copies = 3");
    folder.write("shop/node-2/cluster.toml", edited);
    serve("shop/node-2").failed(2, &["cluster.toml", "edited"]);
    let served = folder.serve(&["social.eg"]);
    let no_node = folder.run(&["cluster", "status", &served.url()]);
    no_node.failed(3, &["\"social\" is no node of a cluster"]);
}

/// It waits for its log for half a minute, and a command that opens a node has nothing else to end it by.
#[test]
fn a_command_that_waits_for_the_log_of_a_node_ends_when_it_is_asked_to() {
    let folder = Folder::new();
    let [node, log] = free_ports(2)[..] else { panic!("two ports") };
    let (node, log) = (format!("127.0.0.1:{node}"), format!("http://127.0.0.1:{log}"));
    folder.run(&["cluster", "create", "shop", "--nodes", &node, "--log", &log]).succeeded();
    let began = Instant::now();
    let query = ["query", "cluster:shop/node-0", "g.V().count()"];
    folder.interrupted(&query, Duration::from_secs(2)).failed(130, &["cancelled"]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let damaged = folder.path("shop/node-0/node_state");
    fs::write(damaged, "nothing of a node").unwrap();
    let serve = ["cluster", "serve", "shop/node-0", "--listen", "127.0.0.1:0", "--log-level", "off"];
    let ran = folder.run(&serve);
    assert!(!ran.err.contains("salvage"), "no command for a database helps: {ran:?}");
    ran.failed(5, &["node_state is corrupt", "docs/guide/cluster.md"]);
}

/// They joined the cluster first, and waited for its log, to be refused then.
#[test]
fn work_on_files_is_refused_before_the_node_is_opened() {
    let folder = Folder::new();
    let [node, log] = free_ports(2)[..] else { panic!("two ports") };
    let (node, log) = (format!("127.0.0.1:{node}"), format!("http://127.0.0.1:{log}"));
    folder.run(&["cluster", "create", "shop", "--nodes", &node, "--log", &log]).succeeded();
    folder.write("a.e", "1 2\n");
    let follow = ["--source", "postgres://ann@127.0.0.1:1/shop", "--mapping", "shop.toml"];
    folder.write("shop.toml", "[[table]]\ntable = \"film\"\nlabel = \"Film\"\n");
    let commands: [(&[&str], &str); 7] = [
        (&["backup", "cluster:shop/node-0", "copy.eg"], "cannot be backed up by a node: export it"),
        (&["checkpoint", "cluster:shop/node-0"], "makes the checkpoints of its partitions by itself"),
        (&["convert", "cluster:shop/node-0", "new.eg", "--engine", "disk"], "cannot be converted: import"),
        (&["import", "cluster:shop/node-0", "a.e"], "takes no bulk load"),
        (&["check", "cluster:shop/node-0"], "cannot be checked by a node"),
        (&[&["replica", "run", "cluster:shop/node-0"], &follow[..]].concat(), "cannot follow a source"),
        (&["replica", "detach", "cluster:shop/node-0", "--forget-source"], "cannot follow a source"),
    ];
    for (command, text) in commands {
        let began = Instant::now();
        folder.run(command).failed(2, &["cluster:shop/node-0: ", text]);
        assert!(began.elapsed() < Duration::from_secs(20), "{command:?}: {:?}", began.elapsed());
    }
}
