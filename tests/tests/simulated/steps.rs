//! Steps: what a simulated client and the background do, one after the other, chosen by a seed.
//!
//! A step is plain numbers: which vertex or edge is meant depends on what is there when it runs, so that any
//! list of steps can run, also one from which some were taken away.

use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::open::BackgroundStep;

/// Transactions that may be open at once.
pub const SLOTS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// In the transaction of a slot, which begins with its first write.
    Write {
        slot: u8,
        write: Write,
    },
    Commit {
        slot: u8,
    },
    RollBack {
        slot: u8,
    },
    /// A transaction of its own that only names things.
    Name {
        number: u8,
    },
    Snapshot,
    CloseSnapshot {
        at: u8,
    },
    CreateIndex {
        which: u8,
    },
    DropIndex {
        which: u8,
    },
    Load {
        seed: u16,
    },
    /// The store follows a source from here on.
    Own,
    /// And no longer.
    Release,
    /// A load after which a vertex has more edges than a segment keeps with others.
    LoadHub {
        seed: u16,
    },
    Background(BackgroundStep),
    /// While it is made, steps that this seed chooses; 0 for none.
    Checkpoint {
        beside: u16,
    },
    /// Asks the log for more than its mode does.
    WaitDurable,
    /// Closes and opens.
    Reopen,
    /// The process is killed: nothing is closed, what was written stays in the system's cache.
    Kill,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    AddVertex {
        label: u8,
        value: u8,
    },
    DeleteVertex {
        at: u8,
    },
    SetVertex {
        at: u8,
        key: u8,
        value: u8,
    },
    AddEdge {
        source: u8,
        target: u8,
        kind: u8,
        value: u8,
    },
    PutEdge {
        source: u8,
        target: u8,
        kind: u8,
        value: u8,
    },
    DeleteEdge {
        at: u8,
    },
    SetEdge {
        at: u8,
        value: u8,
    },
    /// Some forty parallel edges or changes of one: a segment has more records than it may keep.
    Burst {
        source: u8,
        target: u8,
        value: u8,
    },
}

/// `count` steps from `random`.
pub fn choose(count: usize, random: &mut SplitMix64) -> Vec<Step> {
    (0..count).map(|_| any(random)).collect()
}

/// The steps that a history begins with: some indexes, and a few vertices at once.
pub fn beginning(random: &mut SplitMix64) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..random.next_u64() % 4).map(|_| create_index(random)).collect();
    for _ in 0..4 {
        let [label, value, ..] = random.next_u64().to_le_bytes();
        steps.push(Step::Write { slot: 0, write: Write::AddVertex { label, value } });
    }
    steps.push(Step::Commit { slot: 0 });
    steps
}

/// The same, but for some of the names: there the store gets an owner, or loses it.
pub fn with_owner(step: Step) -> Step {
    match step {
        Step::Name { number } if number.is_multiple_of(4) => Step::Own,
        Step::Name { number } if number % 16 == 1 => Step::Release,
        other => other,
    }
}

fn create_index(random: &mut SplitMix64) -> Step {
    Step::CreateIndex { which: random.next_u64() as u8 }
}

/// A checkpoint, mostly with something beside it.
pub fn checkpoint(random: &mut SplitMix64) -> Step {
    let [a, b, c, ..] = random.next_u64().to_le_bytes();
    Step::Checkpoint { beside: if c % 4 == 0 { 0 } else { u16::from_le_bytes([a, b]) } }
}

/// A step that may be beside a checkpoint.
pub fn beside(random: &mut SplitMix64) -> Step {
    let slot = (random.next_u64() % SLOTS as u64) as u8;
    match random.next_u64() % 8 {
        0..4 => Step::Write { slot, write: any_write(random) },
        4..7 => Step::Commit { slot },
        // Who looks after checkpoints would wait for the one under way.
        _ => match background(random) {
            Step::Background(BackgroundStep::LookAfter) => Step::Background(BackgroundStep::MergeIdle),
            other => other,
        },
    }
}

/// One background step.
pub fn background(random: &mut SplitMix64) -> Step {
    use BackgroundStep::{LogTimer, LookAfter, Merge, MergeIdle, PrepareLog};
    let kinds = [Merge, MergeIdle, MergeIdle, LookAfter, PrepareLog, LogTimer, LogTimer, LogTimer];
    Step::Background(kinds[random.next_u64() as usize % kinds.len()])
}

fn any(random: &mut SplitMix64) -> Step {
    let slot = (random.next_u64() % SLOTS as u64) as u8;
    match random.next_u64() % 100 {
        0..46 => Step::Write { slot, write: any_write(random) },
        46..68 => Step::Commit { slot },
        68 => Step::RollBack { slot },
        69 | 70 => Step::Name { number: random.next_u64() as u8 },
        71 => Step::Snapshot,
        72 => Step::CloseSnapshot { at: random.next_u64() as u8 },
        73 | 74 => create_index(random),
        75 => Step::DropIndex { which: random.next_u64() as u8 },
        76 => Step::Load { seed: random.next_u64() as u16 },
        77..91 => background(random),
        91..95 => checkpoint(random),
        95 | 96 => Step::WaitDurable,
        97 | 98 => Step::Reopen,
        _ => Step::Kill,
    }
}

fn any_write(random: &mut SplitMix64) -> Write {
    let [a, b, c, value, ..] = random.next_u64().to_le_bytes();
    match random.next_u64() % 24 {
        0..5 => Write::AddVertex { label: a, value },
        5 => Write::DeleteVertex { at: a },
        6..10 => Write::SetVertex { at: a, key: b, value },
        10..15 => Write::AddEdge { source: a, target: b, kind: c, value },
        15..18 => Write::PutEdge { source: a, target: b, kind: c, value },
        18 | 19 => Write::DeleteEdge { at: a },
        20..23 => Write::SetEdge { at: a, value },
        _ => Write::Burst { source: a, target: b, value },
    }
}
