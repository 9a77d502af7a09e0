//! Out lists: the input from which weighted or filtered in-lists are built.

/// What a pass over the out lists reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutPass {
    /// The ends of edges.
    Ends,
    /// Their weights too.
    Weights,
}

/// A graph whose out-lists can be visited repeatedly.
pub(super) struct OutLists<V> {
    /// One more than the highest vertex.
    pub bound: u32,
    pub edge_count: u64,
    pub are_weighted: bool,
    /// Visits all lists, ascending by vertex, until the visitor fails.
    pub visit: V,
}
