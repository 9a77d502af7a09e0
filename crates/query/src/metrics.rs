//! Metrics: what each step of a query did, as its result: `g.V().out().profile()`.
//!
//! ```text
//! dur       milliseconds of the whole
//! metrics   a map a step:
//!   id, name      its place in the plan, as "1.0"; what it does
//!   dur           milliseconds
//!   counts        traverserCount: rows; elementCount: traversers that they stand for
//!   annotations   percentDur: of the whole; index: the one that it asked
//!   metrics       the same of the steps within it
//! notes     texts about the whole, if there are any: what each node of a cluster did
//! ```
//!
//! Source: TinkerPop 3.8, `TraversalMetrics` as GraphSON writes it. Differs: steps are those of Evergraph's plan.

use crate::explain::{Explanation, Line};
use crate::value::item::Item;
use crate::value::map::ItemMap;
use std::sync::Arc;

/// Steps that are within so many others aren't told: a result isn't nested without end.
const DEPTH_MAX: usize = 50;

/// What `explanation` says that was measured, as a map.
#[must_use]
pub fn of(explanation: &Explanation) -> Item {
    let lines = &explanation.lines;
    let total: f64 = lines.iter().filter(|line| line.depth == 0).map(milliseconds).sum();
    let notes = || Item::List(explanation.notes.iter().map(|note| Item::from(note.as_str())).collect());
    let notes = (!explanation.notes.is_empty()).then(|| ("notes", notes()));
    map([("dur", Item::from(total)), ("metrics", steps(lines, 0, "", total))].into_iter().chain(notes))
}

/// The steps at `depth` that `lines` begin with, which are within that with the id `around`.
fn steps(lines: &[Line], depth: usize, around: &str, total: f64) -> Item {
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].depth == depth).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let step = |(number, (start, end)): (usize, (&usize, usize))| {
        let id = format!("{around}{number}");
        let within = &lines[start + 1..end];
        step(&lines[*start], id, within, total)
    };
    Item::List(starts.iter().zip(ends).enumerate().map(step).collect())
}

fn step(line: &Line, id: String, within: &[Line], total: f64) -> Item {
    let measured = line.measured.unwrap_or_default();
    let count = |number: u64| Item::from(i64::try_from(number).unwrap_or(i64::MAX));
    let counts =
        map([("traverserCount", count(measured.rows)), ("elementCount", count(measured.traversers))]);
    let share = if total > 0.0 { 100.0 * milliseconds(line) / total } else { 0.0 };
    let index = line.index.as_deref().map(|index| ("index", Item::from(index)));
    let annotations = map([("percentDur", Item::from(share))].into_iter().chain(index));
    let steps_within = (!within.is_empty() && line.depth < DEPTH_MAX)
        .then(|| ("metrics", steps(within, line.depth + 1, &format!("{id}."), total)));
    let own = [
        ("id", Item::from(id.as_str())),
        ("name", Item::from(line.text.as_str())),
        ("dur", Item::from(milliseconds(line))),
        ("counts", counts),
        ("annotations", annotations),
    ];
    map(own.into_iter().chain(steps_within))
}

fn milliseconds(line: &Line) -> f64 {
    line.measured.map_or(0.0, |measured| measured.time.as_secs_f64() * 1000.0)
}

fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Item)>) -> Item {
    Item::Map(Arc::new(entries.into_iter().map(|(key, item)| (Item::from(key), item)).collect::<ItemMap>()))
}
