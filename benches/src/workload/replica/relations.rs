//! Relations: LDBC's interactive network as tables of PostgreSQL, with their indexes and their mapping.

use crate::plan::Plan;
use crate::workload::replica::source_server::run;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::follow::options::ReplicaMapping;
use evergraph_replica::source::postgres::connection::Connection;
use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// An index on every column that names a vertex, on names, and on authors with time; primary keys have theirs.
pub const INDEXES: &str = r#"
CREATE INDEX ON person_knows_person ("Person.id2");
CREATE INDEX ON post (creator, "creationDate"); CREATE INDEX ON comment (creator, "creationDate");
CREATE INDEX ON post ("Forum.id"); CREATE INDEX ON forum (moderator);
CREATE INDEX ON comment ("replyOfPost"); CREATE INDEX ON comment ("replyOfComment");
CREATE INDEX ON person_likes_post ("Post.id"); CREATE INDEX ON person_likes_comment ("Comment.id");
CREATE INDEX ON "forum_hasMember_person" ("Person.id");
CREATE INDEX ON "post_hasTag_tag" ("Tag.id"); CREATE INDEX ON "comment_hasTag_tag" ("Tag.id");
CREATE INDEX ON tag (name); CREATE INDEX ON tag ("hasType"); CREATE INDEX ON tagclass (name);
CREATE INDEX ON tagclass ("isSubclassOf"); CREATE INDEX ON place (name); CREATE INDEX ON place ("isPartOf");
CREATE INDEX ON "person_workAt_organisation" ("Organisation.id"); CREATE INDEX ON organisation (place);
CREATE INDEX ON person ("firstName"); CREATE INDEX ON person (place)"#;
/// All is in memory: a page by an index costs no more than one by a scan.
pub const PAGE_COST: &str = "SET random_page_cost = 1.1";

/// A relation of the files.
pub struct Relation {
    /// Its table.
    pub table: String,
    /// Its columns, each name once.
    pub columns: Vec<String>,
    /// Their types.
    types: Vec<&'static str>,
    /// Its rows, as text.
    pub rows: Vec<Vec<String>>,
    /// Whether the network grows by it.
    pub is_dynamic: bool,
}

/// How the relations become a graph.
#[must_use]
pub fn mapping() -> ReplicaMapping {
    let text = include_str!("../../../../crates/replica/mappings/snb.toml");
    ReplicaMapping { name: "snb.toml".to_owned(), text: text.to_owned() }
}

/// The folder of the relations that `plan` names; without one, says so and gives `None`.
#[must_use]
pub fn relations_folder(plan: &Plan) -> Option<PathBuf> {
    let folder = plan.interactive.as_ref().map(|folder| folder.join("relational"));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("left out: --interactive names no folder with LDBC's relations, in `relational`");
    }
    folder
}

/// The relations of `folder`, of static and dynamic ones.
///
/// # Errors
/// `io` for a file that cannot be read.
pub fn relations(folder: &Path) -> Result<Vec<Relation>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for part in ["static", "dynamic"] {
        let part = folder.join(part);
        let entries = fs::read_dir(&part).map_err(|error| failed(&part, &error))?;
        for entry in entries {
            paths.push(entry.map_err(|error| failed(&part, &error))?.path());
        }
    }
    paths.sort();
    paths.iter().filter_map(|path| Relation::read(path).transpose()).collect()
}

impl Relation {
    /// Reads a file `TABLE_0_0.csv.gz`, whose first line names its columns; other files are none.
    fn read(path: &Path) -> Result<Option<Self>> {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(table) = name.and_then(|name| name.strip_suffix("_0_0.csv.gz")) else { return Ok(None) };
        let mut text = String::new();
        let file = File::open(path).map_err(|error| failed(path, &error))?;
        GzDecoder::new(file).read_to_string(&mut text).map_err(|error| failed(path, &error))?;
        let mut lines = text.lines().map(|line| line.split('|').map(str::to_owned).collect::<Vec<_>>());
        let (mut columns, mut types): (Vec<String>, Vec<&str>) = Default::default();
        for name in lines.next().unwrap_or_default() {
            types.push(sql_type(&name));
            // Both ends of who knows whom are called Person.id.
            let is_again = columns.contains(&name);
            columns.push(if is_again { format!("{name}2") } else { name });
        }
        let rows = lines.filter(|row| row.len() == columns.len()).collect();
        let is_dynamic = path.parent().is_some_and(|folder| folder.ends_with("dynamic"));
        Ok(Some(Self { table: table.to_owned(), columns, types, rows, is_dynamic }))
    }

    /// The statement that makes its table.
    #[must_use]
    pub fn create(&self) -> String {
        let key = if self.columns.first().is_some_and(|column| column == "id") { 1 } else { 2 };
        let quoted =
            |columns: &[String]| columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>();
        let typed = self.columns.iter().zip(&self.types);
        let typed: Vec<String> = typed.map(|(column, sql_type)| format!("\"{column}\" {sql_type}")).collect();
        format!(
            "CREATE TABLE \"{}\" ({}, PRIMARY KEY ({}))",
            self.table,
            typed.join(", "),
            quoted(&self.columns[..key.min(self.columns.len())]).join(", ")
        )
    }

    /// Inserts every `step`th row, from the row `first` on; how many.
    ///
    /// # Errors
    /// What the server says.
    pub fn insert(
        &self,
        connection: &mut Connection,
        (first, step): (usize, usize),
        rows_of_a_statement: usize,
    ) -> Result<usize> {
        let rows: Vec<&Vec<String>> = self.rows.iter().skip(first).step_by(step).collect();
        for rows in rows.chunks(rows_of_a_statement) {
            let cell = |cell: &String| match cell.as_str() {
                "" => "NULL".to_owned(),
                text => format!("'{}'", text.replace('\'', "''")),
            };
            let row =
                |row: &&Vec<String>| format!("({})", row.iter().map(cell).collect::<Vec<_>>().join(", "));
            let values: Vec<String> = rows.iter().map(row).collect();
            run(connection, &format!("INSERT INTO \"{}\" VALUES {}", self.table, values.join(", ")))?;
        }
        Ok(rows.len())
    }
}

/// The type of a column, by its name in the file. The tests of `crates/replica` have the same (`tests/postgres/data_sets.rs`).
fn sql_type(column: &str) -> &'static str {
    match column {
        "creationDate" | "joinDate" => "timestamptz",
        "birthday" => "date",
        "length" | "classYear" | "workFrom" => "int",
        "id" | "place" | "isPartOf" | "hasType" | "isSubclassOf" | "creator" | "moderator"
        | "replyOfPost" | "replyOfComment" => "bigint",
        name if name.ends_with(".id") => "bigint",
        _ => "text",
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("read {}: {error}", path.display()))
}
