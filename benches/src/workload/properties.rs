//! Properties: one to four of each vertex and of each edge, read by all and written at random.
//!
//! ```text
//! ours     columns: an array a property, beside the lists       names end in .columns
//! theirs   rows: all four in the value of one key               v vertex -> p0 p1 p2 p3     e source target -> ...
//! ```
//!
//! `layouts` has the same beside records and arrays of this process, without an engine.
//!
//! A reader of columns reads what it asks for, a reader of rows all four; a writer of columns writes one array
//! a property, a writer of rows reads a row, changes it and writes it once.
//!
//! Source: GART (ATC 2023), figure 14. Differs: edges too; transactions, and rows of other engines, not our own.

pub mod layouts;

use crate::edges::sorted;
use crate::engine::key_value::KeyValue;
use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Edge, edge_key};
use crate::folder::make_folder;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::stores::names;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::column::{Column, ColumnData};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_measure::figure::Unit;
use std::path::Path;

const PURPOSE: u64 = 406;
const PROPERTIES: usize = 4;
const DEGREE: u32 = 4;
/// Vertices or edges whose properties are asked for at once.
const PAGE: usize = 4096;
/// Items that one transaction writes, and pairs that a load puts in one.
const BATCH: usize = 1000;

/// Whose properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Vertices,
    Edges,
}

impl Owner {
    const ALL: [Self; 2] = [Self::Vertices, Self::Edges];

    const fn name(self) -> &'static str {
        match self {
            Self::Vertices => "vertices",
            Self::Edges => "edges",
        }
    }
}

/// A store of the same vertices and edges, each with four whole numbers.
trait PropertyStore {
    /// The sum of the first `count` properties of all items, and the number of items.
    fn sum(&self, owner: Owner, count: usize) -> Result<(u64, i64)>;

    /// Sets the first `count` properties of each item to its number in the plan's order plus `more`, in one
    /// transaction.
    fn set(&self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()>;
}

/// The value of a property of an item when it is loaded.
fn value(item: usize, property: usize) -> i64 {
    (item * PROPERTIES + property) as i64
}

/// The value that [`PropertyStore::set`] gives.
fn changed(item: usize, property: usize, more: i64) -> i64 {
    value(item, property) + more
}

/// Measures reading and writing of one to four properties.
///
/// # Errors
/// `corrupt` if an engine reads another sum; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let (edges, vertices) = (sorted(work.plan, DEGREE)?, work.plan.vertices());
    let open = |kind: &Kind| -> Result<Box<dyn PropertyStore + '_>> {
        let folder = work.place("properties").join(kind.name());
        Ok(match kind.open_key_value(&folder, Commit::Unsynced)? {
            None => Box::new(Columns::load(&folder, vertices, &edges)?),
            Some(store) => Box::new(Rows::load(store, vertices, &edges)?),
        })
    };
    let stores = Kind::ALL.iter().map(open).collect::<Result<Vec<_>>>()?;
    for owner in Owner::ALL {
        let items = match owner {
            Owner::Vertices => vertices as usize,
            Owner::Edges => edges.len(),
        };
        let mut expected: Vec<[i64; PROPERTIES]> =
            (0..items).map(|item| std::array::from_fn(|property| value(item, property))).collect();
        for count in 1..=PROPERTIES {
            reads(work, &stores, owner, count, &expected)?;
        }
        for count in 1..=PROPERTIES {
            writes(work, &stores, owner, count, &mut expected)?;
        }
    }
    work.note(format!(
        "{vertices} vertices and {} edges with four whole numbers each; one thread",
        edges.len()
    ));
    work.note("ours keeps an array a property; the others a row of all four, the value of one key");
    work.note(format!(
        "writes: random items, {BATCH} a transaction, the log not synced; a row is read before it is changed"
    ));
    work.note("GART (2023), section 6.6: its column families read one property 5.9x as fast as rows, and write four 1.2x as fast");
    Ok(())
}

fn heading(owner: Owner, verb: &str, count: usize) -> Heading {
    let plural = if count == 1 { "property" } else { "properties" };
    let name = format!("properties.{}.{verb}_{count}.columns", owner.name());
    Heading::new(name, format!("{} a second, {verb} {count} {plural} of each", owner.name()), Unit::PerSecond)
}

fn reads(
    work: &mut Work<'_>,
    stores: &[Box<dyn PropertyStore + '_>],
    owner: Owner,
    count: usize,
    expected: &[[i64; PROPERTIES]],
) -> Result<()> {
    let sum: i64 = expected.iter().flat_map(|row| &row[..count]).sum();
    let mut race = Race::new(names()).undisturbed();
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let watch = Stopwatch::start();
            let found = stores[place].sum(owner, count)?;
            let spent = watch.stop();
            expect(Kind::ALL[place].name(), "a sum of properties", found, (expected.len() as u64, sum))?;
            Ok(Sample::timed(expected.len() as f64 / spent.wall, spent))
        })?;
    }
    work.add_race(&heading(owner, "read", count), &race);
    Ok(())
}

fn writes(
    work: &mut Work<'_>,
    stores: &[Box<dyn PropertyStore + '_>],
    owner: Owner,
    count: usize,
    expected: &mut [[i64; PROPERTIES]],
) -> Result<()> {
    let mut random = Random::new(work.plan.seed, PURPOSE, count as u64);
    let mut race = Race::new(names());
    for round in 0..work.plan.rounds {
        let items: Vec<usize> =
            (0..work.plan.commits).map(|_| random.below(expected.len() as u64) as usize).collect();
        // Other values in each round and for each count, so that a write that is lost shows.
        let more = (round * PROPERTIES + count) as i64;
        race.round(round, |place| {
            let watch = Stopwatch::start();
            items.chunks(BATCH).try_for_each(|items| stores[place].set(owner, items, count, more))?;
            let spent = watch.stop();
            Ok(Sample::timed(items.len() as f64 / spent.wall, spent))
        })?;
        for item in items {
            let values = expected[item].iter_mut().enumerate().take(count);
            values.for_each(|(property, value)| *value = changed(item, property, more));
        }
    }
    let sum: i64 = expected.iter().flatten().sum();
    for (name, store) in names().zip(stores) {
        expect(name, "a sum of properties", store.sum(owner, PROPERTIES)?, (expected.len() as u64, sum))?;
    }
    work.add_race(&heading(owner, "write", count).of_commits(Commit::Unsynced), &race);
    Ok(())
}

/// Ours: an array a property.
struct Columns<'a> {
    database: Database,
    edge_type: TypeId,
    keys: [KeyId; PROPERTIES],
    edges: &'a [Edge],
}

const LABEL: &str = "Vertex";
const EDGE: &str = "EDGE";

fn key_name(property: usize) -> String {
    format!("p{property}")
}

/// The columns of the items from `first` on, so many.
fn columns(first: usize, count: usize) -> Vec<Option<PackedColumn>> {
    let column = |property| {
        let mut column = PackedColumnBuilder::default();
        (first..first + count).for_each(|item| column.push_i64(value(item, property)));
        column.finish()
    };
    (0..PROPERTIES).map(column).collect()
}

impl<'a> Columns<'a> {
    fn load(folder: &Path, vertices: u32, edges: &'a [Edge]) -> Result<Self> {
        make_folder(folder)?;
        let options = Options { durability: Durability::None, ..Options::default() };
        let database = Database::open_with(folder.join("evergraph"), &options)?;
        let properties =
            || (0..PROPERTIES).map(|property| (key_name(property), ValueType::I64)).collect::<Vec<_>>();
        let vertices = vertices as usize;
        let vertex_blocks = (0..vertices).step_by(BLOCK_ROWS).map(|first| {
            let rows = BLOCK_ROWS.min(vertices - first);
            VertexBlock { columns: columns(first, rows), ..VertexBlock::bare(rows) }
        });
        let edge_blocks = edges.chunks(BLOCK_ROWS).enumerate().map(|(block, edges)| EdgeBlock {
            columns: columns(block * BLOCK_ROWS, edges.len()),
            ..EdgeBlock::bare(edges.iter().copied())
        });
        let load = Load {
            vertices: vec![VertexTable::new(LABEL, properties(), vertex_blocks.collect())],
            edges: vec![EdgeTable::new(EDGE, 0, 0, properties(), edge_blocks.collect())],
        };
        database.load(&load, &|_| (), &Default::default())?;
        let catalogue = database.store().catalogue();
        let missing = || Error::new(ErrorKind::Corrupt, "a name of the measured graph was not loaded");
        let mut keys = [KeyId(0); PROPERTIES];
        for (property, key) in keys.iter_mut().enumerate() {
            *key = catalogue.key(&key_name(property)).ok_or_else(missing)?;
        }
        Ok(Self { edge_type: catalogue.edge_type(EDGE).ok_or_else(missing)?, keys, edges, database })
    }
}

/// The sum of a column of whole numbers; a missing value is an error.
fn column_sum(column: &Column) -> Result<i64> {
    let wrong = || Error::new(ErrorKind::Corrupt, "a property has no whole number");
    match &column.data {
        ColumnData::Integers(values) => values.iter().map(|value| value.ok_or_else(wrong)).sum(),
        _ => Err(wrong()),
    }
}

impl PropertyStore for Columns<'_> {
    fn sum(&self, owner: Owner, count: usize) -> Result<(u64, i64)> {
        let view = self.database.snapshot();
        let (mut items, mut sum) = (0, 0);
        let mut add = |read: &dyn Fn(KeyId, &mut Column) -> Result<()>| -> Result<()> {
            for key in &self.keys[..count] {
                let mut column = Column::new(ValueType::I64);
                read(*key, &mut column)?;
                sum += column_sum(&column)?;
            }
            Ok(())
        };
        match owner {
            Owner::Vertices => {
                let (mut page, mut cursor) = (Vec::with_capacity(PAGE), VertexCursor::default());
                while !cursor.done {
                    page.clear();
                    view.scan_vertices(None, &mut cursor, PAGE, &mut page)?;
                    items += page.len() as u64;
                    add(&|key, column| view.vertex_properties(&page, key, column))?;
                }
            }
            Owner::Edges => {
                let (mut page, mut cursor) = (Vec::with_capacity(PAGE), EdgeCursor::default());
                while !cursor.done {
                    page.clear();
                    view.scan_edges(None, &mut cursor, PAGE, &mut page)?;
                    items += page.len() as u64;
                    add(&|key, column| view.edge_properties(&page, key, column))?;
                }
            }
        }
        Ok((items, sum))
    }

    fn set(&self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()> {
        self.database.transact(|tx| {
            let tx = tx.by_id();
            for item in items {
                for (property, key) in self.keys.iter().enumerate().take(count) {
                    let value = Some(Value::I64(changed(*item, property, more)));
                    match owner {
                        Owner::Vertices => tx.set_vertex_property(VertexId(*item as u32), *key, value)?,
                        Owner::Edges => {
                            let (source, target) = self.edges[*item];
                            let [source, target] = [source, target].map(VertexId);
                            let edge = EdgeId { source, edge_type: self.edge_type, target, discriminator: 0 };
                            tx.set_edge_property(edge, *key, value)?;
                        }
                    }
                }
            }
            Ok(())
        })
    }
}

/// Theirs: a row an item.
struct Rows<'a> {
    store: Box<dyn KeyValue>,
    edges: &'a [Edge],
}

type Row = [i64; PROPERTIES];

fn row_bytes(row: &Row) -> Vec<u8> {
    row.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn row_of(bytes: &[u8]) -> Result<Row> {
    let (values, rest) = bytes.as_chunks::<8>();
    let values: Option<&[[u8; 8]; PROPERTIES]> = values.try_into().ok().filter(|_| rest.is_empty());
    let values = values.ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            format!("a row has {} bytes instead of {}", bytes.len(), 8 * PROPERTIES),
        )
    })?;
    Ok(values.map(i64::from_le_bytes))
}

impl<'a> Rows<'a> {
    fn load(store: Box<dyn KeyValue>, vertices: u32, edges: &'a [Edge]) -> Result<Self> {
        let rows = Self { store, edges };
        for (owner, items) in [(Owner::Edges, edges.len()), (Owner::Vertices, vertices as usize)] {
            let all: Vec<usize> = (0..items).collect();
            for items in all.chunks(BATCH) {
                let row = |item: &usize| std::array::from_fn(|property| value(*item, property));
                rows.put(owner, items.iter().map(|item| (*item, row(item))))?;
            }
        }
        Ok(rows)
    }

    fn key(&self, owner: Owner, item: usize) -> Vec<u8> {
        match owner {
            Owner::Vertices => [b"v".as_slice(), &(item as u32).to_be_bytes()].concat(),
            Owner::Edges => [b"e".as_slice(), &edge_key(self.edges[item])].concat(),
        }
    }

    fn put(&self, owner: Owner, rows: impl Iterator<Item = (usize, Row)>) -> Result<()> {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> =
            rows.map(|(item, row)| (self.key(owner, item), row_bytes(&row))).collect();
        let changes: Vec<_> = pairs.iter().map(|(key, row)| (key.as_slice(), Some(row.as_slice()))).collect();
        self.store.write(&changes)
    }
}

impl PropertyStore for Rows<'_> {
    fn sum(&self, owner: Owner, count: usize) -> Result<(u64, i64)> {
        let prefix: &[u8] = match owner {
            Owner::Vertices => b"v",
            Owner::Edges => b"e",
        };
        let (mut items, mut sum, mut failed) = (0, 0, None);
        self.store.prefix(prefix, &mut |_, bytes| match row_of(bytes) {
            Ok(row) => {
                items += 1;
                sum += row[..count].iter().sum::<i64>();
                true
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        failed.map_or(Ok((items, sum)), Err)
    }

    fn set(&self, owner: Owner, items: &[usize], count: usize, more: i64) -> Result<()> {
        let mut rows = Vec::with_capacity(items.len());
        for item in items {
            let mut found = None;
            self.store.get(&self.key(owner, *item), &mut |bytes| found = Some(row_of(bytes)))?;
            let missing = || Error::new(ErrorKind::Corrupt, "a row that was written is gone");
            let mut row = found.ok_or_else(missing)??;
            let values = row.iter_mut().enumerate().take(count);
            values.for_each(|(property, value)| *value = changed(*item, property, more));
            rows.push((*item, row));
        }
        self.put(owner, rows.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = [1, -2, i64::MAX, 0];
        assert_eq!(row_of(&row_bytes(&row)).unwrap(), row);
        assert!(row_of(&[0; 31]).is_err() && row_of(&[0; 40]).is_err());
    }

    #[test]
    fn columns_and_rows_of_every_engine_keep_the_same_properties() {
        let edges = [(0, 1), (1, 0), (1, 2)];
        for kind in Kind::ALL {
            let folder = tempfile::tempdir().unwrap();
            let store: Box<dyn PropertyStore + '_> =
                match kind.open_key_value(folder.path(), Commit::Unsynced).unwrap() {
                    None => Box::new(Columns::load(folder.path(), 3, &edges).unwrap()),
                    Some(store) => Box::new(Rows::load(store, 3, &edges).unwrap()),
                };
            for owner in Owner::ALL {
                assert_eq!(store.sum(owner, 1).unwrap(), (3, 4 + 8), "{}", kind.name());
                assert_eq!(store.sum(owner, 4).unwrap(), (3, 66));
                store.set(owner, &[2, 0], 2, 100).unwrap();
                assert_eq!(store.sum(owner, 1).unwrap(), (3, 212), "{}", kind.name());
                assert_eq!(store.sum(owner, 4).unwrap(), (3, 466));
            }
        }
    }
}
