//! Remote job: how far a job of a server is, on the program's own meter.

use evergraph_client::admin::jobs::RemoteProgress;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::{count, size};
use evergraph_terminal::table::visible;

/// Tells `meter` how far a job is.
pub fn tell(meter: &Meter, progress: &RemoteProgress) {
    let RemoteProgress { phase, done, total, unit, .. } = progress;
    let share = total.map(|total| *done as f64 / total.max(1) as f64);
    meter.tell(&visible(phase), share, || match &**unit {
        "bytes" => size(*done),
        unit => format!("{} {}", count(*done), visible(unit)),
    });
}
