//! Contender: a server under test, how it is asked, and what it calls people.

use crate::plan::wrong;
use crate::workload::server::exchange::{Carrier, Exchange};
use crate::workload::server::generator::{Load, Outcome, Repeated, Source, Unit};
use crate::workload::server::people::People;
use crate::workload::server::question::{Asked, Question};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::transaction::Isolation;
use evergraph_graph::value::Value;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Alias, Operation, QueryOptions, Request, Session};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::Call;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tungstenite::Bytes;
use uuid::Uuid;

/// The path of Neo4j's transactions of one request.
const NEO4J_PATH: &str = "/db/neo4j/tx/commit";
/// Answers that are compared before a question is timed.
const COMPARED: usize = 16;

/// How a server is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Bytecode in GraphBinary over WebSocket, of a traversal source.
    Bytecode {
        /// Its name.
        source: &'static str,
    },
    /// Gremlin as text in JSON, by HTTP.
    GremlinText,
    /// Cypher in JSON, by HTTP.
    Cypher,
}

/// A server under test.
pub struct Contender {
    /// Its name in results.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is asked.
    pub dialect: Dialect,
    /// The ids of those asked, in their order; empty for one that is never asked by id.
    pub ids: Vec<Value>,
    /// The isolation level that requests of bytecode name, of Evergraph alone.
    pub isolation: Option<Isolation>,
}

impl Contender {
    /// One that has not learnt ids.
    #[must_use]
    pub const fn new(name: &'static str, address: SocketAddr, dialect: Dialect) -> Self {
        Self { name, address, dialect, ids: Vec::new(), isolation: None }
    }

    /// How it is reached.
    #[must_use]
    pub const fn carrier(&self) -> Carrier {
        match self.dialect {
            Dialect::Bytecode { .. } => Carrier::WebSocket,
            Dialect::GremlinText | Dialect::Cypher => Carrier::Http,
        }
    }

    /// Asks for the ids of those asked.
    ///
    /// # Errors
    /// `corrupt` if it does not know one.
    pub fn learn_ids(&mut self, people: &People) -> Result<()> {
        let mut exchange = Exchange::connect(self.address, self.carrier())?;
        for person in &people.asked {
            let number = Value::from(i64::from(*person));
            let request = match self.dialect {
                Dialect::Bytecode { .. } | Dialect::GremlinText => {
                    self.text_request("g.V().has('Person', 'number', n).id()", &[("n", number)])?
                }
                Dialect::Cypher => cypher_request(
                    self.address,
                    "MATCH (p:Person {number: $n}) RETURN elementId(p)",
                    &[("n", number)],
                ),
            };
            let found = self.results(&mut exchange, &request)?;
            let [id] = &found[..] else {
                return Err(wrong(self.name, &format!("the id of person {person}"), found, "one"));
            };
            self.ids.push(id.clone());
        }
        Ok(())
    }

    /// A request for one question.
    ///
    /// # Errors
    /// `invalid` if the format has no form for an argument.
    pub fn request(&self, people: &People, asked: &Asked) -> Result<Bytes> {
        let variables = self.variables(people, asked);
        match self.dialect {
            Dialect::Bytecode { .. } => self.message(asked.question.bytecode(&variables)?, None, Uuid::nil()),
            Dialect::GremlinText => self.text_request(asked.question.gremlin(), &variables),
            Dialect::Cypher => Ok(cypher_request(self.address, asked.question.cypher(), &variables)),
        }
    }

    /// The values of the variables of a question.
    #[must_use]
    pub fn variables(&self, people: &People, asked: &Asked) -> Vec<(&'static str, Value)> {
        match asked.question {
            Question::ByIndex => vec![("n", i64::from(people.asked[asked.of]).into())],
            Question::Rows => vec![("n", (asked.of as i64).into())],
            Question::ById | Question::TwoHops => vec![("v", self.ids[asked.of].clone())],
            Question::AddEdge => {
                vec![("v", self.ids[asked.of].clone()), ("w", self.ids[asked.to].clone())]
            }
        }
    }

    /// The requests of a transaction of drivers: a question, its commit, and the end of its session.
    ///
    /// # Errors
    /// As [`Contender::request`].
    pub fn transaction(&self, people: &People, asked: &Asked, number: u128) -> Result<Unit> {
        let id = Uuid::from_u128(number + 1);
        let session = Session { id: id.to_string().into(), manages_transactions: false };
        let bytecode = asked.question.bytecode(&self.variables(people, asked))?;
        let commit = Bytecode::new(vec![Call::new("tx", []), Call::new("commit", [])], Vec::new());
        let close = Request { id, operation: Operation::Close { session: session.id.clone() } };
        Ok(vec![
            self.message(bytecode, Some(session.clone()), id)?,
            self.message(commit, Some(session), id)?,
            encoded(&close)?,
        ])
    }

    fn message(&self, bytecode: Bytecode, session: Option<Session>, id: Uuid) -> Result<Bytes> {
        let Dialect::Bytecode { source } = self.dialect else {
            return Err(Error::invalid(format!("{} takes no bytecode", self.name)));
        };
        let alias = Alias { alias: "g".into(), name: source.into() };
        let isolation = self.isolation;
        let options = QueryOptions { aliases: vec![alias], session, isolation, ..QueryOptions::default() };
        encoded(&Request { id, operation: Operation::Bytecode { bytecode, options } })
    }

    /// A request for a text of Gremlin.
    ///
    /// # Errors
    /// As [`Contender::request`].
    pub fn text_request(&self, text: &str, variables: &[(&str, Value)]) -> Result<Bytes> {
        if let Dialect::Bytecode { .. } = self.dialect {
            let mut bindings = Bindings::new();
            variables.iter().for_each(|(name, value)| bindings.bind(*name, value.clone()));
            let query = read(text, &ParseLimits::default(), &bindings)
                .map_err(|error| Error::invalid(format!("{text}: {error}")))?;
            // Others know `withSack` and the like as instructions of the source alone.
            let sources = query.calls.iter().take_while(|call| call.name.starts_with("with")).count();
            let mut calls = query.calls;
            let steps = calls.split_off(sources);
            return self.message(Bytecode::new(calls, steps), None, Uuid::nil());
        }
        let body = json!({ "gremlin": text, "bindings": parameters(variables) });
        Ok(post(self.address, "/gremlin", &body.to_string()))
    }

    /// Asks, and gives the values that it answers with.
    ///
    /// # Errors
    /// `corrupt` for an error in place of an answer.
    pub fn results(&self, exchange: &mut Exchange, request: &Bytes) -> Result<Vec<Value>> {
        let (code, frames) = exchange.ask(request)?;
        let value = |result| match result {
            ResultValue::Value(value) => Ok(value),
            other => Err(wrong(self.name, "what is no value", other, "a value")),
        };
        self.read(code, &frames)?.into_iter().map(value).collect()
    }

    /// The results in an answer. Of Cypher a row of one column is its value, another one a map.
    ///
    /// # Errors
    /// `corrupt` for an error in place of an answer.
    pub fn read(&self, code: i32, frames: &[Bytes]) -> Result<Vec<ResultValue>> {
        let mut results = Vec::new();
        for frame in frames {
            match self.dialect {
                Dialect::Bytecode { .. } | Dialect::GremlinText => {
                    let response = self.response(frame)?;
                    if !matches!(response.code, 200..=206) {
                        return Err(wrong(self.name, "an error", (response.code, response.message), 200));
                    }
                    for result in response.results {
                        results.extend((0..result.bulk).map(|_| result.value.clone()));
                    }
                }
                Dialect::Cypher => {
                    let body: serde_json::Value = serde_json::from_slice(frame)
                        .map_err(|error| wrong(self.name, "what is no JSON", error.to_string(), "JSON"))?;
                    if !matches!(code, 200..=204) {
                        return Err(wrong(self.name, "an error", body.to_string(), 200));
                    }
                    let answer = &body["results"][0];
                    let columns: Vec<&serde_json::Value> =
                        answer["columns"].as_array().into_iter().flatten().collect();
                    let row = |row: &serde_json::Value| {
                        let mut values = row["row"].as_array().into_iter().flatten().map(result_of);
                        match columns.len() {
                            1 => values.next().unwrap_or(ResultValue::Null),
                            _ => ResultValue::Map(
                                columns.iter().map(|column| result_of(column)).zip(values).collect(),
                            ),
                        }
                    };
                    results.extend(answer["data"].as_array().into_iter().flatten().map(row));
                }
            }
        }
        Ok(results)
    }

    /// A frame of an answer to Gremlin.
    ///
    /// # Errors
    /// `corrupt` if it is none.
    pub fn response(&self, frame: &Bytes) -> Result<Response> {
        let format = match self.dialect {
            Dialect::Bytecode { .. } => Format::GraphBinary,
            _ => Format::GraphSon,
        };
        Response::read(format, frame)
            .map_err(|error| wrong(self.name, "what is no response", error.to_string(), "a response"))
    }

    /// Compares some answers with what they should be.
    ///
    /// # Errors
    /// `corrupt`, with the question.
    pub fn compare(&self, people: &People, asked: &[Asked]) -> Result<()> {
        let mut exchange = Exchange::connect(self.address, self.carrier())?;
        for asked in asked.iter().take(COMPARED) {
            let found = self.results(&mut exchange, &self.request(people, asked)?)?;
            let found: Vec<String> = found.iter().map(text_of).collect();
            let expected = asked.expected(people);
            if !expected.is_met_by(&found) {
                let found = &found[..found.len().min(5)];
                return Err(wrong(self.name, &format!("{asked:?}"), found, expected));
            }
        }
        Ok(())
    }

    /// Requests for questions, each a unit.
    ///
    /// # Errors
    /// As [`Contender::request`].
    pub fn units(&self, people: &People, asked: &[Asked]) -> Result<Vec<Unit>> {
        asked.iter().map(|asked| Ok(vec![self.request(people, asked)?])).collect()
    }

    /// Lets connections ask again and again.
    ///
    /// # Errors
    /// As [`Load::run`].
    pub fn load(
        &self,
        units: &[Unit],
        connections: usize,
        warm_up: Duration,
        time: Duration,
    ) -> Result<Outcome> {
        self.run(&mut Repeated::new(self.name, units, connections), connections, warm_up, time)
    }

    /// Lets connections ask what `source` gives them.
    ///
    /// # Errors
    /// As [`Load::run`].
    pub fn run(
        &self,
        source: &mut impl Source,
        connections: usize,
        warm_up: Duration,
        time: Duration,
    ) -> Result<Outcome> {
        let (who, address, carrier) = (self.name, self.address, self.carrier());
        Load { who, address, carrier, connections, warm_up, time }.run(source)
    }
}

/// A value of Cypher's answers.
fn result_of(json: &serde_json::Value) -> ResultValue {
    match json {
        serde_json::Value::Null => ResultValue::Null,
        serde_json::Value::Bool(truth) => ResultValue::Value((*truth).into()),
        serde_json::Value::Number(number) => ResultValue::Value(match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        }),
        serde_json::Value::String(text) => ResultValue::Value((&**text).into()),
        serde_json::Value::Array(items) => ResultValue::List(items.iter().map(result_of).collect()),
        serde_json::Value::Object(members) => {
            let member =
                |(name, value): (&String, _)| (ResultValue::Value((&**name).into()), result_of(value));
            ResultValue::Map(members.iter().map(member).collect())
        }
    }
}

/// A value as every server shows it.
fn text_of(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.as_i64().map_or_else(|| value.to_string(), |number| number.to_string()),
    }
}

/// A request as a message of GraphBinary.
///
/// # Errors
/// `invalid` if it has no form for an argument.
pub fn encoded(request: &Request) -> Result<Bytes> {
    let message = request.to_message(Format::GraphBinary);
    message.map(Bytes::from).map_err(|error| Error::invalid(format!("a request cannot be sent: {error}")))
}

fn parameters(variables: &[(&str, Value)]) -> serde_json::Value {
    let json = |value: &Value| match value.as_i64() {
        Some(number) => json!({ "@type": "g:Int64", "@value": number }),
        None => json!(text_of(value)),
    };
    serde_json::Value::Object(
        variables.iter().map(|(name, value)| ((*name).to_owned(), json(value))).collect(),
    )
}

/// A request of Neo4j's, a transaction of one statement.
pub fn cypher_request(address: SocketAddr, text: &str, variables: &[(&str, Value)]) -> Bytes {
    let json = |value: &Value| value.as_i64().map_or_else(|| json!(text_of(value)), |number| json!(number));
    let named = |(name, value): &(&str, Value)| ((*name).to_owned(), json(value));
    statement_request(address, text, &serde_json::Value::Object(variables.iter().map(named).collect()))
}

/// The same with parameters of any form.
pub fn statement_request(address: SocketAddr, text: &str, parameters: &serde_json::Value) -> Bytes {
    let body = json!({ "statements": [{ "statement": text, "parameters": parameters }] });
    post(address, NEO4J_PATH, &body.to_string())
}

fn post(address: SocketAddr, path: &str, body: &str) -> Bytes {
    let length = body.len();
    Bytes::from(format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}
