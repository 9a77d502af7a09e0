//! Body: the exact state of a segment at its base timestamp; sorted, immutable, without timestamps.

use crate::net::Net;

/// Bytes of a body, by what they are for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BodyBytes {
    /// Liveness, offsets, neighbours, discriminators.
    pub topology: usize,
    /// Property columns.
    pub properties: usize,
    /// Orders of lists by the value of a property.
    pub orders: usize,
}

impl BodyBytes {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.topology + self.properties + self.orders
    }
}

/// What a kind of body must know. Two kinds: vertices and edges.
pub trait Body: Send + Sync + Sized + 'static {
    /// Nothing there.
    fn empty() -> Self;

    /// This body after `nets`, which ascend by key. Cost: one pass over what changes; what doesn't
    /// change is copied in blocks or shared.
    #[must_use]
    fn merged(&self, nets: &[Net]) -> Self;

    /// Records that are worth a merge of a body of few items.
    const RECORDS_WORTH_A_MERGE_MIN: usize;

    /// Items, to decide when a merge is due: vertices or edges.
    fn items(&self) -> usize;

    /// Bytes on the heap.
    fn bytes(&self) -> BodyBytes;

    /// Rows that outgrew this body and get a segment of their own, taken out of it. None from a body
    /// that holds one row only.
    fn split_hubs(self) -> (Self, Vec<(u16, Self)>);
}
