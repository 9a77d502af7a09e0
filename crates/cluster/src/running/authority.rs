//! Authority: the CA of a cluster, which signs the certificates of its nodes.
//!
//! ```text
//! CA       self-signed, for 10 years       ca.pem: whom nodes trust      ca.key: kept away from nodes, needed to sign alone
//! node N   signed by the CA, for 2 years   for the name that N has (`transport/tcp/node_name.rs`), server and client
//! ```
//!
//! A node's certificate is renewed where `ca.key` lies, as often as one likes; the node reads it at its next start. Whoever has
//! `ca.key` can be any node. A cluster that outlives its CA gets another one: a `ca.pem` may hold several certificates, so that
//! nodes trust both while they are renewed one by one.
//!
//! Both are valid from a day before they were made: clocks of nodes differ.

use crate::record_id::NodeId;
use crate::transport::tcp::node_name::ClusterId;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::clock::Clock;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long the certificate of a CA is valid.
pub const AUTHORITY_VALIDITY: Duration = Duration::from_secs(3650 * DAY.as_secs());

/// How long the certificate of a node is valid.
pub const NODE_VALIDITY: Duration = Duration::from_secs(730 * DAY.as_secs());

/// The CA of a cluster, with its key.
pub(super) struct Authority {
    cluster: ClusterId,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
pub(super) struct SignedCertificate {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// `io` if the system has no random numbers to give.
    pub(super) fn generate(cluster: ClusterId) -> Result<Self> {
        let key = KeyPair::generate().map_err(|error| failed("make the key of the CA", &error))?;
        Ok(Self::of(cluster, key))
    }

    /// The one whose key this is, in PEM.
    ///
    /// # Errors
    /// `invalid` if it is none.
    pub(super) fn of_key(cluster: ClusterId, key: &str) -> Result<Self> {
        let key = KeyPair::from_pem(key)
            .map_err(|error| Error::invalid(format!("it does not hold the key of a CA, in PEM: {error}")))?;
        Ok(Self::of(cluster, key))
    }

    fn of(cluster: ClusterId, key: KeyPair) -> Self {
        Self { cluster, issuer: Issuer::new(params(cluster), key) }
    }

    /// Its certificate, in PEM, valid from about now on.
    ///
    /// # Errors
    /// `io` if it cannot be signed.
    pub(super) fn certificate(&self, clock: &dyn Clock) -> Result<String> {
        let mut params = params(self.cluster);
        valid_for(&mut params, AUTHORITY_VALIDITY, clock);
        let signed = params.self_signed(self.issuer.key());
        Ok(signed.map_err(|error| failed("sign the certificate of the CA", &error))?.pem())
    }

    /// Its key, in PEM.
    pub(super) fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A new key and certificate for a node, valid from about now on.
    ///
    /// # Errors
    /// `io` if it cannot be signed.
    pub(super) fn sign(&self, node: NodeId, clock: &dyn Clock) -> Result<SignedCertificate> {
        let name = self.cluster.node_name(node);
        let sign = || {
            let mut params = CertificateParams::new([name.clone()])?;
            params.distinguished_name.push(DnType::CommonName, format!("Evergraph node {}", node.0));
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            params.use_authority_key_identifier_extension = true;
            valid_for(&mut params, NODE_VALIDITY, clock);
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(SignedCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
        };
        sign().map_err(|error| failed(&format!("sign the certificate of {name}"), &error))
    }
}

/// What is the same whenever the CA signs: who has its key alone can sign on.
fn params(cluster: ClusterId) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("Evergraph cluster {cluster}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn valid_for(params: &mut CertificateParams, validity: Duration, clock: &dyn Clock) {
    let since_1970 = Duration::from_nanos(u64::try_from(clock.wall()).unwrap_or(0));
    let now = date_time_ymd(1970, 1, 1) + Duration::from_secs(since_1970.as_secs());
    params.not_before = now - DAY;
    params.not_after = now + validity;
}

fn failed(what: &str, error: &rcgen::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}"))
}
