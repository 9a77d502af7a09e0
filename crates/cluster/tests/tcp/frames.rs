//! Frames between nodes that know each other.

use crate::certificates::Site;
use crate::node::{Node, eventually, meet, options, question_id, reaches};
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::remote::question::{Answer, CONTENT_BYTES_MAX};
use evergraph_cluster::transport::frame::Frame;
use evergraph_cluster::transport::frame_counts::FrameTotal;
use evergraph_cluster::transport::interface::{ReceivedFrame, SendError, Transport as _};
use evergraph_cluster::transport::tcp::hello::HelloAnswer;
use evergraph_cluster::transport::tcp::link_error::LinkError;
use evergraph_cluster::transport::tcp::options::{QueueLimits, TcpOptions};
use evergraph_cluster::transport::tcp::statistics::LinkDirection;
use std::collections::BTreeMap;

const FRAMES: u64 = 20;

#[test]
fn frames_come_from_whom_they_are_in_order_among_three_nodes() {
    let site = Site::new();
    let [mut a, mut b, mut c] = [1, 2, 3].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut b, &mut c]);
    for node in [&mut a, &mut b, &mut c] {
        for to in 1..=3 {
            (1..=FRAMES).for_each(|number| assert_eq!(node.send(to, number), Ok(())));
        }
    }
    let expected: BTreeMap<u16, Vec<u64>> = (1..=3).map(|from| (from, (1..=FRAMES).collect())).collect();
    for node in [&mut a, &mut b, &mut c] {
        let mut came: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
        eventually("all frames come", || {
            for (from, number) in node.received() {
                came.entry(from).or_default().push(number);
            }
            came.values().map(|numbers| numbers.len() as u64).sum::<u64>() == 3 * FRAMES
        });
        assert_eq!(came, expected);
        assert!(node.wakes() > 0, "the thread of the node was woken");
    }
    for node in [&a, &b, &c] {
        for other in [1, 2, 3].into_iter().filter(|other| *other != node.id.0) {
            // What was sent counts when the system has all of it; what came, when all that came with it is queued.
            eventually("all frames are counted", || {
                let statistics = node.of(other);
                let (outgoing, incoming) = (statistics.outgoing.carried, statistics.incoming.carried);
                outgoing.frames == FRAMES && incoming == outgoing
            });
            let statistics = node.of(other);
            assert!(statistics.outgoing.is_connected && statistics.incoming.is_connected);
            assert_eq!((statistics.outgoing.connects, statistics.incoming.connects), (1, 1));
            assert_eq!((statistics.outgoing.last_failure, statistics.dropped), (None, FrameTotal::default()));
        }
        let events = node.transport.monitor().take_events().events;
        assert_eq!(events.len(), 4, "{events:?}");
        assert!(events.iter().all(|event| event.outcome == Ok(()) && event.node.is_some()));
        let dialled = events.iter().filter(|event| event.direction == LinkDirection::Outgoing);
        assert_eq!(dialled.count(), 2);
        assert_eq!(node.transport.monitor().listener().accepted, 2);
    }
}

#[test]
fn the_largest_frame_comes_whole_and_a_larger_one_is_refused() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut b]);
    let answered: Vec<u8> = (0..CONTENT_BYTES_MAX).map(|at| (at % 251) as u8).collect();
    let large = Frame::Answer(Answer { id: question_id(7), answered });
    for (from, to) in [(&mut a, 2), (&mut b, 1)] {
        assert_eq!(from.transport.send(NodeId(to), &large), Ok(()));
        assert_eq!(from.send(to, 8), Ok(()), "another one behind it");
    }
    for (from, to) in [(1, &mut b), (2, &mut a)] {
        let mut came = Vec::new();
        eventually("both frames come", || {
            came.extend(std::iter::from_fn(|| to.transport.receive()));
            came.len() == 2
        });
        assert!(came[0] == ReceivedFrame { from: NodeId(from), frame: large.clone() }, "the large frame");
        assert!(matches!(came[1].frame, Frame::Forget(id) if id.number == 8));
    }
    let larger = Frame::Answer(Answer { id: question_id(9), answered: vec![0; CONTENT_BYTES_MAX + 1] });
    assert_eq!(a.transport.send(NodeId(2), &larger), Err(SendError::TooLarge));
    assert_eq!(a.send(9, 1), Err(SendError::UnknownNode));
}

#[test]
fn what_a_node_sends_itself_comes_and_has_limits() {
    let site = Site::new();
    let incoming = QueueLimits { frames_max: 2, bytes_max: 1 << 20 };
    let mut a = Node::start(&site, 1, TcpOptions { incoming, ..options() });
    assert_eq!((a.send(1, 1), a.send(1, 2), a.send(1, 3)), (Ok(()), Ok(()), Err(SendError::Full)));
    let before = a.wakes();
    assert_eq!(a.received(), [(1, 1), (1, 2)]);
    assert!(a.wakes() > before, "there is room again");
    assert_eq!(a.send(1, 4), Ok(()));
    assert_eq!(a.received(), [(1, 4)]);
}

#[test]
fn a_node_that_is_no_member_any_more_is_neither_dialled_nor_let_in() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut b]);
    reaches(&mut a, &mut b);
    reaches(&mut b, &mut a);
    a.transport.set_peer(NodeId(2), None);
    assert_eq!(a.send(2, 1), Err(SendError::UnknownNode));
    eventually("both connections end", || {
        let statistics = b.of(1);
        !statistics.outgoing.is_connected && !statistics.incoming.is_connected
    });
    b.fails_to(1, &LinkError::Refused { answer: HelloAnswer::UnknownNode });
    assert!(a.received().is_empty());
    a.knows(&b);
    reaches(&mut b, &mut a);
    reaches(&mut a, &mut b);
}
