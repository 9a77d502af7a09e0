//! Arguments: what `evergraph import` is told, and its help.

use crate::amount;
use crate::command::import::values::{NamedFiles, Quote, character, id_range, named_files, quote};
use crate::engine::EngineArgument;
use crate::server_access::ServerAccessArguments;
use crate::target::Target;
use clap::{Args, ValueEnum};
use std::ops::Range;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph import social.eg people.csv knows.csv         CSV with Neo4j's headers, or plain ones
  evergraph import snb.eg social_network/                 a folder; LDBC's file names are known
  evergraph import p2p.eg p2p-31.v.gz p2p-31.e.gz         Graphalytics: vertices, edges
  evergraph import web.eg links.txt --vertices 0..1000    an edge list, ids without edges declared
  evergraph import s.eg --nodes Person=people.csv --edges KNOWS=knows.csv
  evergraph import f.eg people.csv --delimiter '|' --quote none --header 'id:ID|name|born:int'
  evergraph import --propose data/ > mapping.toml         how a folder would be read, to edit
  evergraph import d.eg data/ --mapping mapping.toml      and read it so
  evergraph import b.eg data/ --on-error skip --report bad.csv
  evergraph import t.eg edges_only/ --on-unknown create   vertices that only edges mention
  evergraph import large.eg data/ --engine disk --memory-limit 2GiB
  evergraph import shared.eg data/ --engine mapped        several processes can read it
  zcat a.json.gz | evergraph import g.eg -                standard input: any of these but Parquet
  evergraph import wss://ann@graph.example/social people.csv knows.csv    sent to a server
  evergraph import shop.eg postgres://ann@db.example/shop --mapping m.toml    tables of PostgreSQL

How a file is read follows from its name and first lines:
  .v                   vertices, an id a line
  .e .edges .el        edges, `source target [weight] [time]` a line, or a
  .edgelist .txt       table
  .csv .tsv            what the header says: :ID vertices, :START_ID and :END_ID
                       edges; else what names and values look like
  .gr .mtx             DIMACS, Matrix Market
  .json .graphson      GraphSON, with its edges
  .json .cyjs          nodes and links
  .xml .graphml        GraphML
  .gexf .gml           GEXF (Gephi), GML
  .net .paj            Pajek
  .parquet             as CSV, by the names of its columns
  each also with .gz or .zst, but .parquet
If no file has the vertices of edges (source,target,weight alone), they get the
label Vertex or --label. The summary says how columns were read; --nodes,
--edges and --first-line change that.

A database that has data:
  It keeps it. New edges name its vertices by the unique key of their label (the
  one called id if there are several, or :START_ID(Person){key:name}): without a
  file of persons, :START_ID(Person) means the existing ones. Where a plain
  header leaves the label open, replace it by
  --replace-header ':START_ID(Person),:END_ID(Person),since:int'.

A URL:
  A server imports what is sent to it as a job, in one commit: reads go on. It
  needs the role admin, and a server that was started with --spool or --root.
  Ctrl-C cancels the job, until it is being written.

PostgreSQL:
  Tables of a database are copied at one moment, as a mapping says or, without
  one, as their keys suggest (--propose prints that). The password is taken from
  PGPASSWORD or ~/.pgpass. To go on following the database use
  evergraph replica run.

Headers:
  id:ID(Person)  name:string  born:int  tags:string[]  :LABEL  :START_ID(Person)
  :END_ID(Person)  :TYPE  since:date  seen:datetime{epoch:milliseconds}  :IGNORE";

/// Arguments of `evergraph import`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ImportArguments {
    /// The database to add to: a folder, created if it does not exist, or the URL of a server.
    #[arg(value_name = "DATABASE", required_unless_present = "propose")]
    pub database: Option<Target>,
    /// The engine of a new database: memory, disk for a graph larger than memory, or mapped for one that opens at once
    /// [default: memory].
    #[arg(long, value_enum, value_name = "ENGINE", conflicts_with = "propose")]
    pub engine: Option<EngineArgument>,
    /// Files and folders to read; `-` is standard input. Or the URL of a PostgreSQL database.
    #[arg(required_unless_present_any = ["nodes", "relationships", "edges", "vertex_lists", "graphson", "graphml", "mapping", "propose"])]
    pub files: Vec<PathBuf>,
    /// Print a mapping file that says how the files would be read, and import nothing. A database given
    /// before them is the one that they would be imported into.
    #[arg(long, conflicts_with = "mapping", help_heading = "Files")]
    pub propose: bool,
    /// Read the files, or tables, as described by this TOML file (`--propose` writes one to start from). Without FILES,
    /// read those in its folder. Without this option a folder's own import.toml is used, if there is one.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["nodes", "relationships", "edges", "vertex_lists", "graphson", "graphml", "header", "replace_header", "label", "edge_type"],
        help_heading = "Files"
    )]
    pub mapping: Option<PathBuf>,
    /// A CSV or Parquet file of vertices, and their label if no column gives it. Further CSV files, after
    /// commas, share its header. LABEL=- is CSV from standard input.
    #[arg(long, value_name = "[LABEL=]FILE", value_parser = named_files, help_heading = "Files")]
    pub nodes: Vec<NamedFiles>,
    /// A file of edges, as CSV, Parquet or list, and their type if no column gives it; further files after
    /// commas.
    #[arg(long, value_name = "[TYPE=]FILE", value_parser = named_files, help_heading = "Files")]
    pub edges: Vec<NamedFiles>,
    /// The same, but never a list; TYPE=- is CSV from standard input.
    #[arg(long, value_name = "[TYPE=]FILE", value_parser = named_files, help_heading = "Files")]
    pub relationships: Vec<NamedFiles>,
    /// A list of vertices, one id a line.
    #[arg(long = "vertex-list", value_name = "FILE", help_heading = "Files")]
    pub vertex_lists: Vec<PathBuf>,
    /// A GraphSON file with any name; `-` is standard input.
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub graphson: Vec<PathBuf>,
    /// A GraphML file with any name; `-` is standard input.
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub graphml: Vec<PathBuf>,
    /// The separator of fields: a character or `tab` [default: guessed from the first line].
    #[arg(long, value_name = "CHARACTER", value_parser = character, help_heading = "CSV files and lists")]
    pub delimiter: Option<u8>,
    /// The quote around fields, or `none` [default: "].
    #[arg(long, value_name = "CHARACTER", value_parser = quote, help_heading = "CSV files and lists")]
    pub quote: Option<Quote>,
    /// The separator of the elements of an array.
    #[arg(long, value_name = "CHARACTER", value_parser = character, default_value = ";", help_heading = "CSV files and lists")]
    pub array_delimiter: u8,
    /// The character that escapes a quote inside quotes, besides doubling it: usually a backslash.
    #[arg(long, value_name = "CHARACTER", value_parser = character, help_heading = "CSV files and lists")]
    pub escape: Option<u8>,
    /// A text that means no value, besides an empty one.
    #[arg(long, value_name = "TEXT", help_heading = "CSV files and lists")]
    pub null: Option<String>,
    /// The header of CSV files without one: its text, or a file whose first line it is.
    #[arg(
        long,
        value_name = "HEADER",
        conflicts_with = "replace_header",
        help_heading = "CSV files and lists"
    )]
    pub header: Option<String>,
    /// The header to read instead of the first line of CSV files, or a file whose first line it is.
    #[arg(long, value_name = "HEADER", help_heading = "CSV files and lists")]
    pub replace_header: Option<String>,
    /// What the first line of CSV files is [default: guessed; the summary says so].
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["header", "replace_header", "mapping"], help_heading = "CSV files and lists")]
    pub first_line: Option<FirstLineArgument>,
    /// The type of ids in CSV files whose header does not state it.
    #[arg(long, value_enum, default_value_t, value_name = "TYPE", help_heading = "CSV files and lists")]
    pub id_type: IdTypeArgument,
    /// The label of vertices in lists and of those created for edges [default: Vertex], and in the named CSV files.
    #[arg(long, value_name = "LABEL", help_heading = "CSV files and lists")]
    pub label: Option<String>,
    /// The type of edges in lists [default: EDGE], and in the named CSV files.
    #[arg(long = "type", value_name = "TYPE", help_heading = "CSV files and lists")]
    pub edge_type: Option<String>,
    /// The ids of all vertices in lists, including those without edges, such as 0..1000 (without 1000).
    #[arg(long, value_name = "FROM..TO", value_parser = id_range, help_heading = "CSV files and lists")]
    pub vertices: Option<Range<i64>>,
    /// The columns after source and target in edge lists, such as `weight,time` or `time:datetime{epoch:seconds}`
    /// [default: weight, then time].
    #[arg(long, value_name = "COLUMNS", help_heading = "CSV files and lists")]
    pub columns: Option<String>,
    /// The columns after the id in lists of vertices [default: value].
    #[arg(long, value_name = "COLUMNS", help_heading = "CSV files and lists")]
    pub vertex_columns: Option<String>,
    /// What to do with a vertex whose id occurred before.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Bad rows")]
    pub on_duplicate: OnDuplicateArgument,
    /// What to do with an edge to or from an unknown vertex.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Bad rows")]
    pub on_unknown: OnUnknownArgument,
    /// The property that keeps the ids of vertices in graph files and in Neptune's CSV [default: id, or _id if
    /// vertices have a property id of their own].
    #[arg(long, value_name = "KEY", help_heading = "Files of vertices and edges")]
    pub vertex_id: Option<String>,
    /// The property that keeps the ids of edges in these files [default: they are not kept].
    #[arg(long, value_name = "KEY", help_heading = "Files of vertices and edges")]
    pub edge_id: Option<String>,
    /// What to do with a row that cannot be loaded.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Bad rows")]
    pub on_error: OnError,
    /// Skip at most N bad rows, and stop at more (implies --on-error skip).
    #[arg(long, value_name = "N", help_heading = "Bad rows")]
    pub max_bad: Option<u64>,
    /// Write every bad row to FILE, as CSV: file, line, column, name, reason, row.
    #[arg(long, value_name = "FILE", help_heading = "Bad rows")]
    pub report: Option<PathBuf>,
    /// Memory in addition to the finished graph, such as 512M or 4G, for rows, ids and sorting; what is beyond it goes
    /// through temporary files [default: half of the memory limit with the disk engine, else a quarter of this
    /// machine's memory].
    #[arg(long, value_name = "SIZE", value_parser = amount::memory)]
    pub memory: Option<u64>,
    /// The folder for temporary files [default: the database's].
    #[arg(long, value_name = "FOLDER")]
    pub temporary: Option<PathBuf>,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// What to do with a vertex whose id occurred before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnDuplicateArgument {
    /// Treat it as a bad row.
    #[default]
    Fail,
    /// Keep the first row.
    First,
    /// Keep the last row.
    Last,
}

/// What to do with an edge to or from an unknown vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnUnknownArgument {
    /// Treat it as a bad row.
    #[default]
    Fail,
    /// Leave the edge out.
    Skip,
    /// Create the vertex, with its id only.
    Create,
}

/// What to do with a row that cannot be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnError {
    /// Report it and load nothing.
    #[default]
    Stop,
    /// Skip it and count it.
    Skip,
}

/// What the first line of CSV files is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FirstLineArgument {
    /// The names of columns.
    Header,
    /// A row.
    Data,
}

/// The type of ids in CSV files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum IdTypeArgument {
    /// Text: 007 and 7 differ.
    #[default]
    String,
    /// 64-bit integers.
    Integer,
}
