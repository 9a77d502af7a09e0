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
    /// `limit` if the budget refuses, `corrupt` if a list names a vertex of no group, and those of the lists.
    pub(crate) fn transposed(
        &self,
        out: &[Box<[FrozenList<S::Lists>]>],
        groups: u32,
    ) -> Result<FrozenSide<S::Lists>> {
        let total: u64 = out.iter().flatten().map(FrozenList::edges_count).sum();
        let bytes = total as usize * 12 + groups as usize * GROUP_SIZE as usize * 4;
        self.reserve(PURPOSE, bytes)?;
        let mut degrees = vec![0u32; groups as usize * GROUP_SIZE as usize];
        let each_piece = |visit: &mut dyn FnMut(u32, Piece<'_>)| -> Result<()> {
            for (group, lists) in out.iter().enumerate() {
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
        // All lists have weights, or none.
        let is_weighted = out.iter().flatten().any(FrozenList::is_weighted);
        let mut sides: Vec<Side> = Vec::with_capacity(groups as usize);
        let mut next = vec![0u32; degrees.len()];
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
            let weights = if is_weighted { ListWeights::Own(weights.into()) } else { ListWeights::None };
            Ok(Box::from([FrozenList::new(S::Lists::of_copy(Arc::new(body)), weights, None)?]))
        };
        lists.map(list).collect()
    }
}
