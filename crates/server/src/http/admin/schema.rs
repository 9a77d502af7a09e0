//! Schema: what a graph is made of, and its indexes.

use crate::http::admin::answer::{AdminAnswer, AdminResult};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use evergraph::{IndexKind, OwnerName};
use evergraph_report::index::{IndexEntry, list};
use evergraph_report::schema::SchemaReport;
use serde::Serialize;

#[derive(Serialize)]
struct IndexList {
    indexes: Vec<IndexEntry>,
}

/// `GET /databases/NAME/schema`: labels, edge types, properties and indexes, with counts.
///
/// # Errors
/// 404 for an unknown database; 503 if it is not open.
pub async fn describe(call: AdminCall) -> AdminResult {
    let read =
        |database: &evergraph::Database| SchemaReport::new(database).map_err(|error| HttpError::from(&error));
    let report = call.with_database(move |using, _| read(using.database())).await?;
    Ok(AdminAnswer::json(&report))
}

/// `GET /databases/NAME/indexes`: the indexes with their sizes.
///
/// # Errors
/// 404 for an unknown database; 503 if it is not open.
pub async fn list_indexes(call: AdminCall) -> AdminResult {
    let indexes = call.with_database(|using, _| Ok(list(using.database()))).await?;
    Ok(AdminAnswer::json(&IndexList { indexes }))
}

/// `DELETE /databases/NAME/indexes/OF/OWNER/KEY/KIND`, with the members of an index in the list.
///
/// # Errors
/// 404 for an unknown database or index; 400 for a word that is none of the list's; 503 if the database is not open.
pub async fn drop_index(call: AdminCall) -> AdminResult {
    let kind: IndexKind = call.parameter("kind").parse().map_err(|why: String| HttpError::invalid(why))?;
    let of_edges = match call.parameter("of") {
        "vertices" => false,
        "edges" => true,
        other => {
            let text = format!("an index is one of `vertices` or of `edges`, not of {other:?}");
            return Err(HttpError::invalid(text));
        }
    };
    let [owner, key] = ["owner", "key"].map(|name| call.parameter(name).to_owned());
    let dropping = call.with_database(move |using, _| {
        let owner = if of_edges { OwnerName::EdgeType(&owner) } else { OwnerName::Label(&owner) };
        using.database().drop_index(owner, &key, Some(kind)).map_err(|error| HttpError::from(&error))
    });
    dropping.await?;
    Ok(AdminAnswer::nothing())
}
