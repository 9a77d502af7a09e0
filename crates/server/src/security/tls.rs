//! TLS: the server's certificate and key, and who signs those of clients.
//!
//! Both files are read again when asked; if the new ones cannot be used, the old ones stay. Connections that are open keep
//! what they began with. Versions 1.2 and 1.3, by rustls and ring.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files of a server, in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The server's certificate, and those between it and its root.
    pub certificate: PathBuf,
    /// The key of the certificate.
    pub key: PathBuf,
    /// The roots of clients' certificates, which are demanded then.
    pub client_certificates: Option<PathBuf>,
}

/// Certificates and keys, as they were read last.
pub struct Tls {
    files: TlsFiles,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// `invalid` for files that hold no certificate or key, a key of another certificate, and a key that others can read;
    /// `not_found`, `io`.
    pub fn read(files: TlsFiles) -> Result<Self> {
        let loaded = Mutex::new(load(&files)?);
        Ok(Self { files, loaded })
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// As [`Tls::read`]; the certificate then stays as it was.
    pub fn reload(&self) -> Result<()> {
        let loaded = load(&self.files).map_err(|error| {
            Error::new(error.kind(), format!("{error}; the certificate stays as it was")).because(error)
        })?;
        *self.loaded() = loaded;
        Ok(())
    }

    /// What new connections begin with.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.loaded().config)
    }

    /// Whether the certificate is for `host`, a name or an address.
    #[must_use]
    pub fn is_for(&self, host: &str) -> bool {
        let loaded = self.loaded();
        let Ok(certificate) = ParsedCertificate::try_from(&loaded.certificate) else { return false };
        ServerName::try_from(host).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(files: &TlsFiles) -> Result<Loaded> {
    let certificates = certificates(&files.certificate, "--tls-certificate")?;
    check_key_file(&files.key)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unread(&files.key, "--tls-key", "a key in PEM", error))?;
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("choose versions of TLS: {error}")))?;
    let builder = match files.client_certificates.as_deref().filter(|_| !planted(Bug::AnyClientCertificate)) {
        None => builder.with_no_client_auth(),
        Some(path) => {
            const OPTION: &str = "--client-certificates";
            let mut roots = RootCertStore::empty();
            for certificate in self::certificates(path, OPTION)? {
                roots.add(certificate).map_err(|error| unusable(path, OPTION, &error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| unusable(path, OPTION, &error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let certificate = certificates[0].clone();
    let mut config = builder.with_single_cert(certificates, key).map_err(|error| {
        let why = format!("it and {} of --tls-key are no pair: {error}", files.key.display());
        unusable(&files.certificate, "--tls-certificate", &why)
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Loaded { config: Arc::new(config), certificate })
}

/// At least one certificate.
fn certificates(path: &Path, option: &str) -> Result<Vec<CertificateDer<'static>>> {
    const WHAT: &str = "a certificate in PEM";
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| unread(path, option, WHAT, error))?;
    if found.is_empty() { Err(unread(path, option, WHAT, pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// Refuses a key that other users of the machine can read. A group may read one of root's, as Debian has it.
fn check_key_file(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| unread(path, "--tls-key", "a key in PEM", pem::Error::Io(error)))?;
    let mode = metadata.permissions().mode() & 0o777;
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if mode & !allowed == 0 || planted(Bug::PrivateFilesOpen) {
        return Ok(());
    }
    let path = path.display();
    Err(Error::invalid(format!(
        "the key {path} of --tls-key can be read or written by other users of this machine (its mode is {mode:03o}): \
         chmod 600 {path}"
    )))
}

fn unread(path: &Path, option: &str, what: &str, error: pem::Error) -> Error {
    match error {
        pem::Error::Io(error) => {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("read {} of {option}: {error}", path.display())).because(error)
        }
        error => unusable(path, option, &format!("it does not hold {what}: {error}")),
    }
}

fn unusable(path: &Path, option: &str, why: &str) -> Error {
    Error::invalid(format!("{} of {option} cannot be used: {why}", path.display()))
}
