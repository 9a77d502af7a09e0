//! Run: the whole of a benchmark in its order.

use crate::bench::plan::{Plan, Work};
use crate::bench::report::BenchReport;
use crate::bench::section::Section;
use crate::bench::{commits, importing, live, looking_up, restart};
use crate::folder::Folder;
use evergraph_graph::cancel::CancelFlag;
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use std::path::Path;

/// Measures everything, telling each section when it is done.
///
/// # Errors
/// `cancelled`; what making and opening databases meets.
pub fn run(
    plan: &Plan,
    parent: Option<&Path>,
    console: &Console,
    cancel: &CancelFlag,
) -> std::result::Result<BenchReport<Plan>, Failure> {
    let mut report = BenchReport::begin(*plan, console)?;
    let folder = Folder::make("evergraph-bench-", parent)?;
    let work = Work { plan, folder: folder.path(), console, cancel };
    let mut done = |section: Section| report.add(section.clone(), &section, console);
    done(commits::measure(&work)?)?;
    live::measure(&work)?.into_iter().try_for_each(&mut done)?;
    done(looking_up::measure(&work)?)?;
    let (imported, database) = importing::measure(&work)?;
    done(imported)?;
    done(restart::measure(&work, &database)?)?;
    Ok(report)
}
