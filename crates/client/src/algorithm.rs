//! Algorithm: runs one on a server, and reads its rows as an Arrow table.
//!
//! ```text
//! POST /databases/NAME/algorithms/ALGORITHM   {"damping": 0.9, "labels": ["Person"], "where": [["born", ">=", 1990]]}
//! Accept: application/vnd.apache.arrow.stream
//! ```
//!
//! Parameters are checked here against the table of algorithms, as in an embedded database. A request that is dropped or
//! cancelled closes its connection, which stops the algorithm on the server.

use crate::admin::answer::Answer;
use crate::arrow_stream::read_table;
use crate::client::Client;
use crate::connection::RequestFailure;
use crate::http::send::{HttpBody, HttpRequest, Login, send};
use crate::interrupt::Interrupt;
use crate::wait_limit::WaitLimit;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use evergraph_analysis::algorithm::Algorithm;
use evergraph_analysis::arguments::{Argument, Arguments};
use evergraph_analysis::column::ColumnKind;
use evergraph_analysis::names::{PropertyCondition, ScopeNames, camel_case};
use evergraph_analysis::parameter::direction_name;
use evergraph_formats::graphson::value_write::write_value;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::filter::Condition;
use evergraph_graph::value::Value as GraphValue;
use serde_json::{Map, Value, json};
use std::time::Duration;
use ureq::http::Method;

/// The format of tables.
const ARROW: &str = "application/vnd.apache.arrow.stream";
/// Bytes of an answer that is an error.
const ERROR_BYTES_MAX: u64 = 64 << 10;

/// An algorithm, and what was chosen about it.
#[derive(Clone, Debug)]
pub struct AlgorithmRequest {
    algorithm: &'static Algorithm,
    arguments: Arguments,
    scope: ScopeNames,
    keys: Vec<String>,
    names: Option<NameKey>,
    has_summary: bool,
    interrupt: Interrupt,
}

/// By what vertices are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameKey {
    /// By the unique key of their label, or their number.
    Unique,
    /// By this property.
    Property(String),
}

/// What vertices are called: the last columns of a table with names.
pub(crate) const NAME_COLUMNS: [(&str, DataType); 3] =
    [("label", DataType::LargeUtf8), ("key", DataType::LargeUtf8), ("key_number", DataType::Int64)];

/// The rows of an algorithm.
#[derive(Clone, PartialEq, Debug)]
pub struct AlgorithmTable {
    /// The columns. The metadata are figures about the whole answer.
    pub schema: SchemaRef,
    /// The rows, in parts.
    pub batches: Vec<RecordBatch>,
}

impl AlgorithmRequest {
    /// `algorithm` with these arguments, on the whole graph.
    #[must_use]
    pub fn new(algorithm: &'static Algorithm, arguments: Arguments) -> Self {
        let (scope, interrupt) = (ScopeNames::default(), Interrupt::default());
        Self { algorithm, arguments, scope, keys: Vec::new(), names: None, has_summary: false, interrupt }
    }

    /// The same on a part of the graph.
    #[must_use]
    pub fn scope(self, scope: ScopeNames) -> Self {
        Self { scope, ..self }
    }

    /// The same with these properties of the vertices as further columns, such as their unique key.
    #[must_use]
    pub fn keys(self, keys: Vec<String>) -> Self {
        Self { keys, ..self }
    }

    /// The same with what people call the vertices, their label and key, as the last columns, in place of
    /// [`keys`](Self::keys); and with a summary of the answer. [`AlgorithmAnswer`](crate::algorithm_answer::AlgorithmAnswer) reads both.
    #[must_use]
    pub(crate) fn with_names_and_summary(self, by: NameKey) -> Self {
        Self { names: Some(by), has_summary: true, keys: Vec::new(), ..self }
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// The same, stopped by `interrupt`.
    #[must_use]
    pub fn cancel(self, interrupt: impl Into<Interrupt>) -> Self {
        Self { interrupt: interrupt.into(), ..self }
    }

    /// The body of the request.
    fn json(&self) -> Value {
        let mut members = Map::new();
        for (parameter, argument) in self.arguments.iter() {
            let value = match argument {
                Argument::Nothing => continue,
                Argument::Boolean(value) => (*value).into(),
                Argument::Whole(number) => (*number).into(),
                Argument::Real(number) if number.is_finite() => (*number).into(),
                Argument::Real(number) => typed(&(*number).into()),
                Argument::Direction(direction) => direction_name(*direction).into(),
                Argument::Vertex(vertex) => vertex.0.into(),
                Argument::Vertices(vertices) => vertices.iter().map(|vertex| vertex.0).collect(),
                Argument::Property(name) => name.as_str().into(),
            };
            members.insert(camel_case(parameter.name), value);
        }
        let ScopeNames { labels, types, vertices, edges } = &self.scope;
        for (name, names) in [("labels", labels), ("types", types), ("keys", &self.keys)] {
            if !names.is_empty() {
                members.insert(name.to_owned(), names.as_slice().into());
            }
        }
        for (name, conditions) in [("where", vertices), ("whereEdges", edges)] {
            if !conditions.is_empty() {
                members.insert(name.to_owned(), conditions.iter().map(condition).collect());
            }
        }
        if let Some(by) = &self.names {
            let by = match by {
                NameKey::Unique => true.into(),
                NameKey::Property(name) => name.as_str().into(),
            };
            members.insert("names".to_owned(), by);
        }
        if self.has_summary {
            members.insert("summary".to_owned(), true.into());
        }
        members.into()
    }
}

impl Client {
    /// Runs an algorithm on a snapshot of the server's database, and waits for all its rows.
    ///
    /// # Errors
    /// `not_found` for a label, a type or a property that the graph does not have; those of the algorithm; `invalid` without a
    /// role on the database; `limit` at the server's limits of time and memory, and for more than
    /// [`table_bytes_max`](crate::options::ClientOptions::table_bytes_max) bytes; `busy`, `io`, `cancelled`.
    pub fn algorithm(&self, request: &AlgorithmRequest) -> Result<AlgorithmTable> {
        let admin = self.admin().cancel(&request.interrupt);
        let path = admin.database_path(&["algorithms", request.algorithm.name])?;
        let body = request.json().to_string();
        let sent = HttpRequest {
            method: Method::POST,
            path: &path,
            accept: Some(ARROW),
            body: HttpBody::Json(body.as_bytes()),
            login: Login::User,
        };
        // It says nothing while it computes.
        let limit = WaitLimit::new(&request.interrupt);
        let response =
            send(self.destination(), sent, &limit, Duration::MAX).map_err(RequestFailure::into_error)?;
        if response.status != 200 {
            let (destination, asked, status) =
                (self.destination(), &*format!("POST {path}"), response.status);
            let body = response.bytes(ERROR_BYTES_MAX)?;
            Answer { destination, asked, query: None, status, body }.check()?;
            let text = format!("{} answered with status {status}", self.url().authority());
            return Err(Error::new(ErrorKind::Io, text));
        }
        let mut reader = response.reader();
        let (schema, batches) = read_table(|bytes| reader.fill(bytes), self.options().table_bytes_max)?;
        check_columns(&schema, request)?;
        Ok(AlgorithmTable { schema, batches })
    }
}

fn condition(PropertyCondition { key, condition }: &PropertyCondition) -> Value {
    match condition {
        Condition::Exists => key.as_str().into(),
        Condition::Compare(comparison, value) => json!([key, comparison.sign(), typed(value)]),
        Condition::In(values) => json!([key, "in", values.iter().map(typed).collect::<Vec<_>>()]),
    }
}

/// `value` in GraphSON. Numbers of any length are texts, since readers of JSON keep 64 bits of a number.
fn typed(value: &GraphValue) -> Value {
    let of_type = |name: &str, value: Value| json!({"@type": name, "@value": value});
    match value {
        GraphValue::BigInteger(number) => of_type("gx:BigInteger", number.to_string().into()),
        GraphValue::Decimal(number) => of_type("gx:BigDecimal", number.to_string().into()),
        GraphValue::List(list) => of_type("g:List", list.as_slice().iter().map(typed).collect()),
        GraphValue::Set(set) => of_type("g:Set", set.as_slice().iter().map(typed).collect()),
        GraphValue::Map(map) => {
            let entries = map.as_slice().iter();
            of_type("g:Map", entries.flat_map(|(key, value)| [typed(key), typed(value)]).collect())
        }
        scalar => {
            let mut text = String::new();
            write_value(&mut text, scalar);
            serde_json::from_str(&text).expect("GraphSON is JSON")
        }
    }
}

/// Refuses a table without the columns that were asked for.
fn check_columns(schema: &Schema, request: &AlgorithmRequest) -> Result<()> {
    let AlgorithmRequest { algorithm, keys, names, .. } = request;
    let data_type = |kind| match kind {
        ColumnKind::Vertex | ColumnKind::U64 => DataType::UInt64,
        ColumnKind::U32 => DataType::UInt32,
        ColumnKind::F64 => DataType::Float64,
    };
    let columns = algorithm.columns.iter().map(|column| (column.name, Some(data_type(column.kind))));
    let columns = columns.chain(keys.iter().map(|key| (key.as_str(), None)));
    let names = names.iter().flat_map(|_| NAME_COLUMNS).map(|(name, data_type)| (name, Some(data_type)));
    let expected: Vec<_> = columns.chain(names).collect();
    let has = |(field, (name, data_type)): (&FieldRef, &(&str, Option<DataType>))| {
        field.name() == name && data_type.as_ref().is_none_or(|data_type| field.data_type() == data_type)
    };
    let found = schema.fields();
    if found.len() == expected.len() && found.iter().zip(&expected).all(has) {
        return Ok(());
    }
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    let text = format!(
        "the rows of {} do not have the columns {}, as this version expects: is the server of another one?",
        algorithm.name,
        names.join(", ")
    );
    Err(Error::new(ErrorKind::Io, text))
}
