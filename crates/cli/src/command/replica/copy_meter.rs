//! Copy meter: how far the copy of a source's tables is, on the meter of the command.

use evergraph_replica::copy::options::{CopyProgress, CopyStage};
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::count;

/// Shows `progress` on `meter`.
pub fn tell(meter: &Meter, progress: &CopyProgress) {
    let stage = match progress.stage {
        CopyStage::Vertices => "copy vertices",
        CopyStage::Edges => "copy edges",
        CopyStage::Building => "build the graph",
        CopyStage::Writing => "write the graph",
    };
    meter.tell(stage, progress.fraction, || match progress.stage {
        CopyStage::Vertices | CopyStage::Edges => format!(
            "{}, {} rows, {} rows/s",
            progress.table,
            count(progress.rows),
            count(progress.rows_per_second() as u64)
        ),
        CopyStage::Building | CopyStage::Writing => format!("{} rows", count(progress.rows)),
    });
}
