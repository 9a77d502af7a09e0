//! Case: files, how they are imported, and what must come of it with either answer to bad rows.
//!
//! ```text
//! stop    into a database that has data, and has it afterwards: nothing less, nothing more
//! skip    into an empty one, with a report that another reader of CSV reads
//! ```
//!
//! A table of cases runs to its end; then every row that went wrong is told at once.

use evergraph::import::faults::OnBadRow;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Error, ErrorKind};
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// One row of a table.
pub struct Case {
    name: String,
    files: Vec<(&'static str, Vec<u8>)>,
    mapping: Option<Vec<u8>>,
    options: Box<dyn Fn(&mut ImportOptions)>,
    /// Vertices and edges that are loaded where bad rows are left out.
    leaves: (u64, u64),
    /// Message and row of each bad row.
    bad_rows: Vec<(String, String)>,
    refused: Option<(ErrorKind, String)>,
    beside_data: Option<String>,
}

impl Case {
    /// A case without files, of which nothing is loaded.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            files: Vec::new(),
            mapping: None,
            options: Box::new(|_| ()),
            leaves: (0, 0),
            bad_rows: Vec::new(),
            refused: None,
            beside_data: None,
        }
    }

    /// One more file.
    pub fn file(mut self, name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((name, bytes.into()));
        self
    }

    /// The mapping file, called `m.toml`, that says how the files are read.
    pub fn mapping(mut self, toml: impl Into<Vec<u8>>) -> Self {
        self.mapping = Some(toml.into());
        self
    }

    /// Options that differ from the default.
    pub fn options(mut self, change: impl Fn(&mut ImportOptions) + 'static) -> Self {
        self.options = Box::new(change);
        self
    }

    /// Loads this many vertices and edges; those without the bad rows, if there are any.
    pub fn loads(mut self, vertices: u64, edges: u64) -> Self {
        self.leaves = (vertices, edges);
        self
    }

    /// One more bad row, in the order of the report: what `file:line: column N (name): reason` says, and
    /// the row as the report shows it.
    pub fn bad_row(mut self, message: &str, row: &str) -> Self {
        self.bad_rows.push((message.to_owned(), row.to_owned()));
        self
    }

    /// The import ends with this error of kind `invalid`, whatever is done about bad rows.
    pub fn refused(self, text: &str) -> Self {
        self.refused_as(ErrorKind::Invalid, text)
    }

    /// Of a case that is refused: what the error says instead where the database has data.
    pub fn beside_data(mut self, text: &str) -> Self {
        self.beside_data = Some(text.to_owned());
        self
    }

    /// The same with an error of `kind`.
    pub fn refused_as(mut self, kind: ErrorKind, text: &str) -> Self {
        self.refused = Some((kind, text.to_owned()));
        self
    }
}

/// Runs `cases`, and tells of all that went wrong.
pub fn run(cases: Vec<Case>) {
    let bench = Bench::new();
    let mut wrong = String::new();
    for case in &cases {
        let held = catch_unwind(AssertUnwindSafe(|| bench.run(case)))
            .unwrap_or_else(|_| Err("it panicked (see above)".to_owned()));
        if let Err(why) = held {
            writeln!(wrong, "\n{}:\n{why}", case.name).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    bench.reopen();
}

/// A folder for files, and a database that no broken file may change.
pub struct Bench {
    folder: TempDir,
    database: Option<Database>,
    before: (u64, u64),
    names: Vec<String>,
}

impl Bench {
    /// With a database of three vertices and two edges.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["files", "temporary"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("kept.v"), "1\n2\n3\n").unwrap();
        fs::write(folder.path().join("kept.e"), "1 2\n2 3\n").unwrap();
        let mut options =
            ImportOptions::new(["kept.v", "kept.e"].map(|name| InputFile::new(folder.path().join(name))));
        (options.lists.vertex_label, options.lists.edge_type) = ("Kept".to_owned(), "KEPT".to_owned());
        let database = Database::open(folder.path().join("kept.eg")).unwrap();
        database.import(&options, &|_| ()).unwrap();
        let before = counts(&database);
        assert_eq!(before, (3, 2));
        let names = names_in(&folder.path().join("kept.eg"));
        Self { folder, database: Some(database), before, names }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `text` without the folders of this machine.
    pub fn shown(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.path("files").display()), "")
    }

    fn run(&self, case: &Case) -> Result<(), String> {
        let files = self.path("files");
        fs::remove_dir_all(&files).unwrap();
        fs::create_dir(&files).unwrap();
        case.files.iter().for_each(|(name, bytes)| fs::write(files.join(name), bytes).unwrap());
        let stop = self.run_stopping(case);
        let skip = self.run_skipping(case);
        let left = names_in(&self.path("temporary"));
        if !left.is_empty() {
            return Err(format!("  left behind: {left:?}"));
        }
        match (stop, skip) {
            (Ok(()), Ok(())) => Ok(()),
            (stop, skip) => Err([stop, skip].into_iter().filter_map(Result::err).collect()),
        }
    }

    fn options(&self, case: &Case) -> Result<ImportOptions, Error> {
        let inputs = case.files.iter().map(|(name, _)| InputFile::new(self.path("files").join(name)));
        let mut options = ImportOptions::new(inputs);
        (options.threads, options.memory) = (2, Some(1 << 16));
        options.temporary = Some(self.path("temporary"));
        if let Some(toml) = &case.mapping {
            let path = self.path("files").join("m.toml");
            fs::write(&path, toml).unwrap();
            options.mapping = Some(Mapping::read(&path)?);
        }
        (case.options)(&mut options);
        Ok(options)
    }

    /// Stops at the first bad row, with the first message.
    fn run_stopping(&self, case: &Case) -> Result<(), String> {
        let kept = self.database.as_ref().expect("open until the end");
        let expected = match (&case.refused, case.bad_rows.first()) {
            (Some((kind, text)), _) => Some((*kind, case.beside_data.as_ref().unwrap_or(text).clone())),
            (None, Some((message, _))) => Some((ErrorKind::Invalid, message.clone())),
            (None, None) => None,
        };
        let (loaded, database) = match expected {
            // What is read well would change it for the next case.
            None => {
                let empty = Database::in_memory().unwrap();
                (self.options(case).and_then(|options| empty.import(&options, &|_| ())), empty)
            }
            Some(_) => (self.options(case).and_then(|options| kept.import(&options, &|_| ())), kept.clone()),
        };
        match (loaded, expected) {
            (Ok(_), None) if counts(&database) == case.leaves => Ok(()),
            (Ok(_), _) => Err(format!("  stop: it loads {:?}\n", counts(&database))),
            (Err(error), expected) => {
                let found = (error.kind(), self.shown(&error.to_string()));
                if expected.as_ref() != Some(&found) {
                    return Err(format!("  stop: {found:?}\n"));
                }
                self.check_kept()
            }
        }
    }

    /// The database has what it had, in the files that it had.
    fn check_kept(&self) -> Result<(), String> {
        let kept = self.database.as_ref().expect("open until the end");
        let (now, names) = (counts(kept), names_in(&self.path("kept.eg")));
        if now != self.before || names != self.names {
            return Err(format!("  after the error the database has {now:?}, in {names:?}\n"));
        }
        Ok(())
    }

    /// Leaves bad rows out, and tells them all.
    fn run_skipping(&self, case: &Case) -> Result<(), String> {
        let (report, database) = (self.path("report.csv"), Database::in_memory().unwrap());
        let loaded = self.options(case).and_then(|mut options| {
            options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
            options.bad_rows.report = Some(report.clone());
            database.import(&options, &|_| ())
        });
        match (loaded, &case.refused) {
            (Ok(loaded), None) => {
                let bad_rows = self.reported(&report);
                let rows = (loaded.vertices_count, loaded.edges_count);
                assert_eq!(rows, counts(&database), "what the import says and what the database has");
                assert_eq!(loaded.files.bad_rows.count, bad_rows.len() as u64);
                if (rows, &bad_rows) == (case.leaves, &case.bad_rows) {
                    return Ok(());
                }
                Err(format!("  skip: it loads {rows:?} without {bad_rows:#?}\n"))
            }
            (Ok(_), Some(_)) => Err(format!(
                "  skip: it loads {:?} without {:#?}\n",
                counts(&database),
                self.reported(&report)
            )),
            (Err(error), refused) => {
                let found = (error.kind(), self.shown(&error.to_string()));
                if refused.as_ref() != Some(&found) {
                    return Err(format!("  skip: {found:?}\n"));
                }
                assert_eq!(counts(&database), (0, 0), "an import that failed leaves nothing");
                Ok(())
            }
        }
    }

    /// The bad rows in `report`, as a case has them.
    fn reported(&self, report: &Path) -> Vec<(String, String)> {
        let mut reader = csv::Reader::from_path(report).unwrap();
        assert_eq!(reader.headers().unwrap(), vec!["file", "line", "column", "name", "reason", "row"]);
        let read = |record: csv::StringRecord| {
            let [file, line, column, name, reason, row] =
                [0, 1, 2, 3, 4, 5].map(|field| record[field].to_owned());
            let column = if column.is_empty() { column } else { format!("column {column} ({name}): ") };
            (self.shown(&format!("{file}:{line}: {column}{reason}")), row)
        };
        reader.records().map(|record| read(record.unwrap())).collect()
    }

    /// Closes the database, opens it again and looks what it has.
    fn reopen(mut self) {
        self.database.take().expect("open until now").close().unwrap();
        let database = Database::open(self.path("kept.eg")).unwrap();
        assert_eq!(counts(&database), self.before, "after all the errors");
        database.close().unwrap();
    }
}

/// Vertices and edges of `database`.
fn counts(database: &Database) -> (u64, u64) {
    let statistics = database.statistics().unwrap();
    (statistics.vertices_count(), statistics.edges_count())
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}
