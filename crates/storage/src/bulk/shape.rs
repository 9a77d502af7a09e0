//! Shape: checks that a load's tables fit together, before anything is built.
//!
//! One pass over all blocks. What it accepts, an engine can take without looking twice.

use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::ValueType;
use std::collections::HashSet;

/// Checks the invariants of [`Load`], but for unique values.
///
/// # Errors
/// `invalid`, naming the table, for the first thing that doesn't fit; what reading blocks meets.
pub fn check_shape(load: &Load) -> Result<()> {
    for (at, table) in load.vertices.iter().enumerate() {
        if load.vertices[..at].iter().any(|other| other.label == table.label) {
            return Err(Error::invalid(format!("label `{}` has two vertex tables", table.label)));
        }
        check_vertices(table)?;
    }
    load.edges.iter().try_for_each(|table| check_edges(table, load))
}

fn check_vertices(table: &VertexTable) -> Result<()> {
    let name = format!("label `{}`", table.label);
    let (rows, existing) = (table.rows, table.existing.len() as u64);
    if rows.div_ceil(u64::from(GROUP_SIZE)) > u64::from(GroupId::END)
        || rows.saturating_add(existing) > 1 << 32
    {
        return Err(Error::invalid(format!(
            "{name} has {rows} rows and {existing} vertices; at most 2^32 fit"
        )));
    }
    check_properties(&name, &table.properties)?;
    if let Some(key) = &table.unique_key
        && table.rows > 0
        && !table.properties.iter().any(|(name, _)| name == key)
    {
        return Err(Error::invalid(format!("{name} has no column for its unique key `{key}`")));
    }
    let mut rows = 0;
    table.blocks.for_each(&mut |block| {
        rows += block.rows as u64;
        check_columns(&name, &table.properties, block.rows, &block.columns)
    })?;
    check_rows(&name, table.rows, rows)
}

fn check_edges(table: &EdgeTable, load: &Load) -> Result<()> {
    let name = format!("edge type `{}`", table.edge_type);
    let label = |label: usize| {
        load.vertices
            .get(label)
            .ok_or_else(|| Error::invalid(format!("{name} joins vertex table {label}, which isn't there")))
    };
    let (source_label, target_label) = (label(table.source_label)?, label(table.target_label)?);
    check_properties(&name, &table.properties)?;
    let mut rows = 0;
    table.blocks.for_each(&mut |block| {
        let EdgeBlock { sources, targets, columns } = block;
        if sources.len() != targets.len() {
            let (sources, targets) = (sources.len(), targets.len());
            return Err(Error::invalid(format!("{name} has {sources} sources and {targets} targets")));
        }
        for (ends, label) in [(sources, source_label), (targets, target_label)] {
            if let Some(at) = ends.iter().position(|end| label.end(*end).is_none()) {
                let (edge, end, all) = (rows + at as u64, ends[at], label.rows);
                return Err(Error::invalid(format!("{name}: edge {edge} names row {end} of {all}")));
            }
        }
        rows += sources.len() as u64;
        check_columns(&name, &table.properties, sources.len(), columns)
    })?;
    check_rows(&name, table.rows, rows)
}

fn check_properties(name: &str, properties: &[(String, ValueType)]) -> Result<()> {
    let mut keys = HashSet::with_capacity(properties.len());
    for (key, _) in properties {
        if !keys.insert(key) {
            return Err(Error::invalid(format!("{name} has two columns `{key}`")));
        }
    }
    Ok(())
}

fn check_columns(
    name: &str,
    properties: &[(String, ValueType)],
    rows: usize,
    columns: &[Option<PackedColumn>],
) -> Result<()> {
    if columns.len() > properties.len() {
        let (columns, properties) = (columns.len(), properties.len());
        return Err(Error::invalid(format!("{name} has {properties} properties, a block {columns} columns")));
    }
    for ((key, value_type), column) in properties.iter().zip(columns) {
        let Some(column) = column else { continue };
        if column.len() != rows {
            let found = column.len();
            return Err(Error::invalid(format!("{name}: column `{key}` has {found} of {rows} rows")));
        }
        if *value_type != ValueType::Any && column.value_type() != *value_type {
            let found = column.value_type();
            return Err(Error::invalid(format!("{name}: column `{key}` is of {found}, not {value_type}")));
        }
    }
    Ok(())
}

fn check_rows(name: &str, declared: u64, found: u64) -> Result<()> {
    if declared == found {
        return Ok(());
    }
    Err(Error::invalid(format!("{name} declares {declared} rows, its blocks have {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::VertexId;
    use evergraph_graph::load::VertexBlock;
    use evergraph_graph::value::Value;

    fn sound() -> Load {
        let column = PackedColumn::from_values([Some(&Value::I64(1)), None]);
        let block = VertexBlock { rows: 2, columns: vec![column.clone()] };
        let edges = EdgeBlock { columns: vec![column], ..EdgeBlock::bare([(0, 1), (1, 1)]) };
        let properties = || vec![("id".to_owned(), ValueType::I64)];
        Load {
            vertices: vec![VertexTable::new("V", properties(), vec![block]).unique_key("id")],
            edges: vec![EdgeTable::new("E", 0, 0, properties(), vec![edges.clone(), edges])],
        }
    }

    fn refused(spoil: impl FnOnce(&mut Load)) -> String {
        let mut load = sound();
        spoil(&mut load);
        check_shape(&load).unwrap_err().to_string()
    }

    #[test]
    fn a_sound_load_passes() {
        check_shape(&sound()).unwrap();
    }

    #[test]
    fn tables_that_contradict_themselves_are_named() {
        let text = refused(|load| load.vertices.push(VertexTable::new("V", Vec::new(), Vec::new())));
        assert_eq!(text, "label `V` has two vertex tables");
        let text = refused(|load| load.vertices[0].rows = 3);
        assert_eq!(text, "label `V` declares 3 rows, its blocks have 2");
        let text = refused(|load| load.vertices[0].unique_key = Some("name".to_owned()));
        assert_eq!(text, "label `V` has no column for its unique key `name`");
        let text = refused(|load| load.vertices[0].properties[0].1 = ValueType::String);
        assert_eq!(text, "label `V`: column `id` is of long, not string");
        let text = refused(|load| load.vertices[0].properties.clear());
        assert_eq!(text, "label `V` has no column for its unique key `id`");
        let text = refused(|load| load.edges[0].properties.clear());
        assert_eq!(text, "edge type `E` has 0 properties, a block 1 columns");
        let text = refused(|load| load.edges[0].properties.push(("id".to_owned(), ValueType::I64)));
        assert_eq!(text, "edge type `E` has two columns `id`");
        let text = refused(|load| load.edges[0].target_label = 1);
        assert_eq!(text, "edge type `E` joins vertex table 1, which isn't there");
    }

    #[test]
    fn an_end_may_be_a_vertex_that_is_there_and_must_be_some() {
        let mut load = sound();
        load.vertices[0].existing.push(VertexId(7));
        let properties = load.edges[0].properties.clone();
        let with = |end| EdgeTable::new("E", 0, 0, properties.clone(), vec![EdgeBlock::bare([(0, end)])]);
        load.edges[0] = with(u32::MAX);
        check_shape(&load).unwrap();
        load.edges[0] = with(u32::MAX - 1);
        let text = check_shape(&load).unwrap_err().to_string();
        assert_eq!(text, "edge type `E`: edge 0 names row 4294967294 of 2");
    }

    #[test]
    fn blocks_that_do_not_fit_their_table_are_named() {
        let with = |block: EdgeBlock| {
            refused(|load| {
                let properties = load.edges[0].properties.clone();
                let sound = EdgeBlock::bare([(0, 0)]);
                load.edges[0] = EdgeTable::new("E", 0, 0, properties, vec![sound, block]);
            })
        };
        assert_eq!(with(EdgeBlock::bare([(0, 1), (2, 0)])), "edge type `E`: edge 2 names row 2 of 2");
        let uneven = EdgeBlock { sources: vec![0], ..EdgeBlock::default() };
        assert_eq!(with(uneven), "edge type `E` has 1 sources and 0 targets");
        let column = PackedColumn::from_values([Some(&Value::I64(1))]);
        let short = EdgeBlock { columns: vec![column], ..EdgeBlock::bare([(0, 1), (1, 0)]) };
        assert_eq!(with(short), "edge type `E`: column `id` has 1 of 2 rows");
    }
}
