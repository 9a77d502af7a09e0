//! Worlds: tables and a mapping of them.

use evergraph_files::import::mapping::document::Mapping;
use evergraph_replica::mapping::plan::Plan;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::pgoutput::relation::RelationIdentity;
use evergraph_replica::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Table, TableKind, TableRights,
};
use std::path::Path;
use std::sync::Arc;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Text,
    /// `numeric`, which has values without a counterpart.
    Numeric,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    pub name: &'static str,
    /// Name, type, whether it may be null.
    pub columns: Vec<(&'static str, Kind, bool)>,
    /// The columns of the primary key.
    pub key: Vec<&'static str>,
    /// REPLICA IDENTITY FULL, and a primary key that is checked at the end of a transaction.
    pub is_full: bool,
    /// A column whose values are in the first column of another table.
    pub foreign_key: Option<(&'static str, &'static str)>,
    /// Columns whose values are never stored outside of their row: rules could not do without them.
    pub inline: Vec<&'static str>,
}

/// Tables with a mapping.
#[derive(Clone, Debug)]
pub struct World {
    pub tables: Vec<TableSpec>,
    pub plan: Arc<Plan>,
}

impl Kind {
    pub const fn oid(self) -> u32 {
        match self {
            Self::Int => 23,
            Self::Text => 25,
            Self::Numeric => 1700,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Int => "integer",
            Self::Text => "text",
            Self::Numeric => "numeric",
        }
    }
}

/// A table from `name type, name type null, ...`, whose key is the first `key` columns.
pub fn table(name: &'static str, columns: &'static str, key: usize) -> TableSpec {
    let columns: Vec<_> = columns
        .split(", ")
        .map(|column| {
            let mut words = column.split(' ');
            let name = words.next().unwrap();
            let kind = match words.next().unwrap() {
                "int" => Kind::Int,
                "text" => Kind::Text,
                "numeric" => Kind::Numeric,
                other => panic!("{other}"),
            };
            (name, kind, words.next() == Some("null"))
        })
        .collect();
    let key = columns[..key].iter().map(|column| column.0).collect();
    TableSpec { name, columns, key, is_full: false, foreign_key: None, inline: Vec::new() }
}

impl TableSpec {
    pub fn full(self) -> Self {
        Self { is_full: true, ..self }
    }

    pub fn refers(self, column: &'static str, to: &'static str) -> Self {
        Self { foreign_key: Some((column, to)), ..self }
    }

    pub fn inline(mut self, column: &'static str) -> Self {
        self.inline.push(column);
        self
    }

    pub fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.0 == name).unwrap()
    }

    pub fn is_key(&self, column: usize) -> bool {
        self.key.contains(&self.columns[column].0)
    }
}

impl World {
    pub fn new(tables: Vec<TableSpec>, mapping: &str) -> Self {
        let rules = Mapping::parse("m.toml", mapping, Path::new(".")).unwrap().tables;
        let plan = resolve(&rules, &catalogue(&tables)).unwrap_or_else(|problems| panic!("{problems}"));
        Self { tables, plan: Arc::new(plan) }
    }

    pub fn table(&self, name: &str) -> usize {
        self.tables.iter().position(|table| table.name == name).unwrap()
    }
}

/// The number of a table.
pub fn oid(table: usize) -> u32 {
    16_384 + u32::try_from(table).unwrap()
}

fn catalogue(tables: &[TableSpec]) -> Catalogue {
    let place = |name: &str| tables.iter().position(|table| table.name == name).unwrap();
    let boxed = |names: &[&'static str]| names.iter().map(|name| (*name).into()).collect::<Vec<Box<str>>>();
    let of = |(number, spec): (usize, &TableSpec)| Table {
        id: oid(number),
        schema: "public".into(),
        name: spec.name.into(),
        kind: TableKind::Plain,
        partition_of: None,
        child_tables: Vec::new(),
        columns: spec
            .columns
            .iter()
            .map(|(name, kind, is_nullable)| Column {
                name: (*name).into(),
                type_id: kind.oid(),
                type_name: kind.name().into(),
                is_nullable: *is_nullable,
                is_generated: false,
                is_nondeterministic: false,
            })
            .collect(),
        primary_key: Some(Key {
            name: format!("{}_pkey", spec.name).into(),
            columns: boxed(&spec.key),
            is_deferrable: spec.is_full,
        }),
        unique_keys: Vec::new(),
        foreign_keys: spec
            .foreign_key
            .iter()
            .map(|(column, target)| ForeignKey {
                name: "f".into(),
                columns: boxed(&[column]),
                target: oid(place(target)),
                target_columns: boxed(&tables[place(target)].key),
                is_validated: true,
                is_deferrable: true,
            })
            .collect(),
        identity: if spec.is_full { RelationIdentity::Full } else { RelationIdentity::PrimaryKey },
        identity_columns: if spec.is_full { Vec::new() } else { boxed(&spec.key) },
        rows_estimate: None,
        rights: TableRights::default(),
    };
    Catalogue { tables: tables.iter().enumerate().map(of).collect(), ..Catalogue::default() }
}

/// A world with a table for each way in which rows become vertices and edges.
pub fn everything() -> World {
    let tables = vec![
        table("person", "id int, name text, doc text null, flag int, boss int null, home int null", 1)
            .inline("name"),
        table("city", "id int, title text", 1).inline("title"),
        table("knows", "a int, b int, since int", 2),
        table("likes", "a int, b int, weight int null", 2),
        table("visit", "id int, a int, b int, note text null", 1),
        table("maybe", "id int, a int null, b int null, w int", 1),
        table("pair", "k1 int, k2 text, v text null", 2).full(),
        table("ref", "id int, k1 int null, k2 text null, w int", 1).inline("k2"),
        table("gift", "id int, title text null, giver int null", 1).inline("title"),
        table("wish", "id int, who int, what int null, w int", 1),
        table("orders", "id int, customer int null, total int", 1).refers("customer", "person"),
    ];
    let mapping = r#"
[[table]]
table = "person"
label = "Person"
edge = [
  { type = "REPORTS", column = "boss", space = "Person" },
  { type = "LIVES", column = "home", space = "City", reverse = true, properties = ["name"] },
]

[[table]]
table = "person"
label = "Active"
where = "flag = 1"
properties = ["name"]
edge = [{ type = "IS", column = "id", space = "Person" }]

[[table]]
table = "city"
label = "City"
where = "title <> 'hidden'"

[[table]]
table = "knows"
type = "KNOWS"
undirected = true
start = { column = "a", space = "Person" }
end = { column = "b", space = "Person" }

[[table]]
table = "likes"
type = "LIKES"
start = { column = "a", space = "Person" }
end = { column = "b", space = "City" }

[[table]]
table = "visit"
type = "VISITS"
start = { column = "a", space = "Person" }
end = { column = "b", space = "City" }

[[table]]
table = "maybe"
type = "MAYBE"
where = "w <> 3"
start = { column = "a", space = "Person" }
end = { column = "b", space = "City" }

[[table]]
table = "pair"
label = "Pair"

[[table]]
table = "ref"
label = "Ref"
edge = [{ type = "REFERS", column = ["k1", "k2"], space = "Pair", properties = ["w"] }]

[[table]]
table = "gift"
label = "Gift"
where = "title is null or title <> 'hidden'"
edge = [{ type = "GIVEN_BY", column = "giver", space = "Person", missing = "create" }]

[[table]]
table = "wish"
type = "WISH"
missing = "create"
start = { column = "who", space = "Person" }
end = { column = "what", space = "Gift" }

[[table]]
table = "orders"
label = "Order"
edge = [{ type = "BOUGHT", column = "customer", space = "Person", reverse = true, properties = ["total"] }]
"#;
    World::new(tables, mapping)
}
