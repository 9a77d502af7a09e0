//! Short questions: messages whose answers look at the clock early and often, as long as what they read is in memory.
//!
//! ```text
//! KIND                                SHORT
//! groups, newest edges, index sizes   never: what one look allows has no limit that the message says
//! items of a value, pairs between     of labels always: a look before each batch of entries, and each group of a scan
//!                                     of edge types never: the edges of a group that a scan reads have no limit
//! lists                               of few entries each: a look before each list
//! others                              about few items, which one look allows
//! ```
//!
//! A worker goes on with a short question while an answer that it has finished waits ([`crate::node::answer_workers`]). Nobody
//! knows how long values are before they are read: a few of them count as short.

use crate::remote::view_question::{ViewQuestion, ViewQuestions};
use evergraph_graph::owner::Owner;

/// Items that a short question is about.
const ITEMS_MAX: usize = 64;
/// Entries of each list that a short question asks for: as many as readers announce.
const LIST_ENTRIES_MAX: u32 = 1 << 10;
/// Bytes of a message of short questions.
const MESSAGE_BYTES_MAX: usize = 1 << 10;

/// Whether all questions of a message are short. What is no message is, too: it is refused.
///
/// Cost: a message of at most 1 KiB is decoded.
#[must_use]
pub fn is_short(asked: &[u8]) -> bool {
    let are_short = |asked: ViewQuestions| asked.questions.iter().all(is_short_question);
    asked.len() <= MESSAGE_BYTES_MAX && ViewQuestions::decode(asked).map_or(true, are_short)
}

fn is_short_question(question: &ViewQuestion) -> bool {
    match question {
        ViewQuestion::Groups { .. } | ViewQuestion::Newest { .. } | ViewQuestion::IndexSizes => false,
        ViewQuestion::ItemsOfValue { index, .. } | ViewQuestion::PairsBetween { index, .. } => {
            matches!(index.owner, Owner::Label(_))
        }
        ViewQuestion::Lists { vertices, limit, .. } => {
            vertices.len() <= ITEMS_MAX && *limit <= LIST_ENTRIES_MAX
        }
        ViewQuestion::Live { .. }
        | ViewQuestion::Labels { .. }
        | ViewQuestion::VertexValues { .. }
        | ViewQuestion::VertexMaps { .. }
        | ViewQuestion::Degrees { .. }
        | ViewQuestion::DegreesByType { .. }
        | ViewQuestion::Edges { .. }
        | ViewQuestion::CountsBetween { .. }
        | ViewQuestion::EdgeValues { .. }
        | ViewQuestion::EdgeMaps { .. } => question.items_count().is_some_and(|count| count <= ITEMS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::view_strategy::any_question;
    use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
    use evergraph_graph::index::{IndexId, IndexKind};
    use evergraph_graph::newest::NewestEdges;
    use evergraph_graph::value::Value;
    use evergraph_storage::index::entry_bound::EntryBound;
    use proptest::prelude::*;

    const TYPE: TypeId = TypeId(2);
    const KEY: KeyId = KeyId(3);
    const LABEL: Owner = Owner::Label(LabelId(1));

    fn vertices(count: usize) -> Vec<VertexId> {
        (0..count as u32).map(VertexId).collect()
    }

    /// A question of each kind that is about items, about so many.
    fn about(count: usize) -> [ViewQuestion; 12] {
        let groups = Vec::from_iter((0..count as u32).map(GroupId));
        let edge = |target| EdgeId { source: VertexId(0), edge_type: TYPE, target, discriminator: 0 };
        let edges = Vec::from_iter(vertices(count).into_iter().map(edge));
        let pairs = vertices(count).into_iter().map(|target| (VertexId(0), target)).collect();
        [
            ViewQuestion::Groups { groups: groups.clone() },
            ViewQuestion::Live { groups },
            ViewQuestion::Labels { vertices: vertices(count) },
            ViewQuestion::VertexValues { vertices: vertices(count), key: KEY },
            ViewQuestion::VertexMaps { vertices: vertices(count), after: None },
            lists(count, LIST_ENTRIES_MAX),
            ViewQuestion::Degrees { vertices: vertices(count), edge_type: TYPE, side: Direction::Out },
            ViewQuestion::DegreesByType { vertices: vertices(count), side: Direction::Out },
            ViewQuestion::Edges { edges: edges.clone() },
            ViewQuestion::CountsBetween { pairs, edge_type: TYPE },
            ViewQuestion::EdgeValues { edges: edges.clone(), key: KEY },
            ViewQuestion::EdgeMaps { edges, after: None },
        ]
    }

    fn lists(count: usize, limit: u32) -> ViewQuestion {
        let (edge_type, side) = (TYPE, Direction::Out);
        ViewQuestion::Lists { vertices: vertices(count), edge_type, side, after: None, limit }
    }

    fn items_of(owner: Owner, value: Value) -> ViewQuestion {
        ViewQuestion::ItemsOfValue { index: index_of(owner), value, after: None, limit: u32::MAX }
    }

    fn pairs_of(owner: Owner) -> ViewQuestion {
        let (index, after, until) = (index_of(owner), EntryBound::Start, EntryBound::End);
        ViewQuestion::PairsBetween { index, after, until, descending: false, limit: u32::MAX }
    }

    fn index_of(owner: Owner) -> IndexId {
        IndexId { owner, key: KEY, kind: IndexKind::Ordered }
    }

    fn message(questions: &[ViewQuestion]) -> Vec<u8> {
        ViewQuestions::encode(1 << 20, questions.iter())
    }

    #[test]
    fn questions_about_few_items_are_short_and_those_about_more_are_not() {
        for (few, many) in about(ITEMS_MAX).into_iter().zip(about(ITEMS_MAX + 1)) {
            let is_about_groups = matches!(few, ViewQuestion::Groups { .. });
            let asked = message(std::slice::from_ref(&few));
            assert_eq!(is_short(&asked), !is_about_groups, "{few:?}");
            let asked = message(std::slice::from_ref(&many));
            assert!(asked.len() <= MESSAGE_BYTES_MAX && !is_short(&asked), "{many:?}");
        }
        assert!(!is_short(&message(&[lists(1, LIST_ENTRIES_MAX + 1)])), "of a hub");
    }

    #[test]
    fn questions_of_indexes_are_short_whatever_they_find_but_for_those_of_edges() {
        assert!(is_short(&message(&[items_of(LABEL, Value::I64(7)), pairs_of(LABEL)])));
        let edges = Owner::EdgeType(TYPE);
        for of_edges in [items_of(edges, Value::I64(7)), pairs_of(edges)] {
            assert!(
                !is_short(&message(std::slice::from_ref(&of_edges))),
                "a scan may meet a hub: {of_edges:?}"
            );
        }
    }

    #[test]
    fn one_long_question_makes_a_message_long() {
        let asked = NewestEdges::new(VertexId(0), TYPE, KEY);
        let newest = ViewQuestion::Newest { asked, after: None, limit: 1, keys: Vec::new() };
        for long in [newest, ViewQuestion::IndexSizes] {
            assert!(!is_short(&message(&[lists(1, 1), long.clone()])), "{long:?}");
        }
        let long_value = Value::from("x".repeat(MESSAGE_BYTES_MAX));
        assert!(!is_short(&message(&[items_of(LABEL, long_value)])));
        assert!(is_short(&[]) && is_short(&[7; 9]), "what is no message");
    }

    proptest! {
        #[test]
        fn a_message_of_one_question_is_as_short_as_that(
            question in any_question(),
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let asked = message(std::slice::from_ref(&question));
            prop_assert_eq!(is_short(&asked), asked.len() <= MESSAGE_BYTES_MAX && is_short_question(&question));
            // Without a panic.
            let _ = is_short(&bytes);
        }
    }
}
