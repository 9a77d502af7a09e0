//! Kept answers: what a snapshot of other nodes has been told, as long as there is room.
//!
//! ```text
//! put ──> younger half ── full ──> older half ──> dropped
//!              └───────── get ─────────┘
//! ```
//!
//! A snapshot shows the same as long as it lives, so that what was answered once needs no second question. Kept is what was
//! announced, what is known of groups, and what few items were asked about: a reader that takes a large batch has it already.
//! Whatever is dropped is asked for again.

use crate::remote::item_form::ListEntry;
use crate::remote::view_answer::{AnswerPage, GroupFacts, ViewAnswer};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use evergraph_storage::view::{GroupBits, IndexSize};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Bytes of an entry beside what its key and its value own, about.
const ENTRY_BYTES: usize = 48;

/// The newest of what was put, by key.
#[derive(Debug)]
pub struct RecentAnswers<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    young_bytes: usize,
    old_bytes: usize,
    bytes_max: usize,
}

/// Answers of one kind, whatever they are.
trait AnswersOfKind {
    /// Bytes that they take, about.
    fn bytes(&self) -> usize;

    /// Drops all of them, and their memory.
    fn clear(&mut self);
}

impl<K, V> AnswersOfKind for RecentAnswers<K, V> {
    fn bytes(&self) -> usize {
        self.young_bytes + self.old_bytes
    }

    fn clear(&mut self) {
        (self.young, self.old) = (HashMap::new(), HashMap::new());
        (self.young_bytes, self.old_bytes) = (0, 0);
    }
}

impl<K: Hash + Eq, V: Clone> RecentAnswers<K, V> {
    /// Nothing yet, and never more than about `bytes_max` bytes.
    fn new(bytes_max: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), young_bytes: 0, old_bytes: 0, bytes_max }
    }

    /// What was put last, if it is still there.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }

    /// Whether something is there.
    #[must_use]
    pub fn has(&self, key: &K) -> bool {
        self.young.contains_key(key) || self.old.contains_key(key)
    }

    /// Keeps a value that owns `heap_bytes` bytes.
    pub fn put(&mut self, key: K, value: V, heap_bytes: usize) {
        let bytes = size_of::<K>() + size_of::<V>() + ENTRY_BYTES + heap_bytes;
        let half = self.bytes_max / 2;
        if bytes > half {
            return;
        }
        if self.young_bytes + bytes > half {
            self.old = std::mem::take(&mut self.young);
            self.old_bytes = std::mem::take(&mut self.young_bytes);
        }
        self.young_bytes += bytes;
        self.young.insert(key, value);
    }
}

/// The list of a vertex on a side.
pub type ListKey = (VertexId, TypeId, Direction);
/// All properties of a vertex or an edge, by key.
pub type PropertyMap = Arc<Vec<(KeyId, Value)>>;

/// Numbers of edges, by type.
pub type TypeDegrees = Arc<Vec<(TypeId, u64)>>;

/// What a snapshot keeps, by kind.
#[derive(Debug)]
pub struct KeptAnswers {
    /// The edge types of groups.
    pub groups: RecentAnswers<GroupId, Arc<GroupFacts>>,
    /// The rows of groups that are alive.
    pub live: RecentAnswers<GroupId, Arc<GroupBits>>,
    /// The labels of vertices.
    pub labels: RecentAnswers<VertexId, Option<LabelId>>,
    /// Single properties of vertices.
    pub vertex_values: RecentAnswers<(VertexId, KeyId), Option<Value>>,
    /// All properties of vertices.
    pub vertex_maps: RecentAnswers<VertexId, PropertyMap>,
    /// Beginnings of lists.
    pub lists: RecentAnswers<ListKey, Arc<AnswerPage<ListEntry>>>,
    /// Numbers of edges.
    pub degrees: RecentAnswers<ListKey, u64>,
    /// Numbers of edges of every type.
    pub degrees_by_type: RecentAnswers<(VertexId, Direction), TypeDegrees>,
    /// Whether edges are there.
    pub edges: RecentAnswers<EdgeId, bool>,
    /// Numbers of edges between two vertices.
    pub counts: RecentAnswers<(VertexId, TypeId, VertexId), u32>,
    /// Single properties of edges.
    pub edge_values: RecentAnswers<(EdgeId, KeyId), Option<Value>>,
    /// All properties of edges.
    pub edge_maps: RecentAnswers<EdgeId, PropertyMap>,
    /// The first items of values, of all partitions.
    pub items_of_values: RecentAnswers<(IndexId, Value), Arc<AnswerPage<ItemId>>>,
    /// The sizes of all indexes.
    pub index_sizes: KeptIndexSizes,
}

/// What is known of the sizes of all indexes.
#[derive(Debug)]
pub enum KeptIndexSizes {
    /// Nobody asked yet.
    Unasked,
    /// A partition did not answer.
    Unknown,
    /// These.
    Known(Arc<HashMap<IndexId, IndexSize>>),
}

impl KeptIndexSizes {
    /// The sizes, if they are known.
    #[must_use]
    pub fn known(&self) -> Option<Arc<HashMap<IndexId, IndexSize>>> {
        match self {
            Self::Known(sizes) => Some(Arc::clone(sizes)),
            Self::Unasked | Self::Unknown => None,
        }
    }
}

impl KeptAnswers {
    /// Nothing yet, and never more than about `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        // Lists, values and maps may be long; of the others many have room in little.
        let (much, little) = (bytes_max / 9, bytes_max / 27);
        Self {
            groups: RecentAnswers::new(much),
            live: RecentAnswers::new(little),
            labels: RecentAnswers::new(little),
            vertex_values: RecentAnswers::new(much),
            vertex_maps: RecentAnswers::new(much),
            lists: RecentAnswers::new(much),
            degrees: RecentAnswers::new(little),
            degrees_by_type: RecentAnswers::new(little),
            edges: RecentAnswers::new(little),
            counts: RecentAnswers::new(little),
            edge_values: RecentAnswers::new(much),
            edge_maps: RecentAnswers::new(much),
            items_of_values: RecentAnswers::new(much),
            index_sizes: KeptIndexSizes::Unasked,
        }
    }

    /// Bytes that all take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let kinds: [&dyn AnswersOfKind; 13] = [
            &self.groups,
            &self.live,
            &self.labels,
            &self.vertex_values,
            &self.vertex_maps,
            &self.lists,
            &self.degrees,
            &self.degrees_by_type,
            &self.edges,
            &self.counts,
            &self.edge_values,
            &self.edge_maps,
            &self.items_of_values,
        ];
        kinds.iter().map(|kind| kind.bytes()).sum()
    }

    /// Drops all but what is known of the sizes of indexes.
    pub fn clear(&mut self) {
        let kinds: [&mut dyn AnswersOfKind; 13] = [
            &mut self.groups,
            &mut self.live,
            &mut self.labels,
            &mut self.vertex_values,
            &mut self.vertex_maps,
            &mut self.lists,
            &mut self.degrees,
            &mut self.degrees_by_type,
            &mut self.edges,
            &mut self.counts,
            &mut self.edge_values,
            &mut self.edge_maps,
            &mut self.items_of_values,
        ];
        kinds.into_iter().for_each(AnswersOfKind::clear);
    }

    /// Keeps the first items of a value.
    pub fn add_page_of_value(&mut self, index: IndexId, value: Value, page: Arc<AnswerPage<ItemId>>) {
        let bytes = value.heap_bytes() + page.entries.len() * size_of::<ItemId>();
        self.items_of_values.put((index, value), page, bytes);
    }

    /// Keeps the whole answer to a question about items; of other questions nothing.
    pub fn add(&mut self, question: &ViewQuestion, answer: ViewAnswer) {
        match (question, answer) {
            (ViewQuestion::Groups { groups }, ViewAnswer::Groups(all)) => {
                for (group, facts) in groups.iter().zip(all) {
                    let bytes = facts.out.len() * size_of::<(TypeId, u64)>() + facts.into.len() * 2;
                    self.groups.put(*group, Arc::new(facts), bytes);
                }
            }
            (ViewQuestion::Live { groups }, ViewAnswer::Live(all)) => {
                for (group, live) in groups.iter().zip(all) {
                    self.live.put(*group, Arc::new(live), size_of::<GroupBits>());
                }
            }
            (ViewQuestion::Labels { vertices }, ViewAnswer::Labels(all)) => {
                vertices.iter().zip(all).for_each(|(vertex, label)| self.labels.put(*vertex, label, 0));
            }
            (ViewQuestion::VertexValues { vertices, key }, ViewAnswer::Values(all)) => {
                for (vertex, value) in vertices.iter().zip(all) {
                    let bytes = value.as_ref().map_or(0, Value::heap_bytes);
                    self.vertex_values.put((*vertex, *key), value, bytes);
                }
            }
            (ViewQuestion::EdgeValues { edges, key }, ViewAnswer::Values(all)) => {
                for (edge, value) in edges.iter().zip(all) {
                    let bytes = value.as_ref().map_or(0, Value::heap_bytes);
                    self.edge_values.put((*edge, *key), value, bytes);
                }
            }
            (ViewQuestion::VertexMaps { vertices, after: None }, ViewAnswer::Maps(all)) => {
                for (vertex, page) in vertices.iter().zip(all).filter(|(_, page)| page.is_last) {
                    let bytes = map_bytes(&page.entries);
                    self.vertex_maps.put(*vertex, Arc::new(page.entries), bytes);
                }
            }
            (ViewQuestion::EdgeMaps { edges, after: None }, ViewAnswer::Maps(all)) => {
                for (edge, page) in edges.iter().zip(all).filter(|(_, page)| page.is_last) {
                    let bytes = map_bytes(&page.entries);
                    self.edge_maps.put(*edge, Arc::new(page.entries), bytes);
                }
            }
            (ViewQuestion::Lists { vertices, edge_type, side, after: None, .. }, ViewAnswer::Lists(all)) => {
                for (vertex, page) in vertices.iter().zip(all) {
                    let bytes = page.entries.len() * size_of::<ListEntry>();
                    self.lists.put((*vertex, *edge_type, *side), Arc::new(page), bytes);
                }
            }
            (ViewQuestion::Degrees { vertices, edge_type, side }, ViewAnswer::Degrees(all)) => {
                for (vertex, degree) in vertices.iter().zip(all) {
                    self.degrees.put((*vertex, *edge_type, *side), degree, 0);
                }
            }
            (ViewQuestion::DegreesByType { vertices, side }, ViewAnswer::DegreesByType(all)) => {
                for (vertex, degrees) in vertices.iter().zip(all) {
                    let bytes = degrees.len() * size_of::<(TypeId, u64)>();
                    self.degrees_by_type.put((*vertex, *side), Arc::new(degrees), bytes);
                }
            }
            (ViewQuestion::Edges { edges }, ViewAnswer::Edges(all)) => {
                edges.iter().zip(all).for_each(|(edge, found)| self.edges.put(*edge, found, 0));
            }
            (ViewQuestion::CountsBetween { pairs, edge_type }, ViewAnswer::Counts(all)) => {
                for ((source, target), count) in pairs.iter().zip(all) {
                    self.counts.put((*source, *edge_type, *target), count, 0);
                }
            }
            _ => {}
        }
    }
}

/// All properties of one item, as the answer to the question about them.
#[must_use]
pub fn map_page(map: &[(KeyId, Value)]) -> ViewAnswer {
    ViewAnswer::Maps(vec![AnswerPage { entries: map.to_vec(), is_last: true }])
}

fn map_bytes(map: &[(KeyId, Value)]) -> usize {
    map.iter().map(|(_, value)| size_of::<(KeyId, Value)>() + value.heap_bytes()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_never_more_than_there_is_room_for() {
        let mut kept: RecentAnswers<u32, u32> = RecentAnswers::new(100 * (8 + ENTRY_BYTES));
        (0..1000).for_each(|number| kept.put(number, number + 1, 0));
        let there: Vec<u32> = (0..1000).filter(|number| kept.has(number)).collect();
        assert!((50..=100).contains(&there.len()), "{}", there.len());
        assert_eq!(there.last(), Some(&999));
        assert!(there.iter().all(|number| kept.get(number) == Some(number + 1)));
        kept.put(5, 7, 1 << 20);
        assert_eq!(kept.get(&5), None, "what has no room is not kept");
        assert_eq!(kept.get(&999), Some(1000), "and takes nobody's");
        assert_eq!(kept.bytes(), there.len() * (8 + ENTRY_BYTES), "they are counted");
        kept.clear();
        assert_eq!((kept.bytes(), kept.get(&999)), (0, None));
    }

    #[test]
    fn a_part_of_a_map_is_not_kept_and_a_part_of_a_list_is() {
        let mut kept = KeptAnswers::new(1 << 20);
        let vertices = vec![VertexId(1), VertexId(2)];
        let maps =
            [true, false].map(|is_last| AnswerPage { entries: vec![(KeyId(1), Value::I64(1))], is_last });
        kept.add(
            &ViewQuestion::VertexMaps { vertices: vertices.clone(), after: None },
            ViewAnswer::Maps(maps.to_vec()),
        );
        assert!(kept.vertex_maps.has(&VertexId(1)) && !kept.vertex_maps.has(&VertexId(2)));
        let list = |after| ViewQuestion::Lists {
            vertices: vertices.clone(),
            edge_type: TypeId(0),
            side: Direction::Out,
            after,
            limit: 1,
        };
        let pages = || vec![AnswerPage { entries: vec![(VertexId(9), 0)], is_last: false }; 2];
        kept.add(&list(Some((VertexId(3), 0))), ViewAnswer::Lists(pages()));
        let key = (VertexId(2), TypeId(0), Direction::Out);
        assert!(!kept.lists.has(&key), "it begins behind an entry");
        kept.add(&list(None), ViewAnswer::Lists(pages()));
        assert!(kept.lists.has(&key));
    }
}
