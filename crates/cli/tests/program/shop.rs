//! A shop: a database of a real PostgreSQL that a test's replica follows.

use crate::skips::skip;
use crate::support::{Folder, Ran};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer, PrivateServerOptions};
use evergraph_replica::source::postgres::connection::{Connection, ResultRow};
use evergraph_replica::wire::startup::Purpose;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

const SHOP: &str = "
    CREATE TABLE customer (id bigint PRIMARY KEY, name text NOT NULL, vip boolean NOT NULL DEFAULT false);
    CREATE TABLE product (id bigint PRIMARY KEY, title text NOT NULL, price numeric(10, 2) NOT NULL);
    CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer, placed timestamptz NOT NULL);
    CREATE TABLE order_item (order_id bigint REFERENCES orders, product_id bigint REFERENCES product, pieces int NOT NULL,
        PRIMARY KEY (order_id, product_id));
    INSERT INTO customer VALUES (1, 'Ada', true), (2, 'Bob', false);
    INSERT INTO product VALUES (1, 'tea', 3.50), (2, 'cup', 9.00);
    INSERT INTO orders VALUES (1, 1, '2026-01-02 10:00+00'), (2, 2, '2026-01-03 11:00+00');
    INSERT INTO order_item VALUES (1, 1, 2), (1, 2, 1), (2, 1, 5)";

/// Of the server that tests share: some of them leave slots there.
const SETTINGS: &[&str] =
    &["logical_decoding_work_mem=64kB", "max_replication_slots=50", "max_wal_senders=50"];

/// A database of one test.
pub struct Shop {
    server: Arc<PrivateServer>,
    pub name: String,
}

impl Shop {
    /// With the tables of a shop, in the server that the tests of this program share; `None` where there is no PostgreSQL.
    pub fn new() -> Option<Self> {
        static SHARED: OnceLock<Option<Arc<PrivateServer>>> = OnceLock::new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let options = PrivateServerOptions { settings: SETTINGS, ..Default::default() };
        let server = or_skip(SHARED.get_or_init(|| start(&options).map(Arc::new)).clone())?;
        Some(Self::in_server(server, format!("shop_{}", NEXT.fetch_add(1, Ordering::Relaxed))))
    }

    /// With the tables of a shop, in a server of its own; `None` where there is no PostgreSQL.
    pub fn of_server(options: &PrivateServerOptions<'_>) -> Option<Self> {
        Some(Self::in_server(Arc::new(or_skip(start(options))?), "shop".to_owned()))
    }

    fn in_server(server: Arc<PrivateServer>, name: String) -> Self {
        query(&server, "postgres", &format!("CREATE DATABASE {name}"));
        let shop = Self { server, name };
        shop.query(SHOP);
        shop
    }

    pub fn url(&self) -> String {
        self.url_of(&self.name)
    }

    /// The URL of another database of the same server.
    pub fn url_of(&self, database: &str) -> String {
        self.server.url(database)
    }

    /// The superuser's password.
    pub fn password(&self) -> &str {
        self.server.password()
    }

    /// A connection as the superuser.
    pub fn connect(&self) -> Connection {
        connection(&self.server, &self.name)
    }

    /// The same, which takes one of the server's WAL senders.
    pub fn take_sender(&self) -> Connection {
        let settings = self.server.connection_settings(&self.name);
        Connection::open(&settings, Purpose::Replication, &CancelFlag::default()).unwrap()
    }

    /// Runs statements as the superuser.
    pub fn query(&self, sql: &str) -> Vec<ResultRow> {
        query(&self.server, &self.name, sql)
    }

    /// Runs the program in `folder` as somebody who has the password.
    pub fn run(&self, folder: &Folder, arguments: &[&str]) -> Ran {
        folder.run_with(&[("PGPASSWORD", self.server.password())], arguments)
    }

    /// The same with `input` as its standard input.
    pub fn run_on(&self, folder: &Folder, input: &str, arguments: &[&str]) -> Ran {
        folder.run_on_with(&[("PGPASSWORD", self.server.password())], input, arguments)
    }
}

/// A server; `None` where there is no PostgreSQL.
fn start(options: &PrivateServerOptions<'_>) -> Option<PrivateServer> {
    PrivateServer::is_possible().then(|| PrivateServer::start(options).unwrap())
}

/// The server; without one the test that asks says that it is skipped.
fn or_skip<T>(server: Option<T>) -> Option<T> {
    if server.is_none() {
        skip(HOW_TO_INSTALL);
    }
    server
}

fn connection(server: &PrivateServer, database: &str) -> Connection {
    let settings = server.connection_settings(database);
    let mut connection = Connection::open(&settings, Purpose::Queries, &CancelFlag::default()).unwrap();
    connection.query("prepare a test at", "SET search_path = public").unwrap();
    connection
}

fn query(server: &PrivateServer, database: &str, sql: &str) -> Vec<ResultRow> {
    connection(server, database).query("run a test's statements at", sql).unwrap()
}
