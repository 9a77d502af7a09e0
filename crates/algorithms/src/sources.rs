//! Sources: the vertices from which a centrality is measured: all, a seeded sample, or named ones.
//!
//! A sample is the vertices with the smallest hash of seed and id: drawn without replacement, the
//! same on every machine, and a larger sample with the same seed holds the smaller one.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::split_mix::mix;
use evergraph_graph::vertex_set::VertexSet;

/// From which vertices shortest paths start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sources {
    /// Every vertex in scope: the exact answer.
    #[default]
    All,
    /// So many, drawn at random without replacement; all, if there are no more.
    Sample {
        /// How many: at least 1.
        count: u32,
        /// Another seed draws other vertices.
        seed: u64,
    },
    /// These: at least one; what is named twice counts once.
    These(Vec<VertexId>),
}

impl Sources {
    /// Checks what can be checked without a graph.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Sample { count: 0, .. } => Err(Error::invalid("sample is 0, but must be at least 1")),
            Self::These(sources) if sources.is_empty() => {
                Err(Error::invalid("no sources are given, but at least 1 is needed"))
            }
            _ => Ok(()),
        }
    }

    /// The sources among `vertices`, ascending. Cost and memory: 16 bytes a vertex while a sample is
    /// drawn.
    ///
    /// # Errors
    /// `not_found` for one that is named and isn't in scope.
    pub(crate) fn choose(&self, vertices: &VertexSet) -> Result<Vec<u32>> {
        let mut chosen = match self {
            Self::Sample { count, seed } if u64::from(*count) < vertices.len() => {
                let key = |vertex: u32| (mix(mix(*seed) ^ u64::from(vertex)), vertex);
                let mut drawn: Vec<(u64, u32)> = vertices.iter().map(key).collect();
                drawn.select_nth_unstable(*count as usize);
                drawn[..*count as usize].iter().map(|(_, vertex)| *vertex).collect()
            }
            Self::All | Self::Sample { .. } => return Ok(vertices.iter().collect()),
            Self::These(sources) => {
                if let Some(missing) = sources.iter().find(|source| !vertices.contains(source.0)) {
                    let count = vertices.len();
                    return Err(Error::new(
                        ErrorKind::NotFound,
                        format!("source {missing} isn't one of the {count} vertices in scope"),
                    ));
                }
                sources.iter().map(|source| source.0).collect::<Vec<u32>>()
            }
        };
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u32, seed: u64) -> Vec<u32> {
        Sources::Sample { count, seed }.choose(&VertexSet::full(1000)).unwrap()
    }

    #[test]
    fn a_sample_has_as_many_as_asked_for_and_grows_with_its_count() {
        let (small, large) = (sample(10, 5), sample(100, 5));
        assert_eq!((small.len(), large.len()), (10, 100));
        assert!(small.is_sorted_by(|left, right| left < right));
        assert!(small.iter().all(|vertex| large.contains(vertex)));
        assert_ne!(small, sample(10, 6));
        assert_eq!(sample(1000, 5), (0..1000).collect::<Vec<_>>());
        assert_eq!(sample(2000, 5), sample(1000, 7));
    }

    #[test]
    fn samples_are_even() {
        let mut times = vec![0; 1000];
        (0..2000).for_each(|seed| sample(100, seed).iter().for_each(|vertex| times[*vertex as usize] += 1));
        // 200 draws each on average, with a deviation of about 13.
        assert!(times.iter().all(|times| (130..270).contains(times)), "{times:?}");
    }

    #[test]
    fn named_sources_are_sorted_and_must_be_in_scope() {
        let these = |ids: &[u32]| Sources::These(ids.iter().map(|id| VertexId(*id)).collect());
        let scope = VertexSet::full(10);
        assert_eq!(these(&[7, 2, 7]).choose(&scope).unwrap(), [2, 7]);
        assert_eq!(these(&[7, 10]).choose(&scope).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(these(&[]).check().unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(Sources::Sample { count: 0, seed: 1 }.check().unwrap_err().kind(), ErrorKind::Invalid);
        assert!(Sources::All.choose(&VertexSet::full(0)).unwrap().is_empty());
    }
}
