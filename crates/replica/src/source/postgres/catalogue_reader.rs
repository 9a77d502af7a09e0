//! Reads the catalogue of a server: publications first, then tables, keys and types in one snapshot.
//!
//! The server's functions about publications see what is newest, whatever the snapshot. Read before it, they cannot lack a table
//! that is still there in the snapshot: one that is dropped meanwhile is dropped, and not unpublished.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::pgoutput::relation::{Oid, RelationIdentity};
use crate::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Operations, Publication, PublishedTable, Table, TableKind,
    TableRights, TypeEntry, TypeKind, Types,
};
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::connection::Connection;
use crate::value::column_type::ColumnType;
use evergraph_graph::value::Value;

/// Tables that can be followed: those that are logged and belong to users.
const TABLES: &str = "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' \
    AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'";

/// Whether the policies of a table on which row-level security is active may hide rows: none shows all of them, or one restricts
/// what the others show.
const HIDES_ROWS: &str = "SELECT count(*) FILTER (WHERE p.polpermissive AND pg_get_expr(p.polqual, c.oid) = 'true') = 0 \
    OR count(*) FILTER (WHERE NOT p.polpermissive) > 0 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd IN ('r', '*') \
    AND EXISTS (SELECT FROM unnest(p.polroles) r(id) WHERE CASE WHEN r.id = 0 THEN true ELSE pg_has_role(r.id, 'USAGE') END)";

/// The tables that inherit from a table and are no partitions.
const CHILD_TABLES: &str = "SELECT array_agg(format('%I.%I', hn.nspname, h.relname) ORDER BY hn.nspname, h.relname) \
    FROM pg_inherits hi JOIN pg_class h ON h.oid = hi.inhrelid JOIN pg_namespace hn ON hn.oid = h.relnamespace \
    WHERE hi.inhparent = c.oid AND NOT h.relispartition";

/// The catalogue of the database that `connection` is connected to.
///
/// Cost: seven queries, in proportion to the columns of all tables.
///
/// # Errors
/// If the server cannot be asked, or answers what is no catalogue.
pub fn read(connection: &mut Connection) -> SourceResult<Catalogue> {
    let publications = publications(connection)?;
    connection.query("read the catalogue of", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let catalogue = read_in_transaction(connection, publications);
    // After an error this is a rollback.
    let ended = connection.query("read the catalogue of", "COMMIT");
    let catalogue = catalogue?;
    ended?;
    Ok(catalogue)
}

fn read_in_transaction(
    connection: &mut Connection,
    publications: Vec<Publication>,
) -> SourceResult<Catalogue> {
    let mut catalogue = Catalogue { tables: tables(connection)?, publications, ..Catalogue::default() };
    let places: BTreeMap<Oid, usize> =
        catalogue.tables.iter().enumerate().map(|(at, table)| (table.id, at)).collect();
    let mut tables = Tables { tables: &mut catalogue.tables, places };
    columns(connection, &mut tables)?;
    keys(connection, &mut tables)?;
    foreign_keys(connection, &mut tables)?;
    catalogue.types = types(connection)?;
    Ok(catalogue)
}

struct Tables<'a> {
    tables: &'a mut [Table],
    places: BTreeMap<Oid, usize>,
}

impl Tables<'_> {
    fn get(&mut self, id: Oid) -> Option<&mut Table> {
        self.places.get(&id).map(|at| &mut self.tables[*at])
    }
}

/// Rows of a query, each made into something.
fn rows<T>(
    connection: &mut Connection,
    what: &str,
    sql: &str,
    mut read: impl FnMut(&mut Cells<'_>) -> Option<T>,
) -> SourceResult<Vec<T>> {
    let doing = format!("read {what} of");
    let rows = connection.query(&doing, sql)?;
    let read = rows.iter().map(|row| read(&mut Cells(row.iter())));
    read.collect::<Option<_>>().ok_or_else(|| {
        SourceError::Invalid(format!(
            "{doing} {}: the server's answer is not what was asked for",
            connection.place()
        ))
    })
}

/// The cells of a row, from the left.
struct Cells<'a>(std::slice::Iter<'a, Option<String>>);

impl<'a> Cells<'a> {
    fn optional(&mut self) -> Option<Option<&'a str>> {
        self.0.next().map(Option::as_deref)
    }

    fn text(&mut self) -> Option<&'a str> {
        self.optional()?
    }

    fn boxed(&mut self) -> Option<Box<str>> {
        self.text().map(Box::from)
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.text()?.parse().ok()
    }

    fn letter(&mut self) -> Option<u8> {
        self.text()?.bytes().next()
    }

    fn truth(&mut self) -> Option<bool> {
        match self.text()? {
            "t" => Some(true),
            "f" => Some(false),
            _ => None,
        }
    }

    /// An array of texts.
    fn texts(&mut self) -> Option<Vec<Box<str>>> {
        texts(self.text()?)
    }
}

fn texts(array: &str) -> Option<Vec<Box<str>>> {
    let array_type = ColumnType::Array { element: Box::new(ColumnType::Text), delimiter: b',' };
    let Ok(Value::List(list)) = array_type.read(array.as_bytes()) else { return None };
    list.as_slice().iter().map(|value| value.as_str().map(Box::from)).collect()
}

fn tables(connection: &mut Connection) -> SourceResult<Vec<Table>> {
    let sql = format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relreplident, i.inhparent, ({CHILD_TABLES}), \
         c.reltuples::bigint, \
         has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'), \
         pg_has_role(c.relowner, 'USAGE'), row_security_active(c.oid) AND ({HIDES_ROWS}) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_inherits i ON c.relispartition AND i.inhrelid = c.oid \
         WHERE c.oid IN ({TABLES}) ORDER BY n.nspname, c.relname"
    );
    rows(connection, "the tables", &sql, |cells| {
        Some(Table {
            id: cells.number()?,
            schema: cells.boxed()?,
            name: cells.boxed()?,
            kind: match cells.letter()? {
                b'p' => TableKind::Partitioned,
                _ => TableKind::Plain,
            },
            identity: RelationIdentity::from_letter(cells.letter()?)?,
            partition_of: match cells.optional()? {
                None => None,
                Some(parent) => Some(parent.parse().ok()?),
            },
            child_tables: cells.optional()?.map_or(Some(Vec::new()), texts)?,
            rows_estimate: u64::try_from(cells.number::<i64>()?).ok(),
            rights: TableRights {
                may_read: cells.truth()?,
                may_publish: cells.truth()?,
                hides_rows: cells.truth()?,
            },
            columns: Vec::new(),
            primary_key: None,
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
            identity_columns: Vec::new(),
        })
    })
}

fn columns(connection: &mut Connection, tables: &mut Tables<'_>) -> SourceResult<()> {
    let sql = format!(
        "SELECT attrelid, attname, atttypid, format_type(atttypid, atttypmod), attnotnull, attgenerated <> '' \
         FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid IN ({TABLES}) ORDER BY attrelid, attnum"
    );
    let found = rows(connection, "the columns", &sql, |cells| {
        let table = cells.number()?;
        let (name, type_id, type_name) = (cells.boxed()?, cells.number()?, cells.boxed()?);
        let (is_nullable, is_generated) = (!cells.truth()?, cells.truth()?);
        Some((table, Column { name, type_id, type_name, is_nullable, is_generated }))
    })?;
    for (table, column) in found {
        if let Some(table) = tables.get(table) {
            table.columns.push(column);
        }
    }
    Ok(())
}

fn keys(connection: &mut Connection, tables: &mut Tables<'_>) -> SourceResult<()> {
    let sql = format!(
        "SELECT x.indrelid, c.relname, x.indisprimary, x.indisreplident, NOT x.indimmediate, \
         (SELECT array_agg(a.attname::text ORDER BY k.place) \
          FROM unnest(x.indkey::int2[]) WITH ORDINALITY k(number, place) \
          JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number \
          WHERE k.place <= x.indnkeyatts) \
         FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid \
         WHERE x.indisunique AND x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL \
         AND x.indrelid IN ({TABLES}) ORDER BY x.indrelid, c.relname"
    );
    let found = rows(connection, "the keys", &sql, |cells| {
        let (table, name) = (cells.number()?, cells.boxed()?);
        let (is_primary, is_identity, is_deferrable) = (cells.truth()?, cells.truth()?, cells.truth()?);
        Some((table, is_primary, is_identity, Key { name, columns: cells.texts()?, is_deferrable }))
    })?;
    for (table, is_primary, is_identity, key) in found {
        let Some(table) = tables.get(table) else { continue };
        let is_used = match table.identity {
            RelationIdentity::PrimaryKey => is_primary && !key.is_deferrable,
            RelationIdentity::Index => is_identity,
            RelationIdentity::Full | RelationIdentity::Nothing => false,
        };
        if is_used {
            table.identity_columns.clone_from(&key.columns);
        }
        match is_primary {
            true => table.primary_key = Some(key),
            false => table.unique_keys.push(key),
        }
    }
    for table in tables.tables.iter_mut().filter(|table| table.identity == RelationIdentity::Full) {
        table.identity_columns = table.columns.iter().map(|column| column.name.clone()).collect();
    }
    Ok(())
}

fn foreign_keys(connection: &mut Connection, tables: &mut Tables<'_>) -> SourceResult<()> {
    let names = |numbers: &str, table: &str| {
        format!(
            "(SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(f.{numbers}) WITH ORDINALITY k(number, place) \
             JOIN pg_attribute a ON a.attrelid = f.{table} AND a.attnum = k.number)"
        )
    };
    let sql = format!(
        "SELECT f.conrelid, f.conname, {}, f.confrelid, {}, f.convalidated, f.condeferrable FROM pg_constraint f \
         WHERE f.contype = 'f' AND f.conparentid = 0 AND f.conrelid IN ({TABLES}) ORDER BY f.conrelid, f.conname",
        names("conkey", "conrelid"),
        names("confkey", "confrelid")
    );
    let found = rows(connection, "the foreign keys", &sql, |cells| {
        let table = cells.number()?;
        Some((
            table,
            ForeignKey {
                name: cells.boxed()?,
                columns: cells.texts()?,
                target: cells.number()?,
                target_columns: cells.texts()?,
                is_validated: cells.truth()?,
                is_deferrable: cells.truth()?,
            },
        ))
    })?;
    for (table, key) in found {
        if let Some(table) = tables.get(table) {
            table.foreign_keys.push(key);
        }
    }
    Ok(())
}

fn types(connection: &mut Connection) -> SourceResult<Types> {
    // An array is the one that its elements' type names: `point` and `int2vector` have elements as well.
    let sql = format!(
        "WITH RECURSIVE used(oid) AS ( \
           SELECT atttypid FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid IN ({TABLES}) \
           UNION SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE e.oid END \
           FROM used JOIN pg_type t ON t.oid = used.oid LEFT JOIN pg_type e ON e.typarray = t.oid \
           WHERE t.typtype = 'd' OR e.oid IS NOT NULL) \
         SELECT t.oid, t.typname, t.typtype, t.typbasetype, e.oid, e.typdelim, \
         (SELECT array_agg(l.enumlabel::text ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid) \
         FROM used JOIN pg_type t ON t.oid = used.oid LEFT JOIN pg_type e ON e.typarray = t.oid ORDER BY t.oid"
    );
    let found = rows(connection, "the types", &sql, |cells| {
        let (oid, name, letter, base) = (cells.number()?, cells.boxed()?, cells.letter()?, cells.number()?);
        let (element, delimiter, labels) = (cells.optional()?, cells.optional()?, cells.optional()?);
        let kind = match (letter, element, delimiter) {
            (b'd', ..) => TypeKind::Domain { base },
            (b'e', ..) => TypeKind::Enum { labels: labels.map_or(Some(Vec::new()), texts)? },
            (b'b', Some(element), Some(delimiter)) => {
                TypeKind::Array { element: element.parse().ok()?, delimiter: delimiter.bytes().next()? }
            }
            (b'b', ..) => TypeKind::Base,
            _ => TypeKind::Other,
        };
        Some((oid, TypeEntry { name, kind }))
    })?;
    let mut types = Types::default();
    for (oid, entry) in found {
        types.insert(oid, entry);
    }
    Ok(types)
}

fn publications(connection: &mut Connection) -> SourceResult<Vec<Publication>> {
    let sql = "SELECT pubname, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication \
               ORDER BY pubname";
    let mut publications = rows(connection, "the publications", sql, |cells| {
        Some(Publication {
            name: cells.boxed()?,
            has_all_tables: cells.truth()?,
            operations: Operations {
                inserts: cells.truth()?,
                updates: cells.truth()?,
                deletes: cells.truth()?,
                truncates: cells.truth()?,
            },
            is_by_root: cells.truth()?,
            tables: Vec::new(),
        })
    })?;
    // Version 14 publishes whole tables.
    let columns = match connection.server_version() {
        150_000.. => "attnames::text[], rowfilter",
        _ => {
            "(SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a WHERE a.attnum > 0 \
              AND NOT a.attisdropped AND a.attrelid = format('%I.%I', schemaname, tablename)::regclass), NULL"
        }
    };
    let sql = format!(
        "SELECT pubname, schemaname, tablename, {columns} FROM pg_publication_tables ORDER BY pubname, schemaname, tablename"
    );
    let tables = rows(connection, "the published tables", &sql, |cells| {
        let publication = cells.text()?.to_owned();
        let (schema, table) = (cells.boxed()?, cells.boxed()?);
        let columns = cells.optional()?.map_or(Some(Vec::new()), texts)?;
        Some((
            publication,
            PublishedTable { schema, table, columns, row_filter: cells.optional()?.map(Box::from) },
        ))
    })?;
    for (name, table) in tables {
        if let Some(publication) = publications.iter_mut().find(|publication| *publication.name == *name) {
            publication.tables.push(table);
        }
    }
    Ok(publications)
}
