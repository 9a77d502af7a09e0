//! Reads the catalogue of a server: publications, then tables, keys and types in one snapshot, then what is published once more.
//!
//! The server's functions about publications see what is newest, whatever the snapshot. Read before it, they cannot lack a table
//! that is still there in the snapshot: one that is dropped meanwhile is dropped, and not unpublished. Read again after it, they
//! cannot lack a column or partition that the snapshot has. Such a column would count as unpublished; only its marks would be kept,
//! and the next look would not notice that rows were rewritten. Those about rights are null of what is gone; it counts as readable,
//! and is gone at the next look.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::pgoutput::relation::{Oid, RelationIdentity};
use crate::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Operations, Publication, PublishedTable, Table, TableKind,
    TableRights, TypeEntry, TypeKind, Types,
};
use crate::source::catalogue_marks::{
    CatalogueMarks, Change, EnumLabels, PublicationEntry, PublicationMarks, TableMarks,
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
/// Cost: eleven queries, in proportion to the columns of all tables.
///
/// # Errors
/// If the server cannot be asked, or answers what is no catalogue.
pub fn read(connection: &mut Connection) -> SourceResult<Catalogue> {
    let mut marks = CatalogueMarks::default();
    let publications = publications(connection, &mut marks)?;
    connection.query("read the catalogue of", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let catalogue = read_in_transaction(connection, publications, marks);
    // After an error this is a rollback.
    let ended = connection.query("read the catalogue of", "COMMIT");
    let catalogue = catalogue?;
    ended?;
    Ok(catalogue)
}

fn read_in_transaction(
    connection: &mut Connection,
    publications: Vec<Publication>,
    mut marks: CatalogueMarks,
) -> SourceResult<Catalogue> {
    let tables = tables(connection, &mut marks)?;
    let mut catalogue = Catalogue { tables, publications, ..Catalogue::default() };
    let places: BTreeMap<Oid, usize> =
        catalogue.tables.iter().enumerate().map(|(at, table)| (table.id, at)).collect();
    let mut tables = Tables { tables: &mut catalogue.tables, places };
    columns(connection, &mut tables, &mut marks)?;
    keys(connection, &mut tables)?;
    foreign_keys(connection, &mut tables)?;
    catalogue.types = types(connection, &mut marks)?;
    catalogue.marks = marks;
    add_published(&mut catalogue.publications, published_tables(connection)?);
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

    fn optional_number<T: FromStr>(&mut self) -> Option<Option<T>> {
        match self.optional()? {
            None => Some(None),
            Some(text) => text.parse().ok().map(Some),
        }
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

/// The transaction that wrote a row of the catalogue, and the owner of what it describes.
fn change(cells: &mut Cells<'_>) -> Option<Change> {
    Some(Change { transaction: cells.number()?, owner: cells.number()? })
}

fn texts(array: &str) -> Option<Vec<Box<str>>> {
    let array_type = ColumnType::Array { element: Box::new(ColumnType::Text), delimiter: b',' };
    let Ok(Value::List(list)) = array_type.read(array.as_bytes()) else { return None };
    list.as_slice().iter().map(|value| value.as_str().map(Box::from)).collect()
}

fn tables(connection: &mut Connection, marks: &mut CatalogueMarks) -> SourceResult<Vec<Table>> {
    let sql = format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relreplident, i.inhparent, ({CHILD_TABLES}), \
         c.reltuples::bigint, \
         coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'), true), \
         pg_has_role(c.relowner, 'USAGE'), row_security_active(c.oid) AND ({HIDES_ROWS}), \
         i.xmin, c.relnatts, y.xmin, y.typowner, c.relfilenode \
         FROM pg_class c JOIN pg_type y ON y.oid = c.reltype JOIN pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_inherits i ON c.relispartition AND i.inhrelid = c.oid \
         WHERE c.oid IN ({TABLES}) ORDER BY n.nspname, c.relname"
    );
    rows(connection, "the tables", &sql, |cells| {
        let table = Table {
            id: cells.number()?,
            schema: cells.boxed()?,
            name: cells.boxed()?,
            kind: match cells.letter()? {
                b'p' => TableKind::Partitioned,
                _ => TableKind::Plain,
            },
            identity: RelationIdentity::from_letter(cells.letter()?)?,
            partition_of: cells.optional_number()?,
            child_tables: cells.optional()?.map_or(Some(Vec::new()), texts)?,
            rows_estimate: u64::try_from(cells.number::<i64>()?).ok(),
            rights: TableRights {
                may_read: cells.truth()?,
                unreadable_columns: Vec::new(),
                may_publish: cells.truth()?,
                hides_rows: cells.truth()?,
            },
            columns: Vec::new(),
            primary_key: None,
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
            identity_columns: Vec::new(),
        };
        let (attached_by, last_number) = (cells.optional_number()?, cells.number()?);
        let (named_by, file) = (change(cells)?, Some(cells.number()?));
        let of_table = TableMarks { attached_by, last_number, named_by, file, ..TableMarks::default() };
        marks.tables.insert(table.id, of_table);
        Some(table)
    })
}

fn columns(
    connection: &mut Connection,
    tables: &mut Tables<'_>,
    marks: &mut CatalogueMarks,
) -> SourceResult<()> {
    let sql = format!(
        "SELECT attrelid, attname, atttypid, format_type(atttypid, atttypmod), attnotnull, attgenerated <> '', \
         NOT coalesce(collisdeterministic, true), attnum, coalesce(has_column_privilege(attrelid, attnum, 'SELECT'), true) \
         FROM pg_attribute LEFT JOIN pg_collation l ON l.oid = attcollation \
         WHERE attnum > 0 AND NOT attisdropped AND attrelid IN ({TABLES}) ORDER BY attrelid, attnum"
    );
    let found = rows(connection, "the columns", &sql, |cells| {
        let table = cells.number()?;
        let (name, type_id, type_name) = (cells.boxed()?, cells.number()?, cells.boxed()?);
        let (is_nullable, is_generated) = (!cells.truth()?, cells.truth()?);
        let is_nondeterministic = cells.truth()?;
        let column = Column { name, type_id, type_name, is_nullable, is_generated, is_nondeterministic };
        Some((table, column, cells.number()?, cells.truth()?))
    })?;
    for (id, column, number, may_read) in found {
        let Some(table) = tables.get(id) else { continue };
        if table.rights.may_read && !may_read {
            table.rights.unreadable_columns.push(column.name.clone());
        }
        marks.tables.entry(id).or_default().columns.insert(column.name.clone(), number);
        table.columns.push(column);
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

fn types(connection: &mut Connection, marks: &mut CatalogueMarks) -> SourceResult<Types> {
    let used = used_types();
    let sql = format!(
        "WITH RECURSIVE {used} \
         SELECT t.oid, t.typname, t.typtype, t.typbasetype, e.oid, e.typdelim, \
         (SELECT array_agg(l.enumlabel::text ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid), \
         (SELECT array_agg(l.oid::text ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid) \
         FROM used JOIN pg_type t ON t.oid = used.oid LEFT JOIN pg_type e ON e.typarray = t.oid ORDER BY t.oid"
    );
    let found = rows(connection, "the types", &sql, |cells| {
        let (oid, name, letter, base) = (cells.number()?, cells.boxed()?, cells.letter()?, cells.number()?);
        let (element, delimiter) = (cells.optional()?, cells.optional()?);
        let labels = cells.optional()?.map_or(Some(Vec::new()), texts)?;
        let numbers = cells.optional()?.map_or(Some(Vec::new()), texts)?;
        if letter == b'e' {
            let numbers = numbers.iter().map(|number| number.parse().ok());
            let numbered: Option<EnumLabels> =
                numbers.zip(&labels).map(|(number, label)| Some((number?, label.clone()))).collect();
            marks.enums.insert(oid, numbered?);
        }
        let kind = match (letter, element, delimiter) {
            (b'd', ..) => TypeKind::Domain { base },
            (b'e', ..) => TypeKind::Enum { labels },
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
    // What is within a composite type: its attributes' types, and what these are made of.
    let sql = format!(
        "WITH RECURSIVE {used}, within(root, oid) AS ( \
           SELECT t.oid, t.oid FROM used JOIN pg_type t ON t.oid = used.oid WHERE t.typtype = 'c' \
           UNION SELECT w.root, n.oid FROM within w JOIN pg_type t ON t.oid = w.oid \
           LEFT JOIN pg_attribute a ON t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped \
           CROSS JOIN LATERAL (VALUES (a.atttypid), (CASE t.typtype WHEN 'd' THEN t.typbasetype END), \
           (CASE t.typcategory WHEN 'A' THEN t.typelem END)) n(oid) WHERE n.oid <> 0) \
         SELECT w.root, string_agg(format('%s:%s:%s', a.attnum, a.atttypid, a.atttypmod), ' ' ORDER BY w.oid, a.attnum) \
         FROM within w JOIN pg_type t ON t.oid = w.oid AND t.typtype = 'c' \
         JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped GROUP BY w.root"
    );
    let composites =
        rows(connection, "the composite types", &sql, |cells| Some((cells.number()?, cells.boxed()?)))?;
    marks.composites = composites.into_iter().collect();
    Ok(types)
}

/// The common table expression of the types that columns have, and of what these are made of. An array is the one that its
/// elements' type names: `point` and `int2vector` have elements as well.
fn used_types() -> String {
    format!(
        "used(oid) AS ( \
           SELECT atttypid FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid IN ({TABLES}) \
           UNION SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE e.oid END \
           FROM used JOIN pg_type t ON t.oid = used.oid LEFT JOIN pg_type e ON e.typarray = t.oid \
           WHERE t.typtype = 'd' OR e.oid IS NOT NULL)"
    )
}

fn publications(connection: &mut Connection, marks: &mut CatalogueMarks) -> SourceResult<Vec<Publication>> {
    let mut publications: Vec<Publication> = Vec::new();
    let sql = publications_sql(connection.server_version());
    rows(connection, "the publications", &sql, |cells| {
        let publication = Publication {
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
        };
        let of_publication =
            PublicationMarks { id: cells.number()?, set_by: change(cells)?, entries: BTreeMap::new() };
        let marks = marks.publications.entry(publication.name.clone()).or_insert(of_publication);
        if let Some(schema) = cells.optional()? {
            let entry = PublicationEntry {
                schema: schema.into(),
                table: cells.optional()?.map(Box::from),
                form: cells.boxed()?,
            };
            marks.entries.insert(entry, cells.number()?);
        }
        if publications.last().is_none_or(|last| last.name != publication.name) {
            publications.push(publication);
        }
        Some(())
    })?;
    add_published(&mut publications, published_tables(connection)?);
    Ok(publications)
}

/// The tables that are published now, each with the name of its publication.
fn published_tables(connection: &mut Connection) -> SourceResult<Vec<(String, PublishedTable)>> {
    // Version 14 publishes whole tables. A cast to `regclass` would look for the newest table of the name, and not the snapshot's.
    let columns = match connection.server_version() {
        150_000.. => "attnames::text[], rowfilter",
        _ => {
            "(SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a WHERE a.attnum > 0 \
              AND NOT a.attisdropped AND a.attrelid = (SELECT c.oid FROM pg_class c JOIN pg_namespace n \
              ON n.oid = c.relnamespace WHERE n.nspname = schemaname AND c.relname = tablename)), NULL"
        }
    };
    let sql = format!(
        "SELECT pubname, schemaname, tablename, {columns} FROM pg_publication_tables ORDER BY pubname, schemaname, tablename"
    );
    rows(connection, "the published tables", &sql, |cells| {
        let publication = cells.text()?.to_owned();
        let (schema, table) = (cells.boxed()?, cells.boxed()?);
        let columns = cells.optional()?.map_or(Some(Vec::new()), texts)?;
        Some((
            publication,
            PublishedTable { schema, table, columns, row_filter: cells.optional()?.map(Box::from) },
        ))
    })
}

/// Adds `tables` to those of their publications, and their columns to those of tables that are there. Those that have no publication
/// among them are left out.
fn add_published(publications: &mut [Publication], tables: Vec<(String, PublishedTable)>) {
    let mut tables_of: BTreeMap<String, Vec<PublishedTable>> = BTreeMap::new();
    for (publication, table) in tables {
        tables_of.entry(publication).or_default().push(table);
    }
    for publication in publications {
        add_tables(&mut publication.tables, tables_of.remove(&*publication.name).unwrap_or_default());
    }
}

/// The same, of one publication. A server may publish many thousand partitions, and orders them by a collation of its own: they are
/// found by a map.
fn add_tables(known: &mut Vec<PublishedTable>, tables: Vec<PublishedTable>) {
    let name = |table: &PublishedTable| (table.schema.clone(), table.table.clone());
    let mut places: BTreeMap<_, usize> = known.iter().map(name).zip(0..).collect();
    for table in tables {
        match places.entry(name(&table)) {
            Entry::Vacant(place) => {
                place.insert(known.len());
                known.push(table);
            }
            Entry::Occupied(place) => {
                let columns = &mut known[*place.get()].columns;
                let known_columns: BTreeSet<Box<str>> = columns.iter().cloned().collect();
                columns.extend(table.columns.into_iter().filter(|column| !known_columns.contains(column)));
            }
        }
    }
}

/// Publications, a row for each table and schema that one was told to publish. One statement, since each has a snapshot of its
/// own: one that is created again in between would seem to have had its tables taken out and put back.
fn publications_sql(server_version: u32) -> String {
    const TABLES: &str = "SELECT r.prpubid, n.nspname, c.relname, {form}, r.oid FROM pg_publication_rel r \
        JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace";
    const FORM: &str = "concat(r.prattrs, ' ', pg_get_expr(r.prqual, r.prrelid))";
    // Version 14 publishes no schemas, and whole tables.
    const SCHEMAS: &str = "SELECT s.pnpubid, n.nspname, NULL, '', s.oid FROM pg_publication_namespace s \
        JOIN pg_namespace n ON n.oid = s.pnnspid";
    let entries = match server_version {
        150_000.. => format!("{} UNION ALL {SCHEMAS}", TABLES.replace("{form}", FORM)),
        _ => TABLES.replace("{form}", "''"),
    };
    format!(
        "SELECT pubname, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot, p.oid, p.xmin, pubowner, \
           entry.schema, entry.name, entry.form, entry.id \
         FROM pg_publication p LEFT JOIN ({entries}) entry(publication, schema, name, form, id) ON entry.publication = p.oid \
         ORDER BY pubname"
    )
}
