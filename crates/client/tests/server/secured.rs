//! Users and TLS: passwords, roles, roots, names, certificates of clients.

use crate::certificates::{Root, Validity};
use crate::number;
use evergraph::Database;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::password::Password;
use evergraph_client::query::Query;
use evergraph_graph::error::{Error, ErrorKind, Result};
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

const PASSWORD: &str = "correct horse";

/// A folder for users and certificates, and a server of it.
struct Site {
    folder: TempDir,
    security: SecurityOptions,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), security: SecurityOptions::default() }
    }

    /// With the users `reader` and `writer`.
    fn with_users(mut self) -> Self {
        let users = self.folder.path().join("users.json");
        edit(&users, Create::IfMissing, |users| {
            for role in [Role::Reader, Role::Writer] {
                users.add(role.name(), password::hash(PASSWORD.as_bytes())?)?;
                users.grant(role.name(), "social", role)?;
            }
            Ok(())
        })
        .unwrap();
        self.security.users = Some(users);
        self
    }

    /// With a certificate of `root` for these names.
    fn with_tls(mut self, root: &Root, names: &[&str], clients: Option<&Root>) -> Self {
        let (certificate, key) = root.sign(names, Validity::Now).write(self.folder.path());
        let client_certificates = clients.map(|root| self.file("clients.pem", &root.pem()));
        self.security.tls = Some(TlsFiles { certificate, key, client_certificates });
        self
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn serve(&self) -> Server {
        let database = Arc::new(Database::in_memory().unwrap());
        let address = "127.0.0.1:0".parse().unwrap();
        Server::start_secured(database, "social", address, ServerOptions::default(), &self.security).unwrap()
    }
}

fn options(password: Option<&str>) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.password = password.map(Password::new);
    options
}

fn connect(start: &str, server: &Server, options: ClientOptions) -> Result<Client> {
    Client::connect(&format!("{start}{}/social", server.address()).parse()?, options)
}

fn refused(start: &str, server: &Server, options: ClientOptions) -> Error {
    connect(start, server, options).unwrap_err()
}

#[test]
fn the_right_password_is_let_in_and_everything_else_is_told_what_is_missing() {
    let server = Site::new().with_users().serve();
    let client = connect("ws://writer@", &server, options(Some(PASSWORD))).unwrap();
    client.query(&Query::text("g.addV('Point')")).unwrap().collect().unwrap();
    assert_eq!(number(&client, "g.V().count()"), 1);
    let wrong = refused("ws://writer@", &server, options(Some("battery staple")));
    assert!(wrong.kind() == ErrorKind::Invalid && !wrong.to_string().contains("battery"), "{wrong}");
    assert!(refused("ws://writer@", &server, options(None)).to_string().contains("EVERGRAPH_PASSWORD"));
    assert!(refused("ws://", &server, options(Some(PASSWORD))).to_string().contains("name one in the URL"));
    let reader = connect("ws://reader@", &server, options(Some(PASSWORD))).unwrap();
    assert_eq!(number(&reader, "g.V().count()"), 1);
    let refused = reader.query(&Query::text("g.V().drop()")).unwrap_err();
    assert!(
        refused.kind() == ErrorKind::Invalid && refused.to_string().contains("this query writes"),
        "{refused}"
    );
}

#[test]
fn a_server_is_trusted_by_its_root_and_its_name() {
    let root = Root::new("root");
    let site = Site::new().with_tls(&root, &["127.0.0.1", "graph.example"], None);
    let server = site.serve();
    let trusting = |root: &Root| {
        let mut options = options(None);
        options.tls.root = Some(site.file("root.pem", &root.pem()));
        options
    };
    let client = connect("wss://", &server, trusting(&root)).unwrap();
    assert_eq!(number(&client, "g.V().count()"), 0);
    let unknown = refused("wss://", &server, trusting(&Root::new("another root")));
    assert!(unknown.to_string().contains("name the root"), "{unknown}");
    assert!(
        refused("wss://", &server, options(None)).to_string().contains("TLS"),
        "the system does not know it"
    );
    let by_name = format!("wss://localhost:{}/social", server.address().port()).parse().unwrap();
    let other_name = Client::connect(&by_name, trusting(&root)).unwrap_err();
    assert!(other_name.to_string().contains("not valid for name"), "{other_name}");
    let plain = refused("ws://", &server, options(None));
    assert!(plain.to_string().contains("wss://"), "{plain}");
    let useless = refused("ws://", &server, trusting(&root));
    assert!(useless.to_string().contains("without TLS"), "{useless}");
    let plain_server = Site::new().serve();
    let no_tls = refused("wss://", &plain_server, trusting(&root));
    assert!(no_tls.to_string().contains("ws://"), "{no_tls}");
}

#[test]
fn a_client_shows_the_certificate_that_it_is_asked_for() {
    let root = Root::new("root");
    let site = Site::new().with_tls(&root, &["127.0.0.1"], Some(&root));
    let server = site.serve();
    let own = root.sign(&["ann"], Validity::Now);
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = own.write(folder.path());
    let mut options = options(None);
    options.tls.root = Some(site.file("root.pem", &root.pem()));
    assert!(connect("wss://", &server, options.clone()).is_err(), "it shows none");
    options.tls.certificate = Some(certificate);
    let told = refused("wss://", &server, options.clone()).to_string();
    assert!(told.contains("named together"), "{told}");
    options.tls.key = Some(key.clone());
    let client = connect("wss://", &server, options.clone()).unwrap();
    assert_eq!(number(&client, "g.V().count()"), 0);
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let told = refused("wss://", &server, options.clone()).to_string();
    assert!(told.contains("chmod 600"), "{told}");
    options.tls.key = Some(folder.path().join("none"));
    assert_eq!(refused("wss://", &server, options).kind(), ErrorKind::NotFound);
}
