//! The note of marks: those of the source's catalogue when somebody looked last.
//!
//! ```text
//! note "marks"   version 3
//!   tables         count, then of each: id, who attached it, named it: transaction, owner; file, or none; columns: name, number
//!   enums          count, then of each: type, labels: number, text
//!   composites     count, then of each: type, attributes
//!   publications   count, then of each: name, id, who set it: transaction, owner; entries: flags (1: a table), schema,
//!                  table, form, number
//! ```
//!
//! Counts, numbers and lengths are varints; zero is no transaction. Version 1 has a number behind its own that nobody needs, no
//! composites, and nobody who named or set something; versions 1 and 2 have no files. A database whose tables an older program copied has no such note until
//! somebody looks.

use evergraph::Snapshot;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::follow::catalogue_bytes::{list, number, put_list, put_number, put_text, text};
use crate::note_format::{VERSION, finished};
use crate::source::catalogue_marks::{
    CatalogueMarks, Change, PublicationEntry, PublicationMarks, TableMarks,
};

/// The note that holds [`CatalogueMarks`].
pub const MARKS_NOTE: &str = "marks";
const NOTE_VERSION: u8 = 3;
/// The first version with composites, and with those who named or set something.
const CHANGES_VERSION: u8 = 2;
/// The first version with the files of tables.
const FILES_VERSION: u8 = 3;

/// What the database says; `None` if nobody looked yet.
///
/// # Errors
/// `corrupt` if the note cannot be read.
pub fn marks_of(snapshot: &Snapshot) -> Result<Option<CatalogueMarks>> {
    let Some(bytes) = snapshot.note(MARKS_NOTE) else { return Ok(None) };
    decode(&bytes)
        .map(Some)
        .map_err(|error| Error::new(ErrorKind::Corrupt, format!("read the note {MARKS_NOTE:?}: {error}")))
}

/// The content of the note.
#[must_use]
pub fn encode(marks: &CatalogueMarks) -> Vec<u8> {
    let mut bytes = vec![NOTE_VERSION];
    put_list(&mut bytes, &marks.tables, |out, (id, table)| {
        put_number(out, *id);
        put_number(out, table.attached_by.unwrap_or_default());
        put_change(out, table.named_by);
        put_list(out, table.file, put_number);
        put_list(out, &table.columns, |out, (name, number)| {
            put_text(out, name);
            put_number(out, (*number).into());
        });
    });
    put_list(&mut bytes, &marks.enums, |out, (id, labels)| {
        put_number(out, *id);
        put_list(out, labels, |out, (number, label)| {
            put_number(out, *number);
            put_text(out, label);
        });
    });
    put_list(&mut bytes, &marks.composites, |out, (id, attributes)| {
        put_number(out, *id);
        put_text(out, attributes);
    });
    put_list(&mut bytes, &marks.publications, |out, (name, publication)| {
        put_text(out, name);
        put_number(out, publication.id);
        put_change(out, publication.set_by);
        put_list(out, &publication.entries, |out, (entry, number)| {
            out.push(u8::from(entry.table.is_some()));
            put_text(out, &entry.schema);
            if let Some(table) = &entry.table {
                put_text(out, table);
            }
            put_text(out, &entry.form);
            put_number(out, *number);
        });
    });
    bytes
}

/// Reads the content of the note.
///
/// # Errors
/// If it is none, or a newer version wrote it.
pub fn decode(bytes: &[u8]) -> Decoded<CatalogueMarks> {
    let mut reader = Reader::new(bytes);
    let reader = &mut reader;
    let version = reader.u8()?;
    match version {
        VERSION => {
            reader.varint()?;
        }
        CHANGES_VERSION..=NOTE_VERSION => {}
        _ => return Err(reader.error("version 1, 2 or 3 of the note of marks expected")),
    }
    let tables = list(reader, |reader| Ok((number(reader)?, table(reader, version)?)))?;
    let enums = list(reader, |reader| {
        let id = number(reader)?;
        let labels = list(reader, |reader| Ok((number(reader)?, text(reader)?)))?;
        Ok((id, labels.into_iter().collect()))
    })?;
    let composites = match version {
        CHANGES_VERSION.. => list(reader, |reader| Ok((number(reader)?, text(reader)?)))?,
        _ => Vec::new(),
    };
    let publications = list(reader, |reader| Ok((text(reader)?, publication(reader, version)?)))?;
    finished(reader)?;
    Ok(CatalogueMarks {
        composites: composites.into_iter().collect(),
        tables: tables.into_iter().collect(),
        enums: enums.into_iter().collect(),
        publications: publications.into_iter().collect(),
    })
}

fn put_change(out: &mut Vec<u8>, change: Change) {
    put_number(out, change.transaction);
    put_number(out, change.owner);
}

fn change(reader: &mut Reader<'_>, version: u8) -> Decoded<Change> {
    match version {
        CHANGES_VERSION.. => Ok(Change { transaction: number(reader)?, owner: number(reader)? }),
        _ => Ok(Change::default()),
    }
}

fn table(reader: &mut Reader<'_>, version: u8) -> Decoded<TableMarks> {
    let attached_by = Some(number(reader)?).filter(|transaction| *transaction > 0);
    let named_by = change(reader, version)?;
    let file = match version {
        FILES_VERSION.. => list(reader, number)?.pop(),
        _ => None,
    };
    let columns = list(reader, |reader| {
        let name = text(reader)?;
        let number = u16::try_from(reader.at_most(u16::MAX.into())?).expect("it is at most the largest");
        Ok((name, number))
    })?;
    let columns = columns.into_iter().collect();
    Ok(TableMarks { attached_by, named_by, file, columns, ..TableMarks::default() })
}

fn publication(reader: &mut Reader<'_>, version: u8) -> Decoded<PublicationMarks> {
    let (id, set_by) = (number(reader)?, change(reader, version)?);
    let entries = list(reader, |reader| {
        let has_table = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(reader.error("a schema (0) or a table (1) expected")),
        };
        let schema = text(reader)?;
        let table = has_table.then(|| text(reader)).transpose()?;
        Ok((PublicationEntry { schema, table, form: text(reader)? }, number(reader)?))
    })?;
    Ok(PublicationMarks { id, set_by, entries: entries.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_note_comes_back_and_a_damaged_one_is_refused() {
        let table = TableMarks {
            attached_by: Some(4_000_000_000),
            named_by: Change { transaction: 5, owner: 10 },
            file: Some(16_400),
            columns: BTreeMap::from([("ä".into(), 1600), ("b".into(), 2)]),
            ..TableMarks::default()
        };
        let entry = |table: Option<&str>| PublicationEntry {
            schema: "public".into(),
            table: table.map(Box::from),
            form: "1 2".into(),
        };
        let publication = PublicationMarks {
            id: 16_500,
            set_by: Change { transaction: 6, owner: 11 },
            entries: BTreeMap::from([(entry(Some("t")), 7), (entry(None), 8)]),
        };
        let marks = CatalogueMarks {
            tables: BTreeMap::from([(1, table), (2, TableMarks::default())]),
            enums: BTreeMap::from([(9, BTreeMap::from([(10, "sad".into())]))]),
            composites: BTreeMap::from([(11, "1:23:-1".into())]),
            publications: BTreeMap::from([("p".into(), publication)]),
        };
        let bytes = encode(&marks);
        assert_eq!(decode(&bytes), Ok(marks));
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length}");
        }
        assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        assert!(decode(&[&[4], &bytes[1..]].concat()).unwrap_err().to_string().contains("version 1, 2 or 3"));
        // As version 2 wrote it: a table without a file.
        let of_second = decode(&[2, 1, 7, 4, 5, 10, 1, 1, b'a', 3, 0, 0, 0]).unwrap();
        assert_eq!(of_second.tables[&7].named_by, Change { transaction: 5, owner: 10 });
        assert_eq!((of_second.tables[&7].file, of_second.tables[&7].columns["a"]), (None, 3));
        // As an older program wrote it: a table with a column, no enums, a publication without entries.
        let old = [1, 0x80, 1, 1, 7, 0, 1, 1, b'a', 3, 0, 1, 1, b'p', 9, 0];
        let of_old = decode(&old).unwrap();
        assert_eq!((of_old.tables[&7].columns["a"], of_old.publications["p"].id), (3, 9));
        assert_eq!(of_old.tables[&7].named_by, Change::default());
        assert_eq!(decode(&encode(&CatalogueMarks::default())), Ok(CatalogueMarks::default()));
    }
}
