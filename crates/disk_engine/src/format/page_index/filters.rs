//! Filters of a file: which of them has a key, by what the topology index knows.

use crate::format::file_name::PageNumber;
use crate::format::page_index::topology::{IndexedPage, TopologyIndex};
use crate::format::subject::Subject;
use evergraph_graph::id::VertexId;

/// What the filters of a file say about where a key's filter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterAnswer {
    /// The subject has no filters in this file.
    Unfiltered,
    /// The key is below all keys of the subject in this file.
    Absent,
    /// Ask this page.
    Page(PageNumber),
}

impl FilterAnswer {
    /// The last of the filters of a subject of which so many begin with a key or before it.
    #[inline]
    fn last_begun(filters: &[IndexedPage], begun: usize) -> Self {
        match begun {
            _ if filters.is_empty() => Self::Unfiltered,
            0 => Self::Absent,
            begun => Self::Page(filters[begun - 1].page),
        }
    }
}

/// Finds the filters of edges that ascend: a step in place of a search for each.
#[derive(Clone, Debug)]
pub struct FilterCursor<'i> {
    filters: &'i [IndexedPage],
    /// Filters that begin with the edge asked last, or before it.
    begun: usize,
}

impl<'i> FilterCursor<'i> {
    /// At an edge; `filters` are those of its subject, in key order. Cost: a binary search.
    #[inline]
    fn new(filters: &'i [IndexedPage], vertex: VertexId, neighbor: VertexId) -> Self {
        let begun = filters.partition_point(|page| first_edge(page) <= (vertex, neighbor));
        Self { filters, begun }
    }

    /// Which filter has the edge that the cursor is at.
    #[inline]
    fn answer(&self) -> FilterAnswer {
        FilterAnswer::last_begun(self.filters, self.begun)
    }

    /// Which filter has edges from `vertex` to `neighbor`, not below those that were asked about before.
    #[inline]
    pub fn of_edge(&mut self, vertex: VertexId, neighbor: VertexId) -> FilterAnswer {
        while self.filters.get(self.begun).is_some_and(|page| first_edge(page) <= (vertex, neighbor)) {
            self.begun += 1;
        }
        self.answer()
    }
}

impl TopologyIndex {
    /// Which filter has edges from `vertex` to `neighbor`. Cost: binary searches.
    #[must_use]
    pub fn filter_of_edge(&self, subject: Subject, vertex: VertexId, neighbor: VertexId) -> FilterAnswer {
        self.filters_from(subject, vertex, neighbor).answer()
    }

    /// The filters of edges of `subject` that ascend, from one on. Cost: binary searches, once.
    #[must_use]
    pub fn filters_from(&self, subject: Subject, vertex: VertexId, neighbor: VertexId) -> FilterCursor<'_> {
        FilterCursor::new(self.filters_of(subject), vertex, neighbor)
    }

    /// Which filter has entries of `value` in `subject`, an index. Cost: binary searches.
    #[must_use]
    pub fn filter_of_value(&self, subject: Subject, value: &[u8]) -> FilterAnswer {
        let filters = self.filters_of(subject);
        let begun = filters.partition_point(|page| self.separator(page).value <= value);
        FilterAnswer::last_begun(filters, begun)
    }
}

/// The edge that the range of a filter begins with.
#[inline]
fn first_edge(filter: &IndexedPage) -> (VertexId, VertexId) {
    (filter.first_vertex(), filter.first_neighbor())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::entries::entry::Separator;
    use crate::format::page::{PageHead, PageKind};
    use crate::format::page_index::topology::TopologyIndexBuilder;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;

    fn edges(edge_type: u16) -> Subject {
        Subject::edges(TypeId(edge_type), EdgeSide::Out)
    }

    #[test]
    fn filters_are_found_by_the_greatest_first_key_not_above() {
        let mut index = TopologyIndexBuilder::default();
        let filter =
            |vertex| PageHead { first_vertex: VertexId(vertex), ..PageHead::new(PageKind::Filter, edges(1)) };
        index.push(&filter(5), VertexId(7));
        index.push(&PageHead::new(PageKind::Lists, edges(2)), VertexId(0));
        index.push(&filter(9), VertexId(0));
        let values = Subject::index(4).unwrap();
        index
            .push_separated(&PageHead::new(PageKind::Filter, values), &Separator { value: b"b", item: None });
        let index = TopologyIndex::decode(&index.finish(), 4).unwrap();
        let place = |vertex, neighbor| index.filter_of_edge(edges(1), VertexId(vertex), VertexId(neighbor));
        assert_eq!(place(5, 6), FilterAnswer::Absent);
        assert_eq!(place(5, 7), FilterAnswer::Page(PageNumber(0)));
        assert_eq!(place(8, u32::MAX), FilterAnswer::Page(PageNumber(0)));
        assert_eq!(place(9, 0), FilterAnswer::Page(PageNumber(2)));
        assert_eq!(index.filter_of_edge(edges(2), VertexId(1), VertexId(1)), FilterAnswer::Unfiltered);
        let ascending = [(0, 0), (5, 6), (5, 7), (8, u32::MAX), (8, u32::MAX), (9, 0), (u32::MAX, 1)];
        for subject in [edges(1), edges(2)] {
            for start in 0..ascending.len() {
                let (vertex, neighbor) = ascending[start];
                let mut cursor = index.filters_from(subject, VertexId(vertex), VertexId(neighbor));
                for (vertex, neighbor) in &ascending[start..] {
                    let (vertex, neighbor) = (VertexId(*vertex), VertexId(*neighbor));
                    assert_eq!(
                        cursor.of_edge(vertex, neighbor),
                        index.filter_of_edge(subject, vertex, neighbor)
                    );
                }
            }
        }
        assert_eq!(index.filter_of_value(values, b"a"), FilterAnswer::Absent);
        assert_eq!(index.filter_of_value(values, b"b"), FilterAnswer::Page(PageNumber(3)));
        assert_eq!((index.filters().len(), index.pages().len()), (3, 1));
    }
}
