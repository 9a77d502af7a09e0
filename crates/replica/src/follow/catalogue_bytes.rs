//! The bytes of a catalogue, as a note keeps it: what a source was known to have when changes were last read of it.
//!
//! ```text
//! tables        count, then of each: id, schema, name, flags, parent, columns, keys, foreign keys, identity
//! types         count, then of each: number, name, what it is made of
//! publications  count, then of each: name, flags, tables with columns and condition
//! ```
//!
//! Counts, numbers and lengths are varints. How many rows a table has, and who may read it, is not kept; marks have a note of
//! their own.

use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};

use crate::pgoutput::relation::{Oid, RelationIdentity};
use crate::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Operations, Publication, PublishedTable, Table, TableKind,
    TableRights, TypeEntry, TypeKind, Types,
};
use crate::source::catalogue_marks::CatalogueMarks;

/// Appends the bytes of `catalogue` to `out`.
pub fn put_catalogue(out: &mut Vec<u8>, catalogue: &Catalogue) {
    put_list(out, &catalogue.tables, put_table);
    let types: Vec<_> = catalogue.types.iter().collect();
    put_list(out, &types, put_type);
    put_list(out, &catalogue.publications, put_publication);
}

/// Reads what [`put_catalogue`] wrote.
///
/// # Errors
/// If it is something else.
pub fn read_catalogue(reader: &mut Reader<'_>) -> Decoded<Catalogue> {
    let tables = list(reader, table)?;
    let mut types = Types::default();
    for (oid, entry) in list(reader, type_entry)? {
        types.insert(oid, entry);
    }
    let publications = list(reader, publication)?;
    Ok(Catalogue { tables, types, publications, marks: CatalogueMarks::default() })
}

/// Appends how many `items` there are, and each of them by `put`.
pub fn put_list<I: IntoIterator<IntoIter: ExactSizeIterator>>(
    out: &mut Vec<u8>,
    items: I,
    mut put: impl FnMut(&mut Vec<u8>, I::Item),
) {
    let items = items.into_iter();
    put_varint(out, items.len() as u64);
    items.for_each(|item| put(out, item));
}

/// Reads what [`put_list`] wrote, each of them by `read`.
///
/// # Errors
/// If it is something else.
pub fn list<T>(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let count = reader.count(1)?;
    (0..count).map(|_| read(reader)).collect()
}

/// Appends a text.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

/// Reads what [`put_text`] wrote.
///
/// # Errors
/// If it is something else.
pub fn text(reader: &mut Reader<'_>) -> Decoded<Box<str>> {
    Ok(reader.text()?.into())
}

fn put_texts(out: &mut Vec<u8>, texts: &[Box<str>]) {
    put_list(out, texts, |out, text| put_text(out, text));
}

/// Appends the number of something in a catalogue.
pub fn put_number(out: &mut Vec<u8>, number: Oid) {
    put_varint(out, u64::from(number));
}

/// Reads what [`put_number`] wrote.
///
/// # Errors
/// If it is something else.
pub fn number(reader: &mut Reader<'_>) -> Decoded<Oid> {
    let number = reader.at_most(u64::from(Oid::MAX))?;
    Ok(Oid::try_from(number).expect("it is at most the largest"))
}

/// Truths, one a bit.
fn put_flags<const N: usize>(out: &mut Vec<u8>, flags: [bool; N]) {
    const { assert!(N <= 8) };
    out.push(flags.iter().enumerate().fold(0, |byte, (bit, flag)| byte | u8::from(*flag) << bit));
}

fn flags<const N: usize>(reader: &mut Reader<'_>) -> Decoded<[bool; N]> {
    let byte = reader.u8()?;
    Ok(std::array::from_fn(|bit| byte >> bit & 1 == 1))
}

fn put_table(out: &mut Vec<u8>, table: &Table) {
    put_number(out, table.id);
    put_text(out, &table.schema);
    put_text(out, &table.name);
    let kind = table.kind == TableKind::Partitioned;
    put_flags(out, [kind, table.partition_of.is_some(), table.primary_key.is_some()]);
    if let Some(parent) = table.partition_of {
        put_number(out, parent);
    }
    put_list(out, &table.columns, put_column);
    if let Some(key) = &table.primary_key {
        put_key(out, key);
    }
    put_list(out, &table.unique_keys, put_key);
    put_list(out, &table.foreign_keys, put_foreign_key);
    out.push(table.identity.letter());
    put_texts(out, &table.identity_columns);
}

fn table(reader: &mut Reader<'_>) -> Decoded<Table> {
    let (id, schema, name) = (number(reader)?, text(reader)?, text(reader)?);
    let [is_partitioned, is_partition, has_key] = flags(reader)?;
    let partition_of = is_partition.then(|| number(reader)).transpose()?;
    let columns = list(reader, column)?;
    let primary_key = has_key.then(|| key(reader)).transpose()?;
    let (unique_keys, foreign_keys) = (list(reader, key)?, list(reader, foreign_key)?);
    let identity = RelationIdentity::from_letter(reader.u8()?);
    let identity = identity.ok_or_else(|| reader.error("a replica identity (d, n, f, i) expected"))?;
    Ok(Table {
        id,
        schema,
        name,
        kind: if is_partitioned { TableKind::Partitioned } else { TableKind::Plain },
        partition_of,
        child_tables: Vec::new(),
        columns,
        primary_key,
        unique_keys,
        foreign_keys,
        identity,
        identity_columns: list(reader, text)?,
        rows_estimate: None,
        rights: TableRights::default(),
    })
}

fn put_column(out: &mut Vec<u8>, column: &Column) {
    put_text(out, &column.name);
    put_number(out, column.type_id);
    put_text(out, &column.type_name);
    put_flags(out, [column.is_nullable, column.is_generated, column.is_nondeterministic]);
}

fn column(reader: &mut Reader<'_>) -> Decoded<Column> {
    let (name, type_id, type_name) = (text(reader)?, number(reader)?, text(reader)?);
    let [is_nullable, is_generated, is_nondeterministic] = flags(reader)?;
    Ok(Column { name, type_id, type_name, is_nullable, is_generated, is_nondeterministic })
}

fn put_key(out: &mut Vec<u8>, key: &Key) {
    put_text(out, &key.name);
    put_texts(out, &key.columns);
    put_flags(out, [key.is_deferrable]);
}

fn key(reader: &mut Reader<'_>) -> Decoded<Key> {
    let (name, columns) = (text(reader)?, list(reader, text)?);
    let [is_deferrable] = flags(reader)?;
    Ok(Key { name, columns, is_deferrable })
}

fn put_foreign_key(out: &mut Vec<u8>, key: &ForeignKey) {
    put_text(out, &key.name);
    put_texts(out, &key.columns);
    put_number(out, key.target);
    put_texts(out, &key.target_columns);
    put_flags(out, [key.is_validated, key.is_deferrable]);
}

fn foreign_key(reader: &mut Reader<'_>) -> Decoded<ForeignKey> {
    let (name, columns) = (text(reader)?, list(reader, text)?);
    let (target, target_columns) = (number(reader)?, list(reader, text)?);
    let [is_validated, is_deferrable] = flags(reader)?;
    Ok(ForeignKey { name, columns, target, target_columns, is_validated, is_deferrable })
}

fn put_type(out: &mut Vec<u8>, (oid, entry): &(Oid, &TypeEntry)) {
    put_number(out, *oid);
    put_text(out, &entry.name);
    match &entry.kind {
        TypeKind::Base => out.push(0),
        TypeKind::Enum { labels } => {
            out.push(1);
            put_texts(out, labels);
        }
        TypeKind::Domain { base } => {
            out.push(2);
            put_number(out, *base);
        }
        TypeKind::Array { element, delimiter } => {
            out.push(3);
            put_number(out, *element);
            out.push(*delimiter);
        }
        TypeKind::Other => out.push(4),
    }
}

fn type_entry(reader: &mut Reader<'_>) -> Decoded<(Oid, TypeEntry)> {
    let (oid, name) = (number(reader)?, text(reader)?);
    let kind = match reader.u8()? {
        0 => TypeKind::Base,
        1 => TypeKind::Enum { labels: list(reader, text)? },
        2 => TypeKind::Domain { base: number(reader)? },
        3 => TypeKind::Array { element: number(reader)?, delimiter: reader.u8()? },
        4 => TypeKind::Other,
        _ => return Err(reader.error("a kind of type (0 to 4) expected")),
    };
    Ok((oid, TypeEntry { name, kind }))
}

fn put_publication(out: &mut Vec<u8>, publication: &Publication) {
    put_text(out, &publication.name);
    let Operations { inserts, updates, deletes, truncates } = publication.operations;
    let (all, by_root) = (publication.has_all_tables, publication.is_by_root);
    put_flags(out, [all, by_root, inserts, updates, deletes, truncates]);
    put_list(out, &publication.tables, |out, table| {
        put_text(out, &table.schema);
        put_text(out, &table.table);
        put_texts(out, &table.columns);
        put_flags(out, [table.row_filter.is_some()]);
        if let Some(filter) = &table.row_filter {
            put_text(out, filter);
        }
    });
}

fn publication(reader: &mut Reader<'_>) -> Decoded<Publication> {
    let name = text(reader)?;
    let [has_all_tables, is_by_root, inserts, updates, deletes, truncates] = flags(reader)?;
    let tables = list(reader, |reader| {
        let (schema, table, columns) = (text(reader)?, text(reader)?, list(reader, text)?);
        let [has_filter] = flags(reader)?;
        let row_filter = has_filter.then(|| text(reader)).transpose()?;
        Ok(PublishedTable { schema, table, columns, row_filter })
    })?;
    let operations = Operations { inserts, updates, deletes, truncates };
    Ok(Publication { name, has_all_tables, operations, is_by_root, tables })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let names = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect::<Vec<Box<str>>>();
        let column = |name: &str, type_id| Column {
            name: name.into(),
            type_id,
            type_name: "text".into(),
            is_nullable: name != "id",
            is_generated: name == "computed",
            is_nondeterministic: name == "computed",
        };
        let key = |is_deferrable| Key { name: "k".into(), columns: names(&["id", "b"]), is_deferrable };
        let table = Table {
            id: 16_384,
            schema: "public".into(),
            name: "täble".into(),
            kind: TableKind::Partitioned,
            partition_of: None,
            child_tables: Vec::new(),
            columns: vec![column("id", 23), column("computed", 4_000_000_000)],
            primary_key: Some(key(false)),
            unique_keys: vec![key(true)],
            foreign_keys: vec![ForeignKey {
                name: "f".into(),
                columns: names(&["b"]),
                target: 7,
                target_columns: names(&["id"]),
                is_validated: true,
                is_deferrable: false,
            }],
            identity: RelationIdentity::Full,
            identity_columns: names(&["id", "computed"]),
            rows_estimate: None,
            rights: TableRights::default(),
        };
        let part = Table {
            id: 16_390,
            kind: TableKind::Plain,
            partition_of: Some(16_384),
            primary_key: None,
            identity: RelationIdentity::Nothing,
            ..table.clone()
        };
        let mut types = Types::default();
        for (oid, kind) in [
            (1, TypeKind::Base),
            (2, TypeKind::Enum { labels: names(&["a", "b"]) }),
            (3, TypeKind::Domain { base: 2 }),
            (4, TypeKind::Array { element: 3, delimiter: b';' }),
            (5, TypeKind::Other),
        ] {
            types.insert(oid, TypeEntry { name: "t".into(), kind });
        }
        let published = |row_filter| PublishedTable {
            schema: "public".into(),
            table: "täble".into(),
            columns: names(&["id"]),
            row_filter,
        };
        let publication = Publication {
            name: "p".into(),
            has_all_tables: false,
            operations: Operations { inserts: true, updates: false, deletes: true, truncates: false },
            is_by_root: true,
            tables: vec![published(None), published(Some("id > 1".into()))],
        };
        let publications = vec![publication];
        Catalogue { tables: vec![table, part], types, publications, marks: CatalogueMarks::default() }
    }

    #[test]
    fn a_catalogue_comes_back_and_a_damaged_one_is_refused() {
        let mut bytes = Vec::new();
        put_catalogue(&mut bytes, &catalogue());
        let mut reader = Reader::new(&bytes);
        assert_eq!(read_catalogue(&mut reader).unwrap(), catalogue());
        assert!(reader.is_empty());
        for length in 0..bytes.len() {
            assert!(read_catalogue(&mut Reader::new(&bytes[..length])).is_err(), "{length}");
        }
    }
}
