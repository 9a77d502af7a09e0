//! Fetch: gets copies over a network, in the thread of the caller, who waits: a node that has not joined yet.
//!
//! ```text
//! network ──> what came ──> pieces ──> received files ──> what is due ──> frames to send ──> network
//!    ▲                                                         │
//!    └────────────── sleeps until it is woken, or something is due
//! ```
//!
//! Meanwhile it tells every member from where on it needs the log, each second: else they would trim it while it copies. What others
//! ask or tell it beside copies is dropped: they ask elsewhere.

use crate::copy::incoming::{IncomingCopy, IncomingEvent};
use crate::copy::message::{CopyId, CopyMessage, CopySubject};
use crate::copy::received_files::{ReceiveError, ReceivedFiles};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::tables::members::Members;
use crate::transport::frame::Frame;
use crate::transport::interface::Transport;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

/// How often members are told from where on the log is needed.
const NEED_INTERVAL: Duration = Duration::from_secs(1);

/// Frames that are taken before pieces are written.
const FRAMES_PER_STEP: usize = 64;

/// Wakes a thread that waits for its network or its log.
#[derive(Debug, Default)]
pub struct WakeSignal {
    is_rung: Mutex<bool>,
    news: Condvar,
    /// Woken, too: whoever has network and log later.
    next: Option<Waker>,
}

/// How far a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchProgress {
    /// Who gives it.
    pub source: NodeId,
    /// Bytes that the source has read for it.
    pub bytes_done: u64,
    /// Bytes that there are to read, at most.
    pub bytes_total: u64,
}

/// What came of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fetched {
    /// It is whole, from this node.
    Copied(FetchProgress),
    /// Nobody gave it.
    GivenUp {
        /// Why not, by node, in a sentence.
        reasons: String,
        /// Nodes that said nothing at all.
        silent: BTreeSet<NodeId>,
    },
}

/// Copies over a network.
pub struct Fetch<'a, T> {
    transport: T,
    own: NodeId,
    signal: Arc<WakeSignal>,
    clock: &'a dyn Clock,
    next_copy: CopyId,
    others: Vec<NodeId>,
    /// From where on this node needs the log, once it knows.
    needed_from: Option<LogPosition>,
    tells_need_at: Duration,
}

impl WakeSignal {
    /// Of a thread that waits before `next` is somebody, who is woken as well.
    #[must_use]
    pub fn before(next: Waker) -> Self {
        Self { next: Some(next), ..Self::default() }
    }

    /// Wakes it, from any thread.
    #[must_use]
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Waits until it is woken, or `clock` says `until`.
    pub fn wait(&self, until: Duration, clock: &dyn Clock) {
        let mut is_rung = self.is_rung.lock();
        while !std::mem::take(&mut *is_rung) {
            let left = until.saturating_sub(clock.now());
            if left.is_zero() {
                return;
            }
            (is_rung, _) = self.news.wait_timeout(is_rung, left);
        }
    }
}

impl Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.is_rung.lock() = true;
        self.news.notify_one();
        self.next.iter().for_each(Waker::wake_by_ref);
    }
}

impl<'a, T: Transport> Fetch<'a, T> {
    /// Of the node `own` over `transport`, which wakes `signal`. Its copies have the numbers from `first` on, which is random.
    #[must_use]
    pub fn new(
        transport: T,
        own: NodeId,
        signal: Arc<WakeSignal>,
        clock: &'a dyn Clock,
        first: CopyId,
    ) -> Self {
        Self {
            transport,
            own,
            signal,
            clock,
            next_copy: first,
            others: Vec::new(),
            needed_from: None,
            tells_need_at: Duration::ZERO,
        }
    }

    /// The members are these, as far as the node knows.
    pub fn set_members(&mut self, members: &Members) {
        for other in std::mem::take(&mut self.others) {
            if !members.has(other) {
                self.transport.set_peer(other, None);
            }
        }
        let own = self.own;
        for node in members.all().filter(|node| *node != own) {
            self.transport.set_peer(node, members.address(node));
            self.others.push(node);
        }
    }

    /// The network, which knows the members.
    #[must_use]
    pub fn into_transport(self) -> T {
        self.transport
    }

    /// The other members, ascending.
    #[must_use]
    pub fn others(&self) -> &[NodeId] {
        &self.others
    }

    /// From here on the node needs the log, and tells it to every member while it copies.
    pub fn needs_log_from(&mut self, first: LogPosition) {
        self.needed_from = Some(first);
        self.tells_need_at = Duration::ZERO;
    }

    /// Copies `subject` from one of `sources` into `files`, as long as something comes within `patience`.
    ///
    /// Cost: what comes is written as it comes; 4 MiB of it are under way.
    ///
    /// # Errors
    /// Those of the disk that `files` are written to: `limit` if it is full, `io`. What was written is left.
    pub fn copy(
        &mut self,
        subject: CopySubject,
        sources: Vec<NodeId>,
        patience: Duration,
        files: &mut ReceivedFiles,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<Fetched> {
        let mut incoming = IncomingCopy::new(self.clock.now(), subject, sources, patience, self.next_copy);
        let copied = self.run(&mut incoming, files, progress);
        self.next_copy = incoming.next_id();
        let mut out = Vec::new();
        incoming.end(&mut out);
        self.send(out);
        copied
    }

    fn run(
        &mut self,
        incoming: &mut IncomingCopy,
        files: &mut ReceivedFiles,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<Fetched> {
        let mut now = FetchProgress { source: self.own, bytes_done: 0, bytes_total: 0 };
        loop {
            self.tell_need();
            let (mut out, mut events) = (Vec::new(), Vec::new());
            // First what has come: nobody is silent whose pieces wait here.
            let is_busy = self.receive(incoming, &mut out, &mut events);
            self.need_log_for(incoming.subject(), &events);
            self.send(out);
            let begun_at = self.clock.now();
            for event in events {
                match event {
                    IncomingEvent::Begun { source, .. } => {
                        files.begin_again().map_err(ReceiveError::of_disk)?;
                        now = FetchProgress { source, bytes_done: 0, bytes_total: 0 };
                        progress(now);
                    }
                    IncomingEvent::Piece(piece) => match files.write(&piece.changes) {
                        Ok(()) => {
                            (now.bytes_done, now.bytes_total) = (piece.bytes_done, piece.bytes_total);
                            progress(now);
                        }
                        Err(ReceiveError::Disk(error)) => return Err(ReceiveError::of_disk(error)),
                        Err(ReceiveError::Piece(error)) => {
                            let why = format!(
                                "what it gives is no copy: at byte {} of a piece: {}",
                                error.offset, error.expected
                            );
                            let mut out = Vec::new();
                            incoming.damaged(self.clock.now(), piece.copy, why, &mut out);
                            self.send(out);
                            // What came behind it is of the same copy.
                            break;
                        }
                    },
                    IncomingEvent::Complete => return Ok(Fetched::Copied(now)),
                    IncomingEvent::GivenUp => return Ok(given_up(incoming)),
                }
            }
            // A slow disk here says nothing of whoever gives the copy.
            incoming.was_away(self.clock.now().saturating_sub(begun_at));
            let (mut out, mut events) = (Vec::new(), Vec::new());
            incoming.step(self.clock.now(), &mut out, &mut events);
            self.send(out);
            if events.contains(&IncomingEvent::GivenUp) {
                return Ok(given_up(incoming));
            }
            if !is_busy && let Some(next) = incoming.next_step_at() {
                self.signal.wait(next.min(self.tells_need_at), self.clock);
            }
        }
    }

    /// Before a single byte of a state comes: from here on nobody trims what it needs.
    fn need_log_for(&mut self, subject: CopySubject, events: &[IncomingEvent]) {
        for event in events {
            if let IncomingEvent::Begun { needed_from, .. } = event
                && subject == CopySubject::State
                && !planted(Bug::CopyTrimmed)
            {
                self.needs_log_from(*needed_from);
                self.tell_need();
            }
        }
    }

    /// Whether more has come than was taken.
    fn receive(
        &mut self,
        incoming: &mut IncomingCopy,
        out: &mut Vec<(NodeId, CopyMessage)>,
        events: &mut Vec<IncomingEvent>,
    ) -> bool {
        for _ in 0..FRAMES_PER_STEP {
            let Some(received) = self.transport.receive() else { return false };
            let from = received.from;
            for frame in received.frame.apart() {
                if let Frame::Copy(message) = frame {
                    incoming.take(self.clock.now(), from, message, out, events);
                }
            }
        }
        true
    }

    /// Tells every member from where on this node needs the log, if that is due.
    pub fn tell_need(&mut self) {
        let now = self.clock.now();
        if now < self.tells_need_at {
            return;
        }
        self.tells_need_at = now.saturating_add(NEED_INTERVAL);
        if let Some(first) = self.needed_from {
            let need = |node: &NodeId| (*node, CopyMessage::NeedsLog(first));
            let all = self.others.iter().map(need).collect();
            self.send(all);
        }
    }

    /// What has no room, or does not come, is sent again when nothing comes of it.
    fn send(&mut self, messages: Vec<(NodeId, CopyMessage)>) {
        for (to, message) in messages {
            let _ = self.transport.send(to, &Frame::Copy(message));
        }
    }
}

fn given_up(incoming: &IncomingCopy) -> Fetched {
    Fetched::GivenUp { reasons: reasons(incoming), silent: incoming.silent().clone() }
}

fn reasons(incoming: &IncomingCopy) -> String {
    let reasons: Vec<String> =
        incoming.failures().iter().map(|(node, reason)| format!("node {}: {reason}", node.0)).collect();
    match (reasons.is_empty(), incoming.source()) {
        (false, _) => reasons.join("; "),
        (true, Some(source)) => format!("node {} does not answer", source.0),
        (true, None) => "no other node has it".to_owned(),
    }
}

/// The error of a copy that nobody gave.
#[must_use]
pub fn not_copied(what: impl fmt::Display, reasons: &str) -> Error {
    Error::new(
        evergraph_graph::error::ErrorKind::Io,
        format!("{what} cannot be copied from another node: {reasons}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::file_change::FileChange;
    use crate::copy::message::CopyPiece;
    use crate::planted::assert_found;
    use crate::transport::interface::{ReceivedFrame, SendError};
    use evergraph_graph::error::ErrorKind;
    use evergraph_storage::io::clock::{ManualClock, SystemClock};
    use evergraph_storage::io::directory::Directory;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::collections::VecDeque;

    const PATIENCE: Duration = Duration::from_millis(300);

    /// Nodes 1 and 2, which answer at once: each gives two pieces, those of node 1 perhaps damaged.
    #[derive(Default)]
    struct Nodes {
        is_damaged: bool,
        is_silent: bool,
        /// Of whoever waits for what they say.
        signal: Arc<WakeSignal>,
        sent: Vec<(NodeId, CopyMessage)>,
        received: VecDeque<ReceivedFrame>,
    }

    impl Nodes {
        fn answer(&mut self, from: NodeId, message: CopyMessage) {
            self.received.push_back(ReceivedFrame { from, frame: Frame::Copy(message) });
            self.signal.wake_by_ref();
        }

        fn piece(&self, node: NodeId, copy: CopyId, number: u64) -> CopyMessage {
            let mut changes = Vec::new();
            let bytes = [node.0 as u8; 10];
            match number {
                0 if self.is_damaged && node == NodeId(1) => changes.push(99),
                0 => FileChange::Create { name: "file" }.encode(&mut changes),
                _ => FileChange::Write { name: "file", offset: 0, bytes: &bytes }.encode(&mut changes),
            }
            let (bytes_done, bytes_total, is_last) = (number + 1, 2, number == 1);
            CopyMessage::Piece(CopyPiece { copy, number, bytes_done, bytes_total, is_last, changes })
        }
    }

    impl Transport for Nodes {
        fn send(&mut self, to: NodeId, frame: &Frame) -> std::result::Result<(), SendError> {
            let Frame::Copy(message) = frame else { panic!("{frame:?}") };
            self.sent.push((to, message.clone()));
            match message {
                CopyMessage::Begin { copy, .. } if !self.is_silent => {
                    self.answer(to, CopyMessage::Begun { copy: *copy, needed_from: LogPosition(40) });
                }
                CopyMessage::More { copy, .. } => {
                    for number in 0..2 {
                        let piece = self.piece(to, *copy, number);
                        self.answer(to, piece);
                    }
                }
                _ => {}
            }
            Ok(())
        }

        fn receive(&mut self) -> Option<ReceivedFrame> {
            self.received.pop_front()
        }
    }

    struct Done {
        fetched: Result<Fetched>,
        sent: Vec<(NodeId, CopyMessage)>,
        file: Vec<u8>,
        progress: Vec<FetchProgress>,
    }

    fn fetch_from(nodes: Nodes, clock: &dyn Clock) -> Fetch<'_, Nodes> {
        let signal = Arc::clone(&nodes.signal);
        let members = Members::new((0..3).map(|node| (NodeId(node), format!("n:{node}").into())));
        let mut fetch = Fetch::new(nodes, NodeId(0), signal, clock, CopyId(7));
        fetch.set_members(&members);
        assert_eq!(fetch.others(), [1, 2].map(NodeId));
        fetch
    }

    fn copy(nodes: Nodes, disk: Option<Fault>) -> Done {
        let clock = SystemClock::new();
        let mut fetch = fetch_from(nodes, &clock);
        let memory = MemoryDirectory::new("target");
        let failing = FailingDirectory::new(Arc::new(memory.clone()));
        let mut files = ReceivedFiles::begin(Arc::new(failing.clone())).unwrap();
        disk.into_iter().for_each(|fault| failing.plan(fault));
        let (sources, mut progress) = ([1, 2].map(NodeId).to_vec(), Vec::new());
        let fetched =
            fetch.copy(CopySubject::State, sources, PATIENCE, &mut files, &mut |now| progress.push(now));
        let file = memory.read_all("file", 100).unwrap_or_default();
        Done { fetched, sent: fetch.into_transport().sent, file, progress }
    }

    #[test]
    fn a_copy_is_written_and_all_members_know_what_it_needs_of_the_log_before_it_comes() {
        let done = copy(Nodes::default(), None);
        let whole = FetchProgress { source: NodeId(1), bytes_done: 2, bytes_total: 2 };
        assert_eq!(done.fetched.unwrap(), Fetched::Copied(whole));
        assert_eq!((done.file, done.progress.len()), (vec![1; 10], 3));
        let place = |wanted: &dyn Fn(&(NodeId, CopyMessage)) -> bool| {
            done.sent.iter().position(wanted).unwrap_or(usize::MAX)
        };
        let more = place(&|(_, message)| matches!(message, CopyMessage::More { .. }));
        for node in [1, 2].map(NodeId) {
            let need = (node, CopyMessage::NeedsLog(LogPosition(40)));
            assert!(place(&|sent| *sent == need) < more, "a member may trim what is needed");
        }
    }

    #[test]
    fn a_disk_that_is_slower_than_a_node_may_be_silent_gets_the_copy() {
        let clock = ManualClock::new(0);
        let mut fetch = fetch_from(Nodes::default(), &clock);
        let memory = MemoryDirectory::new("target");
        let mut files = ReceivedFiles::begin(Arc::new(memory.clone())).unwrap();
        let sources = [1, 2].map(NodeId).to_vec();
        // What is told of is written: each time that takes longer than anybody waits.
        let mut is_slow = |_: FetchProgress| clock.advance(Duration::from_secs(60));
        let fetched = fetch.copy(CopySubject::State, sources, PATIENCE, &mut files, &mut is_slow).unwrap();
        let whole = FetchProgress { source: NodeId(1), bytes_done: 2, bytes_total: 2 };
        assert_eq!(fetched, Fetched::Copied(whole));
        assert_eq!(memory.read_all("file", 100).unwrap(), [1; 10]);
        let sent = fetch.into_transport().sent;
        let begins = sent.iter().filter(|(_, message)| matches!(message, CopyMessage::Begin { .. }));
        assert_eq!(begins.count(), 1, "it begins again");
    }

    #[test]
    fn what_is_no_copy_is_asked_for_elsewhere() {
        let done = copy(Nodes { is_damaged: true, ..Nodes::default() }, None);
        assert!(matches!(done.fetched, Ok(Fetched::Copied(FetchProgress { source: NodeId(2), .. }))));
        assert_eq!(done.file, [2; 10]);
        assert!(done.sent.contains(&(NodeId(1), CopyMessage::End { copy: CopyId(7) })));
    }

    #[test]
    fn a_full_disk_is_named_and_silence_ends() {
        let full = Fault::any_change(std::io::ErrorKind::StorageFull).lasting();
        let error = copy(Nodes::default(), Some(full)).fetched.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("write what is copied"), "{error}");
        let silent = copy(Nodes { is_silent: true, ..Nodes::default() }, None);
        match silent.fetched {
            Ok(Fetched::GivenUp { reasons, .. }) => assert_eq!(reasons, "node 1 does not answer"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = a_copy_is_written_and_all_members_know_what_it_needs_of_the_log_before_it_comes;
        assert_found(Bug::CopyTrimmed, test, "a member may trim");
    }
}
