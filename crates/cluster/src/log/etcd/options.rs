//! Options of a log on etcd: its members, its key, certificates, a log-in and a time limit.

use crate::log::server_access::{CleartextLogin, LogTls, is_loopback};
use evergraph_graph::error::{Error, Result};
use http::Uri;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The port of a URL that names none.
const PORT_DEFAULT: u16 = 2379;

/// Members that may be named: etcd advises seven at most.
const ENDPOINTS_MAX: usize = 16;

/// Bytes of a key. etcd itself has no limit but that of a request.
const KEY_BYTES_MAX: usize = 1024;

/// By default a request outlives the election of a leader, which takes 1 to 2 seconds.
const TIME_LIMIT_DEFAULT: Duration = Duration::from_secs(3);

/// A shorter limit would take a busy disk for a failure.
const TIME_LIMIT_MIN: Duration = Duration::from_millis(500);

/// A longer limit would hold up whoever waits for a stream that is dead.
const TIME_LIMIT_MAX: Duration = Duration::from_secs(60);

/// Where a log is, and how it is used.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// Members of the cluster. The first that answers is used until it fails, then the next one: a node names the
    /// nearest first.
    pub endpoints: Vec<EtcdEndpoint>,
    /// The key whose versions are the messages.
    pub key: String,
    /// Certificates, with endpoints that begin with `https` and only with those.
    pub tls: Option<LogTls>,
    /// A user of etcd, where it demands one. It reads and writes the key; since a fix of March 2026 (3.4.42) trims need the
    /// role `root`. Endpoints have TLS then, or are this machine's: see [`EtcdLogin::cleartext`].
    pub login: Option<EtcdLogin>,
    /// How long a request may take, and how long the member that a stream reads from may be silent; 3 seconds by default. An
    /// append goes out again after an eighth of it, but not before 250 ms, so a log that takes so long for one needs more.
    pub time_limit: Duration,
}

/// A member of etcd, by the URL that its clients use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdEndpoint {
    origin: Uri,
    /// A name or an address, without the brackets around one of IPv6.
    host: String,
    port: u16,
}

/// A user of etcd.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdLogin {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
    /// Whether the password may go over a network as it is. So does the token that etcd gives for it, with every request.
    pub cleartext: CleartextLogin,
}

impl EtcdLogin {
    /// A user whose password is sent with TLS, or to this machine.
    #[must_use]
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: password.into(), cleartext: CleartextLogin::default() }
    }
}

impl EtcdOptions {
    /// A log of these members under `key`, without certificates and log-in.
    #[must_use]
    pub fn new(endpoints: Vec<EtcdEndpoint>, key: impl Into<String>) -> Self {
        Self { endpoints, key: key.into(), tls: None, login: None, time_limit: TIME_LIMIT_DEFAULT }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// `invalid`, with what is wrong.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::invalid(text));
        if self.endpoints.is_empty() || self.endpoints.len() > ENDPOINTS_MAX {
            let found = self.endpoints.len();
            return wrong(format!("a log on etcd has 1 to {ENDPOINTS_MAX} endpoints, found {found}"));
        }
        if self.key.is_empty() || self.key.len() > KEY_BYTES_MAX {
            let found = self.key.len();
            return wrong(format!("the key of a log on etcd has 1 to {KEY_BYTES_MAX} bytes, found {found}"));
        }
        if self.time_limit < TIME_LIMIT_MIN {
            let found = self.time_limit;
            return wrong(format!("a request to etcd may take {TIME_LIMIT_MIN:?} at least, found {found:?}"));
        }
        if self.time_limit > TIME_LIMIT_MAX {
            let found = self.time_limit;
            return wrong(format!("a request to etcd may take {TIME_LIMIT_MAX:?} at most, found {found:?}"));
        }
        if let Some(login) = &self.login
            && login.cleartext == CleartextLogin::Loopback
            && let Some(endpoint) = self.endpoints.iter().find(|at| !at.is_tls() && !is_loopback(&at.host))
        {
            let user = &login.user;
            return wrong(format!(
                "the password of {user} would go to {endpoint} in clear text: write https and name the file of its root \
                 certificate, or allow clear text where something else protects the network"
            ));
        }
        let other = self.endpoints.iter().find(|endpoint| endpoint.is_tls() != self.tls.is_some());
        match (other, &self.tls) {
            (None, _) => Ok(()),
            (Some(endpoint), None) => wrong(format!("{endpoint} needs the file of its root certificate")),
            (Some(endpoint), Some(_)) => {
                wrong(format!("certificates are named, and {endpoint} would not use them: write https"))
            }
        }
    }
}

impl EtcdEndpoint {
    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &Uri {
        &self.origin
    }

    /// The host's name or address.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is reached by TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.origin.scheme_str() == Some("https")
    }
}

impl FromStr for EtcdEndpoint {
    type Err = Error;

    /// Reads `http://host:2379` or `https://host:2379`; the port is 2379 if there is none.
    ///
    /// # Errors
    /// `invalid` for everything else.
    fn from_str(url: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!(
                "`{url}` is not the URL of a member of etcd: write http://host:2379 or https://host:2379"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let scheme =
            uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme)).ok_or_else(wrong)?;
        let authority = uri.authority().map(|authority| authority.as_str()).ok_or_else(wrong)?;
        if authority.contains('@') || uri.path() != "/" || uri.query().is_some() {
            return Err(wrong());
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let port = match authority.strip_prefix(host) {
            Some("") => PORT_DEFAULT,
            rest => rest.and_then(|rest| rest.strip_prefix(':')?.parse().ok()).ok_or_else(wrong)?,
        };
        let origin: Uri = format!("{scheme}://{host}:{port}").parse().map_err(|_| wrong())?;
        Ok(Self { origin, host: host.trim_matches(['[', ']']).to_owned(), port })
    }
}

impl fmt::Display for EtcdEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls() { "https" } else { "http" };
        let is_bracketed = self.host.contains(':');
        let (open, close) = if is_bracketed { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}", self.host, self.port)
    }
}

impl fmt::Debug for EtcdLogin {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdLogin").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(urls: &[&str]) -> EtcdOptions {
        EtcdOptions::new(urls.iter().map(|url| url.parse().unwrap()).collect(), "log")
    }

    #[test]
    fn an_endpoint_is_a_scheme_a_host_and_a_port() {
        for (url, shown, host, port) in [
            ("http://10.0.0.1:12379", "http://10.0.0.1:12379", "10.0.0.1", 12379),
            ("https://etcd-1.example", "https://etcd-1.example:2379", "etcd-1.example", 2379),
            ("https://[::1]:1/", "https://[::1]:1", "::1", 1),
            ("http://[fe80::2]", "http://[fe80::2]:2379", "fe80::2", 2379),
        ] {
            let endpoint: EtcdEndpoint = url.parse().unwrap();
            assert_eq!(
                (endpoint.to_string(), endpoint.host(), endpoint.port()),
                (shown.to_owned(), host, port)
            );
            assert_eq!(endpoint.is_tls(), url.starts_with("https"));
        }
        for url in [
            "",
            "10.0.0.1:2379",
            "etcd://host:2379",
            "http://",
            "http://user:word@host",
            "http://host/v3",
            "http://host?a=1",
            "http://host:99999",
            "http://host:",
        ] {
            let error = url.parse::<EtcdEndpoint>().unwrap_err();
            assert!(error.to_string().contains("is not the URL of a member of etcd"), "{url}: {error}");
        }
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let tls = || Some(LogTls { root: "root.pem".into(), client: None });
        options(&["http://a", "http://b"]).check().unwrap();
        EtcdOptions { tls: tls(), ..options(&["https://a"]) }.check().unwrap();
        let long = "k".repeat(KEY_BYTES_MAX + 1);
        for (wrong, why) in [
            (options(&[]), "1 to 16 endpoints, found 0"),
            (options(&["http://a"; 17]), "found 17"),
            (EtcdOptions { key: String::new(), ..options(&["http://a"]) }, "1 to 1024 bytes, found 0"),
            (EtcdOptions { key: long, ..options(&["http://a"]) }, "found 1025"),
            (
                EtcdOptions { time_limit: Duration::from_millis(20), ..options(&["http://a"]) },
                "500ms at least",
            ),
            (EtcdOptions { time_limit: Duration::MAX, ..options(&["http://a"]) }, "60s at most"),
            (options(&["https://a"]), "https://a:2379 needs the file of its root certificate"),
            (
                EtcdOptions { tls: tls(), ..options(&["https://a", "http://b"]) },
                "http://b:2379 would not use them",
            ),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_password_is_not_sent_over_a_network_in_clear_text() {
        let with = |urls: &[&str], cleartext| {
            let login = EtcdLogin { cleartext, ..EtcdLogin::new("evergraph", "correct horse") };
            EtcdOptions { login: Some(login), ..options(urls) }.check()
        };
        let local = ["http://127.0.0.1", "http://[::1]:1", "http://localhost", "http://[::ffff:127.0.0.2]"];
        with(&local, CleartextLogin::Loopback).unwrap();
        for url in ["http://10.0.0.1", "http://etcd-1.example", "http://localhost.example", "http://0.0.0.0"]
        {
            let error = with(&["http://127.0.0.1", url], CleartextLogin::Loopback).unwrap_err().to_string();
            assert!(error.contains(url) && error.contains("clear text"), "{error}");
            assert!(!error.contains("horse"), "{error}");
            with(&[url], CleartextLogin::Anywhere).unwrap();
        }
        let tls = Some(LogTls { root: "root.pem".into(), client: None });
        let login = Some(EtcdLogin::new("evergraph", "correct horse"));
        EtcdOptions { tls, login, ..options(&["https://10.0.0.1"]) }.check().unwrap();
    }

    #[test]
    fn a_password_is_not_shown() {
        let login = EtcdLogin::new("evergraph", "correct horse");
        let shown = format!("{:?}", EtcdOptions { login: Some(login), ..options(&["http://a"]) });
        assert!(shown.contains("evergraph") && !shown.contains("horse"), "{shown}");
    }
}
