//! Security options: where users and certificates are, and which names the server goes by.

use crate::security::tls::{Tls, TlsFiles};
use crate::security::users_file;
use evergraph_graph::error::Result;
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

impl SecurityOptions {
    /// Reads users, certificate and key, so that a wrong one is told before anything else takes its time.
    ///
    /// # Errors
    /// Those of reading them, with the file.
    pub fn check_files(&self) -> Result<()> {
        if let Some(users) = &self.users {
            users_file::read(users)?;
        }
        self.tls.clone().map(Tls::read).transpose()?;
        Ok(())
    }
}
