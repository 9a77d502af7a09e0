//! Degrees: over how many edges of a type each vertex that may have them goes, and how that is spread.
//!
//! Counted are the vertices of the labels that edges of the type have left (side out) or reached (side
//! in), those without such an edge among them. A label is scanned once; degrees are asked for in
//! batches, on all threads, and no list is read.
//!
//! Cost: some tens of nanoseconds a vertex, type and side; memory for a quarter of a million vertices.

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, LabelId, TypeId, VertexId};
use evergraph_graph::view::{GraphView, VertexCursor};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Vertices that are scanned before their degrees are asked for.
const SCANNED: usize = 1 << 18;
/// Vertices in one question.
const BATCH: usize = 1 << 12;
/// Degrees below this are counted in an array.
const SMALL: u64 = 1 << 16;

/// How the edges of one type are spread over vertices.
#[derive(Debug)]
pub struct Degrees {
    /// The type.
    pub edge_type: TypeId,
    /// Over those that they leave; `None` if there is no vertex that they may leave.
    pub out: Option<Distribution>,
    /// Over those that they reach.
    pub r#in: Option<Distribution>,
}

/// How many vertices have which degree.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub struct Distribution {
    /// Vertices that may have such edges.
    pub vertices: u64,
    /// The lowest degree.
    pub min: u64,
    /// Edges a vertex.
    pub mean: f64,
    /// The degree that half of the vertices don't pass.
    pub median: u64,
    /// The degree that 99 % of the vertices don't pass.
    pub p99: u64,
    /// The highest degree.
    pub max: u64,
    /// Vertices of degree 0, 1, 2 to 3, 4 to 7, and so on to the highest degree.
    pub powers_of_two: Vec<Bin>,
}

/// The vertices whose degree lies between two numbers.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub struct Bin {
    /// The lowest degree.
    pub from: u64,
    /// The highest degree.
    pub to: u64,
    /// How many vertices have one of these.
    pub vertices: u64,
}

/// The degrees of every edge type. `progress` is told how many vertices are done.
///
/// # Errors
/// `cancelled`; what reading may meet.
pub fn degrees(
    view: &impl GraphView,
    catalogue: &Catalogue,
    cancel: &CancelFlag,
    progress: &dyn Fn(u64),
) -> Result<Vec<Degrees>> {
    let mut sides: Vec<Side> =
        catalogue.edge_types().flat_map(|(edge_type, _)| Side::both(catalogue, edge_type)).collect();
    let mut done = 0;
    for (label, _) in catalogue.labels() {
        let mut with_label: Vec<&mut Side> =
            sides.iter_mut().filter(|side| side.labels.contains(&label)).collect();
        if with_label.is_empty() {
            continue;
        }
        let mut cursor = VertexCursor::default();
        let mut vertices = Vec::with_capacity(SCANNED);
        while !cursor.done {
            cancel.check()?;
            vertices.clear();
            view.scan_vertices(Some(&[label]), &mut cursor, SCANNED, &mut vertices)?;
            for side in &mut with_label {
                let counts = side.count(view, &vertices)?;
                side.counts = std::mem::take(&mut side.counts).merge(counts);
            }
            done += vertices.len() as u64;
            progress(done);
        }
    }
    let distributions: Vec<(TypeId, Option<Distribution>)> =
        sides.iter().map(|side| (side.edge_type, side.counts.distribution())).collect();
    let pair = |pair: &[(TypeId, Option<Distribution>)]| Degrees {
        edge_type: pair[0].0,
        out: pair[0].1.clone(),
        r#in: pair[1].1.clone(),
    };
    Ok(distributions.chunks_exact(2).map(pair).collect())
}

/// One side of a type.
struct Side {
    edge_type: TypeId,
    direction: Direction,
    /// The labels whose vertices may have such edges.
    labels: Vec<LabelId>,
    counts: Counts,
}

impl Side {
    fn both(catalogue: &Catalogue, edge_type: TypeId) -> [Self; 2] {
        let side = |direction, labels| Self { edge_type, direction, labels, counts: Counts::default() };
        let (sources, targets) = catalogue.joins(edge_type).unzip();
        [side(Direction::Out, sources), side(Direction::In, targets)]
    }

    fn count(&self, view: &impl GraphView, vertices: &[VertexId]) -> Result<Counts> {
        let count = |mut counts: Counts, batch: &[VertexId]| {
            let mut degrees = Vec::with_capacity(batch.len());
            view.degrees(batch, Some(&[self.edge_type]), self.direction, &mut degrees)?;
            degrees.into_iter().for_each(|degree| counts.add(degree, 1));
            Ok(counts)
        };
        vertices
            .par_chunks(BATCH)
            .try_fold(Counts::default, count)
            .try_reduce(Counts::default, |a, b| Ok(a.merge(b)))
    }
}

/// How many vertices have each degree.
#[derive(Default)]
struct Counts {
    /// By degree, as far as one was seen.
    small: Vec<u64>,
    /// Those of [`SMALL`] and more.
    large: BTreeMap<u64, u64>,
}

impl Counts {
    fn add(&mut self, degree: u64, vertices: u64) {
        if degree >= SMALL {
            *self.large.entry(degree).or_default() += vertices;
            return;
        }
        let degree = degree as usize;
        if degree >= self.small.len() {
            self.small.resize(degree + 1, 0);
        }
        self.small[degree] += vertices;
    }

    fn merge(self, other: Self) -> Self {
        let (mut most, least) =
            if self.small.len() < other.small.len() { (other, self) } else { (self, other) };
        least.each().for_each(|(degree, vertices)| most.add(degree, vertices));
        most
    }

    /// Degrees that occur, from the lowest, and how many vertices have each.
    fn each(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = self.small.iter().enumerate().map(|(degree, vertices)| (degree as u64, *vertices));
        let large = self.large.iter().map(|(degree, vertices)| (*degree, *vertices));
        small.chain(large).filter(|(_, vertices)| *vertices > 0)
    }

    /// The degree of the vertex at `rank`, from 1, if they stand in order of degree.
    fn at(&self, rank: u64) -> Option<u64> {
        let mut passed = 0;
        self.each().find_map(|(degree, vertices)| {
            passed += vertices;
            (passed >= rank).then_some(degree)
        })
    }

    fn distribution(&self) -> Option<Distribution> {
        let vertices: u64 = self.each().map(|(_, vertices)| vertices).sum();
        let edges: u128 =
            self.each().map(|(degree, vertices)| u128::from(degree) * u128::from(vertices)).sum();
        let max = self.at(vertices)?;
        let mut powers_of_two: Vec<Bin> = (0..=bin(max)).map(Bin::empty).collect();
        self.each().for_each(|(degree, vertices)| powers_of_two[bin(degree)].vertices += vertices);
        Some(Distribution {
            vertices,
            min: self.at(1)?,
            mean: edges as f64 / vertices as f64,
            median: self.at(vertices.div_ceil(2))?,
            p99: self.at(vertices - vertices / 100)?,
            max,
            powers_of_two,
        })
    }
}

/// In which bin a degree is: 0, 1, 2 to 3, 4 to 7 ...
fn bin(degree: u64) -> usize {
    (u64::BITS - degree.leading_zeros()) as usize
}

impl Bin {
    fn empty(number: usize) -> Self {
        let first = |number: usize| if number == 0 { 0 } else { 1 << (number - 1) };
        Self { from: first(number), to: if number == 0 { 0 } else { first(number) * 2 - 1 }, vertices: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(degrees: &[u64]) -> Counts {
        let mut counts = Counts::default();
        degrees.iter().for_each(|degree| counts.add(*degree, 1));
        counts
    }

    #[test]
    fn a_hub_among_leaves_is_told_by_every_figure() {
        let mut degrees = vec![1; 199];
        degrees.push(100_000);
        let found = of(&degrees).distribution().unwrap();
        assert_eq!((found.vertices, found.min, found.median, found.p99, found.max), (200, 1, 1, 1, 100_000));
        assert_eq!(found.mean, 100_199.0 / 200.0);
        let bins = &found.powers_of_two;
        assert_eq!((bins[1].vertices, bins[17].vertices, bins.len()), (199, 1, 18));
        assert_eq!((bins[17].from, bins[17].to), (65_536, 131_071));
        assert_eq!((bins[0].from, bins[0].to, bins[3].from, bins[3].to), (0, 0, 4, 7));
        assert_eq!(of(&[]).distribution(), None);
        assert_eq!(of(&[0, 0]).distribution().unwrap().powers_of_two.len(), 1);
    }

    proptest! {
        #[test]
        fn figures_are_those_of_the_sorted_degrees(
            mut left in prop::collection::vec(prop_oneof![0u64..5, 0u64..1000, 60_000u64..70_000], 1..300),
            right in prop::collection::vec(0u64..200, 0..300),
        ) {
            let found = of(&left).merge(of(&right)).distribution().unwrap();
            left.extend(right);
            left.sort_unstable();
            let count = left.len();
            prop_assert_eq!(found.vertices, count as u64);
            prop_assert_eq!((found.min, found.max), (left[0], left[count - 1]));
            prop_assert_eq!(found.median, left[count.div_ceil(2) - 1]);
            prop_assert_eq!(found.p99, left[(count * 99).div_ceil(100) - 1]);
            for bin in &found.powers_of_two {
                let inside = left.iter().filter(|degree| (bin.from..=bin.to).contains(degree)).count();
                prop_assert_eq!(bin.vertices, inside as u64);
            }
            prop_assert_eq!(found.powers_of_two.iter().map(|bin| bin.vertices).sum::<u64>(), count as u64);
        }
    }
}
