//! End to end: packers, readers and certifiers of two nodes on one log, whose servers are killed and stopped meanwhile.

use crate::model::Model;
use crate::node::Node;
use crate::servers::{Servers, hasty};
use crate::test_log::{wait_until, waker};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::time::Duration;

/// How long nodes write.
const WRITING: Duration = Duration::from_secs(20);

#[test]
fn two_nodes_apply_the_same_whatever_happens_to_servers() {
    let Some(mut servers) = Servers::start() else { return };
    // Whoever connects first makes the stream.
    let mut maker = servers.log();
    maker.read_from(LogPosition(1));
    let node =
        |number, first| Node::on(number, NatsLog::open(hasty(servers.options(&[first])), waker()).unwrap());
    let mut nodes = [node(0, 0), node(1, 2)];
    let (clock, mut model) = (SystemClock::new(), Model::default());
    let (leader, mut happened) = (servers.leader(), 0);
    let mut trimmed_at = Duration::ZERO;
    wait_until("nodes have written", || {
        let now = clock.now();
        for node in &mut nodes {
            node.push(300, now, &mut model);
            node.step(now, &mut model);
        }
        // By seconds: the leader is killed, comes back, another server is stopped, and goes on.
        let is_due = |second: &u64| now.as_secs() >= *second;
        if [2, 9, 12, 16].get(happened).is_some_and(is_due) {
            match happened {
                0 => servers.kill(leader),
                1 => servers.begin_again(leader),
                2 => servers.pause((leader + 1) % 3),
                _ => servers.resume((leader + 1) % 3),
            }
            happened += 1;
        }
        if now >= trimmed_at + Duration::from_secs(1) {
            trimmed_at = now;
            let needed = nodes.iter().map(Node::needed_from).min();
            nodes[0].trim(needed.expect("there are two"));
        }
        now > WRITING && happened == 4
    });
    wait_until("everything is answered and read", || {
        for node in &mut nodes {
            node.step(clock.now(), &mut model);
        }
        let are_answered = nodes.iter().all(|node| node.unanswered() == 0);
        let last = |node: &Node<NatsLog>| node.applied.last().map(|applied| applied.position);
        are_answered && last(&nodes[0]) >= Some(model.newest) && last(&nodes[0]) == last(&nodes[1])
    });
    let authors = [nodes[0].author, nodes[1].author];
    for node in &nodes {
        assert_eq!(model.check_complete(&node.applied, &authors), Ok(()));
    }
    assert!(nodes[0].applied == nodes[1].applied, "they applied other messages");
    assert!(nodes[0].trims > 0 && nodes[0].applied.len() > 20, "{} messages", nodes[0].applied.len());
}
