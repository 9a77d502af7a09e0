//! A shop: owners, and items that belong to them; its catalogue, its mapping, and its rows after each transaction.

use crate::messages;
use evergraph_graph::split_mix::{GAMMA, mix};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::pgoutput::relation::RelationIdentity;
use evergraph_replica::source::catalogue::{Catalogue, Column, Key, Table, TableKind, TableRights};
use evergraph_replica::source::contract::SourceIdentity;
use std::collections::BTreeMap;

pub const OWNER: u32 = 100;
pub const ITEM: u32 = 200;
pub const OWNER_COLUMNS: &[(&str, u32)] = &[("id", 23), ("name", 25)];
pub const ITEM_COLUMNS: &[(&str, u32)] = &[("id", 23), ("owner_id", 23), ("title", 25)];
/// Keys are few, so that they meet.
const KEYS: u64 = 12;

pub const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n\
    [[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n";

/// Rows by key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shop {
    pub owners: BTreeMap<i32, Option<String>>,
    pub items: BTreeMap<i32, (Option<i32>, Option<String>)>,
}

/// A random number below `limit`.
pub fn below(random: &mut u64, limit: u64) -> u64 {
    *random = random.wrapping_add(GAMMA);
    mix(*random) % limit
}

pub fn identity() -> SourceIdentity {
    SourceIdentity {
        system: "7123".into(),
        timeline: 1,
        database: "shop".into(),
        log_end: Lsn::new(50),
        server_version: 150_000,
    }
}

pub fn catalogue() -> Catalogue {
    let tables = vec![table(ITEM, "item", ITEM_COLUMNS), table(OWNER, "owner", OWNER_COLUMNS)];
    Catalogue { tables, ..Catalogue::default() }
}

pub fn table(id: u32, name: &str, columns: &[(&str, u32)]) -> Table {
    let column = |(column, type_id): &(&str, u32)| Column {
        name: (*column).into(),
        type_id: *type_id,
        type_name: if *type_id == 23 { "integer".into() } else { "text".into() },
        is_nullable: *column != "id",
        is_generated: false,
        is_nondeterministic: false,
    };
    Table {
        id,
        schema: "public".into(),
        name: name.into(),
        kind: TableKind::Plain,
        partition_of: None,
        child_tables: Vec::new(),
        columns: columns.iter().map(column).collect(),
        primary_key: Some(Key { name: "key".into(), columns: vec!["id".into()], is_deferrable: false }),
        unique_keys: Vec::new(),
        foreign_keys: Vec::new(),
        identity: RelationIdentity::PrimaryKey,
        identity_columns: vec!["id".into()],
        rows_estimate: None,
        rights: TableRights::default(),
    }
}

/// Both tables, described.
pub fn describe(xid: Option<u32>) -> Vec<Vec<u8>> {
    vec![
        messages::relation(xid, OWNER, "owner", OWNER_COLUMNS),
        messages::relation(xid, ITEM, "item", ITEM_COLUMNS),
    ]
}

fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

pub fn owner_row(key: i32, name: &Option<String>) -> Vec<Option<String>> {
    vec![text(key), name.clone()]
}

pub fn item_row(key: i32, (owner, title): &(Option<i32>, Option<String>)) -> Vec<Option<String>> {
    vec![text(key), owner.and_then(text), title.clone()]
}

impl Shop {
    /// Rows as COPY sends them: those of `owner`, those of `item`.
    pub fn copy_rows(&self) -> [Vec<Vec<u8>>; 2] {
        let line = |row: Vec<Option<String>>| {
            let cells: Vec<String> =
                row.into_iter().map(|cell| cell.unwrap_or_else(|| "\\N".to_owned())).collect();
            format!("{}\n", cells.join("\t")).into_bytes()
        };
        [
            self.owners.iter().map(|(key, name)| line(owner_row(*key, name))).collect(),
            self.items.iter().map(|(key, item)| line(item_row(*key, item))).collect(),
        ]
    }

    /// Changes a random row; what the stream says of it.
    pub fn change(&mut self, random: &mut u64, xid: Option<u32>) -> Vec<u8> {
        let key = below(random, KEYS) as i32;
        let other = below(random, KEYS) as i32;
        let name = (below(random, 8) > 0).then(|| format!("n{}", below(random, 1000)));
        if below(random, 60) == 0 {
            return self.truncate(random, xid);
        }
        if below(random, 2) == 0 {
            match self.owners.contains_key(&key) {
                false => {
                    self.owners.insert(key, name.clone());
                    messages::insert(xid, OWNER, &owner_row(key, &name))
                }
                true => match below(random, 3) {
                    0 => {
                        self.owners.remove(&key);
                        messages::delete(xid, OWNER, key, OWNER_COLUMNS.len())
                    }
                    1 if !self.owners.contains_key(&other) => {
                        self.owners.remove(&key);
                        self.owners.insert(other, name.clone());
                        messages::update(xid, OWNER, Some(key), &owner_row(other, &name))
                    }
                    _ => {
                        self.owners.insert(key, name.clone());
                        messages::update(xid, OWNER, None, &owner_row(key, &name))
                    }
                },
            }
        } else {
            let item = ((below(random, 6) > 0).then_some(other), name);
            match self.items.contains_key(&key) {
                false => {
                    self.items.insert(key, item.clone());
                    messages::insert(xid, ITEM, &item_row(key, &item))
                }
                true if below(random, 3) == 0 => {
                    self.items.remove(&key);
                    messages::delete(xid, ITEM, key, ITEM_COLUMNS.len())
                }
                true => {
                    self.items.insert(key, item.clone());
                    messages::update(xid, ITEM, None, &item_row(key, &item))
                }
            }
        }
    }

    fn truncate(&mut self, random: &mut u64, xid: Option<u32>) -> Vec<u8> {
        if below(random, 2) == 0 {
            self.owners.clear();
            messages::truncate(xid, OWNER)
        } else {
            self.items.clear();
            messages::truncate(xid, ITEM)
        }
    }
}
