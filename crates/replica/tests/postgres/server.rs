//! A PostgreSQL server of the tests' own: made, started, killed, started again, and removed when the tests are over.

use crate::skips::skip;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer, PrivateServerOptions};
use evergraph_replica::source::postgres::connection::{Connection, ResultRow};
use evergraph_replica::source::postgres::settings::{ConnectionSettings, Host};
use evergraph_replica::wire::startup::Purpose;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Who may log in how. The first line that fits counts.
const HBA: &str = "local all all trust\n\
    hostssl all bound 127.0.0.1/32 scram-sha-256\n\
    host all scram,single 127.0.0.1/32 scram-sha-256\n\
    host all hashed 127.0.0.1/32 md5\n\
    host all clear 127.0.0.1/32 password\n\
    host all,replication postgres,reader 127.0.0.1/32 trust\n";

/// Settings beside those of every private server.
const SETTINGS: [&str; 7] = [
    "logical_decoding_work_mem=64kB", // small transactions are streamed
    "max_replication_slots=100",
    "max_wal_senders=100",
    "max_connections=200",
    "max_prepared_transactions=10",
    "autovacuum=off",
    "ssl=on",
];

/// A server, which ends with this, or with the tests' process however that ends.
pub struct TestServer(pub PrivateServer);

/// A database of one test.
pub struct TestDatabase {
    pub server: &'static TestServer,
    pub name: String,
}

impl TestServer {
    /// The server that tests share, which don't harm it; `None` where there is no PostgreSQL.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<TestServer>> = OnceLock::new();
        let server = SHARED.get_or_init(Self::start).as_ref();
        if server.is_none() {
            skip(HOW_TO_INSTALL);
        }
        server
    }

    /// A server of one test's own.
    pub fn own() -> Option<Self> {
        let server = Self::start();
        if server.is_none() {
            skip(HOW_TO_INSTALL);
        }
        server
    }

    fn start() -> Option<Self> {
        if !PrivateServer::is_possible() {
            return None;
        }
        let certificates = Certificates::make();
        let files = [
            ("server.crt", certificates.certificate.as_bytes()),
            ("server.key", certificates.key.as_bytes()),
        ];
        let options = PrivateServerOptions { settings: &SETTINGS, host_rules: Some(HBA), files: &files };
        let server = PrivateServer::start(&options).unwrap();
        fs::write(server.folder().join("root.crt"), certificates.root).unwrap();
        Some(Self(server))
    }

    /// How to connect to a database of it, as the superuser and without TLS.
    pub fn settings(&self, database: &str) -> ConnectionSettings {
        self.settings_of(&self.0.url(database))
    }

    /// As a URL says, and nothing of the environment.
    pub fn settings_of(&self, url: &str) -> ConnectionSettings {
        ConnectionSettings::from_url_and(url, &|_| None).unwrap()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    /// The folder with its socket, and with the root certificate `root.crt`.
    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    /// A connection as the superuser, whose tables are those of `public`.
    pub fn connect(&self, database: &str) -> Connection {
        connect(&self.settings(database))
    }

    /// A database that no other test has.
    pub fn database(&'static self) -> TestDatabase {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.connect("postgres").query("make a database of", &format!("CREATE DATABASE {name}")).unwrap();
        TestDatabase { server: self, name }
    }

    /// Kills it as a power cut would, and waits until nothing of it is left.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    /// Starts it after a kill, or when it was shut down.
    pub fn start_again(&mut self) {
        self.0.start_again().unwrap();
    }
}

impl TestDatabase {
    pub fn settings(&self) -> ConnectionSettings {
        self.server.settings(&self.name)
    }

    pub fn connect(&self) -> Connection {
        self.server.connect(&self.name)
    }

    /// Runs statements on a connection of their own.
    pub fn run(&self, sql: &str) -> Vec<ResultRow> {
        run_sql(&mut self.connect(), sql)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let mut connection = self.server.connect("postgres");
            let slots = format!("FROM pg_replication_slots WHERE database = '{}'", self.name);
            // Who used a slot may have gone without the server having noticed: it is told to let go.
            for _ in 0..3000 {
                run_sql(
                    &mut connection,
                    &format!("SELECT pg_terminate_backend(active_pid) {slots} AND active"),
                );
                let idle = format!("SELECT pg_drop_replication_slot(slot_name) {slots} AND NOT active");
                run_sql(&mut connection, &idle);
                if run_sql(&mut connection, &format!("SELECT 1 {slots}")).is_empty() {
                    break;
                }
                run_sql(&mut connection, "SELECT pg_sleep(0.01)");
            }
            run_sql(&mut connection, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// Runs statements.
pub fn run_sql(connection: &mut Connection, sql: &str) -> Vec<ResultRow> {
    connection.query("run a test's statements at", sql).unwrap()
}

/// A connection whose tables are those of `public`.
pub fn connect(settings: &ConnectionSettings) -> Connection {
    let mut connection = Connection::open(settings, Purpose::Queries, &CancelFlag::default()).unwrap();
    run_sql(&mut connection, "SET search_path = public");
    connection
}

/// The same server by another way.
pub fn through(mut settings: ConnectionSettings, host: Host, port: u16) -> ConnectionSettings {
    (settings.host, settings.port) = (host, port);
    settings
}

/// A root, and a certificate for `localhost` that it signed, in PEM.
struct Certificates {
    root: String,
    certificate: String,
    key: String,
}

impl Certificates {
    fn make() -> Self {
        let root_key = rcgen::KeyPair::generate().unwrap();
        let mut root = rcgen::CertificateParams::new(Vec::new()).unwrap();
        root.distinguished_name.push(rcgen::DnType::CommonName, "root of a test");
        root.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let root_certificate = root.self_signed(&root_key).unwrap();
        let issuer = rcgen::Issuer::new(root, root_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let server = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = server.signed_by(&key, &issuer).unwrap();
        Self { root: root_certificate.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
    }
}
