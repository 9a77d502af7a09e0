//! Security options: where users and certificates are, and which names the server goes by.

use crate::security::tls::TlsFiles;
use std::path::PathBuf;

/// Who may connect, and how. The default is everybody on this machine, and nobody else.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SecurityOptions {
    /// The users file; without one nobody logs in.
    pub users: Option<PathBuf>,
    /// Certificate and key; without them connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// Names that clients may connect to, beside those of the certificate and of this machine.
    pub host_names: Vec<String>,
    /// Where log-ins and refusals are written.
    pub audit_log: Option<PathBuf>,
}
