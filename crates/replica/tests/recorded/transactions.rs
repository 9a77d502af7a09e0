//! The recorded stream as transactions: cut at every message that is no insert among many, in memory and in files, and damaged.

use crate::describer::Describer;
use crate::frames;
use evergraph_replica::pgoutput::message::Message;
use evergraph_replica::source::batch::ChangeBatch;
use evergraph_replica::source::error::{SourceError, SourceResult};
use evergraph_replica::stream::event::StreamEvent;
use evergraph_replica::stream::transaction_reader::{ReaderOptions, TransactionReader};
use evergraph_replica::wire::replication_frame::ReplicationFrame;
use proptest::prelude::*;

/// Where the message is in a frame of the log.
const MESSAGE_OFFSET: usize = 25;

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
    (all, result)
}

#[test]
fn the_recorded_stream_has_these_transactions_however_it_is_cut() {
    let frames = frames();
    let (whole, result) = transactions(&[&frames], usize::MAX);
    result.unwrap();
    let counts: Vec<_> = whole.iter().map(Vec::len).collect();
    assert_eq!(counts, [2, 1, 1, 1, 1, 3, 0, 1, 1, 401]);
    assert_eq!(whole[1], ["update item (1, 2500 bytes, 2.50, happy, 2024-02-29 11:00:00+00, {a,\"b c\"})"]);
    assert_eq!(whole[8], ["truncate item whole"]);
    let streamed = |number: usize| format!("streamed insert line (1, {number})");
    let wanted = (1..=400).map(streamed).chain(["streamed insert line (3, 1)".to_owned()]);
    assert!(whole[9].iter().eq(wanted.collect::<Vec<_>>().iter()), "what was rolled back is not there");

    let one_by_one: Vec<_> = frames.chunks(1).collect();
    for memory_bytes in [usize::MAX, 2000, 0] {
        let (all, result) = transactions(&one_by_one, memory_bytes);
        assert!(result.is_ok() && all == whole, "{memory_bytes} bytes");
    }
    // Inserts follow each other by the hundred: between them at each fifth.
    let is_insert = |frame: &Vec<u8>| frame.get(MESSAGE_OFFSET) == Some(&b'I');
    let is_cut_at = |place: &usize| {
        place.is_multiple_of(5) || !frames[place.saturating_sub(1)..].iter().take(2).all(is_insert)
    };
    for place in (0..=frames.len()).filter(is_cut_at) {
        let (before, behind) = frames.split_at(place);
        let (all, result) = transactions(&[before], usize::MAX);
        assert!(result.is_ok() && whole.starts_with(&all), "cut off at message {place}");
        let (all, result) = transactions(&[before, behind], 5000);
        assert!(result.is_ok() && all == whole, "cut at message {place}");
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
