//! Indexes: lists, creates and drops those of a database.

use crate::admin::call::Admin;
use crate::admin::jobs::{JobRequest, RemoteProgress};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::index::IndexKind;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What became of an index that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreatedIndex<T> {
    /// Whether it was not there.
    pub created: bool,
    /// What is known of it; `None` if it was dropped meanwhile.
    pub index: Option<T>,
}

impl<T> CreatedIndex<T> {
    /// What became of an index.
    #[must_use]
    pub fn new(created: bool, index: Option<T>) -> Self {
        Self { created, index }
    }
}

#[derive(Deserialize)]
struct IndexList<T> {
    indexes: Vec<T>,
}

impl Admin {
    /// The indexes of the database with their sizes, as `evergraph_report::index::IndexEntry`. Needs the role reader.
    ///
    /// # Errors
    /// `not_found` for an unknown database; `busy` if it is not open.
    pub fn indexes<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        self.get::<IndexList<T>>(&self.database_path(&["indexes"])?).map(|list| list.indexes)
    }

    /// Builds an index as a job, and waits for its end; `tell` is told how far it is. When the requests of this are cancelled, the
    /// job is, which leaves no index. Needs the role admin.
    ///
    /// # Errors
    /// Those of building it, such as `invalid` for values that occur twice; as [`Admin::follow_job`].
    pub fn create_index<T: DeserializeOwned>(
        &self,
        request: &IndexRequest<'_>,
        tell: &mut dyn FnMut(&RemoteProgress),
    ) -> Result<CreatedIndex<T>> {
        let (of, owner) = parts(request.owner);
        let members = JobRequest::new("createIndex")
            .with("of", of)
            .with("owner", owner)
            .with("key", request.key)
            .with("indexKind", request.kind.name())
            .with("unique", request.unique);
        let job = self.follow_job(&self.start_job(&members)?.id, tell)?;
        serde_json::from_value(job.result.unwrap_or_default()).map_err(|error| {
            Error::new(ErrorKind::Io, format!("the result of the server's job cannot be read: {error}"))
        })
    }

    /// Drops an index. Needs the role admin.
    ///
    /// # Errors
    /// `not_found` if there is none.
    pub fn drop_index(&self, owner: OwnerName<'_>, key: &str, kind: IndexKind) -> Result<()> {
        let (of, owner) = parts(owner);
        self.delete(&self.database_path(&["indexes", of, owner, key, kind.name()])?).map(drop)
    }
}

/// What the server calls an owner.
fn parts(owner: OwnerName<'_>) -> (&'static str, &str) {
    match owner {
        OwnerName::Label(label) => ("vertices", label),
        OwnerName::EdgeType(edge_type) => ("edges", edge_type),
    }
}
