//! Faults: what happens to processes and the network between them, chosen from a seed.
//!
//! Each begins, lasts for a while, and is healed: whoever was killed is started again, whoever was stopped goes on, ways are open.

use crate::cut_network::{Cut, Party};
use crate::site::{NODES, Site, member, name, node};
use crate::workloads::below;
use evergraph_storage::io::random::SplitMix64;
use std::fmt;
use std::time::Duration;

/// Clocks jump by at most this. Certificates of a new cluster are valid from a day before, for two years.
const JUMP_SECONDS_BACK: i64 = 20 * 3600;
const JUMP_SECONDS_ON: i64 = 500 * 86_400;
/// Whoever was killed stays away for at most this.
const AWAY_MAX: Duration = Duration::from_millis(600);
/// A fault lasts for at least this.
const TIME_MIN: Duration = Duration::from_millis(100);

/// Which directions between two are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Both,
    There,
    Back,
}

/// What happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Processes are killed, as by a power cut of their machine, or of all of them.
    Kill(Vec<Party>),
    /// Processes are stopped: they keep their connections, and say nothing.
    Pause(Vec<Party>),
    /// Somebody is cut off from others.
    CutOff { from: Vec<Party>, party: Party, direction: Direction, cut: Cut },
    /// The wall clock of a node jumps by so many seconds, and stays there.
    JumpClock { node: usize, seconds: i64 },
}

/// What happens, and for how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub time: Duration,
}

impl Fault {
    /// One of all faults for a cluster with so many members. Pauses and cuts last for at most `pause_max`.
    pub fn choose(random: &mut SplitMix64, members: usize, pause_max: Duration) -> Self {
        let any_node = node(below(random, NODES as i64) as usize);
        let any_member = member(below(random, members as i64) as usize);
        let other_node = node((any_node.0 + 1 + below(random, NODES as i64 - 1) as usize) % NODES);
        let direction = [Direction::Both, Direction::There, Direction::Back][below(random, 3) as usize];
        let cut = if below(random, 3) == 0 { Cut::Broken } else { Cut::Silent };
        let all_nodes = || (0..NODES).map(node);
        let all_members = || (0..members).map(member);
        let cut_off = |from: Vec<Party>, party| FaultKind::CutOff { from, party, direction, cut };
        let kind = match below(random, 20) {
            0..5 => FaultKind::Kill(vec![any_node]),
            5..8 => FaultKind::Kill(vec![any_member]),
            // A machine, and all machines.
            8 => FaultKind::Kill(vec![any_node, any_member]),
            9 => FaultKind::Kill(all_nodes().chain(all_members()).collect()),
            10..12 => FaultKind::Pause(vec![any_node]),
            12..14 => FaultKind::Pause(vec![any_member]),
            14..16 => cut_off(vec![other_node], any_node),
            16 => cut_off(vec![any_member], any_node),
            // A node from the whole log, and a member from everybody.
            17 => cut_off(all_members().collect(), any_node),
            18 => {
                let others = all_nodes().chain(all_members()).filter(|other| *other != any_member);
                cut_off(others.collect(), any_member)
            }
            _ => {
                let seconds = below(random, JUMP_SECONDS_ON + JUMP_SECONDS_BACK) - JUMP_SECONDS_BACK;
                // As often back as on.
                let seconds = if below(random, 2) == 0 { seconds % JUMP_SECONDS_BACK } else { seconds };
                FaultKind::JumpClock { node: any_node.0, seconds }
            }
        };
        let longest = match kind {
            FaultKind::Kill(_) => AWAY_MAX,
            // Most are short, so that there are many.
            _ if below(random, 3) > 0 => pause_max / 3,
            _ => pause_max,
        };
        let range = longest.saturating_sub(TIME_MIN).as_millis() as i64;
        Self { kind, time: TIME_MIN + Duration::from_millis(below(random, range + 1) as u64) }
    }

    /// How many processes are killed.
    pub fn kills(&self) -> u64 {
        match &self.kind {
            FaultKind::Kill(parties) => parties.len() as u64,
            _ => 0,
        }
    }

    /// It happens now.
    pub fn begin(&self, site: &mut Site) {
        match &self.kind {
            FaultKind::Kill(parties) => parties.iter().for_each(|party| site.kill(*party)),
            FaultKind::Pause(parties) => parties.iter().for_each(|party| site.pause(*party)),
            FaultKind::CutOff { from, party, direction, cut } => {
                for other in from {
                    if *direction != Direction::Back {
                        site.network.cut(*party, *other, *cut);
                    }
                    if *direction != Direction::There {
                        site.network.cut(*other, *party, *cut);
                    }
                }
            }
            FaultKind::JumpClock { node, seconds } => site.clocks[*node].jump_to(*seconds),
        }
    }

    /// It is over: all processes serve. How long each took that was started.
    ///
    /// # Errors
    /// What a process said that does not start.
    pub fn heal(&self, site: &mut Site) -> Result<Vec<(Party, Duration)>, String> {
        match &self.kind {
            FaultKind::Kill(parties) => {
                // Members wait for a majority of them, and nodes for the log.
                parties.iter().for_each(|party| site.run(*party));
                let began = std::time::Instant::now();
                return parties
                    .iter()
                    .rev()
                    .map(|party| site.wait(*party).map(|()| (*party, began.elapsed())))
                    .collect();
            }
            FaultKind::Pause(parties) => parties.iter().for_each(|party| site.resume(*party)),
            FaultKind::CutOff { .. } => site.network.heal(),
            // Clocks differ for good.
            FaultKind::JumpClock { .. } => {}
        }
        Ok(Vec::new())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |parties: &[Party]| parties.iter().map(|party| name(*party)).collect::<Vec<_>>().join(", ");
        match &self.kind {
            FaultKind::Kill(parties) => write!(f, "{} killed, away for {:?}", names(parties), self.time),
            FaultKind::Pause(parties) => write!(f, "{} stopped for {:?}", names(parties), self.time),
            FaultKind::CutOff { from, party, direction, cut } => {
                let way = match direction {
                    Direction::Both => "to and from",
                    Direction::There => "to",
                    Direction::Back => "from",
                };
                write!(f, "{} cut off {way} {} ({cut:?}) for {:?}", name(*party), names(from), self.time)
            }
            FaultKind::JumpClock { node, seconds } => write!(f, "the clock of node {node} {seconds} s off"),
        }
    }
}
