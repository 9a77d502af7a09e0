//! Acceptance: what is checked of a query before it runs, whatever carried it: its sources, its language, its time.

use crate::failure::Failure;
use crate::options::ServerOptions;
use crate::request_task::QueryText;
use crate::server_core::ServerCore;
use evergraph_graph::nearest::did_you_mean;
use evergraph_protocol::request::operation::QueryOptions;
use evergraph_query::gremlin::bytecode::Bytecode;
use std::time::Duration;

/// Languages that `eval` may name: all of them are read as Gremlin.
const LANGUAGES: [&str; 3] = ["gremlin-groovy", "gremlin-lang", "gremlin"];

/// Refuses sources that the server does not have.
///
/// # Errors
/// 499 with the sources that there are.
pub fn check_aliases(core: &ServerCore, options: &QueryOptions) -> Result<(), Failure> {
    let name = &*core.name;
    let long_name = format!("g_{name}");
    for alias in &options.aliases {
        let known = ["g", name, &long_name];
        if &*alias.alias != "g" || !known.contains(&&*alias.name) {
            let guess = did_you_mean(&alias.name, known);
            return Err(Failure::arguments(format!(
                "the argument `aliases`: `g` as a name of `g` or {name:?} expected, found {:?} as a name of \
                 {:?}{guess}",
                alias.alias, alias.name
            )));
        }
    }
    Ok(())
}

/// Refuses languages that are not read.
///
/// # Errors
/// 499 with what the server reads.
pub fn check_language(language: Option<&str>) -> Result<(), Failure> {
    match language.filter(|language| !LANGUAGES.contains(language)) {
        None => Ok(()),
        Some(language) => Err(Failure::arguments(format!(
            "the argument `language`: this server reads gremlin-groovy, as Gremlin; found {language:?}"
        ))),
    }
}

/// The time of a request: its own, below the server's.
#[must_use]
pub fn query_timeout(limits: &ServerOptions, options: &QueryOptions) -> Duration {
    let limit = limits.query_timeout;
    match options.evaluation_timeout_ms {
        None | Some(0) => limit,
        Some(milliseconds) => Duration::from_millis(milliseconds).min(limit),
    }
}

/// What a request does to the transaction of its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionOperation {
    /// It commits it.
    Commit,
    /// It rolls it back.
    RollBack,
}

/// What `query` does to the transaction of its session, if that is all that it does: `g.tx().commit()`.
#[must_use]
pub fn transaction_operation(query: &QueryText) -> Option<TransactionOperation> {
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
