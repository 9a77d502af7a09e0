//! Saved form: a certifier's state in a checkpoint, where a node goes on after its next start.
//!
//! ```text
//! version:u8 1, generation_slots:varint parts_bytes:varint, floor:u64 current:u64 used_slots:varint
//! older and newer generation, each:
//!   touches   count:varint, then hash:u64 timestamp:u64 each                  ascending
//!   indexes   count:varint, then each, ascending:
//!     index:u64 count:varint, then timestamp:u64 key:16 each                  in commit order, one or more
//!   outcomes  count:varint, then author number:varint outcome each            ascending
//! parts       count:varint, then author number:varint place:u16 timestamp:u64 part each    ascending
//! digests     count:varint, then position:u64 digest:16 each                  ascending
//!
//! outcome  kind:u8 (0 committed, 1 conflict, 2 other log, 3 incomplete, 4 cancelled, 5 done, 6 fenced, 7 malformed), of a
//!          commit its timestamp:u64
//! ```
//!
//! The same state has the same bytes. The checkpoint's file has their checksum, and the graph's salt.

use crate::certification::certifier::{Certifier, CertifierLimits};
use crate::certification::generation::Generation;
use crate::certification::outcome::Outcome;
use crate::certification::pending_parts::{PendingParts, SentPart};
use crate::digest::DigestWindow;
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::sort_key::{EnteredKey, SORT_KEY_BYTES, SortKey};
use crate::planted::{Bug, planted};
use crate::record::body::{put_author, take_author};
use crate::record::transaction_part::{HASH_BYTES, TransactionPart};
use crate::record_id::RecordId;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::timestamp::Timestamp;

const VERSION: u8 = 1;
/// More than any generation has: so many slots would take terabytes.
const GENERATION_SLOTS_MAX: u64 = 1 << 40;
const TIMESTAMP_BYTES: usize = 8;
/// The fewest bytes of what entered an index: its hash, a count, one value.
const INDEX_BYTES_MIN: usize = HASH_BYTES + 1 + ENTRY_BYTES;
const ENTRY_BYTES: usize = TIMESTAMP_BYTES + SORT_KEY_BYTES;
/// The fewest bytes of an outcome: author, number, kind.
const OUTCOME_BYTES_MIN: usize = 8;
/// The fewest bytes of a part: author, number, place, timestamp, five empty lists.
const PART_BYTES_MIN: usize = 22;

impl Certifier {
    /// The state, after the message that [`Certifier::seen`] names.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_varint(&mut out, self.limits.generation_slots);
        put_varint(&mut out, self.limits.parts_bytes as u64);
        put_timestamp(&mut out, self.floor);
        put_timestamp(&mut out, self.current);
        put_varint(&mut out, self.used_slots);
        match planted(Bug::OlderGenerationNotSaved) {
            true => put_generation(&mut out, &Generation::default()),
            false => put_generation(&mut out, &self.older),
        }
        put_generation(&mut out, &self.newer);
        put_parts(&mut out, &self.parts);
        self.digests.encode(&mut out);
        out
    }

    /// The certifier of the graph with `salt` whose state is `bytes`.
    ///
    /// # Errors
    /// If the bytes are no state: where, and what was expected there.
    pub fn decode(salt: GraphSalt, bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let start = reader.clone();
        match reader.u8()? {
            VERSION => {}
            found => return Err(start.error(format!("version {VERSION} expected, found {found}"))),
        }
        let generation_slots = reader.at_most(GENERATION_SLOTS_MAX)?;
        let parts_bytes = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
        let floor = Timestamp(reader.u64()?);
        let place = reader.clone();
        let current = Timestamp(reader.u64()?);
        if current < floor {
            return Err(place.error("a generation that begins at the floor or behind it expected"));
        }
        let used_slots = reader.at_most(generation_slots.saturating_sub(1))?;
        let older = take_generation(&mut reader)?;
        let newer = take_generation(&mut reader)?;
        let parts = take_parts(&mut reader)?;
        let digests = DigestWindow::decode(&mut reader)?;
        if current > digests.last().position.end().next() {
            return Err(place.error("a generation that begins behind the last message at most expected"));
        }
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        let limits = CertifierLimits { generation_slots, parts_bytes };
        Ok(Self { salt, limits, floor, current, used_slots, older, newer, parts, digests })
    }
}

fn put_timestamp(out: &mut Vec<u8>, timestamp: Timestamp) {
    out.extend_from_slice(&timestamp.0.to_le_bytes());
}

fn put_id(out: &mut Vec<u8>, id: RecordId) {
    put_author(out, id.author);
    put_varint(out, id.number);
}

fn take_id(reader: &mut Reader<'_>) -> Decoded<RecordId> {
    Ok(RecordId { author: take_author(reader)?, number: reader.varint()? })
}

fn put_generation(out: &mut Vec<u8>, generation: &Generation) {
    let touches = generation.sorted_touches();
    put_varint(out, touches.len() as u64);
    for (subject, at) in touches {
        out.extend_from_slice(&subject.0.to_le_bytes());
        put_timestamp(out, at);
    }
    let entries = generation.sorted_entries();
    put_varint(out, entries.len() as u64);
    for (index, entered) in entries {
        out.extend_from_slice(&index.0.to_le_bytes());
        put_varint(out, entered.len() as u64);
        for (at, key) in entered {
            put_timestamp(out, *at);
            out.extend_from_slice(&key.0);
        }
    }
    let outcomes = generation.sorted_outcomes();
    put_varint(out, outcomes.len() as u64);
    for (id, outcome) in outcomes {
        put_id(out, id);
        put_outcome(out, outcome);
    }
}

fn take_generation(reader: &mut Reader<'_>) -> Decoded<Generation> {
    let mut generation = Generation::default();
    let mut last = None;
    for _ in 0..reader.count(HASH_BYTES + TIMESTAMP_BYTES)? {
        let start = reader.clone();
        let subject = KeyHash(reader.u64()?);
        ascending(&mut last, subject, &start)?;
        generation.touch(subject, Timestamp(reader.u64()?));
    }
    let mut last = None;
    for _ in 0..reader.count(INDEX_BYTES_MIN)? {
        let start = reader.clone();
        let index = KeyHash(reader.u64()?);
        ascending(&mut last, index, &start)?;
        take_entries(reader, index, &mut generation)?;
    }
    let mut last = None;
    for _ in 0..reader.count(OUTCOME_BYTES_MIN)? {
        let start = reader.clone();
        let id = take_id(reader)?;
        ascending(&mut last, id, &start)?;
        generation.decide(id, take_outcome(reader)?);
    }
    Ok(generation)
}

/// Reads what entered `index`.
fn take_entries(reader: &mut Reader<'_>, index: KeyHash, generation: &mut Generation) -> Decoded<()> {
    let start = reader.clone();
    let count = reader.count(ENTRY_BYTES)?;
    if count == 0 {
        return Err(start.error("one value of an index or more expected"));
    }
    let mut last = Timestamp::ZERO;
    for _ in 0..count {
        let start = reader.clone();
        let at = Timestamp(reader.u64()?);
        // Ranges are compared from the end, until a commit that the snapshot sees.
        if at < last {
            return Err(start.error("commits in their order expected"));
        }
        last = at;
        generation.enter(EnteredKey { index, key: SortKey(reader.array()?) }, at);
    }
    Ok(())
}

/// An error at `start` unless `next` is above `last`, which it becomes.
fn ascending<T: PartialOrd + Copy>(last: &mut Option<T>, next: T, start: &Reader<'_>) -> Decoded<()> {
    if last.is_some_and(|last| last >= next) {
        return Err(start.error("ascending order expected"));
    }
    *last = Some(next);
    Ok(())
}

fn put_parts(out: &mut Vec<u8>, parts: &PendingParts) {
    put_varint(out, parts.all().len() as u64);
    for (of, place, SentPart { at, part }) in parts.all() {
        put_id(out, of);
        out.extend_from_slice(&place.to_le_bytes());
        put_timestamp(out, *at);
        part.encode(out);
    }
}

fn take_parts(reader: &mut Reader<'_>) -> Decoded<PendingParts> {
    let mut parts = PendingParts::default();
    let mut last = None;
    for _ in 0..reader.count(PART_BYTES_MIN)? {
        let start = reader.clone();
        let (of, place) = (take_id(reader)?, reader.u16()?);
        ascending(&mut last, (of, place), &start)?;
        let at = Timestamp(reader.u64()?);
        let part = TransactionPart::decode(reader)?;
        // They were within the limit of all parts when they came.
        if !parts.keep(of, place, SentPart { at, part }, usize::MAX) {
            return Err(start.error("parts within the limit of a transaction expected"));
        }
    }
    Ok(parts)
}

fn put_outcome(out: &mut Vec<u8>, outcome: Outcome) {
    match outcome {
        Outcome::Committed(at) => {
            out.push(0);
            put_timestamp(out, at);
        }
        Outcome::Conflict => out.push(1),
        Outcome::OtherLog => out.push(2),
        Outcome::Incomplete => out.push(3),
        Outcome::Cancelled => out.push(4),
        Outcome::Done => out.push(5),
        Outcome::Fenced => out.push(6),
        Outcome::Malformed => out.push(7),
    }
}

fn take_outcome(reader: &mut Reader<'_>) -> Decoded<Outcome> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        0 => Outcome::Committed(Timestamp(reader.u64()?)),
        1 => Outcome::Conflict,
        2 => Outcome::OtherLog,
        3 => Outcome::Incomplete,
        4 => Outcome::Cancelled,
        5 => Outcome::Done,
        6 => Outcome::Fenced,
        7 => Outcome::Malformed,
        found => return Err(start.error(format!("a kind of outcome expected, found {found}"))),
    })
}
