//! Openings: from the opening of a store until its lists can be read.

use crate::edges::Contents;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::mapped::shuffled;
use crate::workload::mapped::store::{Ending, RawOptions, Sides, durable};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;

/// Measures both, on a graph with both sides that is in the system's cache.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    let options = RawOptions::new(work.plan, edges.len(), Sides::Both);
    let mut folders = Vec::new();
    let columns: Vec<_> = durable().collect();
    for (column, _) in &columns {
        let folder = work.folder_for(column.name)?;
        let store = (column.create)(folder.path(), &options)?;
        store.insert(&edges)?;
        store.end(Ending::ShutDown)?;
        folders.push(folder);
    }
    let expected = Contents::of(&edges);
    for (ending, name, title) in [
        (Ending::ShutDown, "shut_down", "opening after a shutdown"),
        (Ending::Dropped, "dropped", "opening after the end of the process"),
    ] {
        let mut race = Race::new(columns.iter().map(|(column, _)| column.name));
        for round in 0..work.plan.rounds {
            race.round(round, |place| {
                let (column, open) = columns[place];
                // Left by another opening as it is to be found.
                let store = open(folders[place].path(), &options)?;
                store.end(ending)?;
                let watch = Stopwatch::start();
                let store = open(folders[place].path(), &options)?;
                let lists = store.lists()?;
                let spent = watch.stop();
                expect(column.name, "all its edges", lists.contents()?, expected)?;
                drop(lists);
                store.end(ending)?;
                Ok(Sample::timed(spent.wall, spent))
            })?;
        }
        let title = format!("{title}, both sides, {} edges, until lists can be read", edges.len());
        work.add_race(&Heading::new(format!("mapped.open.{name}"), title, Unit::Seconds), &race);
    }
    Ok(())
}
