//! Streams of changes as transactions: bytes are whole transactions, or an error that names a position, however they are cut
//! into batches and wherever their messages wait.

use crate::target::{Memory, Target};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::source::batch::ChangeBatch;
use evergraph_replica::source::error::SourceError;
use evergraph_replica::stream::event::StreamEvent;
use evergraph_replica::stream::transaction_reader::{ReaderOptions, TransactionReader};

/// The target. The first byte says how many changes a batch has and how much memory there is; then come messages, each behind
/// a length of one byte; one without bytes is a keepalive.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 17, per_byte: 256 } };

/// Bytes of open transactions in memory; beyond them each message goes to a file.
const LITTLE_MEMORY: usize = 64;

fn seeds() -> Vec<Vec<u8>> {
    let begin = b"B\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\x07";
    let commit = b"C\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x01";
    let stream_commit = b"c\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\x01";
    let table = b"R\0\0\0\x09public\0t\0d\0\x01\x01id\0\0\0\0\x17\xff\xff\xff\xff";
    let streamed_table = b"R\0\0\0\x08\0\0\0\x09public\0t\0d\0\x01\x01id\0\0\0\0\x17\xff\xff\xff\xff";
    let insert = b"I\0\0\0\x09N\0\x01t\0\0\0\x011";
    let streamed_insert = b"I\0\0\0\x08\0\0\0\x09N\0\x01t\0\0\0\x012";
    let of_savepoint = b"D\0\0\0\x0a\0\0\0\x09K\0\x01t\0\0\0\x011";
    let (first, later, stop) = (&b"S\0\0\0\x08\x01"[..], &b"S\0\0\0\x08\0"[..], &b"E"[..]);
    let (abort_of_savepoint, abort) = (b"A\0\0\0\x08\0\0\0\x0a", b"A\0\0\0\x08\0\0\0\x08");
    let truncate = b"T\0\0\0\x01\x03\0\0\0\x09";
    let whole: [&[u8]; 7] = [begin, table, insert, &[], truncate, commit, &[]];
    let streamed: [&[u8]; 14] = [
        first,
        streamed_table,
        streamed_insert,
        of_savepoint,
        stop,
        begin,
        insert,
        commit,
        abort_of_savepoint,
        later,
        streamed_insert,
        stop,
        stream_commit,
        &[],
    ];
    let rolled_back: [&[u8]; 6] = [first, streamed_insert, stop, &[], abort, &[]];
    let input = |first: u8, messages: &[&[u8]]| {
        let with_length = |message: &&[u8]| [&[message.len() as u8], *message].concat();
        [vec![first], messages.iter().flat_map(with_length).collect()].concat()
    };
    vec![
        input(0, &whole),
        input(0x12, &whole),
        input(1, &streamed),
        input(0x83, &streamed),
        input(0x81, &rolled_back),
        input(7, &[&streamed[..], &whole[..]].concat()),
    ]
}

fn promise(input: &[u8]) {
    let Some((choice, mut rest)) = input.split_first() else { return };
    let mut messages = Vec::new();
    while let Some((length, after)) = rest.split_first() {
        let (message, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        messages.push(message);
    }
    let one_by_one = read(&messages, 1, usize::MAX);
    assert_eq!(read(&messages, usize::from(choice % 16) + 1, usize::MAX), one_by_one);
    // Files cost more than all else here: a part of the inputs.
    if *choice >= 128 {
        assert_eq!(read(&messages, 1, LITTLE_MEMORY), one_by_one);
    }
}

/// What a reader finds, in lines.
fn read(messages: &[&[u8]], changes: usize, memory_bytes: usize) -> Vec<String> {
    let options = ReaderOptions { memory_bytes, ..ReaderOptions::default() };
    let (mut reader, mut events, mut lines) = (TransactionReader::new(options), Vec::new(), Vec::new());
    let mut position = 0;
    for part in messages.chunks(changes) {
        let mut batch = ChangeBatch::default();
        for message in part {
            position += 1;
            match message {
                // A position of its own, so that no two in a row are one.
                [] => {
                    batch.push_message(Lsn::ZERO, Lsn::ZERO, PostgresTime::new(0), NOTHING);
                    batch.push_keepalive(Lsn::new(position), PostgresTime::new(0));
                }
                message => batch.push_message(Lsn::new(position), Lsn::ZERO, PostgresTime::new(0), message),
            }
        }
        let result = reader.push(&batch, &mut events);
        lines.extend(events.drain(..).map(line));
        assert!(!reader.is_between_transactions() || reader.memory_bytes() == 0);
        match result {
            Ok(()) => {}
            Err(SourceError::Damaged { doing, error }) => {
                assert!(doing.contains(" 0/") && !error.expected.is_empty());
                lines.push(format!("{doing}: {error}"));
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    lines
}

/// An origin, which changes nothing: it parts keepalives.
const NOTHING: &[u8] = b"O\0\0\0\0\0\0\0\0\0";

fn line(event: StreamEvent) -> String {
    match event {
        StreamEvent::Idle { position } => format!("idle {position}"),
        StreamEvent::Transaction(transaction) => {
            let mut line = format!("{:?}", transaction.end);
            for piece in transaction.pieces {
                for relation in piece.relations() {
                    line += &format!(" {relation:?}");
                }
                let messages = piece.read().expect("the file is there");
                for (message, bytes) in messages.decode().zip(messages.iter()) {
                    line += &format!(" {} {}", bytes.len(), message.streamed_xid().unwrap_or_default());
                }
            }
            line
        }
    }
}
