//! End to end: packers, readers and certifiers of two nodes on one log, whose servers are killed and stopped meanwhile.

use crate::log_promises::model::Model;
use crate::log_promises::node::Node;
use crate::real_log::test_log::wait_until;
use crate::real_log::{HASTY_LIMIT, RealLog};
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::time::Duration;

pub fn two_nodes_apply_the_same_whatever_happens_to_servers<R: RealLog>() {
    let Some(mut servers) = R::start_three() else { return };
    let node = |number, first| Node::new(number, servers.open(&[first], Some(HASTY_LIMIT)));
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
        if R::DISRUPTIONS.times.get(happened).is_some_and(|at| now >= *at) {
            match happened {
                0 => servers.kill(leader),
                1 => servers.start_one(leader),
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
        now > R::DISRUPTIONS.end && happened == 4
    });
    // The one that was killed is there again: three have taken part.
    servers.wait(leader);
    wait_until("everything is answered and read", || {
        for node in &mut nodes {
            node.step(clock.now(), &mut model);
        }
        let are_answered = nodes.iter().all(|node| node.unanswered() == 0);
        let last = |node: &Node<R::Log>| node.applied.last().map(|applied| applied.position);
        are_answered && last(&nodes[0]) >= Some(model.newest) && last(&nodes[0]) == last(&nodes[1])
    });
    let authors = [nodes[0].author, nodes[1].author];
    for node in &nodes {
        assert_eq!(model.check_complete(&node.applied, &authors), Ok(()));
    }
    assert!(nodes[0].applied == nodes[1].applied, "they applied other messages");
    assert!(nodes[0].trims > 0 && nodes[0].applied.len() > 20, "{} messages", nodes[0].applied.len());
}
