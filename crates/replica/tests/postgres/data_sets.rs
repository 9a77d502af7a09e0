//! Real databases for tests: Pagila, Northwind and the relations of LDBC SNB, at `EVERGRAPH_DATA` or beside the workspace.

use crate::data_folder::data_set;
use crate::server::TestDatabase;
use evergraph_files::import::mapping::document::Mapping;
use evergraph_files::import::mapping::table::TableRule;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A database and its mapping.
pub struct DataSet {
    pub name: &'static str,
    /// Where its files are.
    pub folder: PathBuf,
}

impl DataSet {
    /// Pagila, a shop that rents films.
    pub fn pagila() -> Option<Self> {
        Self::find("pagila", "relational/pagila")
    }

    /// Northwind, a wholesaler.
    pub fn northwind() -> Option<Self> {
        Self::find("northwind", "relational/northwind")
    }

    /// A small network of LDBC SNB Interactive.
    pub fn snb() -> Option<Self> {
        Self::find("snb", "snb-interactive-mini/relational")
    }

    fn find(name: &'static str, folder: &str) -> Option<Self> {
        Some(Self { name, folder: data_set(folder)? })
    }

    /// Its mapping as it is shipped.
    pub fn mapping(&self) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("mappings/{}.toml", self.name));
        std::fs::read_to_string(path).unwrap()
    }

    /// The rules of its mapping.
    pub fn rules(&self) -> Vec<TableRule> {
        Mapping::parse("m.toml", &self.mapping(), Path::new(".")).unwrap().tables
    }

    /// Fills `database` with it.
    pub fn load(&self, database: &TestDatabase) {
        match self.name {
            "pagila" => {
                self.run_script(database, "pagila-schema.sql.gz");
                self.run_script(database, "pagila-data.sql.gz");
            }
            "northwind" => self.run_script(database, "northwind.sql.gz"),
            _ => self.load_relations(database),
        }
        database.run("ANALYZE");
    }

    fn run_script(&self, database: &TestDatabase, file: &str) {
        let path = self.folder.join(file);
        psql(database, &format!("zcat '{}'", path.display()));
    }

    /// A table for each file, whose first line names its columns, with the keys that the data have.
    fn load_relations(&self, database: &TestDatabase) {
        // One program loads them all: starting it takes longer than a table does.
        let mut script = String::new();
        for folder in ["static", "dynamic"] {
            let mut files: Vec<PathBuf> = std::fs::read_dir(self.folder.join(folder))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            files.sort();
            for file in files {
                let name = file.file_name().unwrap().to_str().unwrap();
                let table = name.strip_suffix("_0_0.csv.gz").unwrap();
                let head = Command::new("sh")
                    .arg("-c")
                    .arg(format!("zcat '{}' | head -n 1", file.display()))
                    .output();
                let head = String::from_utf8(head.unwrap().stdout).unwrap();
                let mut columns: Vec<(String, &str)> = Vec::new();
                for name in head.trim_end().split('|') {
                    let is_again = columns.iter().any(|(known, _)| known == name);
                    let column = if is_again { format!("{name}2") } else { name.to_owned() };
                    columns.push((column, sql_type(name)));
                }
                let key = if columns[0].0 == "id" { 1 } else { 2 };
                let key: Vec<String> = columns[..key].iter().map(|(name, _)| format!("\"{name}\"")).collect();
                let columns: Vec<String> =
                    columns.iter().map(|(name, sql_type)| format!("\"{name}\" {sql_type}")).collect();
                script += &format!(
                    "echo 'CREATE TABLE \"{table}\" ({}, PRIMARY KEY ({}));'; \
                     echo \"COPY \\\"{table}\\\" FROM STDIN (FORMAT csv, DELIMITER '|', QUOTE E'\\b', HEADER);\"; zcat '{}'; \
                     printf '\\\\.\\n'; ",
                    columns.join(", "),
                    key.join(", "),
                    file.display()
                );
            }
        }
        psql(database, script.trim_end_matches("; "));
    }
}

/// The type of a column, by its name in the file. The benchmarks have the same (`benches/src/workload/replica/relations.rs`).
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

/// Runs what the shell command `source` writes.
fn psql(database: &TestDatabase, source: &str) {
    let command = format!(
        "{{ {source}; }} | psql --quiet --no-psqlrc --output=/dev/null --set=ON_ERROR_STOP=1 'host=127.0.0.1 port={} user=postgres \
         dbname={} sslmode=disable'",
        database.server.port(),
        database.name
    );
    let output = Command::new("sh").arg("-c").arg(&command).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}
