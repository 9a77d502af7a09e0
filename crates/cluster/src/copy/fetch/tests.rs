//! Fetch: a copy from two nodes that answer at once, on disks that are slow or full; what others are told and given meanwhile.

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
    progress: Vec<FetchNews>,
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
        fetch.copy(CopySubject::State, sources, PATIENCE, &mut files, &mut |news| progress.push(news));
    let file = memory.read_all("file", 100).unwrap_or_default();
    Done { fetched, sent: fetch.into_parts().0.sent, file, progress }
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
    let mut is_slow = |_: FetchNews| clock.advance(Duration::from_secs(60));
    let fetched = fetch.copy(CopySubject::State, sources, PATIENCE, &mut files, &mut is_slow).unwrap();
    let whole = FetchProgress { source: NodeId(1), bytes_done: 2, bytes_total: 2 };
    assert_eq!(fetched, Fetched::Copied(whole));
    assert_eq!(memory.read_all("file", 100).unwrap(), [1; 10]);
    let sent = fetch.into_parts().0.sent;
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

/// Gives nobody anything, and says so.
struct Refuses(VecDeque<(NodeId, CopyMessage)>);

impl GiveCopies for Refuses {
    fn heard(&mut self, _now: Duration, _from: NodeId) {}

    fn take(&mut self, _now: Duration, from: NodeId, message: CopyMessage) {
        let CopyMessage::Begin { copy, .. } = message else { return };
        self.0.push_back((from, CopyMessage::Refused { copy, reason: CopyRefusal::Lacking }));
    }

    fn next_reply(&mut self, _now: Duration) -> Option<(NodeId, CopyMessage)> {
        self.0.pop_front()
    }

    fn is_giving(&self) -> bool {
        false
    }
}

#[test]
fn others_are_answered_while_this_node_copies_and_while_it_does_something_else() {
    let clock = SystemClock::new();
    let asks = |copy| CopyMessage::Begin { copy: CopyId(copy), subject: CopySubject::State };
    let answer = |copy| {
        let (copy, reason) = (CopyId(copy), CopyRefusal::Lacking);
        (NodeId(2), CopyMessage::Refused { copy, reason })
    };
    let mut nodes = Nodes::default();
    nodes.answer(NodeId(2), asks(70));
    let mut fetch = fetch_from(nodes, &clock).giving(Refuses(VecDeque::new()));
    let memory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("target"));
    let mut files = ReceivedFiles::begin(memory).unwrap();
    let fetched = fetch.copy(CopySubject::State, vec![NodeId(1)], PATIENCE, &mut files, &mut |_| ());
    assert!(matches!(fetched, Ok(Fetched::Copied(_))), "{fetched:?}");
    assert!(fetch.transport.sent.contains(&answer(70)), "nobody answers");

    fetch.transport.answer(NodeId(2), asks(71));
    fetch.needs_log_from(LogPosition(40));
    fetch.transport.sent.clear();
    let rounds = std::cell::Cell::new(0);
    fetch.attend_while(|| rounds.replace(rounds.get() + 1) < 3);
    let (transport, _) = fetch.into_parts();
    assert!(transport.sent.contains(&answer(71)), "{:?}", transport.sent);
    let need = (NodeId(1), CopyMessage::NeedsLog(LogPosition(40)));
    assert!(transport.sent.contains(&need), "{:?}", transport.sent);
}

#[test]
fn planted_bugs_are_found() {
    let test = a_copy_is_written_and_all_members_know_what_it_needs_of_the_log_before_it_comes;
    assert_found(Bug::CopyTrimmed, test, "a member may trim");
    let test = others_are_answered_while_this_node_copies_and_while_it_does_something_else;
    assert_found(Bug::StartingGivesNothing, test, "nobody answers");
}
