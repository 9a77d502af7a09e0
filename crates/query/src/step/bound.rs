//! `range()`, `limit()`, `skip()`, `tail()`, `timeLimit()`: limits by number or by time, for each origin.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::limits::Holding;
use crate::execute::pipeline::Step;
use evergraph_graph::error::Result;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A range of the rows of each origin.
pub struct Range {
    skip: u64,
    limit: u64,
    /// Traversers that came of each origin.
    came: Vec<u64>,
}

impl Range {
    /// At most `limit` rows, after the first `skip` rows.
    #[must_use]
    pub fn new(skip: u64, limit: u64) -> Self {
        Self { skip, limit, came: vec![0] }
    }
}

impl Step for Range {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        let end = self.skip.saturating_add(self.limit);
        let mut bulks = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let came = &mut self.came[batch.origin[row] as usize];
            // A row stands for several: those of them that lie in the range.
            let (first, last) = (*came, came.saturating_add(batch.bulk(row)));
            *came = last;
            bulks.push(last.min(end).saturating_sub(first.max(self.skip)));
        }
        let keep: Vec<bool> = bulks.iter().map(|bulk| *bulk > 0).collect();
        if batch.bulk.is_some() {
            batch.bulk = Some(bulks);
        }
        Ok(Some(batch.filter(&keep)))
    }

    fn reset(&mut self, origins: u32) {
        self.came.clear();
        self.came.resize(origins as usize, 0);
    }

    fn is_done(&self) -> bool {
        let end = self.skip.saturating_add(self.limit);
        self.came.iter().all(|came| *came >= end)
    }
}

/// Rows of each origin that come within a time, which begins with the first of them.
pub struct TimeLimit {
    time: Duration,
    /// When the first of each origin came.
    began: Vec<Option<Instant>>,
}

impl TimeLimit {
    /// Those that come within `time`; none if there is no time at all.
    #[must_use]
    pub fn new(time: Duration) -> Self {
        Self { time, began: vec![None] }
    }
}

impl Step for TimeLimit {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let now = Instant::now();
        let is_in_time = |origin: &u32| {
            let began = self.began[*origin as usize].get_or_insert(now);
            now.duration_since(*began) < self.time
        };
        let keep: Vec<bool> = batch.origin.iter().map(is_in_time).collect();
        Ok(Some(batch.filter(&keep)))
    }

    fn reset(&mut self, origins: u32) {
        self.began.clear();
        self.began.resize(origins as usize, None);
    }

    /// The time of all loops together.
    fn again(&mut self, origins: u32) {
        self.began.resize(origins as usize, None);
    }

    fn is_done(&self) -> bool {
        self.began.iter().all(|began| began.is_some_and(|began| began.elapsed() >= self.time))
    }
}

/// What a part of a batch takes beside its rows: the first of an origin makes room for four.
const PART_BYTES: usize = 4 * size_of::<(Batch, Holding)>();

/// The last rows of each origin.
pub struct Tail {
    count: u64,
    last: Vec<VecDeque<(Batch, Holding)>>,
}

impl Tail {
    /// The last `count` rows.
    #[must_use]
    pub fn new(count: u64) -> Self {
        Self { count, last: vec![VecDeque::new()] }
    }
}

impl Step for Tail {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let mut first = 0;
        while first < batch.len() {
            let origin = batch.origin[first];
            let end = first + batch.origin[first..].iter().take_while(|other| **other == origin).count();
            let waiting = &mut self.last[origin as usize];
            let part = batch.slice(first, end).trimmed();
            let holding = cx.charge.holding(PART_BYTES + part.extent().heap_bytes)?;
            waiting.push_back((part, holding));
            let all = waiting.iter().fold(0_u64, |sum, (batch, _)| sum.saturating_add(traversers(batch)));
            let mut more = all.saturating_sub(self.count);
            // What is before the last so many goes.
            while let Some((oldest, _)) = waiting.front_mut() {
                let held = traversers(oldest);
                if held > more {
                    *oldest = without_first(oldest, more)?;
                    break;
                }
                more -= held;
                waiting.pop_front();
            }
            first = end;
        }
        Ok(None)
    }

    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let (batches, _holdings): (Vec<Batch>, Vec<Holding>) = self.last.drain(..).flatten().unzip();
        Ok((!batches.is_empty()).then(|| Batch::concat(&batches)))
    }

    fn reset(&mut self, origins: u32) {
        self.last.clear();
        self.last.resize_with(origins as usize, VecDeque::new);
    }
}

/// Traversers that the rows stand for, at most 2^64 - 1.
fn traversers(batch: &Batch) -> u64 {
    (0..batch.len()).fold(0, |sum, row| sum.saturating_add(batch.bulk(row)))
}

/// The batch without its first `count` traversers.
fn without_first(batch: &Batch, mut count: u64) -> Result<Batch> {
    if count == 0 {
        return Ok(batch.clone());
    }
    let mut bulks = Vec::with_capacity(batch.len());
    for row in 0..batch.len() {
        let gone = count.min(batch.bulk(row));
        count -= gone;
        bulks.push(batch.bulk(row) - gone);
    }
    let keep: Vec<bool> = bulks.iter().map(|bulk| *bulk > 0).collect();
    let mut rest = batch.clone();
    rest.bulk = rest.bulk.is_some().then_some(bulks);
    Ok(rest.filter(&keep))
}
