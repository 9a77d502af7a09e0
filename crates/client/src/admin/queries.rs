//! Queries: the requests that run on a server, and how they are cancelled.

use crate::admin::call::{Admin, path_of};
use evergraph_graph::error::Result;
use serde::{Deserialize, Serialize};

/// A request that runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemoteQuery {
    /// Its number, by which it is cancelled.
    pub id: u64,
    /// The id that its client gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Its database.
    pub database: String,
    /// Its user; `None` if the server has no users.
    pub user: Option<String>,
    /// Where the client is.
    pub address: String,
    /// When it began.
    pub since: String,
    /// How long ago that was.
    pub elapsed_ms: u64,
    /// `ready`, `running`, `waiting` (for its client to read), `committing` or `cancelling`.
    pub state: String,
    /// The query, cut off behind 4 KiB; without its values, unless it is one's own.
    pub text: String,
}

#[derive(Deserialize)]
struct QueryList {
    queries: Vec<RemoteQuery>,
}

impl Admin {
    /// The requests that run: one's own, and those of databases that the user administers, from the oldest.
    ///
    /// # Errors
    /// As [`Admin`].
    pub fn queries(&self) -> Result<Vec<RemoteQuery>> {
        self.get::<QueryList>("/queries").map(|list| list.queries)
    }

    /// Cancels one of [`Admin::queries`]. It ends soon; a commit that waits for the disk goes on.
    ///
    /// # Errors
    /// `not_found` if it has ended, or is one of others.
    pub fn cancel_query(&self, id: u64) -> Result<()> {
        self.delete(&path_of(&["queries", &id.to_string()])).map(drop)
    }
}
