//! Certificate: whether one is a node's, and what a failed handshake says about it.
//!
//! TLS has proved by then that the other side holds the key of the certificate, and that the cluster's CA signed it.

use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::transport::tcp::link_error::LinkError;
use crate::transport::tcp::node_name::{ClusterId, name_of_none, named_nodes, server_name};
use rustls::client::verify_server_name;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error as TlsError};
use std::io;

/// Whether a certificate is for this node, and not for every node.
///
/// # Errors
/// If it is not: for whom it is.
pub(super) fn check_certificate(
    certificate: &CertificateDer<'_>,
    cluster: ClusterId,
    node: NodeId,
) -> Result<(), LinkError> {
    if planted(Bug::CertificateNameUnchecked) {
        return Ok(());
    }
    let failed = |error: TlsError| tls_error(&error, Some((cluster, node)));
    let parsed = ParsedCertificate::try_from(certificate).map_err(failed)?;
    // With a wildcard one node could say that it is any other.
    if verify_server_name(&parsed, &name_of_none(cluster)).is_ok() {
        return Err(LinkError::EveryNode);
    }
    verify_server_name(&parsed, &server_name(cluster, node)).map_err(failed)
}

/// What an error of TLS says; `wanted` is whose certificate was looked for.
pub(super) fn tls_error(error: &TlsError, wanted: Option<(ClusterId, NodeId)>) -> LinkError {
    match error {
        TlsError::NoCertificatesPresented => LinkError::NoCertificate,
        TlsError::InvalidMessage(_) => LinkError::NotTls,
        TlsError::AlertReceived(alert) => LinkError::Alert { alert: format!("{alert:?}") },
        // The second: another CA of the same name.
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            LinkError::OtherAuthority
        }
        TlsError::InvalidCertificate(problem) => match (problem, wanted) {
            (CertificateError::NotValidForNameContext { presented, .. }, Some((cluster, wanted))) => {
                let found = named_nodes(presented, cluster);
                match found.is_empty() {
                    true => LinkError::NoNodeOfCluster,
                    false => LinkError::OtherNode { wanted, found },
                }
            }
            _ => LinkError::BadCertificate { reason: problem.to_string() },
        },
        other => LinkError::Tls { reason: other.to_string() },
    }
}

/// What an error of a TLS stream says; `wanted` is whose certificate was looked for.
pub(super) fn stream_error(error: &io::Error, wanted: Option<(ClusterId, NodeId)>) -> LinkError {
    if let Some(error) = error.get_ref().and_then(|cause| cause.downcast_ref::<TlsError>()) {
        return tls_error(error, wanted);
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => LinkError::Closed,
        _ => LinkError::Io { reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use rcgen::{CertificateParams, KeyPair};
    use rustls::AlertDescription;

    const CLUSTER: ClusterId = ClusterId([7; 16]);

    fn certificate(names: &[String]) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        CertificateParams::new(names).unwrap().self_signed(&key).unwrap().der().clone()
    }

    fn name(node: u16) -> String {
        CLUSTER.node_name(NodeId(node))
    }

    #[test]
    fn a_certificate_is_for_the_nodes_that_it_names_and_for_no_other() {
        let two = certificate(&[name(2)]);
        assert_eq!(check_certificate(&two, CLUSTER, NodeId(2)), Ok(()));
        let other = LinkError::OtherNode { wanted: NodeId(3), found: vec![NodeId(2)] };
        assert_eq!(check_certificate(&two, CLUSTER, NodeId(3)), Err(other), "the certificate of node 2");
        let elsewhere = check_certificate(&two, ClusterId([8; 16]), NodeId(2));
        assert_eq!(elsewhere, Err(LinkError::NoNodeOfCluster));
        let both = certificate(&[name(2), name(3), "db.example".to_owned()]);
        assert_eq!(check_certificate(&both, CLUSTER, NodeId(3)), Ok(()));
        let server = certificate(&["db.example".to_owned()]);
        assert_eq!(check_certificate(&server, CLUSTER, NodeId(2)), Err(LinkError::NoNodeOfCluster));
        let garbage = CertificateDer::from(vec![1, 2, 3]);
        let unread = check_certificate(&garbage, CLUSTER, NodeId(2));
        assert!(matches!(unread, Err(LinkError::BadCertificate { .. })), "{unread:?}");
    }

    #[test]
    fn a_certificate_for_every_node_is_for_none() {
        let any = name(2).replace("node-2", "*");
        for names in [vec![any.clone()], vec![name(2), any]] {
            let found = check_certificate(&certificate(&names), CLUSTER, NodeId(2));
            assert_eq!(found, Err(LinkError::EveryNode));
        }
    }

    #[test]
    fn errors_of_tls_say_what_to_look_at() {
        let stream = |error| stream_error(&io::Error::new(io::ErrorKind::InvalidData, error), None);
        for issuer in [CertificateError::UnknownIssuer, CertificateError::BadSignature] {
            assert_eq!(stream(TlsError::InvalidCertificate(issuer)), LinkError::OtherAuthority);
        }
        let alert = LinkError::Alert { alert: "UnknownCA".to_owned() };
        assert_eq!(stream(TlsError::AlertReceived(AlertDescription::UnknownCA)), alert);
        assert_eq!(stream(TlsError::NoCertificatesPresented), LinkError::NoCertificate);
        let expired = TlsError::InvalidCertificate(CertificateError::Expired);
        assert!(matches!(stream(expired), LinkError::BadCertificate { reason } if reason.contains("xpired")));
        let end = io::Error::new(io::ErrorKind::UnexpectedEof, "the end");
        assert_eq!(stream_error(&end, None), LinkError::Closed);
    }

    #[test]
    fn planted_bugs_are_found() {
        let names = a_certificate_is_for_the_nodes_that_it_names_and_for_no_other;
        assert_found(Bug::CertificateNameUnchecked, names, "the certificate of node 2");
    }
}
