//! `evergraph serve`: databases for Gremlin's drivers, on this machine or beyond.

use crate::amount;
use crate::command::service::access::AccessArguments;
use crate::command::service::driver_examples::DriverExamples;
use crate::command::service::files::FileArguments;
use crate::command::service::limits::LimitArguments;
use crate::command::service::logging::LogArguments;
use crate::command::service::replicas::{ReplicaArguments, ServedReplicas};
use crate::command::service::serving::{HangUpUse, LogInUse, ServerArguments, Serving};
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
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

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
    /// Who reaches it.
    #[command(flatten)]
    pub access: AccessArguments,
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
    let server =
        ServerArguments { access: &arguments.access, limits: &arguments.limits, log: &arguments.log };
    let hang_up_use = if replicas.is_empty() { HangUpUse::Security } else { HangUpUse::Companion };
    let mut serving = Serving::begin(server, context, hang_up_use)?;
    serving.tell("opening databases");
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
            let served = serving.serve(&databases, &arguments.files.options(), &replicas, |url, log_in| {
                ServeReport::new(arguments, &databases, url, log_in)
            });
            replicas.stop();
            served
        }
        Err(error) => Err(error.into()),
    };
    // Whatever came of serving, what is open is closed.
    let closed = databases.close_all();
    served?;
    closed?;
    serving.end();
    Ok(())
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
    fn new(arguments: &ServeArguments, databases: &DatabaseCatalogue, url: &str, log_in: LogInUse) -> Self {
        Self {
            databases: databases.list().iter().map(|info| DatabaseReport::new(info, databases)).collect(),
            root: arguments.root.as_ref().map(|root| root.display().to_string()),
            url: url.to_owned(),
            users: log_in == LogInUse::Needed,
        }
    }

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
        let log_in = if self.users { LogInUse::Needed } else { LogInUse::None };
        write!(f, "{}", DriverExamples { url: &self.url, source: self.source(), log_in })
    }
}
