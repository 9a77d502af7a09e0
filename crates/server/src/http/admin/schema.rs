//! Schema: what a graph is made of, and its indexes.

use crate::http::admin::answer::{AdminAnswer, AdminResult};
use crate::http::admin::call::AdminCall;
use crate::http::admin::jobs::start_work;
use crate::http::error::HttpError;
use crate::jobs::job_kind::JobKind;
use crate::jobs::operations::upkeep;
use evergraph::{IndexKind, IndexOptions, OwnerName};
use evergraph_report::index::{IndexEntry, list};
use evergraph_report::schema::SchemaReport;
use serde::{Deserialize, Serialize};

/// An index to be built, with the members of one in the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewIndex {
    of: String,
    owner: String,
    key: String,
    kind: Option<String>,
    #[serde(default)]
    unique: bool,
}

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
    let read = |database: &evergraph::Database| list(database).map_err(|error| HttpError::from(&error));
    let indexes = call.with_database(move |using, _| read(using.database())).await?;
    Ok(AdminAnswer::json(&IndexList { indexes }))
}

/// `POST /databases/NAME/indexes`: a job builds one beside readers and writers.
///
/// # Errors
/// 404 for an unknown database; 400 for a word that is none of the list's, and for an index that cannot be; 503 if the
/// database is not open, or too many jobs wait.
pub async fn create_index(call: AdminCall) -> AdminResult {
    let NewIndex { of, owner, key, kind, unique } = call.document().await?;
    let kind: IndexKind = match kind {
        Some(kind) => kind.parse().map_err(|why: String| HttpError::invalid(why))?,
        None => IndexKind::Hash,
    };
    let options = match (is_of_edges(&of)?, kind) {
        (true, IndexKind::Newest) => IndexOptions::newest(&owner, &key),
        (true, kind) => IndexOptions::on_edges(&owner, &key).of_kind(kind),
        (false, kind) => IndexOptions::on_label(&owner, &key).of_kind(kind),
    };
    let options = if unique { options.unique() } else { options };
    start_work(&call, JobKind::CreateIndex, upkeep::create_index(options))
}

/// `DELETE /databases/NAME/indexes/OF/OWNER/KEY/KIND`, with the members of an index in the list.
///
/// # Errors
/// 404 for an unknown database or index; 400 for a word that is none of the list's; 503 if the database is not open.
pub async fn drop_index(call: AdminCall) -> AdminResult {
    let kind: IndexKind = call.parameter("kind").parse().map_err(|why: String| HttpError::invalid(why))?;
    let of_edges = is_of_edges(call.parameter("of"))?;
    let [owner, key] = ["owner", "key"].map(|name| call.parameter(name).to_owned());
    let dropping = call.with_database(move |using, _| {
        let owner = if of_edges { OwnerName::EdgeType(&owner) } else { OwnerName::Label(&owner) };
        using.database().drop_index(owner, &key, Some(kind)).map_err(|error| HttpError::from(&error))
    });
    dropping.await?;
    Ok(AdminAnswer::nothing())
}

fn is_of_edges(of: &str) -> Result<bool, HttpError> {
    match of {
        "vertices" => Ok(false),
        "edges" => Ok(true),
        other => {
            let text = format!("an index is one of `vertices` or of `edges`, not of {other:?}");
            Err(HttpError::invalid(text))
        }
    }
}
