//! `evergraph serve`: databases for Gremlin's drivers, on this machine or beyond.

use crate::amount;
use crate::command::service::files::FileArguments;
use crate::command::service::limits::LimitArguments;
use crate::command::service::logging::LogArguments;
use crate::command::service::manager::ServiceManager;
use crate::command::service::replicas::{ReplicaArguments, ServedReplicas};
use crate::context::Context;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::{Durability, EngineKind};
use evergraph_graph::error::Error;
use evergraph_replica::follow::options::SYNC_INTERVAL;
use evergraph_replica::resync::recover;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::name::{ALIAS_PREFIX, DEFAULT_ALIAS};
use evergraph_server::databases::options::CatalogueOptions;
use evergraph_server::databases::served_database::{DatabaseInfo, DatabaseState, Home};
use evergraph_server::log::target;
use evergraph_server::options::ServerOptions;
use evergraph_server::security::host_check::check_reach;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::tls::TlsFiles;
use evergraph_server::server::Server;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::interrupt::on_hang_up;
use evergraph_terminal::number::counted;
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph serve social.eg
  evergraph serve social.eg --listen 127.0.0.1:9000 --timeout 10s
  evergraph serve social.eg --users users.json
  evergraph serve social.eg --users users.json --listen 0.0.0.0:8182 --tls-certificate cert.pem --tls-key key.pem
  evergraph serve social.eg bank.eg
  evergraph serve --root graphs --memory-limit 8GiB --database-memory-limit 1GiB

Drivers of Apache TinkerPop 3.8 connect to ws://127.0.0.1:8182/gremlin by
WebSocket, unchanged. A driver names a database, such as social.eg, as social or
g_social; g is the first DB, or the only open one of a root. Without --users
every program on this machine can read and write all of them. An address that
other machines reach needs --users (see evergraph help user), --tls-certificate
and --tls-key.

Changes of the users file take effect within a second. SIGHUP reads users and
certificates again, and opens the audit log again.

A database that follows a PostgreSQL database (see evergraph help replica) is a
table of a settings file; writes to it are refused, and SIGHUP starts it again
after a pause:

  [[serve.replica]]
  database = \"shop.eg\"          # beside this file
  source = \"postgres://graph@db.example/shop\"
  mapping = \"shop.toml\"

Ctrl-C or SIGTERM ends the server: new requests are refused, those that run are
finished within --stop-grace, open transactions are rolled back, and the
databases are closed behind a checkpoint. A second signal ends it at once;
nothing that was acknowledged is lost.

A service keeps its options in a settings file (--config FILE), without dashes:

  [serve]
  listen = \"0.0.0.0:8182\"
  users = \"users.json\"            # beside this file
  tls-certificate = \"cert.pem\"
  tls-key = \"key.pem\"
  audit-log = \"/var/log/evergraph/audit.log\"
  log-format = \"json\"

--print-config shows all of them. The log is written to standard error. Started
by systemd (Type=notify), the server tells it when it is ready, reloads or
stops.";

/// How often the end is looked for.
const END_INTERVAL: Duration = Duration::from_millis(20);

/// Arguments of `evergraph serve`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ServeArguments {
    /// The databases; drivers use the first one unless they name another one.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub databases: Vec<PathBuf>,
    /// Serve all databases directly below this folder as well (folders called NAME.eg), and allow creating and dropping
    /// databases there.
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
    /// Memory limit of each database, such as 1GiB; all together stay below --memory-limit, here by default half of the
    /// machine's memory with any engine [default: all of it for one database, an eighth or less for each of several].
    #[arg(long, value_name = "SIZE", value_parser = amount::memory)]
    pub database_memory_limit: Option<u64>,
    /// Address to listen on, and a port; port 0 is any free one. Without users and TLS the address is 127.0.0.1 or [::1].
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8182")]
    pub listen: SocketAddr,
    /// Users who may log in, as evergraph user writes them; everybody else is refused.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub users: Option<PathBuf>,
    /// The server's certificate, and those between it and its root, in PEM.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM; other users of this machine must not be able to read it.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub tls_key: Option<PathBuf>,
    /// Demand certificates of clients, which one of these roots signed, in PEM.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub client_certificates: Option<PathBuf>,
    /// A name or address that clients connect to, beside those of the certificate and of this machine.
    #[arg(long, value_name = "NAME", help_heading = SECURITY)]
    pub host_name: Vec<String>,
    /// Append log-ins, refusals, sessions and changes of roles to this file, as JSON lines.
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    pub audit_log: Option<PathBuf>,
    /// Databases that follow a source.
    #[command(flatten)]
    pub replicas: ReplicaArguments,
    /// Files of jobs.
    #[command(flatten)]
    pub files: FileArguments,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Logs.
    #[command(flatten)]
    pub log: LogArguments,
}

const SECURITY: &str = "Security";

impl ServeArguments {
    fn security(&self) -> Result<SecurityOptions, Error> {
        let mut security = SecurityOptions::default();
        security.users = self.users.clone();
        security.host_names = self.host_name.clone();
        security.audit_log = self.audit_log.clone();
        // Any of these may come from a settings file, where clap does not see that another one is missing; and without
        // TLS all the same, clients' passwords would be sent for everybody to read.
        security.tls = match (&self.tls_certificate, &self.tls_key, &self.client_certificates) {
            (Some(certificate), Some(key), roots) => Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_certificates: roots.clone(),
            }),
            (None, None, None) => None,
            (Some(_), None, _) => return Err(needs("--tls-certificate", "--tls-key")),
            (None, Some(_), _) => return Err(needs("--tls-key", "--tls-certificate")),
            (None, None, Some(_)) => {
                return Err(needs("--client-certificates", "--tls-certificate and --tls-key"));
            }
        };
        Ok(security)
    }
}

fn needs(option: &str, others: &str) -> Error {
    Error::invalid(format!(
        "{option} needs {others} as well: on the command line, or below [serve] in a settings file"
    ))
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// Those of opening, listening and closing.
pub fn execute(arguments: &ServeArguments, context: &Context) -> Result<(), Failure> {
    for path in &arguments.databases {
        refuse_file(path)?;
    }
    let replicas = arguments.replicas.settings()?;
    if arguments.databases.is_empty() && arguments.root.is_none() && replicas.is_empty() {
        let text = "nothing is to be served: name a DB, which is the folder of a database, or --root FOLDER, or tables \
                    [[serve.replica]] in a settings file";
        return Err(Error::invalid(text).into());
    }
    let mut opening = CatalogueOptions::default();
    opening.replicas = replicas.iter().map(|replica| replica.database.clone()).collect();
    opening.replica_durability = Durability::Interval(SYNC_INTERVAL);
    opening.open = context.options.clone();
    opening.database_memory_limit_bytes = arguments.database_memory_limit;
    let security = arguments.security()?;
    check_reach(arguments.listen, security.users.is_some(), security.tls.is_some())?;
    security.check_files()?;
    let log = arguments.log.start()?;
    let mut manager = ServiceManager::of_environment();
    // Where nothing is read again, it ends the program as ever. Databases may take long to open.
    let reloads = security.users.is_some()
        || security.tls.is_some()
        || security.audit_log.is_some()
        || !replicas.is_empty();
    let hung_up = if reloads || manager.is_there() { on_hang_up()? } else { Arc::default() };
    manager.status("opening databases");
    // A resync may have died in the middle of its swap, where a new database would be made.
    for replica in &replicas {
        recover(&replica.database)?;
    }
    let databases = DatabaseCatalogue::open(&arguments.databases, arguments.root.as_deref(), opening)?;
    for info in databases.list() {
        let database = &*info.name;
        match info.error {
            None => tracing::info!(target: target::SERVER, database, state = info.state.name(), "opened"),
            Some(error) => tracing::error!(target: target::SERVER, database, "it cannot be opened: {error}"),
        }
    }
    let served = match ServedReplicas::follow(replicas, &databases) {
        Ok(replicas) => {
            let served = serve(arguments, context, &databases, &replicas, &security, &mut manager, &hung_up);
            replicas.stop();
            served
        }
        Err(error) => Err(error.into()),
    };
    // Whatever came of serving, what is open is closed.
    let closed = databases.close_all();
    served?;
    closed?;
    tracing::info!(target: target::SERVER, "closed");
    log.close();
    Ok(())
}

fn serve(
    arguments: &ServeArguments,
    context: &Context,
    databases: &Arc<DatabaseCatalogue>,
    replicas: &ServedReplicas,
    security: &SecurityOptions,
    manager: &mut ServiceManager,
    hung_up: &AtomicBool,
) -> Result<(), Failure> {
    let mut options = ServerOptions::default();
    options.workers = context.threads;
    options.slow_query_time = arguments.log.slow_query_time.0;
    arguments.limits.apply(&mut options);
    let files = arguments.files.options();
    let server =
        Server::start_with_files(Arc::clone(databases), arguments.listen, options, security, &files)?;
    let scheme = if security.tls.is_some() { "wss" } else { "ws" };
    let url = format!("{scheme}://{}/gremlin", server.address());
    context.console.summary(&ServeReport {
        databases: databases.list().iter().map(|info| DatabaseReport::new(info, databases)).collect(),
        root: arguments.root.as_ref().map(|root| root.display().to_string()),
        url: url.clone(),
        users: security.users.is_some(),
    })?;
    let status = format!("serving at {url}");
    manager.ready(&status);
    while !context.cancel.is_cancelled() {
        thread::sleep(END_INTERVAL);
        if hung_up.swap(false, Ordering::Relaxed) {
            manager.reloading();
            server.reload();
            replicas.start_again();
            tracing::info!(target: target::SERVER, "files were read again");
            manager.ready(&status);
        }
        log_notices(&server);
        replicas.log_changes();
        manager.sign_of_life(server.since_sweep());
    }
    manager.stopping();
    log_notices(&server);
    server.stop();
    Ok(())
}

fn log_notices(server: &Server) {
    for notice in server.take_notices() {
        tracing::warn!(target: target::SERVER, "{notice}");
    }
}

/// Where the server listens.
#[derive(Debug, Serialize)]
struct ServeReport {
    databases: Vec<DatabaseReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    url: String,
    /// Whether clients have to log in.
    users: bool,
}

/// A database, and what drivers call it.
#[derive(Debug, Serialize)]
struct DatabaseReport {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    state: &'static str,
    aliases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl DatabaseReport {
    fn new(info: &DatabaseInfo, databases: &DatabaseCatalogue) -> Self {
        let name = &info.name;
        let is_default = databases.default_name().as_ref() == Some(name);
        let default = is_default.then(|| DEFAULT_ALIAS.to_owned());
        let path = match &info.home {
            Home::Folder(path) | Home::Replica(path) | Home::Root(path) => Some(path.display().to_string()),
            Home::Given => None,
        };
        Self {
            name: name.to_string(),
            path,
            state: info.state.name(),
            aliases: default.into_iter().chain([name.to_string(), format!("{ALIAS_PREFIX}{name}")]).collect(),
            engine: info.engine.map(EngineKind::name),
            error: info.error.clone(),
        }
    }

    fn is_open(&self) -> bool {
        self.state == DatabaseState::Open.name()
    }

    /// Whether examples may use the name as it is.
    fn has_plain_name(&self) -> bool {
        self.name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
    }
}

impl ServeReport {
    /// What is served, in a line; of several a table follows.
    fn write_databases(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        if let ([only], None) = (&self.databases[..], &self.root) {
            let path = only.path.as_deref().unwrap_or(&only.name);
            return writeln!(f, "{} is served at {url}; Ctrl-C ends it", visible(path));
        }
        let count = counted(self.databases.len() as u64, "database", "databases");
        let verb = if self.databases.len() == 1 { "is" } else { "are" };
        writeln!(f, "{count} {verb} served at {url}; Ctrl-C ends it")?;
        let mut table =
            Table::new(&[("database", Side::Left), ("state", Side::Left), ("aliases", Side::Left)]);
        for database in &self.databases {
            let aliases = if database.is_open() { database.aliases.join(", ") } else { String::new() };
            table.row([database.name.clone(), database.state.to_owned(), aliases]);
        }
        match self.databases.is_empty() {
            true => Ok(()),
            false => write!(f, "\n{table}"),
        }
    }

    /// What the examples call the database.
    fn source(&self) -> &str {
        let is_default =
            |database: &&DatabaseReport| database.aliases.iter().any(|alias| alias == DEFAULT_ALIAS);
        if self.databases.iter().any(|database| is_default(&database)) {
            return DEFAULT_ALIAS;
        }
        let mut open = self.databases.iter().filter(|database| database.is_open());
        open.find(|database| database.has_plain_name()).map_or("NAME", |database| &database.name)
    }
}

impl fmt::Display for ServeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_databases(f)?;
        let (url, source) = (&self.url, self.source());
        let (scheme, rest) = url.split_once("://").unwrap_or(("ws", url));
        let authority = rest.trim_end_matches("/gremlin");
        let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "8182"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let pick = |text: &'static str| if self.users { text } else { "" };
        let python = pick(", username='USER', password='PASSWORD'");
        let java = pick(".credentials(\"USER\", \"PASSWORD\")");
        let mut javascript = Vec::new();
        let mut go = Vec::new();
        if source != DEFAULT_ALIAS {
            javascript.push(format!("traversalSource: '{source}'"));
            go.push(format!("settings.TraversalSource = \"{source}\""));
        }
        if self.users {
            javascript.push(
                "authenticator: new gremlin.driver.auth.PlainTextSaslAuthenticator('USER', 'PASSWORD')"
                    .to_owned(),
            );
            go.push("settings.AuthInfo = gremlingo.BasicAuthInfo(\"USER\", \"PASSWORD\")".to_owned());
        }
        let javascript = match javascript.is_empty() {
            true => String::new(),
            false => format!(", {{{}}}", javascript.join(", ")),
        };
        let go = match go.is_empty() {
            true => String::new(),
            false => format!(
                ", func(settings *gremlingo.DriverRemoteConnectionSettings) {{\n                {} }}",
                go.join("; ")
            ),
        };
        let java_tls = if scheme == "wss" { ".enableSsl(true)" } else { "" };
        writeln!(
            f,
            "
Python      pip install gremlinpython
            from gremlin_python.process.anonymous_traversal import traversal
            from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
            connection = DriverRemoteConnection('{url}', '{source}'{python})
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
            var g = traversal().with(DriverRemoteConnection.using(cluster, \"{source}\"));
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
