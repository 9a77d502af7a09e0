//! Log-ins of drivers, in SASL PLAIN: bytes are user and password, or an error that shows none of them.

use crate::target::{Memory, Target};
use evergraph_server::security::sasl::read_plain;

/// The target. The first byte chooses whether a mechanism is named, which then is the rest up to a line feed.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 12, per_byte: 4 } };

fn seeds() -> Vec<Vec<u8>> {
    [&b"n\0ann\0secret"[..], b"mPLAIN\nann\0ann\0secret", b"mGSSAPI\n\0ann\0secret", b"n\0ann\0\xff\0"]
        .map(Vec::from)
        .to_vec()
}

fn promise(input: &[u8]) {
    let Some((kind, mut message)) = input.split_first() else { return };
    let mut mechanism = None;
    if *kind == b'm' {
        let end = message.iter().position(|byte| *byte == b'\n').unwrap_or(message.len());
        mechanism = std::str::from_utf8(&message[..end]).ok();
        message = message.get(end + 1..).unwrap_or_default();
    }
    match read_plain(message, mechanism) {
        Ok(credentials) => {
            let user = credentials.user.as_bytes();
            let expected = [b"\0", user, b"\0", &credentials.password].concat();
            assert!(message.ends_with(&expected));
            let identity = &message[..message.len() - expected.len()];
            assert!(identity.is_empty() || identity == user);
        }
        Err(why) => assert!(!why.is_empty()),
    }
}
