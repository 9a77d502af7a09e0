//! Refusal: which errors of a server say that a transaction met another one, and nothing was written.
//!
//! ```text
//! evergraph    code 596 of the kind conflict
//! tinkergraph  "Conflict: element modified in another transaction"
//! janusgraph   lock timeouts and deadlocks of BerkeleyDB, and what it finds gone that another transaction dropped
//! neo4j        Neo.TransientError.*, and Neo.ClientError.Statement.EntityNotFound: found, then dropped by another one
//! ```
//!
//! Any other error ends the run.

use crate::plan::wrong;
use crate::workload::server::OURS;
use crate::workload::server::contender::{Contender, Dialect};
use crate::workload::server::generator::Verdict;
use crate::workload::server::peers::{JANUSGRAPH_SERVER, TINKERGRAPH_SERVER};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_protocol::response::attributes::Attributes;
use tungstenite::Bytes;

/// Parts of TinkerTransactionGraph's messages.
const TINKERGRAPH: [&str; 1] = ["Conflict: element modified in another transaction"];
/// Parts of JanusGraph's.
const JANUSGRAPH: [&str; 8] = [
    "LockTimeout",
    "Lock expired",
    "Deadlock",
    "Could not commit transaction due to exception during persistence",
    "Could not execute operation due to backend exception",
    "has been removed",
    "was removed",
    "Local lock contention",
];
/// The beginnings of Neo4j's codes.
const NEO4J: [&str; 2] = ["Neo.TransientError.", "Neo.ClientError.Statement.EntityNotFound"];

/// What an answer means: its code, and its frames or its body.
///
/// # Errors
/// `corrupt` for an error that no other transaction is to blame for, with `asked`.
pub fn judge(server: &Contender, asked: &dyn Fn() -> String, code: i32, answer: &[Bytes]) -> Result<Verdict> {
    if matches!(code, 200..=204) {
        return Ok(Verdict::Accepted);
    }
    let (is_refused, message) = match server.dialect {
        Dialect::Cypher => {
            let body: serde_json::Value =
                answer.last().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
            let of = &body["errors"][0]["code"];
            let is_refused = of.as_str().is_some_and(|of| NEO4J.iter().any(|known| of.starts_with(known)));
            (is_refused, body["errors"].to_string())
        }
        Dialect::Bytecode { .. } | Dialect::GremlinText => {
            let Some(frame) = answer.last() else {
                return Err(wrong(server.name, &asked(), code, "an answer that was kept"));
            };
            let response = server.response(frame)?;
            let has = |known: &[&str]| known.iter().any(|known| response.message.contains(known));
            let is_ours = server.isolation.is_some() || server.name == OURS;
            let is_refused = if is_ours {
                let kind = response.attributes.get(Attributes::KIND);
                code == 596 && kind.and_then(|kind| kind.as_str()) == Some(ErrorKind::Conflict.name())
            } else if server.name == TINKERGRAPH_SERVER {
                has(&TINKERGRAPH)
            } else {
                server.name.starts_with(JANUSGRAPH_SERVER) && has(&JANUSGRAPH)
            };
            (is_refused, format!("{code} {}", response.message))
        }
    };
    if is_refused { Ok(Verdict::Refused) } else { Err(wrong(server.name, &asked(), message, "an answer")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::server::peers::NEO4J_SERVER;

    #[test]
    fn a_transient_error_of_neo4j_is_a_refusal_and_a_wrong_statement_ends_the_run() {
        let server = Contender::new(NEO4J_SERVER, ([127, 0, 0, 1], 1).into(), Dialect::Cypher);
        let judged = |error: &str| {
            let body = format!(r#"{{"results":[],"errors":[{{"code":"{error}","message":"m"}}]}}"#);
            judge(&server, &|| "Q3".to_owned(), 500, &[Bytes::from(body)])
        };
        assert_eq!(judged("Neo.TransientError.Transaction.DeadlockDetected").unwrap(), Verdict::Refused);
        let error = judged("Neo.ClientError.Statement.SyntaxError").unwrap_err().to_string();
        assert!(error.contains("neo4j server") && error.contains("Q3") && error.contains("SyntaxError"));
        assert_eq!(judge(&server, &String::new, 200, &[]).unwrap(), Verdict::Accepted);
    }
}
