//! Export: what another database needs to answer some of the reads: tables, statements, parameters, answers, and our times.
//!
//! ```text
//! FOLDER/copies_50/TABLE.csv    a line of names, then rows; moments are milliseconds, an empty cell is NULL
//! FOLDER/copies_50/reads.json   columns and indexes of the tables; statements, parameters, answers and times of the reads
//! ```
//!
//! `benches/compare/virtuoso_reads.py` reads both.

use crate::failed;
use crate::race::Race;
use crate::workload::replica::question::Rows;
use crate::workload::replica::social::Asked;
use crate::workload::replica::source_server::run;
use evergraph::Value;
use evergraph_graph::error::Result;
use evergraph_replica::source::postgres::connection::Connection;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// The reads that need no `WITH`, no `DISTINCT ON` and no `FILTER`, which Virtuoso does not have.
const READS: [&str; 8] = ["is_1", "is_3", "is_4", "is_5", "is_7", "ic_2", "ic_4", "ic_8"];
/// What they read.
const TABLES: [&str; 6] = ["comment", "person", "person_knows_person", "post", "post_hasTag_tag", "tag"];

/// Writes the tables as they are now, and those of `reads` that the other database can answer, with their answers by `sql` and the
/// times of their races. `source` says how SQL's server is set up.
///
/// # Errors
/// `io`; what the server says.
pub fn write<'a>(
    folder: &Path,
    source: &str,
    copies: u32,
    reads: impl Iterator<Item = (&'a Asked, &'a Race)>,
    sql: &mut Connection,
) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut tables = Vec::new();
    for table in TABLES {
        tables.push(write_table(folder, table, sql)?);
    }
    let mut described = Vec::new();
    for (asked, race) in reads.filter(|(asked, _)| READS.contains(&asked.read.name)) {
        described.push(describe(asked, race, sql)?);
    }
    assert_eq!(described.len(), READS.len(), "the workload has each of them");
    let document = json!({ "copies": copies, "source": source, "tables": tables, "reads": described });
    let path = folder.join("reads.json");
    fs::write(&path, format!("{document:#}\n")).map_err(|error| failed(&path, &error))
}

/// Writes the rows of a table; its columns with their types, and its indexes as PostgreSQL says them.
fn write_table(folder: &Path, table: &str, sql: &mut Connection) -> Result<Json> {
    let columns = texts(
        sql,
        &format!(
            "SELECT column_name, data_type FROM information_schema.columns
             WHERE table_schema = 'public' AND table_name = '{table}' ORDER BY ordinal_position"
        ),
    )?;
    let indexes = texts(
        sql,
        &format!(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = '{table}' ORDER BY indexname"
        ),
    )?;
    let selected = columns.iter().map(|column| {
        let is_moment = column[1].starts_with("timestamp");
        if is_moment { format!("ms(\"{}\")", column[0]) } else { format!("\"{}\"", column[0]) }
    });
    let selected = selected.collect::<Vec<_>>().join(", ");
    let rows = texts(sql, &format!("SELECT {selected} FROM \"{table}\" ORDER BY 1, 2"))?;
    let path = folder.join(format!("{table}.csv"));
    let names: Vec<String> = columns.iter().map(|column| column[0].clone()).collect();
    write_csv(&path, &names, &rows).map_err(|error| failed(&path, &error))?;
    let indexes: Vec<String> = indexes.into_iter().flatten().collect();
    Ok(json!({ "name": table, "columns": columns, "indexes": indexes, "rows": rows.len() }))
}

fn write_csv(path: &Path, names: &[String], rows: &[Vec<String>]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let lines = [names].into_iter().chain(rows.iter().map(Vec::as_slice));
    for cells in lines {
        let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| quoted(cell)).collect();
        writeln!(file, "{}", cells.join(","))?;
    }
    file.flush()
}

/// A cell of CSV.
fn quoted(cell: &str) -> Cow<'_, str> {
    if cell.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(cell)
    }
}

/// A read, with what it was asked for and its answers.
fn describe(asked: &Asked, race: &Race, sql: &mut Connection) -> Result<Json> {
    let mut answers: Vec<Rows> = Vec::new();
    for set in 0..asked.sets.len() {
        answers.push(asked.by_sql(sql, set)?);
    }
    let parameters: Vec<Vec<Json>> =
        asked.sets.iter().map(|set| set.iter().map(parameter).collect()).collect();
    let of_sql = race.peers().next().map(|(_, runs, _)| &runs.values);
    Ok(json!({
        "name": asked.read.name,
        "title": asked.read.title,
        "sql": asked.read.sql,
        "parameters": parameters,
        "answers": answers,
        "ours": race.ours().values,
        "of_sql": of_sql,
    }))
}

fn parameter(value: &Value) -> Json {
    match value {
        Value::I64(number) => json!(number),
        Value::DateTime(moment) => json!(moment.epoch_milliseconds()),
        other => json!(other.to_string()),
    }
}

/// Rows of texts, empty for NULL.
fn texts(connection: &mut Connection, statement: &str) -> Result<Rows> {
    let rows = run(connection, statement)?;
    Ok(rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_a_reader_of_csv_would_split_it() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"a\"\n"), "\"say \"\"a\"\"\n\"");
    }

    #[test]
    fn a_moment_is_milliseconds_and_a_text_a_text() {
        let moment = evergraph_graph::value::datetime::DateTime::from_epoch_milliseconds(1_500);
        let moment = Value::from(moment.expect("a moment of 1970"));
        let values = [Value::from(7_i64), moment, Value::from("seven")];
        assert_eq!(values.iter().map(parameter).collect::<Vec<_>>(), [json!(7), json!(1500), json!("seven")]);
    }
}
