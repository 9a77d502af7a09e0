//! Transactions: what became of one of a cluster whose commit nobody knew the outcome of.

use crate::http::admin::answer::{AdminAnswer, AdminResult};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use evergraph_graph::unknown_commit::UnknownCommit;
use serde::{Deserialize, Serialize};

/// Which transaction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct UnsettledTransaction {
    transaction: String,
}

/// What became of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettledTransaction {
    transaction: String,
    /// Whether it has committed. If not, it never will.
    committed: bool,
    /// When it did.
    timestamp: Option<u64>,
}

/// `POST /databases/NAME/settle`: what became of a transaction whose commit ended with the kind `unknown`, by its name in that
/// error. One that has not committed by now never will.
///
/// # Errors
/// 400 for what names no transaction, and for a database that is no node of a cluster; 500 of the kind `unknown` if the log does not
/// answer, or has forgotten it.
pub async fn settle(call: AdminCall) -> AdminResult {
    let UnsettledTransaction { transaction } = call.document().await?;
    let unknown: UnknownCommit = transaction.parse().map_err(|error| HttpError::from(&error))?;
    let settling = call.with_database(move |using, _| {
        using.database().settle(unknown).map_err(|error| HttpError::from(&error))
    });
    let timestamp = settling.await?.map(|timestamp| timestamp.0);
    Ok(AdminAnswer::json(&SettledTransaction { transaction, committed: timestamp.is_some(), timestamp }))
}
