//! Host check: which addresses may be listened on how, and which pages of a browser may connect.
//!
//! A page on another site can open a WebSocket to this machine, or point its own name at its address (DNS rebinding). The
//! browser says so in `Origin` and `Host`; programs send no `Origin`, or that of the address they connect to.
//!
//! ```text
//! Host      this machine, a name that was configured, or one that the certificate is for
//! Origin    the same; a page of the client's own machine only if Host is this machine as well
//! ```

use crate::security::tls::Tls;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::planted::{Bug, planted};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Whether only programs of this machine reach `address`.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Refuses to listen where other machines connect, unless they have to log in and nobody else reads the password.
///
/// # Errors
/// `invalid`, with what is missing.
pub fn check_reach(address: SocketAddr, has_users: bool, has_tls: bool) -> Result<()> {
    if is_loopback(address) || (has_users && has_tls) || planted(Bug::PlainBeyondLoopback) {
        return Ok(());
    }
    let missing = match (has_users, has_tls) {
        (false, false) => "--users FILE, and --tls-certificate FILE with --tls-key FILE",
        (false, true) => "--users FILE",
        _ => "--tls-certificate FILE with --tls-key FILE",
    };
    Err(Error::invalid(format!(
        "{address} can be reached from other machines: add {missing}, or listen on 127.0.0.1 or [::1]"
    )))
}

/// Names that the server goes by.
pub struct HostCheck {
    names: Vec<String>,
    tls: Option<Arc<Tls>>,
}

/// Which names a request may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HostKind {
    ThisMachine,
    Configured,
    Foreign,
}

impl HostCheck {
    /// This machine, `names`, and what the certificate is for.
    ///
    /// # Errors
    /// `invalid` for a name with a port, a path or a scheme.
    pub fn new(names: Vec<String>, tls: Option<Arc<Tls>>) -> Result<Self> {
        for name in &names {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
            if name.is_empty() || !(name.chars().all(is_name) || name.parse::<IpAddr>().is_ok()) {
                return Err(Error::invalid(format!(
                    "{name:?} cannot be the name of a host: graph.example or 10.0.0.7 is one, without scheme and port"
                )));
            }
        }
        Ok(Self { names, tls })
    }

    /// Why a request with these headers is refused; `None` if it is not.
    #[must_use]
    pub fn refusal(&self, host: Option<&str>, origin: Option<&str>) -> Option<String> {
        let Some(host) = host else { return Some("the request has no header Host".to_owned()) };
        let kind = self.kind(host);
        if kind == HostKind::Foreign && !planted(Bug::AnyHost) {
            return Some(format!(
                "the header Host names {host:?}, and this server does not go by that name: --host-name adds one"
            ));
        }
        let origin = origin?;
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_known = match authority.map(|authority| self.kind(authority)) {
            Some(HostKind::ThisMachine) => kind == HostKind::ThisMachine,
            Some(HostKind::Configured) => true,
            Some(HostKind::Foreign) | None => false,
        };
        let refused =
            format!("a page of {origin:?} may not connect: the header Origin must name this server");
        (!is_known && !planted(Bug::AnyOrigin)).then_some(refused)
    }

    /// Of `authority`, a host and perhaps a port.
    fn kind(&self, authority: &str) -> HostKind {
        let Some(host) = host_of(authority) else { return HostKind::Foreign };
        if host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
            return HostKind::ThisMachine;
        }
        let is_configured = self.names.iter().any(|name| name.eq_ignore_ascii_case(host));
        if is_configured || self.tls.as_ref().is_some_and(|tls| tls.is_for(host)) {
            return HostKind::Configured;
        }
        HostKind::Foreign
    }
}

/// The host of `authority`, which may have a port; `None` if it is malformed.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']')? {
            (host, "") => (host, None),
            (host, port) => (host, Some(port.strip_prefix(':').unwrap_or("?"))),
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    port.is_none_or(|port| port.parse::<u16>().is_ok()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(host: Option<&str>, origin: Option<&str>) -> Option<String> {
        HostCheck::new(Vec::new(), None).unwrap().refusal(host, origin)
    }

    #[test]
    fn programs_and_local_pages_connect_and_others_do_not() {
        let local = Some("127.0.0.1:8182");
        for host in ["localhost", "LOCALHOST:8182", "127.0.0.1", "127.0.0.53:1", "[::1]", "[::1]:8182"] {
            assert_eq!(refusal(Some(host), None), None, "{host}");
        }
        let foreign = [
            "evil.example",
            "localhost.evil.example",
            "",
            ":8182",
            "10.0.0.1",
            "127.0.0.1:x",
            "[::1",
            "[::1]x",
        ];
        for host in foreign {
            assert!(refusal(Some(host), None).is_some(), "{host}");
        }
        assert!(refusal(None, None).is_some());
        for origin in ["http://localhost:8182", "https://127.0.0.1", "http://[::1]:3000"] {
            assert_eq!(refusal(local, Some(origin)), None, "{origin}");
        }
        for origin in ["https://evil.example", "null", "", "file://", "http://localhost@evil.example"] {
            assert!(refusal(local, Some(origin)).is_some(), "{origin}");
        }
    }

    #[test]
    fn configured_names_are_accepted_and_pages_of_the_clients_machine_are_not() {
        let check = HostCheck::new(vec!["graph.example".into(), "10.0.0.7".into()], None).unwrap();
        for host in ["graph.example", "GRAPH.example:8182", "10.0.0.7:1", "localhost"] {
            assert_eq!(check.refusal(Some(host), None), None, "{host}");
        }
        for host in ["example", "a.graph.example", "graph.example.evil.example", "10.0.0.8"] {
            assert!(check.refusal(Some(host), None).is_some(), "{host}");
        }
        let origin = |origin| check.refusal(Some("graph.example"), Some(origin));
        assert_eq!(origin("https://graph.example"), None);
        assert!(origin("http://localhost:3000").is_some(), "a page of the client's machine");
        for name in ["", "http://graph.example", "graph.example:8182", "a/b", "a b", "..\n"] {
            assert!(HostCheck::new(vec![name.into()], None).is_err(), "{name:?}");
        }
    }

    #[test]
    fn other_machines_connect_only_with_users_and_tls() {
        let open = "0.0.0.0:8182".parse().unwrap();
        assert!(check_reach(open, true, true).is_ok());
        for (has_users, has_tls, words) in [
            (false, false, "--users FILE, and --tls"),
            (true, false, "add --tls"),
            (false, true, "add --users FILE,"),
        ] {
            let error = check_reach(open, has_users, has_tls).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("127.0.0.1"), "{error}");
        }
        assert!(check_reach("127.0.0.1:8182".parse().unwrap(), false, false).is_ok());
    }

    #[test]
    fn loopback_addresses_are_told_from_others() {
        for address in ["127.0.0.1:8182", "127.3.2.1:0", "[::1]:8182", "[::ffff:127.0.0.1]:1"] {
            assert!(is_loopback(address.parse().unwrap()), "{address}");
        }
        for address in ["0.0.0.0:8182", "[::]:8182", "192.168.0.1:8182"] {
            assert!(!is_loopback(address.parse().unwrap()), "{address}");
        }
    }
}
