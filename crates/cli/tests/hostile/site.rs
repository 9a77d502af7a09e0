//! Site: a server of a database in a folder, with TLS or without, whose memory is watched.

use evergraph::{Database, EngineKind, Options};
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take that is waited for.
pub const TIME_MAX: Duration = Duration::from_secs(60);

/// How soon a server says that it is well, whatever else it does.
const HEALTH_TIME_MAX: Duration = Duration::from_secs(1);
/// How often it is asked in a row, of which it may be late less than half: the machine has other work, and clients of these tests.
const HEALTH_TRIES: usize = 5;
/// How many such rows there are at most. A network thread that is held up is so in all of them.
const HEALTH_ROWS: usize = 3;

/// Whether clients speak TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    Plain,
    Tls,
}

/// A server that runs. It is killed with the test.
pub struct Site {
    _folder: TempDir,
    child: Child,
    address: String,
    certificate: CertificateDer<'static>,
    certificate_file: PathBuf,
    transport: Transport,
}

/// A connection of bytes.
pub trait Bytes: Read + Write + Send {}

impl<S: Read + Write + Send> Bytes for S {}

impl Site {
    /// Serves a database with so many texts of 1 KB, and `arguments` besides.
    pub fn serve(transport: Transport, texts: usize, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("social.eg");
        let options = Options { engine: Some(EngineKind::Memory), ..Options::default() };
        let open = Database::open_with(&database, &options).unwrap();
        open.transact(|tx| {
            (0..texts).try_for_each(|at| {
                let text = format!("{at:>1000}");
                tx.add_vertex("Text", &[("at", (at as i64).into()), ("text", text.as_str().into())]).map(drop)
            })
        })
        .unwrap();
        open.close().unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let (certificate_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        fs::write(&certificate_file, certificate.pem()).unwrap();
        fs::write(&key_file, key.serialize_pem()).unwrap();
        fs::set_permissions(&key_file, Permissions::from_mode(0o600)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error"])
            .arg(&database)
            .args(arguments);
        if transport == Transport::Tls {
            command.arg("--tls-certificate").arg(&certificate_file).arg("--tls-key").arg(&key_file);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no address: {first}")).to_owned();
        let certificate = certificate.der().clone();
        Self { _folder: folder, child, address, certificate, certificate_file, transport }
    }

    /// A client, which connects with its first request.
    pub fn client(&self) -> Client {
        let mut options = ClientOptions::default();
        let (_, port) = self.address.rsplit_once(':').unwrap();
        let url = match self.transport {
            Transport::Plain => format!("ws://{}", self.address),
            Transport::Tls => {
                options.tls.root = Some(self.certificate_file.clone());
                format!("wss://localhost:{port}")
            }
        };
        Client::new(&url.parse().unwrap(), options).unwrap()
    }

    /// A connection.
    pub fn connect(&self) -> Box<dyn Bytes> {
        let stream = self.connect_tcp();
        if self.transport == Transport::Plain {
            return Box::new(stream);
        }
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream);
        tls.flush().unwrap();
        Box::new(tls)
    }

    /// A connection without TLS, whatever the server speaks.
    pub fn connect_tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIME_MAX)).unwrap();
        stream.set_write_timeout(Some(TIME_MAX)).unwrap();
        stream
    }

    /// A WebSocket.
    pub fn connect_websocket(&self) -> Box<dyn Bytes> {
        let mut stream = self.connect();
        let head = "GET /gremlin HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        stream
    }

    /// The status and the body of the answer to `GET path`.
    pub fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, "")
    }

    /// The same of a POST with a document.
    pub fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.ask("POST", path, body)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = Vec::new();
        // TLS without a last word is an error of rustls.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// How long it takes to say that it is well: the median of some tries.
    fn health_time(&self, what: &str) -> Duration {
        let mut times: Vec<Duration> = (0..HEALTH_TRIES)
            .map(|_| {
                let began = Instant::now();
                assert_eq!(self.get("/healthz"), (200, "ok\n".to_owned()), "{what}");
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[HEALTH_TRIES / 2]
    }

    /// It says within a second that it is well.
    pub fn is_well(&self, what: &str) {
        let mut times = Vec::new();
        while times.last().is_none_or(|time| *time >= HEALTH_TIME_MAX) {
            assert!(times.len() < HEALTH_ROWS, "{what}: health is told within a second: {times:?}");
            times.push(self.health_time(what));
        }
        println!("{what}, {:?}: health after {:?}", self.transport, times.last().unwrap());
    }

    /// It says within a second that it is well, and takes at most so much memory at any time until now, in MiB.
    pub fn is_well_within(&self, what: &str, mebibytes_max: u64) {
        self.is_well(what);
        let (peak, now) = (self.memory("VmHWM:") >> 20, self.memory("VmRSS:") >> 20);
        println!("{what}, {:?}: {peak} MiB at most, {now} MiB now", self.transport);
        assert!(
            peak <= mebibytes_max,
            "{what}, {:?}: {peak} MiB of memory, of {mebibytes_max}",
            self.transport
        );
    }

    /// Bytes of its memory: `VmRSS:` now, `VmHWM:` at most.
    pub fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `is_so`.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIME_MAX, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A binary frame of a WebSocket whose head tells `length`, and which begins with `payload`. Its mask changes nothing.
pub fn frame(head: u8, length: u64, payload: &[u8]) -> Vec<u8> {
    let length = match length {
        0..126 => vec![0x80 | length as u8],
        126..65536 => [&[0x80 | 126][..], &(length as u16).to_be_bytes()].concat(),
        length => [&[0x80 | 127][..], &length.to_be_bytes()].concat(),
    };
    [&[head][..], &length, &[0; 4], payload].concat()
}
