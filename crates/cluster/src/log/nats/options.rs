//! Options of a log on NATS: its servers, its stream, how it is known that they sync, certificates, a log-in and a time limit.

use crate::log::server_access::{CleartextLogin, LogTls, is_loopback};
use evergraph_graph::error::{Error, Result};
use http::Uri;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The port for clients, of a URL that names none.
const PORT_DEFAULT: u16 = 4222;

/// The port for monitoring, of a URL that names none.
const MONITOR_PORT_DEFAULT: u16 = 8222;

/// Servers that may be named: NATS advises five replicas at most.
const SERVERS_MAX: usize = 16;

/// Bytes of a stream's name, which is part of names of files.
const STREAM_BYTES_MAX: usize = 128;

/// As with etcd. The election of a leader of a stream takes 4 to 6 seconds: appends of that time go out again.
const TIME_LIMIT_DEFAULT: Duration = Duration::from_secs(3);

/// A shorter limit would take a busy disk for a failure.
const TIME_LIMIT_MIN: Duration = Duration::from_millis(500);

/// A longer limit would hold up whoever waits for a stream that is dead.
const TIME_LIMIT_MAX: Duration = Duration::from_secs(60);

/// Where a log is, and how it is used.
#[derive(Clone, Debug)]
pub struct NatsOptions {
    /// Servers of the cluster. The first that answers is used until it fails, then the next one: a node names the
    /// nearest first.
    pub servers: Vec<NatsServer>,
    /// The stream that has the messages; made if it is not there. It takes those of the subject of the same name.
    pub stream: String,
    /// How it is known that servers have written to their disks what they acknowledge.
    pub sync: NatsSync,
    /// Certificates, with servers that begin with `tls` and only with those.
    pub tls: Option<LogTls>,
    /// Who asks, where servers demand it.
    pub login: Option<NatsLogin>,
    /// Whether a password or token may go over a network as it is.
    pub cleartext: CleartextLogin,
    /// How long a request may take, and how long the server that a stream reads from may be silent; 3 seconds by
    /// default.
    pub time_limit: Duration,
}

/// How it is known that every server syncs each write (`sync_interval: always`). By default JetStream does so every two minutes, and
/// messages that it has acknowledged are lost when the machines of a majority lose their power.
///
/// Its protocol for clients does not tell. The monitoring port does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NatsSync {
    /// Servers are asked at these ports for monitoring, all that have a replica. One that says otherwise has the log refused.
    Monitored(Vec<NatsMonitor>),
    /// Whoever configured the log says so. Nobody is asked.
    Asserted,
}

/// A server, by the URL that its clients use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NatsServer(Address);

/// The monitoring port of a server, by its URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NatsMonitor(Address);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Address {
    scheme: &'static str,
    is_tls: bool,
    /// A name or an address, without the brackets around one of IPv6.
    host: String,
    port: u16,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub enum NatsLogin {
    /// A user, by a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// Whoever has the token.
    Token(String),
    /// A user of an account, by the text of a credentials file: a JWT, and the seed that signs what the server sends. The seed
    /// stays here.
    Credentials(String),
}

impl NatsOptions {
    /// A log of these servers in `stream`, without certificates and log-in.
    #[must_use]
    pub fn new(servers: Vec<NatsServer>, stream: impl Into<String>, sync: NatsSync) -> Self {
        Self {
            servers,
            stream: stream.into(),
            sync,
            tls: None,
            login: None,
            cleartext: CleartextLogin::default(),
            time_limit: TIME_LIMIT_DEFAULT,
        }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// `invalid`, with what is wrong.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::invalid(text));
        if self.servers.is_empty() || self.servers.len() > SERVERS_MAX {
            let found = self.servers.len();
            return wrong(format!("a log on NATS has 1 to {SERVERS_MAX} servers, found {found}"));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.stream.is_empty()
            || self.stream.len() > STREAM_BYTES_MAX
            || !self.stream.chars().all(is_plain)
        {
            return wrong(format!(
                "the stream of a log on NATS has a name of 1 to {STREAM_BYTES_MAX} letters, digits, - and _, found {:?}",
                self.stream
            ));
        }
        if !(TIME_LIMIT_MIN..=TIME_LIMIT_MAX).contains(&self.time_limit) {
            let found = self.time_limit;
            return wrong(format!(
                "a request to NATS may take {TIME_LIMIT_MIN:?} to {TIME_LIMIT_MAX:?}, found {found:?}"
            ));
        }
        self.check_login()?;
        self.check_tls()?;
        match &self.sync {
            NatsSync::Monitored(monitors) if monitors.len() > SERVERS_MAX => {
                wrong(format!("a log on NATS has {SERVERS_MAX} monitoring ports at most"))
            }
            NatsSync::Monitored(monitors) if monitors.is_empty() => wrong(
                "a log on NATS loses what it has acknowledged unless every server has `sync_interval: always` below \
                 `jetstream`, which its clients cannot see: name the monitoring ports of all servers, or state that all of \
                 them have it"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    fn check_login(&self) -> Result<()> {
        let what = match &self.login {
            Some(NatsLogin::Password { user, .. }) => format!("the password of {user}"),
            Some(NatsLogin::Token(_)) => "the token".to_owned(),
            // What is sent is a signature, and what it proves is no secret.
            Some(NatsLogin::Credentials(_)) | None => return Ok(()),
        };
        let exposed = self.servers.iter().find(|server| !server.is_tls() && !is_loopback(&server.0.host));
        match (self.cleartext, exposed) {
            (CleartextLogin::Loopback, Some(server)) => Err(Error::invalid(format!(
                "{what} would go to {server} in clear text: write tls and name the file of its root certificate, or allow \
                 clear text where something else protects the network"
            ))),
            _ => Ok(()),
        }
    }

    fn check_tls(&self) -> Result<()> {
        let monitors = match &self.sync {
            NatsSync::Monitored(monitors) => monitors.as_slice(),
            NatsSync::Asserted => &[],
        };
        let has_root = self.tls.is_some();
        let secure = self.servers.iter().map(|server| &server.0).find(|at| at.is_tls);
        let secure = secure.or_else(|| monitors.iter().map(|monitor| &monitor.0).find(|at| at.is_tls));
        let plain = self.servers.iter().find(|server| !server.is_tls());
        match (secure, plain) {
            (Some(at), _) if !has_root => {
                Err(Error::invalid(format!("{at} needs the file of its root certificate")))
            }
            (_, Some(server)) if has_root => {
                let text = format!("certificates are named, and {server} would not use them: write tls");
                Err(Error::invalid(text))
            }
            _ => Ok(()),
        }
    }
}

impl NatsServer {
    /// Whether it is reached by TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.is_tls
    }
}

impl NatsMonitor {
    /// The host's name or address.
    #[cfg(feature = "nats")]
    pub(super) fn host(&self) -> &str {
        &self.0.host
    }

    /// The port.
    #[cfg(feature = "nats")]
    pub(super) fn port(&self) -> u16 {
        self.0.port
    }

    /// Whether it is reached by TLS.
    #[cfg(feature = "nats")]
    pub(super) fn is_tls(&self) -> bool {
        self.0.is_tls
    }
}

impl Address {
    /// Reads `scheme://host:port`; `schemes` are the plain one and that of TLS.
    fn parse(url: &str, schemes: [&'static str; 2], port_default: u16) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let is_tls = schemes.iter().position(|scheme| uri.scheme_str() == Some(scheme))? == 1;
        let authority = uri.authority()?.as_str();
        // A URL with a path has one of its own here; one without has none, or `/`.
        if authority.contains('@') || !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return None;
        }
        let host = uri.host().filter(|host| !host.is_empty())?;
        let port = match authority.strip_prefix(host)? {
            "" => port_default,
            rest => rest.strip_prefix(':')?.parse().ok()?,
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        Some(Self { scheme: schemes[usize::from(is_tls)], is_tls, host, port })
    }
}

impl FromStr for NatsServer {
    type Err = Error;

    /// Reads `nats://host:4222` or `tls://host:4222`; the port is 4222 if there is none.
    ///
    /// # Errors
    /// `invalid` for everything else.
    fn from_str(url: &str) -> Result<Self> {
        Address::parse(url, ["nats", "tls"], PORT_DEFAULT).map(Self).ok_or_else(|| {
            Error::invalid(format!(
                "`{url}` is not the URL of a server of NATS: write nats://host:{PORT_DEFAULT} or tls://host:{PORT_DEFAULT}"
            ))
        })
    }
}

impl FromStr for NatsMonitor {
    type Err = Error;

    /// Reads `http://host:8222` or `https://host:8222`; the port is 8222 if there is none.
    ///
    /// # Errors
    /// `invalid` for everything else.
    fn from_str(url: &str) -> Result<Self> {
        Address::parse(url, ["http", "https"], MONITOR_PORT_DEFAULT).map(Self).ok_or_else(|| {
            Error::invalid(format!(
                "`{url}` is not the URL of a monitoring port of NATS: write http://host:{MONITOR_PORT_DEFAULT}, as the \
                 setting `http` of the server says"
            ))
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}://{open}{}{close}:{}", self.scheme, self.host, self.port)
    }
}

impl fmt::Display for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for NatsMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for NatsLogin {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { user, .. } => {
                f.debug_struct("Password").field("user", user).finish_non_exhaustive()
            }
            Self::Token(_) => f.write_str("Token(..)"),
            Self::Credentials(_) => f.write_str("Credentials(..)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(urls: &[&str]) -> NatsOptions {
        NatsOptions::new(urls.iter().map(|url| url.parse().unwrap()).collect(), "log", NatsSync::Asserted)
    }

    #[test]
    fn a_server_is_a_scheme_a_host_and_a_port() {
        for (url, shown) in [
            ("nats://10.0.0.1:14222", "nats://10.0.0.1:14222"),
            ("tls://nats-1.example", "tls://nats-1.example:4222"),
            ("nats://[::1]:1/", "nats://[::1]:1"),
            ("tls://[fe80::2]", "tls://[fe80::2]:4222"),
        ] {
            let server: NatsServer = url.parse().unwrap();
            assert_eq!((server.to_string().as_str(), server.is_tls()), (shown, url.starts_with("tls")));
        }
        for url in [
            "",
            "10.0.0.1:4222",
            "http://host",
            "nats://",
            "nats://u:p@host",
            "nats://host/x",
            "nats://host:",
        ] {
            let error = url.parse::<NatsServer>().unwrap_err();
            assert!(error.to_string().contains("is not the URL of a server of NATS"), "{url}: {error}");
        }
        let monitor: NatsMonitor = "http://a".parse().unwrap();
        assert_eq!(monitor.to_string(), "http://a:8222");
        assert!("nats://a".parse::<NatsMonitor>().unwrap_err().to_string().contains("monitoring port"));
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let tls = || Some(LogTls { root: "root.pem".into(), client: None });
        options(&["nats://a", "nats://b"]).check().unwrap();
        NatsOptions { tls: tls(), ..options(&["tls://a"]) }.check().unwrap();
        let monitored = |urls: &[&str]| {
            let monitors = urls.iter().map(|url| url.parse().unwrap()).collect();
            NatsOptions { sync: NatsSync::Monitored(monitors), ..options(&["nats://a"]) }
        };
        monitored(&["http://a", "http://b"]).check().unwrap();
        for (wrong, why) in [
            (options(&[]), "1 to 16 servers, found 0"),
            (options(&["nats://a"; 17]), "found 17"),
            (monitored(&[]), "`sync_interval: always`"),
            (monitored(&["https://a"]), "https://a:8222 needs the file of its root certificate"),
            (NatsOptions { stream: "a.b".to_owned(), ..options(&["nats://a"]) }, "found \"a.b\""),
            (NatsOptions { stream: String::new(), ..options(&["nats://a"]) }, "1 to 128 letters"),
            (NatsOptions { time_limit: Duration::from_millis(20), ..options(&["nats://a"]) }, "500ms to 60s"),
            (options(&["tls://a"]), "tls://a:4222 needs the file of its root certificate"),
            (
                NatsOptions { tls: tls(), ..options(&["tls://a", "nats://b"]) },
                "nats://b:4222 would not use them",
            ),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_password_or_token_is_not_sent_over_a_network_in_clear_text_and_not_shown() {
        let password = || NatsLogin::Password { user: "evergraph".to_owned(), password: "horse".to_owned() };
        for login in [password(), NatsLogin::Token("horse".to_owned())] {
            let with = |urls: &[&str], cleartext| {
                NatsOptions { login: Some(login.clone()), cleartext, ..options(urls) }.check()
            };
            with(&["nats://127.0.0.1", "nats://[::1]", "nats://localhost"], CleartextLogin::Loopback)
                .unwrap();
            let error = with(&["nats://localhost", "nats://10.0.0.1"], CleartextLogin::Loopback).unwrap_err();
            let said = error.to_string();
            assert!(said.contains("nats://10.0.0.1:4222 in clear text") && !said.contains("horse"), "{said}");
            with(&["nats://10.0.0.1"], CleartextLogin::Anywhere).unwrap();
            let shown = format!("{:?}", NatsOptions { login: Some(login), ..options(&["nats://a"]) });
            assert!(!shown.contains("horse"), "{shown}");
        }
        let credentials = Some(NatsLogin::Credentials("seed".to_owned()));
        let signed = NatsOptions { login: credentials, ..options(&["nats://10.0.0.1"]) };
        signed.check().unwrap();
        assert!(!format!("{signed:?}").contains("seed"));
    }
}
