//! Edges: batches of them find the rows of their ends; an end that is no vertex is a fault.

use crate::import::assembly::batch::{Batch, Describe, Ends, Group, Grouping, IdPart};
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::faults::{FaultCollector, Faults};
use evergraph_graph::error::{Error, Result};
use std::collections::HashMap;

/// Edges of a batch that go to one table.
#[derive(Default)]
struct EdgeGroup {
    group: Group,
    sources: Vec<u32>,
    targets: Vec<u32>,
}

/// What the edges of a table have in common: index of the type, tables of source and target.
type Joins = (usize, usize, usize);

impl Assembly {
    /// Adds the edges of `batch`, whose sources and targets have their ids in `spaces`. Gives how many
    /// there were.
    ///
    /// # Errors
    /// A bad row, if it stops the import: an unknown end is one; `invalid` for numbers of unstated
    /// type that don't survive as doubles.
    pub fn add_edges(
        &mut self,
        file: &str,
        spaces: [usize; 2],
        mut batch: Batch<Ends>,
        describe: Describe<'_>,
        collector: &mut FaultCollector,
    ) -> Result<u64> {
        let mut unknown = Faults::new(collector.rules());
        let groups = self.place_edges(spaces, &batch, describe, &mut unknown)?;
        batch.faults.join(unknown);
        collector.add(file, 0, batch.faults)?;
        let rows = batch.lines.len();
        let typing = batch.columns.typing();
        let mut added = 0;
        for ((code, source, target), EdgeGroup { group, sources, targets }) in groups {
            let columns = batch.columns.take(code, &group, rows);
            let table = self.edge_table(&batch.names.names[code], source, target);
            self.edges[table]
                .push(sources, targets, columns, typing)
                .map_err(|why| Error::invalid(format!("{file}: {why}")))?;
            added += group.rows.len() as u64;
        }
        Ok(added)
    }

    /// Looks the ends of edges up and groups edges by type and labels, in order of appearance.
    fn place_edges(
        &mut self,
        spaces: [usize; 2],
        batch: &Batch<Ends>,
        describe: Describe<'_>,
        unknown: &mut Faults,
    ) -> Result<Vec<(Joins, EdgeGroup)>> {
        let Ends { sources, targets } = &batch.ids;
        let mut groups: Vec<(Joins, EdgeGroup)> = Vec::new();
        let mut group_at: HashMap<Joins, usize> = HashMap::new();
        let mut grouping = Grouping::new(&batch.columns);
        let mut last = 0;
        for row in 0..batch.lines.len() {
            let code = batch.names.code(row);
            let found = (self.find_end(spaces[0], sources, row)?, self.find_end(spaces[1], targets, row)?);
            let (Some((source_table, source)), Some((target_table, target))) = found else {
                grouping.step(row, code, None);
                unknown.push(batch.lines[row], || {
                    let (part, ids, space) = match found {
                        (None, _) => (IdPart::Source, sources, spaces[0]),
                        _ => (IdPart::Target, targets, spaces[1]),
                    };
                    let space = self.spaces[space].title();
                    let why = format!("there is no vertex {} in {space}", ids.show(row));
                    describe(row, part, why)
                });
                continue;
            };
            let joins = (code, source_table, target_table);
            if groups.get(last).is_none_or(|(other, _)| *other != joins) {
                last = *group_at.entry(joins).or_insert_with(|| {
                    groups.push((joins, EdgeGroup::default()));
                    groups.len() - 1
                });
            }
            let edges = &mut groups[last].1;
            grouping.step(row, code, Some(&mut edges.group));
            edges.sources.push(source);
            edges.targets.push(target);
        }
        Ok(groups)
    }

    /// The table and the number of a vertex that the files or the database have.
    fn find_end(&mut self, space: usize, ids: &IdColumn, row: usize) -> Result<Option<(usize, u32)>> {
        match self.spaces[space].find(ids, row) {
            Some(found) => Ok(Some(found)),
            None => self.find_existing(space, ids, row),
        }
    }
}
