//! Log-ins by HTTP, in the header Authorization: bytes are user and password, or an error that shows none of them.

use crate::target::{Memory, Target};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evergraph_server::http::basic_login::read_basic;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 12, per_byte: 4 } };

fn seeds() -> Vec<Vec<u8>> {
    [&b"Basic YW5uOmE6Yg=="[..], b"basic  YW5uOmE6Yg== ", b"Bearer YW5uOmE6Yg==", b"Basic /zph"]
        .map(Vec::from)
        .to_vec()
}

fn promise(input: &[u8]) {
    match read_basic(input) {
        Ok(credentials) => {
            assert!(!credentials.user.contains(':'));
            let pair = [credentials.user.as_bytes(), b":", &credentials.password].concat();
            assert_eq!(input[6..].trim_ascii(), STANDARD.encode(pair).as_bytes());
        }
        Err(why) => assert!(!why.is_empty()),
    }
}
