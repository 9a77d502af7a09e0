//! `match()`: finds all solutions of the patterns, the cheapest pattern first.
//!
//! ```text
//! rows ──> which slots are something? ──> the pattern that costs least ──┬─> rows, one pattern less ──> ...
//!              (a group each)              both ends known: count edges   │
//!                                          else: its child, a batch once ─┘   none left: out, as a map of slots
//! ```
//!
//! Rows go down, a batch at a time, before the next come: what waits is a batch a pattern. Which pattern is next is
//! chosen for each batch, since a row may bring slots along. Source: TinkerPop's `MatchStep`, there a row at a time;
//! the order is that of a greedy join by average degrees.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::operator::{Expand, ExpandTo, Name, Operator};
use crate::plan::pattern::PathPattern;
use crate::value::identity::ByValue;
use crate::value::item::Item;
use crate::value::map::ItemMap;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, TypeId, VertexId};
use std::sync::Arc;

/// `match()`.
pub struct Match {
    begin: usize,
    starts: Vec<usize>,
    answer: Vec<(usize, Name)>,
    solver: Solver,
    running: bool,
}

impl Match {
    /// What `solver` finds, as maps of the slots `answer`. A row that comes without any of `starts` is itself `begin`.
    #[must_use]
    pub fn new(begin: usize, starts: Vec<usize>, answer: Vec<(usize, Name)>, solver: Solver) -> Self {
        Self { begin, starts, answer, solver, running: false }
    }

    fn begin(&mut self, mut batch: Batch, cx: &mut Context<'_>) -> Result<()> {
        let rows = 0..batch.len();
        let begun: Vec<bool> =
            rows.map(|row| self.starts.iter().any(|slot| batch.slot(*slot, row).is_some())).collect();
        if begun.iter().all(|begun| !begun) {
            bind(&mut batch, self.begin, &self.answer, cx)?;
        } else if begun.iter().any(|begun| !begun) {
            let mut bare = batch.clone();
            bind(&mut bare, self.begin, &self.answer, cx)?;
            let without: Vec<bool> = begun.iter().map(|begun| !begun).collect();
            self.solver.begin(bare.filter(&without));
            batch = batch.filter(&begun);
        }
        self.solver.begin(batch);
        Ok(())
    }

    fn maps(&self, batch: &Batch) -> Column {
        let map = |row: usize| {
            let entry = |(slot, name): &(usize, Name)| Some((Item::from(&**name), batch.slot(*slot, row)?));
            Item::Map(Arc::new(self.answer.iter().filter_map(entry).collect::<ItemMap>()))
        };
        Column::of_items((0..batch.len()).map(map).collect())
    }
}

/// Makes `slot` of each row what the row is at.
fn bind(batch: &mut Batch, slot: usize, names: &[(usize, Name)], cx: &mut Context<'_>) -> Result<()> {
    batch.set_slot(slot, batch.current.clone());
    if let (Some(paths), Some((_, name))) = (&mut batch.path, names.iter().find(|(other, _)| *other == slot))
    {
        for (path, item) in paths.iter_mut().zip(batch.current.items()) {
            // A pattern of filters alone goes nowhere, and may begin elsewhere than where the path ends.
            if cx.paths.items_back(*path).next() != Some(&item) {
                *path = cx.extend_path(*path, item)?;
            }
            *path = cx.label_path(*path, name)?;
        }
    }
    Ok(())
}

impl Step for Match {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if !self.running {
            let Some(batch) = input.clone() else { return Ok(None) };
            self.begin(batch, cx)?;
            self.running = true;
        }
        match self.solver.next(&self.answer, cx)? {
            Some(solved) => {
                let maps = self.maps(&solved);
                Ok(Some(solved.follow(&Rows::All, maps)))
            }
            None => {
                (*input, self.running) = (None, false);
                Ok(None)
            }
        }
    }

    fn reset(&mut self, _origins: u32) {
        self.solver.reset();
        self.running = false;
    }
}

/// Solves patterns.
pub struct Solver {
    patterns: Vec<Pattern>,
    frames: Vec<Frame>,
}

/// Rows with the patterns that are left for them, a bit each.
enum Frame {
    Waiting { left: u64, rows: Batch },
    Running { pattern: usize, left: u64, rows: Batch },
}

impl Solver {
    /// For these patterns, at most 64.
    #[must_use]
    pub fn new(patterns: Vec<Pattern>) -> Self {
        Self { patterns, frames: Vec::new() }
    }

    fn begin(&mut self, rows: Batch) {
        let left = (0..self.patterns.len()).fold(0, |left, at| left | 1 << at);
        self.frames.push(Frame::Waiting { left, rows });
    }

    fn reset(&mut self) {
        self.frames.clear();
    }

    /// The next rows of which all patterns are fulfilled.
    fn next(&mut self, names: &[(usize, Name)], cx: &mut Context<'_>) -> Result<Option<Batch>> {
        while let Some(frame) = self.frames.pop() {
            match frame {
                Frame::Waiting { left: 0, rows } => return Ok(Some(rows)),
                Frame::Waiting { left, rows } => {
                    let mut groups = by_bound(&rows, names);
                    if groups.len() > 1 {
                        self.frames.extend(groups.into_iter().map(|(_, rows)| Frame::Waiting { left, rows }));
                        continue;
                    }
                    let Some((bound, rows)) = groups.pop() else { continue };
                    let pattern = self.cheapest(left, &bound, cx)?;
                    self.patterns[pattern].begin(&rows, &bound);
                    self.frames.push(Frame::Running { pattern, left: left & !(1 << pattern), rows });
                }
                Frame::Running { pattern, left, rows } => {
                    cx.charge.check()?;
                    if let Some(found) = self.patterns[pattern].next(&rows, names, cx)? {
                        self.frames.push(Frame::Running { pattern, left, rows });
                        if !found.is_empty() {
                            self.frames.push(Frame::Waiting { left, rows: found });
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Which of the patterns `left` is to be asked next where the slots `bound` are something.
    fn cheapest(&mut self, left: u64, bound: &[usize], cx: &Context<'_>) -> Result<usize> {
        let mut best: Option<(f64, usize)> = None;
        for at in (0..self.patterns.len()).filter(|at| left & (1 << at) != 0) {
            let pattern = &mut self.patterns[at];
            if pattern.needs.iter().any(|slot| !bound.contains(slot)) {
                continue;
            }
            let cost = pattern.cost(bound, cx)?;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, at));
            }
        }
        best.map(|(_, at)| at).ok_or_else(|| {
            Error::invalid(
                "The provided match pattern is unsolvable: nothing leads to the names of a pattern",
            )
        })
    }
}

/// Rows by which of `names` are something.
fn by_bound(rows: &Batch, names: &[(usize, Name)]) -> Vec<(Vec<usize>, Batch)> {
    let there = names.iter().filter_map(|(slot, _)| Some((*slot, rows.slots.get(*slot)?.as_ref()?)));
    let columns: Vec<(usize, &Column)> = there.collect();
    if columns.iter().all(|(_, column)| !matches!(column.parts().0, Data::Optional(_))) {
        return vec![(columns.into_iter().map(|(slot, _)| slot).collect(), rows.clone())];
    }
    let mut groups: Vec<(Vec<usize>, Vec<u32>)> = Vec::new();
    for row in 0..rows.len() {
        let something = columns.iter().filter(|(_, column)| column.get(row).is_some());
        let bound: Vec<usize> = something.map(|(slot, _)| *slot).collect();
        match groups.iter_mut().find(|(other, _)| *other == bound) {
            Some((_, rows)) => rows.push(row as u32),
            None => groups.push((bound, vec![row as u32])),
        }
    }
    match groups.as_mut_slice() {
        [(bound, _)] => vec![(std::mem::take(bound), rows.clone())],
        _ => groups.into_iter().map(|(bound, chosen)| (bound, rows.gather(&chosen.into()))).collect(),
    }
}

/// A pattern, ready to run.
pub struct Pattern {
    needs: Vec<usize>,
    asked: PatternKind,
    /// What it costs where its end isn't known, once that was asked.
    cost: Option<f64>,
}

enum PatternKind {
    Path(Box<Path>),
    Any { all: Vec<Solver>, at: usize, begun: bool },
}

struct Path {
    from: Option<usize>,
    to: Option<usize>,
    child: Child,
    shape: Shape,
    /// The edge that it is, if it is one and nobody asks for the way.
    edge: Option<Expand>,
    /// Whether rows keep what they met in there: not behind what makes one of many.
    keeps_past: bool,
    /// Whether the end is known of the rows that it runs for.
    closes: bool,
    /// Whether it is asked for edges, and they are counted already.
    counted: Option<bool>,
}

/// What a pattern does, as far as its cost goes.
enum Shape {
    Filter,
    Question,
    Map,
    Expand(Expand),
}

/// Costs in rows that come of one, about.
const FILTER: f64 = 0.1;
const QUESTION: f64 = 0.5;
const CLOSING: f64 = 0.7;
const MAP: f64 = 1.0;
/// Of an expansion, where the graph tells nothing.
const FAN_OUT: f64 = 10.0;
/// One of several lists of patterns comes last: then most of its slots are known.
const ANY: f64 = 1e18;

impl Pattern {
    /// A pattern that runs `child`.
    #[must_use]
    pub fn path(plan: &PathPattern, child: Child, reads_paths: bool) -> Self {
        let operators = &plan.of.operators;
        let expands = operators.iter().find_map(|operator| match operator {
            Operator::Expand(expand) if expand.to != ExpandTo::Count => Some(expand.clone()),
            _ => None,
        });
        let reduces = operators.iter().any(|operator| {
            matches!(
                operator,
                Operator::Reduce(_) | Operator::Group(_) | Operator::Tree { .. } | Operator::Cap(_)
            )
        });
        let shape = match (expands, plan.from) {
            (_, None) => Shape::Question,
            (Some(expand), _) => Shape::Expand(expand),
            _ if plan.to.is_none() && operators.iter().all(|one| matches!(one, Operator::Filter(_))) => {
                Shape::Filter
            }
            _ => Shape::Map,
        };
        let edge = match operators.as_slice() {
            // With tests on the way, edges are met one by one.
            [Operator::Expand(expand)]
                if expand.to == ExpandTo::Neighbors
                    && !reads_paths
                    && expand.edges.operators.is_empty()
                    && expand.vertices.operators.is_empty() =>
            {
                Some(expand.clone())
            }
            _ => None,
        };
        let path = Path {
            from: plan.from,
            to: plan.to,
            child,
            shape,
            edge,
            keeps_past: !reduces,
            closes: false,
            counted: None,
        };
        Self { needs: plan.needs.clone(), asked: PatternKind::Path(Box::new(path)), cost: None }
    }

    /// One of several lists of patterns, which together need the slots `needs`.
    #[must_use]
    pub fn any(all: Vec<Solver>, needs: Vec<usize>) -> Self {
        Self { needs, asked: PatternKind::Any { all, at: 0, begun: false }, cost: None }
    }

    fn cost(&mut self, bound: &[usize], cx: &Context<'_>) -> Result<f64> {
        let PatternKind::Path(path) = &self.asked else { return Ok(ANY) };
        let closes = path.to.is_some_and(|slot| bound.contains(&slot));
        Ok(match &path.shape {
            Shape::Filter => FILTER,
            Shape::Question => QUESTION,
            Shape::Map => MAP,
            Shape::Expand(_) if closes && path.edge.is_some() => CLOSING,
            Shape::Expand(expand) => match self.cost {
                Some(cost) => cost,
                None => *self.cost.insert(MAP + fan_out(expand, cx)?),
            },
        })
    }

    fn begin(&mut self, rows: &Batch, bound: &[usize]) {
        match &mut self.asked {
            PatternKind::Any { at, begun, .. } => (*at, *begun) = (0, false),
            PatternKind::Path(path) => path.begin(rows, bound),
        }
    }

    fn next(&mut self, rows: &Batch, names: &[(usize, Name)], cx: &mut Context<'_>) -> Result<Option<Batch>> {
        match &mut self.asked {
            PatternKind::Path(path) => path.next(rows, names, cx),
            PatternKind::Any { all, at, begun } => {
                while let Some(solver) = all.get_mut(*at) {
                    if !std::mem::replace(begun, true) {
                        solver.reset();
                        solver.begin(rows.clone());
                    }
                    if let Some(found) = solver.next(names, cx)? {
                        return Ok(Some(found));
                    }
                    (*at, *begun) = (*at + 1, false);
                }
                Ok(None)
            }
        }
    }
}

impl Path {
    fn begin(&mut self, rows: &Batch, bound: &[usize]) {
        self.closes = self.to.is_some_and(|slot| bound.contains(&slot));
        let start = |slot: usize| rows.slots.get(slot).cloned().flatten();
        let ends = self.to.filter(|_| self.closes).and_then(start);
        let starts = self.from.and_then(start);
        let all_vertices =
            |column: &Option<Column>| column.as_ref().is_some_and(|all| all.vertices().is_some());
        self.counted = (self.edge.is_some() && all_vertices(&ends) && all_vertices(&starts)).then_some(false);
        if self.counted.is_none() {
            let current = starts.unwrap_or_else(|| rows.current.clone());
            self.child.begin(&Batch { current, ..rows.clone() });
        }
    }

    fn next(&mut self, rows: &Batch, names: &[(usize, Name)], cx: &mut Context<'_>) -> Result<Option<Batch>> {
        match (self.counted, &self.edge) {
            (Some(true), _) => return Ok(None),
            (Some(false), Some(edge)) => {
                self.counted = Some(true);
                return self.with_edges(rows, edge, cx).map(Some);
            }
            _ => {}
        }
        let Some(made) = self.child.next(cx)? else { return Ok(None) };
        let made = match self.to.filter(|_| self.closes) {
            Some(to) => {
                let is_end = |(row, origin): (usize, &u32)| {
                    let end = rows.slot(to, *origin as usize).zip(made.current.get(row));
                    end.is_some_and(|(end, found)| ByValue::are_one(&end, &found))
                };
                let ends: Vec<bool> = made.origin.iter().enumerate().map(is_end).collect();
                made.filter(&ends)
            }
            None => made,
        };
        let mut found = if self.keeps_past { rows.adopt(made)? } else { follow(rows, made, cx)? };
        if let Some(to) = self.to.filter(|_| !self.closes) {
            bind(&mut found, to, names, cx)?;
        }
        Ok(Some(found))
    }

    /// The rows between whose slots there is `edge`, as often as there is one.
    fn with_edges(&self, rows: &Batch, edge: &Expand, cx: &Context<'_>) -> Result<Batch> {
        let vertices = |slot: Option<usize>| -> Vec<VertexId> {
            let column = slot.and_then(|slot| rows.slots.get(slot).cloned().flatten());
            column.and_then(|column| column.vertices()).unwrap_or_default()
        };
        let (from, to) = (vertices(self.from), vertices(self.to));
        let mut counts = vec![0_u64; rows.len()];
        for edge_type in types(edge, cx) {
            for direction in [Direction::Out, Direction::In] {
                if edge.direction != direction && edge.direction != Direction::Both {
                    continue;
                }
                let pairs: Vec<(VertexId, VertexId)> = match direction {
                    Direction::In => to.iter().copied().zip(from.iter().copied()).collect(),
                    _ => from.iter().copied().zip(to.iter().copied()).collect(),
                };
                let mut between = Vec::with_capacity(pairs.len());
                cx.view().count_edges_between(&pairs, edge_type, &mut between)?;
                counts.iter_mut().zip(between).for_each(|(sum, count)| *sum += u64::from(count));
            }
        }
        if !cx.may_bulk() {
            let of = |(row, count): (u32, u64)| {
                std::iter::repeat_n(row, usize::try_from(count).unwrap_or(usize::MAX))
            };
            return Ok(rows.gather(&(0..).zip(counts).flat_map(of).collect()));
        }
        let keep: Vec<bool> = counts.iter().map(|count| *count > 0).collect();
        let mut found = rows.clone();
        if counts.iter().any(|count| *count > 1) {
            found.multiply_bulk(counts.into_iter())?;
        }
        Ok(found.filter(&keep))
    }
}

/// What a child made of `rows`, with their own past.
fn follow(rows: &Batch, made: Batch, cx: &mut Context<'_>) -> Result<Batch> {
    let mut found = rows.clone().become_rows(made)?;
    if let Some(paths) = &mut found.path {
        for (path, item) in paths.iter_mut().zip(found.current.items()) {
            *path = cx.extend_path(*path, item)?;
        }
    }
    Ok(found)
}

/// Edges of `expand` that a vertex has on average.
fn fan_out(expand: &Expand, cx: &Context<'_>) -> Result<f64> {
    let statistics = cx.view().statistics()?;
    let vertices: u64 = statistics.vertices.iter().map(|(_, count)| count).sum();
    let asked = types(expand, cx);
    let edges = statistics.edges.iter().filter(|(edge_type, _)| asked.contains(edge_type));
    let edges: u64 = edges.map(|(_, count)| count).sum();
    if vertices == 0 {
        return Ok(FAN_OUT);
    }
    let both = if expand.direction == Direction::Both { 2.0 } else { 1.0 };
    Ok(both * edges as f64 / vertices as f64)
}

/// The types of edges that `expand` follows.
fn types(expand: &Expand, cx: &Context<'_>) -> Vec<TypeId> {
    let catalogue = cx.catalogue();
    let mut types: Vec<TypeId> = match &expand.types {
        Some(names) => names.iter().filter_map(|name| catalogue.edge_type(name)).collect(),
        None => catalogue.edge_types().map(|(edge_type, _)| edge_type).collect(),
    };
    types.sort_unstable();
    types.dedup();
    types
}
