//! World: nodes and their log, the steps of a script, and its end.

use crate::model::{AppliedMessage, Model};
use crate::node::Node;
use crate::tally::Tally;
use evergraph_cluster::log::memory::{LogFaults, MemoryLog, MemoryLogCopy, OpenStreams};
use evergraph_cluster::log::reader::ReadError;
use evergraph_cluster::log::shared_log::LogMessage;
use evergraph_cluster::log_position::LogPosition;
use std::time::Duration;

/// Nodes.
pub const NODES: usize = 3;

/// Rounds after the last step, and their length: late appends come, what waits is sent, the log is read again.
const ROUNDS: u32 = 80;
const ROUND: Duration = Duration::from_millis(100);

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A node's coordinators write records of about so many bytes each; none at all: barriers.
    Push { node: usize, records: usize, bytes: usize },
    /// Time passes, and everybody does what is due then.
    Pass(Duration),
    /// A node saves what it has applied.
    Checkpoint { node: usize },
    /// A node dies, and starts from its checkpoint.
    Kill { node: usize },
    /// A fresh reader asks for the end of the log.
    AskForEnd { node: usize },
    /// The log is trimmed to what every checkpoint needs, unless it loses something in this script: a new node reads all of
    /// it then.
    Trim,
    /// All streams break off.
    Cut,
    /// The log loses its newest messages.
    Lose { messages: usize, streams: OpenStreams },
    /// The log is copied.
    Copy,
    /// The log is restored from its last copy, if there is one.
    Restore,
}

/// Nodes and their log.
pub struct World {
    log: MemoryLog,
    now: Duration,
    nodes: Vec<Node>,
    model: Model,
    copy: Option<MemoryLogCopy>,
    may_trim: bool,
    tally: Tally,
}

impl World {
    pub fn new(seed: u64, faults: LogFaults) -> Self {
        let log = MemoryLog::new(seed, faults);
        let nodes = (0..NODES).map(|number| Node::new(number, &log)).collect();
        let (model, tally) = (Model::default(), Tally::default());
        Self { log, now: Duration::ZERO, nodes, model, copy: None, may_trim: true, tally }
    }

    /// Plays a script, lets everybody read to the end, and compares.
    ///
    /// # Errors
    /// What is wrong.
    pub fn play(mut self, steps: &[Step]) -> Result<Tally, String> {
        self.may_trim = !steps.iter().any(|step| matches!(step, Step::Lose { .. } | Step::Restore));
        for step in steps {
            self.tally.trace.note(format_args!("{step:?}"));
            self.take(*step)?;
        }
        self.log.set_faults(LogFaults::default());
        if self.model.is_lost {
            self.nodes.push(Node::new(NODES, &self.log));
        }
        for round in 0..ROUNDS {
            // Every node says which log it has read, while there is time to find that it is another one.
            if round.is_multiple_of(10) && round < ROUNDS / 2 {
                (0..self.nodes.len()).for_each(|node| self.push(node, 1, 0));
            }
            self.pass(ROUND)?;
        }
        if self.model.is_lost {
            self.check_whoever_runs()?;
        } else {
            self.check_all()?;
        }
        Ok(self.tally)
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Push { node, records, bytes } => self.push(node, records, bytes),
            Step::Pass(by) => self.pass(by)?,
            Step::Checkpoint { node } => self.nodes[node].take_checkpoint(),
            Step::Kill { node } => {
                if self.nodes[node].stopped.is_none() {
                    self.nodes[node].kill(&self.log);
                    self.tally.kills += 1;
                }
            }
            Step::AskForEnd { node } => self.nodes[node].ask_for_end(&self.model),
            Step::Trim => {
                let needed = self.nodes.iter().map(Node::needed_from).min();
                if let Some(first) = needed.filter(|first| *first > LogPosition(1) && self.may_trim) {
                    self.nodes[0].trim(first);
                }
            }
            Step::Cut => self.log.cut(),
            Step::Lose { messages, streams } => {
                self.log.lose_suffix(messages, streams);
                self.lost();
            }
            Step::Copy => self.copy = Some(self.log.copy()),
            Step::Restore => {
                if let Some(copy) = &self.copy {
                    self.log.restore(copy);
                    self.lost();
                }
            }
        }
        Ok(())
    }

    fn lost(&mut self) {
        self.model.is_lost = true;
        self.tally.losses += 1;
    }

    fn push(&mut self, node: usize, records: usize, bytes: usize) {
        if self.nodes[node].stopped.is_none() {
            self.nodes[node].push(records, bytes, self.now, &mut self.model, &mut self.tally);
        }
    }

    fn pass(&mut self, by: Duration) -> Result<(), String> {
        self.now += by;
        self.log.advance_to(self.now);
        for node in &mut self.nodes {
            node.step(self.now, &mut self.model, &mut self.tally)?;
        }
        Ok(())
    }

    /// The log lost nothing: nobody stopped, everything is there, and everywhere.
    fn check_all(&self) -> Result<(), String> {
        let authors: Vec<_> = self.nodes.iter().map(|node| node.author).collect();
        for (number, node) in self.nodes.iter().enumerate() {
            let of_it = |wrong: String| format!("node {number}: {wrong}");
            if let Some(error) = &node.stopped {
                return Err(of_it(format!("it stopped: {error}")));
            }
            if node.unanswered() > 0 {
                return Err(of_it(format!("{} records never left its packer", node.unanswered())));
            }
            self.model.check_complete(&node.applied, &authors).map_err(of_it)?;
            if node.applied != self.nodes[0].applied {
                return Err(of_it("it applied other messages than node 0".to_owned()));
            }
            self.check_log(node).map_err(of_it)?;
        }
        match self.tally.alarms {
            0 => Ok(()),
            alarms => Err(format!("{alarms} alarms, and the log had lost nothing")),
        }
    }

    /// Who did not stop has read the log that there is; the new node did not.
    fn check_whoever_runs(&mut self) -> Result<(), String> {
        for (number, node) in self.nodes.iter().enumerate() {
            let of_it = |wrong: String| format!("node {number}: {wrong}");
            match &node.stopped {
                Some(ReadError::LogChanged { .. }) if number < NODES => self.tally.stopped += 1,
                Some(error) => return Err(of_it(format!("it stopped: {error}"))),
                None => {
                    self.tally.ran_on += u64::from(number < NODES);
                    self.model.check_applied(&node.applied).map_err(of_it)?;
                    self.check_log(node).map_err(of_it)?;
                }
            }
        }
        Ok(())
    }

    /// Whether what a node applied is what the log has, as far back as that begins.
    fn check_log(&self, node: &Node) -> Result<(), String> {
        let log = self.log.messages();
        let begin = log.first().map_or(LogPosition::MAX, |message| message.position);
        let applied = node.applied.iter().filter(|applied| applied.position >= begin);
        let same = |applied: &AppliedMessage, message: &LogMessage| {
            (applied.position, &applied.bytes) == (message.position, &message.bytes)
        };
        let (mut applied, mut expected) = (applied, log.iter());
        loop {
            match (applied.next(), expected.next()) {
                (None, None) => return Ok(()),
                (Some(applied), Some(message)) if same(applied, message) => {}
                (applied, message) => {
                    let applied = applied.map(|applied| applied.position);
                    let message = message.map(|message| message.position);
                    return Err(format!("it applied {applied:?} where the log has {message:?}"));
                }
            }
        }
    }
}
