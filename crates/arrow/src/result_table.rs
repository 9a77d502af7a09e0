//! Result table: results of a query as a table.
//!
//! | result | column |
//! |---|---|
//! | null | null |
//! | a value | as of a property ([`column_array`](crate::column_array)) |
//! | a vertex | its number, uint64 |
//! | an edge | struct of source, target, type, discriminator |
//! | a property | its value |
//! | a list, a set, a path | large_list of the one type that all items have; an edge in it is its id, a text |
//! | a map | as of a property that holds one; a table of maps has a column a key |
//! | `T.id`, `OUT` | the text `id`, `OUT` |

use crate::table_builder::TableBuilder;
use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, StructArray, UInt16Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Fields};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::column::{Column, ColumnData};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId};
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_graph::value::{Value, ValueType};
use evergraph_query::value::element_id::edge_id_text;
use evergraph_query::value::item::{Item, Token};
use std::collections::HashMap;
use std::sync::Arc;

/// Collections inside collections, so deep at most.
const DEPTH_MAX: usize = 500;

/// `items` as a table: a column a key if all are maps with names as keys, else the column `result`.
///
/// # Errors
/// `invalid` for what no column can hold; `limit` for moments beyond 64 bits of nanoseconds.
pub fn table(items: &[Item], catalogue: &Catalogue) -> Result<RecordBatch> {
    let mut table = TableBuilder::default();
    match by_key(items) {
        None => push(&mut table, "result", &items.iter().map(Some).collect::<Vec<_>>(), catalogue)?,
        Some(columns) => {
            for (name, column) in columns {
                push(&mut table, &name, &column, catalogue)?;
            }
        }
    }
    table.finish()
}

type Columns<'a> = Vec<(String, Vec<Option<&'a Item>>)>;

/// Columns in the order in which their keys came; `None` unless all are maps, and all keys names.
fn by_key(items: &[Item]) -> Option<Columns<'_>> {
    let (mut columns, mut places): (Columns<'_>, HashMap<String, usize>) = (Vec::new(), HashMap::new());
    for (row, item) in items.iter().enumerate() {
        let Item::Map(map) = item else { return None };
        for (key, value) in map.entries() {
            let name = match key.as_str() {
                Some(name) => name.to_owned(),
                None => key_name(key, |name| map.get_text(name).is_some())?,
            };
            let at = *places.entry(name.clone()).or_insert_with(|| {
                columns.push((name, vec![None; items.len()]));
                columns.len() - 1
            });
            columns[at].1[row] = Some(value);
        }
    }
    (!columns.is_empty()).then_some(columns)
}

fn push(table: &mut TableBuilder, name: &str, rows: &[Option<&Item>], catalogue: &Catalogue) -> Result<()> {
    let present = || rows.iter().flatten().filter(|item| !matches!(item, Item::Null));
    if present().next().is_some() {
        if present().all(|item| item.as_vertex().is_some()) {
            let numbers =
                rows.iter().map(|row| row.and_then(Item::as_vertex).map(|vertex| u64::from(vertex.0)));
            table.push(name, numbers.collect::<UInt64Array>());
            return Ok(());
        }
        if present().all(|item| item.as_edge().is_some()) {
            let edges: Vec<_> = rows.iter().map(|row| row.and_then(Item::as_edge)).collect();
            table.push(name, edge_structs(&edges, catalogue)?);
            return Ok(());
        }
    }
    let values = rows.iter().map(|row| row.map_or(Ok(None), |item| plain(item, 0)));
    let values =
        values.collect::<Result<_>>().map_err(|error| error.context(format_args!("column {name}")))?;
    table.push_column(name, &Column { value_type: ValueType::Any, data: ColumnData::Values(values) })
}

fn edge_structs(edges: &[Option<EdgeId>], catalogue: &Catalogue) -> Result<StructArray> {
    let number =
        |of: fn(&EdgeId) -> u32| edges.iter().map(move |edge| edge.as_ref().map(|edge| u64::from(of(edge))));
    let types =
        edges.iter().map(|edge| edge.map(|edge| catalogue.edge_type_name(edge.edge_type).to_string()));
    let discriminators = edges.iter().map(|edge| edge.map(|edge| edge.discriminator));
    let arrays: [(&str, ArrayRef); 4] = [
        ("source", Arc::new(number(|edge| edge.source.0).collect::<UInt64Array>())),
        ("target", Arc::new(number(|edge| edge.target.0).collect::<UInt64Array>())),
        ("type", Arc::new(types.collect::<LargeStringArray>())),
        ("discriminator", Arc::new(discriminators.collect::<UInt16Array>())),
    ];
    let fields: Fields =
        arrays.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let nulls: NullBuffer = edges.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let columns = arrays.into_iter().map(|(_, array)| array).collect();
    StructArray::try_new(fields, columns, Some(nulls)).map_err(|error| Error::invalid(error.to_string()))
}

/// `item` as a value, elements by their ids; `None` for null.
fn plain(item: &Item, depth: usize) -> Result<Option<Value>> {
    if depth > DEPTH_MAX {
        return Err(Error::invalid(format!("a result is nested more than {DEPTH_MAX} deep")));
    }
    let inside = |item: &Item| {
        let null = || Error::invalid("a table can't hold a collection with a null in it");
        plain(item, depth + 1)?.ok_or_else(null)
    };
    let all = |items: &mut dyn Iterator<Item = &Item>| items.map(inside).collect::<Result<Vec<_>>>();
    let too_deep = |error| Error::invalid("a result is nested too deeply for a table").because(error);
    Ok(Some(match item {
        Item::Null => return Ok(None),
        Item::Value(value) => value.clone(),
        Item::Vertex(vertex) => Value::I64(vertex.0.into()),
        Item::Edge(edge) => Value::from(edge_id_text(*edge)),
        Item::Property(property) => property.value.clone(),
        Item::List(items) => Value::List(List::new(all(&mut items.iter())?).map_err(too_deep)?),
        Item::Path(path) => Value::List(List::new(all(&mut path.items())?).map_err(too_deep)?),
        Item::Set(items) => Value::Set(Set::new(all(&mut items.iter())?).map_err(too_deep)?),
        Item::Map(map) => {
            let entry = |(key, value): &(Item, Item)| Ok((inside(key)?, inside(value)?));
            let entries = map.entries().iter().map(entry).collect::<Result<Vec<_>>>()?;
            Value::Map(Map::new(entries).map_err(too_deep)?)
        }
        Item::Token(name) => Value::from(token(*name)),
        Item::Direction(name) => Value::from(direction(*name)),
        Item::Entry(_) | Item::Tree(_) | Item::Graph(_) => {
            let text = format!("a table can't hold {}", item.kind());
            return Err(Error::invalid(text));
        }
    }))
}

/// `T.id` and its likes as texts.
#[must_use]
pub fn token(token: Token) -> &'static str {
    match token {
        Token::Id => "id",
        Token::Label => "label",
        Token::Key => "key",
        Token::Value => "value",
    }
}

/// `OUT` and its likes as texts.
#[must_use]
pub fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "OUT",
        Direction::In => "IN",
        Direction::Both => "BOTH",
    }
}

/// What a key that is no text is called in a map with the text keys that `has` knows: a property may be called `id`.
#[must_use]
pub fn key_name(key: &Item, has: impl Fn(&str) -> bool) -> Option<String> {
    let (name, class) = match key {
        Item::Token(key) => (token(*key), "T"),
        Item::Direction(key) => (direction(*key), "Direction"),
        _ => return None,
    };
    Some(if has(name) { format!("{class}.{name}") } else { name.to_owned() })
}
