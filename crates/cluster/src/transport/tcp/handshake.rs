//! Handshake: TLS, then a hello from each side; after it both know which node the other one is.
//!
//! ```text
//! dialler                                      listener
//!   certificates of both, signed by the CA: TLS 1.3
//!   theirs is for the node that is wanted?
//!   hello: cluster, this node, that node ──>
//!                                              version, cluster, receiver?
//!                                              their certificate is for the sender? a member?
//!                                          <── hello: welcome, or why not
//! ```
//!
//! In TLS 1.3 the dialler is through before the listener has seen its certificate: only the answer tells it that it
//! is let in.

use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::transport::tcp::certificate::{check_certificate, stream_error};
use crate::transport::tcp::hello::{Greeting, HELLO_BYTES, Hello, HelloAnswer};
use crate::transport::tcp::identity::NodeIdentity;
use crate::transport::tcp::link_error::LinkError;
use crate::transport::tcp::node_name::{ClusterId, server_name};
use rustls::pki_types::CertificateDer;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// How long, and how many bytes, whoever was refused may go on to send, so that it reads why.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 64 << 10;

/// Begins as the one who dialled `wanted`.
///
/// # Errors
/// If the other side is somebody else, or does not let this node in.
pub(super) async fn greet(
    identity: &NodeIdentity,
    wanted: NodeId,
    tcp: TcpStream,
) -> Result<client::TlsStream<TcpStream>, LinkError> {
    let cluster = identity.cluster();
    let failed = |error: std::io::Error| stream_error(&error, Some((cluster, wanted)));
    let connector = TlsConnector::from(identity.client());
    let mut stream = connector.connect(server_name(cluster, wanted), tcp).await.map_err(failed)?;
    check_certificate(shown(stream.get_ref().1.peer_certificates())?, cluster, wanted)?;
    let hello = Hello { answer: HelloAnswer::Welcome, cluster, sender: identity.node(), receiver: wanted };
    stream.write_all(&hello.encode()).await.map_err(failed)?;
    stream.flush().await.map_err(failed)?;
    let mut bytes = [0; HELLO_BYTES];
    stream.read_exact(&mut bytes).await.map_err(failed)?;
    let theirs = match Hello::decode(&bytes).map_err(|error| LinkError::NoHello { error })? {
        Greeting::Known(theirs) => theirs,
        Greeting::OtherVersion(found) => return Err(LinkError::OtherVersion { found }),
    };
    if theirs.answer != HelloAnswer::Welcome {
        return Err(LinkError::Refused { answer: theirs.answer });
    }
    if theirs.cluster != cluster {
        return Err(LinkError::OtherCluster { found: theirs.cluster });
    }
    match (theirs.sender, theirs.receiver) {
        (sender, _) if sender != wanted => Err(LinkError::OtherNode { wanted, found: vec![sender] }),
        (_, receiver) if receiver != identity.node() => Err(LinkError::OtherReceiver { wanted: receiver }),
        _ => Ok(stream),
    }
}

/// Why somebody is not let in. What is left of its connection is closed with [`linger`].
pub(super) type Refusal = (LinkError, Option<TcpStream>);

/// Begins as the one who was dialled, by a node for which `is_known` is true. Returns which one it is.
///
/// # Errors
/// If it is none. It has been told so as far as that is possible.
pub(super) async fn answer(
    identity: &NodeIdentity,
    tcp: TcpStream,
    is_known: impl Fn(NodeId) -> bool,
) -> Result<(server::TlsStream<TcpStream>, NodeId), Refusal> {
    let failed = |error: std::io::Error| refusal(stream_error(&error, None));
    let acceptor = TlsAcceptor::from(identity.server());
    let accepted = acceptor.accept(tcp).into_fallible().await;
    let mut stream = accepted.map_err(|(error, tcp)| (stream_error(&error, None), Some(tcp)))?;
    let mut bytes = [0; HELLO_BYTES];
    stream.read_exact(&mut bytes).await.map_err(failed)?;
    let greeting = Hello::decode(&bytes).map_err(|error| refusal(LinkError::NoHello { error }))?;
    let certificate = shown(stream.get_ref().1.peer_certificates()).map_err(refusal)?;
    let judged = match judge(&greeting, identity.cluster(), identity.node(), certificate) {
        Ok(sender) if !is_known(sender) => {
            Err((HelloAnswer::UnknownNode, LinkError::UnknownNode { node: sender }))
        }
        judged => judged,
    };
    let receiver = match greeting {
        Greeting::Known(hello) => hello.sender,
        // Whoever that is.
        Greeting::OtherVersion(_) => identity.node(),
    };
    let answer = judged.as_ref().map_or_else(|(answer, _)| *answer, |_| HelloAnswer::Welcome);
    let hello = Hello { answer, cluster: identity.cluster(), sender: identity.node(), receiver };
    let mut said = stream.write_all(&hello.encode()).await;
    if said.is_ok() {
        said = stream.flush().await;
    }
    match judged {
        Ok(sender) => said.map(|()| (stream, sender)).map_err(failed),
        Err((_, error)) => {
            // Why it is refused counts, and not that it does not listen.
            let _ = stream.shutdown().await;
            Err(refusal(error))
        }
    }
}

/// After which nothing is left of the connection.
fn refusal(error: LinkError) -> Refusal {
    (error, None)
}

/// Who sent a greeting to `node`, with this certificate; or what it is answered, and why.
fn judge(
    greeting: &Greeting,
    cluster: ClusterId,
    node: NodeId,
    certificate: &CertificateDer<'_>,
) -> Result<NodeId, (HelloAnswer, LinkError)> {
    let hello = match greeting {
        Greeting::Known(hello) => hello,
        Greeting::OtherVersion(found) => {
            return Err((HelloAnswer::OtherVersion, LinkError::OtherVersion { found: *found }));
        }
    };
    if hello.cluster != cluster && !planted(Bug::HelloClusterUnchecked) {
        return Err((HelloAnswer::OtherCluster, LinkError::OtherCluster { found: hello.cluster }));
    }
    if hello.receiver != node {
        return Err((HelloAnswer::OtherReceiver, LinkError::OtherReceiver { wanted: hello.receiver }));
    }
    check_certificate(certificate, cluster, hello.sender)
        .map_err(|error| (HelloAnswer::OtherCertificate, error))?;
    Ok(hello.sender)
}

/// What the other side shows first: its own certificate.
fn shown<'a>(
    certificates: Option<&'a [CertificateDer<'static>]>,
) -> Result<&'a CertificateDer<'static>, LinkError> {
    certificates.and_then(<[_]>::first).ok_or(LinkError::NoCertificate)
}

/// Closes the connection of somebody whom TLS refused. If bytes that came were left unread, the system would throw
/// away the alert that says why.
pub(super) async fn linger(mut tcp: TcpStream) {
    let _ = timeout(LINGER, async {
        let mut piece = [0; 1024];
        let mut left = LINGER_BYTES_MAX;
        tcp.shutdown().await?;
        while left > 0 {
            match tcp.read(&mut piece).await? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        Ok::<(), std::io::Error>(())
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use rcgen::{CertificateParams, KeyPair};

    const CLUSTER: ClusterId = ClusterId([7; 16]);

    fn certificate(node: u16) -> CertificateDer<'static> {
        let params = CertificateParams::new([CLUSTER.node_name(NodeId(node))]).unwrap();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_greeting_is_taken_from_the_node_of_the_certificate_for_this_node_of_this_cluster() {
        let hello =
            Hello { answer: HelloAnswer::Welcome, cluster: CLUSTER, sender: NodeId(2), receiver: NodeId(1) };
        let two = certificate(2);
        let said = |hello: Hello| {
            judge(&Greeting::Known(hello), CLUSTER, NodeId(1), &two).map_err(|(answer, _)| answer)
        };
        assert_eq!(said(hello), Ok(NodeId(2)));
        let other = Hello { cluster: ClusterId([8; 16]), ..hello };
        assert_eq!(said(other), Err(HelloAnswer::OtherCluster), "of another cluster");
        assert_eq!(said(Hello { receiver: NodeId(4), ..hello }), Err(HelloAnswer::OtherReceiver));
        assert_eq!(said(Hello { sender: NodeId(3), ..hello }), Err(HelloAnswer::OtherCertificate));
        let newer = judge(&Greeting::OtherVersion(2), CLUSTER, NodeId(1), &two);
        assert_eq!(newer, Err((HelloAnswer::OtherVersion, LinkError::OtherVersion { found: 2 })));
    }

    #[test]
    fn planted_bugs_are_found() {
        let greeting = a_greeting_is_taken_from_the_node_of_the_certificate_for_this_node_of_this_cluster;
        assert_found(Bug::HelloClusterUnchecked, greeting, "of another cluster");
    }
}
