//! Label scope: the labels that lists are cut down to, the weights that they are converted to, and where both are kept.

use crate::frozen::edge_weights::EdgeWeights;
use crate::frozen::freeze_source::FreezeSource;
use crate::frozen::label_lists::{LabelLists, ListChoice, WeightChoice};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_graph::topology::Projection;

/// What is made of bodies for a projection, and kept.
pub(crate) struct LabelScope<'a> {
    pub(crate) choice: ListChoice,
    /// What earlier snapshots left.
    pub(crate) kept: Option<&'a LabelLists>,
    /// Whether a group has one of the labels; empty if all are chosen.
    groups: Vec<bool>,
}

impl<'a> LabelScope<'a> {
    /// The scope of a projection that chooses labels, or whose weights may have to be converted. Cost: a look at each group.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn of(
        source: &impl FreezeSource,
        projection: &Projection,
        weights: Option<&EdgeWeights<'_>>,
        kept: Option<&'a LabelLists>,
    ) -> Result<Option<Self>> {
        let groups: Vec<bool> = match &projection.labels {
            Some(labels) => {
                let has = |group| Ok(source.label(group)?.is_some_and(|label| labels.contains(&label)));
                (0..source.group_count()).map(|group| has(GroupId(group))).collect::<Result<_>>()?
            }
            None if weights.is_some_and(EdgeWeights::may_convert) => Vec::new(),
            None => return Ok(None),
        };
        let labels = projection.labels.clone().map(|mut labels| {
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
        Ok(Some(Self { choice, kept, groups }))
    }

    /// Whether a vertex has one of the labels.
    #[inline]
    pub(crate) fn contains(&self, vertex: u32) -> bool {
        self.groups.get(VertexId(vertex).group().0 as usize).is_some_and(|has_label| *has_label)
    }
}
