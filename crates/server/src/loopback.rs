//! Loopback: which addresses may be listened on, and which pages of a browser may connect.
//!
//! A page on another site can open a WebSocket to this machine, or point its own name at 127.0.0.1 (DNS rebinding). The
//! browser says so in `Origin` and `Host`; programs send no `Origin`, or that of the address they connect to.

use std::net::{IpAddr, SocketAddr};

/// Whether only programs of this machine reach `address`.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Why a request with these headers is refused; `None` if it is not.
#[must_use]
pub fn refusal(host: Option<&str>, origin: Option<&str>) -> Option<String> {
    match host {
        Some(host) if is_local_authority(host) => {}
        Some(host) => return Some(format!("the header Host names {host:?}: only localhost is served")),
        None => return Some("the request has no header Host".to_owned()),
    }
    let origin = origin?;
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match authority {
        Some(authority) if is_local_authority(authority) => None,
        _ => Some(format!("a page of {origin:?} may not connect: the header Origin must name localhost")),
    }
}

/// Whether `authority`, a host and perhaps a port, is this machine.
fn is_local_authority(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or("?"))),
            None => return false,
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let is_local =
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    has_port && is_local
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_loopback_addresses_are_listened_on() {
        for address in ["127.0.0.1:8182", "127.3.2.1:0", "[::1]:8182", "[::ffff:127.0.0.1]:1"] {
            assert!(is_loopback(address.parse().unwrap()), "{address}");
        }
        for address in ["0.0.0.0:8182", "[::]:8182", "192.168.0.1:8182"] {
            assert!(!is_loopback(address.parse().unwrap()), "{address}");
        }
    }
}
