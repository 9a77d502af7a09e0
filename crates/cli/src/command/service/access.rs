//! Access to a server as options of the command line: where it listens, who logs in, its certificates and its audit log.

use clap::Args;
use evergraph_graph::error::{Error, Result};
use evergraph_server::security::host_check::check_reach;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::tls::TlsFiles;
use std::net::SocketAddr;
use std::path::PathBuf;

const SECURITY: &str = "Security";

/// Who reaches a server, and how.
#[derive(Args, Debug)]
pub struct AccessArguments {
    /// Address to listen on, and a port; port 0 is any free one. Without users and TLS the address is 127.0.0.1 or [::1].
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8182")]
    pub listen: SocketAddr,
    /// Users who may log in, as evergraph user writes them; everybody else is refused.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub users: Option<PathBuf>,
    /// The server's certificate, and those between it and its root, in PEM.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM; other users of this machine must not be able to read it.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_key: Option<PathBuf>,
    /// Demand certificates of clients, which one of these roots signed, in PEM.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub client_certificates: Option<PathBuf>,
    /// A name or address that clients connect to, beside those of the certificate and of this machine.
    #[arg(long, value_name = "NAME", help_heading = SECURITY)]
    pub host_name: Vec<String>,
    /// Append log-ins, refusals, sessions and changes of roles to this file, as JSON lines.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub audit_log: Option<PathBuf>,
}

impl AccessArguments {
    /// What the server is told.
    ///
    /// # Errors
    /// `invalid` for options that need others, for an address that other machines reach without users and TLS, and for files that
    /// cannot be used; `not_found`, `io`.
    pub fn security(&self) -> Result<SecurityOptions> {
        let mut security = SecurityOptions::default();
        security.users = self.users.clone();
        security.host_names = self.host_name.clone();
        security.audit_log = self.audit_log.clone();
        // Any of these may come from a settings file, where clap does not see that another one is missing; and without
        // TLS all the same, clients' passwords would be sent for everybody to read.
        security.tls = match (&self.tls_certificate, &self.tls_key, &self.client_certificates) {
            (Some(certificate), Some(key), roots) => Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_certificates: roots.clone(),
            }),
            (None, None, None) => None,
            (Some(_), None, _) => return Err(needs("--tls-certificate", "--tls-key")),
            (None, Some(_), _) => return Err(needs("--tls-key", "--tls-certificate")),
            (None, None, Some(_)) => {
                return Err(needs("--client-certificates", "--tls-certificate and --tls-key"));
            }
        };
        check_reach(self.listen, security.users.is_some(), security.tls.is_some())?;
        security.check_files()?;
        Ok(security)
    }
}

fn needs(option: &str, others: &str) -> Error {
    Error::invalid(format!(
        "{option} needs {others} as well: on the command line, or below the command's table in a settings file, such as [serve]"
    ))
}
