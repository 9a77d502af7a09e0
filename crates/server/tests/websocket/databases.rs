//! Databases: aliases, sessions of one database, and databases that come and go beside requests.

use crate::support::http_client::Client as HttpClient;
use crate::support::served::{add_points, eventually, patient};
use crate::support::web_socket_client::{Client, eval, transaction, within};
use evergraph::{Database, EngineKind, ErrorKind, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Alias, Operation, QueryOptions};
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::change::DatabaseChange;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::databases::served_database::DatabaseState;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::server::Server;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A root with these databases, each with as many points as its name has letters, and a server of it.
fn serve_root(names: &[&str], grace: Duration) -> (TempDir, Arc<DatabaseCatalogue>, Server) {
    let folder = tempfile::tempdir().unwrap();
    names.iter().for_each(|name| make(&folder.path().join(format!("{name}.eg")), name.len() as i64));
    let databases = DatabaseCatalogue::open(&[], Some(folder.path()), quick(grace)).unwrap();
    let server = serve(&databases);
    (folder, databases, server)
}

fn serve(databases: &Arc<DatabaseCatalogue>) -> Server {
    let (address, security) = ("127.0.0.1:0".parse().unwrap(), SecurityOptions::default());
    Server::start_with(Arc::clone(databases), address, patient(), &security).unwrap()
}

fn quick(grace: Duration) -> CatalogueOptions {
    let mut options = CatalogueOptions::default();
    options.close_grace = grace;
    options
}

fn make(path: &Path, points: i64) {
    let database = Database::open(path).unwrap();
    add_points(&database, points);
    database.close().unwrap();
}

fn named(name: &str) -> QueryOptions {
    QueryOptions { aliases: vec![Alias { alias: "g".into(), name: name.into() }], ..QueryOptions::default() }
}

fn count(name: &str) -> Operation {
    eval("g.V().count()", named(name))
}

fn in_session(name: &str, session: &str, text: &str) -> Operation {
    eval(text, QueryOptions { session: within(session).session, ..named(name) })
}

/// Closes a database on a thread of its own, as an administration does.
async fn change(
    databases: &Arc<DatabaseCatalogue>,
    name: &str,
    change: DatabaseChange,
) -> evergraph::Result<()> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    databases.start(name, change, move |done| drop(sender.send(done.map(drop)))).unwrap();
    receiver.await.unwrap()
}

/// Waits until so many queries run, or wait for their clients.
async fn until_running(server: &Server, count: usize) {
    let mut observer = HttpClient::connect(server.address()).await;
    eventually("queries run", async || {
        observer.ask("GET", "/queries", "").await.json()["queries"].as_array().unwrap().len() == count
    })
    .await;
}

/// Waits until the database is being closed.
async fn until_closing(databases: &DatabaseCatalogue, name: &str) {
    let began = Instant::now();
    loop {
        let state = databases.get(name).unwrap().info().state;
        if state == DatabaseState::Closing {
            return;
        }
        assert_ne!(state, DatabaseState::Closed, "a database is closed when nobody uses it");
        assert!(began.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_request_reaches_the_database_of_its_alias() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["social", "a.b.eg"].iter().map(|name| folder.path().join(name)).collect();
    make(&paths[0], 1);
    make(&paths[1], 2);
    let databases = DatabaseCatalogue::open(&paths, None, CatalogueOptions::default()).unwrap();
    let server = serve(&databases);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval("g.V().count()").await.number(), 1, "the first one is the default");
    for (alias, expected) in [("g", 1), ("social", 1), ("g_social", 1), ("a.b", 2), ("g_a.b", 2)] {
        assert_eq!(client.ask(count(alias)).await.number(), expected, "{alias}");
    }
    let unknown = client.ask(count("socal")).await;
    assert_eq!((unknown.code, unknown.kind()), (499, Some("not_found")));
    assert!(unknown.message.contains("did you mean `social`"), "{}", unknown.message);
    for (first, second) in [("social", "a.b"), ("g", "social")] {
        let aliases = [first, second].map(|name| Alias { alias: "g".into(), name: name.into() }).to_vec();
        let two =
            client.ask(eval("g.V().count()", QueryOptions { aliases, ..QueryOptions::default() })).await;
        assert_eq!(two.code, 499, "{}", two.message);
    }
    server.stop();
    databases.close_all().unwrap();
    let twice = [paths[0].clone(), folder.path().join("other/social.eg")];
    make(&twice[1], 0);
    let refused = DatabaseCatalogue::open(&twice, None, CatalogueOptions::default()).err().unwrap();
    assert!(refused.to_string().contains("both called \"social\""), "{refused}");
}

#[tokio::test]
async fn without_a_named_database_the_default_is_the_only_open_one() {
    let (_folder, databases, server) = serve_root(&["bank", "social"], Duration::ZERO);
    let mut client = Client::connect(server.address()).await;
    let unclear = client.eval("g.V().count()").await;
    assert_eq!(unclear.code, 499);
    assert!(unclear.message.contains("bank, social"), "{}", unclear.message);
    change(&databases, "bank", DatabaseChange::Close).await.unwrap();
    assert_eq!(client.eval("g.V().count()").await.number(), 6);
    change(&databases, "social", DatabaseChange::Close).await.unwrap();
    assert_eq!(client.eval("g.V().count()").await.code, 499);
    change(&databases, "bank", DatabaseChange::Open).await.unwrap();
    assert_eq!(client.eval("g.V().count()").await.number(), 4);
}

#[tokio::test]
async fn a_session_belongs_to_one_database() {
    let (_folder, _databases, server) = serve_root(&["bank", "social"], Duration::ZERO);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.ask(in_session("bank", "a", "g.addV('Point')")).await.code, 200);
    let refused = client.ask(in_session("social", "a", "g.V().count()")).await;
    assert_eq!(refused.code, 499, "a session has one database: {}", refused.message);
    assert!(refused.message.contains("\"bank\""), "{}", refused.message);
    assert_eq!(client.ask(in_session("g_bank", "a", "g.V().count()")).await.number(), 5);
    // What names no database is for that of the session, though there are two.
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 5);
    assert_eq!(client.ask(transaction("commit", "a")).await.code, 204);
    // The next session of the same name may be of another one, also if its first request is sent before this answer.
    assert_eq!(client.ask(in_session("bank", "a", "g.addV('Point')")).await.code, 200);
    let rollback = client.send(Format::GraphBinary, transaction("rollback", "a")).await;
    let next = client.send(Format::GraphBinary, in_session("social", "a", "g.V().count()")).await;
    assert_eq!(client.answer(Format::GraphBinary, rollback).await.code, 204);
    assert_eq!(client.answer(Format::GraphBinary, next).await.number(), 6);
    assert_eq!(client.ask(transaction("commit", "a")).await.code, 204);
    assert_eq!(client.ask(in_session("social", "a", "g.V().count()")).await.number(), 6);
    assert_eq!(client.ask(transaction("rollback", "a")).await.code, 204);
    assert_eq!(client.ask(count("bank")).await.number(), 5);
}

#[tokio::test]
async fn closing_cancels_what_does_not_end_in_time_and_leaves_other_databases_alone() {
    let (folder, databases, server) = serve_root(&["bank", "social"], Duration::from_millis(300));
    let address = server.address();
    let mut other = Client::connect(address).await;
    assert_eq!(other.ask(in_session("social", "s", "g.addV('Point')")).await.code, 200);
    let mut session = Client::connect(address).await;
    assert_eq!(session.ask(in_session("bank", "a", "g.addV('Point')")).await.code, 200);
    let mut running = Client::connect(address).await;
    let endless = "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))";
    let running_id = running.send(Format::GraphBinary, eval(endless, named("bank"))).await;
    let mut writing = Client::connect(address).await;
    let writes = in_session(
        "bank",
        "w",
        &format!("g.addV('Point').union({}).addV('Point')", &endless[2..].replace("V()", "__.V()")),
    );
    let writing_id = writing.send(Format::GraphBinary, writes).await;
    // It does not read, so its query is suspended.
    let mut silent = Client::connect(address).await;
    let many = "g.V().as('a').repeat(__.V()).times(9).path()";
    let silent_id = silent.send(Format::GraphBinary, eval(many, named("bank"))).await;
    until_running(&server, 3).await;
    // While somebody uses it, it is not closed yet, however slow this machine is.
    let using = databases.get("bank").unwrap().begin(CancelFlag::default()).unwrap();
    let closing = tokio::spawn({
        let databases = Arc::clone(&databases);
        async move { change(&databases, "bank", DatabaseChange::Close).await }
    });
    until_closing(&databases, "bank").await;
    let refused = other.ask(count("bank")).await;
    assert_eq!(
        (refused.code, refused.kind()),
        (596, Some("busy")),
        "a closing database takes no request: {}",
        refused.message
    );
    assert!(refused.message.contains("closed"), "{}", refused.message);
    assert_eq!(other.ask(in_session("social", "s", "g.V().count()")).await.number(), 7);
    assert_eq!(change(&databases, "bank", DatabaseChange::Open).await.unwrap_err().kind(), ErrorKind::Busy);
    drop(using);
    for (client, id) in [(&mut running, running_id), (&mut writing, writing_id), (&mut silent, silent_id)] {
        let answer = client.answer(Format::GraphBinary, id).await;
        assert_eq!((answer.code, answer.kind()), (596, Some("busy")), "{}", answer.message);
        assert!(answer.message.contains("\"bank\" is being closed"), "{}", answer.message);
    }
    closing.await.unwrap().unwrap();
    let refused = other.ask(count("bank")).await;
    assert!(refused.code == 596 && refused.message.contains("is closed"), "{}", refused.message);
    // Another process has it meanwhile.
    make(&folder.path().join("bank.eg"), 1);
    change(&databases, "bank", DatabaseChange::Open).await.unwrap();
    let broken = session.ask(in_session("bank", "a", "g.V().count()")).await;
    assert!(
        broken.code == 597 && broken.message.contains("was closed"),
        "a transaction ends with its database: {}",
        broken.message
    );
    assert_eq!(session.ask(transaction("rollback", "a")).await.code, 204);
    assert_eq!(
        session.ask(in_session("bank", "a", "g.V().count()")).await.number(),
        5,
        "nothing of it was written"
    );
    assert_eq!(other.ask(transaction("commit", "s")).await.code, 204);
    assert_eq!(other.ask(count("social")).await.number(), 7);
}

#[tokio::test]
async fn closing_waits_for_requests_that_end_in_time() {
    let (folder, databases, server) = serve_root(&["social"], Duration::from_secs(300));
    make(&folder.path().join("bank.eg"), 1000);
    databases.open_database("bank").unwrap();
    let mut client = Client::connect(server.address()).await;
    // More than fits into the outbox and the buffers of the system: it goes on when the client reads.
    let many = format!("g.V().as('a').V().as('b').limit(5000).constant('{}')", "x".repeat(5000));
    let many = eval(&many, named("bank"));
    let id = client.send(Format::GraphBinary, many).await;
    until_running(&server, 1).await;
    let closing = tokio::spawn({
        let databases = Arc::clone(&databases);
        async move { change(&databases, "bank", DatabaseChange::Close).await }
    });
    until_closing(&databases, "bank").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let state = databases.get("bank").unwrap().info().state;
    assert_eq!(state, DatabaseState::Closing, "a database is closed when nobody uses it");
    let answer = client.answer(Format::GraphBinary, id).await;
    assert_eq!((answer.code, answer.results.len()), (200, 5000), "{}", answer.message);
    closing.await.unwrap().unwrap();
    assert_eq!(databases.get("bank").unwrap().info().state, DatabaseState::Closed);
}

#[tokio::test]
async fn commits_that_were_answered_are_there_after_databases_were_closed_and_opened_beside_them() {
    let (_folder, databases, server) = serve_root(&["bank", "social"], Duration::from_secs(5));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for name in ["bank", "social", "bank"] {
        let (is_over, address) = (Arc::clone(&is_over), server.address());
        writers.push(tokio::spawn(async move {
            let mut client = Client::connect(address).await;
            let (mut written, mut refused) = (0, 0);
            while !is_over.load(Ordering::Relaxed) {
                let answer = client.ask(eval("g.addV('Point').discard()", named(name))).await;
                match (answer.code, answer.kind()) {
                    (204, _) => written += 1,
                    (596, Some("busy")) => refused += 1,
                    other => panic!("{other:?} {}", answer.message),
                }
            }
            (name, written, refused)
        }));
    }
    for _ in 0..10 {
        change(&databases, "bank", DatabaseChange::Close).await.unwrap();
        change(&databases, "bank", DatabaseChange::Open).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let mut written = BTreeMap::from([("bank", 4), ("social", 6)]);
    for writer in writers {
        let (name, count, refused) = writer.await.unwrap();
        *written.get_mut(name).unwrap() += count;
        assert!(name == "bank" || refused == 0, "{refused} requests of another database were refused");
    }
    let mut client = Client::connect(server.address()).await;
    for (name, expected) in written {
        assert_eq!(client.ask(count(name)).await.number(), expected, "{name}");
    }
}

#[tokio::test]
async fn databases_are_created_and_dropped_while_others_work() {
    let (folder, databases, server) = serve_root(&["social"], Duration::from_millis(200));
    let mut client = Client::connect(server.address()).await;
    let disk = CreateOptions { engine: Some(EngineKind::Disk), memory_limit_bytes: Some(64 << 20) };
    change(&databases, "bank", DatabaseChange::Create(disk)).await.unwrap();
    assert_eq!(databases.get("bank").unwrap().info().engine, Some(EngineKind::Disk));
    assert_eq!(databases.get("bank").unwrap().info().memory_limit_bytes, Some(64 << 20));
    assert_eq!(client.ask(eval("g.addV('Point').count()", named("bank"))).await.number(), 1);
    for taken in ["bank", "social"] {
        assert!(change(&databases, taken, DatabaseChange::Create(disk)).await.is_err());
    }
    assert_eq!(client.ask(in_session("bank", "a", "g.addV('Point')")).await.code, 200);
    change(&databases, "bank", DatabaseChange::Drop).await.unwrap();
    assert!(!folder.path().join("bank.eg").exists());
    assert_eq!(client.ask(count("bank")).await.code, 499);
    // Another one of this name is not that of the session.
    let mapped = CreateOptions { engine: Some(EngineKind::Mapped), ..CreateOptions::default() };
    change(&databases, "bank", DatabaseChange::Create(mapped)).await.unwrap();
    assert_eq!(databases.get("bank").unwrap().info().engine, Some(EngineKind::Mapped));
    assert_eq!(client.ask(count("bank")).await.number(), 0);
    assert_eq!(client.ask(in_session("bank", "a", "g.V().count()")).await.code, 499);
    assert_eq!(client.ask(transaction("rollback", "a")).await.code, 204);
    assert_eq!(client.ask(in_session("bank", "a", "g.V().count()")).await.number(), 0);
    // One that was made by hand is found, and one that is closed is dropped.
    make(&folder.path().join("hand.eg"), 3);
    assert_eq!(client.ask(count("hand")).await.code, 499);
    change(&databases, "hand", DatabaseChange::Open).await.unwrap();
    assert_eq!(client.ask(count("hand")).await.number(), 3);
    change(&databases, "hand", DatabaseChange::Close).await.unwrap();
    change(&databases, "hand", DatabaseChange::Drop).await.unwrap();
    server.stop();
    databases.close_all().unwrap();
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 4, "two databases, the lock of the root, and the folder of uploads");
}

#[tokio::test]
async fn strange_names_and_links_reach_nothing_outside_of_the_root() {
    let (folder, databases, _server) = serve_root(&["social"], Duration::ZERO);
    let outside = tempfile::tempdir().unwrap();
    make(&outside.path().join("precious.eg"), 1);
    std::os::unix::fs::symlink(outside.path().join("precious.eg"), folder.path().join("link.eg")).unwrap();
    let relative = format!("../{}/precious", outside.path().file_name().unwrap().to_str().unwrap());
    let absolute = outside.path().join("precious").display().to_string();
    let long = "a".repeat(65);
    for name in [
        &relative, &absolute, "..", ".", "", "a/b", "a\\b", "a\nb", "a\0", "*", "g", "g_social", ".social",
        &long, "link",
    ] {
        for what in [
            DatabaseChange::Create(CreateOptions::default()),
            DatabaseChange::Open,
            DatabaseChange::Close,
            DatabaseChange::Drop,
        ] {
            let refused = change(&databases, name, what.clone()).await;
            assert!(refused.is_err(), "links and paths are refused: {name:?} {what:?}");
        }
        assert!(databases.get(name).is_none(), "{name:?}");
    }
    assert_eq!(databases.list().len(), 1);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    Database::open(outside.path().join("precious.eg")).unwrap().close().unwrap();
}

#[tokio::test]
async fn a_database_of_the_root_that_cannot_be_opened_stops_no_other_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["damaged", "in_use", "social"] {
        make(&folder.path().join(format!("{name}.eg")), 1);
    }
    let manifest = folder.path().join("damaged.eg/manifest");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes[20] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    let other = Database::open(folder.path().join("in_use.eg")).unwrap();
    // What a crash left of a creation and of a removal.
    for left in [".evergraph-new-1", ".evergraph-dropped-1"] {
        make(&folder.path().join(left), 1);
    }
    let databases = DatabaseCatalogue::open(&[], Some(folder.path()), quick(Duration::ZERO)).unwrap();
    let list = databases.list();
    let states: Vec<(&str, DatabaseState)> = list.iter().map(|info| (&*info.name, info.state)).collect();
    let failed = DatabaseState::Failed;
    assert_eq!(states, [("damaged", failed), ("in_use", failed), ("social", DatabaseState::Open)]);
    assert!(list[0].error.as_ref().unwrap().contains("manifest"), "{list:?}");
    assert!(databases.has_failures() && databases.take_notices().len() == 2);
    assert!(
        !folder.path().join(".evergraph-new-1").exists()
            && !folder.path().join(".evergraph-dropped-1").exists()
    );
    let server = serve(&databases);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval("g.V().count()").await.number(), 1, "the only open one");
    let refused = client.ask(count("damaged")).await;
    assert_eq!(refused.code, 596, "{}", refused.message);
    assert!(!refused.message.contains(&*folder.path().to_string_lossy()), "{}", refused.message);
    // In use by others, it is not removed either.
    assert_eq!(change(&databases, "in_use", DatabaseChange::Drop).await.unwrap_err().kind(), ErrorKind::Busy);
    other.close().unwrap();
    change(&databases, "in_use", DatabaseChange::Open).await.unwrap();
    assert_eq!(client.ask(count("in_use")).await.number(), 1);
    change(&databases, "damaged", DatabaseChange::Drop).await.unwrap();
    assert!(!databases.has_failures());
    // Named on the command line, it stops the start, and nothing stays open.
    server.stop();
    databases.close_all().unwrap();
    drop(databases);
    let named = [folder.path().join("social.eg"), folder.path().join("none.eg")];
    let refused = DatabaseCatalogue::open(&named, None, quick(Duration::ZERO)).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    Database::open(&named[0]).unwrap().close().unwrap();
}

#[tokio::test]
async fn memory_is_limited_for_each_database_and_for_all() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        make(&folder.path().join(format!("{name}.eg")), 1);
    }
    let mut options = quick(Duration::ZERO);
    options.open = Options { memory_limit_bytes: 256 << 20, ..Options::default() };
    options.database_memory_limit_bytes = Some(100 << 20);
    let databases = DatabaseCatalogue::open(&[], Some(folder.path()), options).unwrap();
    let new = |bytes| DatabaseChange::Create(CreateOptions { engine: None, memory_limit_bytes: bytes });
    let refused = change(&databases, "c", new(None)).await.err();
    let refused = refused.expect("a database whose memory does not fit is refused").to_string();
    for part in ["--database-memory-limit", "--memory-limit", "100.0 MiB", "56.0 MiB"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(!folder.path().join("c.eg").exists() && databases.get("c").is_none());
    change(&databases, "c", new(Some(56 << 20))).await.unwrap();
    change(&databases, "a", DatabaseChange::Close).await.unwrap();
    change(&databases, "d", new(Some(100 << 20))).await.unwrap();
    assert_eq!(change(&databases, "a", DatabaseChange::Open).await.unwrap_err().kind(), ErrorKind::Limit);
    change(&databases, "d", DatabaseChange::Drop).await.unwrap();
    change(&databases, "a", DatabaseChange::Open).await.unwrap();
    // The memory that was asked for counts again when it is opened again.
    change(&databases, "c", DatabaseChange::Close).await.unwrap();
    change(&databases, "c", DatabaseChange::Open).await.unwrap();
    assert_eq!(databases.get("c").unwrap().info().memory_limit_bytes, Some(56 << 20));
}

#[tokio::test]
async fn a_single_database_may_take_half_of_the_machines_memory_unless_something_else_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.eg");
    make(&path, 1);
    let disk = Options { engine: Some(EngineKind::Disk), ..Options::default() };
    let half = disk.memory_limit_of_new().unwrap();
    let served_limit = |options: CatalogueOptions| {
        let databases = DatabaseCatalogue::open(std::slice::from_ref(&path), None, options).unwrap();
        let served = databases.get("a").unwrap();
        let using = served.begin(CancelFlag::default()).unwrap();
        let limit_bytes = using.database().store().budget().limit_bytes();
        assert_eq!(served.info().memory_limit_bytes, Some(limit_bytes));
        drop(using);
        databases.close_all().unwrap();
        limit_bytes
    };
    assert_eq!(served_limit(quick(Duration::ZERO)), half);
    let mut asked = quick(Duration::ZERO);
    asked.open = Options { memory_limit_bytes: 100 << 20, ..Options::default() };
    assert_eq!(served_limit(asked), 100 << 20);
    fs::write(path.join("server.json"), format!("{{\"memoryLimitBytes\":{}}}", 2 * half)).unwrap();
    assert_eq!(served_limit(quick(Duration::ZERO)), 2 * half, "its own settings may ask for more");
}

/// Random changes and queries beside a map of what should be there.
#[test]
fn random_changes_leave_what_a_map_of_them_says() {
    for seed in 1..=4 {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed);
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) % below
        };
        let folder = tempfile::tempdir().unwrap();
        let open = || DatabaseCatalogue::open(&[], Some(folder.path()), quick(Duration::ZERO)).unwrap();
        let mut databases = open();
        // The points in each, and whether it is open.
        let mut model: BTreeMap<&str, (i64, bool)> = BTreeMap::new();
        for step in 0..120 {
            let name = ["a", "b", "c"][next(3) as usize];
            let known = model.get(name).copied();
            let what = next(12);
            let place = format!("seed {seed}, step {step}: {what} of {name}");
            match what {
                0 | 1 => {
                    let created = databases.create_database(name, CreateOptions::default());
                    assert_eq!(created.is_ok(), known.is_none(), "{place}");
                    model.entry(name).or_insert((0, true));
                }
                2 => {
                    assert_eq!(databases.drop_database(name).is_ok(), known.is_some(), "{place}");
                    model.remove(name);
                }
                3 | 4 => {
                    assert_eq!(databases.close_database(name).is_ok(), known.is_some(), "{place}");
                    model.entry(name).and_modify(|entry| entry.1 = false);
                }
                5 | 6 => {
                    assert_eq!(databases.open_database(name).is_ok(), known.is_some(), "{place}");
                    model.entry(name).and_modify(|entry| entry.1 = true);
                }
                7 if step % 3 == 0 => {
                    databases.close_all().unwrap();
                    drop(databases);
                    databases = open();
                    model.values_mut().for_each(|entry| entry.1 = true);
                }
                _ => {
                    let used = databases.get(name).map(|served| served.begin(Default::default()));
                    assert_eq!(used.is_some(), known.is_some(), "{place}");
                    let Some(Ok(used)) = used else {
                        assert!(known.is_none_or(|(_, is_open)| !is_open), "{place}");
                        continue;
                    };
                    let points = used.database().gremlin("g.V().count()").one::<i64>().unwrap();
                    assert_eq!(Some((points, true)), known, "{place}");
                    used.database().gremlin("g.addV('Point')").run().unwrap();
                    model.entry(name).and_modify(|entry| entry.0 += 1);
                }
            }
            let names: Vec<String> = databases.list().iter().map(|info| info.name.to_string()).collect();
            assert!(names.iter().map(String::as_str).eq(model.keys().copied()), "{place}: {names:?}");
        }
        databases.close_all().unwrap();
    }
}
