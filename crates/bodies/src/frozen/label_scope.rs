//! Label scope: the labels that lists are cut down to, the weights that they are converted to, and where both are kept.

use crate::frozen::edge_weights::EdgeWeights;
use crate::frozen::freeze_source::FreezeSource;
use crate::frozen::label_lists::{LabelLists, ListChoice, WeightChoice};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, TypeId, VertexId};
use evergraph_storage::engine::FreezeRequest;

/// What is made of bodies for a projection, and kept.
pub(crate) struct LabelScope<'a> {
    pub(crate) choice: ListChoice,
    /// What earlier snapshots left.
    pub(crate) kept: Option<&'a LabelLists>,
    /// Whether a group has one of the labels; empty if no edge leaves them.
    groups: Vec<bool>,
    /// The types in the projection of which edges may leave the labels, ascending.
    leaving: Vec<TypeId>,
}

impl<'a> LabelScope<'a> {
    /// The scope of a projection whose labels edges may leave, or whose weights may have to be converted. None for any other, and
    /// where lists are copied because vertices or edges are chosen: then nothing is kept, and what is stays for those who asked for it.
    ///
    /// Cost: a look at each edge type; at each group, if edges may leave the labels.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn of(
        source: &impl FreezeSource,
        request: &FreezeRequest<'_>,
        weights: Option<&EdgeWeights<'_>>,
        kept: Option<&'a LabelLists>,
    ) -> Result<Option<Self>> {
        let FreezeRequest { catalogue, projection, .. } = *request;
        let may_leave = |edge_type: &TypeId| {
            projection.labels.as_ref().is_some_and(|labels| {
                let mut joins = catalogue.joins(*edge_type);
                joins.any(|(source, target)| !labels.contains(&source) || !labels.contains(&target))
            })
        };
        let types = catalogue.edge_types().map(|(edge_type, _)| edge_type);
        let leaving: Vec<TypeId> =
            types.filter(|edge_type| projection.has_type(*edge_type)).filter(may_leave).collect();
        let may_convert = weights.is_some_and(EdgeWeights::may_convert);
        if projection.is_filtered() || leaving.is_empty() && !may_convert {
            return Ok(None);
        }
        // Of labels that no edge leaves, lists and weights are those of all.
        let labels = projection.labels.clone().filter(|_| !leaving.is_empty());
        let groups: Vec<bool> = match &labels {
            Some(labels) => {
                let has = |group| Ok(source.label(group)?.is_some_and(|label| labels.contains(&label)));
                (0..source.group_count()).map(|group| has(GroupId(group))).collect::<Result<_>>()?
            }
            None => Vec::new(),
        };
        let labels = labels.map(|mut labels| {
            labels.sort_unstable();
            labels.dedup();
            labels
        });
        // Weights that no property is read for are those of lists without weights.
        let weights = weights.filter(|weights| weights.reads_properties());
        let choice =
            ListChoice { labels, weight: weights.map(|weights| WeightChoice::from(weights.weight())) };
        if let Some(kept) = kept {
            kept.begin(&choice);
        }
        Ok(Some(Self { choice, kept, groups, leaving }))
    }

    /// Whether edges of this type may leave the labels.
    #[inline]
    pub(crate) fn may_be_left_by(&self, edge_type: TypeId) -> bool {
        self.leaving.binary_search(&edge_type).is_ok()
    }

    /// Whether a vertex has one of the labels.
    #[inline]
    pub(crate) fn contains(&self, vertex: u32) -> bool {
        self.groups.get(VertexId(vertex).group().0 as usize).is_some_and(|has_label| *has_label)
    }
}
