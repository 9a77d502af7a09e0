//! A session with a real PostgreSQL, recorded by `tests/postgres/record.rs`, replayed without one: cut at every byte, and damaged.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod describer;
mod recording;
mod transactions;

use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::wire::replication_frame::ReplicationFrame;
use evergraph_replica::wire::session::Event;
use proptest::prelude::*;
use recording::{Step, parse, replay, session};

const RECORDING: &str = include_str!("postgres15.txt");

/// The lines of the stream, from its first table on.
fn stream(lines: &[String]) -> &[String] {
    let begin = lines.iter().rposition(|line| line == "copy begins").unwrap();
    &lines[begin + 1..]
}

#[test]
fn a_session_says_the_same_however_its_bytes_are_cut() {
    let steps = parse(RECORDING);
    let whole = replay(&steps, usize::MAX);
    for piece_bytes in [1, 2, 3, 5, 7, 64, 1000] {
        assert_eq!(replay(&steps, piece_bytes), whole, "pieces of {piece_bytes} bytes");
    }
}

#[test]
fn queries_copies_and_errors_are_events() {
    let lines = replay(&parse(RECORDING), usize::MAX);
    let begin = lines.iter().rposition(|line| line == "copy begins").unwrap();
    let errors: Vec<_> = lines.iter().filter(|line| line.starts_with("failed")).collect();
    assert_eq!(
        errors,
        [
            "failed: ERROR 22012: division by zero",
            "failed: ERROR 42704: replication slot \"nowhere\" does not exist"
        ]
    );
    let copied: Vec<_> = lines[..begin].iter().filter_map(|line| line.strip_prefix("copied: ")).collect();
    assert_eq!(copied, ["0\t1\t\\N", "0\t2\t\\N"]);
    assert_eq!(lines[..begin].iter().filter(|line| *line == "ready: Idle").count(), 6);
    assert!(lines.contains(&"columns: one:23 nothing:25".to_owned()));
    assert_eq!(lines[lines.len() - 2..], ["complete: START_REPLICATION", "ready: Idle"]);
}

#[test]
fn transactions_are_decoded_in_their_order() {
    let lines = replay(&parse(RECORDING), usize::MAX);
    let stream = stream(&lines);
    let first = stream.iter().position(|line| line.starts_with("stream start")).unwrap();
    let plain: Vec<_> =
        stream[..first].iter().filter(|line| !["begin", "commit"].contains(&&***line)).collect();
    let is_table = |line: &str| line.starts_with("table") || line.starts_with("type");
    let rows: Vec<&str> = plain.iter().map(|line| line.as_str()).filter(|line| !is_table(line)).collect();
    assert_eq!(
        rows,
        [
            "insert item (1, Tea, 2.50, happy, 2024-02-29 11:00:00+00, {a,\"b c\"})",
            "insert item (2, null, NaN, null, infinity, null)",
            "update item (1, 2500 bytes, 2.50, happy, 2024-02-29 11:00:00+00, {a,\"b c\"})",
            "update item (1, unchanged, 3.00, happy, 2024-02-29 11:00:00+00, {a,\"b c\"})",
            "update item key (1, null, null, null, null, null) (3, unchanged, 3.00, happy, 2024-02-29 11:00:00+00, {a,\"b c\"})",
            "delete item key (3, null, null, null, null, null)",
            "insert whole (1)",
            "update whole old (1) (2)",
            "delete whole old (2)",
            "insert item (4, null, null, null, null)",
            "truncate item whole",
        ]
    );
    assert!(plain.contains(&&"type mood".to_owned()));
    let mut tables: Vec<_> = plain.iter().filter(|line| line.starts_with("table item ")).collect();
    tables.dedup();
    assert_eq!(tables.len(), 2, "before and behind ALTER TABLE");
    let count = |part: &str| stream.iter().filter(|line| line.contains(part)).count();
    assert_eq!((count("(1, "), count("stream commit"), count("stream abort of a part")), (400 + 4, 3, 1));
    assert_eq!((count("stream abort of all"), count("streamed insert line (3, 1)")), (1, 1));
    assert_eq!(count("stream start"), count("stream stop"));
}

/// The frames of the stream.
fn frames() -> Vec<Vec<u8>> {
    let (mut session, mut frames) = (session(), Vec::new());
    for step in parse(RECORDING) {
        match step {
            Step::Asked(sql) => session.query(&sql).unwrap(),
            Step::Ended => session.end_frames().unwrap(),
            Step::Received(bytes) => {
                session.push(&bytes);
                while let Some(event) = session.next_event().unwrap() {
                    if let Event::CopyData(bytes) = event {
                        frames.push(bytes.to_vec());
                    }
                }
            }
        }
    }
    frames
}

#[test]
fn a_message_that_is_cut_anywhere_is_an_error_and_changes_nothing() {
    let mut decoder = Decoder::new();
    let mut messages = 0;
    for frame in frames() {
        let Ok(ReplicationFrame::Data(data)) = ReplicationFrame::read(&frame) else { continue };
        for end in 0..data.message.len() {
            let before = decoder;
            assert!(decoder.decode(&data.message[..end]).is_err(), "{end} bytes of {:?}", data.message);
            assert_eq!(decoder, before);
        }
        decoder.decode(data.message).unwrap();
        messages += 1;
    }
    assert!(messages > 2000, "{messages}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bits turned over anywhere in what the server said: events or an error, never a panic.
    #[test]
    fn a_damaged_session_gives_events_or_an_error(
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 1..20), piece_bytes in 1..5000_usize,
    ) {
        let mut steps = parse(RECORDING);
        for (place, bit) in places {
            let step = place.index(steps.len());
            if let Step::Received(bytes) = &mut steps[step] {
                let place = place.index(bytes.len());
                bytes[place] ^= 1 << bit;
            }
        }
        let (mut session, mut decoder) = (session(), Decoder::new());
        for step in steps {
            match step {
                Step::Asked(sql) => drop(session.query(&sql)),
                Step::Ended => drop(session.end_frames()),
                Step::Received(bytes) => {
                    for piece in bytes.chunks(piece_bytes) {
                        session.push(piece);
                        loop {
                            match session.next_event() {
                                Ok(Some(Event::CopyData(bytes))) => {
                                    if let Ok(ReplicationFrame::Data(data)) = ReplicationFrame::read(bytes)
                                        && let Ok(message) = decoder.decode(data.message) {
                                        prop_assert_ne!(message.streamed_xid(), Some(u32::MAX));
                                    }
                                }
                                Ok(Some(_)) => {}
                                Ok(None) => break,
                                Err(_) => return Ok(()),
                            }
                        }
                    }
                }
            }
        }
    }
}
