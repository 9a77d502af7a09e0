//! Run: all measurements of transactions in their order.

use crate::bench::report::BenchReport;
use crate::bench::transactions::plan::{Part, Plan, Work};
use crate::bench::transactions::told::Told;
use crate::bench::transactions::{half_writes, held_snapshot, hub_appends, hub_look_ups, recovery, social};
use crate::folder::Folder;
use clap::ValueEnum;
use evergraph_graph::cancel::CancelFlag;
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use std::path::Path;

/// Measures the parts of `plan`, telling each table when it is done.
///
/// # Errors
/// `cancelled`; what making and opening databases meets.
pub fn run(
    plan: Plan,
    parent: Option<&Path>,
    console: &Console,
    cancel: &CancelFlag,
) -> std::result::Result<BenchReport<Plan>, Failure> {
    let mut report = BenchReport::begin(plan.clone(), console)?;
    for part in Part::value_variants().iter().filter(|part| plan.parts.contains(part)) {
        // A folder for each part, so that what was measured leaves the disk.
        let folder = Folder::make("evergraph-bench-", parent)?;
        let work = Work { plan: &plan, folder: folder.path(), console, cancel };
        let tables: Vec<Told> = match part {
            Part::Social => vec![social::measure(&work)?],
            Part::HalfWrites => vec![half_writes::measure(&work)?],
            Part::HubLookUps => vec![hub_look_ups::measure(&work)?],
            Part::HubAppends => vec![hub_appends::measure(&work)?],
            Part::HeldSnapshot => vec![held_snapshot::measure(&work)?],
            Part::Recovery => recovery::measure(&work)?.into(),
        };
        for table in tables {
            report.add(table.section.clone(), &table, console)?;
        }
    }
    Ok(report)
}
