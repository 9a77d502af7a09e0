//! Table: how the rows of a database's table become vertices or edges, from a mapping file or from a proposal.
//!
//! ```toml
//! [[table]]
//! table = "film"                   # or "schema.name"
//! label = "Film"                   # each row is a vertex
//! ignore = ["fulltext", "last_update"]
//! rename = { release_year = "year" }
//! edge = [{ type = "IN", column = "language_id", space = "Language" }]   # row -> Language
//!
//! [[table]]
//! table = "film_actor"
//! type = "ACTS_IN"                 # each row is an edge
//! start = { column = "actor_id", space = "Actor" }
//! end = { column = "film_id", space = "Film" }
//! where = "billing <= 3"
//! ```
//!
//! The words are those of `[[file]]` where they mean the same. A table may have several rules: what one says,
//! it says of every row that its `where` selects.
//!
//! | key | value | default |
//! |---|---|---|
//! | `table` | the table's name, or `schema.name`; a name with dots in quotes: `a."b.c"`. Of a partitioned table, its root | |
//! | `label` | each row is a vertex with this label; a label belongs to one rule | |
//! | `type` | each row is an edge of this type | |
//! | `id` | the column, or list of columns, that identifies a row: unique, and never null | the primary key |
//! | `start`, `end` | of an edge: the columns that hold the ids of its ends, or `{ column, space }` | |
//! | `space` | the label whose ids the columns hold | the label of the table that a foreign key of these columns refers to |
//! | `edge` | of a vertex: a list of foreign keys that become edges, each `{ type, column, space, reverse, properties, rename, missing }` | |
//! | `reverse` | `true`: the edge leads from the row that is referred to, to the row that refers | `false` |
//! | `properties` | the columns that become properties; of an entry of `edge`, those of its edges | all but `ignore`, columns of `edge`, `start` and `end`, and a composite `id`; none of an entry of `edge` |
//! | `ignore` | columns that become no properties | |
//! | `rename` | names of properties by the names of their columns | the columns' names |
//! | `types` | types by the names of columns: `string` for any, `map` for json | what the database declares |
//! | `where` | a condition: rows that it doesn't hold for are left out | |
//! | `undirected` | whether the edges have no direction: the smaller key is the start | `false` |
//! | `missing` | what becomes of an edge with an end that isn't there: `wait`, `create` the vertex with its id alone, `stop` | `wait` |
//! | `on-unfit` | what becomes of values that no property holds (NaN of numeric, infinite times): `stop`, `null` | `stop` |
//!
//! `[defaults]` may have `missing` and `on-unfit`.

use crate::import::mapping::origin::Origin;
use crate::import::mapping::rule::ColumnName;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How the rows of one table become vertices, or become edges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableRule {
    /// The table's name, perhaps behind its schema's.
    pub table: String,
    /// What a row becomes.
    pub row: RowRule,
    /// The columns that identify a row; empty for those of the primary key.
    pub id: Vec<ColumnName>,
    /// The columns that become properties; `None` for all that have no other purpose.
    pub properties: Option<Vec<ColumnName>>,
    /// Columns that become no properties.
    pub ignore: Vec<ColumnName>,
    /// Names of properties, by the names of their columns.
    pub rename: BTreeMap<String, String>,
    /// Types of properties, by the names of their columns.
    pub types: BTreeMap<String, String>,
    /// The condition, in SQL, that selects rows; `None` for all rows.
    pub condition: Option<String>,
    /// What becomes of edges with an end that isn't there.
    pub missing: Option<MissingEnd>,
    /// What becomes of values that no property holds.
    pub on_unfit: Option<UnfitValue>,
    /// Where a mapping file says so.
    pub origin: Option<Origin>,
}

/// What the rows of a table become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowRule {
    /// A vertex, with edges to the rows that it refers to.
    Vertex {
        /// Its label.
        label: String,
        /// Its foreign keys that become edges.
        edges: Vec<ForeignKeyRule>,
    },
    /// An edge.
    Edge {
        /// Its type.
        edge_type: String,
        /// Where it begins.
        start: EndColumns,
        /// Where it ends.
        end: EndColumns,
        /// Whether it has no direction.
        undirected: bool,
    },
}

/// How a foreign key of a vertex's row becomes an edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKeyRule {
    /// The edge's type.
    pub edge_type: String,
    /// The columns of the key, and the label that they refer to.
    pub end: EndColumns,
    /// Whether the edge leads to the row instead of away from it.
    pub reverse: bool,
    /// The columns that become properties of the edge.
    pub properties: Vec<ColumnName>,
    /// Names of these properties, by the names of their columns; others are called as the rule says.
    pub rename: BTreeMap<String, String>,
    /// What becomes of the edge if its other end isn't there; `None` for what the rule says.
    pub missing: Option<MissingEnd>,
    /// Where a mapping file says so.
    pub origin: Option<Origin>,
}

/// Columns of a table that hold the id of a vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndColumns {
    /// The columns, in the order of the vertex's `id`.
    pub columns: Vec<ColumnName>,
    /// The label of the vertex; `None` for that of the table that a foreign key names.
    pub space: Option<String>,
}

/// What becomes of an edge with an end that isn't there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingEnd {
    /// It appears together with that vertex.
    #[default]
    Wait,
    /// The vertex is created, with its id alone.
    Create,
    /// Nothing goes on until a person has looked at it.
    Stop,
}

/// What becomes of a value that no property holds: a numeric NaN, an infinite time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnfitValue {
    /// Nothing goes on until a person has looked at it.
    #[default]
    Stop,
    /// The property has no value.
    Null,
}

impl TableRule {
    /// A rule that rows of `table` become `row`, all else as it is by default.
    #[must_use]
    pub fn new(table: impl Into<String>, row: RowRule) -> Self {
        Self {
            table: table.into(),
            row,
            id: Vec::new(),
            properties: None,
            ignore: Vec::new(),
            rename: BTreeMap::new(),
            types: BTreeMap::new(),
            condition: None,
            missing: None,
            on_unfit: None,
            origin: None,
        }
    }

    /// Whether it names a column by its number.
    #[must_use]
    pub fn numbers_columns(&self) -> bool {
        let (mut of_row, mut ends) = (Vec::new(), Vec::new());
        match &self.row {
            RowRule::Vertex { edges, .. } => {
                of_row.extend(edges.iter().flat_map(|edge| &edge.properties));
                ends.extend(edges.iter().map(|edge| &edge.end));
            }
            RowRule::Edge { start, end, .. } => ends.extend([start, end]),
        }
        let columns = self.id.iter().chain(self.properties.iter().flatten()).chain(&self.ignore);
        let of_ends = ends.into_iter().flat_map(|end| &end.columns);
        columns.chain(of_row).chain(of_ends).any(|column| matches!(column, ColumnName::Number(_)))
    }

    /// `why`, with the place of `key` in the mapping file before it, or the table's name if the rule is from none.
    #[must_use]
    pub fn blame(&self, key: &str, why: impl std::fmt::Display) -> String {
        match &self.origin {
            Some(origin) => format!("{}: {key}: {why}", origin.place(key)),
            None => format!("[[table]] {}: {key}: {why}", self.table),
        }
    }

    /// As [`Self::blame`], of a key of the entry `edge` of this rule.
    #[must_use]
    pub fn blame_edge(&self, edge: &ForeignKeyRule, key: &str, why: impl std::fmt::Display) -> String {
        match &edge.origin {
            Some(origin) => format!("{}: edge.{key}: {why}", origin.place(key)),
            None => self.blame("edge", format_args!("{key} of {}: {why}", edge.edge_type)),
        }
    }
}

impl ForeignKeyRule {
    /// A foreign key that becomes edges of type `edge_type` to `end`, all else as it is by default.
    #[must_use]
    pub fn new(edge_type: impl Into<String>, end: EndColumns) -> Self {
        Self {
            edge_type: edge_type.into(),
            end,
            reverse: false,
            properties: Vec::new(),
            rename: BTreeMap::new(),
            missing: None,
            origin: None,
        }
    }
}

impl EndColumns {
    /// The columns `columns`, whose space a foreign key tells.
    #[must_use]
    pub fn new(columns: Vec<ColumnName>) -> Self {
        Self { columns, space: None }
    }
}

impl MissingEnd {
    /// What mapping files call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Create => "create",
            Self::Stop => "stop",
        }
    }
}

impl UnfitValue {
    /// What mapping files call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Null => "null",
        }
    }
}
