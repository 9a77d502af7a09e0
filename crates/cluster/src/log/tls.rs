//! TLS to servers of a log: whom a client trusts, and the certificate that it shows. Versions 1.2 and 1.3, by rustls and ring.

use crate::log::server_access::{LogClientCertificate, LogTls};
use evergraph_graph::error::{Error, ErrorKind, Result};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Reads the files that `tls` names, for a protocol that is called `alpn` in TLS, if it has a name there.
///
/// # Errors
/// `invalid` for files without a certificate or key, a certificate that is not of its key, and a key that other users
/// can read; `not_found`, `io`.
pub(super) fn client_config(tls: &LogTls, alpn: Option<&[u8]>) -> Result<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::invalid(format!("choose versions of TLS: {error}")))?
        .with_root_certificates(roots(&tls.root)?);
    let mut config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some(LogClientCertificate { certificate, key }) => {
            let chain = certificates(certificate, "certificate")?;
            check_mode(key)?;
            let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, "key", error))?;
            builder.with_client_auth_cert(chain, private).map_err(|error| {
                let (certificate, key) = (certificate.display(), key.display());
                Error::invalid(format!("the certificate {certificate} is not of the key {key}: {error}"))
            })?
        }
    };
    config.alpn_protocols = alpn.map(<[u8]>::to_vec).into_iter().collect();
    Ok(Arc::new(config))
}

fn roots(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, "root certificate")? {
        roots.add(certificate).map_err(|error| {
            Error::invalid(format!("the root certificate {} cannot be used: {error}", path.display()))
        })?;
    }
    Ok(roots)
}

/// At least one certificate.
fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| unread(path, what, error))?;
    if found.is_empty() { Err(unread(path, what, pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// Refuses a key that other users of this machine can read. A group may read one of root's: so services get their
/// secrets.
#[cfg(unix)]
fn check_mode(key: &Path) -> Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = std::fs::metadata(key).map_err(|error| unread(key, "key", pem::Error::Io(error)))?;
    let mode = metadata.permissions().mode() & 0o777;
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if !metadata.is_file() || mode & !allowed == 0 {
        return Ok(());
    }
    let key = key.display();
    Err(Error::invalid(format!(
        "the key {key} can be read or written by other users of this machine (its mode is {mode:03o}): chmod 600 {key}"
    )))
}

/// Elsewhere files have no mode.
#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<()> {
    Ok(())
}

fn unread(path: &Path, what: &str, error: pem::Error) -> Error {
    let path = path.display();
    match error {
        pem::Error::Io(error) => {
            let kind =
                if error.kind() == io::ErrorKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Io };
            Error::new(kind, format!("read the {what} {path}: {error}")).because(error)
        }
        error => Error::invalid(format!("the file {path} holds no {what} in PEM: {error}")),
    }
}
