//! Indexes: the subject, guarantee and size of an index.
//!
//! ```text
//! hash      equality on many values at once
//! ordered   equality, ranges, prefixes, in the order of values
//! newest    the edges of one source in the order of values, where lists have none (crate::newest)
//! unique    one of the first two, with at most one item a value
//! ```
//!
//! An index has no number of its own: what it is on and its kind name it ([`IndexId`]), so that a
//! property has at most one index of each kind, and a log says the same on every machine. A catalogue
//! names the indexes that are ready; one that is being built is known to its store alone, and gone
//! after a crash.
//!
//! *Equality* is that of [`Value`]: widths count, the `int` 1 is not the `long` 1. Where a property has
//! a type this does not show, since a number is looked up in the type of the property. In a
//! property declared `any`, a look-up of the `int` 1 finds that alone, and a unique index lets the
//! `long` 1 stand beside it; the *range* from 1 to 1 finds the number 1 in every width
//! ([`ValueRange`](crate::look_up::ValueRange)).
//!
//! A label alone or an edge type alone needs no index: vertices lie by label and edges by type, so
//! their scan visits nothing else.

use crate::id::{KeyId, TypeId};
use crate::index_entry::ItemId;
use crate::newest_entry::entry_of;
use crate::owner::Owner;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// How the entries of an index lie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IndexKind {
    /// By a hash of the value: equality only, in the least memory and time.
    Hash,
    /// In the order of values.
    Ordered,
    /// By source, then in the order of values: of edges alone, never unique. No look-up by value uses it.
    Newest,
}

impl IndexKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Hash, Self::Ordered, Self::Newest];

    /// Those that find items by their value.
    pub const BY_VALUE: [Self; 2] = [Self::Hash, Self::Ordered];

    /// The name that users write and read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Ordered => "ordered",
            Self::Newest => "newest",
        }
    }

    /// The byte that stands for the kind in files.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Hash => 0,
            Self::Ordered => 1,
            Self::Newest => 2,
        }
    }

    /// The kind that `code` stands for.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for IndexKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| format!("{name:?} is not a kind of index: use hash, ordered or newest"))
    }
}

/// The identity of an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId {
    /// The label or edge type whose items it finds.
    pub owner: Owner,
    /// The property that it finds them by.
    pub key: KeyId,
    /// How its entries lie.
    pub kind: IndexKind,
}

impl IndexId {
    /// The index of edges of `edge_type` by source and then by `key`.
    #[must_use]
    pub const fn newest(edge_type: TypeId, key: KeyId) -> Self {
        Self { owner: Owner::EdgeType(edge_type), key, kind: IndexKind::Newest }
    }

    /// Between which two, both included, all identities of indexes of `owner` lie.
    #[must_use]
    pub fn all_of(owner: Owner) -> RangeInclusive<Self> {
        let first = Self { owner, key: KeyId(0), kind: IndexKind::Hash };
        let last = Self { owner, key: KeyId(u16::MAX), kind: IndexKind::Newest };
        first..=last
    }

    /// What an item that has `value` is filed under.
    #[must_use]
    #[inline]
    pub fn entry_value(self, item: ItemId, value: Cow<'_, Value>) -> Cow<'_, Value> {
        match (self.kind, item) {
            (IndexKind::Newest, ItemId::Edge(edge)) => Cow::Owned(entry_of(edge.source, &value)),
            _ => value,
        }
    }
}

/// An index as the catalogue knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexDefinition {
    /// Its identity.
    pub id: IndexId,
    /// Whether at most one item has each value.
    pub unique: bool,
}

/// How far an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexState {
    /// A scan fills it while commits maintain it; look-ups do not use it yet.
    Building,
    /// It answers.
    Ready,
}

impl IndexState {
    /// The name that users read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Ready => "ready",
        }
    }
}

/// The size of an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexStatistics {
    /// Which one.
    pub definition: IndexDefinition,
    /// How far it is.
    pub state: IndexState,
    /// Entries, those included that are removed once no snapshot needs them. About, if they lie in files.
    pub entries: u64,
    /// Entries that wait to be removed.
    pub leaving: u64,
    /// Different values: as many as entries where unique, else about: by their hashes, or counted where
    /// neighbours differ. `None` if the entries lie in files: they are not counted there.
    pub distinct: Option<u64>,
    /// Bytes of memory, about.
    pub bytes: u64,
    /// Those of them that the engine counts among its own: changes that lie with those of the graph.
    pub engine_bytes: u64,
    /// Bytes of files: 0 if its entries lie in memory.
    pub file_bytes: u64,
}
