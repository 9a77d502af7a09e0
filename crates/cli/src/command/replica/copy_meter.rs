//! Copy meter: how far the copy of a source's tables is, and what its source waits for, on the meter and the console of the command.

use evergraph_replica::copy::options::{CopyProgress, CopyStage};
use evergraph_replica::source::slot_wait::SlotWait;
use evergraph_terminal::console::Console;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::count;
use evergraph_terminal::table::visible;
use std::cell::RefCell;

/// Shows a copy's progress.
pub struct CopyMeter<'a> {
    meter: &'a Meter,
    console: &'a Console,
    waits: WaitNews,
}

impl<'a> CopyMeter<'a> {
    /// On `meter`; what the source waits for is a note on `console`.
    pub fn new(meter: &'a Meter, console: &'a Console) -> Self {
        Self { meter, console, waits: WaitNews::default() }
    }

    /// Shows `progress`.
    pub fn tell(&self, progress: &CopyProgress) {
        let stage = match progress.stage {
            CopyStage::Waiting => "wait for the source",
            CopyStage::Vertices => "copy vertices",
            CopyStage::Edges => "copy edges",
            CopyStage::Building => "build the graph",
            CopyStage::Writing => "write the graph",
        };
        if let Some(wait) = &progress.wait {
            self.waits.tell(wait, self.console);
        }
        self.meter.tell(stage, progress.fraction, || match progress.stage {
            CopyStage::Waiting => "for transactions that were open before".to_owned(),
            CopyStage::Vertices | CopyStage::Edges => format!(
                "{}, {} rows, {} rows/s",
                progress.table,
                count(progress.rows),
                count(progress.rows_per_second() as u64)
            ),
            CopyStage::Building | CopyStage::Writing => format!("{} rows", count(progress.rows)),
        });
    }
}

/// Tells what a source waits for, once for as long as it is the same.
#[derive(Debug, Default)]
pub struct WaitNews(RefCell<Option<SlotWait>>);

impl WaitNews {
    /// Tells `wait` on `console`, if it is another one than before.
    pub fn tell(&self, wait: &SlotWait, console: &Console) {
        if self.0.replace(Some(wait.clone())).as_ref() != Some(wait) {
            console.note(visible(&wait.to_string()));
        }
    }
}
