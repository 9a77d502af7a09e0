//! Administration by HTTP: roles of all routes, databases, queries, users.

#![allow(clippy::unwrap_used)]

mod databases;
mod job_files;
mod job_stops;
mod jobs;
mod members;
mod plans;
mod queries;
mod query_roles;
mod replicas;
mod routes;
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod users;

use evergraph_graph::cancel::CancelFlag;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::name::EVERY_DATABASE;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::role::Role;
use evergraph_server::security::user::Users;
use evergraph_server::server::Server;
use evergraph_server::spool::options::FileOptions;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::Arc;
use support::http_client::{Answer, Client};
use support::secured_site::{PASSWORD, add_users_of_each_role, edit_users, hash, users_file};
use support::served::patient;
use tempfile::TempDir;

/// A root, and a server of it with users.
struct Site {
    folder: TempDir,
    databases: Arc<DatabaseCatalogue>,
    server: Server,
}

/// A server of a root with the database `social`. The users `reader`, `writer` and `admin` have these roles on it, `root` is
/// administrator of every database, and `nobody` has no role.
fn site() -> Site {
    site_with(CatalogueOptions::default(), |_| {})
}

/// The same with other options, and with users that `change` has changed.
fn site_with(options: CatalogueOptions, change: impl FnOnce(&mut Users)) -> Site {
    site_with_files(options, CreateOptions::default(), FileOptions::default(), change)
}

/// The same with other folders of jobs, and `social` created by `create`.
fn site_with_files(
    options: CatalogueOptions,
    create: CreateOptions,
    files: FileOptions,
    change: impl FnOnce(&mut Users),
) -> Site {
    site_with_limits(patient(), options, create, files, change)
}

/// The same with other limits of the server.
fn site_with_limits(
    limits: ServerOptions,
    options: CatalogueOptions,
    create: CreateOptions,
    files: FileOptions,
    change: impl FnOnce(&mut Users),
) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let databases = DatabaseCatalogue::open(&[], Some(&root), options).unwrap();
    databases.create_database("social", create).unwrap();
    let mut security = SecurityOptions::default();
    security.users = Some(users_file(&folder));
    security.audit_log = Some(folder.path().join("audit.log"));
    edit_users(&folder, |users| {
        add_users_of_each_role(users);
        users.add("root", hash()).unwrap();
        users.grant("root", EVERY_DATABASE, Role::Admin).unwrap();
        change(users);
    });
    let address = "127.0.0.1:0".parse().unwrap();
    let server =
        Server::start_with_files(Arc::clone(&databases), address, limits, &security, &files).unwrap();
    Site { folder, databases, server }
}

impl Site {
    async fn log_in(&self, user: &str) -> Client {
        Client::log_in(self.server.address(), user, PASSWORD).await.with("content-type", "application/json")
    }

    /// Runs a query on a database.
    fn run(&self, name: &str, text: &str) {
        let using = self.databases.get(name).unwrap().begin(CancelFlag::default()).unwrap();
        using.database().gremlin(text).run().unwrap();
    }

    /// The folder of the databases.
    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// What the audit log says once the server has stopped.
    fn audit(self) -> String {
        self.server.stop();
        std::fs::read_to_string(self.folder.path().join("audit.log")).unwrap()
    }
}

impl Answer {
    /// The kind and message of an error, with its status.
    fn error(&self) -> (u16, String, String) {
        let error = &self.json()["error"];
        let text =
            |member: &str| error[member].as_str().unwrap_or_else(|| panic!("{}", self.text())).to_owned();
        (self.status, text("kind"), text("message"))
    }
}

impl Client {
    async fn get(&mut self, path: &str) -> Json {
        let answer = self.ask("GET", path, "").await;
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text());
        answer.json()
    }
}
