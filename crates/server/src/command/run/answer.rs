//! Answer: what an algorithm found: a value for each vertex, or paths; and what of it is worth a look.
//!
//! | answer | rows of the file | rows to show |
//! |---|---|---|
//! | scores, counts | one a vertex | the highest |
//! | distances | one a vertex | the nearest |
//! | groups | one a vertex: the number of its group, 0 for the largest | the largest, each with its lowest vertex |
//! | an order, a neighbourhood | one for each vertex found, in order | the first |
//! | paths, cycles | one for each vertex of each path | the first paths |

use evergraph_graph::id::VertexId;
use evergraph_graph::vertex_set::VertexSet;
use serde::Serialize;
use std::cmp::{Ordering, Reverse};
use std::fmt;

/// What an algorithm found.
pub struct Answer {
    /// The most important of it in a sentence.
    pub summary: String,
    /// The same and more as figures: an object.
    pub figures: serde_json::Value,
    /// The rows.
    pub found: Found,
}

/// The rows of an answer.
pub enum Found {
    /// Values of vertices.
    Values(Values),
    /// Paths or cycles.
    Paths(Paths),
}

/// A number as answers have them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// A level, a number of a vertex, a count: at most the largest `i64`.
    Whole(u64),
    /// A score or a distance.
    Real(f64),
}

/// Of which kind all amounts of an answer are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// [`Amount::Whole`]
    Whole,
    /// [`Amount::Real`]
    Real,
}

/// In place of a level where there is no path: Graphalytics' largest signed 64-bit number.
pub const NO_PATH: Amount = Amount::Whole(i64::MAX as u64);

/// A value for each of some vertices.
pub struct Values {
    /// Of which kind they are.
    pub kind: Kind,
    /// How many there are.
    pub count: u64,
    /// All of them.
    pub rows: Box<dyn Iterator<Item = (VertexId, Amount)>>,
    /// What the amounts of `top` are.
    pub top_name: &'static str,
    /// What a group is called, if the amounts are numbers of groups; `top` has groups 0, 1, ... then, with
    /// their sizes.
    pub group_name: Option<&'static str>,
    /// Those worth a look.
    pub top: Vec<(VertexId, Amount)>,
}

impl Values {
    /// A score or count for each of `vertices`; `top` of them, the highest first, of equal ones those
    /// with low numbers.
    ///
    /// Cost: one pass; memory for `top` rows and a copy of the set.
    #[must_use]
    pub fn highest(
        vertices: &VertexSet,
        kind: Kind,
        top_name: &'static str,
        top: usize,
        value: impl Fn(u32) -> Amount + 'static,
    ) -> Self {
        let all = vertices.iter().map(|vertex| (Reverse(Ordered(value(vertex))), vertex));
        let top = lowest(all, top).into_iter().map(|(Reverse(Ordered(amount)), vertex)| (vertex, amount));
        let top = top.map(|(vertex, amount)| (VertexId(vertex), amount)).collect();
        Self::of_set(vertices, kind, top_name, top, value)
    }

    /// A score for each of `vertices`, from an array by vertex id.
    ///
    /// Cost: as [`Values::highest`].
    #[must_use]
    pub fn scores(vertices: &VertexSet, top: usize, scores: Vec<f64>) -> Self {
        let value = move |vertex| Amount::Real(scores[vertex as usize]);
        Self::highest(vertices, Kind::Real, "score", top, value)
    }

    /// A distance for each of `vertices`, `none` where there is no path; `top` of those that are
    /// reached, the nearest first.
    ///
    /// Cost: as [`Values::highest`].
    #[must_use]
    pub fn nearest(
        vertices: &VertexSet,
        kind: Kind,
        top_name: &'static str,
        top: usize,
        none: Amount,
        value: impl Fn(u32) -> Option<Amount> + 'static,
    ) -> Self {
        let reached = vertices.iter().filter_map(|vertex| Some((Ordered(value(vertex)?), vertex)));
        let top =
            lowest(reached, top).into_iter().map(|(Ordered(amount), vertex)| (VertexId(vertex), amount));
        let top = top.collect();
        Self::of_set(vertices, kind, top_name, top, move |vertex| value(vertex).unwrap_or(none))
    }

    /// The group of each of `vertices`: `group` names it by one of its vertices, the answer by a number
    /// from 0 without gaps, the largest first, of equal ones that which is named lowest. The `top` largest
    /// with their sizes; a group is a `group_name`.
    ///
    /// Numbers, and no keys of vertices: with several labels, or a key that isn't unique, two groups could
    /// have one key.
    ///
    /// Cost: one pass, and a sort of the groups; memory 4 bytes a vertex and 8 a group, and a copy of the set.
    #[must_use]
    pub fn groups(
        vertices: &VertexSet,
        group_name: &'static str,
        top: usize,
        group: impl Fn(u32) -> u32 + 'static,
    ) -> Self {
        let mut sizes = vec![0_u32; vertices.bound() as usize];
        vertices.iter().for_each(|vertex| sizes[group(vertex) as usize] += 1);
        let groups = sizes.iter().zip(0..).filter(|(size, _)| **size > 0);
        let mut groups: Vec<(Reverse<u32>, u32)> =
            groups.map(|(size, vertex)| (Reverse(*size), vertex)).collect();
        groups.sort_unstable();
        let largest = groups.iter().take(top);
        let top = largest
            .map(|(Reverse(size), vertex)| (VertexId(*vertex), Amount::Whole(u64::from(*size))))
            .collect();
        let mut numbers = sizes;
        for ((_, vertex), number) in groups.into_iter().zip(0..) {
            numbers[vertex as usize] = number;
        }
        let value = move |vertex| Amount::Whole(u64::from(numbers[group(vertex) as usize]));
        let values = Self::of_set(vertices, Kind::Whole, "vertices", top, value);
        Self { group_name: Some(group_name), ..values }
    }

    /// Rows as they come; the first `top` of them are shown.
    #[must_use]
    pub fn in_order(rows: Vec<(VertexId, Amount)>, kind: Kind, top_name: &'static str, top: usize) -> Self {
        let top = rows.iter().take(top).copied().collect();
        Self {
            kind,
            count: rows.len() as u64,
            rows: Box::new(rows.into_iter()),
            top_name,
            group_name: None,
            top,
        }
    }

    fn of_set(
        vertices: &VertexSet,
        kind: Kind,
        top_name: &'static str,
        top: Vec<(VertexId, Amount)>,
        value: impl Fn(u32) -> Amount + 'static,
    ) -> Self {
        let set = vertices.clone();
        let members = (0..set.bound()).filter(move |vertex| set.contains(*vertex));
        let rows = Box::new(members.map(move |vertex| (VertexId(vertex), value(vertex))));
        Self { kind, count: vertices.len(), rows, top_name, group_name: None, top }
    }
}

/// Paths or cycles, one after the other.
#[derive(Debug, Default)]
pub struct Paths {
    vertices: Vec<VertexId>,
    ends: Vec<usize>,
    /// The length from the first vertex to each, if lengths are more than counting edges.
    lengths: Vec<f64>,
    /// Whether an edge leads from the last vertex of each to its first.
    closed: bool,
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// Its vertices.
    pub vertices: &'a [VertexId],
    /// The length to each; empty where it is the number of edges.
    pub lengths: &'a [f64],
    /// Its edges.
    edges: u64,
}

impl Path<'_> {
    /// The length of all of it: a path's last, or how many edges a cycle has.
    #[must_use]
    pub fn length(&self) -> Amount {
        self.lengths.last().map_or(Amount::Whole(self.edges), |length| Amount::Real(*length))
    }
}

impl Paths {
    /// No cycles yet; `default` is for paths.
    #[must_use]
    pub fn cycles() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// Whether they are cycles.
    #[must_use]
    pub fn are_cycles(&self) -> bool {
        self.closed
    }

    /// Adds a path: with the length to each vertex, or with no `lengths`.
    ///
    /// # Panics
    /// If some paths have lengths and some don't: the caller's error.
    pub fn push(&mut self, vertices: impl IntoIterator<Item = VertexId>, lengths: &[f64]) {
        self.vertices.extend(vertices);
        self.lengths.extend_from_slice(lengths);
        assert!(self.lengths.is_empty() || self.lengths.len() == self.vertices.len(), "all or none");
        self.ends.push(self.vertices.len());
    }

    /// Vertices in all of them.
    #[must_use]
    pub fn vertex_count(&self) -> u64 {
        self.vertices.len() as u64
    }

    /// Whether they have lengths besides their number of edges.
    #[must_use]
    pub fn have_lengths(&self) -> bool {
        !self.lengths.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Path<'_>> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| Path {
            vertices: &self.vertices[start..*end],
            lengths: self.lengths.get(start..*end).unwrap_or(&[]),
            edges: (end - start) as u64 - u64::from(!self.closed),
        })
    }
}

impl fmt::Display for Amount {
    /// Reals in full: reading the text back gives the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) if number.is_infinite() => f.write_str("infinity"),
            // The debug form has an exponent where the digits would be mostly zeros.
            Self::Real(number) => write!(f, "{number:?}"),
        }
    }
}

/// An amount in its order: whole before real, which no answer mixes.
#[derive(Clone, Copy)]
struct Ordered(Amount);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Amount::Whole(left), Amount::Whole(right)) => left.cmp(&right),
            (Amount::Real(left), Amount::Real(right)) => left.total_cmp(&right),
            (Amount::Whole(_), Amount::Real(_)) => Ordering::Less,
            (Amount::Real(_), Amount::Whole(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

/// The `count` lowest of `candidates`, ascending.
fn lowest<K: Ord>(candidates: impl Iterator<Item = (K, u32)>, count: usize) -> Vec<(K, u32)> {
    let room = count.max(512).saturating_mul(2);
    let mut kept = Vec::new();
    for candidate in candidates {
        kept.push(candidate);
        if kept.len() == room {
            kept.select_nth_unstable(count);
            kept.truncate(count);
        }
    }
    kept.sort_unstable();
    kept.truncate(count);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: impl IntoIterator<Item = (VertexId, Amount)>) -> Vec<(u32, String)> {
        rows.into_iter().map(|(vertex, amount)| (vertex.0, amount.to_string())).collect()
    }

    #[test]
    fn the_nearest_come_first_and_what_is_not_reached_not_at_all() {
        let levels = [Some(1), None, Some(0), Some(1)];
        let values = |top| {
            let value = move |vertex: u32| levels[vertex as usize].map(Amount::Whole);
            Values::nearest(&VertexSet::full(4), Kind::Whole, "level", top, NO_PATH, value)
        };
        assert_eq!(texts(values(2).top), [(2, "0".to_owned()), (0, "1".to_owned())]);
        assert_eq!(values(9).top.len(), 3);
        assert_eq!(texts(values(0).rows)[1], (1, "9223372036854775807".to_owned()));
    }

    #[test]
    fn the_largest_groups_have_the_lowest_numbers_and_come_first_with_their_sizes() {
        let groups = [0, 1, 2, 2, 1, 2, 6];
        let values =
            |top| Values::groups(&VertexSet::full(7), "part", top, move |vertex| groups[vertex as usize]);
        let want = [(2, "3"), (1, "2"), (0, "1"), (6, "1")].map(|(vertex, size)| (vertex, size.to_owned()));
        assert_eq!(texts(values(10).top), want);
        assert_eq!(texts(values(1).top), want[..1]);
        let numbers: Vec<String> = texts(values(0).rows).into_iter().map(|row| row.1).collect();
        assert_eq!(numbers, ["2", "1", "0", "0", "1", "0", "3"]);
    }

    #[test]
    fn the_highest_scores_come_first_whatever_their_number() {
        let values = |count: usize| {
            let score = |vertex: u32| Amount::Real(f64::from(vertex * 7919 % 5000));
            Values::highest(&VertexSet::full(5000), Kind::Real, "score", count, score)
        };
        let top = values(600).top;
        assert!((0..600).all(|place| top[place].1 == Amount::Real(4999.0 - place as f64)));
        assert!(values(0).top.is_empty());
        assert_eq!(values(usize::MAX).top.len(), 5000);
        let equal = Values::highest(&VertexSet::full(9), Kind::Whole, "n", 3, |_| Amount::Whole(7));
        assert_eq!(texts(equal.top).iter().map(|row| row.0).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn amounts_are_written_so_that_they_read_back_the_same() {
        for real in [0.1, 1e-17, 1.597_751_9e-5, f64::MIN_POSITIVE, 3.0] {
            assert_eq!(Amount::Real(real).to_string().parse::<f64>(), Ok(real));
        }
        assert_eq!(Amount::Real(f64::INFINITY).to_string(), "infinity");
    }

    #[test]
    fn paths_keep_their_vertices_and_lengths_apart() {
        let mut paths = Paths::default();
        paths.push([1, 2].map(VertexId), &[0.0, 2.5]);
        paths.push([3].map(VertexId), &[0.0]);
        let all: Vec<_> = paths.iter().map(|path| (path.vertices.len(), path.lengths.to_vec())).collect();
        assert_eq!(all, [(2, vec![0.0, 2.5]), (1, vec![0.0])]);
        assert_eq!(paths.iter().map(|path| path.length()).collect::<Vec<_>>(), [2.5, 0.0].map(Amount::Real));
        for (mut paths, length) in [(Paths::default(), 1), (Paths::cycles(), 2)] {
            paths.push([7, 8].map(VertexId), &[]);
            assert!(!paths.have_lengths() && paths.iter().all(|path| path.lengths.is_empty()));
            assert_eq!(paths.iter().next().unwrap().length(), Amount::Whole(length));
        }
    }
}
