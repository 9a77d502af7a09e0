//! Importing: an edge list in a file becomes a durable database.

use crate::bench::plan::BenchContext;
use crate::bench::section::Section;
use evergraph::Database;
use evergraph::generate::rmat;
use evergraph::import::options::{ImportOptions, InputFile, Role};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::{Figure, Unit};
use evergraph_report::disk_size::disk_bytes;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Measures the import; also the database that the last run made.
///
/// # Errors
/// `cancelled`; what reading and writing meets.
pub fn measure(work: &BenchContext<'_>) -> Result<(Section, PathBuf)> {
    let meter = work.console.meter();
    let file = work.folder.join("rmat.e");
    let edges = write_edges(&file, &rmat::edges(&work.plan.graph())?)?;
    let database = work.folder.join("imported");
    let (mut rates, mut seconds) = (Vec::new(), Vec::new());
    for round in 0..work.plan.rounds {
        work.round(&meter, "import", round)?;
        if database.exists() {
            fs::remove_dir_all(&database).map_err(|error| failure("remove", &database, error))?;
        }
        let input = InputFile::new(&file).role(Role::EdgeList);
        let mut options = ImportOptions::new([input]);
        options.lists.vertices = Some(0..i64::from(work.plan.vertices()));
        options.cancel = work.cancel.clone();
        let began = Instant::now();
        let opened = Database::open(&database)?;
        let imported = opened.import(&options, &|_| ())?;
        opened.close()?;
        seconds.push(began.elapsed().as_secs_f64());
        rates.push(edges as f64 / began.elapsed().as_secs_f64());
        if imported.edges_count != edges {
            let text = format!("{edges} edges were written, but {} imported", imported.edges_count);
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
    }
    let disk = disk_bytes(&database)? as f64 / edges as f64;
    let section = Section {
        title: format!("Import: {}", work.plan.graph_name()),
        figures: vec![
            Figure::new("import.edges_rate", "edges a second", Unit::PerSecond, &rates),
            Figure::new(
                "import.seconds",
                "until the database was durable and closed",
                Unit::Seconds,
                &seconds,
            ),
            Figure::new("import.disk", "on disk, log files included", Unit::BytesPerEdge, &[disk]),
        ],
        notes: vec![
            "from a text file of two numbers a line, which the system had in memory: a cold disk is slower"
                .to_owned(),
        ],
    };
    Ok((section, database))
}

/// Writes a line `source target` for each edge; how many.
fn write_edges(path: &Path, (sources, targets): &(Vec<u32>, Vec<u32>)) -> Result<u64> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        sources.iter().zip(targets).try_for_each(|(source, target)| writeln!(file, "{source} {target}"))?;
        file.flush()
    };
    write().map_err(|error| failure("write", path, error))?;
    Ok(sources.len() as u64)
}

fn failure(doing: &str, path: &Path, error: io::Error) -> Error {
    let kind = if error.kind() == io::ErrorKind::StorageFull { ErrorKind::Limit } else { ErrorKind::Io };
    Error::new(kind, format!("{doing} {}: {error}", path.display())).because(error)
}
