//! `evergraph serve`: a database for Gremlin's drivers, on this machine.

use crate::amount;
use crate::context::Context;
use clap::Args;
use evergraph_graph::error::Error;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph serve social.eg
  evergraph serve social.eg --listen 127.0.0.1:9000 --timeout 10s

Drivers of Apache TinkerPop 3.8 connect to ws://127.0.0.1:8182/gremlin by
WebSocket, unchanged. There are no users and there is no TLS yet, so only
addresses of this machine can be listened on.

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
    /// Address to listen on: 127.0.0.1 or [::1], and a port; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8182")]
    pub listen: SocketAddr,
    /// Time limit of a query, until its client has read its last result, such as 500ms or 10s; a request may ask for
    /// less.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "1min")]
    pub timeout: Duration,
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
    let server = Server::start(Arc::clone(&database), &name, arguments.listen, options)?;
    context.console.result(&ServeReport {
        database: arguments.database.display().to_string(),
        url: format!("ws://{}/gremlin", server.address()),
    })?;
    while !context.cancel.is_cancelled() {
        thread::sleep(END_INTERVAL);
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
}

impl fmt::Display for ServeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (database, url) = (visible(&self.database), &self.url);
        let authority = url.trim_start_matches("ws://").trim_end_matches("/gremlin");
        let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "8182"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        writeln!(
            f,
            "\
{database} is served at {url}; Ctrl-C ends it

Python      pip install gremlinpython
            from gremlin_python.process.anonymous_traversal import traversal
            from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
            connection = DriverRemoteConnection('{url}', 'g')
            g = traversal().with_(connection)
            print(g.V().count().next())
            connection.close()

JavaScript  npm install gremlin
            const gremlin = require('gremlin')
            const connection = new gremlin.driver.DriverRemoteConnection('{url}')
            const g = gremlin.process.AnonymousTraversalSource.traversal().with_(connection)
            g.V().count().next()
                .then(result => console.log(result.value))
                .finally(() => connection.close())

Java        org.apache.tinkerpop:gremlin-driver
            import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;
            import org.apache.tinkerpop.gremlin.driver.Cluster;
            import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
            var cluster = Cluster.build(\"{host}\").port({port}).create();
            var g = traversal().with(DriverRemoteConnection.using(cluster, \"g\"));
            System.out.println(g.V().count().next());
            cluster.close();

Go          go get github.com/apache/tinkerpop/gremlin-go/v3/driver
            import \"fmt\"
            import gremlingo \"github.com/apache/tinkerpop/gremlin-go/v3/driver\"
            connection, err := gremlingo.NewDriverRemoteConnection(\"{url}\")
            if err != nil {{ panic(err) }}
            defer connection.Close()
            result, err := gremlingo.Traversal_().With(connection).V().Count().Next()
            if err != nil {{ panic(err) }}
            fmt.Println(result.GetInterface())"
        )
    }
}
