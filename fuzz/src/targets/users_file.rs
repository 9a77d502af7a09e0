//! Users files: text is a set of users, which is written as it is read, or an error that says what is wrong.

use crate::target::{Memory, Target};
use evergraph_server::security::users_file::{parse, to_text};

/// The target. A role has a map of its own: four bytes of text.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 14, per_byte: 256 } };

const HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21l$iWh06vD8Fy27wf9npn6FXWiCX4K6pW6Ue1Bnzz07Z8A";

fn seeds() -> Vec<Vec<u8>> {
    let user = |name: &str, roles: &str| {
        format!(r#"{{"name": "{name}", "password": "{HASH}", "roles": [{roles}]}}"#)
    };
    let role = |database: &str, role: &str| format!(r#"{{"database": "{database}", "role": "{role}"}}"#);
    let ann = user("ann", &[role("social", "reader"), role("*", "admin")].join(","));
    let bob = user("bob", "");
    [
        format!(r#"{{"version": 1, "users": [{ann}, {bob}]}}"#),
        r#"{"version": 1, "users": []}"#.into(),
        r#"{"version": 2, "users": []}"#.into(),
        format!(r#"{{"version": 1, "users": [{bob}, {bob}]}}"#),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match parse(text) {
        Ok(users) => assert_eq!(parse(&to_text(&users)), Ok(users)),
        Err(why) => {
            assert!(!why.is_empty());
            // Where a name belongs it is taken for one, and shown.
            let is_password =
                text.matches(HASH).count() == text.matches(&format!("\"password\": \"{HASH}")).count();
            assert!(!is_password || !why.contains(HASH), "{why}");
        }
    }
}
