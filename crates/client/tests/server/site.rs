//! Site: a server of a root, with the database `social`, users of every role, and perhaps TLS.

use crate::certificates::{Root, Validity};
use evergraph_client::admin::call::Admin;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::password::Password;
use evergraph_graph::cancel::CancelFlag;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::name::EVERY_DATABASE;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::password;
use evergraph_server::security::role::Role;
use evergraph_server::security::tls::TlsFiles;
use evergraph_server::security::users_file::{Create, edit};
use evergraph_server::server::Server;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The password of all users.
pub const PASSWORD: &str = "correct: horse";

/// A root, and a server of it with users: `reader`, `writer` and `admin` have these roles on `social`, and `root` is
/// administrator of every database.
pub struct Site {
    folder: TempDir,
    pub databases: Arc<DatabaseCatalogue>,
    pub server: Server,
    /// The root certificate of a server with TLS.
    root_file: Option<PathBuf>,
}

impl Site {
    pub fn new() -> Self {
        Self::with(None)
    }

    pub fn with_tls() -> Self {
        Self::with(Some(&Root::new("root")))
    }

    fn with(tls: Option<&Root>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let databases = DatabaseCatalogue::open(&[], Some(&root), CatalogueOptions::default()).unwrap();
        databases.create_database("social", CreateOptions::default()).unwrap();
        let mut security = SecurityOptions::default();
        let users = folder.path().join("users.json");
        edit(&users, Create::IfMissing, |users| {
            let hash = password::hash(PASSWORD.as_bytes())?;
            for role in Role::ALL {
                users.add(role.name(), hash.clone())?;
                users.grant(role.name(), "social", role)?;
            }
            users.add("root", hash)?;
            users.grant("root", EVERY_DATABASE, Role::Admin)
        })
        .unwrap();
        security.users = Some(users);
        let mut root_file = None;
        if let Some(root) = tls {
            let (certificate, key) = root.sign(&["127.0.0.1"], Validity::Now).write(folder.path());
            security.tls = Some(TlsFiles { certificate, key, client_certificates: None });
            let path = folder.path().join("root.pem");
            std::fs::write(&path, root.pem()).unwrap();
            root_file = Some(path);
        }
        let address = "127.0.0.1:0".parse().unwrap();
        let options = ServerOptions::default();
        let server = Server::start_with(Arc::clone(&databases), address, options, &security).unwrap();
        Self { folder, databases, server, root_file }
    }

    /// A client of `database` as `user`; it connects with its first request.
    pub fn client(&self, user: &str, database: &str) -> Client {
        self.client_with(user, database, self.options())
    }

    pub fn client_with(&self, user: &str, database: &str, options: ClientOptions) -> Client {
        let scheme = if self.root_file.is_some() { "wss" } else { "ws" };
        let url = format!("{scheme}://{user}@{}/{database}", self.server.address());
        Client::new(&url.parse().unwrap(), options).unwrap()
    }

    /// Options with the password.
    pub fn options(&self) -> ClientOptions {
        let mut options = ClientOptions::default();
        options.password = Some(Password::new(PASSWORD));
        options.tls.root = self.root_file.clone();
        options
    }

    /// Administration of `social` as `user`.
    pub fn admin(&self, user: &str) -> Admin {
        self.client(user, "social").admin()
    }

    /// Runs a query on `social`, in the server.
    pub fn run(&self, text: &str) {
        let using = self.databases.get("social").unwrap().begin(CancelFlag::default()).unwrap();
        using.database().gremlin(text).run().unwrap();
    }

    /// The folder of uploads, or of files to be fetched.
    pub fn spool(&self, of: &str) -> PathBuf {
        self.folder.path().join("root/.evergraph-spool").join(of)
    }
}
