//! Plan: a mapping's rules bound to the columns, types and keys of a catalogue.
//!
//! ```text
//! table film                columns   film_id  title  release_year  language_id
//!   vertex Film               key        0                                        -> property film_id
//!                             properties          1         2                     -> title, year
//!                             edges                                        3      -> IN, to Language
//! ```
//!
//! A row becomes vertices and edges by its plan alone: no other row is looked at. Cells of a row are in the order of
//! [`TablePlan::columns`], for copied and for streamed rows alike.

use crate::mapping::filter::condition::Condition;
use crate::mapping::key::KeyPlan;
use crate::mapping::property::PropertyForm;
use crate::pgoutput::relation::Oid;
use crate::value::column_type::ColumnType;
use evergraph_files::import::mapping::table::{MissingEnd, UnfitValue};
use evergraph_graph::value::ValueType;

/// What rows of all tables become.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tables, each once, in the order in which rules name them first.
    pub tables: Vec<TablePlan>,
}

/// What rows of one table become.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// The table's number.
    pub table: Oid,
    /// Its schema.
    pub schema: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// The columns that rules need, in the table's order.
    pub columns: Vec<PlannedColumn>,
    /// What its rows become as vertices; each label stands in one plan only.
    pub vertices: Vec<VertexPlan>,
    /// What its rows become as edges.
    pub edges: Vec<EdgePlan>,
}

/// A column that rules need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedColumn {
    /// Its name.
    pub name: Box<str>,
    /// How its text is read.
    pub column_type: ColumnType,
    /// The number of its type: that of a domain or an enum, not of what these are made of.
    pub type_id: Oid,
    /// The type's modifier, where another one would change values: of `numeric` and times. `None` of other types.
    pub type_modifier: Option<i32>,
    /// Whether it is `char(n)`, whose blanks at the end mean nothing.
    pub is_padded: bool,
    /// Whether its values may be stored outside the row, so that an update that leaves them alone doesn't send them.
    pub may_be_unchanged: bool,
}

/// What a row becomes as a vertex.
#[derive(Clone, Debug)]
pub struct VertexPlan {
    /// The rule that says so, by its place in the mapping.
    pub rule: usize,
    /// The label.
    pub label: String,
    /// What identifies the vertex, under a unique index of its label.
    pub key: KeyPlan,
    /// The properties, without the key.
    pub properties: Vec<PropertyPlan>,
    /// Which rows it is for; `None` for all.
    pub condition: Option<Condition>,
    /// The foreign keys that become edges.
    pub edges: Vec<ForeignKeyPlan>,
    /// What becomes of values that no property holds.
    pub on_unfit: UnfitValue,
}

/// What a foreign key of a vertex's row becomes. The edge is identified by that vertex, its type and the other end's label.
#[derive(Clone, Debug)]
pub struct ForeignKeyPlan {
    /// The edge's type.
    pub edge_type: String,
    /// The other end. An edge with a null in it doesn't exist.
    pub end: EndPlan,
    /// Whether the edge leads from the other end to the row.
    pub reverse: bool,
    /// The properties.
    pub properties: Vec<PropertyPlan>,
    /// What becomes of the edge if the other end isn't there.
    pub missing: MissingEnd,
    /// What the row's vertex keeps for the edge, whether it is there or not: of an end that isn't promised and is waited for.
    pub waiting: Option<WaitingPlan>,
}

/// What a vertex keeps for an edge of its row, so that the edge is made when its other end appears.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingPlan {
    /// The property that holds the other end's key, under a hash index of the vertex's label: `TYPE->Label`, or
    /// `TYPE<-Label` of an edge that leads to the row.
    pub key: String,
    /// The properties that hold those of the edge, in the order of [`ForeignKeyPlan::properties`]: `TYPE->Label.name`.
    pub properties: Vec<String>,
}

/// What a row becomes as an edge.
#[derive(Clone, Debug)]
pub struct EdgePlan {
    /// The rule that says so, by its place in the mapping.
    pub rule: usize,
    /// The type.
    pub edge_type: String,
    /// Where it begins. An edge with a null in an end doesn't exist.
    pub start: EndPlan,
    /// Where it ends.
    pub end: EndPlan,
    /// Whether the end with the smaller key is the start.
    pub undirected: bool,
    /// What identifies the edge.
    pub identity: EdgeIdentity,
    /// The properties, without the key.
    pub properties: Vec<PropertyPlan>,
    /// Which rows it is for; `None` for all.
    pub condition: Option<Condition>,
    /// What becomes of the edge if one of its ends isn't there.
    pub missing: MissingEnd,
    /// What becomes of values that no property holds.
    pub on_unfit: UnfitValue,
}

/// What identifies an edge that comes from a row of its own.
#[derive(Clone, Debug)]
pub enum EdgeIdentity {
    /// Its start, type and end: the row has no other key.
    Ends,
    /// A key, under a unique index of its type.
    Key(KeyPlan),
}

/// An end of an edge.
#[derive(Clone, Debug)]
pub struct EndPlan {
    /// The label of the vertex.
    pub label: String,
    /// Its key: the columns of this row in the order of the vertex's, with the types of the vertex's.
    pub key: KeyPlan,
    /// Whether the source promises that the vertex is there when a transaction has committed: a validated foreign key of
    /// these columns, and no condition on the rule of the label.
    pub is_promised: bool,
}

/// A property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertyPlan {
    /// The column, by its index in [`TablePlan::columns`].
    pub column: usize,
    /// The property's key.
    pub name: String,
    /// What its text becomes.
    pub form: PropertyForm,
}

impl Plan {
    /// The table and the vertices of `label`.
    #[must_use]
    pub fn label(&self, label: &str) -> Option<(&TablePlan, &VertexPlan)> {
        let vertices =
            self.tables.iter().flat_map(|table| table.vertices.iter().map(move |vertex| (table, vertex)));
        vertices.into_iter().find(|(_, vertex)| vertex.label == label)
    }

    /// Whether a rule leaves out, by its condition, vertices that foreign keys of `vertex` refer to. Then they wait on purpose,
    /// however many they are.
    #[must_use]
    pub fn leaves_out_ends(&self, vertex: &VertexPlan) -> bool {
        let mut ends = vertex.edges.iter().filter(|edge| edge.waiting.is_some()).map(|edge| &edge.end.label);
        ends.any(|label| self.label(label).is_some_and(|(_, end)| end.condition.is_some()))
    }

    /// The plan of a table.
    #[must_use]
    pub fn table(&self, table: Oid) -> Option<&TablePlan> {
        self.tables.iter().find(|plan| plan.table == table)
    }
}

impl PropertyPlan {
    /// The type that the property is declared to have; its column is one of `columns`.
    #[must_use]
    pub fn value_type(&self, columns: &[PlannedColumn]) -> ValueType {
        self.form.value_type(&columns[self.column].column_type)
    }
}
