//! TLS to a PostgreSQL server: whom it trusts, by `sslmode`, and what a log-in is bound to. Versions 1.2 and 1.3, by rustls.

use std::path::Path;
use std::sync::Arc;

use evergraph_graph::value::datetime::DateTime;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError,
    RootCertStore, SignatureScheme,
};

use crate::postgres_time::PostgresTime;
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::settings::{SslMode, TlsSettings};

/// What PostgreSQL calls its protocol in TLS.
const ALPN: &[u8] = b"postgresql";

/// The configuration for these settings.
///
/// # Errors
/// If a file that they name cannot be read, or holds no certificate or key.
pub fn config(settings: &TlsSettings) -> SourceResult<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| SourceError::Invalid(format!("choose versions of TLS: {error}")))?;
    // As libpq does: a file of roots makes `require` look at the chain.
    let trust = match settings.mode {
        SslMode::VerifyFull => Trust::Host,
        SslMode::VerifyCa => Trust::Chain,
        SslMode::Require if settings.root.is_some() => Trust::Chain,
        _ => Trust::Anybody,
    };
    let chain = match trust {
        Trust::Anybody => None,
        Trust::Chain | Trust::Host => {
            let roots = Arc::new(roots(settings.root.as_deref())?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(
                verifier
                    .map_err(|error| SourceError::Invalid(format!("use the root certificates: {error}")))?,
            )
        }
    };
    let verifier = Arc::new(Verifier { trust, chain, provider });
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match (&settings.certificate, &settings.key) {
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate, "certificate")?;
            let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, "key", &error))?;
            builder.with_client_auth_cert(chain, private).map_err(|error| {
                let (certificate, key) = (certificate.display(), key.display());
                SourceError::Invalid(format!(
                    "the certificate {certificate} and the key {key} are no pair: {error}"
                ))
            })?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

fn roots(path: Option<&Path>) -> SourceResult<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match path {
        Some(path) => {
            for certificate in certificates(path, "root certificate")? {
                roots.add(certificate).map_err(|error| {
                    SourceError::Invalid(format!(
                        "the root certificate {} cannot be used: {error}",
                        path.display()
                    ))
                })?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err(SourceError::Invalid(
                    "this system has no root certificates: name a file with the server's root as sslrootcert"
                        .to_owned(),
                ));
            }
        }
    }
    Ok(roots)
}

fn certificates(path: &Path, what: &str) -> SourceResult<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unread(path, what, &error))?;
    match found.is_empty() {
        true => Err(SourceError::Invalid(format!("the file {} holds no {what} in PEM", path.display()))),
        false => Ok(found),
    }
}

fn unread(path: &Path, what: &str, error: &rustls::pki_types::pem::Error) -> SourceError {
    SourceError::Invalid(format!("read the {what} {}: {error}", path.display()))
}

/// Why a handshake failed, and what to do about it.
#[must_use]
pub fn reason(error: &TlsError) -> String {
    use CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
    };
    let advice = match error {
        TlsError::InvalidCertificate(ExpiredContext { not_after, .. }) => {
            return format!("the server's certificate expired on {}: it needs a new one", moment(*not_after));
        }
        TlsError::InvalidCertificate(NotValidYetContext { not_before, .. }) => {
            let from = moment(*not_before);
            return format!(
                "the server's certificate is valid from {from} on: is this machine's clock right?"
            );
        }
        TlsError::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            "name the host as the certificate does, in its subjectAltName"
        }
        TlsError::InvalidCertificate(Expired | NotValidYet) => {
            "the server needs a certificate that is valid at present"
        }
        TlsError::InvalidCertificate(_) => {
            "sslrootcert names the file with the root that signed the server's certificate, which is no root itself"
        }
        TlsError::AlertReceived(AlertDescription::UnknownCA) => {
            "the server knows no root that signed the certificate of sslcert: its ssl_ca_file has those that it trusts"
        }
        _ => return error.to_string(),
    };
    format!("{error}; {advice}")
}

/// In UTC, to the second.
fn moment(time: UnixTime) -> DateTime {
    let microseconds = i64::try_from(time.as_secs().saturating_mul(1_000_000)).unwrap_or(i64::MAX);
    PostgresTime::from_unix_microseconds(microseconds).to_datetime()
}

/// Whom a client takes for its server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trust {
    /// Whoever answers.
    Anybody,
    /// Whoever has a certificate of a trusted root.
    Chain,
    /// Whoever has one for the host.
    Host,
}

#[derive(Debug)]
struct Verifier {
    trust: Trust,
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last, behind the chain and its dates.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust == Trust::Chain => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The hash of a certificate that `tls-server-end-point` (RFC 5929, section 4.1) asks for: by the algorithm that it was signed
/// with. `None` for algorithms without one (Ed25519, RSA-PSS), as in libpq.
#[must_use]
pub fn end_point_hash(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    /// SHA-256 stands in for MD5 and SHA-1, too.
    const SHA_256: [&[u8]; 4] = [
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], // md5WithRSAEncryption
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], // sha1WithRSAEncryption
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], // sha256WithRSAEncryption
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],       // ecdsa-with-SHA256
    ];
    const SHA_384: [&[u8]; 2] = [
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c],
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03],
    ];
    const SHA_512: [&[u8]; 2] = [
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d],
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04],
    ];
    use sha2::Digest as _;
    let algorithm = signature_algorithm(certificate)?;
    if SHA_256.contains(&algorithm) {
        Some(sha2::Sha256::digest(certificate).to_vec())
    } else if SHA_384.contains(&algorithm) {
        Some(sha2::Sha384::digest(certificate).to_vec())
    } else if SHA_512.contains(&algorithm) {
        Some(sha2::Sha512::digest(certificate).to_vec())
    } else {
        None
    }
}

/// The object identifier of the algorithm in `Certificate ::= SEQUENCE { tbs SEQUENCE, algorithm SEQUENCE { OID, ... }, ... }`.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (certificate, _) = der_value(certificate, SEQUENCE)?;
    let (_, rest) = der_value(certificate, SEQUENCE)?;
    let (algorithm, _) = der_value(rest, SEQUENCE)?;
    Some(der_value(algorithm, OBJECT_IDENTIFIER)?.0)
}

/// The content of the value with this tag at the front of `input`, and what follows it.
fn der_value(input: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = input.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    if *found == tag { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_of_certificates_are_told_as_dates() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let expired = CertificateError::ExpiredContext { time: at(5), not_after: at(946_684_800) };
        assert_eq!(
            reason(&TlsError::InvalidCertificate(expired)),
            "the server's certificate expired on 2000-01-01T00:00:00Z: it needs a new one"
        );
        let early = CertificateError::NotValidYetContext { time: at(5), not_before: at(u64::MAX) };
        assert!(reason(&TlsError::InvalidCertificate(early)).contains("is valid from "));
    }

    #[test]
    fn a_certificate_is_hashed_as_it_was_signed() {
        let sign = |algorithm| {
            let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
            let parameters = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap();
            end_point_hash(parameters.self_signed(&key).unwrap().der())
        };
        assert_eq!(sign(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().len(), 32);
        assert_eq!(sign(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap().len(), 48);
        assert_eq!(sign(&rcgen::PKCS_ED25519), None);
        for damaged in
            [&b""[..], b"\x30", b"\x30\x82\xff", b"\x30\x03\x30\x05\0", b"\x30\x84\xff\xff\xff\xff\x30"]
        {
            assert_eq!(end_point_hash(&CertificateDer::from(damaged)), None);
        }
    }
}
