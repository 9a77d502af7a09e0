//! What a catalogue says of the tables of a mapping, for whoever changes their rows.

use crate::random::value::ValueForm;
use crate::server::{TestDatabase, run_sql};
use evergraph_replica::mapping::plan::{EndPlan, Plan, TablePlan};
use evergraph_replica::source::catalogue::{Catalogue, Table};
use std::collections::{BTreeSet, HashMap};

/// Rows whose values are known.
const SAMPLED_ROWS: usize = 300;

/// The tables that a mapping names.
pub struct Schema {
    pub tables: Vec<TableShape>,
}

/// A table.
pub struct TableShape {
    /// As SQL writes it.
    pub name: String,
    /// Without those that are generated.
    pub columns: Vec<ColumnShape>,
    /// The columns of its primary key.
    pub key: Vec<usize>,
    /// Whether rows may share a key until a transaction ends: then ON CONFLICT is refused.
    pub is_deferrable: bool,
    pub references: Vec<Reference>,
    /// The tables whose foreign keys refer to this one: table, and their reference.
    pub referrers: Vec<(usize, usize)>,
    /// What TRUNCATE empties with it, itself first, and how many rows these had.
    pub truncated: (Vec<String>, u64),
    /// How many rows it had.
    pub rows: u64,
}

/// A column.
pub struct ColumnShape {
    /// As SQL writes it.
    pub name: String,
    pub sql_type: String,
    pub form: ValueForm,
    pub is_nullable: bool,
    /// Values that some rows had.
    pub samples: Vec<String>,
}

/// Columns whose values are the key of a row elsewhere.
pub struct Reference {
    pub columns: Vec<usize>,
    /// The table that is referred to.
    pub table: usize,
    /// The columns there.
    pub target: Vec<usize>,
    /// Whether a foreign key says so.
    pub is_foreign_key: bool,
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

impl Schema {
    /// That of the tables of `plan`, with what their rows are at this moment.
    pub fn read(there: &TestDatabase, catalogue: &Catalogue, plan: &Plan) -> Self {
        let mut connection = there.connect();
        let mut count = |table: &Table| -> u64 {
            let sql = format!("SELECT count(*) FROM {:?}.{:?}", table.schema, table.name);
            run_sql(&mut connection, &sql)[0][0].as_ref().unwrap().parse().unwrap()
        };
        let planned: Vec<&Table> =
            plan.tables.iter().map(|table| catalogue.table_of(table.table).unwrap()).collect();
        let rows: HashMap<u32, u64> = catalogue
            .tables
            .iter()
            .filter(|table| table.partition_of.is_none())
            .map(|table| (table.id, count(table)))
            .collect();
        let places: HashMap<u32, usize> =
            planned.iter().enumerate().map(|(place, table)| (table.id, place)).collect();
        let mut tables: Vec<TableShape> = planned
            .iter()
            .map(|table| {
                let samples = samples(there, table);
                let columns = table.columns.iter().zip(samples).filter(|(column, _)| !column.is_generated);
                let columns: Vec<ColumnShape> = columns
                    .map(|(column, samples)| ColumnShape {
                        name: quoted(&column.name),
                        sql_type: column.type_name.to_string(),
                        form: ValueForm::of(&catalogue.types, column.type_id, &column.type_name),
                        is_nullable: column.is_nullable,
                        samples,
                    })
                    .collect();
                let key = table.primary_key.as_ref().expect("a table that is changed has a key");
                TableShape {
                    name: format!("{:?}.{:?}", table.schema, table.name),
                    key: key.columns.iter().map(|name| place(&columns, name)).collect(),
                    is_deferrable: key.is_deferrable,
                    columns,
                    references: Vec::new(),
                    referrers: Vec::new(),
                    truncated: truncated(catalogue, table, &rows),
                    rows: rows[&table.id],
                }
            })
            .collect();
        for (number, table) in planned.iter().enumerate() {
            let mut references = foreign_keys(catalogue, table, &places, &tables);
            let of_rules = ends(&plan.tables[number]).into_iter().map(|end| {
                let (target, vertex) = plan.label(&end.label).unwrap();
                let names = |table: &TablePlan, shape: &TableShape, key: &[_]| -> Vec<usize> {
                    let name = |column: &evergraph_replica::mapping::key::KeyColumn| {
                        place(&shape.columns, &table.columns[column.column].name)
                    };
                    key.iter().map(name).collect()
                };
                let table = places[&target.table];
                Reference {
                    columns: names(&plan.tables[number], &tables[number], &end.key.columns),
                    table,
                    target: names(target, &tables[table], &vertex.key.columns),
                    is_foreign_key: false,
                }
            });
            for reference in of_rules.collect::<Vec<_>>() {
                let is_own_key = reference.table == number && reference.columns == reference.target;
                if !is_own_key && references.iter().all(|known| known.columns[0] != reference.columns[0]) {
                    references.push(reference);
                }
            }
            for (place, reference) in references.iter().enumerate().filter(|(_, known)| known.is_foreign_key)
            {
                tables[reference.table].referrers.push((number, place));
            }
            tables[number].references = references;
        }
        Self { tables }
    }
}

fn place(columns: &[ColumnShape], name: &str) -> usize {
    columns.iter().position(|column| column.name == quoted(name)).expect("a column that is not generated")
}

/// Values of each column in some of its rows, without long ones.
fn samples(there: &TestDatabase, table: &Table) -> Vec<Vec<String>> {
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("{:?}::text", column.name)).collect();
    let sql = format!(
        "SELECT {} FROM {:?}.{:?} LIMIT {SAMPLED_ROWS}",
        columns.join(", "),
        table.schema,
        table.name
    );
    let mut samples = vec![BTreeSet::new(); columns.len()];
    for row in there.run(&sql) {
        for (samples, cell) in samples.iter_mut().zip(row) {
            samples.extend(cell.filter(|text| text.len() < 200));
        }
    }
    samples.into_iter().map(|samples| samples.into_iter().collect()).collect()
}

/// The ends of edges that are columns of this table.
fn ends(table: &TablePlan) -> Vec<&EndPlan> {
    let of_vertices = table.vertices.iter().flat_map(|vertex| vertex.edges.iter().map(|edge| &edge.end));
    let of_edges = table.edges.iter().flat_map(|edge| [&edge.start, &edge.end]);
    of_vertices.chain(of_edges).collect()
}

/// The foreign keys of a table and of its partitions, to tables of the mapping.
fn foreign_keys(
    catalogue: &Catalogue,
    table: &Table,
    places: &HashMap<u32, usize>,
    tables: &[TableShape],
) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    let own = &tables[places[&table.id]];
    let parts = catalogue.tables.iter().filter(|part| part.partition_of == Some(table.id));
    for key in [table].into_iter().chain(parts).flat_map(|part| &part.foreign_keys) {
        let Some(target) = places.get(&key.target) else { continue };
        let columns: Vec<usize> = key.columns.iter().map(|name| place(&own.columns, name)).collect();
        if references.iter().all(|known| known.columns != columns) {
            let of_target = key.target_columns.iter().map(|name| place(&tables[*target].columns, name));
            references.push(Reference {
                columns,
                table: *target,
                target: of_target.collect(),
                is_foreign_key: true,
            });
        }
    }
    references
}

/// The tables that TRUNCATE ... CASCADE empties, roots instead of partitions: of a partition alone the stream says nothing.
fn truncated(catalogue: &Catalogue, table: &Table, rows: &HashMap<u32, u64>) -> (Vec<String>, u64) {
    let mut found = vec![table];
    let mut next = 0;
    while next < found.len() {
        let target = found[next].id;
        next += 1;
        for other in &catalogue.tables {
            let root = other.partition_of.and_then(|root| catalogue.table_of(root)).unwrap_or(other);
            let refers = other.foreign_keys.iter().any(|key| key.target == target);
            if refers && found.iter().all(|known| known.id != root.id) {
                found.push(root);
            }
        }
    }
    let names = found.iter().map(|table| format!("{:?}.{:?}", table.schema, table.name)).collect();
    (names, found.iter().map(|table| rows[&table.id]).sum())
}
