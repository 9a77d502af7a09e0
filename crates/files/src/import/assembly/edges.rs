//! Edges: finds the rows of the ends of a batch's edges. An unknown end is a fault, or handled by policy.
//!
//! ```text
//! batch, entries ──place_edges──> groups by type and labels ──store_edges──> tables
//!                        └──────> rejected rows ──> whoever read the file describes them
//! ```

use crate::import::assembly::batch::{Batch, EndEntries, Ends, Group, Grouping, IdPart, RejectedRow};
use crate::import::assembly::graph::Assembly;
use crate::import::faults::{FaultRules, Faults};
use crate::import::identity::VACANT;
use crate::import::policy::OnUnknown;
use evergraph_graph::error::Result;
use std::collections::HashMap;

/// What the edges of a file have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeRule {
    /// The space where the ids of sources are looked up.
    pub source_space: usize,
    /// The space where the ids of targets are looked up.
    pub target_space: usize,
    /// Whether a source that isn't there is created, whatever the options say.
    pub creates_sources: bool,
    /// The same of targets.
    pub creates_targets: bool,
    /// Whether a pair of vertices has one edge of a type at most, whichever way round.
    pub undirected: bool,
}

/// Edges of a batch that go to one table.
#[derive(Default)]
pub(super) struct EdgeGroup {
    pub group: Group,
    pub sources: Vec<u32>,
    pub targets: Vec<u32>,
}

/// What the edges of a table have in common: index of the type, tables of source and target.
pub(super) type EdgeTableKey = (usize, usize, usize);

/// Edges of a batch whose ends are found, ready to be stored, in order of appearance.
pub struct PlacedEdges {
    groups: Vec<(EdgeTableKey, EdgeGroup)>,
    undirected: bool,
}

impl Assembly {
    /// Places the edges of `batch`, whose ends [`Assembly::look_up`] found, as `rule` says; ends that are not there are
    /// created if they may be. Also the rows that have an unknown end, unless these are settled.
    ///
    /// # Errors
    /// `invalid` for unknown ends that can't be created; what reading the database and spilled ids meets.
    pub fn place_edges(
        &mut self,
        file: &str,
        rule: EdgeRule,
        (batch, entries): (&Batch<Ends>, &EndEntries),
        rules: FaultRules,
    ) -> Result<(PlacedEdges, Faults<RejectedRow>)> {
        if rule.creates_sources || self.on_unknown == OnUnknown::Create {
            self.create_unknown(file, rule.source_space, (&batch.ids.sources, &entries.sources))?;
        }
        if rule.creates_targets || self.on_unknown == OnUnknown::Create {
            self.create_unknown(file, rule.target_space, (&batch.ids.targets, &entries.targets))?;
        }
        let mut unknown = Faults::new(rules);
        let groups = self.find_ends(file, rule, (batch, entries), &mut unknown)?;
        if self.on_unknown == OnUnknown::Skip {
            self.settled.unknown += unknown.count();
            unknown = Faults::new(rules);
        }
        Ok((PlacedEdges { groups, undirected: rule.undirected }, unknown))
    }

    /// Stores the edges of `batch` whose ends were found. Gives how many there were.
    ///
    /// # Errors
    /// `invalid` for numbers of unstated type that don't survive as doubles.
    pub fn store_edges(&mut self, file: &str, placed: PlacedEdges, mut batch: Batch<Ends>) -> Result<u64> {
        let PlacedEdges { mut groups, undirected } = placed;
        if undirected {
            for (joins, group) in &mut groups {
                self.drop_repeated_pairs(&batch.names.names[joins.0], *joins, group);
            }
        }
        let rows = batch.lines.len();
        let typing = batch.columns.typing();
        let mut added = 0;
        for ((code, source, target), EdgeGroup { group, sources, targets }) in groups {
            let columns = batch.columns.take(code, &group, rows);
            let table = self.edge_table(&batch.names.names[code], source, target);
            let first = self.edges[table].stage.rows();
            self.edges[table].push(sources, targets, columns, typing).map_err(|error| error.context(file))?;
            if undirected {
                self.undirected.note(table, first..self.edges[table].stage.rows());
            }
            added += group.rows.len() as u64;
        }
        Ok(added)
    }

    /// Looks the ends of edges up and groups edges by type and labels.
    fn find_ends(
        &mut self,
        file: &str,
        rule: EdgeRule,
        (batch, entries): (&Batch<Ends>, &EndEntries),
        unknown: &mut Faults<RejectedRow>,
    ) -> Result<Vec<(EdgeTableKey, EdgeGroup)>> {
        let EdgeRule { source_space, target_space, .. } = rule;
        let Ends { sources, targets } = &batch.ids;
        let mut groups: Vec<(EdgeTableKey, EdgeGroup)> = Vec::new();
        let mut group_at: HashMap<EdgeTableKey, usize> = HashMap::new();
        let mut grouping = Grouping::new(&batch.columns);
        let mut last = 0;
        for row in 0..batch.lines.len() {
            let code = batch.names.code(row);
            let mut find = |space: usize, entry: u32, ids| match entry {
                // Perhaps the database's, or one that came into the space by a row before.
                VACANT => self.find_vertex(file, space, ids, row),
                entry => Ok(Some(self.spaces[space].place_of(entry))),
            };
            let found = (
                find(source_space, entries.sources[row], sources)?,
                find(target_space, entries.targets[row], targets)?,
            );
            let (Some(source), Some(target)) = found else {
                grouping.step(row, code, None);
                unknown.push(batch.lines[row], || {
                    let (part, ids, space) = match found {
                        (None, _) => (IdPart::Source, sources, source_space),
                        _ => (IdPart::Target, targets, target_space),
                    };
                    let space = self.spaces[space].title();
                    let why = format!("there is no vertex {} in {space}", ids.show(row));
                    RejectedRow { row, part, why }
                });
                continue;
            };
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
        Ok(groups)
    }
}
