//! Databases: lists, describes, creates, opens, closes and drops those of a server.

use crate::admin::call::{Admin, path_of};
use evergraph_graph::error::Result;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

/// What a server knows of a database.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemoteDatabase {
    /// Its name.
    pub name: String,
    /// `open`, `closed`, `failed`, or what is being done with it.
    pub state: String,
    /// `memory`, `disk` or `mapped`; `None` if it is not open.
    pub engine: Option<String>,
    /// The role of the user on it: `reader`, `writer` or `admin`.
    pub role: String,
    /// Whether the alias `g` stands for it.
    pub is_default: bool,
    /// `None` if it is not open, and for the default of its engine.
    pub memory_limit_bytes: Option<u64>,
    /// Why it failed, for its administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a new database is to be; the server's defaults where nothing is said.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NewDatabaseOptions {
    /// `memory`, `disk` or `mapped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Bytes of memory; until the server ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct DatabaseList {
    databases: Vec<RemoteDatabase>,
}

#[derive(Serialize)]
struct NoMembers {}

impl Admin {
    /// The databases on which the user has a role.
    ///
    /// # Errors
    /// As [`Admin`].
    pub fn databases(&self) -> Result<Vec<RemoteDatabase>> {
        self.get::<DatabaseList>("/databases").map(|list| list.databases)
    }

    /// Makes an empty database, below the root of the server. Needs the role admin on all.
    ///
    /// # Errors
    /// `invalid` for a name that none can have, one that is taken, and a server without a root; `limit` if its memory does not
    /// fit.
    pub fn create_database(&self, name: &str, options: &NewDatabaseOptions) -> Result<RemoteDatabase> {
        self.change(Method::PUT, &path_of(&["databases", name]), options)
    }

    /// Opens a database that is closed or failed. Needs the role admin.
    ///
    /// # Errors
    /// `not_found`; `limit` if its memory does not fit; those of opening.
    pub fn open_database(&self, name: &str) -> Result<RemoteDatabase> {
        self.change(Method::POST, &path_of(&["databases", name, "open"]), &NoMembers {})
    }

    /// Closes a database: what runs is cancelled, and open transactions are rolled back. Needs the role admin.
    ///
    /// # Errors
    /// `not_found`; `busy` if a request does not end; those of the last sync.
    pub fn close_database(&self, name: &str) -> Result<RemoteDatabase> {
        self.change(Method::POST, &path_of(&["databases", name, "close"]), &NoMembers {})
    }

    /// Closes a database and removes its folder, for good. Needs the role admin on all.
    ///
    /// # Errors
    /// `not_found`; `invalid` for one that is not below the root; `busy` while it is opened or closed.
    pub fn drop_database(&self, name: &str) -> Result<()> {
        self.delete(&path_of(&["databases", name])).map(drop)
    }
}
