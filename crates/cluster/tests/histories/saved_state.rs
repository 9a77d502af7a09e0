//! Saved state: the same log leaves the same state on every node, also when it is saved and read back between any two
//! messages, and no edit of a saved state makes reading it panic.

use crate::chance::Chance;
use crate::node::{SALT, limits, position};
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::certification::outcome::{CancelAnswer, Decision, Outcome, Refusal};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::KeyHash;
use evergraph_cluster::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use evergraph_graph::timestamp::Timestamp;

const AUTHOR: Author = Author { node: NodeId(1), incarnation: 2 };

fn message(seen: &SeenLog, records: &[Record]) -> Vec<u8> {
    let mut builder = MessageBuilder::new(AUTHOR);
    records.iter().for_each(|record| assert!(builder.push(record)));
    builder.finish(seen)
}

fn apply(certifier: &mut Certifier, bytes: &[u8]) -> Vec<Decision> {
    let next = certifier.seen().position.0 as usize;
    let decided = certifier.apply(position(next), Message::decode(bytes).unwrap(), bytes);
    decided.into_iter().map(|decided| decided.decision).collect()
}

fn start() -> Certifier {
    // Room for one part: whether the next one is kept depends on the parts that are saved.
    let limits = CertifierLimits { parts_bytes: 700, ..limits() };
    Certifier::new(SALT, limits, SeenLog::START)
}

/// A record of any kind, with keys that are often the same.
fn random_record(chance: &mut Chance, number: u64, since: Timestamp) -> Record {
    let mut hashes = |most: usize| -> Vec<KeyHash> {
        (0..chance.below(most)).map(|_| KeyHash(chance.below(40) as u64)).collect()
    };
    let (checks, touches) = (hashes(3), hashes(5));
    let key = |byte: usize| SortKey([byte as u8; 16]);
    let entered = EnteredKey { index: KeyHash(7), key: key(chance.below(20)) };
    let low = chance.below(20);
    let range = RangeCheck { index: KeyHash(7), low: key(low), high: key(low + 1) };
    let part = TransactionPart {
        checks,
        ranges: if chance.one_in(3) { vec![range] } else { Vec::new() },
        touches,
        entered: if chance.one_in(2) { vec![entered] } else { Vec::new() },
        payloads: Vec::new(),
    };
    // A little before or behind it, so that parts and cancels meet their transactions.
    let near = number.saturating_add_signed(chance.below(9) as i64 - 4);
    let body = match chance.below(10) {
        0 => RecordBody::Part { of: near, place: chance.below(2) as u16, part },
        1 => RecordBody::Cancel { of: RecordId { author: AUTHOR, number: near }, since },
        2 => RecordBody::Barrier,
        _ => RecordBody::Transaction { since, parts: u16::from(chance.one_in(8)), last: part },
    };
    Record { number, body }
}

/// The messages of a log of random records, and what one certifier made of them.
fn random_log(seed: u64, messages: usize) -> (Vec<Vec<u8>>, Vec<Vec<Decision>>, Certifier) {
    let (mut chance, mut certifier) = (Chance::new(seed), start());
    let (mut log, mut decisions, mut number) = (Vec::new(), Vec::new(), 10);
    for _ in 0..messages {
        let seen = certifier.seen();
        let mut records = Vec::new();
        for _ in 0..=chance.below(4) {
            number += 1;
            // Doubles, too.
            let same = number - u64::from(chance.one_in(6)) * chance.below(6) as u64;
            // Now and then older than all that is remembered.
            let back = chance.below(30) as u64;
            let number_of_message = seen.position.0.saturating_sub(back + 1) as usize;
            let since = position(number_of_message).end().min(seen.position.end());
            records.push(random_record(&mut chance, same, since));
        }
        let bytes = message(&seen, &records);
        decisions.push(apply(&mut certifier, &bytes));
        log.push(bytes);
    }
    (log, decisions, certifier)
}

#[test]
fn a_state_that_is_saved_and_read_back_between_any_two_messages_decides_alike() {
    let mut kinds = [false; 6];
    for seed in 0..20 {
        let (log, decisions, whole) = random_log(seed, 60);
        let mut certifier = start();
        for (bytes, expected) in log.iter().zip(&decisions) {
            let saved = certifier.encode();
            certifier = Certifier::decode(SALT, &saved).unwrap();
            assert_eq!(certifier.encode(), saved, "the same state has the same bytes");
            let message = Message::decode(bytes).unwrap();
            let foreseen = match &message.records[..] {
                [Record { body: RecordBody::Transaction { since, parts: 0, last }, .. }] => {
                    Some(certifier.would_refuse(*since, last))
                }
                _ => None,
            };
            let found = apply(&mut certifier, bytes);
            assert_eq!(found, *expected);
            match (&found[0], foreseen) {
                (Decision::Commit(_), Some(foreseen)) => assert_eq!(foreseen, None),
                (Decision::Refuse(refusal), Some(foreseen)) => assert_eq!(foreseen, Some(*refusal)),
                _ => {}
            }
            for decision in &found {
                kinds[0] |= matches!(decision, Decision::Commit(_));
                kinds[1] |= matches!(decision, Decision::Refuse(Refusal::Conflict { .. }));
                kinds[2] |= matches!(decision, Decision::Refuse(Refusal::TooOld { .. }));
                kinds[3] |= matches!(decision, Decision::Double(_));
                kinds[4] |= matches!(decision, Decision::KeepPart);
                kinds[5] |= matches!(decision, Decision::DropPart);
            }
        }
        assert_eq!(certifier.encode(), whole.encode());
    }
    assert_eq!(kinds, [true; 6], "commit, conflict, too old, double, part kept, part dropped");
}

#[test]
fn edits_of_a_saved_state_are_another_state_or_an_error_with_its_place() {
    let mut chance = Chance::new(5);
    let saved = random_log(1, 40).2.encode();
    for cut in 0..saved.len() {
        assert!(Certifier::decode(SALT, &saved[..cut]).is_err(), "{cut}");
    }
    for _ in 0..500 {
        let mut bytes = saved.clone();
        for _ in 0..=chance.below(3) {
            let at = chance.below(bytes.len());
            bytes[at] = chance.below(256) as u8;
        }
        match Certifier::decode(SALT, &bytes) {
            Ok(certifier) => assert_eq!(certifier.encode(), bytes),
            Err(error) => assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
        }
    }
}

#[test]
fn the_rules_of_ids_hold_one_by_one() {
    let transaction = |number, since: Timestamp, check: u64, touch: u64| {
        let (checks, touches) = (vec![KeyHash(check)], vec![KeyHash(touch)]);
        let last = TransactionPart { checks, touches, ..TransactionPart::default() };
        Record { number, body: RecordBody::Transaction { since, parts: 0, last } }
    };
    let cancel = |number, of, since| {
        let of = RecordId { author: AUTHOR, number: of };
        Record { number, body: RecordBody::Cancel { of, since } }
    };
    let mut certifier = start();
    let mut next = |records: &[Record]| {
        let bytes = message(&certifier.seen(), records);
        apply(&mut certifier, &bytes)
    };
    let since = SeenLog::START.position.end();
    let at = |number: usize, place| position(number).timestamp(place);

    // Within a message the second sees the first.
    let both = next(&[transaction(1, since, 1, 2), transaction(2, since, 2, 3)]);
    assert_eq!(both[0], Decision::Commit(Vec::new()));
    assert!(matches!(both[1], Decision::Refuse(Refusal::Conflict { changed, .. }) if changed == at(0, 0)));
    // A double of either changes nothing and says what became of the first.
    let doubles = next(&[transaction(1, since, 1, 2), transaction(2, since, 9, 3)]);
    assert_eq!(
        doubles,
        [Decision::Double(Outcome::Committed(at(0, 0))), Decision::Double(Outcome::Conflict)]
    );
    // What was refused touched nothing.
    assert_eq!(next(&[transaction(3, since, 3, 4)]), [Decision::Commit(Vec::new())]);
    // Cancelled before it came, and after.
    let answers = next(&[cancel(10, 4, since), transaction(4, since, 5, 5), cancel(11, 1, since)]);
    assert_eq!(
        answers,
        [
            Decision::Answer(CancelAnswer::Cancelled),
            Decision::Double(Outcome::Cancelled),
            Decision::Answer(CancelAnswer::Decided(Outcome::Committed(at(0, 0)))),
        ]
    );
    // Two generations later nothing is known, and nothing is said.
    let fillers: Vec<Record> =
        (100..240).map(|number| Record { number, body: RecordBody::Barrier }).collect();
    next(&fillers[..50]);
    next(&fillers[50..]);
    let late = next(&[cancel(12, 1, since), transaction(1, since, 1, 2), cancel(13, 1, since)]);
    assert_eq!(late[0], Decision::Answer(CancelAnswer::Unknown));
    assert!(matches!(late[1], Decision::Refuse(Refusal::TooOld { .. })));
    assert_eq!(late[2], Decision::Answer(CancelAnswer::Unknown), "the first cancel left no entry");
}
