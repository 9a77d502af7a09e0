//! Queries: role x verb x database x transport, with databases that are made after the server and its connections.

use crate::support::http_client::Client;
use crate::support::secured_site::{PASSWORD, edit_users};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Client as WebSocket, bytecode, eval, transaction, within};
use crate::{Site, site};
use evergraph_protocol::request::operation::{Alias, QueryOptions};
use evergraph_server::databases::options::CreateOptions;
use evergraph_server::security::role::Role;
use serde_json::json;

const READS: [&str; 3] = ["g.V().count()", "g.E().limit(1)", "g.inject(1)"];
const WRITES: [&str; 3] = ["g.addV('Point')", "g.V().drop()", "g.mergeV([(T.label): 'Point'])"];

/// Options of a query on the database `name`.
fn on(name: &str, options: QueryOptions) -> QueryOptions {
    QueryOptions { aliases: vec![Alias { alias: "g".into(), name: name.into() }], ..options }
}

async fn log_in(site: &Site, user: &str) -> WebSocket {
    let mut client = WebSocket::connect(site.server.address()).await;
    client.ask_as(user, PASSWORD, eval("g.inject(1)", on("social", QueryOptions::default()))).await;
    client
}

/// Statuses of all forms in which `text` can be sent on the database `name`, but those of a commit.
async fn statuses(
    (socket, http): (&mut WebSocket, &mut Client),
    name: &str,
    text: &str,
    session: &str,
) -> Vec<(&'static str, i64)> {
    let mut statuses = Vec::new();
    let plain = || on(name, QueryOptions::default());
    for (form, operation) in [
        ("text", eval(text, plain())),
        ("bytecode", bytecode(text, plain())),
        ("in a session", eval(text, on(name, within(session)))),
    ] {
        statuses.push((form, i64::from(socket.ask(operation).await.code)));
    }
    let committed = socket.ask(transaction("commit", session)).await.code;
    assert!(matches!(committed, 204 | 403 | 499), "{name}: {text}: {committed}");
    let body = json!({"gremlin": text, "aliases": {"g": name}});
    statuses.push(("POST", i64::from(http.post(&body).await.status)));
    let path = format!("/gremlin?gremlin={}&aliases.g={name}", text.replace(' ', "%20").replace('\'', "%27"));
    let got = http.ask("GET", &path, "").await;
    statuses.push(("GET", i64::from(got.status)));
    statuses
}

#[tokio::test]
async fn a_role_allows_the_same_on_databases_that_are_made_later_by_every_transport() {
    let site = site();
    let mut clients = Vec::new();
    for user in ["reader", "writer", "admin", "nobody", "root"] {
        clients.push((user, log_in(&site, user).await, site.log_in(user).await));
    }
    // Made after all of them: roles are granted on one, and nobody has one on the other.
    for name in ["granted", "late"] {
        site.databases.create_database(name, CreateOptions::default()).unwrap();
    }
    edit_users(&site.folder, |users| {
        for role in Role::ALL {
            users.grant(role.name(), "granted", role).unwrap();
        }
    });
    for (user, socket, _) in
        clients.iter_mut().filter(|(user, ..)| Role::ALL.iter().any(|role| role.name() == *user))
    {
        let count = || eval("g.V().count()", on("granted", QueryOptions::default()));
        eventually(user, async || socket.ask(count()).await.code == 200).await;
    }
    for (user, socket, http) in &mut clients {
        for name in ["social", "granted", "late", "absent"] {
            let role = match *user {
                "root" if name != "absent" => Some(Role::Admin),
                "root" | "nobody" => None,
                user if name == "social" || name == "granted" => {
                    Role::ALL.into_iter().find(|role| role.name() == user)
                }
                _ => None,
            };
            for (texts, least) in [(READS, Role::Reader), (WRITES, Role::Writer)] {
                for (at, text) in texts.into_iter().enumerate() {
                    let session = format!("{user} {name} {least:?} {at}");
                    for (form, status) in statuses((socket, http), name, text, &session).await {
                        let what = format!("{user} on {name}: {form}: {text}: {status}");
                        let is_allowed = role.is_some_and(|role| role >= least);
                        match (is_allowed, form) {
                            // Whoever may write, may not by a method that only reads.
                            (true, "GET") if least == Role::Writer => assert_eq!(status, 400, "{what}"),
                            (true, _) => assert!((200..300).contains(&status), "{what}"),
                            // An administrator of all learns which ones there are.
                            (false, _) if *user == "root" => assert!([400, 499].contains(&status), "{what}"),
                            (false, "GET") if least == Role::Writer => {
                                assert!([400, 403].contains(&status), "{what}")
                            }
                            (false, _) => assert_eq!(status, 403, "{what}"),
                        }
                    }
                }
            }
        }
    }
}
