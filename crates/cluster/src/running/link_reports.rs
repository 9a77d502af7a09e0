//! Link reports: tells whoever runs a node what happens to its connections, in a thread of its own.

use crate::running::monitor::NodeMonitor;
use crate::running::report::NodeReport;
use crate::transport::tcp::events::LinkEvent;
use crate::transport::tcp::monitor::NetworkMonitor;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How often it looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The thread. Dropped, it ends it, and waits for that.
pub(super) struct LinkReports {
    end: Arc<EndSignal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct EndSignal {
    has_come: Mutex<bool>,
    news: Condvar,
}

impl LinkReports {
    /// Starts the thread `name`.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub(super) fn start(name: &str, network: NetworkMonitor, monitor: NodeMonitor) -> io::Result<Self> {
        let end = Arc::<EndSignal>::default();
        let ended = Arc::clone(&end);
        let look = move || {
            loop {
                let looked = network.take_events();
                if looked.forgotten > 0 {
                    let text = format!("{} events of connections were forgotten", looked.forgotten);
                    monitor.report(&NodeReport::warning(text));
                }
                looked.events.iter().for_each(|event| monitor.report(&report_of(event)));
                let has_come = ended.has_come.lock();
                if *has_come || *ended.news.wait_timeout(has_come, LOOK_INTERVAL).0 {
                    return;
                }
            }
        };
        Ok(Self { end, thread: Some(spawn(name, look)?) })
    }
}

fn report_of(event: &LinkEvent) -> NodeReport {
    let text = format!("connection {event}");
    match event.outcome {
        Ok(()) => NodeReport::notice(text),
        Err(_) => NodeReport::warning(text),
    }
}

impl Drop for LinkReports {
    fn drop(&mut self) {
        *self.end.has_come.lock() = true;
        self.end.news.notify_all();
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
