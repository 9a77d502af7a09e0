//! Audit log: what it says of log-ins, refusals, sessions and roles, and what it never says.

use crate::support::secured_site::{NAME, PASSWORD, SecuredSite, hash};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Client, eval, transaction, within};
use evergraph_protocol::request::operation::QueryOptions;
use evergraph_server::security::role::Role;

#[tokio::test]
async fn log_ins_refusals_sessions_and_roles_are_written_without_passwords_and_values() {
    let mut site = SecuredSite::new();
    let path = site.folder.path().join("audit.log");
    site.security.audit_log = Some(path.clone());
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    let query = || eval("g.V().has('name', 'secret value').count()", QueryOptions::default());
    assert_eq!(client.ask_as("reader", "wrong horse", query()).await.code, 401);
    // As long as a name may be.
    let forged = "ann\n{\"outcome\":\"accepted\",\"user\":\"admin\"}\u{1b}[2J\u{9b}2J\u{202e}";
    assert_eq!(client.ask_as(forged, PASSWORD, query()).await.code, 401);
    assert_eq!(client.ask_as("reader", PASSWORD, query()).await.code, 200);
    assert_eq!(client.eval("g.addV('secret label')").await.code, 403);
    assert_eq!(client.ask(eval("g.V().count()", within("ses\nsion"))).await.code, 200);
    assert_eq!(client.ask(transaction("commit", "ses\nsion")).await.code, 204);
    assert_eq!(
        Client::connect_with(server.address(), "Origin", "https://evil.example").await.err(),
        Some(403)
    );
    site.edit(|users| {
        users.add("new", hash()).unwrap();
        users.grant("new", NAME, Role::Reader).unwrap();
        users.remove("writer").unwrap();
    });
    eventually("changes of users are written", async || {
        std::fs::read_to_string(&path).unwrap().contains(r#""outcome":"removed","user":"writer""#)
    })
    .await;
    let old = site.folder.path().join("audit.log.1");
    std::fs::rename(&path, &old).unwrap();
    server.reload();
    server.stop();
    let first = std::fs::read_to_string(&old).unwrap();
    let text = first.clone() + &std::fs::read_to_string(&path).unwrap();
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            record["time"].is_string() && record["event"].is_string() && record["outcome"].is_string(),
            "{line}"
        );
    }
    let plain = |letter: char| letter == '\n' || (!letter.is_control() && letter != '\u{202e}');
    assert!(text.chars().all(plain), "control characters are escaped in the audit log: {text:?}");
    for word in ["horse", "secret", "argon2"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    for words in [
        r#""event":"server","outcome":"started""#,
        r#""event":"login","outcome":"refused","user":"reader","address":"127.0.0.1""#,
        r#""event":"login","outcome":"accepted","user":"reader""#,
        r#""event":"request","outcome":"refused","user":"reader","address":"127.0.0.1","database":"social""#,
        r#""event":"session","outcome":"began""#,
        r#""event":"session","outcome":"ended""#,
        r#""event":"connection","outcome":"refused","address":"127.0.0.1""#,
        r#""event":"users","outcome":"added","user":"new""#,
        r#""event":"users","outcome":"granted","user":"new","database":"social","detail":"reader""#,
        r#""event":"server","outcome":"stopped""#,
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains(r#""outcome":"accepted","user":"admin""#), "a name forges no line");
    assert!(!first.contains("stopped"), "a log that was renamed is opened again");
}
