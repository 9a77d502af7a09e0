//! The recorded stream as transactions: cut at every message, with blocks that are mixed, in memory and in files, and damaged.

use crate::describer::Describer;
use crate::frames;
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::pgoutput::message::{Message, Xid};
use evergraph_replica::source::batch::ChangeBatch;
use evergraph_replica::source::error::{SourceError, SourceResult};
use evergraph_replica::stream::event::StreamEvent;
use evergraph_replica::stream::transaction_reader::{ReaderOptions, TransactionReader};
use evergraph_replica::wire::replication_frame::ReplicationFrame;
use proptest::prelude::*;
use std::iter;
use std::slice;

/// Messages of a batch.
const BATCH_FRAMES: usize = 64;

/// A batch of frames.
fn batch(frames: &[Vec<u8>]) -> ChangeBatch {
    let mut batch = ChangeBatch::default();
    for frame in frames {
        match ReplicationFrame::read(frame) {
            Ok(ReplicationFrame::Data(data)) => {
                batch.push_message(data.start, data.log_end, data.sent_at, data.message);
            }
            Ok(ReplicationFrame::Keepalive(keepalive)) => {
                batch.push_keepalive(keepalive.log_end, keepalive.sent_at);
            }
            Err(_) => {}
        }
    }
    batch
}

/// What a reader finds in batches of frames.
fn events(batches: &[&[Vec<u8>]], memory_bytes: usize) -> (Vec<StreamEvent>, SourceResult<()>) {
    let options = ReaderOptions { memory_bytes, ..ReaderOptions::default() };
    let (mut reader, mut events) = (TransactionReader::new(options), Vec::new());
    let result = batches.iter().try_for_each(|frames| reader.push(&batch(frames), &mut events));
    (events, result)
}

/// The transactions of batches of frames, each with its rows in lines.
fn transactions(batches: &[&[Vec<u8>]], memory_bytes: usize) -> (Vec<Vec<String>>, SourceResult<()>) {
    let (events, result) = events(batches, memory_bytes);
    (rows(events), result)
}

/// The transactions among events, each with its rows in lines.
fn rows(events: Vec<StreamEvent>) -> Vec<Vec<String>> {
    let (mut describer, mut all) = (Describer::default(), Vec::new());
    for event in events {
        let StreamEvent::Transaction(transaction) = event else { continue };
        let mut lines = Vec::new();
        for piece in transaction.pieces {
            for relation in piece.relations() {
                let relation = Message::Relation { xid: None, relation: (**relation).clone() };
                describer.line(&relation);
            }
            let messages = piece.read().unwrap();
            lines.extend(messages.decode().filter_map(|message| describer.line(&message)));
        }
        all.push(lines);
    }
    all
}

/// The message of each frame; `None` of keepalives and of rows of COPY.
fn messages(frames: &[Vec<u8>]) -> Vec<Option<Message<'_>>> {
    let mut decoder = Decoder::new();
    let message = |frame| match ReplicationFrame::read(frame) {
        Ok(ReplicationFrame::Data(data)) => Some(decoder.decode(data.message).unwrap()),
        Ok(ReplicationFrame::Keepalive(_)) | Err(_) => None,
    };
    frames.iter().map(Vec::as_slice).map(message).collect()
}

/// The rows of an item, in the order of their insertion.
fn streamed_lines(item: u32, numbers: impl Iterator<Item = u32>) -> Vec<String> {
    numbers.map(|number| format!("streamed insert line ({item}, {number})")).collect()
}

#[test]
fn the_recorded_stream_has_these_transactions_however_it_is_cut() {
    let frames = frames();
    let (whole, result) = transactions(&[&frames], usize::MAX);
    result.unwrap();
    let counts: Vec<_> = whole.iter().map(Vec::len).collect();
    assert_eq!(counts, [2, 1, 1, 1, 1, 3, 0, 1, 1, 401, 800, 800]);
    assert_eq!(whole[1], ["update item (1, 2500 bytes, 2.50, happy, 2024-02-29 11:00:00+00, {a,\"b c\"})"]);
    assert_eq!(whole[8], ["truncate item whole"]);
    let kept = [streamed_lines(1, 1..=400), streamed_lines(3, 1..=1)].concat();
    assert!(whole[9] == kept, "what was rolled back is not there");

    let one_by_one: Vec<_> = frames.chunks(1).collect();
    for memory_bytes in [usize::MAX, 2000, 0] {
        let (all, result) = transactions(&one_by_one, memory_bytes);
        assert!(result.is_ok() && all == whole, "{memory_bytes} bytes");
    }
    // By each of these numbers the cuts are elsewhere: together they are at every message.
    for first in 0..BATCH_FRAMES {
        let (before, behind) = frames.split_at(first);
        let batches: Vec<_> = iter::once(before).chain(behind.chunks(BATCH_FRAMES)).collect();
        let (all, result) = transactions(&batches, 5000);
        assert!(result.is_ok() && all == whole, "a batch of {first} messages first");
    }
}

#[test]
fn wherever_the_recorded_stream_is_cut_off_the_transactions_are_there_that_committed_before() {
    let frames = frames();
    let mut reader = TransactionReader::new(ReaderOptions::default());
    let (mut events, mut ends) = (Vec::new(), Vec::new());
    let mut streamed: Vec<Xid> = Vec::new();
    for (place, (frame, message)) in frames.iter().zip(messages(&frames)).enumerate() {
        reader.push(&batch(slice::from_ref(frame)), &mut events).unwrap();
        match message {
            Some(Message::Commit(commit)) => ends.push(commit.end_lsn),
            Some(Message::StreamStart { xid, is_first: true }) => streamed.push(xid),
            Some(Message::StreamCommit { xid, commit }) => {
                streamed.retain(|open| *open != xid);
                ends.push(commit.end_lsn);
            }
            Some(Message::StreamAbort { xid, subtransaction }) if xid == subtransaction => {
                streamed.retain(|open| *open != xid);
            }
            _ => {}
        }
        let found = events.iter().filter_map(|event| match event {
            StreamEvent::Transaction(transaction) => Some(transaction.end.commit.end_lsn),
            StreamEvent::Idle { .. } => None,
        });
        assert!(found.eq(ends.iter().copied()), "cut off behind message {place}");
        assert_eq!(reader.streamed_count(), streamed.len(), "cut off behind message {place}");
    }
    assert!(reader.is_between_transactions() && reader.memory_bytes() == 0);
    assert_eq!(rows(events), transactions(&[&frames], usize::MAX).0);
}

#[test]
fn transactions_whose_blocks_are_mixed_come_whole_and_in_the_order_of_their_commits() {
    let frames = frames();
    let (mut blocks, mut commits) = (Vec::new(), Vec::new());
    for message in messages(&frames).into_iter().flatten() {
        match message {
            Message::StreamStart { xid, .. } => blocks.push(xid),
            Message::StreamCommit { xid, .. } => commits.push(xid),
            _ => {}
        }
    }
    // Of the recording itself, without which this test says nothing.
    let [.., first, second, third, fourth] = blocks[..] else { panic!("too few blocks: {blocks:?}") };
    assert!(first != second && (third, fourth) == (first, second), "{blocks:?}");
    assert_eq!(commits[commits.len() - 2..], [second, first]);
    for memory_bytes in [usize::MAX, 5000] {
        let (events, result) = events(&frames.chunks(7).collect::<Vec<_>>(), memory_bytes);
        result.unwrap();
        let found: Vec<Xid> = events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::Transaction(transaction) => Some(transaction.end.xid),
                StreamEvent::Idle { .. } => None,
            })
            .collect();
        assert_eq!(found[found.len() - 2..], [second, first]);
        let all = rows(events);
        let of_both = [streamed_lines(6, 1..=800), streamed_lines(5, 1..=800)];
        assert!(all[all.len() - 2..] == of_both, "{memory_bytes} bytes: rows are lost, or in the other one");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bits turned over, frames that are lost and come twice: an error or transactions, never a panic.
    #[test]
    fn a_damaged_stream_gives_the_transactions_before_the_damage(
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..10_u32), 1..5),
        memory_bytes in prop::sample::select(vec![0, 1000, usize::MAX]),
    ) {
        let mut frames = frames();
        let (whole, _) = transactions(&[&frames], usize::MAX);
        let mut first = frames.len();
        for (place, bit, damage) in damages {
            let place = place.index(frames.len());
            first = first.min(place);
            match damage {
                8 => drop(frames.remove(place)),
                9 => frames.insert(place, frames[place].clone()),
                _ => {
                    let byte = bit.index(frames[place].len());
                    frames[place][byte] ^= 1 << damage;
                }
            }
        }
        let (before, _) = transactions(&[&frames[..first]], usize::MAX);
        prop_assert!(whole.starts_with(&before));
        let one_by_one: Vec<_> = frames.chunks(1).collect();
        let (events, result) = events(&one_by_one, memory_bytes);
        prop_assert!(!matches!(result, Err(SourceError::Local(_))), "{:?}", result);
        let mut count = 0;
        for event in events {
            let StreamEvent::Transaction(transaction) = event else { continue };
            count += 1;
            // Their tables may be unknown: a description was damaged.
            for piece in transaction.pieces {
                prop_assert!(piece.read().unwrap().decode().count() > 0);
            }
        }
        prop_assert!(count >= before.len());
    }
}
