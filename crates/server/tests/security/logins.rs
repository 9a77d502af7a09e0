//! Log-ins: nothing runs before one, by either format, and what happens when they fail.

use crate::support::secured_site::{PASSWORD, SecuredSite, hash};
use crate::support::served::{ENDLESS, eventually};
use crate::support::web_socket_client::{Client, bytecode, eval, transaction, within};
use argon2::password_hash::PasswordHasher as _;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, Version};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Operation, QueryOptions};
use evergraph_server::server::Server;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use uuid::Uuid;

#[tokio::test]
async fn nothing_of_a_client_runs_before_it_has_logged_in() {
    let site = SecuredSite::new();
    let server = site.serve();
    let none = QueryOptions::default;
    for format in Format::ALL.iter().copied() {
        let verbs: [Operation; 7] = [
            eval("g.addV('Point')", none()),
            eval("g.addV('Point')", within("a")),
            bytecode("g.addV('Point')", none()),
            bytecode("g.addV('Point')", within("b")),
            transaction("commit", "c"),
            transaction("rollback", "d"),
            Operation::Close { session: "e".into() },
        ];
        for verb in verbs {
            let name = format!("{verb:?}");
            // A close has nothing to do, and is never an error.
            let refused = if matches!(verb, Operation::Close { .. }) { 204 } else { 401 };
            let mut client = Client::connect(server.address()).await;
            let id = client.send(format, verb).await;
            let asked = client.response(format).await;
            assert_eq!((asked.code, asked.id), (407, Some(id)), "nothing runs before a log-in: {name}");
            // Others wait without being asked for again, and none of them runs.
            client.send(format, eval("g.addV('Point')", none())).await;
            client.send_login(format, id, "writer", "wrong horse").await;
            for code in [refused, 401] {
                assert_eq!(client.response(format).await.code, code, "{name}");
            }
        }
    }
    assert_eq!(site.vertices(), 0);
}

#[tokio::test]
async fn the_first_requests_are_answered_once_the_client_has_logged_in() {
    let site = SecuredSite::new();
    let server = site.serve();
    for format in Format::ALL.iter().copied() {
        let mut client = Client::connect(server.address()).await;
        let mut ids = Vec::new();
        // More than may run at once, as gremlin-go sends them.
        for at in 0..300 {
            let session = within(&format!("{format:?}"));
            ids.push(client.send(format, eval(&format!("g.inject({at})"), session)).await);
        }
        let asked = client.response(format).await;
        assert_eq!((asked.code, asked.id), (407, Some(ids[0])));
        client.send_login(format, ids[0], "writer", PASSWORD).await;
        for (at, id) in ids.into_iter().enumerate() {
            assert_eq!(client.answer(format, id).await.number(), at as i64, "in the order of the requests");
        }
        let again = client
            .send(format, Operation::Authentication { sasl: b"\0admin\0x".into(), mechanism: None })
            .await;
        assert_eq!(client.answer(format, again).await.code, 499, "one log-in a connection");
    }
    // Without being asked.
    let mut client = Client::connect(server.address()).await;
    let sasl = format!("\0writer\0{PASSWORD}").into_bytes();
    assert_eq!(client.ask(Operation::Authentication { sasl, mechanism: None }).await.code, 204);
    assert_eq!(client.eval("g.addV('Point')").await.code, 200);
}

#[tokio::test]
async fn requests_that_wait_for_a_log_in_are_limited_by_their_bytes() {
    let site = SecuredSite::new();
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    let large = format!("g.inject('{}').count()", "x".repeat(900_000));
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(client.send(Format::GraphBinary, eval(&large, QueryOptions::default())).await);
    }
    assert_eq!(client.response(Format::GraphBinary).await.code, 407);
    let refused = ids.split_off(18);
    for id in refused {
        let answer =
            tokio::time::timeout(Duration::from_secs(60), client.response(Format::GraphBinary)).await;
        let answer = answer.expect("what is above the bound is refused");
        assert_eq!((answer.code, answer.id), (401, Some(id)), "{}", answer.message);
        assert!(answer.message.contains("16 MiB"), "{}", answer.message);
    }
    client.send_login(Format::GraphBinary, ids[0], "reader", PASSWORD).await;
    let mut answered = Vec::new();
    for _ in &ids {
        let answer = client.response(Format::GraphBinary).await;
        assert_eq!(answer.code, 200, "{}", answer.message);
        answered.extend(answer.id);
    }
    answered.sort_unstable();
    assert_eq!(answered, ids, "those that waited are answered");
}

#[tokio::test]
async fn a_log_in_with_an_id_of_its_own_is_answered_as_what_waits_for_it() {
    let site = SecuredSite::new();
    let server = site.serve();
    for format in Format::ALL.iter().copied() {
        // As the Java driver sends it, which fails at an answer to another id.
        let own = Uuid::from_u128(99);
        let mut client = Client::connect(server.address()).await;
        let id = client.send(format, eval("g.V().count()", QueryOptions::default())).await;
        assert_eq!(client.response(format).await.code, 407);
        client.send_login(format, own, "reader", "wrong horse").await;
        assert_eq!(client.answer(format, id).await.code, 401);
        let id = client.send(format, eval("g.V().count()", QueryOptions::default())).await;
        assert_eq!(client.response(format).await.code, 407);
        client.send_login(format, own, "reader", PASSWORD).await;
        assert_eq!(client.answer(format, id).await.number(), 0);
        // Nothing else has come.
        let next = client.send(format, eval("g.V().count()", QueryOptions::default())).await;
        assert_eq!(client.answer(format, next).await.number(), 0);
    }
}

#[tokio::test]
async fn a_close_of_a_session_is_never_an_error() {
    let mut site = SecuredSite::new();
    site.options.user_requests_max = 1;
    site.database.gremlin("g.addV('Point')").run().unwrap();
    let server = site.serve();
    let close = || Operation::Close { session: "a".into() };
    for format in Format::ALL.iter().copied() {
        // What waited for a log-in that fails, and the first request.
        let mut client = Client::connect(server.address()).await;
        let query = client.send(format, eval("g.V()", within("a"))).await;
        let waiting = client.send(format, close()).await;
        assert_eq!((client.response(format).await).code, 407);
        client.send_login(format, query, "writer", "wrong horse").await;
        for (id, code) in [(query, 401), (waiting, 204)] {
            let answer = client.response(format).await;
            assert_eq!((answer.id, answer.code), (Some(id), code), "{}", answer.message);
        }
        let first = client.send(format, close()).await;
        assert_eq!(client.response(format).await.code, 407);
        client.send_login(format, first, "writer", "wrong horse").await;
        assert_eq!(client.answer(format, first).await.code, 204);
    }
    // All requests of the user are taken.
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.ask_as("writer", PASSWORD, eval("g.V().count()", within("a"))).await.code, 200);
    client.send(Format::GraphBinary, eval(ENDLESS, within("b"))).await;
    let closed = client.send(Format::GraphBinary, close()).await;
    let answer = client.answer(Format::GraphBinary, closed).await;
    assert_eq!(answer.code, 204, "{}", answer.message);
}

#[tokio::test]
async fn a_wrong_password_is_refused_and_the_third_ends_the_connection() {
    let site = SecuredSite::new();
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    for (user, password) in [("writer", "wrong horse"), ("no-such-user", PASSWORD), ("../writer", PASSWORD)] {
        let refused = client.ask_as(user, password, eval("g.V()", QueryOptions::default())).await;
        assert_eq!(
            (refused.code, &*refused.message),
            (401, "user or password is wrong"),
            "a wrong password is refused"
        );
    }
    match client.message().await {
        Some(Message::Close(Some(frame))) => assert_eq!(frame.code, CloseCode::Policy),
        other => panic!("{other:?}"),
    }
    for sasl in [
        &b""[..],
        b"writer",
        b"\0writer",
        b"root\0writer\0correct: horse",
        b"\0wr\niter\x1b[2J\0correct: horse",
    ] {
        let mut client = Client::connect(server.address()).await;
        let answer = client.ask(Operation::Authentication { sasl: sasl.into(), mechanism: None }).await;
        assert_eq!(answer.code, 401, "{sasl:?}");
        assert!(!answer.message.contains("horse"), "{}", answer.message);
    }
    let mut client = Client::connect(server.address()).await;
    let kerberos = Operation::Authentication { sasl: vec![1], mechanism: Some("GSSAPI".into()) };
    assert_eq!(client.ask(kerberos).await.code, 401);
}

#[tokio::test]
async fn names_and_passwords_that_no_user_can_have_are_refused_at_once() {
    let site = SecuredSite::new();
    let server = site.serve();
    let (name, password) = ("a".repeat(1 << 20), "p".repeat(1 << 20));
    for (user, password) in [(&*name, PASSWORD), ("writer", &*password)] {
        let mut client = Client::connect(server.address()).await;
        let sasl = format!("\0{user}\0{password}").into_bytes();
        let refused = client.ask(Operation::Authentication { sasl, mechanism: None }).await;
        assert_eq!(refused.code, 401);
        assert!(
            refused.message.contains("longer than any"),
            "what no user can have is refused at once: {}",
            refused.message
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_flood_of_wrong_log_ins_delays_no_query_and_is_soon_refused() {
    let site = SecuredSite::new();
    let server = site.serve();
    let address = server.address();
    let mut client = Client::connect(address).await;
    assert_eq!(
        client.ask_as("reader", PASSWORD, eval("g.V().count()", QueryOptions::default())).await.code,
        200
    );
    let flood: Vec<_> = (0..16)
        .map(|at| {
            tokio::spawn(async move {
                let mut refused_early = 0;
                for round in 0..20 {
                    let Ok(mut client) = Client::try_connect(address).await else { continue };
                    let user = format!("user-{at}-{round}");
                    let operation = eval("g.V()", QueryOptions::default());
                    let answer = client.ask_as(&user, "wrong horse", operation).await;
                    assert_eq!(answer.code, 401);
                    refused_early += usize::from(answer.message.contains("too many log-ins have failed"));
                }
                refused_early
            })
        })
        .collect();
    let mut times = Vec::new();
    while times.is_empty() || !flood.iter().all(|task| task.is_finished()) {
        let began = Instant::now();
        assert_eq!(client.eval("g.V().count()").await.number(), 0);
        times.push(began.elapsed());
    }
    // The machine may do something else in one of them.
    times.sort_unstable();
    let median = times[times.len() / 2];
    assert!(median < Duration::from_secs(1), "a query takes {median:?} beside a flood of log-ins");
    let mut refused_early = 0;
    for task in flood {
        refused_early += task.await.unwrap();
    }
    assert!(refused_early >= 250, "{refused_early} of 320 log-ins were refused early: attempts are limited");
    // Those who are known go on, from the same address.
    let mut known = Client::connect(address).await;
    assert_eq!(
        known.ask_as("reader", PASSWORD, eval("g.V().count()", QueryOptions::default())).await.number(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn log_ins_that_are_cached_take_no_time() {
    let site = SecuredSite::new();
    // Ten times the work, so that it is not lost in that of connecting.
    let params = Params::new(64 << 10, 8, 1, None).unwrap();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash: PasswordHash = argon2.hash_password(PASSWORD.as_bytes()).unwrap();
    site.edit(|users| users.set_password("reader", hash.to_string()).unwrap());
    let server = site.serve();
    let log_in = async || {
        let began = Instant::now();
        let mut client = Client::connect(server.address()).await;
        let count = eval("g.V().count()", QueryOptions::default());
        assert_eq!(client.ask_as("reader", PASSWORD, count).await.number(), 0);
        began.elapsed()
    };
    let first = log_in().await;
    let began = Instant::now();
    for _ in 0..40 {
        log_in().await;
    }
    assert!(began.elapsed() < first * 20, "forty took {:?}, and the first alone {first:?}", began.elapsed());
    let mut wrong = Client::connect(server.address()).await;
    let refused = wrong.ask_as("reader", "wrong horse", eval("g.V()", QueryOptions::default())).await;
    assert_eq!(refused.code, 401, "a wrong password is refused, whoever is remembered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn unknown_users_take_as_long_as_wrong_passwords() {
    let site = SecuredSite::new();
    let time = async |server: &Server, user: &str| {
        let mut client = Client::connect(server.address()).await;
        let id = client.send(Format::GraphBinary, eval("g.V()", QueryOptions::default())).await;
        client.response(Format::GraphBinary).await;
        let began = Instant::now();
        client.send_login(Format::GraphBinary, id, user, "wrong horse").await;
        assert_eq!(client.answer(Format::GraphBinary, id).await.code, 401);
        began.elapsed()
    };
    let (mut known, mut unknown) = (Duration::MAX, Duration::MAX);
    let are_alike = |known: Duration, unknown: Duration| known < unknown * 3 && unknown < known * 3;
    // As often as it takes until what else the machine does has left both alone once.
    for _ in 0..20 {
        // A server knows nothing of log-ins that failed at another one.
        let server = site.serve();
        // In turn, so that what else the machine does meets both.
        for _ in 0..5 {
            known = known.min(time(&server, "reader").await);
            unknown = unknown.min(time(&server, "no-such-user").await);
        }
        server.stop();
        if are_alike(known, unknown) {
            break;
        }
    }
    assert!(are_alike(known, unknown), "{known:?} and {unknown:?}: the time tells which users there are");
}

#[tokio::test]
async fn a_user_who_is_removed_or_has_a_new_password_is_disconnected() {
    let site = SecuredSite::new();
    let server = site.serve();
    let mut removed = Client::connect(server.address()).await;
    let mut changed = Client::connect(server.address()).await;
    let count = || eval("g.V().count()", QueryOptions::default());
    assert_eq!(removed.ask_as("writer", PASSWORD, count()).await.code, 200);
    assert_eq!(changed.ask_as("reader", PASSWORD, count()).await.code, 200);
    assert_eq!(removed.eval_in("a", "g.addV('Point')").await.code, 200);
    site.edit(|users| {
        users.remove("writer").unwrap();
        let other = evergraph_server::security::password::hash(b"another horse").unwrap();
        users.set_password("reader", other).unwrap();
    });
    for client in [&mut removed, &mut changed] {
        let ended = tokio::time::timeout(Duration::from_secs(60), client.message()).await;
        match ended.expect("the connection of a removed user ends") {
            Some(Message::Close(Some(frame))) => assert_eq!(frame.code, CloseCode::Policy),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(site.vertices(), 0, "what was open is rolled back");
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.ask_as("reader", PASSWORD, count()).await.code, 401);
    assert_eq!(client.ask_as("reader", "another horse", count()).await.code, 200);
    // One that is added can log in without a restart.
    site.edit(|users| users.add("new", hash()).unwrap());
    eventually("a new user logs in", async || {
        let mut client = Client::connect(server.address()).await;
        client.ask_as("new", PASSWORD, count()).await.code == 403
    })
    .await;
}

#[tokio::test]
async fn without_users_everybody_on_this_machine_connects_and_log_ins_are_refused() {
    let mut site = SecuredSite::new();
    site.security.users = None;
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval("g.addV('Point')").await.code, 200);
    let sasl = format!("\0writer\0{PASSWORD}").into_bytes();
    let answer = client.ask(Operation::Authentication { sasl, mechanism: None }).await;
    assert_eq!(answer.code, 499, "{}", answer.message);
}
