//! Answer: what an algorithm found, as the program shows it: a value for each vertex, or paths; and what is worth a look.
//!
//! | answer | rows of the file | rows to show |
//! |---|---|---|
//! | scores, counts | one a vertex | the highest |
//! | distances | one a vertex | the nearest |
//! | groups | one a vertex: the number of its group, 0 for the largest | the largest, each with its lowest vertex |
//! | an order, a neighbourhood | one for each vertex found, in order | the first |
//! | paths, cycles | one for each vertex of each path | the first paths |

use evergraph_analysis::algorithm::{Algorithm, Order};
use evergraph_analysis::answer::Answer;
use evergraph_analysis::arguments::Arguments;
use evergraph_analysis::column::{Column, ColumnKind, ColumnValues};
use evergraph_graph::id::VertexId;
use serde::Serialize;
use std::cmp::{Ordering, Reverse};
use std::fmt;

/// The rows of an answer.
pub enum AnswerRows {
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
const NO_PATH: u64 = i64::MAX as u64;

/// A value for each of some vertices.
pub struct Values {
    /// Of which kind they are.
    pub kind: Kind,
    vertices: Vec<VertexId>,
    column: Column,
    /// What the amounts of `top` are.
    pub top_name: &'static str,
    /// What a group is called, if the amounts are numbers of groups; `top` has groups 0, 1, ... then, with
    /// their sizes.
    pub group_name: Option<&'static str>,
    /// Those worth a look.
    pub top: Vec<(VertexId, Amount)>,
}

impl AnswerRows {
    /// The rows of the `answer` of `algorithm`, and `top` of them.
    ///
    /// Cost: one pass; memory for `top` rows.
    #[must_use]
    pub fn new(algorithm: &Algorithm, arguments: &Arguments, answer: Answer, top: usize) -> Self {
        let Answer { vertices, mut columns, .. } = answer;
        if matches!(algorithm.order, Order::Paths | Order::Cycles) {
            return Self::Paths(Paths::new(algorithm, arguments, vertices, columns));
        }
        let name = algorithm.columns.last().map_or("value", |column| column.name);
        let column = columns.pop().expect("an answer has a column beside its vertices");
        Self::Values(Values::new(algorithm.order, name, vertices, column, top))
    }
}

impl Values {
    fn new(order: Order, name: &'static str, vertices: Vec<VertexId>, column: Column, top: usize) -> Self {
        let kind = if column.kind() == ColumnKind::F64 { Kind::Real } else { Kind::Whole };
        let (mut top_name, mut group_name) = (name, None);
        let at = |row: usize| (vertices[row], amount(&column, row));
        let rows = 0..vertices.len();
        let numbered = |row: &usize| u32::try_from(*row).expect("there are fewer vertices than numbers");
        let top = match order {
            Order::Highest => {
                let rows = rows.map(|row| (Reverse(OrderedAmount(amount(&column, row))), numbered(&row)));
                lowest(rows, top).into_iter().map(|(_, row)| at(row as usize)).collect()
            }
            Order::Nearest => {
                let reached = rows.filter(|row| column.is_known(*row));
                let rows = reached.map(|row| (OrderedAmount(amount(&column, row)), numbered(&row)));
                lowest(rows, top).into_iter().map(|(_, row)| at(row as usize)).collect()
            }
            Order::Groups => {
                (top_name, group_name) = ("vertices", Some(name));
                largest_groups(&vertices, &column, top)
            }
            Order::InOrder | Order::Paths | Order::Cycles => rows.take(top).map(at).collect(),
        };
        Self { kind, vertices, column, top_name, group_name, top }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.vertices.len() as u64
    }

    /// All of them.
    pub fn rows(&self) -> impl Iterator<Item = (VertexId, Amount)> + '_ {
        self.vertices.iter().enumerate().map(|(row, vertex)| (*vertex, amount(&self.column, row)))
    }
}

/// The `top` groups of lowest number, each with its first vertex and its size.
fn largest_groups(vertices: &[VertexId], column: &Column, top: usize) -> Vec<(VertexId, Amount)> {
    let ColumnValues::U64(numbers) = &column.values else { return Vec::new() };
    let mut groups: Vec<(VertexId, u64)> = Vec::new();
    let mut place = vec![None; top.min(vertices.len())];
    for (vertex, number) in vertices.iter().zip(numbers) {
        let Some(place) = usize::try_from(*number).ok().and_then(|number| place.get_mut(number)) else {
            continue;
        };
        let at = *place.get_or_insert_with(|| {
            groups.push((*vertex, 0));
            groups.len() - 1
        });
        groups[at].1 += 1;
    }
    place.into_iter().flatten().map(|at| (groups[at].0, Amount::Whole(groups[at].1))).collect()
}

/// The value of `row`; where there is none, what stands for no path.
fn amount(column: &Column, row: usize) -> Amount {
    let known = column.is_known(row);
    match &column.values {
        ColumnValues::U32(_) | ColumnValues::U64(_) if !known => Amount::Whole(NO_PATH),
        ColumnValues::F64(_) if !known => Amount::Real(f64::INFINITY),
        ColumnValues::U32(values) => Amount::Whole(u64::from(values[row])),
        ColumnValues::U64(values) => Amount::Whole(values[row]),
        ColumnValues::F64(values) => Amount::Real(values[row]),
    }
}

/// Paths or cycles, one after the other.
#[derive(Debug, Default)]
pub struct Paths {
    vertices: Vec<VertexId>,
    ends: Vec<usize>,
    /// What is known of each vertex besides: the length up to there, if lengths are more than counting edges; or what
    /// its cycle's next edge has.
    columns: Vec<(&'static str, Vec<f64>)>,
    /// Whether an edge leads from the last vertex of each to its first.
    closed: bool,
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// Its vertices.
    pub vertices: &'a [VertexId],
    /// Its length, if that isn't its number of edges.
    weight: Option<f64>,
    /// Its edges.
    edges: u64,
}

impl Path<'_> {
    /// The length of all of it: a path's last, or how many edges a cycle has.
    #[must_use]
    pub fn length(&self) -> Amount {
        self.weight.map_or(Amount::Whole(self.edges), Amount::Real)
    }
}

impl Paths {
    fn new(
        algorithm: &Algorithm,
        arguments: &Arguments,
        vertices: Vec<VertexId>,
        columns: Vec<Column>,
    ) -> Self {
        let closed = algorithm.order == Order::Cycles;
        let (mut ends, mut reals) = (Vec::new(), Vec::new());
        let names = algorithm.columns.iter().filter(|column| column.kind != ColumnKind::Vertex);
        for (column, description) in columns.into_iter().zip(names) {
            match column.values {
                // The first numbers the cycles.
                ColumnValues::U64(numbers) => {
                    ends = (1..=numbers.len()).filter(|at| numbers.get(*at) != numbers.get(at - 1)).collect();
                }
                ColumnValues::F64(values) if closed => reals.push((description.name, values)),
                ColumnValues::F64(values) => {
                    ends = if vertices.is_empty() { Vec::new() } else { vec![vertices.len()] };
                    if arguments.has("weight") && !vertices.is_empty() {
                        reals.push(("value", values));
                    }
                }
                ColumnValues::U32(_) => {}
            }
        }
        Self { vertices, ends, columns: reals, closed }
    }

    /// Whether they are cycles.
    #[must_use]
    pub fn are_cycles(&self) -> bool {
        self.closed
    }

    /// Vertices in all of them.
    #[must_use]
    pub fn vertex_count(&self) -> u64 {
        self.vertices.len() as u64
    }

    /// The names of what is known of each vertex besides.
    pub fn column_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.iter().map(|(name, _)| *name)
    }

    /// What is known of the vertex at `place` among all of them: as many as there are names, then nothing.
    #[must_use]
    pub fn amounts(&self, place: usize) -> [Option<Amount>; 2] {
        [0, 1].map(|column| Some(Amount::Real(*self.columns.get(column)?.1.get(place)?)))
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Path<'_>> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| Path {
            vertices: &self.vertices[start..*end],
            weight: self.columns.first().filter(|_| !self.closed).map(|(_, lengths)| lengths[*end - 1]),
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
struct OrderedAmount(Amount);

impl Ord for OrderedAmount {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Amount::Whole(left), Amount::Whole(right)) => left.cmp(&right),
            (Amount::Real(left), Amount::Real(right)) => left.total_cmp(&right),
            (Amount::Whole(_), Amount::Real(_)) => Ordering::Less,
            (Amount::Real(_), Amount::Whole(_)) => Ordering::Greater,
        }
    }
}

impl PartialOrd for OrderedAmount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedAmount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OrderedAmount {}

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
    use evergraph_analysis::parameter::Parameter;
    use evergraph_analysis::table::by_name;

    fn texts(rows: impl IntoIterator<Item = (VertexId, Amount)>) -> Vec<(u32, String)> {
        rows.into_iter().map(|(vertex, amount)| (vertex.0, amount.to_string())).collect()
    }

    fn values(order: Order, values: ColumnValues, known: Option<Vec<u64>>, top: usize) -> Values {
        let column = Column { values, known };
        let vertices = (0..column.len() as u32).map(VertexId).collect();
        Values::new(order, "value", vertices, column, top)
    }

    #[test]
    fn the_nearest_come_first_and_what_is_not_reached_not_at_all() {
        let values =
            |top| values(Order::Nearest, ColumnValues::U32(vec![1, 0, 0, 1]), Some(vec![0b1101]), top);
        assert_eq!(texts(values(2).top), [(2, "0".to_owned()), (0, "1".to_owned())]);
        assert_eq!(values(9).top.len(), 3);
        assert_eq!(texts(values(0).rows())[1], (1, "9223372036854775807".to_owned()));
    }

    #[test]
    fn the_largest_groups_come_first_with_their_sizes_and_lowest_vertices() {
        let numbers = || ColumnValues::U64(vec![2, 1, 0, 0, 1, 0, 3]);
        let values = |top| values(Order::Groups, numbers(), None, top);
        let want = [(2, "3"), (1, "2"), (0, "1"), (6, "1")].map(|(vertex, size)| (vertex, size.to_owned()));
        assert_eq!(texts(values(10).top), want);
        assert_eq!(texts(values(1).top), want[..1]);
        assert_eq!((values(1).top_name, values(1).group_name), ("vertices", Some("value")));
    }

    #[test]
    fn the_highest_scores_come_first_whatever_their_number() {
        let scores = || ColumnValues::F64((0..5000).map(|vertex| f64::from(vertex * 7919 % 5000)).collect());
        let highest = |count: usize| values(Order::Highest, scores(), None, count);
        let top = highest(600).top;
        assert!((0..600).all(|place| top[place].1 == Amount::Real(4999.0 - place as f64)));
        assert!(highest(0).top.is_empty());
        assert_eq!(highest(usize::MAX).top.len(), 5000);
        let equal = values(Order::Highest, ColumnValues::U32(vec![7; 9]), None, 3);
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
        use evergraph_analysis::arguments::Argument;
        let arguments = |parameters: &'static [Parameter], weight: Option<&str>| {
            let vertex = || Argument::Vertex(VertexId(0));
            let ends = ["source", "target"].map(|name| (name, vertex()));
            let known = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
            let weight = weight.map(|name| ("weight", Argument::Property(name.to_owned())));
            let given = ends.into_iter().chain(weight).filter(|(name, _)| known(name));
            Arguments::new(parameters, given).unwrap()
        };
        let path = by_name("shortest_path").unwrap();
        let columns = || vec![Column::new(ColumnValues::F64(vec![0.0, 2.5]))];
        let vertices = || [1, 2].map(VertexId).to_vec();
        let weighted = Paths::new(path, &arguments(path.parameters, Some("w")), vertices(), columns());
        assert_eq!(weighted.iter().map(|path| path.length()).collect::<Vec<_>>(), [Amount::Real(2.5)]);
        assert_eq!(weighted.amounts(1), [Some(Amount::Real(2.5)), None]);
        let plain = Paths::new(path, &arguments(path.parameters, None), vertices(), columns());
        assert_eq!(plain.iter().map(|path| path.length()).collect::<Vec<_>>(), [Amount::Whole(1)]);
        assert_eq!(plain.column_names().count(), 0);

        let cycles = by_name("cycles").unwrap();
        let columns = [ColumnValues::U64(vec![0, 0, 1]), ColumnValues::U32(vec![0, 1, 0])].map(Column::new);
        let vertices = [7, 8, 9].map(VertexId).to_vec();
        let cycles = Paths::new(cycles, &arguments(cycles.parameters, None), vertices, columns.into());
        let all: Vec<_> = cycles.iter().map(|path| (path.vertices.len(), path.length())).collect();
        assert_eq!(all, [(2, Amount::Whole(2)), (1, Amount::Whole(1))]);
    }
}
