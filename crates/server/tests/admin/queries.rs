//! Queries: which requests run, who may know it, and how they are cancelled.

use crate::site;
use crate::support::http_client::Client;
use crate::support::served::{ENDLESS, eventually};
use crate::support::web_socket_client;
use evergraph::Database;
use evergraph_server::databases::options::CreateOptions;
use evergraph_server::options::ServerOptions;
use evergraph_server::security::role::Role;
use evergraph_server::server::Server;
use serde_json::{Value as Json, json};
use std::sync::Arc;

async fn queries(client: &mut Client) -> Vec<Json> {
    client.get("/queries").await["queries"].as_array().unwrap().clone()
}

async fn cancel(client: &mut Client, query: &Json) -> u16 {
    client.ask("DELETE", &format!("/queries/{}", query["id"]), "").await.status
}

#[tokio::test]
async fn queries_are_seen_and_cancelled_by_their_user_and_administrators_alone() {
    let site =
        crate::site_with(Default::default(), |users| users.grant("writer", "other", Role::Admin).unwrap());
    site.databases.create_database("other", CreateOptions::default()).unwrap();
    site.run("social", "g.addV('Secret')");
    let mut running = site.log_in("reader").await;
    let text = format!("{ENDLESS}.has('name', 'secret value')");
    let own = text.clone();
    let running = tokio::spawn(async move { running.query(&own).await });
    let mut reader = site.log_in("reader").await;
    eventually("it runs", async || queries(&mut reader).await.len() == 1).await;
    let query = queries(&mut reader).await.remove(0);
    assert_eq!(
        (&query["database"], &query["user"], &query["text"]),
        (&json!("social"), &json!("reader"), &json!(text))
    );
    assert!(query["since"].as_str().unwrap().ends_with('Z') && query["elapsedMs"].is_u64(), "{query}");
    assert!(query["requestId"].is_string() && query["address"] == "127.0.0.1", "{query}");
    for user in ["writer", "nobody"] {
        let mut other = site.log_in(user).await;
        assert!(queries(&mut other).await.is_empty(), "others do not see a query: {user}");
        let refused = other.ask("DELETE", &format!("/queries/{}", query["id"]), "").await.error();
        let unknown = other.ask("DELETE", "/queries/999999", "").await.error();
        assert_eq!((refused.0, &*refused.1), (404, "not_found"), "{user}");
        assert_eq!(refused.2.replace(&query["id"].to_string(), "ID"), unknown.2.replace("999999", "ID"));
    }
    for user in ["admin", "root"] {
        let seen = queries(&mut site.log_in(user).await).await.remove(0);
        let text = seen["text"].as_str().unwrap();
        assert!(
            text.starts_with("g.V().repeat(") && !text.contains("secret"),
            "no value of others is told: {text}"
        );
    }
    assert_eq!(cancel(&mut site.log_in("admin").await, &query).await, 204);
    let answer = running.await.unwrap();
    let status = answer.json()["status"].clone();
    assert!(status["message"].as_str().unwrap().contains("the query was cancelled"), "{status}");
    eventually("it has ended", async || queries(&mut reader).await.is_empty()).await;
    assert_eq!(cancel(&mut reader, &query).await, 404);
    assert_eq!(reader.query("g.V().count()").await.number(), 1, "the connections of a user go on");
    let audit = site.audit();
    let records = audit.lines().filter(|line| line.contains("administration"));
    let details: Vec<String> = records
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["detail"].as_str().unwrap().to_owned())
        .collect();
    let id = query["id"].to_string();
    let done = format!("cancel a query: {id:?}: one of the user \"reader\" in the database \"social\"");
    assert!(details.contains(&done), "{details:?}");
    assert!(!audit.contains("secret"), "{audit}");
}

#[tokio::test]
async fn ids_are_the_servers_own_and_requests_of_all_transports_are_cancelled() {
    let database = Arc::new(Database::in_memory().unwrap());
    database.gremlin("g.addV('Point')").run().unwrap();
    let server =
        Server::start(database, "social", "127.0.0.1:0".parse().unwrap(), ServerOptions::default()).unwrap();
    let address = server.address();
    let mut client = Client::connect(address).await.with("content-type", "application/json");
    // Both give their first request the same id.
    let mut connections = Vec::new();
    for _ in 0..2 {
        let mut connection = web_socket_client::Client::connect(address).await;
        connections.push(tokio::spawn(async move {
            let answer = connection.eval(ENDLESS).await;
            (answer.code, answer.message, connection.eval("g.V().count()").await.number())
        }));
    }
    let mut by_http = Client::connect(address).await;
    let by_http = tokio::spawn(async move { by_http.query(ENDLESS).await.code() });
    let profile = json!({"gremlin": ENDLESS}).to_string();
    let mut profiling = Client::connect(address).await.with("content-type", "application/json");
    let profiling =
        tokio::spawn(async move { profiling.ask("POST", "/databases/social/profile", profile).await });
    eventually("all run", async || queries(&mut client).await.len() == 4).await;
    let all = queries(&mut client).await;
    let mut ids: Vec<u64> = all.iter().map(|query| query["id"].as_u64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{all:?}");
    let requests: Vec<&Json> = all.iter().map(|query| &query["requestId"]).collect();
    assert_eq!(
        requests.iter().filter(|id| ***id == json!("00000000-0000-0000-0000-000000000001")).count(),
        2
    );
    assert!(all.iter().all(|query| query["text"] == ENDLESS && query["user"].is_null()), "{all:?}");
    for query in &all {
        assert_eq!(cancel(&mut client, query).await, 204);
    }
    for connection in connections {
        let (code, message, count) = connection.await.unwrap();
        assert!(code == 598 && message.contains("cancelled"), "{code} {message}");
        assert_eq!(count, 1, "the connection goes on");
    }
    assert_eq!(by_http.await.unwrap(), 598);
    let (status, kind, message) = profiling.await.unwrap().error();
    assert!(
        (status, &*kind) == (504, "timeout") && message.contains("cancelled"),
        "{status} {kind} {message}"
    );
    eventually("all have ended", async || queries(&mut client).await.is_empty()).await;
    server.stop();
}

#[tokio::test]
async fn a_query_whose_client_does_not_read_is_cancelled() {
    let site = site();
    site.run("social", "g.inject(1).repeat(__.addV('Point')).times(100)");
    let mut slow = site.log_in("reader").await;
    // Few rows, each by itself, fill all buffers.
    let long = format!("g.V().as('a').V().as('b').V().as('c').constant('{}')", "x".repeat(2000));
    let many = json!({"gremlin": long});
    let response = slow.send("POST", "/gremlin", many.to_string()).await;
    let mut admin = site.log_in("admin").await;
    eventually("it waits for its client", async || {
        queries(&mut admin).await.first().is_some_and(|query| query["state"] == "waiting")
    })
    .await;
    let query = queries(&mut admin).await.remove(0);
    assert_eq!(cancel(&mut admin, &query).await, 204);
    eventually("it has ended", async || queries(&mut admin).await.is_empty()).await;
    drop(response);
}
