//! Messages of PostgreSQL's logical decoding: bytes are messages whose rows can be walked, or an error with its byte.

use crate::target::{Memory, Target};
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::pgoutput::message::{Message, OldRow};
use evergraph_replica::pgoutput::tuple::Tuple;
use evergraph_replica::wire::replication_frame::ReplicationFrame;

/// The target. The first byte says whether a streamed block is open; then come frames, each behind a length of two bytes.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 12, per_byte: 64 } };

fn seeds() -> Vec<Vec<u8>> {
    let messages: [&[u8]; 12] = [
        b"B\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\x07",
        b"R\0\0\0\x09public\0t\0d\0\x02\x01id\0\0\0\0\x17\xff\xff\xff\xff\0v\0\0\0\x04\x13\0\0\0\x0c",
        b"I\0\0\0\x09N\0\x02t\0\0\0\x011n",
        b"U\0\0\0\x09K\0\x02t\0\0\0\x011nN\0\x02t\0\0\0\x012u",
        b"D\0\0\0\x09O\0\x02t\0\0\0\x011b\0\0\0\x02\0\x01",
        b"T\0\0\0\x01\x03\0\0\0\x09",
        b"M\x01\0\0\0\0\0\0\0\x10note\0\0\0\0\x02hi",
        b"C\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x01",
        b"S\0\0\0\x08\x01",
        b"E",
        b"A\0\0\0\x08\0\0\0\x09",
        b"c\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x01",
    ];
    let mut all = vec![0];
    for message in messages {
        let frame = [b"w", &[0; 24][..], message].concat();
        all.extend((frame.len() as u16).to_be_bytes());
        all.extend(frame);
    }
    let streamed = [b"w", &[0; 24][..], b"I\0\0\0\x08\0\0\0\x09N\0\x01n"].concat();
    let streamed = [&[1, 0, streamed.len() as u8][..], &streamed].concat();
    vec![all, streamed, b"\0\0\x12k\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x01\x01".to_vec()]
}

fn promise(input: &[u8]) {
    let Some((block, mut rest)) = input.split_first() else { return };
    let mut decoder = Decoder::new();
    if block % 2 == 1 {
        decoder.decode(b"S\0\0\0\x08\x01").expect("a streamed block begins");
    }
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (frame, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        rest = after;
        let message = match ReplicationFrame::read(frame) {
            Ok(ReplicationFrame::Data(data)) => data.message,
            Ok(ReplicationFrame::Keepalive(_)) => continue,
            Err(error) => {
                assert!(error.offset <= frame.len());
                continue;
            }
        };
        let before = decoder;
        let decoded = decoder.decode(message);
        // What is kept is decoded once more, without looking at each cell.
        if let Ok(
            Message::Insert { .. }
            | Message::Update { .. }
            | Message::Delete { .. }
            | Message::Truncate { .. },
        ) = &decoded
        {
            assert_eq!(Decoder::again(before.block()).decode(message), decoded);
        }
        match decoded {
            Ok(Message::Insert { new, .. }) => walk(new),
            Ok(Message::Update { old, new, .. }) => {
                walk_old(old);
                walk(new);
            }
            Ok(Message::Delete { old, .. }) => walk_old(old),
            Ok(_) => {}
            Err(error) => {
                assert!(error.offset <= message.len() && !error.expected.is_empty());
                assert_eq!(decoder, before);
            }
        }
    }
}

fn walk(row: Tuple<'_>) {
    assert_eq!(row.cells().count(), row.len());
}

fn walk_old(old: OldRow<'_>) {
    if let OldRow::Key(row) | OldRow::Whole(row) = old {
        walk(row);
    }
}
