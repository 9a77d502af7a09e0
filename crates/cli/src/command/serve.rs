//! `evergraph serve`: a database for Gremlin's drivers, on this machine or beyond.

use crate::amount;
use crate::context::Context;
use clap::Args;
use evergraph_graph::error::Error;
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::tls::TlsFiles;
use evergraph_server::server::Server;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::interrupt::on_hang_up;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph serve social.eg
  evergraph serve social.eg --listen 127.0.0.1:9000 --timeout 10s
  evergraph serve social.eg --users users.json
  evergraph serve social.eg --users users.json --listen 0.0.0.0:8182 --tls-certificate cert.pem --tls-key key.pem

Drivers of Apache TinkerPop 3.8 connect to ws://127.0.0.1:8182/gremlin by
WebSocket, unchanged. Without --users every program on this machine can read and
write the database. An address that other machines reach needs --users (see
evergraph help user), --tls-certificate and --tls-key.

Changes of the users file take effect within a second. SIGHUP reads users and
certificates again, and opens the audit log again.

Ctrl-C or SIGTERM ends the server: requests are finished within 5 seconds,
open transactions are rolled back, and the database is closed.";

/// How often the end is looked for.
const END_INTERVAL: Duration = Duration::from_millis(20);

/// Arguments of `evergraph serve`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ServeArguments {
    /// The database.
    pub database: PathBuf,
    /// Address to listen on, and a port; port 0 is any free one. Without users and TLS the address is 127.0.0.1 or [::1].
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8182")]
    pub listen: SocketAddr,
    /// Time limit of a query, until its client has read its last result, such as 500ms or 10s; a request may ask for
    /// less.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "1min")]
    pub timeout: Duration,
    /// Users who may log in, as evergraph user writes them; everybody else is refused.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub users: Option<PathBuf>,
    /// The server's certificate, and those between it and its root, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = SECURITY)]
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM; other users of this machine must not be able to read it.
    #[arg(long, value_name = "FILE", requires = "tls_certificate", help_heading = SECURITY)]
    pub tls_key: Option<PathBuf>,
    /// Demand certificates of clients, which one of these roots signed, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_certificate", help_heading = SECURITY)]
    pub client_certificates: Option<PathBuf>,
    /// A name or address that clients connect to, beside those of the certificate and of this machine.
    #[arg(long, value_name = "NAME", help_heading = SECURITY)]
    pub host_name: Vec<String>,
    /// Append log-ins, refusals, sessions and changes of roles to this file, as JSON lines.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub audit_log: Option<PathBuf>,
}

const SECURITY: &str = "Security";

impl ServeArguments {
    fn security(&self) -> SecurityOptions {
        let mut security = SecurityOptions::default();
        security.users = self.users.clone();
        security.host_names = self.host_name.clone();
        security.audit_log = self.audit_log.clone();
        security.tls = self.tls_certificate.clone().zip(self.tls_key.clone()).map(|(certificate, key)| {
            TlsFiles { certificate, key, client_certificates: self.client_certificates.clone() }
        });
        security
    }
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// Those of opening, listening and closing.
pub fn execute(arguments: &ServeArguments, context: &Context) -> Result<(), Failure> {
    let database = Arc::new(context.open(&arguments.database)?);
    let mut options = ServerOptions::default();
    options.workers = context.threads;
    options.query_timeout = arguments.timeout;
    let name = name_of(&arguments.database);
    let security = arguments.security();
    // Where nothing is read again, it ends the program as ever.
    let reloads = security.users.is_some() || security.tls.is_some() || security.audit_log.is_some();
    let hung_up = if reloads { on_hang_up()? } else { Arc::default() };
    let server = Server::start_secured(Arc::clone(&database), &name, arguments.listen, options, &security)?;
    let scheme = if security.tls.is_some() { "wss" } else { "ws" };
    context.console.result(&ServeReport {
        database: arguments.database.display().to_string(),
        url: format!("{scheme}://{}/gremlin", server.address()),
        users: security.users.is_some(),
    })?;
    while !context.cancel.is_cancelled() {
        thread::sleep(END_INTERVAL);
        if hung_up.swap(false, Ordering::Relaxed) {
            server.reload();
        }
        server.take_notices().iter().for_each(|notice| context.console.note(visible(notice)));
    }
    server.stop();
    Ok(database.close().map_err(|error| {
        Error::new(error.kind(), format!("close {}: {error}", arguments.database.display())).because(error)
    })?)
}

/// The name of the database in aliases: that of its folder, without the ending.
fn name_of(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.file_stem().map_or_else(|| "g".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Where the server listens.
#[derive(Debug, Serialize)]
struct ServeReport {
    database: String,
    url: String,
    /// Whether clients have to log in.
    users: bool,
}

impl fmt::Display for ServeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (database, url) = (visible(&self.database), &self.url);
        let (scheme, rest) = url.split_once("://").unwrap_or(("ws", url));
        let authority = rest.trim_end_matches("/gremlin");
        let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "8182"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let pick = |text: &'static str| if self.users { text } else { "" };
        let python = pick(", username='USER', password='PASSWORD'");
        let javascript =
            pick(", {authenticator: new gremlin.driver.auth.PlainTextSaslAuthenticator('USER', 'PASSWORD')}");
        let java = pick(".credentials(\"USER\", \"PASSWORD\")");
        let go = pick(
            ", func(settings *gremlingo.DriverRemoteConnectionSettings) {\n                \
             settings.AuthInfo = gremlingo.BasicAuthInfo(\"USER\", \"PASSWORD\") }",
        );
        let java_tls = if scheme == "wss" { ".enableSsl(true)" } else { "" };
        writeln!(
            f,
            "\
{database} is served at {url}; Ctrl-C ends it

Python      pip install gremlinpython
            from gremlin_python.process.anonymous_traversal import traversal
            from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
            connection = DriverRemoteConnection('{url}', 'g'{python})
            g = traversal().with_(connection)
            print(g.V().count().next())
            connection.close()

JavaScript  npm install gremlin
            const gremlin = require('gremlin')
            const connection = new gremlin.driver.DriverRemoteConnection('{url}'{javascript})
            const g = gremlin.process.AnonymousTraversalSource.traversal().with_(connection)
            g.V().count().next()
                .then(result => console.log(result.value))
                .finally(() => connection.close())

Java        org.apache.tinkerpop:gremlin-driver
            import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;
            import org.apache.tinkerpop.gremlin.driver.Cluster;
            import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
            var cluster = Cluster.build(\"{host}\").port({port}){java}{java_tls}.create();
            var g = traversal().with(DriverRemoteConnection.using(cluster, \"g\"));
            System.out.println(g.V().count().next());
            cluster.close();

Go          go get github.com/apache/tinkerpop/gremlin-go/v3/driver
            import \"fmt\"
            import gremlingo \"github.com/apache/tinkerpop/gremlin-go/v3/driver\"
            connection, err := gremlingo.NewDriverRemoteConnection(\"{url}\"{go})
            if err != nil {{ panic(err) }}
            defer connection.Close()
            result, err := gremlingo.Traversal_().With(connection).V().Count().Next()
            if err != nil {{ panic(err) }}
            fmt.Println(result.GetInterface())"
        )
    }
}
