//! Roles: role x verb x database, and roles that change while connections and transactions are open.

use crate::support::secured_site::{NAME, PASSWORD, SecuredSite};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Answer, Client, bytecode, eval, transaction, within};
use evergraph_protocol::request::operation::{Alias, Operation, QueryOptions};
use evergraph_server::security::role::Role;
use evergraph_server::server::Server;

const READS: [&str; 3] = ["g.V().count()", "g.V().explain()", "g.call('--list')"];
const WRITES: [&str; 5] = [
    "g.addV('Point')",
    "g.V().drop()",
    "g.V().property('at', 1)",
    "g.mergeV([(T.label): 'Point'])",
    "g.inject(1).union(__.identity(), __.addV('Point'))",
];

async fn connected(server: &Server, user: &str) -> (Client, Answer) {
    let mut client = Client::connect(server.address()).await;
    let answer = client.ask_as(user, PASSWORD, eval("g.V().count()", QueryOptions::default())).await;
    (client, answer)
}

#[tokio::test]
async fn a_role_allows_what_it_says_on_its_database_and_nothing_elsewhere() {
    let site = SecuredSite::new();
    // Made after the users; nobody has a role on it.
    for (database, is_served) in [(NAME, true), ("bank", false)] {
        let address = "127.0.0.1:0".parse().unwrap();
        let server =
            Server::start_secured(site.database.clone(), database, address, site.options, &site.security)
                .unwrap();
        for (user, reads, writes) in
            [("reader", true, false), ("writer", true, true), ("admin", true, true), ("nobody", false, false)]
        {
            let (mut client, first) = connected(&server, user).await;
            let expected = |is_allowed: bool| if is_allowed && is_served { 200..300 } else { 403..404 };
            assert!(
                expected(reads).contains(&first.code),
                "{user} on {database}: {} {}",
                first.code,
                first.message
            );
            let mut session = 0;
            for (texts, is_allowed) in [(&READS[..], reads), (&WRITES[..], writes)] {
                for text in texts {
                    session += 1;
                    let name = format!("session {session}");
                    let forms = [
                        eval(text, QueryOptions::default()),
                        bytecode(text, QueryOptions::default()),
                        eval(text, within(&name)),
                    ];
                    for form in forms {
                        let answer = client.ask(form).await;
                        let message =
                            format!("{user} on {database}: {text}: {} {}", answer.code, answer.message);
                        assert!(expected(is_allowed).contains(&answer.code), "{message}");
                    }
                    // There is nothing to commit for a reader, and whoever has no role is refused.
                    let committed = client.ask(transaction("commit", &name)).await;
                    assert!(
                        committed.code == 204 || (committed.code == 403 && !(reads && is_served)),
                        "{user}: {text}"
                    );
                }
            }
            // A wrong query tells nothing to whoever has no role.
            let wrong = client.eval("g.V().hasLabel('Secret').otu()").await.code;
            assert_eq!(wrong, if reads && is_served { 597 } else { 403 }, "{user} on {database}");
        }
        server.stop();
    }
}

#[tokio::test]
async fn a_readers_query_that_writes_is_refused_before_it_runs() {
    let site = SecuredSite::new();
    let server = site.serve();
    let (mut client, _) = connected(&server, "reader").await;
    for text in WRITES.into_iter().chain(["g.inject(1).fail('it ran').addV('Point')"]) {
        for operation in [eval(text, QueryOptions::default()), eval(text, within("a"))] {
            let answer = client.ask(operation).await;
            assert_eq!(answer.code, 403, "a reader's write is refused: {text}: {}", answer.message);
            assert!(answer.message.contains("role reader"), "{}", answer.message);
        }
    }
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 0);
    site.database.gremlin("g.addV('Point')").run().unwrap();
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 0, "a session reads one moment");
    assert_eq!(client.ask(transaction("commit", "a")).await.code, 204);
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 1);
    assert_eq!(client.ask(transaction("rollback", "a")).await.code, 204);
}

#[tokio::test]
async fn a_role_that_changes_holds_for_connections_and_transactions_that_are_open() {
    let site = SecuredSite::new();
    let server = site.serve();
    let (mut client, _) = connected(&server, "writer").await;
    let (mut reader, _) = connected(&server, "reader").await;
    for session in ["a", "b"] {
        assert_eq!(client.eval_in(session, "g.addV('Point')").await.code, 200);
    }
    site.edit(|users| {
        users.grant("writer", NAME, Role::Reader).unwrap();
        users.grant("reader", NAME, Role::Writer).unwrap();
    });
    eventually("the role changes", async || client.eval("g.V().drop()").await.code == 403).await;
    let refused = client.ask(transaction("commit", "a")).await;
    assert_eq!(refused.code, 403, "a commit is refused when the role is gone: {}", refused.message);
    assert_eq!(client.eval_in("b", "g.addV('Point')").await.code, 403);
    assert_eq!(site.vertices(), 0);
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 0, "it was rolled back");
    assert_eq!(reader.eval("g.addV('Point')").await.code, 200);
    site.edit(|users| users.revoke("writer", NAME).unwrap());
    eventually("the role is gone", async || client.eval("g.V().count()").await.code == 403).await;
    assert_eq!(client.ask(transaction("commit", "b")).await.code, 403);
    assert_eq!(site.vertices(), 1);
}

#[tokio::test]
async fn names_with_paths_and_control_characters_reach_no_other_database() {
    let site: SecuredSite = SecuredSite::new();
    let server = site.serve();
    let (mut client, _) = connected(&server, "admin").await;
    for name in ["../bank", "..", "bank", "social/../bank", "so\ncial", "social\u{0}", "g_../social", ""] {
        let aliases = vec![Alias { alias: "g".into(), name: name.into() }];
        let answer = client.ask(eval("g.V()", QueryOptions { aliases, ..QueryOptions::default() })).await;
        // Whether there is one that the user has no role on is not told.
        assert_eq!(answer.code, if name == "bank" { 403 } else { 499 }, "{name:?}: {}", answer.message);
        assert!(!answer.message.chars().any(char::is_control), "{:?}", answer.message);
    }
    let session = "..\n\u{1b}[2J/../../etc";
    assert_eq!(client.eval_in(session, "g.addV('Point')").await.code, 200);
    assert_eq!(client.ask(transaction("rollback", session)).await.code, 204);
    assert_eq!(client.ask(Operation::Close { session: session.into() }).await.code, 204);
}
