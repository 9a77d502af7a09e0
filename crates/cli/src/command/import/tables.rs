//! Tables: a PostgreSQL database as what is imported. Its tables are copied at one moment, and nothing follows them.

use crate::command::import::arguments::{ImportArguments, OnDuplicateArgument, OnError, OnUnknownArgument};
use crate::command::import::report::{BadRowsReport, ImportReport, ProposedMapping};
use crate::context::Context;
use crate::loading::Destination;
use crate::target::Target;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::mapping::table::{RowRule, TableRule};
use evergraph::import::options::ImportOptions;
use evergraph_graph::count::counted;
use evergraph_graph::error::{Error, Result};
use evergraph_replica::copy::missing_ends::MissingEnds;
use evergraph_replica::copy::options::{CopyOptions, CopyProgress};
use evergraph_replica::copy::run::{CopiedGraph, copy_tables_beside, estimate_rows, indexes_of};
use evergraph_replica::mapping::check::{MissingRight, missing_rights};
use evergraph_replica::mapping::plan::Plan;
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::source::postgres::shared_snapshot::SharedSnapshot;
use evergraph_replica::translate::loss::LossCause;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, rate};
use std::path::Path;
use std::time::Instant;

/// The name of a mapping that nobody wrote.
const PROPOSED: &str = "the proposed mapping";

/// The URL of the database that is imported, if that is what the arguments name.
pub(super) fn source_url(arguments: &ImportArguments) -> Option<&str> {
    let files = arguments.files.iter().filter_map(|path| path.to_str());
    let first = match &arguments.database {
        // To propose needs no database: the first text may be what is read.
        Some(Target::Server(url)) if arguments.propose => Some(url.text()),
        _ => None,
    };
    first.into_iter().chain(files).find(|text| ConnectionSettings::is_url(text))
}

/// Copies the tables of the database at `url` and loads them, or proposes a mapping for them.
///
/// # Errors
/// What is wrong with the arguments, the mapping and the rows; the server's errors; those of opening and loading.
pub(super) fn execute(
    arguments: &ImportArguments,
    url: &str,
    context: &Context,
) -> std::result::Result<(), Failure> {
    arguments.access.refuse()?;
    refuse_others(arguments, url)?;
    let settings = ConnectionSettings::from_url(url).map_err(Error::from)?;
    let mut source = PostgresSource::new(settings.clone(), context.cancel.clone());
    if arguments.propose {
        let mapping = propose(&source.catalogue().map_err(Error::from)?)?;
        return context.console.result(&ProposedMapping { mapping });
    }
    let database = match &arguments.database {
        Some(Target::Folder(path)) => path,
        Some(Target::Server(_)) => {
            let text = "tables are copied into a folder on this machine: name one in place of the server's URL, and serve it \
                        afterwards";
            return Err(Error::invalid(text).into());
        }
        None => return Err(Error::invalid("name the database to add to, before the URL").into()),
    };
    let destination = Destination::new(database, arguments.engine, context)?;
    let read = arguments.mapping.as_deref().map(Mapping::read).transpose()?;
    let catalogue = source.catalogue().map_err(Error::from)?;
    let mapping = match read {
        Some(mapping) => mapping,
        None => Mapping::parse(PROPOSED, &propose(&catalogue)?, Path::new("."))?,
    };
    if let Some(file) = mapping.rules.first() {
        let text = format!(
            "the mapping has rules for files ({}) beside those for tables: keep these in a mapping file of their own",
            file.pattern
        );
        return Err(Error::invalid(text).into());
    }
    let plan = resolve(&mapping.tables, &catalogue).map_err(Error::from)?;
    check_rights(&plan, &catalogue, &settings.user)?;
    let memory_bytes = match arguments.memory.or(destination.import_memory_bytes()?) {
        Some(bytes) => bytes,
        None => ImportOptions::new([]).memory_bytes(),
    };
    let options = CopyOptions {
        missing: MissingEnds::Dropped,
        rows_estimate: estimate_rows(&plan, &catalogue),
        ..CopyOptions::new(memory_bytes, arguments.temporary_folder(database))
    };
    let shares = options.memory_shares();
    let reading = destination.reserve_for_reading(shares)?;
    let meter = context.console.meter();
    let began = Instant::now();
    let snapshot = SharedSnapshot::export(&settings, &context.cancel).map_err(Error::from)?;
    let tell = |now: &CopyProgress| {
        meter.tell("read", now.fraction, || {
            let rate = rate(now.rows, now.elapsed, "rows");
            format!(
                "{}, {} rows, {rate}, table {} of {}",
                now.table,
                count(now.rows),
                now.tables_done,
                now.tables_total
            )
        });
    };
    let (known, at) = (destination.known(), Some(snapshot.name()));
    let copied = copy_tables_beside(&mut source, &plan, at, &options, known, &tell, &context.cancel)?;
    drop((snapshot, reading));
    let mut notes = notes_of(&copied, &mapping.tables);
    if arguments.mapping.is_none() {
        notes.push("the mapping was proposed from the keys of the tables: evergraph import --propose URL prints it, to edit it and give it to --mapping".to_owned());
    }
    let CopiedGraph { load, missing_edges, mut created, spilled_bytes, .. } = copied;
    created.unknown = missing_edges.values().sum();
    let read_seconds = began.elapsed().as_secs_f64();
    let indexes = indexes_of(&plan, options.missing);
    let load = destination.with_indexes(indexes).load(load, Some(shares), read_seconds, &meter, context)?;
    drop(meter);
    context.console.summary(&ImportReport {
        load,
        bad_rows: BadRowsReport { count: 0, first: Vec::new(), report: None },
        settled: created.into(),
        memory_bytes: Some(memory_bytes),
        spilled_bytes,
        notes,
        ignored_files: Vec::new(),
        guessed_files: Vec::new(),
    })
}

/// Refuses what is said about files, and files beside the database.
fn refuse_others(arguments: &ImportArguments, url: &str) -> Result<()> {
    let is_source = |path: &Path| path.to_str() == Some(url);
    let files = arguments.files.iter().find(|path| !is_source(path));
    if let Some(other) = files {
        return Err(Error::invalid(format!(
            "{}: a database is imported by itself: import files before or after it",
            ConnectionSettings::without_password(&other.display().to_string())
        )));
    }
    let options = [
        ("--nodes", !arguments.nodes.is_empty()),
        ("--edges", !arguments.edges.is_empty()),
        ("--relationships", !arguments.relationships.is_empty()),
        ("--vertex-list", !arguments.vertex_lists.is_empty()),
        ("--graphson", !arguments.graphson.is_empty()),
        ("--graphml", !arguments.graphml.is_empty()),
        ("--delimiter", arguments.delimiter.is_some()),
        ("--quote", arguments.quote.is_some()),
        ("--escape", arguments.escape.is_some()),
        ("--null", arguments.null.is_some()),
        ("--header", arguments.header.is_some()),
        ("--replace-header", arguments.replace_header.is_some()),
        ("--first-line", arguments.first_line.is_some()),
        ("--label", arguments.label.is_some()),
        ("--type", arguments.edge_type.is_some()),
        ("--vertices", arguments.vertices.is_some()),
        ("--columns", arguments.columns.is_some()),
        ("--vertex-columns", arguments.vertex_columns.is_some()),
        ("--vertex-id", arguments.vertex_id.is_some()),
        ("--edge-id", arguments.edge_id.is_some()),
        ("--on-duplicate", arguments.on_duplicate != OnDuplicateArgument::Fail),
        ("--on-unknown", arguments.on_unknown != OnUnknownArgument::Fail),
        ("--on-error", arguments.on_error != OnError::Stop),
        ("--max-bad", arguments.max_bad.is_some()),
        ("--report", arguments.report.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::invalid(format!(
            "{option} is about files: leave it out; what becomes of a table's rows is said by --mapping, with `missing` for ends \
             that are not there and `on-unfit` for values that have no counterpart"
        ))),
        None => Ok(()),
    }
}

/// Complains about a table that this role may not read whole, before an hour of reading others.
fn check_rights(plan: &Plan, catalogue: &Catalogue, user: &str) -> Result<()> {
    match missing_rights(plan, catalogue, user).next() {
        None => Ok(()),
        Some(MissingRight { cause, remedy }) => Err(Error::invalid(format!("{cause}: {remedy}"))),
    }
}

/// What of the rows is not in the graph: a sentence each.
fn notes_of(copied: &CopiedGraph, rules: &[TableRule]) -> Vec<String> {
    let title = |rule: usize| match &rules[rule].row {
        RowRule::Vertex { label, .. } => format!("table {}, label {label}", rules[rule].table),
        RowRule::Edge { edge_type, .. } => format!("table {}, type {edge_type}", rules[rule].table),
    };
    let losses = copied.losses.iter().map(|(rule, cause, count)| {
        let rows = counted(count, "row", "rows");
        let what = match cause {
            LossCause::Condition => format!("{rows} left out by `where`"),
            LossCause::UnfitCondition => {
                format!("{rows} left out: `where` reads a value that has no counterpart")
            }
            LossCause::UnfitKey => format!("{rows} left out: the key has no counterpart"),
            LossCause::NullEnd => format!("{rows} without an edge: a column of an end is null"),
            LossCause::UnfitEnd => format!("{rows} without an edge: the key of an end has no counterpart"),
            LossCause::UnfitValue => {
                format!("{} without a counterpart left out", counted(count, "value", "values"))
            }
        };
        format!("{}: {what}", title(rule))
    });
    let missing = copied.missing_edges.iter().map(|(rule, count)| {
        format!("{}: {} to a row that is not there left out", title(*rule), counted(*count, "edge", "edges"))
    });
    losses.chain(missing).collect()
}
