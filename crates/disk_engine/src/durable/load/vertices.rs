//! Vertices of a load: its new groups, table after table in the order of their groups, from blocks to files.

use crate::durable::load::ends::by_key;
use crate::durable::load::output::LoadOutput;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::properties::Properties;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};

/// Writes all new vertices. Cost: one pass over their blocks.
///
/// # Errors
/// What reading blocks, writing and `done` say.
pub(super) fn write_vertices(
    plan: &LoadPlan<'_>,
    output: &mut LoadOutput<'_>,
    done: &mut OnLoadProgress<'_>,
) -> Result<()> {
    let mut by_first: Vec<usize> = (0..plan.load.vertices.len()).collect();
    by_first.sort_unstable_by_key(|table| plan.numbers.tables[*table].1);
    for table in by_first {
        let first = plan.numbers.tables[table].1.first().0;
        let table = &plan.load.vertices[table];
        let keys = by_key(plan, table.properties.iter().map(|(name, _)| name));
        let mut rows = 0;
        table.blocks.for_each(&mut |block| {
            for row in 0..block.rows {
                let properties = keys.iter().filter_map(|(key, place)| {
                    let value = block.column(*place)?.get(row)?;
                    Some((*key, Some(value)))
                });
                output.push_vertex(VertexId(first + rows), &Properties::new(properties.collect()))?;
                rows += 1;
            }
            done(0)
        })?;
    }
    Ok(())
}
