//! Rest: what must be so when nothing goes wrong any more, and all is quiet.

use super::World;
use crate::first_state::{index, own_groups};
use crate::shown::Shown;
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::record_id::NodeId;
use evergraph_graph::id::PartitionId;
use evergraph_graph::schema_change::SchemaChange;
use std::ops::ControlFlow;

/// Ticks in which everything must come to rest.
const REST_TICKS: u32 = 1500;

impl World {
    /// Whether everybody has applied the log, nobody asks or answers, every partition can be read, and whoever has filled an index
    /// has said so.
    fn is_at_rest(&mut self) -> bool {
        let (now, end) = (self.now, self.judge().position());
        let builds = self.judge().state().tables().builds().clone();
        let has_reported = |node: usize| builds.all().all(|build| build.nodes.contains(&NodeId(node as u16)));
        self.slots.iter_mut().enumerate().filter(|(_, slot)| !slot.has_stopped).all(|(node, slot)| {
            let Some(machine) = &mut slot.machine else { return false };
            let position = machine.seen().position;
            let status = machine.node.peers().status(now);
            let is_idle = status.asking == 0 && status.answering == (0, 0) && status.readers == (0, 0);
            let kept: Vec<PartitionId> = machine.node.node().applier().kept().collect();
            is_idle
                && (kept.is_empty() || has_reported(node))
                && status.waiting_frames == 0
                && position == end
                && machine.node.peers().readers().horizon() == end
                && kept.into_iter().all(|partition| machine.node.node().proved(partition).is_some())
        })
    }

    /// Lets everything come to rest, and compares.
    ///
    /// # Errors
    /// What is wrong.
    pub fn come_to_rest(&mut self) -> Result<(), String> {
        self.mend();
        for tick in 0..REST_TICKS {
            self.pass();
            if let Some(wrong) = self.wrong.take() {
                return Err(wrong);
            }
            // A store may find only now that its disk had failed.
            if tick % 50 == 49 {
                self.mend();
            }
            if tick > 100 && tick % 10 == 9 && self.is_at_rest() {
                self.check_told()?;
                self.check_nodes()?;
                let frames = *self.frames.lock();
                self.tally.trace.add(&frames);
                return Ok(());
            }
        }
        Err(format!("it does not come to rest: {}", self.describe()))
    }

    fn check_told(&self) -> Result<(), String> {
        for (id, committed) in &self.told {
            let found = self.judge().commits.get(id);
            if found != committed.as_ref() {
                return Err(format!("somebody was told of {id} {committed:?}, and the log has {found:?}"));
            }
        }
        Ok(())
    }

    /// Whether all nodes have the same, and what follows from the log.
    fn check_nodes(&mut self) -> Result<(), String> {
        let expected = self.histories.last().unwrap().state();
        let (saved, graph) =
            (checkpoint::encode(expected), self.judge().graph_at(expected.seen().position.end()));
        let (end, mut names) = (expected.seen(), expected.tables().catalogue().clone());
        let is_trimmed = self.log.messages().first().is_some_and(|first| first.position.0 > 4);
        self.tally.trims += u64::from(is_trimmed);
        self.tally.indexes += u64::from(names.index(index().id).is_some());
        // Partitions have it from its creation on. It stays like that if a node has stopped that would have to fill it.
        for build in expected.tables().builds().all() {
            names.apply(&SchemaChange::AddIndex(build.definition));
        }
        let has_lost = self.lost_at.is_some();
        for (node, slot) in self.slots.iter_mut().enumerate() {
            let Some(machine) = &mut slot.machine else {
                if !slot.has_stopped || !has_lost {
                    return Err(format!("node {node} does not run"));
                }
                continue;
            };
            if slot.saw_more {
                return Err(format!("node {node} had seen more than the log has, and runs"));
            }
            self.tally.ran_on += u64::from(has_lost);
            if checkpoint::encode(machine.node.node().applier().state()) != saved {
                return Err(format!("node {node} has other tables, or remembers something else"));
            }
            let kept: Vec<PartitionId> = machine.node.node().applier().kept().collect();
            for partition in kept {
                let own = own_groups(partition);
                let Some(store) = machine.node.node().proved(partition) else {
                    return Err(format!("node {node} cannot read {own}"));
                };
                let snapshot = store.snapshot_at(end.position).map_err(|error| error.to_string())?;
                if Shown::of(&snapshot) != graph.part(own) {
                    return Err(format!("node {node} has something else in {own}"));
                }
                if *store.opened().store().catalogue() != names {
                    return Err(format!("node {node} has other names in {own}"));
                }
                let go_on = &mut |_: &str, _: u64, _: u64| ControlFlow::Continue(());
                let report = store.opened().check(go_on).map_err(|error| error.to_string())?;
                if !report.is_healthy() {
                    return Err(format!("node {node}, {own}: {report:?}"));
                }
            }
        }
        Ok(())
    }

    fn describe(&mut self) -> String {
        let (now, mut text) = (self.now, format!("the log ends at {}", self.judge().position()));
        for (node, slot) in self.slots.iter_mut().enumerate() {
            let stands = slot.stands_until;
            match &mut slot.machine {
                None => text.push_str(&format!("; node {node} is down until {stands:?}")),
                Some(machine) => {
                    let status = machine.node.status(now);
                    text.push_str(&format!("; node {node} of {now:?}: {status:#?}"));
                }
            }
        }
        text
    }
}
