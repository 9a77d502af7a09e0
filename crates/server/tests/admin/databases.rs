//! Databases: listed, created, closed, opened and dropped by HTTP, while others work.

use crate::site;
use crate::support::http_client::Client;
use crate::support::secured_site::edit_users;
use crate::support::served::eventually;
use evergraph::Database;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::role::Role;
use evergraph_server::server::Server;
use serde_json::{Value as Json, json};
use std::sync::Arc;

fn names(list: &Json) -> Vec<&str> {
    list["databases"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_database_is_created_used_closed_opened_and_dropped() {
    let site = site();
    let mut root = site.log_in("root").await;
    let made = root
        .ask("PUT", "/databases/Gr%C3%B6%C3%9Fe%202", r#"{"engine": "disk", "memoryLimitBytes": 100000000}"#)
        .await;
    assert_eq!(
        (made.status, made.header("location")),
        (201, Some("/databases/Gr%C3%B6%C3%9Fe%202")),
        "{}",
        made.text()
    );
    let expected = json!({
        "name": "Größe 2", "state": "open", "engine": "disk", "role": "admin", "isDefault": false,
        "memoryLimitBytes": 100_000_000
    });
    assert_eq!(made.json(), expected);
    let path = made.header("location").unwrap().to_owned();
    let query = json!({"gremlin": "g.addV('Point').V().count()", "aliases": {"g": "Größe 2"}});
    assert_eq!(root.post(&query).await.number(), 1);
    let known = root.get(&path).await;
    assert_eq!((&known["name"], &known["state"]), (&json!("Größe 2"), &json!("open")));
    let closed = root.ask("POST", &format!("{path}/close"), "").await;
    assert_eq!(
        (closed.status, &closed.json()["state"], &closed.json()["engine"]),
        (200, &json!("closed"), &Json::Null)
    );
    assert_eq!(root.post(&query).await.status, 503);
    let metrics = root.ask("GET", "/metrics", "").await.text().to_owned();
    for series in
        ["evergraph_database_open{database=\"Größe 2\"} 0", "evergraph_database_open{database=\"social\"} 1"]
    {
        assert!(metrics.contains(series), "{series}: {metrics}");
    }
    assert!(!metrics.contains("evergraph_commits_total{database=\"Größe 2\"}"), "{metrics}");
    let folder = site.root().join("Größe 2.eg");
    Database::open(&folder).unwrap().close().unwrap();
    assert_eq!(root.ask("POST", &format!("{path}/open"), "{}").await.json()["state"], "open");
    assert_eq!(root.post(&query).await.number(), 2);
    assert_eq!(root.ask("DELETE", &path, "").await.status, 204);
    assert!(!folder.exists());
    let (status, kind, message) = root.ask("GET", &path, "").await.error();
    assert_eq!((status, &*kind), (404, "not_found"), "{message}");
    assert_eq!(root.ask("DELETE", &path, "").await.status, 404);
    let audit = site.audit();
    let record = |outcome: &str, detail: &str| {
        format!(
            r#""event":"administration","outcome":"{outcome}","user":"root","address":"127.0.0.1","database":"Größe 2","detail":"{detail}"#
        )
    };
    for detail in ["create a database", "close a database", "open a database", "drop a database"] {
        assert!(audit.contains(&record("done", detail)), "{detail}: {audit}");
    }
    assert!(audit.contains(&record("failed", "drop a database: there is no database")), "{audit}");
}

#[tokio::test]
async fn a_database_in_mapped_files_is_served_with_its_figures() {
    let site = site();
    let mut root = site.log_in("root").await;
    let made = root.ask("PUT", "/databases/web", r#"{"engine": "mapped"}"#).await;
    assert_eq!((made.status, &made.json()["engine"]), (201, &json!("mapped")), "{}", made.text());
    let query = json!({"gremlin": "g.addV('Point').V().count()", "aliases": {"g": "web"}});
    assert_eq!(root.post(&query).await.number(), 1);
    let metrics = root.ask("GET", "/metrics", "").await.text().to_owned();
    let of_files = ["array_files", "array_file_bytes", "array_free_bytes", "array_index_bytes"];
    for name in of_files.into_iter().chain(["live_bytes", "live_limit_bytes", "live_file_bytes"]) {
        assert!(metrics.contains(&format!("evergraph_{name}{{database=\"web\"}} ")), "{name}: {metrics}");
        assert!(!metrics.contains(&format!("evergraph_{name}{{database=\"social\"}} ")), "{name}: {metrics}");
    }
    let statistics = root.get("/databases/web/statistics").await;
    assert_eq!(statistics["engine"]["name"], "mapped");
    assert!(statistics["mapped"]["live_bytes"].as_u64() > Some(0), "{statistics}");
    assert_eq!(root.ask("POST", "/databases/web/close", "").await.status, 200);
    assert_eq!(root.ask("POST", "/databases/web/open", "{}").await.json()["engine"], "mapped");
    assert_eq!(root.post(&query).await.number(), 2);
}

#[tokio::test]
async fn a_list_has_the_databases_on_which_its_user_has_a_role() {
    let site = site();
    site.databases.create_database("bank", CreateOptions::default()).unwrap();
    site.databases.close_database("bank").unwrap();
    edit_users(&site.folder, |users| users.grant("reader", "bank", Role::Writer).unwrap());
    let mut reader = site.log_in("reader").await;
    eventually("the role is there", async || names(&reader.get("/databases").await).len() == 2).await;
    let list = reader.get("/databases").await;
    assert_eq!(names(&list), ["bank", "social"]);
    let [bank, social] = [0, 1].map(|at| list["databases"][at].clone());
    assert_eq!(
        (&bank["state"], &bank["role"], &bank["isDefault"]),
        (&json!("closed"), &json!("writer"), &json!(false))
    );
    assert_eq!(
        (&social["engine"], &social["role"], &social["isDefault"]),
        (&json!("memory"), &json!("reader"), &json!(true))
    );
    assert!(names(&site.log_in("nobody").await.get("/databases").await).is_empty());
    assert_eq!(names(&site.log_in("root").await.get("/databases").await), ["bank", "social"]);
    // Why one failed may name files of the server.
    let manifest = site.root().join("bank.eg/manifest");
    std::fs::write(&manifest, "damaged").unwrap();
    let mut root = site.log_in("root").await;
    assert!(root.ask("POST", "/databases/bank/open", "").await.status >= 400);
    let failed = root.get("/databases/bank").await;
    assert_eq!(failed["state"], "failed");
    assert!(failed["error"].as_str().unwrap().contains("manifest"), "{failed}");
    let failed = reader.get("/databases/bank").await;
    assert!(failed["state"] == "failed" && failed.get("error").is_none(), "{failed}");
}

#[tokio::test]
async fn what_cannot_be_done_is_said_and_changes_nothing() {
    let site = site();
    let mut root = site.log_in("root").await;
    for (method, path, body, status, words) in [
        ("PUT", "/databases/social", "{}", 409, "there is a database"),
        (
            "PUT",
            "/databases/new",
            r#"{"engin": "disk"}"#,
            400,
            "unknown field `engin`, expected `engine` or `memoryLimitBytes`",
        ),
        ("PUT", "/databases/new", r#"{"engine": "tape"}"#, 400, "choose `memory`, `disk` or `mapped`"),
        ("PUT", "/databases/new", "[\"disk\"]", 400, "one JSON object"),
        ("PUT", "/databases/new", r#"{"memoryLimitBytes": 9000000000000000000}"#, 413, "of memory"),
        ("POST", "/databases/social/close", r#"{"force": true}"#, 400, "unknown field `force`"),
        ("POST", "/databases/absent/open", "", 404, "there is no database"),
        ("POST", "/databases/absent/close", "", 404, "there is no database"),
        ("GET", "/databases/socal", "", 404, "did you mean `social`?"),
    ] {
        let answer = root.ask(method, path, body).await;
        let (found, _, message) = answer.error();
        assert!(found == status && message.contains(words), "{method} {path} {body}: {found} {message}");
    }
    let form = Client::log_in(site.server.address(), "root", crate::support::secured_site::PASSWORD).await;
    let mut form = form.with("content-type", "application/x-www-form-urlencoded");
    assert_eq!(form.ask("PUT", "/databases/new", "{}").await.status, 415);
    assert_eq!(root.ask("POST", "/databases", "{}").await.status, 405);
    let list = root.get("/databases").await;
    assert_eq!((names(&list), &list["databases"][0]["state"]), (vec!["social"], &json!("open")));
}

#[tokio::test]
async fn without_users_everybody_on_the_machine_administers() {
    let database = Arc::new(Database::in_memory().unwrap());
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(database, "social", address, ServerOptions::default()).unwrap();
    let mut client = Client::connect(server.address()).await.with("content-type", "application/json");
    let list = client.get("/databases").await;
    assert_eq!((names(&list), &list["databases"][0]["role"]), (vec!["social"], &json!("admin")));
    for (method, path, words) in [
        ("PUT", "/databases/new", "--root FOLDER"),
        ("POST", "/databases/social/close", "the program that serves it has opened it"),
        ("DELETE", "/databases/social", "--root FOLDER"),
    ] {
        let (status, _, message) = client.ask(method, path, "").await.error();
        assert!(status == 400 && message.contains(words), "{method} {path}: {status} {message}");
    }
    let mut page = Client::connect(server.address()).await.with("origin", "https://evil.example");
    assert_eq!(page.ask("POST", "/databases/social/close", "").await.status, 403);
}

/// The memory limit of a database belongs to it: it holds after it was opened again, and after a restart.
#[tokio::test]
async fn a_memory_limit_holds_whenever_a_server_opens_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let start = || {
        let mut options = CatalogueOptions::default();
        options.open.memory_limit_bytes = 1 << 30;
        options.database_memory_limit_bytes = Some(64 << 20);
        let databases = DatabaseCatalogue::open(&[], Some(folder.path()), options).unwrap();
        let server =
            Server::start_with(databases, address, ServerOptions::default(), &SecurityOptions::default());
        server.unwrap()
    };
    let limits = async |client: &mut Client| {
        let list = client.get("/databases").await;
        let limit = |entry: &Json| entry["memoryLimitBytes"].as_u64();
        list["databases"].as_array().unwrap().iter().map(limit).collect::<Vec<_>>()
    };
    let connect = async |server: &Server| {
        Client::connect(server.address()).await.with("content-type", "application/json")
    };
    let server = start();
    let mut client = connect(&server).await;
    assert_eq!(client.ask("PUT", "/databases/bank", r#"{"memoryLimitBytes": 100000000}"#).await.status, 201);
    assert_eq!(client.ask("PUT", "/databases/social", "{}").await.status, 201);
    let expected = [Some(100_000_000), Some(64 << 20)];
    assert_eq!(limits(&mut client).await, expected);
    for change in ["close", "open"] {
        assert_eq!(client.ask("POST", &format!("/databases/bank/{change}"), "").await.status, 200);
    }
    assert_eq!(limits(&mut client).await, expected);
    let databases = Arc::clone(server.databases());
    server.stop();
    databases.close_all().unwrap();
    drop(databases);
    let server = start();
    let mut client = connect(&server).await;
    assert_eq!(limits(&mut client).await, expected, "after a restart");
    // It is a file that can be edited while the database is closed, and says what is wrong with it.
    let settings = folder.path().join("bank.eg/server.json");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{\"memoryLimitBytes\":100000000}\n");
    client.ask("POST", "/databases/bank/close", "").await;
    std::fs::write(&settings, "{\"memory\": 7}").unwrap();
    let (status, _, message) = client.ask("POST", "/databases/bank/open", "").await.error();
    assert!(
        status == 400 && message.contains("server.json") && message.contains("`memory`"),
        "{status} {message}"
    );
    std::fs::remove_file(&settings).unwrap();
    assert_eq!(client.ask("POST", "/databases/bank/open", "").await.status, 200);
    assert_eq!(limits(&mut client).await, [Some(64 << 20); 2]);
}
