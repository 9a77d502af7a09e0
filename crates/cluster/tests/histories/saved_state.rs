//! Saved state: the same log leaves the same state on every node, also when it is saved and read back between any two
//! messages, and no edit of a saved state makes reading it panic. Beside these, the rules of certification one by one.

use crate::chance::Chance;
use crate::graph::ORDERED_INDEX;
use crate::node::{SALT, limits, position};
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::certification::outcome::{CancelAnswer, Decision, Outcome, Refusal};
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::key_hash::graph_salt::KeyHash;
use evergraph_cluster::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use evergraph_graph::index::IndexDefinition;
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

fn barriers(numbers: std::ops::Range<u64>) -> Vec<Record> {
    numbers.map(|number| Record { number, body: RecordBody::Barrier }).collect()
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
    let fillers = barriers(100..300);
    next(&fillers[..50]);
    next(&fillers[50..]);
    let late = next(&[cancel(12, 1, since), transaction(1, since, 1, 2), cancel(13, 1, since)]);
    assert_eq!(late[0], Decision::Answer(CancelAnswer::Unknown));
    assert!(matches!(late[1], Decision::Refuse(Refusal::TooOld { .. })));
    assert_eq!(late[2], Decision::Answer(CancelAnswer::Unknown), "the first cancel left no entry");
}

/// Written by an independent program.
const GOLDEN: &str = "\
        0120e80700100000000000000020000000000000070203000000000000000010000000000000090000000000\
        0000001000000000000001070000000000000001001000000000000010101010101010101010101010101010\
        0401000200000004040100020000000500001000000000000001000200000006050100020000000705000002\
        01000200000008050100020000000a0101010002000000090000011000000000000000000101000000000000\
        000000030000000000000000000000000000000000000000000000000100000000000000970a4b637eb29f8a\
        64cd957d95efc4110200000000000000d37f73f1e489837da4ab8403d73628a3";

#[test]
fn the_saved_bytes_are_those_of_version_1() {
    let limits = CertifierLimits { generation_slots: 32, parts_bytes: 1000 };
    let mut certifier = Certifier::new(SALT, limits, SeenLog::START);
    let since = SeenLog::START.position.end();
    let touches = |touches: &[u64]| touches.iter().copied().map(KeyHash).collect::<Vec<_>>();
    let entered = vec![EnteredKey { index: KeyHash(7), key: SortKey([0x10; 16]) }];
    let last = TransactionPart { touches: touches(&[3, 9]), entered, ..TransactionPart::default() };
    let part = TransactionPart { touches: touches(&[1]), ..TransactionPart::default() };
    let bodies = [
        RecordBody::Transaction { since, parts: 0, last },
        RecordBody::Part { of: 9, place: 0, part },
        RecordBody::Cancel { of: RecordId { author: AUTHOR, number: 4 }, since },
    ];
    let first: Vec<_> = bodies.into_iter().zip(5..).map(|(body, number)| Record { number, body }).collect();
    let conflict = TransactionPart { checks: touches(&[3]), ..TransactionPart::default() };
    let second = [
        Record { number: 8, body: RecordBody::Barrier },
        Record { number: 10, body: RecordBody::Transaction { since, parts: 0, last: conflict } },
    ];
    for records in [&first[..], &second[..]] {
        let bytes = message(&certifier.seen(), records);
        apply(&mut certifier, &bytes);
    }
    let saved: String = certifier.encode().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(saved, GOLDEN);
}

/// An index was ready, was dropped and created anew, and the log had a double of the first record *ready* when its id was
/// forgotten: the new index would have answered before it was built.
#[test]
fn a_late_double_of_a_ready_index_is_refused_and_so_is_one_of_another_log() {
    let mut certifier = start();
    let index = IndexDefinition { id: ORDERED_INDEX, unique: false };
    let created = SeenLog::START.position.end();
    let body = RecordBody::IndexReady { index, created, touches: vec![KeyHash(1)] };
    let ready = Record { number: 1, body: body.clone() };
    let first = message(&certifier.seen(), &[ready]);
    assert_eq!(apply(&mut certifier, &first), [Decision::Accept(body.clone())]);
    assert_eq!(apply(&mut certifier, &first), [Decision::Double(Outcome::Done)]);
    let fillers = message(&certifier.seen(), &barriers(100..300));
    apply(&mut certifier, &fillers);
    let floor = certifier.floor();
    assert_eq!(apply(&mut certifier, &first), [Decision::Refuse(Refusal::TooOld { floor })]);
    assert_eq!(certifier.outcome(RecordId { author: AUTHOR, number: 1 }), None, "it leaves no entry");
    let other = SeenLog { digest: LogDigest([1; 16]), ..certifier.seen() };
    let of_other = message(&other, &[Record { number: 2, body }]);
    assert_eq!(apply(&mut certifier, &of_other), [Decision::Refuse(Refusal::OtherLog)]);
}

#[test]
fn the_last_snapshot_before_the_floor_misses_nothing_and_is_decided() {
    let transaction = |number, since: Timestamp, checks: &[u64], touches: &[u64]| {
        let hashes = |numbers: &[u64]| numbers.iter().copied().map(KeyHash).collect();
        let (checks, touches) = (hashes(checks), hashes(touches));
        let last = TransactionPart { checks, touches, ..TransactionPart::default() };
        Record { number, body: RecordBody::Transaction { since, parts: 0, last } }
    };
    // One outcome, one touch and the message: each of the first two ends a generation.
    let limits = CertifierLimits { generation_slots: 6, ..limits() };
    let mut certifier = Certifier::new(SALT, limits, SeenLog::START);
    for number in 1..=2 {
        let commit = transaction(number, SeenLog::START.position.end(), &[], &[number]);
        let bytes = message(&certifier.seen(), &[commit]);
        assert_eq!(apply(&mut certifier, &bytes), [Decision::Commit(Vec::new())]);
    }
    let (since, floor) = (position(0).end(), certifier.floor());
    assert_eq!(floor, since.next());
    let records = [
        transaction(3, since, &[1], &[]),
        transaction(4, since, &[2], &[]),
        transaction(5, Timestamp(since.0 - 1), &[], &[]),
    ];
    let bytes = message(&certifier.seen(), &records);
    let decided = apply(&mut certifier, &bytes);
    assert_eq!(decided[0], Decision::Commit(Vec::new()));
    assert!(matches!(decided[1], Decision::Refuse(Refusal::Conflict { .. })));
    assert_eq!(decided[2], Decision::Refuse(Refusal::TooOld { floor }));
}

/// Parts of a coordinator that died took the room of all parts, until other traffic had filled two generations: no large
/// transaction could commit meanwhile.
#[test]
fn abandoned_parts_go_when_parts_go_on_coming_or_their_transaction_is_cancelled_late() {
    let limits = CertifierLimits { parts_bytes: 2000, ..limits() };
    let part = |number, of| {
        let part = TransactionPart { touches: vec![KeyHash(1)], ..TransactionPart::default() };
        Record { number, body: RecordBody::Part { of, place: number as u16, part } }
    };
    let full = || {
        let mut certifier = Certifier::new(SALT, limits, SeenLog::START);
        let bytes = message(&certifier.seen(), &(0..4).map(|place| part(place, 1000)).collect::<Vec<_>>());
        assert_eq!(apply(&mut certifier, &bytes), vec![Decision::KeepPart; 4]);
        certifier
    };
    let mut certifier = full();
    let is_dropped = |number: &u64| {
        let bytes = message(&certifier.seen(), &[part(*number, 1000 + number)]);
        apply(&mut certifier, &bytes) == [Decision::DropPart]
    };
    let dropped = (10..100).take_while(is_dropped).count();
    assert!((1..30).contains(&dropped), "{dropped} parts had no room");

    let mut certifier = full();
    let cancel = RecordBody::Cancel { of: RecordId { author: AUTHOR, number: 1000 }, since: Timestamp::ZERO };
    let bytes = message(&certifier.seen(), &[Record { number: 10, body: cancel }, part(11, 1001)]);
    let decided = apply(&mut certifier, &bytes);
    assert_eq!(decided, [Decision::Answer(CancelAnswer::Unknown), Decision::KeepPart]);
}
