//! URLs of PostgreSQL servers, and password files: text is a place, or an error that shows no password.

use crate::target::{Memory, Target};
use evergraph_replica::source::postgres::settings::ConnectionSettings;

/// The target. An error shows the text, with what is no ASCII escaped.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 13, per_byte: 64 } };

fn seeds() -> Vec<Vec<u8>> {
    [
        "postgres://ann@db.example:5432/shop?sslmode=verify-full&sslrootcert=r.pem&connect_timeout=5",
        "postgresql://ann@[::1]:80/?host=%2Ftmp&options=-c%20a%3D1",
        "postgres://a:long-secret@b/c",
        "postgres://a@b/c?password=long-secret",
        "postgres://a@b,c/d",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match ConnectionSettings::from_url_and(text, &|_| None) {
        Ok(settings) => {
            assert!(!settings.place().is_empty() && settings.port > 0 && settings.password.is_none())
        }
        Err(error) => {
            // What lies between the user and the last `@` may be a password.
            let (place, _) = text.split_once('?').unwrap_or((text, ""));
            let secret = place.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
            let secret = secret.and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password);
            let (shown, rest) = (error.to_string(), ConnectionSettings::without_password(text));
            let told = |url: &str| {
                ConnectionSettings::from_url_and(url, &|_| None).err().map(|error| error.to_string())
            };
            // Only a password that stands nowhere else in the text or the error can be looked for.
            let others = [Some(rest.clone()), told(&rest), told("postgres://a:b@c/d")];
            let is_elsewhere = |secret: &str| {
                text.matches(secret).count() > 1 || others.iter().flatten().any(|text| text.contains(secret))
            };
            if let Some(secret) = secret.filter(|secret| secret.len() > 8 && !is_elsewhere(secret)) {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
    }
}
