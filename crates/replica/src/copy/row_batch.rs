//! Row batch: rows of one COPY as batches of an import's assembly, one for each rule of the table.

use crate::copy::passes::{CopyPass, EdgeRule, EdgeSource, kept_cells};
use crate::copy::table_readers::{RowCollector, UnusableRow};
use crate::mapping::plan::{TablePlan, VertexPlan};
use crate::pgoutput::relation::Oid;
use crate::pgoutput::tuple::Cell;
use crate::translate::loss::LossCounts;
use crate::translate::row_change::{CellChange, RowChanges, RowContent, RowEvent, RowKey};
use crate::translate::rules::{EDGE_END_CELLS, RuleNumber, RulePlan, link_cells};
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
pub struct BatchCollector {
    translator: Translator,
    table: Oid,
    /// The number of the table's first rule.
    first_rule: usize,
    /// Of each rule of the table, what its rows become.
    rules: Vec<RuleGroups>,
    vertices: Vec<RowGroup<IdColumn>>,
    edges: Vec<RowGroup<Ends>>,
    changes: RowChanges,
    losses: LossCounts,
}

/// Which groups the rows of a rule go to.
enum RuleGroups {
    /// One of vertices, and one of edges for each foreign key.
    Vertex(usize, Vec<LinkGroup>),
    /// One of edges.
    Edge(usize),
}

/// Where edges go that a foreign key becomes.
struct LinkGroup {
    /// The cell of the other end.
    end: usize,
    group: usize,
    /// Whether the edges begin at the row.
    begins_at_row: bool,
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

impl BatchCollector {
    /// No rows yet of the read `read` of `pass`.
    #[must_use]
    pub fn new(pass: &CopyPass, read: usize) -> Self {
        let table = pass.table(read);
        let (_, rules) = pass.rules().of_table(table.table).expect("a read is of a table of its pass");
        let first_rule = rules.start;
        // As `edge_sources` has them: those of foreign keys, rule by rule, then those of their own rows.
        let mut groups = 0..;
        let mut group = || groups.next().expect("there are numbers enough");
        let rules = rules.map(|rule| match pass.rules().rule(rule) {
            RulePlan::Vertex(vertex) => {
                let links = vertex.edges.iter().enumerate().map(|(link, foreign)| LinkGroup {
                    end: link_cells(vertex, link).start,
                    group: group(),
                    begins_at_row: !foreign.reverse,
                });
                RuleGroups::Vertex(rule - first_rule, links.collect())
            }
            RulePlan::Edge(_) => RuleGroups::Edge(group()),
        });
        Self {
            translator: pass.translator.clone(),
            table: table.table,
            first_rule,
            rules: rules.collect(),
            vertices: table.vertices.iter().map(|vertex| RowGroup::of_vertices(table, vertex)).collect(),
            edges: pass.edge_sources(read).iter().map(RowGroup::of_edges).collect(),
            changes: RowChanges::new(),
            losses: LossCounts::default(),
        }
    }
}

impl BatchCollector {
    /// Adds a row of a rule of the table, by its number in the pass; `cells` begin with the row's.
    pub fn push(&mut self, rule: RuleNumber, key: &RowKey, cells: &[CellChange]) {
        let key = &key.first;
        match &self.rules[rule - self.first_rule] {
            RuleGroups::Vertex(group, links) => {
                let group = &mut self.vertices[*group];
                group.ids.push_value(&as_id(key));
                group.push(key, cells);
                for link in links {
                    let Some(other) = cells[link.end].value() else { continue };
                    let ends = if link.begins_at_row { (key, other) } else { (other, key) };
                    self.edges[link.group].push_edge(ends, key, cells);
                }
            }
            RuleGroups::Edge(group) => match &cells[..EDGE_END_CELLS] {
                [CellChange::Value(start), CellChange::Value(end)] => {
                    self.edges[*group].push_edge((start, end), key, cells);
                }
                other => unreachable!("an edge that is shown has both ends: {other:?}"),
            },
        }
    }
}

impl RowCollector for BatchCollector {
    type Block = RowBatches;

    fn add(&mut self, cells: &[Cell<'_>]) -> Result<(), UnusableRow> {
        self.changes.clear();
        self.translator.insert(self.table, cells, &mut self.changes)?;
        let changes = std::mem::take(&mut self.changes);
        for change in changes.changes() {
            let RowEvent::Inserted(new) = &change.event else { unreachable!("a row of COPY is new") };
            let RowContent::Shown { cells: first, .. } = new.content else { continue };
            self.push(change.rule, &new.key, &changes.cells()[first..]);
        }
        if !changes.losses().is_empty() {
            self.losses.add(changes.losses());
        }
        self.changes = changes;
        Ok(())
    }

    fn take(&mut self) -> RowBatches {
        let vertices = self.vertices.iter_mut().map(|group| {
            let none = none_like(&group.ids);
            group.take(none)
        });
        let edges = self.edges.iter_mut().map(|group| {
            let Ends { sources, targets } = &group.ids;
            let none = Ends { sources: none_like(sources), targets: none_like(targets) };
            group.take(none)
        });
        RowBatches {
            vertices: vertices.collect(),
            edges: edges.collect(),
            losses: std::mem::take(&mut self.losses),
        }
    }
}

impl RowGroup<IdColumn> {
    fn of_vertices(table: &TablePlan, vertex: &VertexPlan) -> Self {
        let own = vertex.properties.iter().enumerate();
        let own = own.map(|(at, property)| (&*property.name, property.value_type(&table.columns), at));
        let properties = own.chain(kept_cells(table, vertex));
        let properties = properties.map(|(name, value_type, at)| (name.to_owned(), value_type, Some(at)));
        // Ids are decimals without zeros at their ends, to be compared: the property, as the row has it, takes their place.
        let key = &vertex.key;
        let is_changed = key.value_type() == ValueType::Decimal;
        let key = is_changed.then(|| (key.property.clone(), key.value_type(), None));
        let properties = key.into_iter().chain(properties).collect();
        Self::new(&vertex.label, ids_of(vertex.key.value_type()), properties)
    }
}

impl RowGroup<Ends> {
    fn of_edges(source: &EdgeSource<'_>) -> Self {
        let first = match source.rule {
            EdgeRule::ForeignKey(vertex, link) => link_cells(vertex, link).start + 1,
            EdgeRule::Row(_) => EDGE_END_CELLS,
        };
        let keys = source.key().iter().count();
        let properties = source.properties().enumerate().map(|(at, (name, value_type))| {
            (name.to_owned(), value_type, at.checked_sub(keys).map(|at| first + at))
        });
        let [sources, targets] = [source.start, source.end].map(|end| ids_of(end.key.value_type()));
        Self::new(source.edge_type(), Ends { sources, targets }, properties.collect())
    }

    fn push_edge(&mut self, (start, end): (&Value, &Value), key: &Value, cells: &[CellChange]) {
        self.ids.sources.push_value(&as_id(start));
        self.ids.targets.push_value(&as_id(end));
        self.push(key, cells);
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
