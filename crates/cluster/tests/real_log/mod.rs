//! Real log: servers of an engine that keeps a log, which a test starts, kills, stops and puts back to a copy, and a log on them.
//!
//! ```text
//! RealLog     what engines differ in: how many servers, how to connect, who leads     etcd/members.rs, nats/servers.rs
//! log_server  a process with its data: killed, started again, stopped, restored
//! test_log    a log whose answers and messages a test waits for
//! ```

pub mod log_server;
pub mod test_log;

use crate::real_log::log_server::LogServer;
use crate::real_log::test_log::TestLog;
use evergraph_cluster::log::shared_log::SharedLog;
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::sync::{Mutex, MutexGuard};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// The time limit of a log that answers soon.
pub const HASTY_LIMIT: Duration = Duration::from_secs(2);

/// The time limit of a log that a busy machine does not keep from answering.
pub const PATIENT_LIMIT: Duration = Duration::from_secs(20);

/// The test that has servers: each takes memory and disk, and all of them together would hold up each other's elections.
static TURN: LazyLock<Mutex<()>> = LazyLock::new(|| Mutex::new(()));

/// Waits until no other test of this process has servers.
pub fn wait_for_turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// Servers of one test's own, which keep a log together and end with this.
pub trait RealLog: Sized {
    /// A connection to the log.
    type Log: SharedLog;

    /// Whether the log answers `end`; otherwise `BarrierNeeded`.
    const TELLS_END: bool;

    /// When servers are lost while nodes write.
    const DISRUPTIONS: Disruptions;

    /// Three servers, which take appends; `None` where there is no program.
    fn start_three() -> Option<Self>;

    /// As few of them as can keep a log.
    fn start_fewest() -> Option<Self>;

    fn servers(&self) -> &[LogServer];

    fn servers_mut(&mut self) -> &mut [LogServer];

    /// A log that uses all servers, `first` before the others; within its usual time limit, or another one.
    fn open(&self, first: &[usize], time_limit: Option<Duration>) -> Self::Log;

    /// Which server leads, once one does.
    fn leader(&self) -> usize;

    /// Waits until a server that was started serves.
    fn wait(&self, at: usize);

    /// Whether the messages of a new log may have these positions.
    fn are_positions_of_new_log(positions: &[LogPosition]) -> bool;

    /// A log that uses all of them, from the first on.
    fn log(&self) -> TestLog<Self::Log> {
        self.log_by(&[])
    }

    /// A log that uses `first` before the others.
    fn log_by(&self, first: &[usize]) -> TestLog<Self::Log> {
        TestLog::of(self.open(first, None))
    }

    /// The same, which has [`PATIENT_LIMIT`] to answer: appends that nothing happens to are acknowledged at once.
    fn patient_log(&self, first: &[usize]) -> TestLog<Self::Log> {
        TestLog::of(self.open(first, Some(PATIENT_LIMIT)))
    }

    /// The same, which answers within [`HASTY_LIMIT`].
    fn hasty_log(&self, first: &[usize]) -> TestLog<Self::Log> {
        TestLog::of(self.open(first, Some(HASTY_LIMIT)))
    }

    /// All servers, `first` before the others.
    fn ordered(&self, first: &[usize]) -> Vec<usize> {
        let others = (0..self.servers().len()).filter(|at| !first.contains(at));
        first.iter().copied().chain(others).collect()
    }

    /// Where clients find a server.
    fn url(&self, at: usize) -> &str {
        self.servers()[at].url()
    }

    /// The port for clients of a server.
    fn port(&self, at: usize) -> u16 {
        self.servers()[at].port()
    }

    /// Kills a server as a power cut of its machine would; what it wrote stays.
    fn kill(&mut self, at: usize) {
        self.servers_mut()[at].kill();
    }

    /// Starts a server.
    fn start_one(&mut self, at: usize) {
        self.servers_mut()[at].start();
    }

    /// Starts a server, and waits until it serves.
    fn start_and_wait(&mut self, at: usize) {
        self.start_one(at);
        self.wait(at);
    }

    /// Kills all of them.
    fn kill_all(&mut self) {
        self.servers_mut().iter_mut().for_each(LogServer::kill);
    }

    /// Starts all of them, and waits until they serve.
    fn start_all(&mut self) {
        self.servers_mut().iter_mut().for_each(LogServer::start);
        (0..self.servers().len()).for_each(|at| self.wait(at));
    }

    /// Stops a server: it keeps its sockets, and says nothing.
    fn pause(&self, at: usize) {
        self.servers()[at].pause();
    }

    /// Lets a stopped server go on.
    fn resume(&self, at: usize) {
        self.servers()[at].resume();
    }

    /// Copies the data of all servers, of which none runs.
    fn copy_data(&self) -> Vec<PathBuf> {
        self.servers().iter().map(LogServer::copy_data).collect()
    }

    /// Puts copies in place of the data of all servers, of which none runs.
    fn restore_data(&self, copies: &[PathBuf]) {
        assert_eq!(copies.len(), self.servers().len(), "one of each");
        self.servers().iter().zip(copies).for_each(|(server, copy)| server.restore_data(copy));
    }
}

/// When servers are lost while nodes write, counted from the beginning.
#[derive(Clone, Copy, Debug)]
pub struct Disruptions {
    /// The leader is killed, comes back, another server is stopped, and goes on.
    pub times: [Duration; 4],
    /// Nodes write until then.
    pub end: Duration,
}

impl Disruptions {
    /// By seconds.
    pub const fn of_seconds(times: [u64; 4], end: u64) -> Self {
        let [killed, started, stopped, resumed] = times;
        let times = [
            Duration::from_secs(killed),
            Duration::from_secs(started),
            Duration::from_secs(stopped),
            Duration::from_secs(resumed),
        ];
        Self { times, end: Duration::from_secs(end) }
    }
}
