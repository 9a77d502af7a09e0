//! Security: log-ins, roles, certificates, names, limits and logs, by a WebSocket client.
//!
//! docs/security.md lists each promise with its test here.

#![allow(clippy::unwrap_used)]

mod audit;
mod certificates;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "../websocket/client.rs"]
mod client;
mod databases;
mod limits;
mod logins;
mod logs;
mod python;
mod roles;
mod transport;

use client::{Answer, Client};
use evergraph::Database;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Operation, Request};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::password;
use evergraph_server::security::role::Role;
use evergraph_server::security::user::Users;
use evergraph_server::security::users_file::{Create, edit};
use evergraph_server::server::Server;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

/// The password of all users.
const PASSWORD: &str = "correct horse";
/// The database.
const NAME: &str = "social";

/// A folder with users, and what a server of it needs.
struct Site {
    folder: TempDir,
    database: Arc<Database>,
    options: ServerOptions,
    security: SecurityOptions,
}

/// The users `reader`, `writer`, `admin` with these roles on the database, and `nobody` without any.
fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let mut security = SecurityOptions::default();
    security.users = Some(folder.path().join("users.json"));
    let site = Site {
        folder,
        database: Arc::new(Database::in_memory().unwrap()),
        options: ServerOptions::default(),
        security,
    };
    site.edit(|users| {
        for role in Role::ALL {
            users.add(role.name(), hash()).unwrap();
            users.grant(role.name(), NAME, role).unwrap();
        }
        users.add("nobody", hash()).unwrap();
        users.grant("nobody", "another", Role::Admin).unwrap();
    });
    site
}

impl Site {
    fn users(&self) -> PathBuf {
        self.folder.path().join("users.json")
    }

    fn edit(&self, change: impl FnOnce(&mut Users)) {
        edit(&self.users(), Create::IfMissing, |users| {
            change(users);
            Ok(())
        })
        .unwrap();
    }

    fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0").unwrap()
    }

    fn serve_at(&self, address: &str) -> evergraph_graph::error::Result<Server> {
        let address = address.parse().unwrap();
        Server::start_secured(Arc::clone(&self.database), NAME, address, self.options, &self.security)
    }

    fn vertices(&self) -> i64 {
        self.database.gremlin("g.V().count()").one().unwrap()
    }
}

impl Client {
    /// Logs in as an answer to the request `id`.
    pub async fn send_login(&mut self, format: Format, id: Uuid, user: &str, password: &str) {
        let sasl = [b"\0", user.as_bytes(), b"\0", password.as_bytes()].concat();
        let operation = Operation::Authentication { sasl, mechanism: Some("PLAIN".into()) };
        let message = Request { id, operation }.to_message(format).expect("a request");
        self.send_message(Message::Binary(message.into())).await;
    }

    /// Asks, logs in if the server asks for that, and waits for the answer.
    pub async fn ask_as(&mut self, user: &str, password: &str, operation: Operation) -> Answer {
        let id = self.send(Format::GraphBinary, operation).await;
        let first = self.response(Format::GraphBinary).await;
        assert_eq!((first.code, first.id), (407, Some(id)), "{}", first.message);
        self.send_login(Format::GraphBinary, id, user, password).await;
        self.answer(Format::GraphBinary, id).await
    }
}

/// A hash of the password, made once.
fn hash() -> String {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| password::hash(PASSWORD.as_bytes()).unwrap()).clone()
}

/// Waits until `is_so`.
async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn every_promise_of_the_page_names_a_test_that_there_is() {
    const PAGE: &str = include_str!("../../../../docs/security.md");
    const TESTS: &str = concat!(
        include_str!("audit.rs"),
        include_str!("databases.rs"),
        include_str!("limits.rs"),
        include_str!("logins.rs"),
        include_str!("logs.rs"),
        include_str!("../../../query/tests/normalised_queries.rs"),
        include_str!("../../../cli/tests/program/packaging.rs"),
        include_str!("../../../cli/tests/program/service.rs"),
        include_str!("../../src/log/format.rs"),
        include_str!("python.rs"),
        include_str!("roles.rs"),
        include_str!("transport.rs"),
        include_str!("../admin/databases.rs"),
        include_str!("../admin/queries.rs"),
        include_str!("../admin/routes.rs"),
        include_str!("../admin/users.rs"),
        include_str!("../admin/jobs.rs"),
        include_str!("../../src/spool/relative_path.rs"),
        include_str!("../../src/spool/upload.rs"),
        include_str!("../http/connections.rs"),
        include_str!("../http/hostile.rs"),
        include_str!("../http/logins.rs"),
        include_str!("../http/observation.rs"),
        include_str!("../http/queries.rs"),
        include_str!("../websocket/databases.rs"),
        include_str!("../../src/security/authenticator.rs"),
        include_str!("../../src/security/users_file.rs"),
        include_str!("../../../cli/tests/program/users.rs"),
        include_str!("../../../cli/tests/program/server_urls.rs"),
        include_str!("../../../client/src/connection.rs"),
        include_str!("../../../client/tests/server/hostile.rs"),
        include_str!("../../../client/tests/server/secured.rs"),
    );
    let promises = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| **"));
    let mut promises_count = 0;
    for promise in promises.skip(1) {
        let cell = promise.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<&str> =
            cell.split('`').skip(1).step_by(2).filter(|name| !name.contains('/')).collect();
        assert!(!names.is_empty(), "no test holds this: {promise}");
        for name in names {
            assert!(TESTS.contains(&format!("fn {name}(")), "there is no test {name}");
        }
        promises_count += 1;
    }
    assert!(promises_count > 20, "{promises_count}");
}
