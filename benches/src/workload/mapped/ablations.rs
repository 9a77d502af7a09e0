//! Ablations: inserts into the packed graph with components of DGAP replaced, as in table 5 of the paper.

use crate::plan::Work;
use crate::race::Race;
use crate::results::Heading;
use crate::workload::mapped::inserts::{CountedRounds, add_counted, insert_all};
use crate::workload::mapped::store::{RawOptions, Sides};
use crate::workload::mapped::{packed, shuffled};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use evergraph_packed::ablation::{Ablation, Placement, TakenSlot, UndoKind};

const NO_LOGS: Ablation = Ablation { taken_slot: TakenSlot::Shifted, ..Ablation::NONE };

/// What is measured: the whole; each component alone; and one more after the other, as in the paper.
const VARIANTS: &[(&str, Ablation)] = &[
    (packed::COLUMN.name, Ablation::NONE),
    ("no section logs", NO_LOGS),
    ("no undo slots", Ablation { undo: UndoKind::Journal, ..Ablation::NONE }),
    ("metadata in the file", Ablation { placement: Placement::File, ..Ablation::NONE }),
    ("no section logs, no undo slots", Ablation { undo: UndoKind::Journal, ..NO_LOGS }),
    ("none of the three", Ablation::ALL),
];

/// Measures all of them by one writer: edges a second, bytes written back and fences an edge.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let degree = work.plan.mapped.degree;
    let edges = shuffled(work.plan, degree)?;
    let names = || VARIANTS.iter().map(|(name, _)| *name);
    let mut race = Race::new(names()).undisturbed();
    let mut counted: Vec<CountedRounds> = names().map(|name| (name, Vec::new())).collect();
    let options = RawOptions::new(work.plan, edges.len(), Sides::Out);
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let (name, ablation) = VARIANTS[place];
            let folder = work.folder_for("ablation")?;
            let store = packed::create_ablated(folder.path(), &options, ablation)?;
            let (sample, counts) = insert_all(store, name, 1, &edges)?;
            counted[place].1.push(counts);
            Ok(sample)
        })?;
    }
    let heading = |name: &str, title: &str, unit| {
        let title = format!("{title}, one side, degree {degree}, components of DGAP replaced");
        Heading::new(format!("mapped.ablations.{name}"), title, unit).with("degree", degree)
    };
    work.add_race(&heading("insert", "edges inserted one by one", Unit::PerSecond), &race);
    add_counted(
        work,
        &heading("bytes", "bytes written back an edge", Unit::BytesPerEdge),
        &counted,
        |counts| counts.bytes_written_back as f64 / counts.measured as f64,
    );
    add_counted(work, &heading("fences", "fences an edge", Unit::Number), &counted, |counts| {
        counts.fences as f64 / counts.measured as f64
    });
    Ok(())
}
