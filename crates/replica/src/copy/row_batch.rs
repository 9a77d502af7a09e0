//! Row batch: rows of one COPY as batches of an import's assembly, one for each rule of the table.

use crate::copy::passes::{CopyPass, EdgeRule, EdgeSource, edges_of_rule, kept_cells};
use crate::copy::table_readers::{RowCollector, UnusableRow};
use crate::pgoutput::relation::Oid;
use crate::pgoutput::tuple::Cell;
use crate::translate::loss::LossCounts;
use crate::translate::row_change::{CellChange, RowChanges, RowContent, RowEvent};
use crate::translate::rules::{EDGE_END_CELLS, RulePlan, link_cells};
use crate::translate::translator::Translator;
use evergraph_files::import::assembly::batch::{Batch, Columns, Ends, Names};
use evergraph_files::import::assembly::id_column::IdColumn;
use evergraph_files::import::assembly::space::kind_of;
use evergraph_files::import::field::cell::CellColumn;
use evergraph_files::import::id_type::IdType;
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::number::Decimal;
use evergraph_graph::value::{Value, ValueType};
use std::borrow::Cow;
use std::ops::Range;

/// The batches of some rows, in the order of the table's rules.
pub struct RowBatches {
    /// Of each rule of vertices.
    pub vertices: Vec<Batch<IdColumn>>,
    /// Of each source of edges, as [`CopyPass::edge_sources`] has them.
    pub edges: Vec<Batch<Ends>>,
    /// What was left out.
    pub losses: LossCounts,
}

/// Gathers the rows of one table.
pub struct BatchCollector<'p> {
    translator: Translator,
    table: Oid,
    /// The number of the table's first rule.
    first_rule: usize,
    /// The vertices of each rule; none where a pass is after edges.
    vertices: Vec<RowGroup<IdColumn>>,
    sources: Vec<EdgeSource<'p>>,
    edges: Vec<RowGroup<Ends>>,
    /// Of each rule, which of `edges` its rows become.
    edges_of: Vec<Range<usize>>,
    changes: RowChanges,
    losses: LossCounts,
}

/// Rows of one rule, or of one foreign key of it.
struct RowGroup<Ids> {
    name: String,
    ids: Ids,
    /// Name, type and cell of each property; a key that is one has no cell.
    properties: Vec<(String, ValueType, Option<usize>)>,
    columns: Vec<PackedColumnBuilder>,
    /// Rows in this batch, and before it.
    rows: u64,
    rows_before: u64,
}

impl<'p> BatchCollector<'p> {
    /// No rows yet of the read `read` of a pass for vertices.
    #[must_use]
    pub fn of_vertices(pass: &'p CopyPass, read: usize) -> Self {
        let table = pass.table(read);
        let vertices = table.vertices.iter().map(|vertex| {
            let own = vertex.properties.iter().enumerate();
            let own = own.map(|(at, property)| (&*property.name, property.value_type(&table.columns), at));
            let properties = own.chain(kept_cells(table, vertex));
            let properties = properties.map(|(name, value_type, at)| (name.to_owned(), value_type, Some(at)));
            // Ids are decimals without zeros at their ends, to be compared: the property, as the row has it, takes their place.
            let key = &vertex.key;
            let is_changed = key.value_type() == ValueType::Decimal;
            let key = is_changed.then(|| (key.property.clone(), key.value_type(), None));
            let properties = key.into_iter().chain(properties).collect();
            RowGroup::new(&vertex.label, ids_of(vertex.key.value_type()), properties)
        });
        Self { vertices: vertices.collect(), ..Self::new(pass, read) }
    }

    /// No rows yet of the read `read` of a pass for edges.
    #[must_use]
    pub fn of_edges(pass: &'p CopyPass, read: usize) -> Self {
        let sources = pass.edge_sources(read);
        let group = |source: &EdgeSource<'_>| {
            let first = match source.rule {
                EdgeRule::ForeignKey(vertex, link) => link_cells(vertex, link).start + 1,
                EdgeRule::Row(_) => EDGE_END_CELLS,
            };
            let keys = source.key().iter().count();
            let properties = source.properties().enumerate().map(|(at, (name, value_type))| {
                (name.to_owned(), value_type, at.checked_sub(keys).map(|at| first + at))
            });
            RowGroup::new(source.edge_type(), ends_of(source), properties.collect())
        };
        let mut next = 0;
        let edges_of = |rule| {
            let first = next;
            next += edges_of_rule(pass.rules().rule(rule));
            first..next
        };
        let (_, rules) =
            pass.rules().of_table(pass.reads[read].table).expect("a read is of a table of its pass");
        let edges_of = rules.map(edges_of).collect();
        Self { edges: sources.iter().map(group).collect(), sources, edges_of, ..Self::new(pass, read) }
    }

    fn new(pass: &'p CopyPass, read: usize) -> Self {
        let table = pass.reads[read].table;
        let (_, rules) = pass.rules().of_table(table).expect("a read is of a table of its pass");
        Self {
            translator: pass.translator.clone(),
            table,
            first_rule: rules.start,
            vertices: Vec::new(),
            sources: Vec::new(),
            edges: Vec::new(),
            edges_of: Vec::new(),
            changes: RowChanges::new(),
            losses: LossCounts::default(),
        }
    }
}

impl RowCollector for BatchCollector<'_> {
    type Block = RowBatches;

    fn add(&mut self, cells: &[Cell<'_>]) -> Result<(), UnusableRow> {
        self.changes.clear();
        self.translator.insert(self.table, cells, &mut self.changes)?;
        for change in self.changes.changes() {
            let RowEvent::Inserted(new) = &change.event else { unreachable!("a row of COPY is new") };
            let RowContent::Shown { cells: first, .. } = new.content else { continue };
            let cells = &self.changes.cells()[first..];
            let rule = change.rule - self.first_rule;
            if let Some(group) = self.vertices.get_mut(rule) {
                group.ids.push_value(&as_id(&new.key.first));
                group.push(&new.key.first, cells);
                continue;
            }
            for at in self.edges_of[rule].clone() {
                let (start, end) = match (self.translator.rules().rule(change.rule), self.sources[at].rule) {
                    (RulePlan::Vertex(vertex), EdgeRule::ForeignKey(_, link)) => {
                        let other = &cells[link_cells(vertex, link).start];
                        let Some(other) = other.value() else { continue };
                        match self.sources[at].start.is_row {
                            true => (&new.key.first, other),
                            false => (other, &new.key.first),
                        }
                    }
                    _ => match &cells[..EDGE_END_CELLS] {
                        [CellChange::Value(start), CellChange::Value(end)] => (start, end),
                        other => unreachable!("an edge that is shown has both ends: {other:?}"),
                    },
                };
                let group = &mut self.edges[at];
                group.ids.sources.push_value(&as_id(start));
                group.ids.targets.push_value(&as_id(end));
                group.push(&new.key.first, cells);
            }
        }
        self.losses.add(self.changes.losses());
        Ok(())
    }

    fn take(&mut self) -> RowBatches {
        let vertices = self.vertices.iter_mut().map(|group| {
            let none = none_like(&group.ids);
            group.take(none)
        });
        let edges =
            self.edges.iter_mut().zip(&self.sources).map(|(group, source)| group.take(ends_of(source)));
        RowBatches {
            vertices: vertices.collect(),
            edges: edges.collect(),
            losses: std::mem::take(&mut self.losses),
        }
    }
}

impl<Ids> RowGroup<Ids> {
    fn new(name: &str, ids: Ids, properties: Vec<(String, ValueType, Option<usize>)>) -> Self {
        let columns = properties.iter().map(|_| PackedColumnBuilder::default()).collect();
        Self { name: name.to_owned(), ids, properties, columns, rows: 0, rows_before: 0 }
    }

    fn push(&mut self, key: &Value, cells: &[CellChange]) {
        for ((_, _, cell), column) in self.properties.iter().zip(&mut self.columns) {
            column.push(match cell {
                Some(cell) => cells[*cell].value(),
                None => Some(key),
            });
        }
        self.rows += 1;
    }

    fn take(&mut self, none: Ids) -> Batch<Ids> {
        let columns = self.properties.iter().zip(&mut self.columns).map(|((key, value_type, _), column)| {
            let column = std::mem::take(column).finish();
            (key.clone(), CellColumn { value_type: *value_type, column })
        });
        let columns = Columns::Shared(columns.collect());
        let first = self.rows_before + 1;
        let batch = Batch {
            // No text has lines: they count the rule's rows.
            lines: (first..first + self.rows).collect(),
            ids: std::mem::replace(&mut self.ids, none),
            names: Names::one(&self.name),
            columns,
        };
        (self.rows_before, self.rows) = (self.rows_before + self.rows, 0);
        batch
    }
}

/// As what keys of `value_type` are compared while a graph is put together; `None`: as values of any types.
#[must_use]
pub fn id_type_of(value_type: ValueType) -> Option<IdType> {
    IdType::new(value_type)
}

fn none_like(ids: &IdColumn) -> IdColumn {
    match ids {
        IdColumn::Integers(_) => IdColumn::Integers(Vec::new()),
        IdColumn::Strings(_) => IdColumn::Strings(Default::default()),
        IdColumn::Values(_) => IdColumn::Values(Default::default()),
    }
}

fn ids_of(value_type: ValueType) -> IdColumn {
    IdColumn::new(kind_of(id_type_of(value_type)))
}

fn ends_of(source: &EdgeSource<'_>) -> Ends {
    let [sources, targets] = [source.start, source.end].map(|end| ids_of(end.key.value_type()));
    Ends { sources, targets }
}

/// The form of a key by which equal keys have equal bytes: a decimal has no zeros at its end.
#[must_use]
pub fn as_id(key: &Value) -> Cow<'_, Value> {
    match key {
        Value::Decimal(decimal) => match without_zeros(decimal) {
            Some(decimal) => Cow::Owned(Value::Decimal(decimal)),
            None => Cow::Borrowed(key),
        },
        _ => Cow::Borrowed(key),
    }
}

/// `decimal` without zeros at the end of its fraction; `None` if it has no fraction.
fn without_zeros(decimal: &Decimal) -> Option<Decimal> {
    let (_, scale) = decimal.as_parts();
    if scale <= 0 {
        return None;
    }
    let (digits, scale) = decimal.to_canonical_parts();
    let text = match usize::try_from(-scale) {
        Ok(zeros) => format!("{digits}{}", "0".repeat(zeros)),
        Err(_) => format!("{digits}e-{scale}"),
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_decimals_are_one_id() {
        let id = |text: &str| {
            let mut bytes = Vec::new();
            as_id(&Value::Decimal(text.parse().unwrap())).encode(&mut bytes);
            bytes
        };
        assert_eq!(id("1.50"), id("1.5"));
        assert_eq!(id("2.00"), id("2"));
        assert_eq!(id("0.00"), id("0"));
        assert_eq!(id("-100.10"), id("-100.1"));
        assert_ne!(id("100"), id("1"));
        assert_ne!(id("-1.5"), id("1.5"));
    }
}
