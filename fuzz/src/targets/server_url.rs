//! URLs of servers: text is a place, which is shown as it is read, or an error that shows no password.

use crate::target::{Memory, Target};
use evergraph_client::url::ServerUrl;

/// The target. An error shows the text, with what is no ASCII escaped.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 12, per_byte: 64 } };

fn seeds() -> Vec<Vec<u8>> {
    [
        "wss://ann@graph.example:8182/social",
        "http://[::1]:80/",
        "ws://a:secret@b/c",
        "ws://localhost/gremlin",
        "x://%61@b/%zz",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match text.parse::<ServerUrl>() {
        Ok(url) => {
            assert!(ServerUrl::is_url(text));
            assert_eq!(url.to_string().parse().ok(), Some(url));
        }
        Err(error) => {
            // What lies between the user and the last `@` may be a password.
            let secret = text.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
            let secret = secret.and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password);
            let (shown, rest) = (error.to_string(), ServerUrl::without_password(text));
            // Only a password that stands nowhere else in the text or the error can be looked for.
            if let Some(secret) = secret.filter(|secret| secret.len() > 8 && !rest.contains(secret)) {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
    }
}
