//! What a PostgreSQL server says: bytes are events or an error, in every state, and take no more memory than they are.

use crate::target::{Memory, Target};
use evergraph_replica::wire::session::{Event, Session};
use evergraph_replica::wire::startup::{Binding, ClearText, Password, Purpose, Startup};

/// The target. The first byte chooses the state, the second the pieces in which the bytes come. The buffer doubles, and is
/// copied when it does; a salted password takes the work of its rounds.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 19, per_byte: 64 } };

const READY: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x11TimeZone\0UTC\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const COPY_BOTH: &[u8] = b"W\0\0\0\x07\0\0\0";

fn seeds() -> Vec<Vec<u8>> {
    let inputs: [(u8, &[u8]); 7] = [
        (0, READY),
        (0, b"R\0\0\0\x0c\0\0\0\x05abcd"),
        (0, b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x14\0\0\0\x0br=a,s=,i=1"),
        (0, b"E\0\0\0\x15SFATAL\0C28P01\0M\0\0"),
        (
            1,
            b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
        ),
        (1, b"H\0\0\0\x07\0\0\0d\0\0\0\x061\nc\0\0\0\x04C\0\0\0\x0bCOPY 1\0Z\0\0\0\x05I"),
        (2, b"d\0\0\0\x16k\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x01\x01c\0\0\0\x04N\0\0\0\x05\0"),
    ];
    inputs.map(|(state, bytes)| [&[state, 7], bytes].concat()).to_vec()
}

fn promise(input: &[u8]) {
    let [state, piece, bytes @ ..] = input else { return };
    let mut session = Session::begin(Startup {
        user: "ann".to_owned(),
        password: Some(Password::new(&b"secret horse"[..])),
        database: "shop".to_owned(),
        application_name: "fuzz".to_owned(),
        options: None,
        purpose: Purpose::Replication,
        clear_text: ClearText::Refused,
        channel_binding: Binding::None,
    })
    .expect("no text has a zero byte");
    if state % 3 > 0 {
        session.push(READY);
        while let Ok(Some(_)) = session.next_event() {}
        session.query("SELECT 1").expect("the session waits for a query");
    }
    if state % 3 == 2 {
        session.push(COPY_BOTH);
        assert_eq!(session.next_event(), Ok(Some(Event::CopyBegin)));
    }
    for piece in bytes.chunks(usize::from(*piece).max(1)) {
        session.push(piece);
        loop {
            match session.next_event() {
                Ok(Some(Event::Row(row))) => assert!(row.cells().count() <= input.len()),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    let shown = error.to_string();
                    assert!(!shown.is_empty() && !shown.contains("secret horse"));
                    return;
                }
            }
        }
        assert!(!session.to_send().windows(12).any(|part| part == b"secret horse"));
    }
}
