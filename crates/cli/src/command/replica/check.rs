//! `evergraph replica check`: what stands in the way of following a PostgreSQL database, and the SQL that mends it.

use crate::command::replica::source_url::SourceUrl;
use crate::context::Context;
use clap::Args;
use evergraph::import::mapping::document::Mapping;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::follow::options::DEFAULT_PUBLICATION;
use evergraph_replica::mapping::check::{Finding, Severity, check};
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::replica_source::ReplicaSource as _;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica check postgres://graph@db.example/shop --mapping shop.toml
  evergraph replica check postgres://graph@localhost/shop --mapping shop.toml --json

What is checked:
  That the rules of the mapping fit the tables, columns, types and keys of the
  database; the server's settings (wal_level, slots, senders) and the rights of
  the role; the publication; and the replica identity of each table. Take the
  last one seriously: as soon as a publication has a table without an identity,
  EVERY UPDATE AND DELETE OF IT FAILS AT THE SOURCE. Below each finding stands
  the SQL that mends it, where there is some: mend errors from top to bottom,
  for the publication comes last. It warns of slots of this database that no
  replica reads, for which the server keeps its log: drop those of replicas that
  are not to go on. Nothing is changed.

Exit codes:
  0 nothing stands in the way, though there may be warnings; 2 something does.
  Others: evergraph help.";

/// Arguments of `evergraph replica check`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArguments {
    /// The database to follow, as postgres://USER@HOST/DATABASE, with the role that will follow it.
    #[arg(value_name = "URL")]
    pub source: SourceUrl,
    /// The mapping: what rows become as vertices and edges.
    #[arg(long, value_name = "FILE")]
    pub mapping: PathBuf,
    /// The publication, which says at the source which tables are sent.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PUBLICATION)]
    pub publication: String,
}

/// Checks. The exit code is that of `invalid` if something stands in the way.
///
/// # Errors
/// Those of reading the mapping, of connecting and reading.
pub fn execute(arguments: &CheckArguments, context: &Context) -> std::result::Result<ExitCode, Failure> {
    let mapping = read_mapping(&arguments.mapping)?;
    let mut source = arguments.source.source(&context.cancel)?;
    let state = source.server_state().map_err(Error::from)?;
    let catalogue = source.catalogue().map_err(Error::from)?;
    let findings = check(&mapping.tables, &catalogue, &state, &arguments.publication);
    let (mut labels, mut edge_types) = (Vec::new(), Vec::new());
    let mut tables_count = 0;
    if let Ok(plan) = resolve(&mapping.tables, &catalogue) {
        tables_count = plan.tables.len();
        for table in &plan.tables {
            labels.extend(table.vertices.iter().map(|vertex| vertex.label.clone()));
            let of_keys = table.vertices.iter().flat_map(|vertex| &vertex.edges).map(|edge| &edge.edge_type);
            edge_types.extend(of_keys.chain(table.edges.iter().map(|edge| &edge.edge_type)).cloned());
        }
        edge_types.sort_unstable();
        edge_types.dedup();
    }
    let is_ready = findings.iter().all(|finding| finding.severity != Severity::Error);
    let report = CheckReport {
        source: source.settings().place(),
        mapping: arguments.mapping.display().to_string(),
        ready: is_ready,
        findings: findings.iter().map(FindingReport::of).collect(),
        tables_count,
        labels,
        edge_types,
    };
    if is_ready {
        context.console.summary(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    context.console.result(&report)?;
    Ok(ExitCode::from(ErrorKind::Invalid.exit_code()))
}

/// Reads a mapping that has to have rules for tables.
///
/// # Errors
/// Those of reading; `invalid` if it is for files.
pub fn read_mapping(path: &std::path::Path) -> Result<Mapping> {
    let mapping = Mapping::read(path)?;
    if mapping.tables.is_empty() {
        return Err(Error::invalid(format!(
            "{}: there is no [[table]] in it, which says what the rows of a table become; `evergraph replica propose` writes \
             them",
            path.display()
        )));
    }
    Ok(mapping)
}

/// What a check found.
#[derive(Debug, Serialize)]
struct CheckReport {
    source: String,
    mapping: String,
    /// Whether nothing stands in the way.
    ready: bool,
    findings: Vec<FindingReport>,
    /// Zero, with no labels and types, if the rules don't fit.
    tables_count: usize,
    labels: Vec<String>,
    edge_types: Vec<String>,
}

/// What stands in the way, or may.
#[derive(Debug, Serialize)]
struct FindingReport {
    severity: &'static str,
    cause: String,
    /// The SQL that mends it; `null` where there is none to choose.
    remedy: Option<String>,
}

impl FindingReport {
    fn of(finding: &Finding) -> Self {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Self { severity, cause: finding.cause.clone(), remedy: finding.remedy.clone() }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for FindingReport { severity, cause, remedy } in &self.findings {
            writeln!(f, "{severity}: {}", visible(cause))?;
            if let Some(remedy) = remedy {
                writeln!(f, "  {}", visible(remedy))?;
            }
        }
        let count = |severity: &str| {
            self.findings.iter().filter(|finding| finding.severity == severity).count() as u64
        };
        let (errors, warnings) = (count("error"), counted(count("warning"), "warning", "warnings"));
        let source = visible(&self.source);
        if !self.ready {
            let errors = counted(errors, "error", "errors");
            return writeln!(f, "{source} cannot be followed yet: {errors}, {warnings}");
        }
        let of = |names: &[String], one: &str, many: &str| counted(names.len() as u64, one, many);
        writeln!(
            f,
            "{source} can be followed by {}: {} become {} and {}; {warnings}",
            visible(&self.mapping),
            counted(self.tables_count as u64, "table", "tables"),
            of(&self.labels, "label", "labels"),
            of(&self.edge_types, "type of edges", "types of edges"),
        )
    }
}
