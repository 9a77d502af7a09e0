//! Running replica: `evergraph replica run` as a process of its own, whose metrics say what it does.

use crate::service::{HttpAnswer, ask};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is asked what it does.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long it may take until it does what is expected of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A replica that runs. It is killed when this is dropped.
pub struct RunningReplica {
    child: Child,
    /// Where its metrics are.
    address: String,
    /// What else it says.
    errors: BufReader<ChildStderr>,
}

impl RunningReplica {
    /// Starts `command`, an `evergraph replica run`, and waits until it says where its metrics are: it opens its database after
    /// that.
    pub fn start(command: &mut Command) -> Self {
        command.args(["--metrics", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("metrics at http://") && errors.read_line(&mut said).unwrap() > 0 {}
        let address = said.split("metrics at http://").nth(1).and_then(|rest| rest.split('/').next());
        let Some(address) = address.map(str::to_owned) else {
            panic!("the replica did not start: {}: {said}", child.wait().unwrap())
        };
        Self { child, address, errors }
    }

    /// What it counts; `None` if it has ended.
    fn metrics(&self) -> Option<HttpAnswer> {
        ask(&self.address, "GET", "/metrics", "")
    }

    /// Whether it follows at this moment.
    pub fn is_following(&self) -> bool {
        self.metrics().is_some_and(|metrics| metrics.body.contains(",state=\"following\"} 1.0\n"))
    }

    /// The rows that it has applied.
    pub fn rows(&self) -> u64 {
        const SERIES: &str = "evergraph_replica_rows_total{";
        // Until it has opened its database, it tells its state alone.
        let metrics = self.metrics().filter(|metrics| metrics.body.contains(SERIES));
        metrics.map_or(0, |metrics| metrics.metric(SERIES) as u64)
    }

    /// Waits until it follows.
    pub fn wait_until_it_follows(&mut self) {
        self.wait_until("it follows", LOOK_EVERY, Self::is_following);
    }

    /// Waits until `is_so`, which is looked at so often; `what` for people.
    pub fn wait_until(&mut self, what: &str, every: Duration, mut is_so: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("until {what}: the replica ended by itself: {status}: {}", self.said());
            }
            if is_so(self) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{what} is not so");
            thread::sleep(every);
        }
    }

    /// Kills it, which had not ended by itself.
    pub fn kill(mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        assert!(status.code().is_none(), "the replica ended by itself: {status}: {}", self.said());
    }

    /// What it said before it ended.
    fn said(&mut self) -> String {
        let mut said = Vec::new();
        self.errors.read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    }
}

impl Drop for RunningReplica {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
