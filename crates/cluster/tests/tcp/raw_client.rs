//! Raw client: TLS to a node, and then whatever a test wants to say.

use crate::certificates::{Authority, Signed};
use evergraph_cluster::transport::tcp::node_name::ClusterId;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a hello.
const HELLO_BYTES: usize = 26;

pub struct RawClient(StreamOwned<ClientConnection, TcpStream>);

/// As whom, to whom, and how.
pub struct Dial<'a> {
    pub address: SocketAddr,
    /// Whom it trusts.
    pub authority: &'a Authority,
    /// The name that the other side has to have.
    pub name: String,
    /// What it shows.
    pub own: Option<&'a Signed>,
    pub version: &'static SupportedProtocolVersion,
}

impl<'a> Dial<'a> {
    /// To the node of this name, by TLS 1.3.
    pub fn new(address: SocketAddr, authority: &'a Authority, name: String, own: &'a Signed) -> Self {
        Self { address, authority, name, own: Some(own), version: &version::TLS13 }
    }
}

impl RawClient {
    /// Connects; why it fails, as a text. In TLS 1.3 that it succeeds does not say that the node lets it in.
    pub fn connect(dial: &Dial<'_>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add(dial.authority.certificate()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[dial.version])
            .unwrap()
            .with_root_certificates(roots);
        let config = match dial.own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let (certificates, key) = own.parts();
                builder.with_client_auth_cert(certificates, key).unwrap()
            }
        };
        let mut tcp = TcpStream::connect(dial.address).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let name = ServerName::try_from(dial.name.clone()).unwrap();
        let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
        while tls.is_handshaking() {
            tls.complete_io(&mut tcp).map_err(|error| error.to_string())?;
        }
        Ok(Self(StreamOwned::new(tls, tcp)))
    }

    /// Says something. What fails then, the next thing that is heard tells.
    pub fn say(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).and_then(|()| self.0.flush());
    }

    /// The answer in the hello of the other side.
    pub fn hear_answer(&mut self) -> u8 {
        let mut bytes = [0; HELLO_BYTES];
        self.0.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes[..5], *b"EGNT\x02");
        bytes[5]
    }

    /// Whether the other side closes the connection, and says nothing more.
    pub fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0; 64]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// What a dialler says first.
pub fn hello(cluster: ClusterId, sender: u16, receiver: u16) -> Vec<u8> {
    let nodes = [sender.to_le_bytes(), receiver.to_le_bytes()].concat();
    [&b"EGNT\x02\x00"[..], &cluster.0[..], &nodes[..]].concat()
}
