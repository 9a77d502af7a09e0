//! Record body: every kind of record, and its bytes.
//!
//! ```text
//! KIND  RECORD        THEN
//!    1  transaction   since:u64 parts:u16 part            decided here; its parts came before it
//!    2  part          of:varint place:u16 part            of the transaction with that number, of the same author
//!    3  cancel        node:u16 incarnation:u32 number:varint since:u64
//!    4  rows          label:u16 partition:u16 touches     gives the author the next 256 rows there
//!    5  name          name touches                        gives the name a number, the same to all who ask
//!    6  create index  index touches                       partitions fill it from here on
//!    7  index ready   index created:u64 touches        the author's stores have filled the index that was created there
//!    8  barrier                                           nothing: who sees it has seen all that was before it
//!    9  join          address                             the author is a member, and answers at this address
//!   10  leave         node:u16                            a member that holds no partition is none any more
//!   11  place         since:u64 partition:u16 node:u16 step:u8 (0 copy, 1 serve, 2 drop)
//!   12  unique index  index created:u64 step:u8 (0 enforce, 1 confirm) touches
//!
//! name     kind:u8 (0 label, 1 edge type, 2 simple edge type, 3 key, 4 meta key), then of:u16 or length:varint UTF-8
//! index    a change of the catalogue that adds it, as in `mutation.rs`
//! address  length:varint UTF-8, 1 to 255 bytes
//! ```
//!
//! Each is preceded by its kind and its number; with the author of the message this is its id. Numbers are little-endian.

use crate::key_hash::graph_salt::KeyHash;
use crate::record::transaction_part::{TransactionPart, put_hashes, take_hashes};
use crate::record_id::{Author, NodeId, RecordId};
use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};
use evergraph_graph::id::{KeyId, LabelId, PartitionId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::PARTITIONS_MAX;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::Stamp;

/// A record: what one node asks of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The author's number for it.
    pub number: u64,
    /// What it asks for.
    pub body: RecordBody,
}

/// What a record asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordBody {
    /// Commits a transaction, if nothing that it checks has changed.
    Transaction {
        /// Its snapshot.
        since: Timestamp,
        /// How many parts were sent ahead.
        parts: u16,
        /// Its last part, or all of it.
        last: TransactionPart,
    },
    /// Sends a part of a transaction ahead.
    Part {
        /// The number of the transaction's record.
        of: u64,
        /// Which part it is, from 0.
        place: u16,
        /// The part.
        part: TransactionPart,
    },
    /// From here on a transaction has committed, or never will.
    Cancel {
        /// The transaction.
        of: RecordId,
        /// Its snapshot.
        since: Timestamp,
    },
    /// Gives the author the next 256 rows of a label.
    Rows {
        /// The label.
        label: LabelId,
        /// In which partition.
        partition: PartitionId,
        /// The groups of the label.
        touches: Vec<KeyHash>,
    },
    /// Gives a name a number.
    Name {
        /// The name.
        name: NewName,
        /// The name, and all names.
        touches: Vec<KeyHash>,
    },
    /// Begins to build an index: every store that has a part of the graph fills it.
    CreateIndex {
        /// The index.
        index: IndexDefinition,
        /// The indexes of its owner.
        touches: Vec<KeyHash>,
    },
    /// The author's stores have filled an index. It answers once those of all nodes have that serve partitions; one that was
    /// dropped meanwhile, or dropped and created anew, does not.
    IndexReady {
        /// The index.
        index: IndexDefinition,
        /// The timestamp of the record that began to build it.
        created: Timestamp,
        /// Nothing, as a rule: what enters the index is touched since it was created.
        touches: Vec<KeyHash>,
    },
    /// Makes an index unique that was filled.
    UniqueIndex {
        /// The index.
        index: IndexDefinition,
        /// The timestamp of the record that began to build it.
        created: Timestamp,
        /// How far.
        step: UniqueStep,
        /// To enforce it, the indexes of its owner: whoever sets values there must know.
        touches: Vec<KeyHash>,
    },
    /// Does nothing.
    Barrier,
    /// Makes the author a member of the cluster, or says that it started again.
    Join {
        /// Where other nodes reach it: 1 to [`ADDRESS_BYTES_MAX`] bytes.
        address: Box<str>,
    },
    /// Takes a node out of the cluster that holds no partition.
    Leave {
        /// The node.
        node: NodeId,
    },
    /// Changes where a partition is kept.
    Place(PlaceChange),
}

/// The most bytes of a node's address.
pub const ADDRESS_BYTES_MAX: usize = 255;

/// A change of where a partition is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceChange {
    /// The snapshot at which the author knew where the partition is kept: what was changed later, it did not know.
    pub since: Timestamp,
    /// The partition.
    pub partition: PartitionId,
    /// The node that begins or ends to keep it.
    pub node: NodeId,
    /// What the node does from here on.
    pub step: PlaceStep,
}

/// What a node does with a partition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlaceStep {
    /// It copies the partition from another one, and answers nothing yet.
    Copy,
    /// It has proved its copy, and a checkpoint of it has it: it answers. Only the node itself says so.
    Serve,
    /// It drops the partition.
    Drop,
}

/// How an index becomes unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UniqueStep {
    /// From here on nobody enters a value that is there.
    Enforce,
    /// No value was there twice, at a moment at which that was enforced.
    Confirm,
}

/// A name that has no number yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewName {
    /// Of a label.
    Label(Box<str>),
    /// Of an edge type.
    EdgeType(Box<str>),
    /// Of an edge type that has at most one edge from a vertex to another.
    SimpleEdgeType(Box<str>),
    /// Of a property key.
    Key(Box<str>),
    /// The key, without a name, of the meta-properties of another one.
    MetaKey(KeyId),
}

mod kind {
    pub const TRANSACTION: u8 = 1;
    pub const PART: u8 = 2;
    pub const CANCEL: u8 = 3;
    pub const ROWS: u8 = 4;
    pub const NAME: u8 = 5;
    pub const CREATE_INDEX: u8 = 6;
    pub const INDEX_READY: u8 = 7;
    pub const BARRIER: u8 = 8;
    pub const JOIN: u8 = 9;
    pub const LEAVE: u8 = 10;
    pub const PLACE: u8 = 11;
    pub const UNIQUE_INDEX: u8 = 12;
}

mod name_kind {
    pub const LABEL: u8 = 0;
    pub const EDGE_TYPE: u8 = 1;
    pub const SIMPLE_EDGE_TYPE: u8 = 2;
    pub const KEY: u8 = 3;
    pub const META_KEY: u8 = 4;
}

impl Record {
    /// Appends the form in a message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut head = |kind: u8| {
            out.push(kind);
            put_varint(out, self.number);
        };
        match &self.body {
            RecordBody::Transaction { since, parts, last } => {
                head(kind::TRANSACTION);
                out.extend_from_slice(&since.0.to_le_bytes());
                out.extend_from_slice(&parts.to_le_bytes());
                last.encode(out);
            }
            RecordBody::Part { of, place, part } => {
                head(kind::PART);
                put_varint(out, *of);
                out.extend_from_slice(&place.to_le_bytes());
                part.encode(out);
            }
            RecordBody::Cancel { of, since } => {
                head(kind::CANCEL);
                put_author(out, of.author);
                put_varint(out, of.number);
                out.extend_from_slice(&since.0.to_le_bytes());
            }
            RecordBody::Rows { label, partition, touches } => {
                head(kind::ROWS);
                out.extend_from_slice(&label.0.to_le_bytes());
                out.extend_from_slice(&partition.0.to_le_bytes());
                put_hashes(out, touches);
            }
            RecordBody::Name { name, touches } => {
                head(kind::NAME);
                put_name(out, name);
                put_hashes(out, touches);
            }
            RecordBody::CreateIndex { index, touches } => {
                head(kind::CREATE_INDEX);
                put_index(out, *index);
                put_hashes(out, touches);
            }
            RecordBody::IndexReady { index, created, touches } => {
                head(kind::INDEX_READY);
                put_index(out, *index);
                out.extend_from_slice(&created.0.to_le_bytes());
                put_hashes(out, touches);
            }
            RecordBody::UniqueIndex { index, created, step, touches } => {
                head(kind::UNIQUE_INDEX);
                put_index(out, *index);
                out.extend_from_slice(&created.0.to_le_bytes());
                out.push(match step {
                    UniqueStep::Enforce => 0,
                    UniqueStep::Confirm => 1,
                });
                put_hashes(out, touches);
            }
            RecordBody::Barrier => head(kind::BARRIER),
            RecordBody::Join { address } => {
                head(kind::JOIN);
                put_bytes(out, address.as_bytes());
            }
            RecordBody::Leave { node } => {
                head(kind::LEAVE);
                out.extend_from_slice(&node.0.to_le_bytes());
            }
            RecordBody::Place(change) => {
                head(kind::PLACE);
                put_place(out, change);
            }
        }
    }

    /// Reads what [`Record::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let found = reader.u8()?;
        let number = reader.varint()?;
        let body = match found {
            kind::TRANSACTION => RecordBody::Transaction {
                since: take_timestamp(reader)?,
                parts: reader.u16()?,
                last: TransactionPart::decode(reader)?,
            },
            kind::PART => RecordBody::Part {
                of: reader.varint()?,
                place: reader.u16()?,
                part: TransactionPart::decode(reader)?,
            },
            kind::CANCEL => {
                let of = RecordId { author: take_author(reader)?, number: reader.varint()? };
                RecordBody::Cancel { of, since: take_timestamp(reader)? }
            }
            kind::ROWS => RecordBody::Rows {
                label: LabelId(reader.u16()?),
                partition: take_partition(reader)?,
                touches: take_hashes(reader)?,
            },
            kind::NAME => RecordBody::Name { name: take_name(reader)?, touches: take_hashes(reader)? },
            kind::CREATE_INDEX => {
                RecordBody::CreateIndex { index: take_index(reader)?, touches: take_hashes(reader)? }
            }
            kind::INDEX_READY => RecordBody::IndexReady {
                index: take_index(reader)?,
                created: take_timestamp(reader)?,
                touches: take_hashes(reader)?,
            },
            kind::UNIQUE_INDEX => RecordBody::UniqueIndex {
                index: take_index(reader)?,
                created: take_timestamp(reader)?,
                step: take_unique_step(reader)?,
                touches: take_hashes(reader)?,
            },
            kind::BARRIER => RecordBody::Barrier,
            kind::JOIN => RecordBody::Join { address: take_address(reader)? },
            kind::LEAVE => RecordBody::Leave { node: NodeId(reader.u16()?) },
            kind::PLACE => RecordBody::Place(take_place(reader)?),
            _ => return Err(start.error(format!("a kind of record expected, found {found}"))),
        };
        Ok(Self { number, body })
    }
}

/// Appends an author: 6 bytes.
pub fn put_author(out: &mut Vec<u8>, author: Author) {
    out.extend_from_slice(&author.node.0.to_le_bytes());
    out.extend_from_slice(&author.incarnation.to_le_bytes());
}

/// Reads what [`put_author`] wrote.
///
/// # Errors
/// If the bytes end.
pub fn take_author(reader: &mut Reader<'_>) -> Decoded<Author> {
    Ok(Author { node: NodeId(reader.u16()?), incarnation: reader.u32()? })
}

/// Reads a timestamp.
///
/// # Errors
/// If the bytes end, or it is higher than any.
pub fn take_timestamp(reader: &mut Reader<'_>) -> Decoded<Timestamp> {
    let start = reader.clone();
    let timestamp = Timestamp(reader.u64()?);
    let most = Stamp::TIMESTAMP_MAX;
    if timestamp > most {
        return Err(start.error(format!("a timestamp of at most {most} expected, found {timestamp}")));
    }
    Ok(timestamp)
}

/// Reads the number of a partition.
///
/// # Errors
/// If the bytes end, or no graph has such a partition.
pub fn take_partition(reader: &mut Reader<'_>) -> Decoded<PartitionId> {
    let start = reader.clone();
    match reader.u16()? {
        number if number < PARTITIONS_MAX => Ok(PartitionId(number)),
        number => Err(start.error(format!("a partition below {PARTITIONS_MAX} expected, found {number}"))),
    }
}

fn put_name(out: &mut Vec<u8>, name: &NewName) {
    let (kind, text) = match name {
        NewName::Label(text) => (name_kind::LABEL, text),
        NewName::EdgeType(text) => (name_kind::EDGE_TYPE, text),
        NewName::SimpleEdgeType(text) => (name_kind::SIMPLE_EDGE_TYPE, text),
        NewName::Key(text) => (name_kind::KEY, text),
        NewName::MetaKey(of) => {
            out.push(name_kind::META_KEY);
            out.extend_from_slice(&of.0.to_le_bytes());
            return;
        }
    };
    out.push(kind);
    put_bytes(out, text.as_bytes());
}

fn take_name(reader: &mut Reader<'_>) -> Decoded<NewName> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        name_kind::LABEL => NewName::Label(reader.text()?.into()),
        name_kind::EDGE_TYPE => NewName::EdgeType(reader.text()?.into()),
        name_kind::SIMPLE_EDGE_TYPE => NewName::SimpleEdgeType(reader.text()?.into()),
        name_kind::KEY => NewName::Key(reader.text()?.into()),
        name_kind::META_KEY => NewName::MetaKey(KeyId(reader.u16()?)),
        found => return Err(start.error(format!("a kind of name expected, found {found}"))),
    })
}

/// Reads a node's address.
///
/// # Errors
/// If there is none, or it has too many bytes.
pub fn take_address(reader: &mut Reader<'_>) -> Decoded<Box<str>> {
    let start = reader.clone();
    let address = reader.text()?;
    if !(1..=ADDRESS_BYTES_MAX).contains(&address.len()) {
        let found = address.len();
        return Err(
            start.error(format!("an address of 1 to {ADDRESS_BYTES_MAX} bytes expected, found {found}"))
        );
    }
    Ok(address.into())
}

fn put_place(out: &mut Vec<u8>, change: &PlaceChange) {
    out.extend_from_slice(&change.since.0.to_le_bytes());
    out.extend_from_slice(&change.partition.0.to_le_bytes());
    out.extend_from_slice(&change.node.0.to_le_bytes());
    out.push(match change.step {
        PlaceStep::Copy => 0,
        PlaceStep::Serve => 1,
        PlaceStep::Drop => 2,
    });
}

fn take_place(reader: &mut Reader<'_>) -> Decoded<PlaceChange> {
    let since = take_timestamp(reader)?;
    let partition = take_partition(reader)?;
    let node = NodeId(reader.u16()?);
    let start = reader.clone();
    let step = match reader.u8()? {
        0 => PlaceStep::Copy,
        1 => PlaceStep::Serve,
        2 => PlaceStep::Drop,
        found => return Err(start.error(format!("a step of a placement expected, found {found}"))),
    };
    Ok(PlaceChange { since, partition, node, step })
}

fn take_unique_step(reader: &mut Reader<'_>) -> Decoded<UniqueStep> {
    let start = reader.clone();
    match reader.u8()? {
        0 => Ok(UniqueStep::Enforce),
        1 => Ok(UniqueStep::Confirm),
        found => Err(start.error(format!("a step to a unique index expected, found {found}"))),
    }
}

/// Appends the definition of an index, as the change that adds it.
pub fn put_index(out: &mut Vec<u8>, index: IndexDefinition) {
    Mutation::Schema(SchemaChange::AddIndex(index)).encode(out);
}

/// Reads what [`put_index`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_index(reader: &mut Reader<'_>) -> Decoded<IndexDefinition> {
    let start = reader.clone();
    match Mutation::decode(reader)? {
        Mutation::Schema(SchemaChange::AddIndex(index)) => Ok(index),
        _ => Err(start.error("an index expected")),
    }
}
