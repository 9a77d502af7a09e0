//! Nodes of a cluster as processes on a real etcd: one writes, another reads, one is killed and comes back, one loses its disk.
//!
//! Without the program `etcd` the test says that it was skipped; with `CI` set it fails.

use crate::free_ports::free_ports;
use crate::one_etcd::start_etcd;
use crate::support::{Folder, Served, eventually};
use crate::web_socket::{Received, WebSocket};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

/// Creates so many nodes, with so many copies of each partition, whose log is at `log`. Where each answers others.
pub fn create_cluster(folder: &Folder, log: &str, nodes: usize, copies: usize) -> Vec<String> {
    let addresses: Vec<String> =
        free_ports(nodes).into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let (nodes, copies) = (addresses.join(","), copies.to_string());
    let create = ["cluster", "create", "shop", "--nodes", nodes.as_str(), "--log", log];
    folder.run(&[&create[..], &["--partitions", "8", "--copies", copies.as_str()]].concat()).succeeded();
    addresses
}

/// What a folder has.
fn names(folder: &Path) -> BTreeSet<OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Serves a node, and waits until drivers can connect.
pub fn serve(folder: &Folder, node: usize) -> Served {
    serve_beside(folder, node, &[])
}

/// The same with variables of the environment.
fn serve_beside(folder: &Folder, node: usize, variables: &[(&str, &str)]) -> Served {
    let home = format!("shop/node-{node}");
    let served = folder.serve_by(&["cluster", "serve"], variables, &[&home, "--quiet", "--json"]);
    assert!(
        served.first.contains(&format!("\"node\": {node}")) || served.first.contains("ws://"),
        "{}",
        served.first
    );
    served
}

/// The only number that a query gives.
fn number(served: &Served, gremlin: &str) -> i64 {
    let mut socket = WebSocket::connect(&served.address);
    socket.send(gremlin, None);
    let mut numbers = Vec::new();
    loop {
        let Received::Response(response) = socket.receive() else { panic!("the connection ended") };
        let code = response["status"]["code"].as_u64().unwrap();
        assert!([200, 206, 204].contains(&code), "{gremlin}: {response}");
        numbers.extend(numbers_in(&response["result"]["data"]));
        if code != 206 {
            assert_eq!(numbers.len(), 1, "{gremlin}: {response}");
            return numbers[0];
        }
    }
}

/// All whole numbers of a document of GraphSON.
fn numbers_in(document: &Value) -> Vec<i64> {
    match document {
        Value::Number(number) => number.as_i64().into_iter().collect(),
        Value::Array(values) => values.iter().flat_map(numbers_in).collect(),
        Value::Object(members) => members.values().flat_map(numbers_in).collect(),
        _ => Vec::new(),
    }
}

/// How a node is, by its folder; with the exit code.
fn status(folder: &Folder, node: usize) -> (Option<i32>, Value) {
    let ran = folder.run(&["cluster", "status", &format!("shop/node-{node}"), "--json"]);
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}")))
}

/// Which of the nodes this one hears of, itself included.
fn reached(status: &Value) -> Vec<u64> {
    let members = status["members"].as_array().unwrap();
    members
        .iter()
        .filter(|member| member["reached"] == true)
        .map(|member| member["node"].as_u64().unwrap())
        .collect()
}

#[test]
fn nodes_share_a_graph_go_on_without_one_and_it_catches_up() {
    let folder = Folder::new();
    let Some((_etcd, log)) = start_etcd(folder.root()) else { return };
    let addresses = create_cluster(&folder, &log, 3, 2);
    let [first, second, third] = [0, 1, 2].map(|node| serve(&folder, node));

    // One writes, others read.
    let people = "g.V().hasLabel('Person').count()";
    let add = |name: &str| {
        format!(
            "g.addV('Person').property('name', '{name}').as('p').V().hasLabel('Person').limit(1).addE('KNOWS').to('p').count()"
        )
    };
    folder.run(&["query", &first.url(), "g.addV('Person').property('name', 'Ada')"]).succeeded();
    for name in ["Charles", "Mary"] {
        assert_eq!(number(&first, &add(name)), 1);
    }
    for node in [&second, &third] {
        eventually("the others have what was committed", || number(node, people) == 3);
        eventually("and both ends of edges", || number(node, "g.V().out('KNOWS').count()") == 2);
    }
    assert_eq!(number(&third, &add("Grace")), 1);

    // What each says of itself.
    // As it was a second ago, or longer on a busy machine.
    eventually("all hear of each other, and of what was committed", || {
        let (_, now) = status(&folder, 0);
        reached(&now) == [0, 1, 2] && now["records"]["committed"].as_u64().unwrap() >= 4
    });
    let (code, now) = status(&folder, 0);
    assert_eq!((code, &now["state"], &now["running"]), (Some(0), &"serving".into(), &true.into()), "{now}");
    assert_eq!(now["partitions"]["kept"].as_u64().map(|kept| kept > 0), Some(true), "{now}");
    let by_url = folder.json(&["cluster", "status", &first.url()]);
    assert_eq!(
        (&by_url["cluster"], &by_url["node"], &by_url["pid"]),
        (&now["cluster"], &now["node"], &now["pid"])
    );
    let text = folder.run(&["cluster", "status", "shop/node-1"]).succeeded().out;
    for part in ["shop, 3 nodes", "1: serves", "this node", addresses[2].as_str()] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let metrics = first.get("/metrics");
    for series in
        ["cluster_position{database=\"shop\"}", "cluster_member_reached{database=\"shop\",node=\"2\"} 1"]
    {
        assert!(metrics.contains(series), "{series}: {metrics}");
    }
    assert!(first.get("/readyz").ends_with("ready\n"));
    let again = ["cluster", "serve", "shop/node-0", "--listen", "127.0.0.1:0", "--log-level", "off"];
    folder.run(&again).failed(8, &["shop/node-0"]);
    let query = folder.run(&["query", "cluster:shop/node-0", people]);
    query.failed(8, &["is open in process", "by the URL of its server"]);

    // A power cut, for one of them.
    third.end("-KILL");
    assert_eq!(number(&first, &add("Joan")), 1);
    eventually("the second has it as well", || number(&second, people) == 5);
    eventually("the loss is seen", || reached(&status(&folder, 0).1) == [0, 1]);
    let (code, gone) = status(&folder, 2);
    assert_eq!((code, &gone["running"]), (Some(1), &false.into()), "{gone}");

    // It comes back, and reads what it has missed.
    let third = serve(&folder, 2);
    eventually("it has what it has missed", || number(&third, people) == 5);
    assert_eq!(number(&third, &add("Barbara")), 1);
    eventually("and is heard of", || reached(&status(&folder, 0).1) == [0, 1, 2]);
    eventually("the others have what it wrote", || number(&second, people) == 6);

    for node in [first, second, third] {
        let ended = node.end("-TERM");
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(status(&folder, 0).0, Some(1));
}

/// Has etcd forget everything before a position of the log.
fn compact(log: &str, first: u64) {
    let address = log.strip_prefix("http://").unwrap();
    let body = format!("{{\"revision\":\"{}\",\"physical\":true}}", first - 1);
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head =
        format!("POST /v3/kv/compaction HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    // Others may have trimmed it as far by then.
    assert!(answer.contains(" 200 ") || answer.contains("compacted"), "{answer}");
}

#[test]
fn a_node_whose_machine_was_replaced_has_everything_from_the_others() {
    let folder = Folder::new();
    let Some((_etcd, log)) = start_etcd(folder.root()) else { return };
    create_cluster(&folder, &log, 3, 2);
    let home = folder.path("shop/node-2");
    let settings = names(&home);
    for node in 0..3 {
        let file = format!("shop/node-{node}/node.toml");
        let (before, often) = ("checkpoint-seconds = 30", "checkpoint-seconds = 1");
        let text = folder.read(&file);
        assert!(text.contains(before), "{text}");
        folder.write(&file, text.replace(before, often));
    }
    let [first, second, third] = [0, 1, 2].map(|node| serve(&folder, node));
    let (people, edges) = ("g.V().hasLabel('Person').count()", "g.V().out('KNOWS').count()");
    let add = |node: &Served, count: usize| {
        for _ in 0..count {
            let query =
                "g.addV('Person').as('p').V().hasLabel('Person').limit(1).addE('KNOWS').to('p').count()";
            number(node, query);
        }
    };
    folder.run(&["query", &first.url(), "g.addV('Person')"]).succeeded();
    add(&second, 20);
    third.end("-KILL");
    let lost = status(&folder, 2).1;

    // While it is away the log goes on, and is kept for it no more. A new machine has its settings alone.
    add(&first, 30);
    let needed = |node| status(&folder, node).1["log"]["needed_from"].as_u64().unwrap();
    let had = lost["log"]["applied"].as_u64().unwrap();
    eventually("the others need nothing of what it had", || {
        [0, 1].into_iter().all(|node| needed(node) > had + 1)
    });
    compact(&log, needed(0).min(needed(1)));
    for name in names(&home).difference(&settings) {
        let path = home.join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    // Its service manager hears that it gets on, before it is ready.
    let manager = UnixDatagram::bind(folder.path("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let socket = folder.path("notify").display().to_string();
    let (third, told) = std::thread::scope(|scope| {
        // Meanwhile, since a socket has room for few messages.
        let listener = scope.spawn(|| {
            let (mut told, mut bytes) = (String::new(), [0_u8; 4096]);
            while !told.contains("READY=1") {
                let length = manager.recv(&mut bytes).unwrap();
                told.push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
            told
        });
        let third = serve_beside(&folder, 2, &[("NOTIFY_SOCKET", socket.as_str())]);
        (third, listener.join().unwrap())
    });
    assert!(told.contains("EXTEND_TIMEOUT_USEC=300000000\nSTATUS=copies "), "{told}");
    assert_eq!([people, edges].map(|query| number(&third, query)), [51, 50]);
    let (code, now) = status(&folder, 2);
    assert_eq!((code, &now["state"]), (Some(0), &"serving".into()), "{now}");
    let partitions = &now["partitions"];
    eventually("its copies are proved", || {
        let (_, now) = status(&folder, 2);
        now["partitions"]["complete"] == partitions["kept"]
    });
    assert!(
        partitions["kept"].as_u64().unwrap() > 0 && partitions["problems"] == serde_json::json!([]),
        "{now}"
    );

    // It takes part, and has applied the same as the others, who may go.
    add(&third, 5);
    eventually("all have applied the same", || {
        let [first, second, third] = [0, 1, 2].map(|node| status(&folder, node).1["log"].clone());
        let applied = |log: &Value| (log["applied"].clone(), log["digest"].clone());
        applied(&first) == applied(&second) && applied(&second) == applied(&third)
    });
    first.end("-KILL");
    for node in [&second, &third] {
        assert_eq!([people, edges].map(|query| number(node, query)), [56, 55]);
    }
    let first = serve(&folder, 0);
    second.end("-KILL");
    for node in [&first, &third] {
        eventually("it has everything", || [people, edges].map(|query| number(node, query)) == [56, 55]);
    }
}
