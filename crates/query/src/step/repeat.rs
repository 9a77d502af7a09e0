//! `repeat()`: runs a traversal again and again, in waves.
//!
//! ```text
//!           enter                              body                      after
//! rows ──> until before? ── yes ──> out      [ ... ] ──> loops + 1 ──> until after? ── yes ──> out
//!          emit before?  ── yes ──> out too                            emit after?  ── yes ──> out too
//!          the next wave, equal rows merged                            enter
//! ```
//!
//! What comes out comes wave by wave, within a wave in the order of the rows; equal rows that are merged stand where the first
//! of them stood.
//!
//! All rows of a wave have run as often, so `loops()` is one number, and a barrier or limit in the body counts within
//! a loop. Rows that nobody can tell apart are one row that stands for several: so ten hops of 10^29 paths cost ten
//! scans. Source: query.md, section 5; Kùzu's frontiers.

use crate::batch::Batch;
use crate::batch::path::PathId;
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::limits::MemoryShare;
use crate::execute::pending_batches::PendingBatches;
use crate::execute::pipeline::{Pipeline, Step};
use crate::plan::element_reads::ElementRead;
use crate::step::bulk::Merger;
use crate::step::foreseen;
use crate::value::item::Item;
use evergraph_graph::error::Result;
use std::collections::{HashMap, VecDeque};

/// A question to the rows of a repeat.
pub enum RowCondition {
    /// Yes.
    Yes,
    /// Whether the body has run so often.
    Times(u64),
    /// Whether a traversal gives something.
    Exists(Child),
}

impl RowCondition {
    fn of(&mut self, batch: &Batch, loops: u32, cx: &mut Context<'_>) -> Result<Vec<bool>> {
        match self {
            Self::Yes => Ok(vec![true; batch.len()]),
            Self::Times(times) => Ok(vec![u64::from(loops) >= *times; batch.len()]),
            Self::Exists(child) => {
                cx.loops.push(loops);
                let answers = child.exists(batch, cx);
                cx.loops.pop();
                answers
            }
        }
    }
}

/// `repeat()`: runs a traversal again and again.
pub struct Repeat {
    body: Pipeline,
    /// When it ends, and whether that is asked before the body.
    until: Option<(RowCondition, bool)>,
    /// Which go on besides staying, and whether that is asked before the body.
    emit: Option<(RowCondition, bool)>,
    origins: u32,
    loops: u32,
    /// Rows of the next wave, as long as all are at vertices and have no past.
    merger: Merger,
    /// Rows of the next wave otherwise.
    next: PendingBatches,
    /// Rows of this wave that the body has not had yet.
    wave: VecDeque<Batch>,
    /// The memory of those.
    holding: MemoryShare,
    running: bool,
    out: PendingBatches,
    /// What is read of those that go through the body once more, and of those that go on.
    reads: [Vec<ElementRead>; 2],
}

impl Repeat {
    /// Runs `body` until `until` holds, and emits traversers as `emit` says.
    #[must_use]
    pub fn new(
        body: Pipeline,
        until: Option<(RowCondition, bool)>,
        emit: Option<(RowCondition, bool)>,
    ) -> Self {
        Self {
            body,
            until,
            emit,
            origins: 1,
            loops: 0,
            merger: Merger::default(),
            next: PendingBatches::default(),
            wave: VecDeque::new(),
            holding: MemoryShare::default(),
            running: false,
            out: PendingBatches::default(),
            reads: [const { Vec::new() }; 2],
        }
    }

    /// The same, which announces what is read of rows that have gone through the body: of those that go through it once more, and of
    /// those that go on.
    #[must_use]
    pub fn foreseeing(self, reads: [Vec<ElementRead>; 2]) -> Self {
        Self { reads, ..self }
    }

    /// Announces what is read of rows that have run `loops` times.
    fn announce(&self, batch: &Batch, loops: u32, cx: &Context<'_>) {
        let [stays, goes] = &self.reads;
        let is_last =
            matches!(&self.until, Some((RowCondition::Times(times), _)) if u64::from(loops) >= *times);
        let some_go =
            is_last || self.emit.is_some() || matches!(&self.until, Some((RowCondition::Exists(_), _)));
        let stays = stays.iter().filter(|_| !is_last);
        foreseen::announce(stays.chain(goes.iter().filter(|_| some_go)), batch, cx);
    }

    /// Rows that the body has run `loops` times for: lets out what ends or is emitted, in the order of the rows. The rest is
    /// the next wave's.
    fn arrive(&mut self, batch: Batch, loops: u32, cx: &mut Context<'_>) -> Result<()> {
        if loops > 0 {
            self.announce(&batch, loops, cx);
        }
        // How often each row goes out, and the rows that stay.
        let mut out = vec![0_u8; batch.len()];
        let mut stay: Vec<u32> = (0..batch.len() as u32).collect();
        let mut left = batch.clone();
        // What is asked behind the body comes before what is asked ahead of the next loop.
        let moments: &[bool] = if loops == 0 { &[true] } else { &[false, true] };
        for before in moments {
            if let Some((until, asked_before)) = &mut self.until
                && asked_before == before
                && !left.is_empty()
            {
                let ends = until.of(&left, loops, cx)?;
                stay.iter().zip(&ends).for_each(|(row, ends)| out[*row as usize] += u8::from(*ends));
                let stays: Vec<bool> = ends.iter().map(|ends| !ends).collect();
                let mut kept = stays.iter();
                stay.retain(|_| kept.next() == Some(&true));
                left = left.filter(&stays);
            }
            if let Some((emit, asked_before)) = &mut self.emit
                && asked_before == before
                && !left.is_empty()
            {
                let goes = emit.of(&left, loops, cx)?;
                stay.iter().zip(goes).for_each(|(row, goes)| out[*row as usize] += u8::from(goes));
            }
        }
        let goes: Vec<u32> =
            (0..).zip(&out).flat_map(|(row, times)| std::iter::repeat_n(row, usize::from(*times))).collect();
        if !goes.is_empty() {
            self.out.push(batch.gather(&goes.into()), &mut cx.charge)?;
        }
        self.wait(left, cx)
    }

    /// Puts rows into the next wave, behind those that are there.
    fn wait(&mut self, batch: Batch, cx: &mut Context<'_>) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        if cx.may_bulk()
            && self.next.is_empty()
            && let Some(vertices) = Merger::takes(&batch)
        {
            return self.merger.add(&vertices, &batch, &mut cx.charge);
        }
        if !self.merger.is_empty() {
            let first = self.merger.take(&mut cx.charge);
            self.next.push(first, &mut cx.charge)?;
        }
        self.next.push(batch, &mut cx.charge)
    }

    /// The next rows that come out once all input is there.
    fn advance(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        loop {
            while let Some(batch) = self.out.pop() {
                if !batch.is_empty() {
                    return Ok(Some(batch));
                }
            }
            if !self.running {
                if self.next.is_empty() && self.merger.is_empty() {
                    return Ok(None);
                }
                self.wave = self.next_wave(cx)?.into();
                self.body.again(self.origins);
                self.running = true;
            }
            cx.loops.push(self.loops);
            let made = self.run(cx);
            cx.loops.pop();
            match made? {
                Some(batch) => self.arrive(batch, self.loops + 1, cx)?,
                None => {
                    self.running = false;
                    self.loops += 1;
                }
            }
        }
    }

    /// The rows of the next wave, equal ones merged, by ascending origin.
    fn next_wave(&mut self, cx: &mut Context<'_>) -> Result<Vec<Batch>> {
        self.holding = MemoryShare::default();
        let all = if self.next.is_empty() {
            self.merger.take(&mut cx.charge).sort_by_origin()
        } else {
            let (all, holding) = self.next.together(&mut cx.charge)?;
            self.holding = holding;
            let all = all.sort_by_origin();
            if cx.may_bulk() { merged(all, cx)? } else { all }
        };
        self.holding = cx.charge.holding(all.extent().heap_bytes)?;
        Ok(cut(&all, cx.charge.batch_rows()))
    }

    /// The next that comes of this wave; `None` at its end.
    fn run(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        loop {
            let ended = self.wave.is_empty();
            if let Some(batch) = self.body.pull(ended, cx)? {
                return Ok(Some(batch));
            }
            match self.wave.pop_front() {
                Some(batch) => self.body.push(batch),
                None => return Ok(None),
            }
        }
    }
}

impl Step for Repeat {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        // What comes out goes on before more comes in.
        if self.out.is_empty()
            && let Some(batch) = input.take()
        {
            self.arrive(batch, 0, cx)?;
        }
        Ok(self.out.pop())
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.advance(cx)
    }

    fn reset(&mut self, origins: u32) {
        self.body.reset(origins);
        (self.origins, self.loops, self.running) = (origins, 0, false);
        self.merger.clear();
        self.next.clear();
        self.wave.clear();
        self.holding = MemoryShare::default();
        self.out.clear();
    }
}

/// What tells two rows apart.
type Identity = (u32, Vec<Option<Item>>, Option<PathId>);

/// The rows of `all`, of which those that nobody can tell apart are one that stands for all of them, the first
/// keeping its place.
fn merged(all: Batch, cx: &mut Context<'_>) -> Result<Batch> {
    let identity_bytes = 2 * (size_of::<Identity>() + (2 + all.slots.len()) * size_of::<Item>());
    let _holding = cx.charge.holding(all.len() * identity_bytes)?;
    let (rows, bulks) = once((0..all.len()).map(|row| identity(&all, row)), &all);
    let Some((rows, bulks)) = rows.zip(bulks) else { return Ok(all) };
    let mut fewer = all.gather(&rows.into());
    fewer.bulk = Some(bulks);
    Ok(fewer)
}

fn identity(batch: &Batch, row: usize) -> Identity {
    let mut items = vec![batch.current.get(row), batch.sack.as_ref().and_then(|sack| sack.get(row))];
    items.extend((0..batch.slots.len()).map(|slot| batch.slot(slot, row)));
    (batch.origin[row], items, batch.path.as_ref().map(|path| path[row]))
}

/// The first row of each identity and for how many it stands; nothing if all differ, or their sum would overflow.
fn once<T: Eq + std::hash::Hash>(
    identities: impl Iterator<Item = T>,
    batch: &Batch,
) -> (Option<Vec<u32>>, Option<Vec<u64>>) {
    let mut places: HashMap<T, usize> = HashMap::with_capacity(batch.len());
    let (mut rows, mut bulks): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
    for (row, identity) in identities.enumerate() {
        let place = *places.entry(identity).or_insert(rows.len());
        match bulks.get_mut(place) {
            None => {
                rows.push(row as u32);
                bulks.push(batch.bulk(row));
            }
            Some(bulk) => match bulk.checked_add(batch.bulk(row)) {
                Some(sum) => *bulk = sum,
                // What one row can't stand for stays several rows.
                None => return (None, None),
            },
        }
    }
    if rows.len() == batch.len() { (None, None) } else { (Some(rows), Some(bulks)) }
}

fn cut(all: &Batch, rows_max: usize) -> Vec<Batch> {
    let starts = (0..all.len()).step_by(rows_max.max(1));
    starts.map(|first| all.slice(first, all.len().min(first + rows_max))).collect()
}
