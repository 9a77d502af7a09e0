//! Options: what to import, how to read it, and a summary of the result.

use crate::import::faults::{BadRows, OnBadRow};
use crate::import::id_type::IdType;
use crate::import::mapping::document::Mapping;
use crate::import::mapping::rule::FileFormat;
use crate::import::policy::{OnDuplicate, OnUnknown, PolicyCounts};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::Load;
use evergraph_storage::io::machine_memory::available_bytes;
use std::ops::Range;
use std::path::PathBuf;

// Users know it by this path.
pub use evergraph_graph::load::ReadProgress as Progress;

// Callers name it beside the files that have it.
pub use crate::import::role::Role;

/// What an import reads, and how. [`ImportOptions::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The files, and folders of files. All together are one graph.
    pub files: Vec<InputFile>,
    /// How each file is read; other files in the folders are ignored. `None`: the file `import.toml` of a
    /// folder describes the files in it, and names and first rows describe all others.
    pub mapping: Option<Mapping>,
    /// The formats that are read: a file of another one is an error, or left out if only its folder was named. Empty: all.
    pub formats: Vec<FileFormat>,
    /// How text is split into fields, and how fields are interpreted.
    pub csv: CsvOptions,
    /// Labels, types and columns for lists of edges and vertices, which do not name them.
    pub lists: ListOptions,
    /// The type of ids, and what to do about duplicate and unknown ids.
    pub ids: IdPolicy,
    /// What to do about rows that cannot be loaded.
    pub bad_rows: BadRowOptions,
    /// Memory of the import in addition to the finished graph, shared as [`MemoryShares`] says. Rows and ids beyond their
    /// shares go to temporary files. `None`: half of the memory limit of a database of the disk engine, else a
    /// quarter of the memory that this process can have.
    pub memory: Option<u64>,
    /// The folder for temporary files. `None`: that of the database, if it has one, or the system's.
    pub temporary: Option<PathBuf>,
    /// Number of threads; 0 for one on each core.
    pub threads: usize,
    /// Cancels the import when it is set. `None`: the import cannot be cancelled.
    pub cancel: CancelFlag,
}

impl ImportOptions {
    /// Imports `files` with default options: CSV as in RFC 4180, ids that are
    /// text unless a header says otherwise, label `Vertex` and type `EDGE` for edge lists; a bad row
    /// is an error.
    pub fn new(files: impl IntoIterator<Item = InputFile>) -> Self {
        Self {
            files: files.into_iter().collect(),
            mapping: None,
            formats: Vec::new(),
            csv: CsvOptions::default(),
            lists: ListOptions::default(),
            ids: IdPolicy::default(),
            bad_rows: BadRowOptions::default(),
            memory: None,
            temporary: None,
            threads: 0,
            cancel: CancelFlag::default(),
        }
    }

    /// The same with `change`, for options in one expression:
    ///
    /// ```
    /// use evergraph_files::import::options::{ImportOptions, InputFile};
    ///
    /// let options = ImportOptions::new([InputFile::new("roads.txt")]).with(|options| options.csv.delimiter = Some(b' '));
    /// assert_eq!(options.lists.vertex_label, "Vertex");
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// [`ImportOptions::memory`], or its default.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory.unwrap_or_else(|| available_bytes() / 4)
    }

    /// How [`ImportOptions::memory_bytes`] is shared.
    #[must_use]
    pub fn memory_shares(&self) -> MemoryShares {
        MemoryShares::of(self.memory_bytes())
    }

    pub(crate) fn temporary_folder(&self) -> PathBuf {
        self.temporary.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Returns an error for options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        if self.files.is_empty() {
            return Err(Error::invalid("no files to import: name some, or a folder"));
        }
        self.csv.check()
    }
}

/// How the memory of an import is shared, in bytes.
///
/// ```text
/// reading   |= rows =|= edges =|===== ids =====|
/// loading   |= rows =|         |=== sorting ===|
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryShares {
    /// Rows that were read: a quarter.
    pub rows: u64,
    /// Ids of vertices: half. Once they are spilled, edges whose ends are looked up have half of that.
    pub ids: u64,
    /// Edges whose ends are looked up together, because ids are spilled: a quarter.
    pub waiting: u64,
    /// Sorting edges, when ids are gone: half.
    pub sorting: u64,
}

impl MemoryShares {
    /// The shares of `bytes`.
    #[must_use]
    pub fn of(bytes: u64) -> Self {
        Self { rows: bytes / 4, ids: bytes / 2, waiting: bytes / 4, sorting: bytes / 2 }
    }

    /// What edges may take whose ends are looked up together.
    #[must_use]
    pub fn edges_bytes(self) -> u64 {
        self.waiting + self.ids / 2
    }
}

/// How text is split into fields, and how fields are interpreted: for CSV files, and where it is stated for lists.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    /// The delimiter of fields, in lists, too. `None`: a tab in `.tsv` files; otherwise the one that the first line
    /// shows.
    pub delimiter: Option<u8>,
    /// The quote around fields with delimiters or line breaks, doubled inside; `None` makes quotes ordinary characters.
    pub quote: Option<u8>,
    /// The escape before a quote inside quotes, as an alternative to doubling it.
    pub escape: Option<u8>,
    /// The text that means no value, in addition to an empty one; in lists, too.
    pub null: Option<String>,
    /// The delimiter between the elements of an array.
    pub array_delimiter: u8,
    /// Whether the first line is a header or data. `None`: as it looks.
    pub first_line: Option<FirstLine>,
}

impl Default for CsvOptions {
    /// As in RFC 4180, and `;` between elements of arrays.
    fn default() -> Self {
        Self {
            delimiter: None,
            quote: Some(b'"'),
            escape: None,
            null: None,
            array_delimiter: b';',
            first_line: None,
        }
    }
}

impl CsvOptions {
    fn check(&self) -> Result<()> {
        let separators = [("delimiter", self.delimiter), ("quote", self.quote), ("escape", self.escape)];
        for (what, byte) in separators.into_iter().chain([("array delimiter", Some(self.array_delimiter))]) {
            let allowed = |byte: u8| byte == b'\t' || byte == b' ' || byte.is_ascii_punctuation();
            if let Some(byte) = byte.filter(|byte| !allowed(*byte)) {
                return Err(Error::invalid(format!(
                    "{what} {:?}: expected a tab, a blank or an ASCII punctuation character",
                    char::from(byte)
                )));
            }
        }
        if self.quote.is_some() && self.quote == self.delimiter {
            return Err(Error::invalid("delimiter and quote are the same character"));
        }
        Ok(())
    }
}

/// Labels, types and columns for lists of edges and vertices, which do not name them.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// The label of vertices in lists, and of vertices without a label in other files.
    pub vertex_label: String,
    /// The type of edges in lists, and of edges without a type in other files.
    pub edge_type: String,
    /// Ids of the vertices of lists of edges: exactly these exist, whether they have edges
    /// or not. `None`: the ids in vertex lists; without such lists, all ids that edges mention.
    pub vertices: Option<Range<i64>>,
    /// Names of the columns behind source and target, as in a CSV header (`weight,time` or
    /// `weight:float,time:datetime{epoch:seconds}`). A name alone is a `double` if it is `weight`, otherwise a number.
    /// `None`: `weight`, then `time`, as many as there are.
    pub edge_columns: Option<String>,
    /// Names of the columns behind the id in vertex lists. `None`: `value`, if there is one column.
    pub vertex_columns: Option<String>,
}

impl Default for ListOptions {
    /// Label `Vertex` and type `EDGE`.
    fn default() -> Self {
        Self {
            vertex_label: "Vertex".to_owned(),
            edge_type: "EDGE".to_owned(),
            vertices: None,
            edge_columns: None,
            vertex_columns: None,
        }
    }
}

/// The type of ids, and what to do about duplicate and unknown ids.
#[derive(Clone, Debug)]
pub struct IdPolicy {
    /// The type of ids in CSV files whose header does not state it.
    pub id_type: IdType,
    /// What to do about vertices with a duplicate id.
    pub on_duplicate: OnDuplicate,
    /// What to do about edges to unknown vertices.
    pub on_unknown: OnUnknown,
    /// The property that keeps the ids of vertices in files of vertices and edges (GraphSON, GraphML, GEXF and
    /// so on). `None`: `id`, or `_id` if vertices have a property `id` of their own.
    pub vertex_key: Option<String>,
    /// The property that keeps the ids of edges there. `None`: they are not kept.
    pub edge_key: Option<String>,
}

impl Default for IdPolicy {
    /// Ids are text; a duplicate or unknown id is a bad row.
    fn default() -> Self {
        Self {
            id_type: IdType::STRING,
            on_duplicate: OnDuplicate::Fail,
            on_unknown: OnUnknown::Fail,
            vertex_key: None,
            edge_key: None,
        }
    }
}

/// What to do about rows that cannot be loaded.
#[derive(Clone, Debug)]
pub struct BadRowOptions {
    /// Whether the import stops at the first one.
    pub on_bad_row: OnBadRow,
    /// The file that describes every bad row, also if the import stops; an older one is overwritten.
    pub report: Option<PathBuf>,
}

impl Default for BadRowOptions {
    /// The first one stops the import.
    fn default() -> Self {
        Self { on_bad_row: OnBadRow::Stop, report: None }
    }
}

/// One file or folder to import.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Its path; `-` is standard input. A folder means all files below it whose names tell
    /// what they hold.
    pub path: PathBuf,
    /// What it holds; `None` to decide by its name, and by the header of a CSV file.
    pub role: Option<Role>,
    /// The label of its vertices, if no column names it. `None`: that of the options for edge lists, the file's
    /// name without its endings for CSV.
    pub label: Option<String>,
    /// The type of its edges, if no column names it; `None` as for the label.
    pub edge_type: Option<String>,
    /// Where the header of a CSV file is.
    pub header: HeaderPlace,
}

impl InputFile {
    /// The file at `path`, which describes itself.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), role: None, label: None, edge_type: None, header: HeaderPlace::FirstLine }
    }

    /// The same, holding `role`.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    /// The same, its vertices being of `label`.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The same, its edges being of `edge_type`.
    #[must_use]
    pub fn edge_type(mut self, edge_type: impl Into<String>) -> Self {
        self.edge_type = Some(edge_type.into());
        self
    }

    /// The same, with its header at `header`.
    #[must_use]
    pub fn header(mut self, header: HeaderPlace) -> Self {
        self.header = header;
        self
    }
}

/// Where the header of a CSV file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeaderPlace {
    /// It is the file's first line.
    FirstLine,
    /// It is this text, and the file's first line is left out.
    Replaced(String),
    /// It is this text, and the file begins with data.
    Given(String),
}

/// What the first line of a CSV file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstLine {
    /// The names of its columns.
    Header,
    /// A row.
    Data,
}

/// What came of an import.
#[derive(Debug)]
pub struct Imported {
    /// The graph.
    pub load: Load,
    /// Rows that were left out.
    pub bad_rows: BadRows,
    /// Rows that the options' policies handled.
    pub settled: PolicyCounts,
    /// Bytes of rows that memory did not hold and that went through a temporary file.
    pub spilled_bytes: u64,
    /// Content of the files that the graph does not represent, or represents in another form: a sentence each.
    pub notes: Vec<String>,
    /// Files in the given folders that were left out, because their content was not recognised.
    pub ignored_files: Vec<PathBuf>,
    /// CSV files whose content was guessed, because their columns do not state it.
    pub guessed_files: Vec<PathBuf>,
}
