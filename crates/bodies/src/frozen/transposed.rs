//! Transposed lists: the in side of lists whose properties were looked at, which the out side alone has.

use crate::edge_body::EdgeBody;
use crate::frozen::freeze_source::FreezeSource;
use crate::frozen::freezer::{Freezer, FrozenSide};
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::resolved_list::RowCursor;
use crate::frozen::stored_lists::StoredLists;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId, VertexId};
use evergraph_graph::topology::{Piece, Visit};
use std::sync::Arc;

/// What a freeze reserves for it.
const PURPOSE: &str = "the in side, turned from the out side";

/// Neighbours and weights of one group's lists, one behind the other.
type Side = (Vec<u32>, Vec<f64>);

impl<S: FreezeSource> Freezer<'_, S> {
    /// The in side of `out`, with the weights of the out side, which alone knows properties.
    ///
    /// # Errors
    /// `limit` if the budget refuses, `corrupt` if a list names a vertex of no group, `cancelled`, and those of the lists.
    pub(crate) fn transposed(
        &self,
        out: &[Box<[FrozenList<S::Lists>]>],
        groups: u32,
    ) -> Result<FrozenSide<S::Lists>> {
        // All lists have weights, or none.
        let is_weighted = out.iter().flatten().any(FrozenList::is_weighted);
        let total: u64 = out.iter().flatten().map(FrozenList::edges_count).sum();
        let (edge_bytes, rows) = (if is_weighted { 12 } else { 4 }, groups as usize * GROUP_SIZE as usize);
        self.reserve(PURPOSE, total as usize * edge_bytes + rows * 4)?;
        // Degrees, and where the next edge of each row goes.
        let _meanwhile = self.request.budget.reserve(PURPOSE, rows as u64 * 8)?;
        let mut degrees = vec![0u32; rows];
        let each_piece = |visit: &mut dyn FnMut(u32, Piece<'_>)| -> Result<()> {
            for (group, lists) in out.iter().enumerate() {
                self.request.cancel.check()?;
                let mut lists =
                    lists.iter().map(|list| list.cursor(0)).collect::<Result<Vec<RowCursor<'_>>>>()?;
                for row in 0..GROUP_SIZE as u16 {
                    let vertex = VertexId::new(GroupId(group as u32), row).0;
                    for list in &mut lists {
                        list.visit(row, |piece| {
                            visit(vertex, piece);
                            Visit::Continue
                        });
                    }
                }
            }
            Ok(())
        };
        let mut outside = None;
        each_piece(&mut |vertex, piece| {
            for to in piece.neighbors {
                match degrees.get_mut(*to as usize) {
                    Some(degree) => *degree += 1,
                    None => outside = Some((vertex, *to)),
                }
            }
        })?;
        if let Some((from, to)) = outside {
            let text = format!("an edge leads from v{from} to v{to}, which is in no group");
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let mut sides: Vec<Side> = Vec::with_capacity(groups as usize);
        let mut next = vec![0u32; rows];
        for (group, own) in degrees.chunks(GROUP_SIZE as usize).enumerate() {
            let mut start = 0;
            for (row, degree) in own.iter().enumerate() {
                next[group * GROUP_SIZE as usize + row] = start;
                start += degree;
            }
            let weights = if is_weighted { start as usize } else { 0 };
            sides.push((vec![0; start as usize], vec![0.0; weights]));
        }
        // By vertex, so that each list of the other side ascends.
        each_piece(&mut |vertex, piece| {
            for (at, to) in piece.neighbors.iter().enumerate() {
                let place = &mut next[*to as usize];
                let (neighbors, weights) = &mut sides[VertexId(*to).group().0 as usize];
                neighbors[*place as usize] = vertex;
                if is_weighted {
                    weights[*place as usize] = piece.weights[at];
                }
                *place += 1;
            }
        })?;
        let lists = sides.into_iter().zip(degrees.chunks(GROUP_SIZE as usize));
        let list = |((neighbors, weights), degrees): (Side, &[u32])| -> Result<Box<[FrozenList<S::Lists>]>> {
            let body = EdgeBody::new(degrees, neighbors.into(), Box::default(), Vec::new());
            let weights = if is_weighted { ListWeights::Own(Arc::new(weights)) } else { ListWeights::None };
            Ok(Box::from([FrozenList::new(S::Lists::of_copy(Arc::new(body)), weights, None)?]))
        };
        lists.map(list).collect()
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::frozen::test_source::{
        LABELS, ReadWatch, TestEdge, TestSource, WEIGHT, frozen, reserved_bytes, weighted,
    };
    use evergraph_graph::filter::{Condition, Filter};
    use evergraph_graph::id::Direction;
    use evergraph_graph::topology::{Projection, Topology as _};
    use evergraph_graph::value::{Value, ValueType};
    use evergraph_storage::memory_budget::MemoryBudget;
    use rayon::ThreadPoolBuilder;

    fn heavy(source: u32, target: u32) -> TestEdge {
        TestEdge { value: Some(Value::I64(2)), ..TestEdge::stored(source, 1, target) }
    }

    #[test]
    fn what_it_takes_is_reserved_and_what_it_took_meanwhile_is_not() {
        let edges: Vec<TestEdge> = (1..100).map(|target| heavy(target % 3, 4090 + target)).collect();
        let source = TestSource::new(&LABELS, &edges, None);
        let (rows, set) = (2 * 4096, 2 * 4096 / 8);
        let exists = Filter { key: WEIGHT, condition: Condition::Exists };
        let filtered = Projection { edges: vec![exists], ..Projection::all(Direction::In) };
        let weighted = |direction| weighted(None, None, direction);
        // The out side has its numbers, where it stays.
        for (projection, edge_bytes, out_bytes) in
            [(weighted(Direction::In), 12, 0), (weighted(Direction::Both), 12, 99 * 8), (filtered, 4, 0)]
        {
            let budget = MemoryBudget::new(u64::MAX);
            let graph = frozen(&source, None, &projection, ValueType::I64, &budget).unwrap();
            assert_eq!(graph.edge_count(), 99);
            let transposed = 99 * edge_bytes + rows * 4;
            assert_eq!(reserved_bytes(&budget, PURPOSE), transposed);
            assert_eq!(budget.used_bytes(), set + out_bytes + transposed, "{projection:?}");
            drop(graph);
            // Degrees and places lie beside it.
            let limit = set + 99 * 8 + transposed + rows * 8;
            if projection.edges.is_empty() {
                for (limit, is_enough) in [(limit - 1, false), (limit, true)] {
                    let budget = MemoryBudget::new(limit);
                    let graph = frozen(&source, None, &projection, ValueType::I64, &budget);
                    assert_eq!(graph.is_ok(), is_enough, "{limit} bytes for {projection:?}");
                }
            }
        }
    }

    #[test]
    fn it_ends_where_it_is_when_it_is_cancelled() {
        // A list in each of 20 groups, which is read once in each of two passes.
        let edges: Vec<TestEdge> =
            (0..20).map(|group| heavy(group * GROUP_SIZE, (group + 1) % 20 * GROUP_SIZE)).collect();
        let watch = Arc::new(ReadWatch::default());
        let source = TestSource::new(&[0; 20], &edges, Some(&watch));
        let budget = MemoryBudget::new(u64::MAX);
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let projection = weighted(None, None, Direction::In);
        let freeze = || pool.install(|| frozen(&source, None, &projection, ValueType::I64, &budget));
        watch.cancel_at(0);
        assert_eq!(freeze().unwrap().edge_count(), 20);
        let all = watch.reads();
        watch.cancel_at(all - 30);
        let error = freeze().err().unwrap();
        assert_eq!((error.kind(), watch.reads()), (ErrorKind::Cancelled, all - 30), "{error}");
        assert_eq!(budget.reservations(), []);
    }
}
