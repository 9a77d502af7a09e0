//! SASL PLAIN: user and password as drivers send them.
//!
//! ```text
//! [identity] NUL user NUL password
//! ```
//!
//! Source: RFC 4616. Differs: the identity to act as is empty, or the user itself.

/// A user who says that this is the password.
pub struct Credentials {
    /// The user.
    pub user: Box<str>,
    /// The password.
    pub password: Box<[u8]>,
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
    let user = std::str::from_utf8(user).map_err(|_| "the user's name is not UTF-8")?;
    Ok(Credentials { user: user.into(), password: password.into() })
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
}
