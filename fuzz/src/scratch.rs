//! Scratch: a file of the input, for decoders whose door is a path.

use evergraph::Database;
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::load::Load;
use evergraph::import::faults::OnBadRow;
use evergraph::import::options::{ImportOptions, Imported, InputFile};
use evergraph::import::read::read;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// One folder a process, in the folder for temporary files.
static FOLDER: OnceLock<TempDir> = OnceLock::new();

/// Writes `bytes` to the file `name`, over what it held before.
///
/// # Panics
/// If it can't be written.
pub fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("there is a folder for temporary files"));
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a temporary file can be written");
    path
}

/// What stands in a file of edges, as text in Parquet too.
const EDGES_WORD: &[u8] = b":START_ID(";

/// The vertices that files of edges join, as exports of [`crate::samples`] number them.
const ENDS: [(&str, &str); 2] = [
    ("Person.csv", "id:ID(Person){id-type:long}\n0\n1\n2\n"),
    ("Town.csv", "id:ID(Town){id-type:long}\n4096\n4097\n"),
];

/// Imports the file at `path`: once with bad rows as errors, once leaving them out. What is read without
/// errors goes into a database. A file of edges in the conventions of Neo4j gets vertices beside it.
///
/// # Panics
/// If an error has no text, if the two differ although no row is bad, or if the database has not what was
/// read.
pub fn import_both_ways(path: &Path) {
    let text = fs::read(path).expect("a temporary file can be read");
    let has_edges = text.windows(EDGES_WORD.len()).any(|window| window == EDGES_WORD);
    let ends = ENDS.iter().filter(|_| has_edges).map(|(name, text)| write(name, text.as_bytes()));
    let files: Vec<InputFile> = ends.chain([path.to_owned()]).map(InputFile::new).collect();
    let import = |on_bad_row| {
        let mut options = ImportOptions::new(files.clone());
        (options.bad_rows.on_bad_row, options.threads) = (on_bad_row, 1);
        read(&options, &|_| ())
    };
    let strict = import(OnBadRow::Stop);
    let lenient = import(OnBadRow::Skip { at_most: None });
    for error in [&strict, &lenient].into_iter().filter_map(|imported| imported.as_ref().err()) {
        assert!(!error.to_string().is_empty());
    }
    match (&strict, &lenient) {
        (Ok(strict), Ok(lenient)) => {
            assert_eq!((strict.bad_rows.count, lenient.bad_rows.count), (0, 0));
            assert_eq!(outcome(strict), outcome(lenient));
            check_load(&strict.load);
        }
        (Ok(_), Err(error)) => panic!("only leaving out bad rows fails: {error}"),
        // One bad row, an error of the file in both, or bad rows that were left out.
        (Err(_), _) => {}
    }
}

fn check_load(load: &Load) {
    let database = Database::in_memory().expect("a database in memory opens");
    let loaded = database.load(load, &|_| (), &CancelFlag::default());
    loaded.expect("tables of an import fit each other");
    let statistics = database.statistics().expect("a database in memory can be read");
    let found = (statistics.vertices_count(), statistics.edges_count());
    assert_eq!(found, (load.vertices_count(), load.edges_count()));
}

fn outcome(imported: &Imported) -> String {
    let Imported { load, settled, notes, .. } = imported;
    format!("{} {} {settled:?} {notes:?}", load.vertices_count(), load.edges_count())
}
