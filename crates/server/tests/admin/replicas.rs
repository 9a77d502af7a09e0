//! Replicas: a database that follows a source is made, served and closed with the server, and says how it is.

use crate::site_with;
use crate::support::http_client::Client;
use evergraph_server::databases::follower::DatabaseFollower;
use evergraph_server::databases::options::CatalogueOptions;
use evergraph_server::metric_samples::{DatabaseSample, Figure};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A follower that has paused, or not.
#[derive(Default)]
struct PausedFollower(AtomicBool);

impl DatabaseFollower for PausedFollower {
    fn status(&self) -> Json {
        json!({"state": if self.0.load(Ordering::Relaxed) { "paused" } else { "following" }})
    }

    fn problem(&self) -> Option<String> {
        self.0.load(Ordering::Relaxed).then(|| "a replica has paused: its status says why".to_owned())
    }

    fn samples(&self) -> Vec<DatabaseSample> {
        let figure = Figure::Gauge(7.0);
        vec![DatabaseSample {
            name: "replica_lag_bytes",
            help: "How far it is behind",
            labels: Vec::new(),
            figure,
        }]
    }
}

#[tokio::test]
async fn a_replica_tells_administrators_how_it_is_and_strangers_that_it_has_paused() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = CatalogueOptions::default();
    options.replicas = vec![folder.path().join("shop.eg")];
    let site = site_with(options, |_| {});
    let follower = Arc::new(PausedFollower::default());
    let served = site.databases.get("shop").unwrap();
    let path = "/databases/shop/replica";
    let mut root = site.log_in("root").await;
    assert_eq!(root.ask("GET", path, "").await.status, 404, "nothing follows yet");
    served.follow(Arc::clone(&follower) as Arc<dyn DatabaseFollower>);
    assert_eq!(root.get(path).await, json!({"state": "following"}));
    assert_eq!(root.ask("GET", "/databases/social/replica", "").await.status, 404);
    let metrics = root.ask("GET", "/metrics", "").await.text().to_owned();
    assert!(metrics.contains("evergraph_replica_lag_bytes{database=\"shop\"} 7"), "{metrics}");
    let mut stranger = Client::connect(site.server.address()).await;
    assert_eq!(stranger.ask("GET", "/readyz", "").await.text(), "ready\n");
    follower.0.store(true, Ordering::Relaxed);
    let ready = stranger.ask("GET", "/readyz", "").await;
    assert_eq!(
        (ready.status, ready.text()),
        (200, "ready\ndegraded: a replica has paused: its status says why\n")
    );
    // It would write to a closed database.
    let closed = root.ask("POST", "/databases/shop/close", "").await;
    assert!(closed.status == 400 && closed.text().contains("follows a source"), "{}", closed.text());
    assert_eq!(root.ask("DELETE", "/databases/shop", "").await.status, 400);
    drop(served);
    site.databases.close_all().unwrap();
    assert!(folder.path().join("shop.eg/manifest").exists());
}
