//! Nodes of a cluster as processes on a real etcd: one writes, another reads, one is killed and comes back.
//!
//! Without the program `etcd` the test says that it was skipped; with `CI` set it fails.

use crate::etcd::{self, RunningMember};
use crate::skips::skip;
use crate::support::{Folder, Served, eventually};
use crate::web_socket::{Received, WebSocket};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// One member of etcd, whose data lies in the folder; and where nodes find it. `None` where there is no etcd.
fn start_etcd(folder: &Folder) -> Option<(RunningMember, String)> {
    let Some(program) = etcd::program() else {
        skip(etcd::HOW_TO_INSTALL);
        return None;
    };
    let ports = etcd::free_ports(2);
    let [client, peer] = [ports[0], ports[1]].map(|port| format!("http://127.0.0.1:{port}"));
    let mut flags = etcd::member_flags("m0", &folder.path("etcd"), &client, &peer, &format!("m0={peer}"));
    flags.extend(etcd::SETTINGS.map(str::to_owned));
    let member = RunningMember::start(&program, &flags, &folder.path("etcd.log"));
    eventually("etcd serves", || {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", ports[0])) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let asked = write!(stream, "GET /health HTTP/1.0\r\n\r\n").and_then(|()| {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        });
        asked.is_ok_and(|answer| answer.contains("\"health\":\"true\""))
    });
    Some((member, client))
}

/// Serves a node, and waits until drivers can connect.
fn serve(folder: &Folder, node: usize) -> Served {
    let served =
        folder.serve_by(&["cluster", "serve"], &[], &[&format!("shop/node-{node}"), "--quiet", "--json"]);
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
    let Some((_etcd, log)) = start_etcd(&folder) else { return };
    let addresses: Vec<String> =
        etcd::free_ports(3).into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let nodes = addresses.join(",");
    let create =
        ["cluster", "create", "shop", "--nodes", nodes.as_str(), "--log", log.as_str(), "--partitions", "8"];
    folder.run(&create).succeeded();
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
    eventually("all hear of each other", || reached(&status(&folder, 0).1) == [0, 1, 2]);
    let (code, now) = status(&folder, 0);
    assert_eq!((code, &now["state"], &now["running"]), (Some(0), &"serving".into(), &true.into()), "{now}");
    assert!(now["records"]["committed"].as_u64().unwrap() >= 4, "{now}");
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
