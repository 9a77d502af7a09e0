//! Access to servers of a log: certificates, and whether a secret may go to a server without TLS. The same for all engines.

use std::net::IpAddr;
use std::path::PathBuf;

/// Files of certificates, in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogTls {
    /// The roots of the servers' certificates.
    pub root: PathBuf,
    /// What this client shows of itself, where the servers demand it.
    pub client: Option<LogClientCertificate>,
}

/// The certificate of a client of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogClientCertificate {
    /// The certificate, and those between it and its root.
    pub certificate: PathBuf,
    /// Its key, which nobody else may read.
    pub key: PathBuf,
}

/// Whether a password may be sent without TLS: on the way anybody can read it.
///
/// Source: call credentials of gRPC, which are never sent over a connection without security unless a program says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CleartextLogin {
    /// Only to this machine: to an address of the loopback, or to `localhost`.
    #[default]
    Loopback,
    /// Anywhere: something else protects the network, as a tunnel does.
    Anywhere,
}

/// Whether a host is this machine, by its address or as `localhost`, which no name server is asked for.
pub(super) fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}
