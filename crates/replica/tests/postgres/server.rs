//! A PostgreSQL server of the tests' own: made, started, killed, started again, and removed when the tests are over.

use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::source::postgres::connection::{Connection, ResultRow};
use evergraph_replica::source::postgres::settings::{ConnectionSettings, Host};
use evergraph_replica::wire::startup::Purpose;
use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Who may log in how. The first line that fits counts.
const HBA: &str = "local all all trust\n\
    hostssl all bound 127.0.0.1/32 scram-sha-256\n\
    host all scram 127.0.0.1/32 scram-sha-256\n\
    host all hashed 127.0.0.1/32 md5\n\
    host all clear 127.0.0.1/32 password\n\
    host all,replication postgres,reader 127.0.0.1/32 trust\n";

/// A server, which ends with this, or with the tests' process however that ends.
pub struct TestServer {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    process: Child,
    /// Waits for the end of its input; ends the server then, and removes the folder.
    _guardian: Child,
}

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
            skip();
        }
        server
    }

    /// A server of one test's own.
    pub fn own() -> Option<Self> {
        let server = Self::start();
        if server.is_none() {
            skip();
        }
        server
    }

    fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("replica").tempdir().unwrap().keep();
        let data = folder.join("data");
        let guardian = Command::new("sh")
            .args([
                "-c",
                "cat; kill -QUIT \"$(head -n 1 \"$1/data/postmaster.pid\")\"; sleep 1; rm -rf \"$1\"",
                "guardian",
            ])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        make_certificates(&folder);
        if let Some((user, group)) = owner() {
            for path in [folder.clone(), folder.join("server.key"), folder.join("server.crt")] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
            }
        }
        let made = as_owner(&programs.join("initdb"), &folder)
            .args([
                "--no-sync",
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--pgdata",
            ])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        fs::write(data.join("pg_hba.conf"), HBA).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = run(&programs, &folder, port);
        let server = Self { folder, programs, port, process, _guardian: guardian };
        server.wait();
        Some(server)
    }

    /// How to connect to a database of it, as the superuser and without TLS.
    pub fn settings(&self, database: &str) -> ConnectionSettings {
        self.settings_of(&format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port))
    }

    /// As a URL says, and nothing of the environment.
    pub fn settings_of(&self, url: &str) -> ConnectionSettings {
        ConnectionSettings::from_url_and(url, &|_| None).unwrap()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with its socket, and with the root certificate `root.crt`.
    pub fn folder(&self) -> &Path {
        &self.folder
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
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // Its processes see that their parent is gone; until then a new server does not start.
        std::thread::sleep(Duration::from_millis(300));
    }

    /// Starts it after a kill.
    pub fn start_again(&mut self) {
        let began = Instant::now();
        loop {
            self.process = run(&self.programs, &self.folder, self.port);
            std::thread::sleep(Duration::from_millis(300));
            if self.process.try_wait().unwrap().is_none() {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{}", self.log());
        }
        self.wait();
    }

    fn wait(&self) {
        let began = Instant::now();
        loop {
            match Connection::open(&self.settings("postgres"), Purpose::Queries, &CancelFlag::default()) {
                Ok(_) => return,
                Err(error) => {
                    assert!(began.elapsed() < Duration::from_secs(60), "{error}\n{}", self.log());
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
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
            let slots = format!(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '{}' AND NOT active",
                self.name
            );
            run_sql(&mut connection, &slots);
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

fn run(programs: &Path, folder: &Path, port: u16) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = as_owner(&programs.join("postgres"), folder);
    command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]).arg("-k").arg(folder);
    for setting in [
        "listen_addresses=127.0.0.1",
        "wal_level=logical",
        "logical_decoding_work_mem=64kB", // small transactions are streamed
        "max_replication_slots=100",
        "max_wal_senders=100",
        "max_connections=200",
        "shared_buffers=32MB",
        "fsync=off", // a kill of processes loses nothing that was written
        "password_encryption=scram-sha-256",
        "autovacuum=off",
        "ssl=on",
    ] {
        command.args(["-c", setting]);
    }
    for (setting, file) in [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")] {
        command.arg("-c").arg(format!("{setting}={}", folder.join(file).display()));
    }
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

/// A root, and a certificate for `localhost` that it signed.
fn make_certificates(folder: &Path) {
    let root_key = rcgen::KeyPair::generate().unwrap();
    let mut root = rcgen::CertificateParams::new(Vec::new()).unwrap();
    root.distinguished_name.push(rcgen::DnType::CommonName, "root of a test");
    root.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root_certificate = root.self_signed(&root_key).unwrap();
    let issuer = rcgen::Issuer::new(root, root_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let server = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &issuer).unwrap();
    fs::write(folder.join("root.crt"), root_certificate.pem()).unwrap();
    fs::write(folder.join("server.crt"), certificate.pem()).unwrap();
    fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
    fs::set_permissions(folder.join("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Where PostgreSQL's programs are.
fn programs() -> Option<PathBuf> {
    let told = Command::new("pg_config")
        .arg("--bindir")
        .output()
        .ok()
        .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let mut folders: Vec<PathBuf> = told.into_iter().collect();
    // Debian's, the newest first: pg_config comes with the headers.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    found.sort();
    folders.extend(found.into_iter().rev());
    let has_both = |folder: &PathBuf| folder.join("postgres").exists() && folder.join("initdb").exists();
    folders.into_iter().find(has_both).filter(|_| !is_root() || owner().is_some())
}

fn skip() {
    let why = "PostgreSQL's programs are not here (apt install postgresql-15), or this is root and there is no user postgres";
    assert!(std::env::var_os("CI").is_none(), "{why}");
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by `println!`, which a passing test keeps to itself.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

fn is_root() -> bool {
    id(&["-u"]) == Some(0)
}

/// Who runs the server, if that is not who runs the tests: it refuses to run as root.
fn owner() -> Option<(u32, u32)> {
    is_root().then(|| Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?))).flatten()
}

fn as_owner(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C");
    if let Some((user, group)) = owner() {
        command.uid(user).gid(group);
    }
    command
}
