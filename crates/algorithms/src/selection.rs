//! Selection: the vertices of some labels whose properties satisfy conditions, as a set.
//!
//! ```text
//! scan a block of ids ── threads take batches, read one property after the other, keep who satisfies it
//!                    └─> their bits
//! ```
//!
//! Cost: one look at each vertex, one property read for each condition until one fails. Memory: one
//! bit a vertex, and a block of ids.

use crate::control::Control;
use evergraph_graph::budget::Reservation;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{LabelId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::{GraphView, VertexCursor};
use rayon::prelude::*;

/// The chosen vertices.
pub(crate) struct Selection {
    pub(crate) vertices: VertexSet,
    _reserved: Vec<Reservation>,
}

/// Ids scanned at once: enough for all threads.
const BLOCK: usize = 256 * 1024;

/// Vertices whose property is read in one call.
const BATCH: usize = 4096;

/// Words of the set for which memory is reserved at once.
const WORDS_STEP: usize = 64 * 1024;

/// The vertices of `labels` (`None`: all) in `view` that satisfy every one of `filters`.
///
/// # Errors
/// `limit` if the budget of `control` refuses; `cancelled`; errors of reading.
pub(crate) fn select<V: GraphView + ?Sized>(
    view: &V,
    labels: Option<&[LabelId]>,
    filters: &[Filter],
    control: &Control<'_>,
) -> Result<Selection> {
    let mut reserved = vec![control.reserve("ids to filter", BLOCK as u32, size_of::<VertexId>())?];
    let (mut words, mut room) = (Vec::new(), 0);
    let (mut cursor, mut block) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        control.check()?;
        block.clear();
        view.scan_vertices(labels, &mut cursor, BLOCK, &mut block)?;
        let kept = block.par_chunks(BATCH).map(|batch| {
            control.check()?;
            let mut batch = batch.to_vec();
            retain(view, filters, &mut batch)?;
            Ok(batch)
        });
        for vertex in kept.collect::<Result<Vec<_>>>()?.concat() {
            let word = vertex.0 as usize / 64;
            while word >= room {
                reserved.push(control.reserve("the set of chosen vertices", WORDS_STEP as u32, 8)?);
                room += WORDS_STEP;
                words.reserve_exact(WORDS_STEP);
            }
            if word >= words.len() {
                words.resize(word + 1, 0);
            }
            words[word] |= 1_u64 << (vertex.0 % 64);
        }
    }
    let bound = u32::try_from(words.len() * 64).unwrap_or(u32::MAX);
    if bound == u32::MAX
        && let Some(last) = words.last_mut()
    {
        // No bound is above the highest id: as in every topology, it takes no part.
        *last &= u64::MAX >> 1;
    }
    Ok(Selection { vertices: VertexSet::from_words(words, bound), _reserved: reserved })
}

/// Keeps those of `vertices` that satisfy every one of `filters`.
///
/// # Errors
/// Errors of reading.
pub(crate) fn retain<V: GraphView + ?Sized>(
    view: &V,
    filters: &[Filter],
    vertices: &mut Vec<VertexId>,
) -> Result<()> {
    for filter in filters {
        let mut column = Column::new(ValueType::Any);
        view.vertex_properties(vertices, filter.key, &mut column)?;
        let mut row = 0;
        vertices.retain(|_| {
            row += 1;
            filter.holds(column.get(row - 1).as_ref())
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::Graph;
    use crate::view::Limit;
    use crate::walkable::{AGE, LABELS, Walkable};
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::filter::{Comparison, Condition};

    fn at_least(age: i64) -> Filter {
        Filter { key: AGE, condition: Condition::Compare(Comparison::GreaterOrEqual, age.into()) }
    }

    #[test]
    fn vertices_that_satisfy_every_condition_are_chosen() {
        // Age is ten times the number, the label the number modulo 2.
        let view = Walkable::new(Graph::new(300, &[]).without(&[77]));
        let young = Filter { key: AGE, condition: Condition::Compare(Comparison::Less, 800_i64.into()) };
        let chosen = select(&view, Some(&LABELS[1..]), &[at_least(751), young], &Control::default()).unwrap();
        assert_eq!(chosen.vertices.iter().collect::<Vec<_>>(), [79]);
        let all = select(&view, None, &[at_least(-5)], &Control::default()).unwrap();
        assert_eq!((all.vertices.len(), all.vertices.contains(77)), (299, false));
        let none = select(&view, None, &[at_least(1 << 40)], &Control::default()).unwrap();
        assert!(none.vertices.is_empty());
    }

    #[test]
    fn its_memory_comes_from_the_budget() {
        let view = Walkable::new(Graph::new(3, &[]));
        let budget = Limit((BLOCK * 4 - 1) as u64);
        let refused = select(&view, None, &[at_least(0)], &Control::new(&budget)).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Limit);
    }
}
