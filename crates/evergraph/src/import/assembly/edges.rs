//! Edges: batches of them find the rows of their ends; an end that is no vertex is a fault, or settled.

use crate::import::assembly::batch::{Batch, Describe, Ends, Group, Grouping, IdPart};
use crate::import::assembly::graph::Assembly;
use crate::import::faults::{FaultCollector, Faults};
use crate::import::policy::OnUnknown;
use evergraph_graph::error::{Error, Result};
use std::collections::HashMap;

/// Edges of a batch that go to one table.
#[derive(Default)]
struct EdgeGroup {
    group: Group,
    sources: Vec<u32>,
    targets: Vec<u32>,
}

/// Whether it matters at which end an edge begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    OneWay,
    None,
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
        batch: Batch<Ends>,
        describe: Describe<'_>,
        collector: &mut FaultCollector,
    ) -> Result<u64> {
        self.add(file, (spaces, Direction::OneWay), batch, describe, collector)
    }

    /// As [`Assembly::add_edges`], for edges without direction: a pair of vertices has one of a type,
    /// the first one, whichever way round it is written.
    ///
    /// # Errors
    /// As [`Assembly::add_edges`].
    pub fn add_undirected_edges(
        &mut self,
        file: &str,
        spaces: [usize; 2],
        batch: Batch<Ends>,
        describe: Describe<'_>,
        collector: &mut FaultCollector,
    ) -> Result<u64> {
        self.add(file, (spaces, Direction::None), batch, describe, collector)
    }

    fn add(
        &mut self,
        file: &str,
        (spaces, direction): ([usize; 2], Direction),
        mut batch: Batch<Ends>,
        describe: Describe<'_>,
        collector: &mut FaultCollector,
    ) -> Result<u64> {
        self.drop_dead_rows();
        let on_unknown = self.policy.on_unknown;
        if on_unknown == OnUnknown::Create {
            self.create_unknown(file, spaces[0], &batch.ids.sources)?;
            self.create_unknown(file, spaces[1], &batch.ids.targets)?;
        }
        let mut unknown = Faults::new(collector.rules());
        let groups = self.place_edges((spaces, direction), &batch, describe, &mut unknown);
        if on_unknown == OnUnknown::Skip {
            self.settled.unknown += unknown.count();
        } else {
            batch.faults.join(unknown);
        }
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
        ([source_space, target_space], direction): ([usize; 2], Direction),
        batch: &Batch<Ends>,
        describe: Describe<'_>,
        unknown: &mut Faults,
    ) -> Vec<(Joins, EdgeGroup)> {
        let (source_space, target_space) = (&self.spaces[source_space], &self.spaces[target_space]);
        let Ends { sources, targets } = &batch.ids;
        let mut groups: Vec<(Joins, EdgeGroup)> = Vec::new();
        let mut group_at: HashMap<Joins, usize> = HashMap::new();
        let mut grouping = Grouping::new(&batch.columns);
        let mut last = 0;
        for row in 0..batch.lines.len() {
            let code = batch.names.code(row);
            let found = (source_space.find(sources, row), target_space.find(targets, row));
            let (Some(source), Some(target)) = found else {
                grouping.step(row, code, None);
                unknown.push(batch.lines[row], || {
                    let (part, ids, space) = match found {
                        (None, _) => (IdPart::Source, sources, source_space),
                        _ => (IdPart::Target, targets, target_space),
                    };
                    let why = format!("there is no vertex {} in {}", ids.show(row), space.title());
                    describe(row, part, why)
                });
                continue;
            };
            if direction == Direction::None {
                let pairs = self.pairs.entry(batch.names.names[code].clone()).or_default();
                let is_forwards = (source.table, source.row) <= (target.table, target.row);
                if !pairs.insert(if is_forwards { [source, target] } else { [target, source] }) {
                    grouping.step(row, code, None);
                    self.settled.repeated_pairs += 1;
                    continue;
                }
            }
            let joins = (code, source.table, target.table);
            if groups.get(last).is_none_or(|(other, _)| *other != joins) {
                last = *group_at.entry(joins).or_insert_with(|| {
                    groups.push((joins, EdgeGroup::default()));
                    groups.len() - 1
                });
            }
            let edges = &mut groups[last].1;
            grouping.step(row, code, Some(&mut edges.group));
            edges.sources.push(source.row);
            edges.targets.push(target.row);
        }
        groups
    }
}
