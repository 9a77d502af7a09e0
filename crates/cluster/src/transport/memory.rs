//! A network in memory, for simulations, with faults from a seed.
//!
//! ```text
//! send ──bytes──> under way, up to delay_max ──> inbox ──receive──> frame
//!          │ lost, the direction is cut   │ doubled    │ the node is down, or was
//!          x                             +1            x
//! ```
//!
//! Time stands still until [`MemoryNetwork::advance_to`]. The same seed, the same calls in the same order and the same times
//! give the same deliveries. Frames that are under way at once come in any order, if they may be delayed at all.
//!
//! A node in a thread of its own connects with a waker ([`MemoryNetwork::connect_waking`]), and sleeps until that rings.

use crate::record_id::NodeId;
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::seeded::{EventQueue, OneIn, SeededChance};
use crate::transport::frame::Frame;
use crate::transport::interface::{ReceivedFrame, SendError, Transport};
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// What goes wrong by chance, and how often. By default nothing does, and everything comes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetworkFaults {
    /// How long a frame is under way, at most.
    pub delay_max: Duration,
    /// A frame does not come.
    pub lost: OneIn,
    /// A frame comes twice.
    pub doubled: OneIn,
    /// A frame comes much later: up to a hundred times as late.
    pub late: OneIn,
}

/// A network in memory, which any number of nodes use.
#[derive(Debug)]
pub struct MemoryNetwork {
    state: Arc<Mutex<NetworkState>>,
}

/// A node's connection to a [`MemoryNetwork`]. What it has sent comes after it is dropped.
#[derive(Debug)]
pub struct MemoryTransport {
    state: Arc<Mutex<NetworkState>>,
    node: NodeId,
    connection: u64,
}

/// From one node to another.
type Route = (NodeId, NodeId);

#[derive(Debug)]
struct NetworkState {
    chance: SeededChance,
    faults: NetworkFaults,
    /// Frames of one route that are under way or wait in an inbox.
    frames_max: usize,
    now: Duration,
    events: EventQueue<Arrival>,
    inboxes: BTreeMap<NodeId, Inbox>,
    connections: u64,
    counts: BTreeMap<Route, usize>,
    cut: BTreeSet<Route>,
}

#[derive(Debug)]
struct Arrival {
    route: Route,
    bytes: Arc<[u8]>,
}

/// What came to a node.
#[derive(Debug)]
struct Inbox {
    /// `None`: the node is down.
    connection: Option<u64>,
    frames: VecDeque<(NodeId, Arc<[u8]>)>,
    waker: Option<Waker>,
}

impl MemoryNetwork {
    /// Without nodes, at time zero. At most so many frames of one node to another are under way at once.
    #[must_use]
    pub fn new(seed: u64, faults: NetworkFaults, frames_max: usize) -> Self {
        let state = NetworkState {
            chance: SeededChance::new(seed),
            faults,
            frames_max,
            now: Duration::ZERO,
            events: EventQueue::default(),
            inboxes: BTreeMap::new(),
            connections: 0,
            counts: BTreeMap::new(),
            cut: BTreeSet::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Connects a node, in place of its connection before: what that had not taken is gone.
    #[must_use]
    pub fn connect(&self, node: NodeId) -> MemoryTransport {
        self.connect_node(node, None)
    }

    /// The same, of a node that sleeps: `waker` is woken when a frame comes. It must not reach the network.
    #[must_use]
    pub fn connect_waking(&self, node: NodeId, waker: Waker) -> MemoryTransport {
        self.connect_node(node, Some(waker))
    }

    fn connect_node(&self, node: NodeId, waker: Option<Waker>) -> MemoryTransport {
        let mut state = self.state.lock();
        state.disconnect(node);
        state.connections += 1;
        let connection = state.connections;
        let inbox = Inbox { connection: Some(connection), frames: VecDeque::new(), waker };
        state.inboxes.insert(node, inbox);
        MemoryTransport { state: Arc::clone(&self.state), node, connection }
    }

    /// From now on other things go wrong. What is under way stays as it was planned.
    pub fn set_faults(&self, faults: NetworkFaults) {
        self.state.lock().faults = faults;
    }

    /// Nothing comes from one node to another from here on, not even what is under way.
    pub fn cut(&self, from: NodeId, to: NodeId) {
        self.state.lock().cut.insert((from, to));
    }

    /// Frames come from one node to the other again.
    pub fn mend(&self, from: NodeId, to: NodeId) {
        self.state.lock().cut.remove(&(from, to));
    }

    /// Moves the time on: what is due by then comes. An earlier time changes nothing.
    pub fn advance_to(&self, now: Duration) {
        let mut state = self.state.lock();
        state.now = state.now.max(now);
        state.settle();
    }

    /// When a frame comes next.
    #[must_use]
    pub fn next_event_at(&self) -> Option<Duration> {
        self.state.lock().events.next_at()
    }
}

impl NetworkState {
    fn settle(&mut self) {
        while let Some((_, arrival)) = self.events.take_due(self.now) {
            self.arrive(arrival);
        }
    }

    fn arrive(&mut self, Arrival { route, bytes }: Arrival) {
        let is_cut = self.cut.contains(&route);
        let inbox = self.inboxes.get_mut(&route.1).filter(|inbox| inbox.connection.is_some() && !is_cut);
        match inbox {
            Some(inbox) => {
                inbox.frames.push_back((route.0, bytes));
                inbox.waker.iter().for_each(Waker::wake_by_ref);
            }
            None => self.leave(route),
        }
    }

    /// A frame is under way no more.
    fn leave(&mut self, route: Route) {
        if let Some(count) = self.counts.get_mut(&route) {
            *count -= 1;
        }
    }

    /// The node is down: what it had not taken is gone.
    fn disconnect(&mut self, node: NodeId) {
        let Some(inbox) = self.inboxes.get_mut(&node) else { return };
        (inbox.connection, inbox.waker) = (None, None);
        let gone = std::mem::take(&mut inbox.frames);
        gone.into_iter().for_each(|(from, _)| self.leave((from, node)));
    }

    fn delay(&mut self) -> Duration {
        let delay = self.chance.up_to(self.faults.delay_max);
        if self.chance.happens(self.faults.late) { delay * 100 } else { delay }
    }

    fn plan(&mut self, route: Route, bytes: Arc<[u8]>) {
        *self.counts.entry(route).or_default() += 1;
        let at = self.now + self.delay();
        self.events.plan(at, Arrival { route, bytes });
    }
}

impl Transport for MemoryTransport {
    fn send(&mut self, to: NodeId, frame: &Frame) -> Result<(), SendError> {
        if frame.content_bytes() > CONTENT_BYTES_MAX {
            return Err(SendError::TooLarge);
        }
        let mut state = self.state.lock();
        if !state.inboxes.contains_key(&to) {
            return Err(SendError::UnknownNode);
        }
        let route = (self.node, to);
        if state.counts.get(&route).is_some_and(|count| *count >= state.frames_max) {
            return Err(SendError::Full);
        }
        let faults = state.faults;
        let is_lost = state.chance.happens(faults.lost) || state.cut.contains(&route);
        if !is_lost {
            let bytes: Arc<[u8]> = frame.encode().into();
            let is_doubled = state.chance.happens(faults.doubled);
            state.plan(route, Arc::clone(&bytes));
            if is_doubled {
                state.plan(route, bytes);
            }
        }
        state.settle();
        Ok(())
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        let mut state = self.state.lock();
        let inbox = state.inboxes.get_mut(&self.node)?;
        // The node has started again, with another connection.
        if inbox.connection != Some(self.connection) {
            return None;
        }
        let (from, bytes) = inbox.frames.pop_front()?;
        state.leave((from, self.node));
        let read = Frame::decode(&bytes).expect("a frame reads back");
        let (_, frame) = read.expect("it came whole");
        Some(ReceivedFrame { from, frame })
    }
}

impl Drop for MemoryTransport {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        let is_current = |inbox: &Inbox| inbox.connection == Some(self.connection);
        if state.inboxes.get(&self.node).is_some_and(is_current) {
            state.disconnect(self.node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_id::Author;
    use crate::remote::question::{Answer, QuestionId};
    use crate::seeded::CountingBell;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);

    fn frame(number: u64) -> Frame {
        Frame::Forget(QuestionId { asker: Author { node: A, incarnation: 0 }, number })
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// The numbers of the frames that have come.
    fn received(node: &mut MemoryTransport) -> Vec<u64> {
        std::iter::from_fn(|| node.receive())
            .map(|received| match received.frame {
                Frame::Forget(id) => id.number,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn without_faults_frames_come_at_once_and_in_order() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 99);
        let (mut a, mut b) = (network.connect(A), network.connect(B));
        for number in 1..=3 {
            assert_eq!(a.send(B, &frame(number)), Ok(()));
        }
        b.send(A, &frame(4)).unwrap();
        a.send(A, &frame(5)).unwrap();
        assert_eq!(b.receive(), Some(ReceivedFrame { from: A, frame: frame(1) }));
        assert_eq!((received(&mut b), received(&mut a)), (vec![2, 3], vec![4, 5]));
        assert_eq!(a.send(NodeId(9), &frame(6)), Err(SendError::UnknownNode));
        let Frame::Forget(id) = frame(7) else { panic!("an id") };
        let large = Frame::Answer(Answer { id, answered: vec![0; CONTENT_BYTES_MAX + 1] });
        assert_eq!(a.send(B, &large), Err(SendError::TooLarge));
    }

    #[test]
    fn a_node_that_sleeps_is_woken_for_each_frame() {
        let faults = NetworkFaults { delay_max: ms(10), ..NetworkFaults::default() };
        let network = MemoryNetwork::new(1, faults, 99);
        let bell = Arc::new(CountingBell::default());
        let mut b = network.connect_waking(B, Waker::from(Arc::clone(&bell)));
        let mut a = network.connect(A);
        a.send(B, &frame(1)).unwrap();
        b.send(A, &frame(2)).unwrap();
        network.advance_to(ms(10));
        assert_eq!((bell.rung(), received(&mut b)), (1, vec![1]));
        a.send(B, &frame(3)).unwrap();
        drop(b);
        network.advance_to(ms(20));
        assert_eq!(bell.rung(), 0, "it is down");
    }

    #[test]
    fn a_node_that_takes_nothing_makes_its_senders_wait_and_nobody_else() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 2);
        let (mut a, mut b, mut c) = (network.connect(A), network.connect(B), network.connect(NodeId(3)));
        assert_eq!([1, 2, 3].map(|number| a.send(B, &frame(number))), [Ok(()), Ok(()), Err(SendError::Full)]);
        assert_eq!(a.send(NodeId(3), &frame(4)), Ok(()));
        assert_eq!(c.send(B, &frame(5)), Ok(()));
        assert_eq!(b.receive().map(|received| received.frame), Some(frame(1)));
        assert_eq!(a.send(B, &frame(6)), Ok(()), "there is room again");
        assert_eq!(received(&mut b), [2, 5, 6]);
        // So there is when the node starts again.
        a.send(B, &frame(7)).unwrap();
        a.send(B, &frame(8)).unwrap();
        let mut b = network.connect(B);
        assert_eq!((received(&mut b), a.send(B, &frame(9))), (vec![], Ok(())));
        assert_eq!(received(&mut b), [9]);
    }

    #[test]
    fn frames_are_lost_doubled_and_overtake_each_other_as_the_seed_has_it() {
        let history = |seed| {
            let delay_max = ms(20);
            let faults = NetworkFaults { delay_max, lost: OneIn(5), doubled: OneIn(5), late: OneIn(9) };
            let network = MemoryNetwork::new(seed, faults, 1000);
            let (mut a, mut b) = (network.connect(A), network.connect(B));
            (0..100).for_each(|number| a.send(B, &frame(number)).unwrap());
            network.advance_to(ms(20));
            let early = received(&mut b);
            network.advance_to(ms(2000));
            (early, received(&mut b), network.next_event_at())
        };
        assert_eq!(history(7), history(7));
        assert_ne!(history(7), history(8));
        let (early, late, next) = history(7);
        assert_eq!(next, None);
        assert!(!early.is_sorted() && !late.is_empty());
        let all: Vec<_> = early.into_iter().chain(late).collect();
        let different: BTreeSet<_> = all.iter().copied().collect();
        assert!(different.len() < 100, "some are lost");
        assert!(all.len() > different.len(), "some come twice");
    }

    #[test]
    fn a_direction_is_cut_alone_and_what_is_under_way_goes_with_it() {
        let faults = NetworkFaults { delay_max: ms(10), ..NetworkFaults::default() };
        let network = MemoryNetwork::new(3, faults, 99);
        let (mut a, mut b) = (network.connect(A), network.connect(B));
        (0..20).for_each(|number| a.send(B, &frame(number)).unwrap());
        let came = received(&mut b).len();
        network.cut(A, B);
        a.send(B, &frame(20)).unwrap();
        b.send(A, &frame(21)).unwrap();
        network.advance_to(ms(10));
        assert!(came < 20);
        assert_eq!((received(&mut b), received(&mut a)), (vec![], vec![21]));
        network.mend(A, B);
        a.send(B, &frame(22)).unwrap();
        network.advance_to(ms(20));
        assert_eq!(received(&mut b), [22]);
    }

    #[test]
    fn what_comes_to_a_node_that_is_down_is_gone_and_a_late_frame_meets_the_next_start() {
        let faults = NetworkFaults { delay_max: ms(10), ..NetworkFaults::default() };
        let network = MemoryNetwork::new(3, faults, 99);
        let (mut a, b) = (network.connect(A), network.connect(B));
        a.send(B, &frame(1)).unwrap();
        drop(b);
        network.advance_to(ms(10));
        let mut b = network.connect(B);
        assert_eq!(received(&mut b), [0; 0]);
        a.send(B, &frame(2)).unwrap();
        let mut again = network.connect(B);
        network.advance_to(ms(20));
        assert_eq!((received(&mut b), received(&mut again)), (vec![], vec![2]));
        drop(b);
        a.send(B, &frame(3)).unwrap();
        network.advance_to(ms(30));
        assert_eq!(received(&mut again), [3], "the connection before is dropped without harm");
    }
}
