//! Out lists: what in lists with weights or filters are made of.

/// What a pass over the out lists reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutPass {
    /// The ends of edges.
    Ends,
    /// Their weights too.
    Weights,
}

/// A graph whose out lists are visited as often as one wants.
pub(super) struct OutLists<V> {
    /// One more than the highest vertex.
    pub bound: u32,
    pub edge_count: u64,
    pub are_weighted: bool,
    /// Visits all lists, ascending by vertex, until the visitor fails.
    pub visit: V,
}
