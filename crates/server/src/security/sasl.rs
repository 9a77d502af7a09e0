//! SASL PLAIN: user and password as drivers send them, and what both may be.
//!
//! ```text
//! [identity] NUL user NUL password
//! ```
//!
//! Source: RFC 4616. Differs: the identity to act as is empty, or the user itself.

use crate::security::password::PASSWORD_BYTES;
use crate::security::user::NAME_LENGTH_MAX;
use evergraph_storage::planted::{Bug, planted};

/// A user who says that this is the password. Neither is longer than those of a user can be, since log-ins wait in a queue
/// and names of those that failed are remembered, whoever sent them.
pub struct Credentials {
    /// The user.
    pub user: Box<str>,
    /// The password.
    pub password: Box<[u8]>,
}

impl Credentials {
    /// Of what a client sends.
    ///
    /// # Errors
    /// What is wrong, without any part of them.
    pub fn new(user: &[u8], password: &[u8]) -> Result<Self, &'static str> {
        let is_long = user.len() > NAME_LENGTH_MAX || password.len() > *PASSWORD_BYTES.end();
        if is_long && !planted(Bug::EndlessCredentials) {
            return Err("the user's name or the password is longer than any can be");
        }
        let user = std::str::from_utf8(user).map_err(|_| "the user's name is not UTF-8")?;
        Ok(Self { user: user.into(), password: password.into() })
    }
}

/// The only mechanism.
const PLAIN: &str = "PLAIN";

/// Reads what a client sends to log in; `mechanism` is PLAIN unless it says otherwise.
///
/// # Errors
/// What is wrong, without any part of the message.
pub fn read_plain(message: &[u8], mechanism: Option<&str>) -> Result<Credentials, &'static str> {
    if mechanism.is_some_and(|name| !name.is_empty() && !name.eq_ignore_ascii_case(PLAIN)) {
        return Err("the log-in's mechanism is not PLAIN, the only one here");
    }
    let mut parts = message.split(|byte| *byte == 0);
    let (Some(identity), Some(user), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err("the log-in is not of the form NUL user NUL password");
    };
    if !identity.is_empty() && identity != user {
        return Err("the log-in asks to act as another user");
    }
    Credentials::new(user, password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_read_and_everything_else_is_refused() {
        for (message, mechanism) in [(&b"\0ann\0secret"[..], None), (b"ann\0ann\0secret", Some("plain"))] {
            let credentials = read_plain(message, mechanism).unwrap();
            assert_eq!((&*credentials.user, &*credentials.password), ("ann", &b"secret"[..]));
        }
        for message in
            [&b""[..], b"ann", b"\0ann", b"\0ann\0secret\0", b"root\0ann\0secret", b"\0\xff\0secret"]
        {
            assert!(read_plain(message, None).is_err(), "{message:?}");
        }
        assert!(read_plain(b"\0ann\0secret", Some("GSSAPI")).is_err());
    }

    #[test]
    fn names_and_passwords_that_no_user_can_have_are_refused_before_they_take_memory() {
        let (name, password) = ([b'a'; NAME_LENGTH_MAX + 1], vec![b'p'; PASSWORD_BYTES.end() + 1]);
        assert!(Credentials::new(&name[1..], &password[1..]).is_ok());
        assert!(Credentials::new(&name, b"secret").is_err());
        assert!(Credentials::new(b"ann", &password).is_err());
    }
}
