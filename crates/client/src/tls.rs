//! TLS: whom a client trusts, and the certificate that it shows. Versions 1.2 and 1.3, by rustls and ring.

use crate::options::TlsOptions;
use crate::password::check_mode;
use evergraph_graph::error::{Error, ErrorKind, Result};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Reads the files that `options` name, or the system's roots.
///
/// # Errors
/// `invalid` for files without a certificate or key, a certificate without its key, and a key that other users can read;
/// `not_found`, `io`.
pub(crate) fn config(options: &TlsOptions) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::invalid(format!("choose versions of TLS: {error}")))?
        .with_root_certificates(roots(options)?);
    let mut config = match (&options.certificate, &options.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate, "certificate")?;
            let metadata =
                std::fs::metadata(key).map_err(|error| unread(key, "key", pem::Error::Io(error)))?;
            check_mode(key, &metadata, "key")?;
            let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, "key", error))?;
            builder.with_client_auth_cert(chain, private).map_err(|error| {
                let (certificate, key) = (certificate.display(), key.display());
                Error::invalid(format!(
                    "the certificate {certificate} and the key {key} are no pair: {error}"
                ))
            })?
        }
        _ => return Err(Error::invalid("a client's certificate and its key are named together")),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(options: &TlsOptions) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match &options.root {
        Some(path) => {
            for certificate in certificates(path, "root certificate")? {
                roots.add(certificate).map_err(|error| {
                    Error::invalid(format!("the root certificate {} cannot be used: {error}", path.display()))
                })?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            // Systems have roots that rustls refuses; a server's certificate then shows whether its own is missing.
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("this system has no root certificates{why}; name a file with the server's root"),
                ));
            }
        }
    }
    Ok(roots)
}

fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    let found = read.map_err(|error| unread(path, what, error))?;
    if found.is_empty() {
        return Err(unread(path, what, pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn unread(path: &Path, what: &str, error: pem::Error) -> Error {
    let path = path.display();
    match error {
        pem::Error::Io(error) => {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("read the {what} {path}: {error}")).because(error)
        }
        error => Error::invalid(format!("the file {path} holds no {what} in PEM: {error}")),
    }
}
