//! Options of a network over TCP: queues, time limits, threads.

use std::time::Duration;

/// How a node uses its network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpOptions {
    /// Frames that wait to be sent to one node. Beside them, those that are being sent: one frame or 256 KiB.
    pub outgoing: QueueLimits,
    /// Frames of one node that came and were not received. Beside them, the one that is coming.
    pub incoming: QueueLimits,
    /// How long things may take.
    pub times: LinkTimes,
    /// Connections that have not proved whose they are, at once: at least one. The oldest makes room for the next one.
    pub handshakes_max: usize,
    /// Threads that carry frames: at least one.
    pub worker_threads: usize,
    /// Threads that look up names, which run when a name is dialled: at least one. A dead name server holds up one
    /// for each node that it is asked for.
    pub lookup_threads: usize,
    /// From which pauses between dials are drawn, together with the nodes.
    pub seed: u64,
}

/// What a queue may hold. A frame that is larger than `bytes_max` has room in an empty queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimits {
    /// Frames.
    pub frames_max: usize,
    /// Their bytes.
    pub bytes_max: usize,
}

/// How long things may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkTimes {
    /// Looking up an address and connecting to it.
    pub connect: Duration,
    /// TLS and hellos.
    pub handshake: Duration,
    /// A node that takes no byte for so long loses its connection; so does one whose machine acknowledges none for
    /// twice as long.
    pub stalled: Duration,
    /// The pause after the first failure; it doubles with each further one.
    pub pause_first: Duration,
    /// The longest pause. A connection that lasted as long has the next pause begin at the first again.
    pub pause_max: Duration,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            outgoing: QueueLimits::default(),
            incoming: QueueLimits::default(),
            times: LinkTimes::default(),
            handshakes_max: 64,
            worker_threads: 2,
            lookup_threads: 4,
            seed: 0,
        }
    }
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { frames_max: 4096, bytes_max: 64 << 20 }
    }
}

impl Default for LinkTimes {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            handshake: Duration::from_secs(5),
            stalled: Duration::from_secs(10),
            pause_first: Duration::from_millis(50),
            pause_max: Duration::from_secs(2),
        }
    }
}
