//! Replicas: a database that follows a source is made, served and closed with the server, and says how it is.

use crate::site_with;
use crate::support::http_client::Client;
use evergraph::{Database, Durability};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::follower::DatabaseFollower;
use evergraph_server::databases::options::CatalogueOptions;
use evergraph_server::metric_samples::{DatabaseSample, Figure};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A follower that has paused, or not, and keeps its database while it follows.
#[derive(Default)]
struct PausedFollower {
    is_paused: AtomicBool,
    database: Mutex<Option<Database>>,
    prepared_count: AtomicI32,
}

impl DatabaseFollower for PausedFollower {
    fn prepare(&self) -> Result<()> {
        self.prepared_count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn begin(self: Arc<Self>, database: &Database) -> Result<()> {
        assert!(self.database.lock().unwrap().replace(database.clone()).is_none());
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if let Some(database) = self.database.lock().unwrap().take() {
            // It is open until the follower is done.
            database.sync()?;
        }
        Ok(())
    }

    fn status(&self) -> Json {
        json!({"state": if self.is_paused.load(Ordering::Relaxed) { "paused" } else { "following" }})
    }

    fn problem(&self) -> Option<String> {
        self.is_paused.load(Ordering::Relaxed).then(|| "a replica has paused: its status says why".to_owned())
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
    served.follow(Arc::clone(&follower) as Arc<dyn DatabaseFollower>).unwrap();
    assert_eq!(root.get(path).await, json!({"state": "following"}));
    assert_eq!(root.ask("GET", "/databases/social/replica", "").await.status, 404);
    let metrics = root.ask("GET", "/metrics", "").await.text().to_owned();
    assert!(metrics.contains("evergraph_replica_lag_bytes{database=\"shop\"} 7"), "{metrics}");
    let mut stranger = Client::connect(site.server.address()).await;
    assert_eq!(stranger.ask("GET", "/readyz", "").await.text(), "ready\n");
    follower.is_paused.store(true, Ordering::Relaxed);
    let ready = stranger.ask("GET", "/readyz", "").await;
    assert_eq!(
        (ready.status, ready.text()),
        (200, "ready\ndegraded: a replica has paused: its status says why\n")
    );
    assert_eq!(root.ask("DELETE", "/databases/shop", "").await.status, 400);
    // Its database could not be closed, and a resync needs that.
    let follows = || follower.database.lock().unwrap().is_some();
    assert!(follows());
    let closed = root.ask("POST", "/databases/shop/close", "").await;
    assert!(closed.status == 200 && !follows(), "{}", closed.text());
    Database::open(folder.path().join("shop.eg")).unwrap().close().unwrap();
    assert_eq!(stranger.ask("GET", "/readyz", "").await.text(), "ready\n", "nobody reads it");
    assert_eq!(root.get(path).await, json!({"state": "paused"}), "its status is there as before");
    let opened = root.ask("POST", "/databases/shop/open", "").await;
    assert!(opened.status == 200 && follows(), "{}", opened.text());
    assert_eq!(follower.prepared_count.load(Ordering::Relaxed), 1);
    drop(served);
    site.databases.close_all().unwrap();
    assert!(!follows() && folder.path().join("shop.eg/manifest").exists());
}

/// Its log was synced each 100 ms, whatever interval replicas have elsewhere.
#[test]
fn a_replica_has_the_durability_that_the_options_have_for_replicas() {
    let folder = tempfile::tempdir().unwrap();
    let hour = Duration::from_secs(3600);
    for (durability, is_durable_at_once) in [(Durability::Sync, true), (Durability::Interval(hour), false)] {
        let mut options = CatalogueOptions::default();
        options.replicas = vec![folder.path().join("shop.eg")];
        options.replica_durability = durability;
        let databases = DatabaseCatalogue::open(&[], None, options).unwrap();
        let using = databases.get("shop").unwrap().begin(CancelFlag::default()).unwrap();
        let database = using.database();
        let mut transaction = database.begin();
        transaction.add_vertex("Item", &[]).unwrap();
        transaction.commit().unwrap();
        let durable = database.durable_through();
        assert_eq!(durable == database.sync().unwrap(), is_durable_at_once, "{durability:?}");
        drop(using);
        databases.close_all().unwrap();
    }
}
