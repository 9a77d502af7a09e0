//! Client: one who sends operations to a network, one after the other, wherever it is kept.

use crate::social::network::Network;
use crate::social::operation::{Mix, Operation};
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;

/// Links that a list gives at most: LinkBench's limit.
pub const LIST_MAX: usize = 10_000;
/// Nodes added that a client keeps to replace deleted ones by.
const SPARES_MAX: usize = 1024;

/// What an operation found and did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OperationOutcome {
    /// Of a read, a number that says what was seen, the same in every store that has the same network.
    pub seen: u64,
    /// The id that was added.
    pub added: Option<u32>,
}

/// What is seen in a list of links: how many there are, and when each was written, in their order.
#[must_use]
pub fn seen_of_list(times: impl Iterator<Item = i64>) -> u64 {
    times.fold(0, |seen: u64, time| seen.wrapping_mul(31).wrapping_add(time as u64).wrapping_add(1))
}

/// One who sends operations.
#[derive(Debug)]
pub struct Client {
    random: Random,
    /// What stands in for the time, as links are ordered by it.
    clock: i64,
    /// Ids that it added and that are no node yet.
    spares: Vec<u32>,
}

impl Client {
    /// A client that draws from `random`, and whose times come after `clock`.
    #[must_use]
    pub fn new(random: Random, clock: i64) -> Self {
        Self { random, clock, spares: Vec::new() }
    }

    /// Draws an operation and does it by `perform`, which is told the time.
    ///
    /// # Errors
    /// Those of `perform`.
    pub fn step(
        &mut self,
        network: &Network,
        mix: &Mix,
        perform: impl FnOnce(&Operation, i64) -> Result<OperationOutcome>,
    ) -> Result<OperationOutcome> {
        let operation = mix.draw(network, &mut self.random);
        self.clock += 1;
        let performed = perform(&operation, self.clock)?;
        match (performed.added, operation) {
            (Some(id), _) if self.spares.len() < SPARES_MAX => self.spares.push(id),
            (_, Operation::DeleteNode(node)) => {
                if let Some(spare) = self.spares.pop() {
                    network.replace(node, spare);
                }
            }
            _ => {}
        }
        Ok(performed)
    }
}
