//! Layouts: one to four of four properties as columns of a database, beside records and plain arrays in the same process.
//!
//! ```text
//! evergraph   snapshots of a database, an array a property; writes are transactions of 1,000 items, the log not synced
//! records     p0 p1 p2 p3   p0 p1 p2 p3   ...          an array of records: no versions, no transactions, no log
//! arrays      p0 p0 ...     p1 p1 ...     ...          the same with an array a property
//! ```
//!
//! Arrays beside records say what the layout is worth, ours beside arrays what versions and transactions cost. The place of an edge
//! is found by its ends in each of them: plain arrays search the targets of its source. Scans read every item, the others a
//! million drawn at random.
//!
//! Source: GART (ATC 2023), figure 14. Differs: edges too, and both plain layouts.

use crate::edges::sorted;
use crate::engine::store::{Commit, Edge};
use crate::goals::baseline::{ARRAYS, RECORDS};
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::properties::{
    BATCH, Columns, DEGREE, Owner, PAGE, PROPERTIES, PropertyStore as _, Row, changed, column_sum, value,
};
use evergraph::generate::random::Random;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::GraphView as _;
use evergraph_measure::figure::Unit;

const PURPOSE: u64 = 471;
const NAMES: [&str; 3] = ["evergraph", RECORDS, ARRAYS];
/// Random reads and writes for each transaction of one edge in the plan: a million of 50,000.
const DRAWS_A_COMMIT: usize = 20;

/// The same properties of the same items.
trait Layout {
    /// The number of items, and the sum of the first `count` properties of all.
    fn scan(&self, owner: Owner, count: usize) -> Result<(u64, i64)>;

    /// The sum of the first `count` properties of `items`.
    fn read(&self, owner: Owner, items: &[usize], count: usize) -> Result<i64>;

    /// Sets the first `count` properties of `items`, each to [`changed`].
    fn write(&mut self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()>;
}

/// Measures scans, random reads and random writes of vertices and edges.
///
/// # Errors
/// `corrupt` if a layout reads another sum; what the database says.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let (edges, vertices) = (sorted(work.plan, DEGREE)?, work.plan.vertices());
    let mut layouts: [Box<dyn Layout + '_>; 3] = [
        Box::new(Columns::load(&work.place("layouts"), vertices, &edges)?),
        Box::new(Records::new(vertices, &edges)),
        Box::new(Arrays::new(vertices, &edges)),
    ];
    let draws = work.plan.commits * DRAWS_A_COMMIT;
    for owner in Owner::ALL {
        let items = match owner {
            Owner::Vertices => vertices as usize,
            Owner::Edges => edges.len(),
        };
        let mut expected: Vec<Row> =
            (0..items).map(|item| std::array::from_fn(|property| value(item, property))).collect();
        let mut random = Random::new(work.plan.seed, PURPOSE, owner as u64);
        let drawn: Vec<usize> = (0..draws).map(|_| random.below(items as u64) as usize).collect();
        for count in 1..=PROPERTIES {
            let sum: i64 = expected.iter().flat_map(|row| &row[..count]).sum();
            let title = format!("{} a second, scanned, {count} of {PROPERTIES} properties", owner.name());
            race(work, ("read", owner, "scan", count), &title, items, |place, _| {
                let found = layouts[place].scan(owner, count)?;
                expect(NAMES[place], "a sum of properties", found, (items as u64, sum))
            })?;
            let sum: i64 = drawn.iter().flat_map(|item| &expected[*item][..count]).sum();
            let title =
                format!("{} a second, read at random, {count} of {PROPERTIES} properties", owner.name());
            race(work, ("read", owner, "random", count), &title, draws, |place, _| {
                let found = layouts[place].read(owner, &drawn, count)?;
                expect(NAMES[place], "a sum of drawn properties", found, sum)
            })?;
        }
        for count in 1..=PROPERTIES {
            let title =
                format!("{} a second, written at random, {count} of {PROPERTIES} properties", owner.name());
            let mut last = 0;
            race(work, ("write", owner, "random", count), &title, draws, |place, round| {
                last = (round * PROPERTIES + count) as i64;
                layouts[place].write(owner, &drawn, count, last)
            })?;
            for item in &drawn {
                let row = expected[*item].iter_mut().enumerate().take(count);
                row.for_each(|(property, value)| *value = changed(*item, property, last));
            }
            let sum: i64 = expected.iter().flatten().sum();
            for (name, layout) in NAMES.iter().zip(&layouts) {
                expect(name, "a sum after writes", layout.scan(owner, PROPERTIES)?, (items as u64, sum))?;
            }
        }
    }
    work.note(format!("{vertices} vertices and {} edges with {PROPERTIES} whole numbers each; {draws} random reads and writes; one thread", edges.len()));
    work.note("records and arrays are plain memory without versions, transactions, log or readers beside: what a layout alone can do");
    work.note(
        "an edge is found by its ends: in records and arrays by a search in the sorted targets of its source",
    );
    Ok(())
}

fn race(
    work: &mut Work<'_>,
    (what, owner, how, count): (&str, Owner, &str, usize),
    title: &str,
    items: usize,
    mut run: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let race = Race::new(NAMES);
    let mut race = if what == "read" { race.undisturbed() } else { race };
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let watch = Stopwatch::start();
            run(place, round)?;
            let spent = watch.stop();
            Ok(Sample::timed(items as f64 / spent.wall.max(1e-9), spent))
        })?;
    }
    let name = format!("layouts.{what}.{}.{how}_{count}", owner.name());
    let heading = Heading::new(name, title, Unit::PerSecond);
    let heading = if what == "write" { heading.of_commits(Commit::Unsynced) } else { heading };
    work.add_race(&heading, &race);
    Ok(())
}

impl Layout for Columns<'_> {
    fn scan(&self, owner: Owner, count: usize) -> Result<(u64, i64)> {
        self.sum(owner, count)
    }

    fn read(&self, owner: Owner, items: &[usize], count: usize) -> Result<i64> {
        let view = self.database.snapshot();
        let (mut vertices, mut edges, mut sum) = (Vec::with_capacity(PAGE), Vec::with_capacity(PAGE), 0);
        for items in items.chunks(PAGE) {
            match owner {
                Owner::Vertices => {
                    vertices.clear();
                    vertices.extend(items.iter().map(|item| VertexId(*item as u32)));
                }
                Owner::Edges => {
                    edges.clear();
                    edges.extend(items.iter().map(|item| {
                        let (source, target) = self.edges[*item];
                        let [source, target] = [source, target].map(VertexId);
                        EdgeId { source, edge_type: self.edge_type, target, discriminator: 0 }
                    }));
                }
            }
            for key in &self.keys[..count] {
                let mut column = Column::new(ValueType::I64);
                match owner {
                    Owner::Vertices => view.vertex_properties(&vertices, *key, &mut column)?,
                    Owner::Edges => view.edge_properties(&edges, *key, &mut column)?,
                }
                sum += column_sum(&column)?;
            }
        }
        Ok(sum)
    }

    fn write(&mut self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()> {
        items.chunks(BATCH).try_for_each(|items| self.set(owner, items, count, more))
    }
}

/// Where the edges of each source are: compressed sparse rows.
struct Places<'a> {
    edges: &'a [Edge],
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

impl<'a> Places<'a> {
    fn new(vertices: u32, edges: &'a [Edge]) -> Self {
        let offset = |vertex| edges.partition_point(|(source, _)| *source < vertex) as u32;
        let offsets = (0..=vertices).map(offset).collect();
        Self { edges, offsets, targets: edges.iter().map(|(_, target)| *target).collect() }
    }

    /// The place of the item's properties: vertices lie by number, edges are looked up by their ends.
    fn of(&self, owner: Owner, item: usize) -> Result<usize> {
        if owner == Owner::Vertices {
            return Ok(item);
        }
        let (source, target) = self.edges[item];
        let [first, end] = [source, source + 1].map(|vertex| self.offsets[vertex as usize] as usize);
        match self.targets[first..end].binary_search(&target) {
            Ok(at) => Ok(first + at),
            Err(_) => Err(Error::new(ErrorKind::Corrupt, "an edge is not in its own list")),
        }
    }
}

struct Records<'a> {
    places: Places<'a>,
    /// Of vertices and of edges.
    rows: [Vec<Row>; 2],
}

impl<'a> Records<'a> {
    fn new(vertices: u32, edges: &'a [Edge]) -> Self {
        let rows = |count| -> Vec<Row> {
            (0..count).map(|item| std::array::from_fn(|property| value(item, property))).collect()
        };
        Self { places: Places::new(vertices, edges), rows: [rows(vertices as usize), rows(edges.len())] }
    }
}

impl Layout for Records<'_> {
    fn scan(&self, owner: Owner, count: usize) -> Result<(u64, i64)> {
        let rows = &self.rows[owner as usize];
        Ok((rows.len() as u64, rows.iter().map(|row| row[..count].iter().sum::<i64>()).sum()))
    }

    fn read(&self, owner: Owner, items: &[usize], count: usize) -> Result<i64> {
        let rows = &self.rows[owner as usize];
        items.iter().map(|item| Ok(rows[self.places.of(owner, *item)?][..count].iter().sum::<i64>())).sum()
    }

    fn write(&mut self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()> {
        for item in items {
            let row = &mut self.rows[owner as usize][self.places.of(owner, *item)?];
            let values = row.iter_mut().enumerate().take(count);
            values.for_each(|(property, value)| *value = changed(*item, property, more));
        }
        Ok(())
    }
}

struct Arrays<'a> {
    places: Places<'a>,
    /// Of vertices and of edges, an array a property.
    columns: [[Vec<i64>; PROPERTIES]; 2],
}

impl<'a> Arrays<'a> {
    fn new(vertices: u32, edges: &'a [Edge]) -> Self {
        let columns = |count| {
            std::array::from_fn(|property| (0..count).map(|item| value(item, property)).collect::<Vec<_>>())
        };
        let columns = [columns(vertices as usize), columns(edges.len())];
        Self { places: Places::new(vertices, edges), columns }
    }
}

impl Layout for Arrays<'_> {
    fn scan(&self, owner: Owner, count: usize) -> Result<(u64, i64)> {
        let columns = &self.columns[owner as usize][..count];
        Ok((columns[0].len() as u64, columns.iter().map(|column| column.iter().sum::<i64>()).sum()))
    }

    fn read(&self, owner: Owner, items: &[usize], count: usize) -> Result<i64> {
        let columns = &self.columns[owner as usize][..count];
        let read = |item: &usize| -> Result<i64> {
            let at = self.places.of(owner, *item)?;
            Ok(columns.iter().map(|column| column[at]).sum())
        };
        items.iter().map(read).sum()
    }

    fn write(&mut self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()> {
        for item in items {
            let at = self.places.of(owner, *item)?;
            let columns = self.columns[owner as usize].iter_mut().enumerate().take(count);
            columns.for_each(|(property, column)| column[at] = changed(*item, property, more));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_reads_and_writes_the_same_properties() {
        let edges = [(0, 1), (1, 0), (1, 2)];
        let folder = tempfile::tempdir().unwrap();
        let layouts: [Box<dyn Layout + '_>; 3] = [
            Box::new(Columns::load(folder.path(), 3, &edges).unwrap()),
            Box::new(Records::new(3, &edges)),
            Box::new(Arrays::new(3, &edges)),
        ];
        for (name, mut layout) in NAMES.into_iter().zip(layouts) {
            for owner in Owner::ALL {
                assert_eq!(layout.scan(owner, 1).unwrap(), (3, 4 + 8), "{name}");
                assert_eq!(layout.read(owner, &[2, 0, 2], 2).unwrap(), 2 * (8 + 9) + 1, "{name}");
                layout.write(owner, &[2, 0], 2, 100).unwrap();
                assert_eq!(layout.read(owner, &[2], 4).unwrap(), 8 + 9 + 10 + 11 + 200, "{name}");
                assert_eq!(layout.scan(owner, 4).unwrap(), (3, 466), "{name}");
            }
        }
    }
}
