//! Options: what to export, in which format and where; and a summary of the result.

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What an export writes, and how. [`ExportOptions::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: ExportFormat,
    /// The target: a folder for CSV and Parquet, a file for GraphSON and GraphML, either for edge
    /// lists; `-` is standard output, for formats of one file.
    pub output: PathBuf,
    /// Whether existing files at `output` are replaced. A folder is replaced only if it holds nothing but files
    /// that an export writes.
    pub overwrite: bool,
    /// How each file is compressed; `None` for what the output's name says, or no compression.
    pub packing: Option<Packing>,
    /// The labels to write; empty for all. Edges are written if both of their ends are written.
    pub labels: Vec<String>,
    /// The edge types to write; empty for all.
    pub types: Vec<String>,
    /// Properties of edges in edge lists.
    pub edge_columns: Vec<String>,
    /// Properties of vertices in the vertex lists beside edge lists.
    pub vertex_columns: Vec<String>,
    /// Cancels the export when it is set; nothing is left behind then.
    pub cancel: CancelFlag,
}

impl ExportOptions {
    /// Exports everything, in `format`, to `output`, which must not exist yet.
    pub fn new(format: ExportFormat, output: impl Into<PathBuf>) -> Self {
        Self {
            format,
            output: output.into(),
            overwrite: false,
            packing: None,
            labels: Vec::new(),
            types: Vec::new(),
            edge_columns: Vec::new(),
            vertex_columns: Vec::new(),
            cancel: CancelFlag::default(),
        }
    }

    /// Returns an error for options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        let has_columns = !self.edge_columns.is_empty() || !self.vertex_columns.is_empty();
        if has_columns && self.format != ExportFormat::EdgeList {
            return Err(Error::invalid(format!(
                "columns are chosen for edge lists; {} has all properties",
                self.format.name()
            )));
        }
        if self.format == ExportFormat::Parquet && self.packing.is_some() {
            return Err(Error::invalid("Parquet is packed inside, with zstd: choose no packing"));
        }
        Ok(())
    }

    /// How each file is compressed: as the options say, or else the output's name.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.packing.unwrap_or_else(|| Packing::of_path(&self.output))
    }
}

/// The format of an export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportFormat {
    /// A folder of CSV files with Neo4j's headers.
    Csv,
    /// A folder of Parquet files with the same columns.
    Parquet,
    /// One file of GraphSON 3, a vertex with its edges a line.
    GraphSon,
    /// One file of GraphML.
    GraphMl,
    /// Lists of edges as pairs of ids.
    EdgeList,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Csv, Self::Parquet, Self::GraphSon, Self::GraphMl, Self::EdgeList];

    /// Its name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::GraphSon => "graphson",
            Self::GraphMl => "graphml",
            Self::EdgeList => "edgelist",
        }
    }

    /// The format with this name.
    ///
    /// # Errors
    /// `invalid`, with those that there are.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("format {name:?}: expected one of {known}"))
        })
    }

    /// The format that the ending of `path` tells; [`Self::Csv`] if it has none, as folders mostly have
    /// none. `None` if the ending is unknown, or that of one file of a format that writes many.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        // The rest of a name may be in any encoding.
        let name = path.file_name()?.to_string_lossy();
        let unpacked = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending));
        let Some((_, ending)) = unpacked.unwrap_or(&name).rsplit_once('.') else {
            return unpacked.is_none().then_some(Self::Csv);
        };
        match ending.to_ascii_lowercase().as_str() {
            "json" | "graphson" => Some(Self::GraphSon),
            "graphml" | "xml" => Some(Self::GraphMl),
            "e" | "el" | "edges" | "txt" => Some(Self::EdgeList),
            _ => None,
        }
    }

    /// Whether it is one file, and not a folder of files.
    #[must_use]
    pub const fn is_one_file(self) -> bool {
        matches!(self, Self::GraphSon | Self::GraphMl)
    }
}

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Packing {
    /// It isn't.
    #[default]
    None,
    /// gzip: every tool reads it.
    Gzip,
    /// zstd: smaller and much faster.
    Zstd,
}

impl Packing {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Gzip, Self::Zstd];

    /// Its name in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// The packing with this name.
    ///
    /// # Errors
    /// `invalid`, with those that there are.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|packing| packing.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("packing {name:?}: expected one of {known}"))
        })
    }

    /// The suffix of a file's name.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// The compression that the ending of `path` states.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// What an export does: it reads the graph twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportPhase {
    /// Surveys the graph: what there is, and whether the format can hold it.
    Look,
    /// Writes the files.
    Write,
}

impl ExportPhase {
    /// Its name: `look` or `write`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Write => "write",
        }
    }
}

/// Progress of an export.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExportProgress<'a> {
    /// What it does now.
    pub phase: ExportPhase,
    /// The file that is being written; empty while the graph is surveyed, and for standard output.
    pub file: &'a str,
    /// Vertices and edges surveyed so far, or written so far.
    pub rows: u64,
    /// Vertices and edges to survey and then to write, or somewhat more.
    pub rows_total: u64,
    /// How long the phase has lasted.
    pub elapsed: Duration,
}

impl ExportProgress<'_> {
    /// The share of the whole export that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let of_phase =
            if self.rows_total == 0 { 1.0 } else { (self.rows as f64 / self.rows_total as f64).min(1.0) };
        match self.phase {
            ExportPhase::Look => of_phase / 2.0,
            ExportPhase::Write => f64::midpoint(1.0, of_phase),
        }
    }
}

/// What an export wrote.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExportSummary {
    /// The files, by their names in the folder; one without a name for standard output.
    pub files: Vec<ExportedFile>,
    /// Vertices written.
    pub vertices_count: u64,
    /// Edges written.
    pub edges_count: u64,
    /// What the files do not preserve, a sentence each: an import of them lacks it.
    pub losses: Vec<String>,
}

/// A file that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportedFile {
    /// Its name, without the folder.
    pub name: String,
    /// Vertices or edges in it; both, in a file of both.
    pub rows: u64,
    /// Its size in bytes, after compression.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn an_ending_tells_format_and_packing() {
        let of = |path: &str| (ExportFormat::of_path(Path::new(path)), Packing::of_path(Path::new(path)));
        assert_eq!(of("out/graph.json.gz"), (Some(ExportFormat::GraphSon), Packing::Gzip));
        assert_eq!(of("a.GRAPHML"), (Some(ExportFormat::GraphMl), Packing::None));
        assert_eq!(of("a.e.zst"), (Some(ExportFormat::EdgeList), Packing::Zstd));
        assert_eq!(of("out"), (Some(ExportFormat::Csv), Packing::None));
        assert_eq!(of("people.csv"), (None, Packing::None), "CSV is a folder");
        assert_eq!(of("out.gz"), (None, Packing::Gzip));
        let foreign = Path::new(OsStr::from_bytes(b"o\xff.json.gz"));
        assert_eq!(ExportFormat::of_path(foreign), Some(ExportFormat::GraphSon));
    }
}
