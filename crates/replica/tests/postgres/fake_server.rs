//! A fake server: lets everybody in, begins a stream for whoever asks for one, and then sends what a test says.

use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::contract::{LogicalMessages, StreamRequest};
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Whether the server speaks TLS.
#[derive(Clone, Copy)]
pub enum Encryption {
    None,
    Tls,
}

/// A server for one stream, by which `send` sends. The stream ends when `send` returns.
pub fn serve(
    encryption: Encryption,
    send: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> ConnectionSettings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Each message goes at once, as PostgreSQL's.
        stream.set_nodelay(true).unwrap();
        match encryption {
            Encryption::None => talk(&mut stream, send),
            Encryption::Tls => talk(&mut encrypted(stream), send),
        }
    });
    let mode = match encryption {
        Encryption::None => "disable",
        Encryption::Tls => "require",
    };
    let url = format!("postgres://a@127.0.0.1:{port}/d?sslmode={mode}");
    ConnectionSettings::from_url_and(&url, &|_| None).unwrap()
}

/// What a test asks the server for.
pub fn request() -> StreamRequest {
    StreamRequest {
        slot: "s".into(),
        publications: vec!["p".into()],
        start: Lsn::ZERO,
        logical_messages: LogicalMessages::Skipped,
    }
}

/// A keepalive that wants no answer.
pub fn keepalive(log_end: u64) -> Vec<u8> {
    frame(&[b"k", &log_end.to_be_bytes()[..], &[0; 8], &[0]].concat())
}

/// A message of logical decoding.
pub fn data(position: u64, message: &[u8]) -> Vec<u8> {
    let position = position.to_be_bytes();
    frame(&[b"w", &position[..], &position, &[0; 8], message].concat())
}

fn frame(body: &[u8]) -> Vec<u8> {
    message(b'd', body)
}

fn message(letter: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[letter][..], &length, body].concat()
}

/// Agrees on TLS with whoever asks for it.
fn encrypted(mut stream: TcpStream) -> StreamOwned<ServerConnection, TcpStream> {
    let mut request = [0; 8];
    stream.read_exact(&mut request).unwrap();
    stream.write_all(b"S").unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    // Nothing behind what the test sends, so that the client's last read of the socket is known.
    config.send_tls13_tickets = 0;
    StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream)
}

fn talk<S: Read + Write>(stream: &mut S, send: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4]).unwrap();
    let accepted = message(b'R', &[0; 4]);
    let version = message(b'S', b"server_version\x0015.0\0");
    stream.write_all(&[accepted, version, message(b'Z', b"I")].concat()).unwrap();
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let mut query = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        stream.read_exact(&mut query).unwrap();
        if query.starts_with(b"START_REPLICATION") {
            break;
        }
        stream.write_all(&[message(b'C', b"SET\0"), message(b'Z', b"I")].concat()).unwrap();
    }
    stream.write_all(&message(b'W', &[0; 3])).unwrap();
    // A client that has seen enough goes away.
    let _gone = send(stream);
}
