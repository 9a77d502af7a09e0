//! A node that takes nothing.

use crate::certificates::Site;
use crate::node::{Node, eventually, meet, options, question_id, reaches};
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::remote::question::Answer;
use evergraph_cluster::transport::frame::Frame;
use evergraph_cluster::transport::interface::{SendError, Transport as _};
use evergraph_cluster::transport::tcp::link_error::LinkError;
use evergraph_cluster::transport::tcp::options::{LinkTimes, QueueLimits, TcpOptions};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

const FRAME_BYTES: usize = 1 << 20;
const QUEUE: QueueLimits = QueueLimits { frames_max: 8, bytes_max: 4 << 20 };
/// Frames that queues and the system's buffers hold together, at most, by a wide margin.
const FRAMES_MAX: u64 = 100;

#[test]
fn a_node_that_takes_nothing_fills_its_own_queue_and_loses_its_connection() {
    let site = Site::new();
    let stalled = Duration::from_secs(3);
    let times = LinkTimes { stalled, ..options().times };
    let limited = TcpOptions { outgoing: QUEUE, incoming: QUEUE, times, ..options() };
    let [mut a, mut b, mut c] = [1, 2, 3].map(|node| Node::start(&site, node, limited));
    meet(&mut [&mut a, &mut b, &mut c]);
    let large =
        |number| Frame::Answer(Answer { id: question_id(number), answered: vec![number as u8; FRAME_BYTES] });

    // Node 2 receives nothing, until nothing moves.
    let (mut sent, mut moved_at) = (0, Instant::now());
    while moved_at.elapsed() < Duration::from_millis(700) {
        match a.transport.send(NodeId(2), &large(sent + 1)) {
            Ok(()) => {
                sent += 1;
                moved_at = Instant::now();
            }
            Err(SendError::Full) => park_timeout(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
        assert!(sent < FRAMES_MAX, "more frames are somewhere than there is room for");
    }
    assert!(sent > 4, "the queues were never used");
    let (outgoing, incoming) = (a.of(2).outgoing, b.of(1).incoming);
    for waiting in [outgoing.waiting, incoming.waiting] {
        assert!(waiting.frames > 0 && waiting.frames <= QUEUE.frames_max as u64, "{waiting:?}");
        assert!(waiting.bytes <= QUEUE.bytes_max as u64, "{waiting:?}");
    }
    assert_eq!(a.transport.send(NodeId(2), &large(0)), Err(SendError::Full));
    let before = a.wakes();

    // Nobody else waits.
    reaches(&mut a, &mut c);
    eventually("the connection is given up", || {
        a.of(2).outgoing.last_failure == Some(LinkError::Stalled { limit: stalled })
    });
    assert!(a.wakes() > before, "there is room again");
    assert!(a.of(2).dropped.frames > 0, "{:?}", a.of(2));

    // Whatever comes is whole, in order and once.
    let mut last = 0;
    while let Some(received) = b.transport.receive() {
        let Frame::Answer(answer) = received.frame else { panic!("an answer") };
        assert!(answer.answered == vec![answer.id.number as u8; FRAME_BYTES], "it is whole");
        assert!(answer.id.number > last && answer.id.number <= sent);
        last = answer.id.number;
        // What had no room comes now.
        park_timeout(Duration::from_millis(50));
    }
    assert!(last > 0);
    let is_new = |frame: &Frame| matches!(frame, Frame::Forget(_));
    let mut number = 0;
    eventually("node 2 is reached again", || {
        number += 1;
        let _ = a.send(2, number);
        std::iter::from_fn(|| b.transport.receive()).any(|received| is_new(&received.frame))
    });
    reaches(&mut c, &mut a);
}
