//! Shop catalogue: that of a small source, for tests of what its changes mean.

use crate::mapping::plan::Plan;
use crate::mapping::resolve::resolve;
use crate::pgoutput::relation::{Oid, RelationIdentity};
use crate::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Operations, Publication, PublishedTable, Table, TableKind,
    TableRights,
};
use evergraph_files::import::mapping::document::Mapping;
use std::path::Path;

const MAPPING: &str = "[[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n\
    [[table]]\ntable = 'owner'\nlabel = 'Owner'\n";

/// A column that may be null, unless it is the id.
pub fn column(name: &str, type_id: Oid, type_name: &str) -> Column {
    Column {
        name: name.into(),
        type_id,
        type_name: type_name.into(),
        is_nullable: name != "id",
        is_generated: false,
        is_nondeterministic: false,
    }
}

/// A table whose id is its primary key.
pub fn table(id: Oid, name: &str, columns: Vec<Column>) -> Table {
    Table {
        id,
        schema: "public".into(),
        name: name.into(),
        kind: TableKind::Plain,
        partition_of: None,
        child_tables: Vec::new(),
        columns,
        primary_key: Some(Key { name: "k".into(), columns: vec!["id".into()], is_deferrable: false }),
        unique_keys: Vec::new(),
        foreign_keys: Vec::new(),
        identity: RelationIdentity::PrimaryKey,
        identity_columns: vec!["id".into()],
        rows_estimate: Some(7),
        rights: TableRights::default(),
    }
}

/// Items in a partition, of owners; and a table without a rule.
pub fn catalogue() -> Catalogue {
    let columns = || {
        vec![
            column("id", 23, "integer"),
            column("owner_id", 23, "integer"),
            column("name", 1043, "character varying(8)"),
            column("price", 1700, "numeric(10,2)"),
        ]
    };
    let mut item = table(1, "item", columns());
    item.kind = TableKind::Partitioned;
    let mut part = table(2, "item_1", columns());
    part.partition_of = Some(1);
    part.foreign_keys = vec![ForeignKey {
        name: "f".into(),
        columns: vec!["owner_id".into()],
        target: 3,
        target_columns: vec!["id".into()],
        is_validated: true,
        is_deferrable: false,
    }];
    let owner = table(3, "owner", vec![column("id", 23, "integer")]);
    let other = table(4, "unused", vec![column("id", 23, "integer")]);
    let published = |name: &str| PublishedTable {
        schema: "public".into(),
        table: name.into(),
        columns: ["id", "owner_id", "name", "price", "note"].map(Box::from).to_vec(),
        row_filter: None,
    };
    let publication = Publication {
        name: "p".into(),
        has_all_tables: false,
        operations: Operations { inserts: true, updates: true, deletes: true, truncates: true },
        is_by_root: true,
        tables: vec![published("item"), published("owner"), published("unused")],
    };
    Catalogue {
        tables: vec![item, part, owner, other],
        publications: vec![publication],
        ..Catalogue::default()
    }
}

/// What rows of items and owners become.
pub fn plan(catalogue: &Catalogue) -> Plan {
    resolve(&Mapping::parse("m.toml", MAPPING, Path::new(".")).unwrap().tables, catalogue).unwrap()
}

/// A table, by its name.
pub fn find<'a>(catalogue: &'a mut Catalogue, name: &str) -> &'a mut Table {
    catalogue.tables.iter_mut().find(|table| &*table.name == name).unwrap()
}
