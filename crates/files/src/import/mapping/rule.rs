//! Rule: how one file is read, from a mapping file or from recognition.

use std::collections::BTreeMap;
use std::fmt;

/// How one file is read. The default is CSV with a header in Neo4j's conventions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRule {
    /// What kind of file it is.
    pub format: FileFormat,
    /// The label of its vertices, if no column tells it; in lists of edges that of their ends.
    pub label: Option<String>,
    /// The type of its edges, if no column tells it.
    pub edge_type: Option<String>,
    /// Whether the first line of a CSV file is a header and not data.
    pub header: bool,
    /// The columns, each as a word of a header: instead of the first line, or where there is none.
    pub columns: Option<Vec<String>>,
    /// The column that is the vertex's id.
    pub id: Option<EndColumn>,
    /// The column that tells where the edge begins.
    pub start: Option<EndColumn>,
    /// The column that tells where the edge ends.
    pub end: Option<EndColumn>,
    /// The types of columns, by their names.
    pub types: BTreeMap<String, String>,
    /// Columns that are left out.
    pub ignore: Vec<ColumnName>,
    /// What stands between fields; `None` for what the option says or the first line shows.
    pub delimiter: Option<u8>,
    /// What encloses fields (`Some(None)`: nothing does); `None` for what the option says.
    pub quote: Option<Option<u8>>,
    /// What stands before a quote inside quotes; `None` for what the option says.
    pub escape: Option<u8>,
    /// What begins lines of a CSV file that are left out, if anything.
    pub comment: Option<u8>,
    /// The text that stands for no value; `None` for what the option says.
    pub null: Option<String>,
    /// What stands between the elements of an array; `None` for what the option says.
    pub array_delimiter: Option<u8>,
    /// Whether a pair of vertices has one edge at most, whichever way round it is written.
    pub undirected: bool,
    /// Where a mapping file says so, as `file:line`.
    pub origin: Option<String>,
}

/// What kind of file it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileFormat {
    /// CSV, of vertices or of edges.
    #[default]
    Csv,
    /// Lines of source, target and further columns.
    EdgeList,
    /// Lines of an id and further columns.
    VertexList,
    /// DIMACS shortest paths: `a source target weight`.
    Dimacs,
    /// Matrix Market coordinates: a row, a column, an entry.
    MatrixMarket,
    /// GraphSON: a vertex a line with its edges, or all of them wrapped.
    GraphSon,
    /// GraphML.
    GraphMl,
    /// GEXF.
    Gexf,
    /// GML.
    Gml,
    /// Pajek.
    Pajek,
    /// Nodes and links in JSON.
    NodeLink,
    /// Parquet, of vertices or of edges.
    Parquet,
    /// Nothing of interest.
    Ignore,
}

/// A column of ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndColumn {
    /// Which one.
    pub column: ColumnName,
    /// The id space; `None` for that of the label, or the one without a name.
    pub space: Option<String>,
    /// The type of the ids, as in a header's `id-type`; `None` for the space's.
    pub id_type: Option<String>,
    /// Whether a vertex that isn't there is created; only of ends of edges.
    pub creates: bool,
}

/// A column, by its name or number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ColumnName {
    /// By its name in the header.
    Name(String),
    /// By its number, counted from 1.
    Number(usize),
}

impl fmt::Display for ColumnName {
    /// Writes the name in quotes, or the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 13] = [
        Self::Csv,
        Self::EdgeList,
        Self::VertexList,
        Self::Dimacs,
        Self::MatrixMarket,
        Self::GraphSon,
        Self::GraphMl,
        Self::Gexf,
        Self::Gml,
        Self::Pajek,
        Self::NodeLink,
        Self::Parquet,
        Self::Ignore,
    ];

    /// What mapping files call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::EdgeList => "edge-list",
            Self::VertexList => "vertex-list",
            Self::Dimacs => "dimacs",
            Self::MatrixMarket => "matrix-market",
            Self::GraphSon => "graphson",
            Self::GraphMl => "graphml",
            Self::Gexf => "gexf",
            Self::Gml => "gml",
            Self::Pajek => "pajek",
            Self::NodeLink => "node-link",
            Self::Parquet => "parquet",
            Self::Ignore => "ignore",
        }
    }

    /// The keys of a mapping file that say something of such a file, beside `path` and `format`.
    #[must_use]
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Csv | Self::Ignore => &[
                "label",
                "type",
                "header",
                "columns",
                "id",
                "start",
                "end",
                "types",
                "ignore",
                "delimiter",
                "quote",
                "escape",
                "comment",
                "array-delimiter",
                "null",
                "undirected",
            ],
            // A schema says the rest.
            Self::Parquet => &["label", "type", "id", "start", "end", "ignore", "undirected"],
            Self::EdgeList | Self::VertexList | Self::Dimacs | Self::MatrixMarket => {
                &["label", "type", "columns", "delimiter", "null", "undirected"]
            }
            Self::GraphSon | Self::GraphMl | Self::Gexf | Self::Gml | Self::Pajek | Self::NodeLink => {
                &["label", "type", "undirected"]
            }
        }
    }
}

impl FileRule {
    /// A file of `format` that tells all the rest.
    #[must_use]
    pub fn new(format: FileFormat) -> Self {
        Self {
            format,
            label: None,
            edge_type: None,
            header: true,
            columns: None,
            id: None,
            start: None,
            end: None,
            types: BTreeMap::new(),
            ignore: Vec::new(),
            delimiter: None,
            quote: None,
            escape: None,
            comment: None,
            null: None,
            array_delimiter: None,
            undirected: false,
            origin: None,
        }
    }

    /// `why`, with the place in the mapping file before it, if the rule is from one.
    #[must_use]
    pub fn blame(&self, why: String) -> String {
        match &self.origin {
            Some(origin) => format!("{origin}: {why}"),
            None => why,
        }
    }
}

impl EndColumn {
    /// The column `column`, all else as it is by default.
    #[must_use]
    pub fn new(column: ColumnName) -> Self {
        Self { column, space: None, id_type: None, creates: false }
    }
}
