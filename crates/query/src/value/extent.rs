//! Extent: the size of an item and its depth of nesting, which limits check for every item that a step makes.
//!
//! Lists, maps and paths count theirs once and remember it, so that to ask for the extent of what is made of them costs
//! one look at each element. What is shared counts each time that it is met: an extent says what an item costs to be
//! compared, hashed or printed, which is no less.

use evergraph_graph::error::{Error, ErrorKind, Result};

/// The greatest depth of an item: lists, sets, maps, entries, paths and levels of a tree around a scalar. Dropping, comparing
/// and printing an item of that depth take a fraction of a stack of 2 MiB.
pub const DEPTH_MAX: usize = 256;

/// What has an extent: collections ask what is in them for its own.
pub trait HasExtent {
    /// How much it holds, and how deep it is nested; itself not included.
    fn extent(&self) -> Extent;
}

/// How much an item holds, and how deep it is nested.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Bytes on the heap, about; those of the item itself not included.
    pub heap_bytes: usize,
    /// Collections around the deepest scalar.
    pub depth: usize,
}

impl Extent {
    /// Of `all` side by side, themselves included.
    #[must_use]
    pub fn of_all<'a, T: HasExtent + 'a>(all: impl IntoIterator<Item = &'a T>) -> Self {
        let more = |all: Self, one: &T| all.beside(one.extent()).plus(size_of::<T>());
        all.into_iter().fold(Self::default(), more)
    }

    /// Both together, side by side.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        Self {
            heap_bytes: self.heap_bytes.saturating_add(other.heap_bytes),
            depth: self.depth.max(other.depth),
        }
    }

    /// With `bytes` more.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Self {
        Self { heap_bytes: self.heap_bytes.saturating_add(bytes), ..self }
    }

    /// With one more collection around it.
    #[must_use]
    pub fn enclosed(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// Goes on unless it is nested too deeply.
    ///
    /// # Errors
    /// `limit` beyond [`DEPTH_MAX`].
    pub fn check_depth(self) -> Result<()> {
        if self.depth <= DEPTH_MAX { Ok(()) } else { Err(too_deep()) }
    }
}

/// A value is nested more than [`DEPTH_MAX`] deep.
#[must_use]
pub fn too_deep() -> Error {
    let text = format!(
        "the query makes a value that is nested more than {DEPTH_MAX} deep: limit the repeat, or unfold() its values"
    );
    Error::new(ErrorKind::Limit, text)
}
