//! Log-ins: by HTTP Basic, before anything of a request is read, with roles and limits.

use crate::support::http_client::{Client, basic, raw_until};
use crate::support::secured_site::{PASSWORD, SecuredSite};
use crate::support::served::{ENDLESS, add_points, eventually};
use evergraph::{Database, EngineKind, Options};
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;

/// A database on disk with users, and a server of it that writes an audit log.
pub fn serve(options: ServerOptions) -> (SecuredSite, Server) {
    serve_with(EngineKind::Disk, options)
}

pub fn serve_with(engine: EngineKind, options: ServerOptions) -> (SecuredSite, Server) {
    let folder = tempfile::tempdir().unwrap();
    let of_database = Options { engine: Some(engine), memory_limit_bytes: 256 << 20, ..Options::default() };
    let database = Database::open_with(folder.path().join("social.eg"), &of_database).unwrap();
    let mut site = SecuredSite::of(database, folder);
    site.options = options;
    site.security.audit_log = Some(site.folder.path().join("audit.log"));
    let server = site.serve();
    (site, server)
}

#[tokio::test]
async fn nothing_of_a_request_by_http_is_read_before_its_client_has_logged_in() {
    let (site, server) = serve(ServerOptions::default());
    let address = server.address();
    let head = "POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n";
    let wrong = basic("reader", "wrong horse");
    let without_role = basic("nobody", PASSWORD);
    for (authorization, status) in [
        (None, "401"),
        (Some("Basic"), "401"),
        (Some("Bearer abc"), "401"),
        (Some(&*wrong), "401"),
        (Some(&*without_role), "403"),
    ] {
        let authorization =
            authorization.map(|value| format!("Authorization: {value}\r\n")).unwrap_or_default();
        let bytes = format!("{head}{authorization}\r\n");
        let (answer, _) = raw_until(address, bytes.as_bytes(), |answer| answer.contains("\r\n\r\n")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "it is answered before the body comes: {authorization}: {answer}"
        );
        assert_eq!(
            status == "401",
            answer.contains("www-authenticate: Basic realm=\"evergraph\""),
            "{answer}"
        );
    }
    let mut client = Client::connect(address).await;
    assert_eq!(client.query("g.addV('Point')").await.status, 401);
    assert_eq!(client.ask("GET", "/gremlin?gremlin=g.V()", "").await.status, 401);
    assert_eq!(client.ask("GET", "/healthz", "").await.text(), "ok\n");
    assert_eq!(site.vertices(), 0);
}

#[tokio::test]
async fn roles_hold_for_requests_by_http() {
    let (site, server) = serve(ServerOptions::default());
    let address = server.address();
    let mut writer = Client::log_in(address, "writer", PASSWORD).await;
    assert_eq!(writer.query("g.addV('Point')").await.status, 200);
    let mut reader = Client::log_in(address, "reader", PASSWORD).await;
    assert_eq!(reader.query("g.V().count()").await.number(), 1);
    let refused = reader.query("g.addV('Point')").await;
    assert_eq!((refused.status, refused.code()), (403, 403), "{}", refused.text());
    let mut nobody = Client::log_in(address, "nobody", PASSWORD).await;
    assert_eq!(nobody.query("g.V().count()").await.status, 403);
    assert_eq!(site.vertices(), 1);
    site.edit(|users| users.revoke("writer", "social").unwrap());
    eventually("the role is gone", async || writer.query("g.addV('Point')").await.status == 403).await;
    site.edit(|users| users.remove("reader").unwrap());
    eventually("the user is gone", async || reader.query("g.V()").await.status == 401).await;
}

#[tokio::test]
async fn the_answer_to_a_user_who_is_removed_is_broken_off() {
    let (site, server) = serve(ServerOptions::default());
    add_points(&site.database, 1);
    let mut client = Client::log_in(server.address(), "reader", PASSWORD).await;
    let running = tokio::spawn(async move { client.query(ENDLESS).await.status });
    eventually("it runs", async || server.requests_count() == 1).await;
    site.edit(|users| users.remove("reader").unwrap());
    assert_eq!(running.await.unwrap(), 503);
    eventually("it ends", async || server.requests_count() == 0).await;
}

#[tokio::test]
async fn log_ins_by_http_are_cached_limited_and_audited_once_a_connection() {
    let (site, server) = serve(ServerOptions::default());
    let address = server.address();
    let mut client = Client::log_in(address, "reader", PASSWORD).await;
    let timed = async |client: &mut Client| {
        let began = std::time::Instant::now();
        assert_eq!(client.query("g.inject(1)").await.number(), 1);
        began.elapsed()
    };
    let first = timed(&mut client).await;
    let mut fastest = first;
    for _ in 0..100 {
        fastest = fastest.min(timed(&mut client).await);
    }
    assert!(fastest < first / 2, "a log-in takes {first:?}, and a request later {fastest:?}");
    let mut wrong = Client::log_in(address, "reader", "wrong horse").await;
    let mut statuses = Vec::new();
    // Each few seconds another one is allowed.
    while statuses.len() < 12 || (statuses.last() != Some(&429) && statuses.len() < 100) {
        let answer = wrong.query("g.V()").await;
        statuses.push(answer.status);
        assert!(answer.status == 401 || answer.header("retry-after") == Some("6"), "{}", answer.text());
    }
    assert_eq!((statuses[0], *statuses.last().unwrap()), (401, 429), "{statuses:?}");
    assert_eq!(client.query("g.inject(1)").await.number(), 1, "who has logged in is not locked out");
    let audit = site.folder.path().join("audit.log");
    server.stop();
    let audit = std::fs::read_to_string(audit).unwrap();
    assert_eq!(audit.matches("\"accepted\"").count(), 1, "{audit}");
    assert!(audit.matches("\"login\",\"outcome\":\"refused\"").count() >= 12, "{audit}");
    assert!(!audit.contains("horse"));
}

#[tokio::test]
async fn users_have_so_many_connections_and_requests_by_http_too() {
    let mut options = ServerOptions::default();
    options.user_connections_max = 2;
    options.user_requests_max = 1;
    let (site, server) = serve(options);
    add_points(&site.database, 1);
    let address = server.address();
    let mut first = Client::log_in(address, "reader", PASSWORD).await;
    let mut second = Client::log_in(address, "reader", PASSWORD).await;
    for client in [&mut first, &mut second] {
        assert_eq!(client.query("g.inject(1)").await.number(), 1);
    }
    let mut third = Client::log_in(address, "reader", PASSWORD).await;
    let refused = third.query("g.inject(1)").await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.text());
    // An answer may be there before its request is no longer counted.
    eventually("those that are answered have ended", async || server.requests_count() == 0).await;
    let running = tokio::spawn(async move { first.query(ENDLESS).await });
    eventually("it runs", async || server.requests_count() == 1).await;
    let refused = second.query("g.inject(1)").await;
    assert_eq!((refused.status, refused.code()), (503, 596), "{}", refused.text());
    running.abort();
    eventually("the place is free", async || second.query("g.inject(1)").await.status == 200).await;
    eventually("that of the connection as well", async || third.query("g.inject(1)").await.status == 200)
        .await;
}
