//! Message: several records of one author, as the shared log has them.
//!
//! ```text
//! OFFSET  SIZE   FIELD
//!      0     4   magic "EGML"
//!      4     2   version, 1
//!      6     2   count of records, 1 to 4,096
//!      8     2   node             the author
//!     10     4   incarnation
//!     14     8   position         what the author had applied when it sent this
//!     22    16   digest           of the log up to there
//!     38         records
//!            4   crc32c of all before
//! ```
//!
//! Numbers are little-endian. A message has at most 64 KiB: a log that keeps some thousands of them in memory stays
//! small, and a record that waits for others delays nobody. Its position in the log is not in it: the log gives it.

use crate::checksum::{CHECKSUM_BYTES, before_checksum, put_checksum};
use crate::digest::{SeenLog, put_seen, take_seen};
use crate::log_position::MESSAGE_RECORDS_MAX;
use crate::record::body::{Record, put_author, take_author};
use crate::record_id::Author;
use evergraph_graph::bytes::{Decoded, Reader};

/// The most bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// The most bytes of a record: it alone in a message.
pub const RECORD_BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEAD_BYTES - CHECKSUM_BYTES;

const MAGIC: &[u8; 4] = b"EGML";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 38;
const COUNT_OFFSET: usize = 6;
const SEEN_OFFSET: usize = 14;
/// The fewest bytes of a record: kind and number.
const RECORD_BYTES_MIN: usize = 2;

/// Records of one author.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Who wrote them.
    pub author: Author,
    /// The log that their author had applied when it sent them. Its transactions read at snapshots up to there.
    pub seen: SeenLog,
    /// The records, in the order in which they are decided.
    pub records: Vec<Record>,
}

impl Message {
    /// Reads what [`MessageBuilder::finish`] wrote.
    ///
    /// # Errors
    /// If there is something else: the byte, and what was expected there.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let start = Reader::new(bytes);
        if bytes.len() > MESSAGE_BYTES_MAX {
            let found = bytes.len();
            return Err(start
                .error(format!("a message of at most {MESSAGE_BYTES_MAX} bytes expected, found {found}")));
        }
        check_version(bytes)?;
        let content = before_checksum(bytes)?;
        let mut reader = Reader::new(content);
        reader.take(COUNT_OFFSET)?;
        let place = reader.clone();
        let count = usize::from(reader.u16()?);
        let author = take_author(&mut reader)?;
        let seen = take_seen(&mut reader)?;
        let possible = (reader.remaining() / RECORD_BYTES_MIN).min(MESSAGE_RECORDS_MAX);
        if !(1..=possible).contains(&count) {
            return Err(place.error(format!("1 to {possible} records expected, found {count}")));
        }
        let mut records = Vec::with_capacity(count);
        for _ in 0..count {
            records.push(Record::decode(&mut reader)?);
        }
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        Ok(Self { author, seen, records })
    }
}

fn check_version(bytes: &[u8]) -> Decoded<()> {
    let mut reader = Reader::new(bytes);
    let start = reader.clone();
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(start.error("the magic EGML expected"));
    }
    let place = reader.clone();
    match reader.u16()? {
        VERSION => Ok(()),
        found => Err(place.error(format!("version {VERSION} expected, found {found}"))),
    }
}

/// Packs records of one author until a message is full.
#[derive(Debug)]
pub struct MessageBuilder {
    bytes: Vec<u8>,
    count: u16,
}

impl MessageBuilder {
    /// A message of `author` without records.
    #[must_use]
    pub fn new(author: Author) -> Self {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 256);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        put_author(&mut bytes, author);
        bytes.resize(HEAD_BYTES, 0);
        Self { bytes, count: 0 }
    }

    /// Adds a record; whether it had room. One that has none in an empty message never has: it must be sent in parts
    /// ([`crate::record::large_transaction`]).
    pub fn push(&mut self, record: &Record) -> bool {
        let before = self.bytes.len();
        record.encode(&mut self.bytes);
        let fits = self.bytes.len() + CHECKSUM_BYTES <= MESSAGE_BYTES_MAX;
        if !fits || usize::from(self.count) == MESSAGE_RECORDS_MAX {
            self.bytes.truncate(before);
            return false;
        }
        self.count += 1;
        true
    }

    /// Whether it has no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes, once the author has applied the log up to `seen`: no record of them reads at a later snapshot.
    ///
    /// # Panics
    /// If it has no record.
    #[must_use]
    pub fn finish(mut self, seen: &SeenLog) -> Vec<u8> {
        assert!(self.count > 0, "a message has a record");
        self.bytes[COUNT_OFFSET..COUNT_OFFSET + 2].copy_from_slice(&self.count.to_le_bytes());
        let mut head = Vec::with_capacity(HEAD_BYTES - SEEN_OFFSET);
        put_seen(&mut head, seen);
        self.bytes[SEEN_OFFSET..HEAD_BYTES].copy_from_slice(&head);
        put_checksum(&mut self.bytes);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::key_hash::graph_salt::KeyHash;
    use crate::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
    use crate::log_position::LogPosition;
    use crate::record::body::{PlaceChange, PlaceStep, RecordBody, UniqueStep};
    use crate::record::payload::{Destination, Payload};
    use crate::record::strategy::{any_author, any_records, any_seen};
    use crate::record::transaction_part::TransactionPart;
    use crate::record_id::{NodeId, RecordId};
    use evergraph_graph::id::{KeyId, LabelId, PartitionId, TypeId, VertexId};
    use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::owner::Owner;
    use evergraph_graph::timestamp::Timestamp;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn packed(author: Author, seen: &SeenLog, records: &[Record]) -> Vec<u8> {
        let mut builder = MessageBuilder::new(author);
        assert!(builder.is_empty());
        records.iter().for_each(|record| assert!(builder.push(record)));
        builder.finish(seen)
    }

    /// The message with the checksum of its bytes, whatever they are.
    fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
        if let Some((content, checksum)) = bytes.split_last_chunk_mut::<4>() {
            *checksum = crc32c::crc32c(content).to_le_bytes();
        }
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_message_reads_back_and_no_cut_of_it_does(
            author in any_author(), seen in any_seen(), records in any_records(),
        ) {
            let bytes = packed(author, &seen, &records);
            prop_assert_eq!(Message::decode(&bytes), Ok(Message { author, seen, records }));
            for cut in 0..bytes.len() {
                let error = Message::decode(&bytes[..cut]).unwrap_err();
                prop_assert!(error.offset <= cut);
                // Nor does a cut with a checksum of its own.
                let whole = with_checksum(bytes[..cut].to_vec());
                prop_assert!(Message::decode(&whole).is_err());
            }
        }

        #[test]
        fn random_edits_are_another_message_or_an_error_with_its_place(
            author in any_author(), seen in any_seen(), records in any_records(),
            edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = packed(author, &seen, &records);
            for (at, byte) in &edits {
                let at = at.index(bytes.len() - 4);
                bytes[at] = *byte;
            }
            let bytes = with_checksum(bytes);
            match Message::decode(&bytes) {
                Ok(message) => prop_assert_eq!(packed(message.author, &message.seen, &message.records), bytes),
                Err(error) => prop_assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
            }
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..99)) {
            let _ = Message::decode(&bytes);
            let _ = Message::decode(&with_checksum([&b"EGML\x01\0\x01\0"[..], &bytes].concat()));
        }
    }

    /// Written by an independent program.
    const GOLDEN: &str = "\
        45474d4c010006000300020000000700000000000000000102030405060708090a0b0c0d0e0f01ac02ff7f00\
        0000000000010001010000000000000001020000000000000000000000000000000000000000000000ffffff\
        ffffffffffffffffffffffffff02030000000000000004000000000000000102000000000000001010101010\
        101010101010101010101001050005020900000003ad0201000400000005ff7f00000000000004ae02060005\
        0001080000000000000006af02160102000700010001090000000000000007b0021601020007000100ff6f00\
        000000000001090000000000000008b1028b91048c";

    #[test]
    fn the_bytes_are_those_of_version_1() {
        let author = Author { node: NodeId(3), incarnation: 2 };
        let digest = LogDigest(std::array::from_fn(|at| at as u8));
        let seen = SeenLog { position: LogPosition(7), digest };
        let since = LogPosition(7).end();
        let mut mutations = Vec::new();
        Mutation::DeleteVertex { vertex: VertexId(9) }.encode(&mut mutations);
        let last = TransactionPart {
            checks: vec![KeyHash(1)],
            ranges: vec![RangeCheck { index: KeyHash(2), low: SortKey::LOWEST, high: SortKey::HIGHEST }],
            touches: vec![KeyHash(3), KeyHash(4)],
            entered: vec![EnteredKey { index: KeyHash(2), key: SortKey([0x10; 16]) }],
            payloads: vec![Payload { destination: Destination::Partition(PartitionId(5)), mutations }],
        };
        let of = RecordId { author: Author { node: NodeId(1), incarnation: 4 }, number: 5 };
        let rows =
            RecordBody::Rows { label: LabelId(6), partition: PartitionId(5), touches: vec![KeyHash(8)] };
        let id = IndexId { owner: Owner::EdgeType(TypeId(2)), key: KeyId(7), kind: IndexKind::Ordered };
        let index = IndexDefinition { id, unique: false };
        let bodies = [
            RecordBody::Transaction { since, parts: 1, last },
            RecordBody::Cancel { of, since },
            rows,
            RecordBody::CreateIndex { index, touches: vec![KeyHash(9)] },
            RecordBody::IndexReady { index, created: LogPosition(6).end(), touches: vec![KeyHash(9)] },
            RecordBody::Barrier,
        ];
        let records: Vec<_> =
            bodies.into_iter().zip(300..).map(|(body, number)| Record { number, body }).collect();
        let bytes = packed(author, &seen, &records);
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, GOLDEN);
        assert_eq!(Message::decode(&bytes), Ok(Message { author, seen, records }));
    }

    /// Written by an independent program.
    const GOLDEN_OF_MEMBERS: &str = "\
        45474d4c010003000300020000000700000000000000000102030405060708090a0b0c0d0e0f09ac020a3130\
        2e302e302e313a370aad0201000bae02ff7f00000000000005000100017d933d02";

    /// Written by an independent program.
    const GOLDEN_OF_UNIQUE_INDEXES: &str = "\
        45474d4c010002000300020000000700000000000000000102030405060708090a0b0c0d0e0f0cac02160102\
        0007000101ff6f000000000000000109000000000000000cad021601020007000101ff6f0000000000000100\
        85290a51";

    #[test]
    fn the_bytes_of_unique_indexes_are_those_of_version_1() {
        let author = Author { node: NodeId(3), incarnation: 2 };
        let digest = LogDigest(std::array::from_fn(|at| at as u8));
        let seen = SeenLog { position: LogPosition(7), digest };
        let id = IndexId { owner: Owner::EdgeType(TypeId(2)), key: KeyId(7), kind: IndexKind::Ordered };
        let (index, created) = (IndexDefinition { id, unique: true }, LogPosition(6).end());
        let body = |step, touches| RecordBody::UniqueIndex { index, created, step, touches };
        let bodies = [body(UniqueStep::Enforce, vec![KeyHash(9)]), body(UniqueStep::Confirm, Vec::new())];
        let records: Vec<_> =
            bodies.into_iter().zip(300..).map(|(body, number)| Record { number, body }).collect();
        let bytes = packed(author, &seen, &records);
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, GOLDEN_OF_UNIQUE_INDEXES);
        assert_eq!(Message::decode(&bytes), Ok(Message { author, seen, records }));
    }

    #[test]
    fn the_bytes_of_members_and_places_are_those_of_version_1() {
        let author = Author { node: NodeId(3), incarnation: 2 };
        let digest = LogDigest(std::array::from_fn(|at| at as u8));
        let seen = SeenLog { position: LogPosition(7), digest };
        let (since, partition, node) = (LogPosition(7).end(), PartitionId(5), NodeId(1));
        let bodies = [
            RecordBody::Join { address: "10.0.0.1:7".into() },
            RecordBody::Leave { node },
            RecordBody::Place(PlaceChange { since, partition, node, step: PlaceStep::Serve }),
        ];
        let records: Vec<_> =
            bodies.into_iter().zip(300..).map(|(body, number)| Record { number, body }).collect();
        let bytes = packed(author, &seen, &records);
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, GOLDEN_OF_MEMBERS);
        assert_eq!(Message::decode(&bytes), Ok(Message { author, seen, records }));
    }

    #[test]
    fn an_address_is_neither_empty_nor_long() {
        for (length, is_read) in [(0, false), (1, true), (255, true), (256, false)] {
            let author = Author { node: NodeId(3), incarnation: 2 };
            let join = Record { number: 1, body: RecordBody::Join { address: "a".repeat(length).into() } };
            let bytes = packed(author, &SeenLog::START, &[join]);
            assert_eq!(Message::decode(&bytes).is_ok(), is_read, "{length} bytes");
        }
    }

    #[test]
    fn a_full_message_takes_no_more_and_is_as_it_was() {
        let author = Author { node: NodeId(3), incarnation: 2 };
        let large = |bytes| {
            let payload = Payload { destination: Destination::EveryNode, mutations: vec![7; bytes] };
            let last = TransactionPart { payloads: vec![payload], ..TransactionPart::default() };
            Record { number: 1, body: RecordBody::Transaction { since: Timestamp(5), parts: 0, last } }
        };
        let mut builder = MessageBuilder::new(author);
        assert!(!builder.push(&large(MESSAGE_BYTES_MAX)));
        assert!(builder.is_empty());
        assert!(builder.push(&large(60_000)));
        assert!(!builder.push(&large(10_000)));
        let barrier = Record { number: 2, body: RecordBody::Barrier };
        assert!(builder.push(&barrier));
        let message = Message::decode(&builder.finish(&SeenLog::START)).unwrap();
        assert_eq!(message.records, [large(60_000), barrier.clone()]);

        let mut builder = MessageBuilder::new(author);
        let count = (0..).take_while(|_| builder.push(&barrier)).count();
        assert_eq!(count, MESSAGE_RECORDS_MAX);
        assert_eq!(Message::decode(&builder.finish(&SeenLog::START)).unwrap().records.len(), count);
    }

    #[test]
    fn an_error_names_its_place() {
        let author = Author { node: NodeId(3), incarnation: 2 };
        let barrier = Record { number: 2, body: RecordBody::Barrier };
        let bytes = packed(author, &SeenLog::START, &[barrier]);
        let edited = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            let error = Message::decode(&with_checksum(bytes)).unwrap_err();
            (error.offset, error.expected)
        };
        assert_eq!(edited(0, b'X'), (0, "the magic EGML expected".into()));
        assert_eq!(edited(4, 2), (4, "version 1 expected, found 2".into()));
        assert_eq!(edited(6, 2), (6, "1 to 1 records expected, found 2".into()));
        assert_eq!(edited(6, 0), (6, "1 to 1 records expected, found 0".into()));
        assert_eq!(edited(38, 99), (38, "a kind of record expected, found 99".into()));
        let mut flipped = bytes.clone();
        flipped[10] ^= 1;
        assert_eq!(Message::decode(&flipped).unwrap_err().offset, bytes.len() - 4, "the checksum");
    }
}
