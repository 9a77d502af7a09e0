//! Write: a load's vertices and edges become files, in key order.

use crate::durable::load::edges::TypeLoad;
use crate::durable::load::ends::ResolvedEdgeTable;
use crate::durable::load::output::{LoadFileLimits, LoadFiles, LoadOutput};
use crate::durable::load::present::LastPresent;
use crate::durable::load::touched::TouchedSegments;
use crate::durable::load::vertices::write_vertices;
use crate::format::file_name::FileNumber;
use crate::format::filter::FilterChoice;
use crate::format::subject::Subject;
use crate::spill::file::SpillDirectory;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GROUP_SIZE, GroupId, LabelId, TypeId};
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use evergraph_storage::io::directory::Directory;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A load that is being written.
pub(super) struct LoadWrite<'a> {
    /// The load.
    pub plan: &'a LoadPlan<'a>,
    /// Where its files are written.
    pub directory: &'a Arc<dyn Directory>,
    /// Numbers of files that were never used.
    pub next_number: &'a dyn Fn() -> FileNumber,
    /// The edges that are there.
    pub present: &'a LastPresent<'a>,
    /// Where its files are cut.
    pub limits: LoadFileLimits,
    /// Which filters they get.
    pub filters: FilterChoice,
}

/// A load whose files are durable and not named by anything.
#[derive(Debug)]
pub(super) struct WrittenLoad {
    /// Its files.
    pub files: LoadFiles,
    /// Its new groups, with their labels.
    pub groups: BTreeMap<GroupId, LabelId>,
    /// The segments that it changes.
    pub touched: TouchedSegments,
}

impl LoadWrite<'_> {
    /// Writes everything.
    ///
    /// Cost: one pass over blocks of vertices and two over those of edges; each edge is written to a bucket
    /// and read again once a side, unless the edges of its type fit the memory; sorting some 100 ns an edge
    /// and side.
    ///
    /// # Errors
    /// As `DurableEngine::build_load`; what was written is removed then.
    pub(super) fn write(&self, done: &mut OnLoadProgress<'_>) -> Result<WrittenLoad> {
        let Self { plan, directory, next_number, .. } = *self;
        let groups = new_groups(plan);
        let mut touched: BTreeSet<_> = groups.keys().map(|group| (*group, Subject::VERTICES)).collect();
        let records = plan.load.vertices_count().saturating_add(plan.load.edges_count().saturating_mul(2));
        let output = LoadOutput::new(directory, next_number, plan.numbers.base, records, self.limits);
        let mut output = output.with_filters(self.filters);
        write_vertices(plan, &mut output, done)?;
        let mut types: Vec<TypeId> = plan.numbers.types.clone();
        types.sort_unstable();
        types.dedup();
        for edge_type in types {
            let of_type = TypeLoad {
                edge_type,
                is_simple: plan.numbers.simple.contains(&edge_type),
                tables: ResolvedEdgeTable::of_type(plan, edge_type),
                memory_bytes: plan.memory_bytes,
                is_new: &|group| groups.contains_key(&group),
                present: self.present,
                spill: &|| SpillDirectory { directory, next_number },
            };
            of_type.write(&mut output, &mut touched, done)?;
        }
        Ok(WrittenLoad { files: output.finish()?, groups, touched: TouchedSegments::of(touched) })
    }
}

/// The groups that the rows of a load's tables take, with their labels.
fn new_groups(plan: &LoadPlan<'_>) -> BTreeMap<GroupId, LabelId> {
    let tables = plan.load.vertices.iter().zip(&plan.numbers.tables);
    tables
        .flat_map(|(table, (label, first))| {
            let count = table.rows.div_ceil(u64::from(GROUP_SIZE)) as u32;
            (first.0..first.0 + count).map(|group| (GroupId(group), *label))
        })
        .collect()
}
