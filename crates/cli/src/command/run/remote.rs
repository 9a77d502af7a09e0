//! Remote: an algorithm that a server runs, and its answer printed and written as that of a folder is.
//!
//! ```text
//! schema ──> catalogue ──> scope, keys, sources (look-ups in Gremlin) ──> request ──> answer, with names ──> outcome
//! ```
//!
//! The server reads its newest commit three times: for the schema, for each source, and for the answer. What changed in
//! between is in the answer; a schema that does not fit it any more is an error.

use crate::command::run::arguments::RunRequest;
use crate::command::run::keys::{KeyKind, Keys};
use crate::command::run::names;
use crate::command::run::outcome::RunOutcome;
use crate::command::run::parameters::arguments as arguments_of;
use crate::command::run::scope::scope;
use crate::command::run::vertex_naming::VertexNaming;
use crate::context::Context;
use crate::schema_catalogue::catalogue;
use crate::target::UncheckedUrl;
use evergraph_algorithms::scope::Scope;
use evergraph_analysis::arguments::{Argument, Arguments};
use evergraph_analysis::names::{PropertyCondition, ScopeNames};
use evergraph_client::algorithm::{AlgorithmRequest, NameKey};
use evergraph_client::algorithm_answer::{AlgorithmAnswer, RowKey, RowNames};
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::filter::Filter;
use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_report::vertex_names::{VertexKey, VertexName};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::result_file::ResultFile;
use std::sync::Arc;
use std::time::Instant;

/// Runs the algorithm on the server, and reports.
///
/// # Errors
/// `not_found` for an unknown name or source; those of connecting, of the algorithm and the server's limits, and of writing;
/// `conflict` if the schema changed meanwhile.
pub fn execute(
    url: &UncheckedUrl,
    request: &RunRequest,
    file: Option<ResultFile>,
    context: &Context,
) -> std::result::Result<(), Failure> {
    let RunRequest { algorithm, given, common } = request;
    let meter = context.console.meter();
    let began = Instant::now();
    meter.tell("connect", None, String::new);
    let client = common.access.connect(url, context)?;
    let catalogue = Arc::new(catalogue(&client.admin().schema()?)?);
    let connect = began.elapsed();
    context.cancel.check()?;

    let scope = scope(&catalogue, common)?;
    let keys = Keys::new(Arc::clone(&catalogue), scope.labels.as_deref(), common.key.as_deref())?;
    let mut look_up = |label, key, value: &Value| {
        let (label, key) = (catalogue.label_name(label), catalogue.key_name(key));
        vertex_of(&client, [&label, &key], value, &context.cancel)
    };
    let find = |option: &str, text: &str| keys.find(&mut look_up, option, text);
    let arguments = arguments_of(algorithm.parameters, given, find)?;
    check_properties(&catalogue, &arguments)?;
    meter.tell("compute on the server", None, String::new);
    let asked = AlgorithmRequest::new(algorithm, arguments.clone());
    let asked = asked.scope(scope_names(&catalogue, &scope)).cancel(&context.cancel);
    let by = common.key.clone().map_or(NameKey::Unique, NameKey::Property);
    let AlgorithmAnswer { answer, names, timestamp, frozen, freezing_time, kernel_time } =
        client.algorithm_answer(&asked, by)?;
    let naming = ReceivedNaming::new(answer.vertices.clone(), names, &keys);
    let outcome = RunOutcome {
        database: client.url().to_string(),
        first_step: ("connected", connect),
        timestamp,
        frozen,
        freezing_time,
        kernel_time,
        arguments,
        answer,
    };
    client.close();
    outcome.report(request, &keys, &naming, file, meter, context)
}

/// The vertex of a label that has this value of a unique key.
fn vertex_of(
    client: &Client,
    [label, key]: [&str; 2],
    value: &Value,
    cancel: &CancelFlag,
) -> Result<Option<VertexId>> {
    let query = Query::text("g.V().has(vertexLabel, vertexKey, keyValue).id()").cancel(cancel);
    let query = query.bind("vertexLabel", label).bind("vertexKey", key).bind("keyValue", value.clone());
    let found = client.query(&query)?.collect()?;
    let vertex = |found: &ResultValue| match found {
        ResultValue::Value(value) => u32::try_from(value.as_i64()?).ok().map(VertexId),
        _ => None,
    };
    match &found[..] {
        [] => Ok(None),
        [first, ..] => vertex(first).map(Some).ok_or_else(|| {
            let text = "the server's answer to a look-up is no number of a vertex; is the server of another version?";
            Error::new(ErrorKind::Io, text)
        }),
    }
}

/// Refuses properties that the graph does not have, in the words of a folder.
fn check_properties(catalogue: &Catalogue, arguments: &Arguments) -> Result<()> {
    for (_, argument) in arguments.iter() {
        if let Argument::Property(name) = argument {
            names::key(catalogue, name)?;
        }
    }
    Ok(())
}

/// The same part of the graph by its names.
fn scope_names(catalogue: &Catalogue, scope: &Scope) -> ScopeNames {
    let conditions = |filters: &[Filter]| {
        let condition = |filter: &Filter| PropertyCondition {
            key: catalogue.key_name(filter.key).to_string(),
            condition: filter.condition.clone(),
        };
        filters.iter().map(condition).collect()
    };
    let labels = scope.labels.iter().flatten().map(|label| catalogue.label_name(*label).to_string());
    let types =
        scope.types.iter().flatten().map(|edge_type| catalogue.edge_type_name(*edge_type).to_string());
    ScopeNames {
        labels: labels.collect(),
        types: types.collect(),
        vertices: conditions(&scope.vertex_filters),
        edges: conditions(&scope.edge_filters),
    }
}

/// The names that came with the rows of an answer.
struct ReceivedNaming<'a> {
    vertices: Vec<VertexId>,
    /// Rows in the order of their vertices, unless they are in that order anyway.
    rows_by_vertex: Option<Vec<usize>>,
    names: RowNames,
    keys: &'a Keys,
    kind: KeyKind,
}

impl<'a> ReceivedNaming<'a> {
    fn new(vertices: Vec<VertexId>, names: RowNames, keys: &'a Keys) -> Self {
        let rows_by_vertex = (!vertices.is_sorted()).then(|| {
            let mut rows: Vec<usize> = (0..vertices.len()).collect();
            rows.sort_unstable_by_key(|row| vertices[*row]);
            rows
        });
        Self { vertices, rows_by_vertex, names, keys, kind: keys.kind() }
    }

    /// One of the rows of a vertex, all of which have the same name.
    fn row(&self, vertex: VertexId) -> usize {
        let found = match &self.rows_by_vertex {
            None => self.vertices.binary_search(&vertex),
            Some(rows) => {
                rows.binary_search_by_key(&vertex, |row| self.vertices[*row]).map(|place| rows[place])
            }
        };
        found.expect("what is printed is in the answer")
    }
}

impl VertexNaming for ReceivedNaming<'_> {
    fn names(&self, vertices: &[VertexId]) -> Result<Vec<VertexName>> {
        let catalogue = self.keys.names().catalogue();
        let name = |vertex: &VertexId| {
            let name = self.names.name(self.row(*vertex));
            let key = match name.key {
                RowKey::Number(number) => VertexKey::Value(number.into()),
                RowKey::Text(text) => VertexKey::Value(text.into()),
                RowKey::Missing => VertexKey::Missing,
            };
            let is_new = matches!(name.key, RowKey::Text(_)) && self.kind == KeyKind::Whole;
            let label = catalogue.label(name.label).filter(|label| self.keys.has_label(*label));
            match label {
                // Columns of the output depend on the schema.
                Some(label) if !is_new => Ok(VertexName { label: catalogue.label_name(label), key }),
                _ => {
                    let text = "the schema of the database changed while the algorithm ran: run it again";
                    Err(Error::conflict(text))
                }
            }
        };
        vertices.iter().map(name).collect()
    }
}
