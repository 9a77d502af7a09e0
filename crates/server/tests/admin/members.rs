//! Members: a database that is a node of a cluster says how it is, to administrators and to strangers.

use crate::site;
use crate::support::http_client::Client;
use evergraph_server::databases::cluster_member::ClusterMember;
use evergraph_server::metric_samples::{DatabaseSample, Figure};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};

/// A node with a problem that tests choose.
#[derive(Default)]
struct TroubledMember {
    problem: Mutex<Option<&'static str>>,
}

impl TroubledMember {
    fn has(&self, problem: Option<&'static str>) {
        *self.problem.lock().unwrap() = problem;
    }
}

impl ClusterMember for TroubledMember {
    fn status(&self) -> Json {
        json!({"node": 1})
    }

    fn problem(&self) -> Option<&'static str> {
        *self.problem.lock().unwrap()
    }

    fn samples(&self) -> Vec<DatabaseSample> {
        let figure = Figure::Gauge(5.0);
        vec![DatabaseSample { name: "cluster_position", help: "Where it is", labels: Vec::new(), figure }]
    }
}

#[tokio::test]
async fn a_node_of_a_cluster_tells_administrators_how_it_is_and_strangers_what_it_serves() {
    let site = site();
    let member = Arc::new(TroubledMember::default());
    let mut root = site.log_in("root").await;
    let path = "/databases/social/cluster";
    let (status, kind, message) = root.ask("GET", path, "").await.error();
    assert_eq!((status, kind.as_str()), (404, "not_found"));
    assert!(message.contains("\"social\" is no node of a cluster"), "{message}");
    site.databases.get("social").unwrap().set_member(Arc::clone(&member) as Arc<dyn ClusterMember>);
    assert_eq!(root.get(path).await, json!({"node": 1}));
    for user in ["reader", "writer", "nobody"] {
        assert_eq!(site.log_in(user).await.ask("GET", path, "").await.status, 403, "{user}");
    }
    let metrics = root.ask("GET", "/metrics", "").await.text().to_owned();
    assert!(metrics.contains("evergraph_cluster_position{database=\"social\"} 5"), "{metrics}");

    let mut stranger = Client::connect(site.server.address()).await;
    assert_eq!(stranger.ask("GET", "/readyz", "").await.text(), "ready\n");
    member.has(Some("no log"));
    let ready = stranger.ask("GET", "/readyz", "").await;
    assert_eq!((ready.status, ready.text()), (200, "ready\ndegraded: no log\n"));
}

#[tokio::test]
async fn a_transaction_is_settled_by_its_name_and_only_in_a_cluster() {
    let site = site();
    let path = "/databases/social/settle";
    let mut writer = site.log_in("writer").await;
    for (body, word) in [
        (r#"{"transaction": "2.7"}"#, "names no transaction"),
        (r#"{"transaction": "2.7.143@57-00c0ffee00c0ffee"}"#, "2.7.143@57-00c0ffee00c0ffee"),
        (r#"{"commit": "2.7.143@57-00c0ffee00c0ffee"}"#, "commit"),
    ] {
        let (status, kind, message) = writer.ask("POST", path, body).await.error();
        assert_eq!((status, kind.as_str()), (400, "invalid"), "{message}");
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(site.log_in("reader").await.ask("POST", path, "{}").await.status, 403);
}
