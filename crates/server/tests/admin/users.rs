//! Users: added, removed, with other passwords and roles, by HTTP and by the program at once.

use crate::site;
use crate::support::http_client::Client;
use crate::support::secured_site::edit_users;
use evergraph::Database;
use evergraph_server::options::ServerOptions;
use evergraph_server::security::role::Role;
use evergraph_server::server::Server;
use serde_json::{Value as Json, json};
use std::sync::Arc;

fn roles(list: &Json, name: &str) -> Option<Json> {
    let users = list["users"].as_array().unwrap();
    users.iter().find(|user| user["name"] == name).map(|user| user["roles"].clone())
}

#[tokio::test]
async fn users_are_added_changed_and_removed_and_it_holds_at_once() {
    let site = site();
    let address = site.server.address();
    let mut root = site.log_in("root").await;
    let password = r#"{"password": "first secret"}"#;
    let made = root.ask("PUT", "/users/ann", password).await;
    assert_eq!((made.status, made.header("location")), (201, Some("/users/ann")), "{}", made.text());
    let list = root.get("/users").await;
    assert_eq!(roles(&list, "ann"), Some(json!([])));
    assert_eq!(roles(&list, "writer"), Some(json!([{"database": "social", "role": "writer"}])));
    assert!(!list.to_string().contains("argon2"), "{list}");
    let mut ann =
        Client::log_in(address, "ann", "first secret").await.with("content-type", "application/json");
    assert_eq!(ann.query("g.V()").await.status, 403);
    let grant = |role: &str| json!({"role": role}).to_string();
    assert_eq!(root.ask("PUT", "/users/ann/roles/social", grant("reader")).await.status, 204);
    assert_eq!(ann.query("g.V().count()").await.number(), 0);
    assert_eq!(ann.query("g.addV('Point')").await.status, 403);
    assert_eq!(root.ask("PUT", "/users/ann/roles/social", grant("writer")).await.status, 204);
    assert_eq!(ann.query("g.addV('Point')").await.status, 200);
    assert_eq!(root.ask("DELETE", "/users/ann/roles/social", "").await.status, 204);
    assert_eq!(ann.query("g.V()").await.status, 403);
    assert_eq!(ann.ask("PUT", "/password", r#"{"password": "second secret"}"#).await.status, 204);
    assert_eq!(ann.query("g.V()").await.status, 401, "the old password is none any more");
    let mut ann = Client::log_in(address, "ann", "second secret").await;
    assert_eq!(ann.query("g.V()").await.status, 403);
    assert_eq!(root.ask("PUT", "/users/ann", r#"{"password": "third secret"}"#).await.status, 204);
    assert_eq!(ann.query("g.V()").await.status, 401);
    assert_eq!(root.ask("DELETE", "/users/ann", "").await.status, 204);
    assert_eq!(roles(&root.get("/users").await, "ann"), None);
    let audit = site.audit();
    assert!(!audit.contains("secret") && !audit.contains("argon2"), "no password is written: {audit}");
    for words in [
        r#""user":"root","address":"127.0.0.1","detail":"grant a role: \"ann\", \"social\": writer""#,
        r#""user":"ann","address":"127.0.0.1","detail":"change one's own password""#,
        r#""event":"users","outcome":"removed","user":"ann""#,
    ] {
        assert!(audit.contains(words), "{words}: {audit}");
    }
}

#[tokio::test]
async fn what_cannot_be_done_to_users_by_http_is_said_and_changes_nothing() {
    let site = site();
    let mut root = site.log_in("root").await;
    let before = root.get("/users").await;
    for (method, path, body, status, words) in [
        ("PUT", "/users/ann", r#"{"password": "short"}"#, 400, "8 to 1024 bytes"),
        ("PUT", "/users/ann", r#"{"password": 12345678}"#, 400, "`password` is a text"),
        ("PUT", "/users/ann", "{}", 400, "missing field `password`"),
        ("PUT", "/users/..%2fann", r#"{"password": "correct horse"}"#, 400, "cannot be the name of a user"),
        ("PUT", "/users/reader/roles/social", r#"{"role": "owner"}"#, 400, "reader, writer, admin"),
        ("PUT", "/users/reader/roles/*", r#"{"role": "writer"}"#, 400, "admin"),
        (
            "PUT",
            "/users/reader/roles/..%2fx",
            r#"{"role": "writer"}"#,
            400,
            "cannot be the name of a database",
        ),
        ("PUT", "/users/raeder/roles/social", r#"{"role": "writer"}"#, 404, "did you mean `reader`?"),
        ("DELETE", "/users/nobody/roles/social", "", 404, "has no role"),
        ("DELETE", "/users/bob", "", 404, "there is no user"),
    ] {
        let answer = root.ask(method, path, body).await;
        let (found, _, message) = answer.error();
        assert!(found == status && message.contains(words), "{method} {path} {body}: {found} {message}");
        assert!(!message.contains("1234"), "{message}");
    }
    assert_eq!(root.get("/users").await, before);
    let database = Arc::new(Database::in_memory().unwrap());
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(database, "social", address, ServerOptions::default()).unwrap();
    let mut client = Client::connect(server.address()).await;
    let (status, _, message) = client.ask("GET", "/users", "").await.error();
    assert!(status == 400 && message.contains("--users FILE"), "{status} {message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn changes_by_http_and_by_the_program_at_once_are_all_kept() {
    let site = site();
    let mut root = site.log_in("root").await;
    let by_http = async {
        for at in 0..20 {
            let path = format!("/users/writer/roles/http{at}");
            assert_eq!(root.ask("PUT", &path, r#"{"role": "reader"}"#).await.status, 204);
        }
    };
    let folder = &site.folder;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0..20 {
                edit_users(folder, |users| {
                    users.grant("writer", &format!("program{at}"), Role::Reader).unwrap()
                });
            }
        });
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(by_http));
    });
    let count = async |root: &mut Client| {
        roles(&root.get("/users").await, "writer").unwrap().as_array().unwrap().len()
    };
    let mut last = site.log_in("root").await;
    crate::support::served::eventually("all are there", async || count(&mut last).await == 41).await;
}
