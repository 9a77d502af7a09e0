//! Request content: what a request asks for, apart from who sends it and where.

use crate::databases::name::shown;
use crate::failure::Failure;
use crate::options::ServerOptions;
use crate::outbox::FrameKind;
use crate::request_context::{Job, QueryText};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::error::RequestError;
use evergraph_protocol::request::operation::{Operation, QueryOptions, Request};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_query::gremlin::bytecode::Bytecode;
use std::sync::Arc;
use std::time::Duration;

/// Languages that `eval` may name: all of them are read as Gremlin.
const LANGUAGES: [&str; 3] = ["gremlin-groovy", "gremlin-lang", "gremlin"];

/// What a request asks for.
pub(crate) enum RequestContent {
    /// To do this, in this session, with the database of this alias, if it names one.
    Job { job: Job, session: Option<Box<str>>, alias: Option<Box<str>> },
    /// To close this session.
    Close { session: Box<str> },
}

impl RequestContent {
    /// Reads `operation`, which is no log-in.
    ///
    /// # Errors
    /// 499 for arguments that contradict each other, or that name what this server does not have.
    pub(crate) fn read(operation: Operation) -> Result<Self, Failure> {
        let (query, options) = match operation {
            Operation::Bytecode { bytecode, options } => (QueryText::Bytecode(Arc::new(bytecode)), options),
            Operation::Eval { gremlin, language, bindings, options } => {
                if let Some(language) = language.filter(|language| !LANGUAGES.contains(&&**language)) {
                    return Err(Failure::arguments(format!(
                        "the argument `language`: this server reads gremlin-groovy, as Gremlin; found {}",
                        shown(&language)
                    )));
                }
                (QueryText::Text(gremlin.into(), bindings), options)
            }
            Operation::Authentication { .. } => return Err(Failure::arguments("a log-in is no query")),
            Operation::Close { session } => return Ok(Self::Close { session }),
        };
        let alias = alias(&options)?;
        let session = options.session.as_ref().map(|session| session.id.clone());
        let job = match transaction_operation(&query) {
            Some(TransactionOperation::Commit) => Job::Commit,
            Some(TransactionOperation::RollBack) => Job::RollBack,
            None => Job::Query { query, options },
        };
        if session.is_none() && !matches!(job, Job::Query { .. }) {
            return Err(Failure::arguments(
                "there is no transaction to commit or roll back outside of a session: each request is one of its own",
            ));
        }
        Ok(Self::Job { job, session, alias })
    }
}

/// The request in a message, and the format of its answer.
pub(crate) fn read_request(message: &[u8], kind: FrameKind) -> (Format, Result<Request, RequestError>) {
    let limits = RequestLimits::default();
    match kind {
        FrameKind::Text => (Format::GraphSon, Request::read(Format::GraphSon, message, &limits)),
        _ => match Format::split(message) {
            Ok((format, body)) => (format, Request::read(format, body, &limits)),
            Err(error) => (Format::GraphBinary, Err(RequestError::malformed(None, &error))),
        },
    }
}

/// The time of a query: what its request says, below the server's.
pub(crate) fn query_timeout(limits: &ServerOptions, options: &QueryOptions) -> Duration {
    let limit = limits.query_timeout;
    match options.evaluation_timeout_ms {
        None | Some(0) => limit,
        Some(milliseconds) => Duration::from_millis(milliseconds).min(limit),
    }
}

/// The database that the request names.
fn alias(options: &QueryOptions) -> Result<Option<Box<str>>, Failure> {
    let mut found: Option<&str> = None;
    for alias in &options.aliases {
        if &*alias.alias != "g" {
            return Err(Failure::arguments(format!(
                "the argument `aliases`: `g` as a name of a database expected, found {} as a name of {}",
                shown(&alias.alias),
                shown(&alias.name)
            )));
        }
        if found.is_some_and(|found| *found != *alias.name) {
            return Err(Failure::arguments("the argument `aliases`: `g` names two databases"));
        }
        found = Some(&alias.name);
    }
    Ok(found.map(Into::into))
}

/// What a request does to the transaction of its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TransactionOperation {
    Commit,
    RollBack,
}

fn transaction_operation(query: &QueryText) -> Option<TransactionOperation> {
    let name = match query {
        QueryText::Bytecode(bytecode) => transaction_call(bytecode)?,
        QueryText::Text(text, _) => {
            text.trim().trim_end_matches(';').strip_prefix("g.tx().")?.strip_suffix("()")?
        }
    };
    match name {
        "commit" => Some(TransactionOperation::Commit),
        "rollback" => Some(TransactionOperation::RollBack),
        _ => None,
    }
}

/// `NAME` of the bytecode `g.tx().NAME()`.
fn transaction_call(bytecode: &Bytecode) -> Option<&str> {
    match bytecode.instructions() {
        ([tx, operation], []) if &*tx.name == "tx" && operation.arguments.is_empty() => Some(&operation.name),
        _ => None,
    }
}
