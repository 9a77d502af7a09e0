//! `evergraph export`: what is in a database now becomes files that others read.

use crate::context::Context;
use crate::download::Download;
use crate::read_access::ReadAccessArguments;
use crate::server_access::ServerAccessArguments;
use crate::target::{Target, UncheckedUrl};
use clap::{Args, ValueEnum};
use evergraph::export::options::{
    ExportFormat, ExportOptions, ExportProgress, ExportSummary, ExportedFile, Packing,
};
use evergraph_client::admin::jobs::JobRequest;
use evergraph_graph::error::{Error, Result};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{counted, rate, size, time};
use evergraph_terminal::table::{output_name, visible};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph export social.eg --output social/              CSV, a file per label and edge type
  evergraph import copy.eg social/                         ... and imported again
  evergraph export social.eg --format parquet --output tables/
  evergraph export social.eg --output social.json.gz       GraphSON, one file, compressed
  evergraph export social.eg --output social.graphml       GraphML, for Gephi and others
  evergraph export bank.eg --format edgelist --output transfers/ --columns amount_cents,time_ms
  evergraph export social.eg --format edgelist --output - --type KNOWS | sort -n | head
  evergraph export wss://ann@graph.example/social --output social/

Formats:
  csv       a folder: a file per label and edge type, with Neo4j's headers
  parquet   a folder: the same files with typed columns
  graphson  .json .graphson: GraphSON 3, a vertex a line, as TinkerPop reads it
  graphml   .graphml .xml
  edgelist  .e .el .edges .txt: pairs of ids; a folder also lists vertices
Without --format the output's ending decides; a name without an ending is a
folder of CSV files. With --format edgelist or --format csv any other name is a
folder, too.

The files are one consistent snapshot, and the export is complete or absent.
What a format cannot carry is listed at the end, and in docs/guide/export.md.

A URL:
  The server writes the files, beside readers and writers, and this command
  fetches them; edge lists become a folder. That needs the role admin, and a
  server that was started with --spool or --root. Ctrl-C cancels the job there.";

/// Arguments of `evergraph export`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ExportArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// The folder or file to write; `-` is standard output, for formats of one file.
    #[arg(long, short, value_name = "PATH")]
    pub output: PathBuf,
    /// The format of the files [default: by the output's ending].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatArgument>,
    /// Only vertices of these labels, and edges between them [default: all]; repeat the option, or separate
    /// labels by commas.
    #[arg(long = "label", value_name = "LABEL", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Only edges of these types [default: all]; repeat the option, or separate types by commas.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Properties of edges in edge lists: numbers, dates and similar types.
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Properties of vertices in the vertex list of a folder of edge lists.
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',')]
    pub vertex_columns: Vec<String>,
    /// Compression of the files [default: by the output's ending, or none].
    #[arg(long, value_enum, value_name = "PACKING")]
    pub pack: Option<PackingArgument>,
    /// Replace an existing file, or a folder that holds only files of an export.
    #[arg(long)]
    pub overwrite: bool,
    /// How it is opened to be read.
    #[command(flatten)]
    pub reading: ReadAccessArguments,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// The form of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FormatArgument {
    /// A folder of CSV files with Neo4j's headers.
    Csv,
    /// A folder of Parquet files with the same columns.
    Parquet,
    /// One file of GraphSON 3.
    Graphson,
    /// One file of GraphML.
    Graphml,
    /// Pairs of ids.
    Edgelist,
}

/// How files are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PackingArgument {
    /// No compression.
    None,
    /// By gzip.
    Gzip,
    /// By zstd.
    Zstd,
}

/// Writes the files.
///
/// # Errors
/// Those of opening the database and of the export.
pub fn execute(arguments: &ExportArguments, context: &Context) -> std::result::Result<(), Failure> {
    let options = arguments.options(context)?;
    let to_standard_output = options.output == Path::new("-");
    if to_standard_output && context.console.is_json() {
        let text = "--json and --output - both write to standard output: give --output a file";
        return Err(Error::invalid(text).into());
    }
    let path = match &arguments.database {
        Target::Server(url) => {
            arguments.reading.refuse()?;
            return of_server(arguments, url, &options, context);
        }
        Target::Folder(path) => path,
    };
    arguments.access.refuse()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let database = arguments.reading.open(path, context)?;
    let began = Instant::now();
    let exported = database.export(&options, &|now: &ExportProgress<'_>| {
        meter.tell(now.phase.name(), Some(now.fraction()), || {
            let rate = rate(now.rows, now.elapsed, "rows");
            if now.file.is_empty() { rate } else { format!("{}, {rate}", visible(now.file)) }
        });
    });
    let exported = exported.map_err(|error| failure(error, to_standard_output))?;
    database.close()?;
    drop(meter);
    let ExportSummary { files, vertices_count, edges_count, losses } = exported;
    let file = |file: ExportedFile| FileRow { name: file.name, rows: file.rows, bytes: file.bytes };
    let report = ExportReport {
        database: path.display().to_string(),
        output: arguments.output.display().to_string(),
        format: options.format.name(),
        files: files.into_iter().map(file).collect(),
        vertices_count,
        edges_count,
        not_carried: losses,
        seconds: began.elapsed().as_secs_f64(),
    };
    report.show(context, to_standard_output)
}

fn of_server(
    arguments: &ExportArguments,
    url: &UncheckedUrl,
    options: &ExportOptions,
    context: &Context,
) -> std::result::Result<(), Failure> {
    let to_standard_output = options.output == Path::new("-");
    let is_file =
        options.format.is_one_file() || ExportFormat::of_path(&options.output) == Some(options.format);
    if options.format == ExportFormat::EdgeList && (is_file || to_standard_output) {
        let text =
            "a server writes edge lists into a folder, which --output has to be: name one without an ending";
        return Err(Error::invalid(text).into());
    }
    let began = Instant::now();
    let meter = context.console.meter();
    meter.tell("export on the server", None, String::new);
    let admin = arguments.access.admin(url, context)?;
    let download = match options.format.is_one_file() {
        true => Download::file(options)?,
        false => Download::folder(options)?,
    };
    let is_packed_inside = options.format == ExportFormat::Parquet;
    let packing = (options.packing.is_some() || !is_packed_inside).then(|| options.packing().name());
    let request = JobRequest::new("export")
        .with("format", options.format.name())
        .with_some("packing", packing)
        .with("labels", options.labels.clone())
        .with("types", options.types.clone())
        .with("edgeColumns", options.edge_columns.clone())
        .with("vertexColumns", options.vertex_columns.clone());
    let made: Result<RemoteExport> = download.run(&admin, &request, options, &meter);
    let made = made.map_err(|error| failure(error, to_standard_output))?;
    drop(meter);
    let mut files = made.files;
    if let (true, [file]) = (options.format.is_one_file(), &mut files[..]) {
        // Here it has another name.
        file.name = options.output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    }
    let report = ExportReport {
        database: admin.client().url().to_string(),
        output: options.output.display().to_string(),
        format: options.format.name(),
        files,
        vertices_count: made.vertices,
        edges_count: made.edges,
        not_carried: made.not_carried,
        seconds: began.elapsed().as_secs_f64(),
    };
    report.show(context, to_standard_output)
}

/// What a job of a server wrote.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteExport {
    files: Vec<FileRow>,
    vertices: u64,
    edges: u64,
    not_carried: Vec<String>,
}

impl ExportArguments {
    fn options(&self, context: &Context) -> Result<ExportOptions> {
        let format = match self.format {
            Some(FormatArgument::Csv) => ExportFormat::Csv,
            Some(FormatArgument::Parquet) => ExportFormat::Parquet,
            Some(FormatArgument::Graphson) => ExportFormat::GraphSon,
            Some(FormatArgument::Graphml) => ExportFormat::GraphMl,
            Some(FormatArgument::Edgelist) => ExportFormat::EdgeList,
            None => self.guess()?,
        };
        let packing = self.pack.map(|packing| match packing {
            PackingArgument::None => Packing::None,
            PackingArgument::Gzip => Packing::Gzip,
            PackingArgument::Zstd => Packing::Zstd,
        });
        Ok(ExportOptions {
            overwrite: self.overwrite,
            packing,
            labels: self.labels.clone(),
            types: self.types.clone(),
            edge_columns: self.columns.clone(),
            vertex_columns: self.vertex_columns.clone(),
            cancel: context.cancel.clone(),
            ..ExportOptions::new(format, &self.output)
        })
    }

    /// The format that the output tells.
    fn guess(&self) -> Result<ExportFormat> {
        let known = ExportFormat::of_path(&self.output).filter(|_| self.output != Path::new("-"));
        // A folder may have any name.
        known.or_else(|| self.output.is_dir().then_some(ExportFormat::Csv)).ok_or_else(|| {
            let output = self.output.display();
            Error::invalid(format!(
                "--output {output}: the name does not determine the format; use --format csv, parquet, graphson, \
                 graphml or edgelist (CSV and Parquet are folders of files)"
            ))
        })
    }
}

/// What to tell of `error`: nothing, if nobody reads standard output any longer.
fn failure(error: Error, to_standard_output: bool) -> Failure {
    let is_closed = error
        .causes()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|system| system.kind() == io::ErrorKind::BrokenPipe);
    if is_closed && to_standard_output { Failure::ClosedPipe } else { error.into() }
}

/// What an export did.
#[derive(Debug, Serialize)]
struct ExportReport {
    database: String,
    output: String,
    format: &'static str,
    files: Vec<FileRow>,
    vertices_count: u64,
    edges_count: u64,
    not_carried: Vec<String>,
    seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileRow {
    name: String,
    rows: u64,
    bytes: u64,
}

impl ExportReport {
    fn show(&self, context: &Context, to_standard_output: bool) -> std::result::Result<(), Failure> {
        if to_standard_output {
            context.console.note(self.to_string().trim_end());
            return Ok(());
        }
        context.console.summary(self)
    }
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} and {} written to {} in {}",
            visible(&self.database),
            counted(self.vertices_count, "vertex", "vertices"),
            counted(self.edges_count, "edge", "edges"),
            output_name(&self.output),
            time(Duration::from_secs_f64(self.seconds)),
        )?;
        let bytes = self.files.iter().map(|file| file.bytes).sum();
        let files = counted(self.files.len() as u64, "file", "files");
        writeln!(f, "{files} of {}, {} in all", self.format, size(bytes))?;
        if !self.not_carried.is_empty() {
            writeln!(f, "not carried:")?;
        }
        self.not_carried.iter().try_for_each(|loss| writeln!(f, "  {}", visible(loss)))
    }
}
