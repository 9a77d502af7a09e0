//! Link reports: tells whoever runs a node what happens to its connections, in a thread of its own.

use crate::running::monitor::NodeMonitor;
use crate::running::periodic_thread::PeriodicThread;
use crate::running::report::NodeReport;
use crate::transport::tcp::events::LinkEvent;
use crate::transport::tcp::monitor::NetworkMonitor;
use std::io;
use std::time::Duration;

/// How often it looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Starts the thread `name`, which looks at `network` and tells `monitor`.
///
/// # Errors
/// What the system says if it has no thread to give.
pub(super) fn report_links(
    name: &str,
    network: NetworkMonitor,
    monitor: NodeMonitor,
) -> io::Result<PeriodicThread> {
    PeriodicThread::start(name, LOOK_INTERVAL, move || {
        let looked = network.take_events();
        if looked.forgotten > 0 {
            let text = format!("{} events of connections were forgotten", looked.forgotten);
            monitor.report(&NodeReport::warning(text));
        }
        looked.events.iter().for_each(|event| monitor.report(&report_of(event)));
    })
}

fn report_of(event: &LinkEvent) -> NodeReport {
    let text = format!("connection {event}");
    match event.outcome {
        Ok(()) => NodeReport::notice(text),
        Err(_) => NodeReport::warning(text),
    }
}
