//! Credentials: user and password of a destination, and to whom they are sent.

use crate::destination::Destination;
use crate::password::Password;
use crate::url::ServerUrl;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evergraph_graph::error::{Error, Result};
use std::net::IpAddr;
use ureq::http::HeaderValue;

/// Who logs in.
pub(crate) struct Credentials<'d> {
    user: &'d str,
    password: &'d Password,
}

impl<'d> Credentials<'d> {
    /// Those of `destination`.
    ///
    /// # Errors
    /// `invalid` if there is no user or no password, for a server that asks for them.
    pub(crate) fn of(destination: &'d Destination) -> Result<Self> {
        let Destination { url, options, .. } = destination;
        let place = url.authority();
        let Some(user) = &url.user else {
            return Err(Error::invalid(format!(
                "the server at {place} has users: name one in the URL, as in ws://USER@{place}"
            )));
        };
        let Some(password) = &options.password else {
            return Err(Error::invalid(format!(
                "the server at {place} asks for the password of {user:?}: put it into the variable EVERGRAPH_PASSWORD, \
                 or into a file"
            )));
        };
        Ok(Self { user, password })
    }

    /// As SASL's method PLAIN has them.
    ///
    /// # Errors
    /// `invalid` for a null character.
    pub(crate) fn sasl(&self) -> Result<Vec<u8>> {
        let (user, password) = (self.user, self.password.reveal());
        if user.contains('\0') || password.contains('\0') {
            return Err(Error::invalid("a user or a password has a null character"));
        }
        Ok(["\0", user, "\0", password].concat().into_bytes())
    }

    /// As the header Authorization of HTTP has them, by the method Basic.
    ///
    /// # Errors
    /// `invalid` for a user with a colon, which would end its name.
    pub(crate) fn basic(&self) -> Result<HeaderValue> {
        if self.user.contains(':') {
            return Err(Error::invalid(format!(
                "the user {:?} has a colon, which HTTP cannot send",
                self.user
            )));
        }
        let encoded = STANDARD.encode(format!("{}:{}", self.user, self.password.reveal()));
        let value = HeaderValue::from_str(&format!("Basic {encoded}"));
        let mut value = value.expect("base64 has no characters that a header may not have");
        value.set_sensitive(true);
        Ok(value)
    }
}

/// Refuses to send a password to `peer` where others can listen on the way.
///
/// # Errors
/// `invalid` for another machine without TLS.
pub(crate) fn check_private(url: &ServerUrl, peer: Option<IpAddr>) -> Result<()> {
    if is_private(url, peer) {
        return Ok(());
    }
    let place = url.authority();
    Err(Error::invalid(format!(
        "the server at {place} is on another machine and without TLS: the password was not sent; connect by wss://"
    )))
}

/// Whether nobody can listen on the way to `peer`.
fn is_private(url: &ServerUrl, peer: Option<IpAddr>) -> bool {
    url.has_tls || peer.is_some_and(|peer| peer.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_leaves_the_machine_only_by_tls() {
        let (plain, tls) = ("ws://ann@h".parse().unwrap(), "wss://ann@h".parse().unwrap());
        let of = |text: &str| Some(text.parse().unwrap());
        for own in ["127.0.0.1", "127.9.9.9", "::1"] {
            assert!(check_private(&plain, of(own)).is_ok(), "{own}");
        }
        for other in [of("192.168.0.1"), of("10.0.0.1"), of("2001:db8::1"), of("0.0.0.0"), None] {
            assert!(check_private(&plain, other).is_err() && check_private(&tls, other).is_ok(), "{other:?}");
        }
    }

    #[test]
    fn both_ways_of_sending_refuse_what_would_end_a_name() {
        let password = Password::new("a:b");
        let basic = |user| {
            Credentials { user, password: &password }.basic().map(|value| value.to_str().map(str::to_owned))
        };
        assert_eq!(basic("ann").unwrap().unwrap(), "Basic YW5uOmE6Yg==");
        assert!(basic("a:nn").is_err());
        let sasl = |user| Credentials { user, password: &password }.sasl();
        assert_eq!(sasl("ann").unwrap(), b"\0ann\0a:b");
        assert!(sasl("a\0").is_err());
    }
}
