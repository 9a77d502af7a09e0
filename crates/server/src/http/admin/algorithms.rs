//! Algorithms: lists them, and runs one on a snapshot for a client that reads its rows.

use crate::algorithm::call::AlgorithmCall;
use crate::algorithm::description::algorithms;
use crate::algorithm::rows::RowFormat;
use crate::exchange::Exchange;
use crate::http::accept::AnswerType;
use crate::http::admin::answer::{AdminAnswer, AdminResult};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use crate::http::response::respond;
use serde_json::{Map, Value};

/// `GET /algorithms`: names, parameters with their defaults, columns of the answers.
///
/// # Errors
/// None beside those of every request.
pub async fn list(_: AdminCall) -> AdminResult {
    Ok(AdminAnswer::json(&algorithms()))
}

/// `POST /databases/NAME/algorithms/ALGORITHM`: rows as JSON lines, or as an Arrow stream by the header Accept. It is
/// cancelled when its client leaves.
///
/// # Errors
/// 404 for an algorithm, a label, a type or a property that there isn't; 400 for parameters; 413 if it takes too much
/// memory; 503 if the database is not open; 504 if it takes too much time.
pub async fn run(call: AdminCall) -> AdminResult {
    let answer_type = AnswerType::of(&call.headers).map_err(HttpError::invalid)?;
    let (format, content_type) = match answer_type {
        AnswerType::Arrow => (RowFormat::Arrow, answer_type.content_type()),
        AnswerType::Lines(name) => (RowFormat::Lines, name),
        // What a client gets that does not ask for a format.
        AnswerType::GraphSon(_) => (RowFormat::Lines, "application/x-ndjson"),
        AnswerType::GraphBinary => {
            let text = "rows of an algorithm have no form in GraphBinary: accept application/x-ndjson or \
                        application/vnd.apache.arrow.stream";
            return Err(HttpError::invalid(text));
        }
    };
    let members: Map<String, Value> = call.document().await?;
    let asked = AlgorithmCall::read(call.parameter("algorithm"), members);
    let asked = asked.map_err(|error| HttpError::from(&error))?;
    let served = call.served()?;
    let (core, principal) = (&call.shared.core, call.principal.clone());
    let exchange = Exchange::start_algorithm(core, principal, served.name(), asked, format)?;
    Ok(respond(call.shared.exchanges.enter(exchange), content_type).await?.into())
}
