//! Passes: which tables and columns are read at once: all of a plan, to be copied; vertices, and edges then, to be compared.
//!
//! A pass reads rows by a translator of its own plan, as the stream does: nothing else knows what a cell becomes.

use crate::copy::missing_ends::MissingEnds;
use crate::mapping::filter::condition::Condition;
use crate::mapping::key::KeyPlan;
use crate::mapping::plan::{EdgeIdentity, EdgePlan, EndPlan, Plan, PropertyPlan, TablePlan, VertexPlan};
use crate::mapping::sql_name::{display_table, sql_identifier};
use crate::pgoutput::relation::Oid;
use crate::pgoutput::tuple::Cell;
use crate::source::contract::CopyRequest;
use crate::source::error::SourceError;
use crate::source::table_cuts::PageRange;
use crate::translate::pause::Halt;
use crate::translate::rules::{Rules, link_cells};
use crate::translate::translator::Translator;
use evergraph_files::import::mapping::table::MissingEnd;
use evergraph_graph::error::Error;
use evergraph_graph::value::ValueType;
use evergraph_graph::value::shortened::Shortened;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One pass over the source: some tables, each copied once.
#[derive(Debug)]
pub struct CopyPass {
    /// Reads the rows of this pass.
    pub translator: Translator,
    /// What is copied.
    pub reads: Vec<TableRead>,
}

/// One COPY of a table.
#[derive(Clone, Debug)]
pub struct TableRead {
    /// The table's number.
    pub table: Oid,
    /// Its schema.
    schema: String,
    /// Its name.
    table_name: String,
    /// What people call it.
    pub name: Arc<str>,
    /// The names of the columns that are copied.
    columns: Vec<String>,
    /// Where each of them is among [`TablePlan::columns`].
    places: Vec<usize>,
    /// How many those are.
    width: usize,
    /// What tells people which row it is, among the columns that are copied: names, and indexes of cells.
    key: Vec<(String, usize)>,
}

/// Edges that come from one rule, or from one foreign key of a rule.
#[derive(Clone, Copy, Debug)]
pub struct EdgeSource<'p> {
    /// The table's columns.
    table: &'p TablePlan,
    /// What says so.
    pub rule: EdgeRule<'p>,
    /// Where the edges begin; of undirected ones, the end that the rule calls so.
    pub start: EdgeEnd<'p>,
    /// Where they end.
    pub end: EdgeEnd<'p>,
}

/// What says that rows are edges.
#[derive(Clone, Copy, Debug)]
pub enum EdgeRule<'p> {
    /// A foreign key of a vertex's row, by its place in [`VertexPlan::edges`].
    ForeignKey(&'p VertexPlan, usize),
    /// The row itself.
    Row(&'p EdgePlan),
}

/// An end of edges.
#[derive(Clone, Copy, Debug)]
pub struct EdgeEnd<'p> {
    /// The label of the vertex.
    pub label: &'p str,
    /// Its key.
    pub key: &'p KeyPlan,
    /// Whether the source promises that the vertex is there.
    pub is_promised: bool,
    /// Whether it is the vertex that the row itself is.
    pub is_row: bool,
}

impl CopyPass {
    /// What gives all vertices and edges of `plan`: tables of vertices come first.
    #[must_use]
    pub fn of_all(plan: &Plan, missing: MissingEnds) -> Self {
        let (mut tables, of_edges): (Vec<TablePlan>, Vec<TablePlan>) =
            plan.tables.iter().cloned().partition(|table| !table.vertices.is_empty());
        tables.extend(of_edges);
        if missing == MissingEnds::Dropped {
            let vertices = tables.iter_mut().flat_map(|table| &mut table.vertices);
            vertices.flat_map(|vertex| &mut vertex.edges).for_each(|foreign| foreign.waiting = None);
        }
        Self::new(Plan { tables })
    }

    /// What gives all vertices of `plan`, with what they keep of edges that wait.
    #[must_use]
    pub fn of_vertices(plan: &Plan) -> Self {
        let vertex = |vertex: &VertexPlan| {
            let keeps = vertex.edges.iter().any(|foreign| foreign.waiting.is_some());
            let edges = if keeps { vertex.edges.clone() } else { Vec::new() };
            VertexPlan { edges, ..vertex.clone() }
        };
        let tables = plan.tables.iter().filter(|table| !table.vertices.is_empty()).map(|table| TablePlan {
            vertices: table.vertices.iter().map(vertex).collect(),
            edges: Vec::new(),
            ..table.clone()
        });
        Self::new(Plan { tables: tables.collect() })
    }

    /// What gives all edges of `plan`, without the properties of vertices.
    #[must_use]
    pub fn of_edges(plan: &Plan) -> Self {
        let with_edges = |table: &TablePlan| -> Vec<VertexPlan> {
            let vertices = table.vertices.iter().filter(|vertex| !vertex.edges.is_empty());
            vertices.map(|vertex| VertexPlan { properties: Vec::new(), ..vertex.clone() }).collect()
        };
        let tables =
            plan.tables.iter().map(|table| TablePlan { vertices: with_edges(table), ..table.clone() });
        let tables = tables.filter(|table| !table.vertices.is_empty() || !table.edges.is_empty());
        Self::new(Plan { tables: tables.collect() })
    }

    fn new(plan: Plan) -> Self {
        let reads = plan.tables.iter().map(TableRead::new).collect();
        Self { translator: Translator::new(Arc::new(plan)), reads }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        self.translator.rules()
    }

    /// The plan of the read `read`.
    ///
    /// # Panics
    /// If there is no such read.
    #[must_use]
    pub fn table(&self, read: usize) -> &TablePlan {
        &self.rules().plan().tables[read]
    }

    /// The edges that the rows of the read `read` become, in the order of the rules.
    ///
    /// # Panics
    /// If there is no such read.
    #[must_use]
    pub fn edge_sources(&self, read: usize) -> Vec<EdgeSource<'_>> {
        EdgeSource::of_table(self.table(read))
    }
}

/// What a vertex keeps of its edges that may wait: the names of the properties and their types, and where their cells are
/// among those of a change.
pub fn kept_cells<'p>(
    table: &'p TablePlan,
    vertex: &'p VertexPlan,
) -> impl Iterator<Item = (&'p str, ValueType, usize)> {
    let kept = vertex.edges.iter().enumerate();
    let kept = kept.filter_map(|(link, foreign)| Some((link, foreign, foreign.waiting.as_ref()?)));
    kept.flat_map(move |(link, foreign, waiting)| {
        let start = link_cells(vertex, link).start;
        let properties = waiting.properties.iter().zip(&foreign.properties).enumerate();
        let properties = properties.map(move |(at, (name, property))| {
            (name.as_str(), property.value_type(&table.columns), start + 1 + at)
        });
        std::iter::once((waiting.key.as_str(), foreign.end.key.value_type(), start)).chain(properties)
    })
}

impl<'p> EdgeSource<'p> {
    /// All edges of a table's rows.
    #[must_use]
    pub fn of_table(table: &'p TablePlan) -> Vec<Self> {
        let foreign_keys = table.vertices.iter().flat_map(move |vertex| {
            vertex.edges.iter().enumerate().map(move |(link, foreign)| {
                let row = EdgeEnd { label: &vertex.label, key: &vertex.key, is_promised: true, is_row: true };
                let other = EdgeEnd::of(&foreign.end);
                let (start, end) = if foreign.reverse { (other, row) } else { (row, other) };
                Self { table, rule: EdgeRule::ForeignKey(vertex, link), start, end }
            })
        });
        let rows = table.edges.iter().map(move |edge| Self {
            table,
            rule: EdgeRule::Row(edge),
            start: EdgeEnd::of(&edge.start),
            end: EdgeEnd::of(&edge.end),
        });
        foreign_keys.chain(rows).collect()
    }

    /// What people call the table.
    #[must_use]
    pub fn table_name(&self) -> String {
        display_table(&self.table.schema, &self.table.name)
    }

    /// The rule that says so, by its place in the mapping.
    #[must_use]
    pub fn rule_place(&self) -> usize {
        match self.rule {
            EdgeRule::ForeignKey(vertex, _) => vertex.rule,
            EdgeRule::Row(edge) => edge.rule,
        }
    }

    /// The type of the edges.
    #[must_use]
    pub fn edge_type(&self) -> &'p str {
        match self.rule {
            EdgeRule::ForeignKey(vertex, link) => &vertex.edges[link].edge_type,
            EdgeRule::Row(edge) => &edge.edge_type,
        }
    }

    /// What becomes of an edge with an end that isn't there.
    #[must_use]
    pub fn missing(&self) -> MissingEnd {
        match self.rule {
            EdgeRule::ForeignKey(vertex, link) => vertex.edges[link].missing,
            EdgeRule::Row(edge) => edge.missing,
        }
    }

    /// The labels of vertices that it creates where an end isn't there.
    pub fn created_labels(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        let creates = self.missing() == MissingEnd::Create;
        let ends = [self.start, self.end].into_iter().filter(move |end| creates && !end.is_promised);
        ends.map(|end| end.label)
    }

    /// What identifies an edge, as a property; `None` if its ends or its row's vertex do.
    #[must_use]
    pub fn key(&self) -> Option<&'p KeyPlan> {
        match self.rule {
            EdgeRule::Row(EdgePlan { identity: EdgeIdentity::Key(key), .. }) => Some(key),
            _ => None,
        }
    }

    /// The names and types of the properties: the key, then the others in the order of their cells.
    pub fn properties(&self) -> impl Iterator<Item = (&'p str, ValueType)> + use<'p> {
        let columns = &self.table.columns;
        let own: &'p [PropertyPlan] = match self.rule {
            EdgeRule::ForeignKey(vertex, link) => &vertex.edges[link].properties,
            EdgeRule::Row(edge) => &edge.properties,
        };
        let own = own.iter().map(move |property| (&*property.name, property.value_type(columns)));
        self.key().map(|key| (&*key.property, key.value_type())).into_iter().chain(own)
    }
}

impl<'p> EdgeEnd<'p> {
    fn of(end: &'p EndPlan) -> Self {
        Self { label: &end.label, key: &end.key, is_promised: end.is_promised, is_row: false }
    }
}

impl TableRead {
    fn new(table: &TablePlan) -> Self {
        let mut places = BTreeSet::new();
        for vertex in &table.vertices {
            add_condition(vertex.condition.as_ref(), &mut places);
            add_key(&vertex.key, &mut places);
            add_properties(&vertex.properties, &mut places);
            for foreign in &vertex.edges {
                add_key(&foreign.end.key, &mut places);
                add_properties(&foreign.properties, &mut places);
            }
        }
        for edge in &table.edges {
            add_condition(edge.condition.as_ref(), &mut places);
            if let EdgeIdentity::Key(key) = &edge.identity {
                add_key(key, &mut places);
            }
            [&edge.start, &edge.end].into_iter().for_each(|end| add_key(&end.key, &mut places));
            add_properties(&edge.properties, &mut places);
        }
        let of_edges = table.edges.first().map(|edge| match &edge.identity {
            EdgeIdentity::Key(key) => key.columns.iter().chain(&[]),
            EdgeIdentity::Ends => edge.start.key.columns.iter().chain(&edge.end.key.columns),
        });
        let of_vertices = table.vertices.first().map(|vertex| vertex.key.columns.iter().chain(&[]));
        let key = of_vertices.or(of_edges).into_iter().flatten().map(|key| key.column);
        let column = |place: usize| table.columns[place].name.to_string();
        Self {
            table: table.table,
            schema: table.schema.to_string(),
            table_name: table.name.to_string(),
            name: display_table(&table.schema, &table.name).into(),
            columns: places.iter().map(|place| column(*place)).collect(),
            places: places.iter().copied().collect(),
            width: table.columns.len(),
            key: key.map(|place| (sql_identifier(&column(place)), place)).collect(),
        }
    }

    /// What to ask a source for, of the table's `pages`.
    #[must_use]
    pub fn request(&self, snapshot: Option<&str>, pages: PageRange) -> CopyRequest {
        CopyRequest {
            schema: self.schema.clone(),
            table: self.table_name.clone(),
            columns: self.columns.clone(),
            snapshot: snapshot.map(str::to_owned),
            pages,
        }
    }

    /// How many columns the plan of the table has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Sets `cells`, as many as the plan has columns, to those of a row, in the order of these. Those that were not copied
    /// stay [`Cell::Unchanged`]: no rule of the pass reads them, and none would take them for a value.
    ///
    /// # Errors
    /// If the row has another number of columns than was asked for.
    pub fn arrange<'a>(
        &self,
        texts: &'a [Option<Cow<'_, [u8]>>],
        cells: &mut [Cell<'a>],
    ) -> Result<(), SourceError> {
        if texts.len() != self.places.len() {
            return Err(SourceError::Invalid(format!(
                "copy {}: a row has {} columns, and {} were asked for",
                self.name,
                texts.len(),
                self.places.len()
            )));
        }
        for (place, text) in self.places.iter().zip(texts) {
            cells[*place] = text.as_ref().map_or(Cell::Null, |text| Cell::Text(text));
        }
        Ok(())
    }

    /// `halt`, which the row with these `cells` met, as an error that says which row it is.
    #[must_use]
    #[cold]
    pub fn unreadable(&self, halt: &Halt, cells: &[Cell<'_>]) -> Error {
        let key = self.key.iter().map(|(name, place)| match cells[*place] {
            Cell::Text(text) => {
                let text = String::from_utf8_lossy(&text[..text.len().min(200)]);
                format!("{name} = {}", Shortened::new(&text))
            }
            _ => format!("{name} is null"),
        });
        Error::invalid(format!(
            "{}; the row is that where {}",
            halt.of_copy(),
            key.collect::<Vec<_>>().join(" and ")
        ))
    }
}

fn add_condition(condition: Option<&Condition>, places: &mut BTreeSet<usize>) {
    places.extend(condition.into_iter().flat_map(Condition::columns));
}

fn add_key(key: &KeyPlan, places: &mut BTreeSet<usize>) {
    places.extend(key.columns.iter().map(|column| column.column));
}

fn add_properties(properties: &[PropertyPlan], places: &mut BTreeSet<usize>) {
    places.extend(properties.iter().map(|property| property.column));
}
