//! Password: hashes passwords by argon2id, and compares them with hashes.
//!
//! Memory 19 MiB, two passes, one lane: what OWASP recommends at least. Each hash names its own parameters, so that these
//! can grow without making older hashes useless.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::ops::RangeInclusive;

/// Bytes of a password.
pub const PASSWORD_BYTES: RangeInclusive<usize> = 8..=1024;

/// What begins the text of every hash that is accepted.
const ALGORITHM: &str = "argon2id";

/// The hash of `password`, with a random salt.
///
/// Cost: tens of milliseconds and 19 MiB.
///
/// # Errors
/// `invalid` if the password is too short or too long; `io` if the system gives no random bytes.
pub fn hash(password: &[u8]) -> Result<String> {
    if !PASSWORD_BYTES.contains(&password.len()) {
        let (least, most) = (PASSWORD_BYTES.start(), PASSWORD_BYTES.end());
        return Err(Error::invalid(format!(
            "a password has {least} to {most} bytes, and this one has {}",
            password.len()
        )));
    }
    let hash: PasswordHash = Argon2::default()
        .hash_password(password)
        .map_err(|error| Error::new(ErrorKind::Io, format!("hash the password: {error}")))?;
    Ok(hash.to_string())
}

/// Whether `hash` is of this password.
///
/// Cost: that of [`hash`], by the parameters of the hash.
#[must_use]
pub fn verify(password: &[u8], hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
}

/// Why `hash` is no hash by argon2id; `None` if it is one.
#[must_use]
pub fn refusal(hash: &str) -> Option<String> {
    match PasswordHash::new(hash) {
        Ok(hash) if hash.algorithm.as_str() == ALGORITHM => None,
        Ok(hash) => Some(format!("it is made by {}, and {ALGORITHM} is expected", hash.algorithm)),
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_its_password_alone_and_has_a_salt() {
        let hashes = [hash(b"correct horse").unwrap(), hash(b"correct horse").unwrap()];
        assert_ne!(hashes[0], hashes[1]);
        assert!(verify(b"correct horse", &hashes[0]) && !verify(b"correct hors", &hashes[0]));
        assert_eq!(refusal(&hashes[0]), None);
        for wrong in ["", "x", "$argon2i$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$x", "plain text"] {
            assert!(refusal(wrong).is_some() && !verify(b"correct horse", wrong), "{wrong}");
        }
    }

    #[test]
    fn short_and_endless_passwords_are_refused() {
        for password in [&b""[..], b"1234567", &[7; 1025]] {
            assert!(hash(password).is_err(), "{}", password.len());
        }
    }
}
