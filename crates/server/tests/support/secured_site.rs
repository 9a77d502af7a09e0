//! Secured site: a database, users with roles on it, and a server of both.

use crate::support::certificates::{Root, Validity};
use evergraph::Database;
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::password;
use evergraph_server::security::role::Role;
use evergraph_server::security::tls::TlsFiles;
use evergraph_server::security::user::Users;
use evergraph_server::security::users_file::{Create, edit};
use evergraph_server::server::Server;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

/// The password of all users. HTTP Basic separates the user from it by a colon.
pub const PASSWORD: &str = "correct: horse";
/// The database.
pub const NAME: &str = "social";

/// A folder with users, and what a server of it needs.
pub struct SecuredSite {
    pub folder: TempDir,
    pub database: Arc<Database>,
    pub options: ServerOptions,
    pub security: SecurityOptions,
}

impl SecuredSite {
    /// The users `reader`, `writer`, `admin` with these roles on a database in memory, and `nobody` without any on it.
    pub fn new() -> Self {
        Self::of(Database::in_memory().unwrap(), tempfile::tempdir().unwrap())
    }

    /// The same with this database.
    pub fn of(database: Database, folder: TempDir) -> Self {
        let mut security = SecurityOptions::default();
        security.users = Some(users_file(&folder));
        edit_users(&folder, |users| {
            add_users_of_each_role(users);
            users.grant("nobody", "another", Role::Admin).unwrap();
        });
        Self { folder, database: Arc::new(database), options: ServerOptions::default(), security }
    }

    /// With a certificate for these names and addresses, signed by `root`.
    pub fn with_tls(mut self, root: &Root, names: &[&str]) -> Self {
        let (certificate, key) = root.sign(names, Validity::Now).write(self.folder.path());
        self.security.tls = Some(TlsFiles { certificate, key, client_certificates: None });
        self
    }

    pub fn edit(&self, change: impl FnOnce(&mut Users)) {
        edit_users(&self.folder, change);
    }

    pub fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0").unwrap()
    }

    pub fn serve_at(&self, address: &str) -> evergraph_graph::error::Result<Server> {
        let address = address.parse().unwrap();
        Server::start_secured(Arc::clone(&self.database), NAME, address, self.options, &self.security)
    }

    pub fn vertices(&self) -> i64 {
        self.database.gremlin("g.V().count()").one().unwrap()
    }
}

/// Adds `reader`, `writer` and `admin` with these roles on the database [`NAME`], and `nobody` without any.
pub fn add_users_of_each_role(users: &mut Users) {
    for role in Role::ALL {
        users.add(role.name(), hash()).unwrap();
        users.grant(role.name(), NAME, role).unwrap();
    }
    users.add("nobody", hash()).unwrap();
}

/// A hash of [`PASSWORD`], made once.
pub fn hash() -> String {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| password::hash(PASSWORD.as_bytes()).unwrap()).clone()
}

/// The users file of a folder.
pub fn users_file(folder: &TempDir) -> PathBuf {
    folder.path().join("users.json")
}

/// Changes the users of a folder, and makes its users file if there is none.
pub fn edit_users(folder: &TempDir, change: impl FnOnce(&mut Users)) {
    edit(&users_file(folder), Create::IfMissing, |users| {
        change(users);
        Ok(())
    })
    .unwrap();
}
