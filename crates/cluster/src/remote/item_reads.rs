//! Item reads: what a view reads of many items alike, each by the partition that its group is in.
//!
//! ```text
//! READ                 ITEM     ASKED OF THE PARTITION OF
//! group facts          group    the group
//! labels, values, maps vertex   the vertex
//! lists, degrees       vertex   the vertex, on both sides: the in side of an edge lies with its target
//! edges, values, maps  edge     the source
//! counts between       pair     the source
//! ```

use crate::planted::{Bug, planted};
use crate::remote::kept_answers::KeptAnswers;
use crate::remote::partition_view::PartitionView;
use crate::remote::view_answer::{GroupFacts, ViewAnswer};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::Value;
use std::sync::Arc;

/// Something that a view asks about items.
pub trait ItemQuestion {
    /// What it asks about.
    type Item: Copy + Ord;

    /// The group whose partition knows.
    fn group(&self, item: &Self::Item) -> GroupId;

    /// Whether the answer is known.
    fn is_kept(&self, kept: &KeptAnswers, item: Self::Item) -> bool;

    /// The question about some of the items, which ascend.
    fn question(&self, items: Vec<Self::Item>) -> ViewQuestion;

    /// The items of another question, which ascend, if its answer says of them what this one's would.
    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [Self::Item]>;
}

/// A question whose answers say one thing of each item.
pub trait ItemRead: ItemQuestion {
    /// What is said of an item.
    type Answer: Clone;

    /// What is known of an item.
    fn kept(&self, kept: &KeptAnswers, item: Self::Item) -> Option<Self::Answer>;

    /// What an answer says of each item.
    fn answers(&self, answer: ViewAnswer) -> Vec<Self::Answer>;

    /// What a partition at hand says of each item.
    ///
    /// # Errors
    /// As [`PartitionView`].
    fn read_own(&self, own: &dyn PartitionView, items: &[Self::Item]) -> Result<Vec<Self::Answer>>;
}

fn edge_group(edge: &EdgeId) -> GroupId {
    if planted(Bug::EdgeAskedOfTarget) { edge.target.group() } else { edge.source.group() }
}

/// The edge types of groups.
pub struct FactsRead;

impl ItemQuestion for FactsRead {
    type Item = GroupId;

    fn group(&self, group: &GroupId) -> GroupId {
        *group
    }

    fn is_kept(&self, kept: &KeptAnswers, group: GroupId) -> bool {
        kept.groups.has(&group)
    }

    fn question(&self, groups: Vec<GroupId>) -> ViewQuestion {
        ViewQuestion::Groups { groups }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [GroupId]> {
        match question {
            ViewQuestion::Groups { groups } => Some(groups),
            _ => None,
        }
    }
}

impl ItemRead for FactsRead {
    type Answer = Arc<GroupFacts>;

    fn kept(&self, kept: &KeptAnswers, group: GroupId) -> Option<Arc<GroupFacts>> {
        kept.groups.get(&group)
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<Arc<GroupFacts>> {
        answer.into_groups().into_iter().map(Arc::new).collect()
    }

    fn read_own(&self, own: &dyn PartitionView, groups: &[GroupId]) -> Result<Vec<Arc<GroupFacts>>> {
        Ok(own.facts(groups)?.into_iter().map(Arc::new).collect())
    }
}

/// The labels of vertices.
pub struct LabelsRead;

impl ItemQuestion for LabelsRead {
    type Item = VertexId;

    fn group(&self, vertex: &VertexId) -> GroupId {
        vertex.group()
    }

    fn is_kept(&self, kept: &KeptAnswers, vertex: VertexId) -> bool {
        kept.labels.has(&vertex)
    }

    fn question(&self, vertices: Vec<VertexId>) -> ViewQuestion {
        ViewQuestion::Labels { vertices }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [VertexId]> {
        match question {
            ViewQuestion::Labels { vertices } => Some(vertices),
            _ => None,
        }
    }
}

impl ItemRead for LabelsRead {
    type Answer = Option<LabelId>;

    fn kept(&self, kept: &KeptAnswers, vertex: VertexId) -> Option<Option<LabelId>> {
        kept.labels.get(&vertex)
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<Option<LabelId>> {
        answer.into_labels()
    }

    fn read_own(&self, own: &dyn PartitionView, vertices: &[VertexId]) -> Result<Vec<Option<LabelId>>> {
        own.labels(vertices)
    }
}

/// One property of vertices.
pub struct VertexValuesRead(pub KeyId);

impl ItemQuestion for VertexValuesRead {
    type Item = VertexId;

    fn group(&self, vertex: &VertexId) -> GroupId {
        vertex.group()
    }

    fn is_kept(&self, kept: &KeptAnswers, vertex: VertexId) -> bool {
        kept.vertex_values.has(&(vertex, self.0))
    }

    fn question(&self, vertices: Vec<VertexId>) -> ViewQuestion {
        ViewQuestion::VertexValues { vertices, key: self.0 }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [VertexId]> {
        match question {
            ViewQuestion::VertexValues { vertices, key } if *key == self.0 => Some(vertices),
            _ => None,
        }
    }
}

impl ItemRead for VertexValuesRead {
    type Answer = Option<Value>;

    fn kept(&self, kept: &KeptAnswers, vertex: VertexId) -> Option<Option<Value>> {
        kept.vertex_values.get(&(vertex, self.0))
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<Option<Value>> {
        answer.into_values()
    }

    fn read_own(&self, own: &dyn PartitionView, vertices: &[VertexId]) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(vertices.len());
        own.vertex_properties(vertices, self.0, &mut values)?;
        Ok(values)
    }
}

/// All properties of vertices.
pub struct VertexMapsRead;

impl ItemQuestion for VertexMapsRead {
    type Item = VertexId;

    fn group(&self, vertex: &VertexId) -> GroupId {
        vertex.group()
    }

    fn is_kept(&self, kept: &KeptAnswers, vertex: VertexId) -> bool {
        kept.vertex_maps.has(&vertex)
    }

    fn question(&self, vertices: Vec<VertexId>) -> ViewQuestion {
        ViewQuestion::VertexMaps { vertices, after: None }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [VertexId]> {
        match question {
            ViewQuestion::VertexMaps { vertices, after: None } => Some(vertices),
            _ => None,
        }
    }
}

/// Beginnings of lists.
pub struct ListsRead {
    /// The type of the edges.
    pub edge_type: TypeId,
    /// The side of each vertex.
    pub side: Direction,
    /// Entries of each list, at most.
    pub limit: u32,
}

impl ItemQuestion for ListsRead {
    type Item = VertexId;

    fn group(&self, vertex: &VertexId) -> GroupId {
        vertex.group()
    }

    /// A shorter beginning, of somebody who wanted little, is not enough.
    fn is_kept(&self, kept: &KeptAnswers, vertex: VertexId) -> bool {
        let page = kept.lists.get(&(vertex, self.edge_type, self.side));
        page.is_some_and(|page| page.is_last || page.entries.len() >= self.limit as usize)
    }

    fn question(&self, vertices: Vec<VertexId>) -> ViewQuestion {
        let Self { edge_type, side, limit } = *self;
        ViewQuestion::Lists { vertices, edge_type, side, after: None, limit }
    }

    /// A shorter beginning is not enough, as above.
    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [VertexId]> {
        match question {
            ViewQuestion::Lists { vertices, edge_type, side, after: None, limit }
                if (*edge_type, *side) == (self.edge_type, self.side) && *limit >= self.limit =>
            {
                Some(vertices)
            }
            _ => None,
        }
    }
}

/// Numbers of edges.
pub struct DegreesRead {
    /// The type of the edges.
    pub edge_type: TypeId,
    /// The side of each vertex.
    pub side: Direction,
}

impl ItemQuestion for DegreesRead {
    type Item = VertexId;

    fn group(&self, vertex: &VertexId) -> GroupId {
        vertex.group()
    }

    fn is_kept(&self, kept: &KeptAnswers, vertex: VertexId) -> bool {
        self.kept(kept, vertex).is_some()
    }

    fn question(&self, vertices: Vec<VertexId>) -> ViewQuestion {
        ViewQuestion::Degrees { vertices, edge_type: self.edge_type, side: self.side }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [VertexId]> {
        match question {
            ViewQuestion::Degrees { vertices, edge_type, side }
                if (*edge_type, *side) == (self.edge_type, self.side) =>
            {
                Some(vertices)
            }
            ViewQuestion::DegreesByType { vertices, side } if *side == self.side => Some(vertices),
            _ => None,
        }
    }
}

impl ItemRead for DegreesRead {
    type Answer = u64;

    fn kept(&self, kept: &KeptAnswers, vertex: VertexId) -> Option<u64> {
        let one = kept.degrees.get(&(vertex, self.edge_type, self.side));
        one.or_else(|| {
            let by_type = kept.degrees_by_type.get(&(vertex, self.side))?;
            let found = by_type.binary_search_by_key(&self.edge_type, |(edge_type, _)| *edge_type);
            Some(found.map_or(0, |at| by_type[at].1))
        })
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<u64> {
        answer.into_degrees()
    }

    fn read_own(&self, own: &dyn PartitionView, vertices: &[VertexId]) -> Result<Vec<u64>> {
        own.degrees(vertices, (self.edge_type, self.side))
    }
}

/// Numbers of edges of every type.
pub struct DegreesByTypeRead(pub Direction);

impl ItemQuestion for DegreesByTypeRead {
    type Item = VertexId;

    fn group(&self, vertex: &VertexId) -> GroupId {
        vertex.group()
    }

    fn is_kept(&self, kept: &KeptAnswers, vertex: VertexId) -> bool {
        kept.degrees_by_type.has(&(vertex, self.0))
    }

    fn question(&self, vertices: Vec<VertexId>) -> ViewQuestion {
        ViewQuestion::DegreesByType { vertices, side: self.0 }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [VertexId]> {
        match question {
            ViewQuestion::DegreesByType { vertices, side } if *side == self.0 => Some(vertices),
            _ => None,
        }
    }
}

/// Whether edges are there.
pub struct EdgesRead;

impl ItemQuestion for EdgesRead {
    type Item = EdgeId;

    fn group(&self, edge: &EdgeId) -> GroupId {
        edge_group(edge)
    }

    fn is_kept(&self, kept: &KeptAnswers, edge: EdgeId) -> bool {
        kept.edges.has(&edge)
    }

    fn question(&self, edges: Vec<EdgeId>) -> ViewQuestion {
        ViewQuestion::Edges { edges }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [EdgeId]> {
        match question {
            ViewQuestion::Edges { edges } => Some(edges),
            _ => None,
        }
    }
}

impl ItemRead for EdgesRead {
    type Answer = bool;

    fn kept(&self, kept: &KeptAnswers, edge: EdgeId) -> Option<bool> {
        kept.edges.get(&edge)
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<bool> {
        answer.into_edges()
    }

    fn read_own(&self, own: &dyn PartitionView, edges: &[EdgeId]) -> Result<Vec<bool>> {
        own.has_edges(edges)
    }
}

/// Numbers of edges between two vertices.
pub struct CountsRead(pub TypeId);

impl ItemQuestion for CountsRead {
    type Item = (VertexId, VertexId);

    fn group(&self, (source, _): &Self::Item) -> GroupId {
        source.group()
    }

    fn is_kept(&self, kept: &KeptAnswers, (source, target): Self::Item) -> bool {
        kept.counts.has(&(source, self.0, target))
    }

    fn question(&self, pairs: Vec<Self::Item>) -> ViewQuestion {
        ViewQuestion::CountsBetween { pairs, edge_type: self.0 }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [Self::Item]> {
        match question {
            ViewQuestion::CountsBetween { pairs, edge_type } if *edge_type == self.0 => Some(pairs),
            _ => None,
        }
    }
}

impl ItemRead for CountsRead {
    type Answer = u32;

    fn kept(&self, kept: &KeptAnswers, (source, target): Self::Item) -> Option<u32> {
        kept.counts.get(&(source, self.0, target))
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<u32> {
        answer.into_counts()
    }

    fn read_own(&self, own: &dyn PartitionView, pairs: &[Self::Item]) -> Result<Vec<u32>> {
        own.count_edges_between(pairs, self.0)
    }
}

/// One property of edges.
pub struct EdgeValuesRead(pub KeyId);

impl ItemQuestion for EdgeValuesRead {
    type Item = EdgeId;

    fn group(&self, edge: &EdgeId) -> GroupId {
        edge_group(edge)
    }

    fn is_kept(&self, kept: &KeptAnswers, edge: EdgeId) -> bool {
        kept.edge_values.has(&(edge, self.0))
    }

    fn question(&self, edges: Vec<EdgeId>) -> ViewQuestion {
        ViewQuestion::EdgeValues { edges, key: self.0 }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [EdgeId]> {
        match question {
            ViewQuestion::EdgeValues { edges, key } if *key == self.0 => Some(edges),
            _ => None,
        }
    }
}

impl ItemRead for EdgeValuesRead {
    type Answer = Option<Value>;

    fn kept(&self, kept: &KeptAnswers, edge: EdgeId) -> Option<Option<Value>> {
        kept.edge_values.get(&(edge, self.0))
    }

    fn answers(&self, answer: ViewAnswer) -> Vec<Option<Value>> {
        answer.into_values()
    }

    fn read_own(&self, own: &dyn PartitionView, edges: &[EdgeId]) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(edges.len());
        own.edge_properties(edges, self.0, &mut values)?;
        Ok(values)
    }
}

/// All properties of edges.
pub struct EdgeMapsRead;

impl ItemQuestion for EdgeMapsRead {
    type Item = EdgeId;

    fn group(&self, edge: &EdgeId) -> GroupId {
        edge_group(edge)
    }

    fn is_kept(&self, kept: &KeptAnswers, edge: EdgeId) -> bool {
        kept.edge_maps.has(&edge)
    }

    fn question(&self, edges: Vec<EdgeId>) -> ViewQuestion {
        ViewQuestion::EdgeMaps { edges, after: None }
    }

    fn items_of<'q>(&self, question: &'q ViewQuestion) -> Option<&'q [EdgeId]> {
        match question {
            ViewQuestion::EdgeMaps { edges, after: None } => Some(edges),
            _ => None,
        }
    }
}
