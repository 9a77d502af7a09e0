//! `evergraph cluster serve`: a node of a cluster, and the graph for Gremlin's drivers.

use crate::amount;
use crate::command::cluster::node_document::NodeDocument;
use crate::command::cluster::served_node::{ServedNode, reporting};
use crate::command::service::access::AccessArguments;
use crate::command::service::driver_examples::DriverExamples;
use crate::command::service::limits::LimitArguments;
use crate::command::service::logging::LogArguments;
use crate::command::service::serving::{HangUpUse, LogInUse, ServerArguments, Serving};
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph::Database;
use evergraph::cluster::node_options;
use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_cluster::running::description::ClusterDescription;
use evergraph_cluster::running::node_description::NodeDescription;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::cluster_member::ClusterMember;
use evergraph_server::databases::name::{ALIAS_PREFIX, DEFAULT_ALIAS};
use evergraph_server::log::target;
use evergraph_server::spool::options::FileOptions;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph cluster serve node-0
  evergraph cluster serve node-0 --listen 127.0.0.1:9000 --quiet
  evergraph cluster serve node-0 --users users.json --listen 0.0.0.0:8182 --tls-certificate cert.pem --tls-key key.pem

What it does:
  It runs the node whose folder `evergraph cluster create` made: it reads the
  log, keeps the node's partitions, answers other nodes at the port of --nodes,
  and serves the whole graph at --listen, as evergraph serve does. It says what
  it waits for, and when it has joined; drivers connect after that.

  What it lacks it copies from other nodes first: after its disk was lost, or a
  partition, or when it was away for longer than the log is kept.

  node.toml in the folder has what is this node's own: where it listens for
  other nodes, memory, how often it makes a checkpoint, where the log is.

The end:
  Ctrl-C or SIGTERM ends it: new requests are refused, those that run are
  finished within --stop-grace, open transactions are rolled back, and the node
  leaves its partitions behind a checkpoint. The other nodes go on. A second
  signal ends it at once; nothing that was acknowledged is lost.

  A service keeps its options in a settings file (--config FILE), below a line
  [cluster.serve]. The log of the server is written to standard error. Started
  by systemd (Type=notify), the node tells it when it is ready, or stops; while
  it copies what it lacks, or reads the log, it asks for more time to start.";

/// How often it is looked whether the node has joined, or is to end.
const JOIN_INTERVAL: Duration = Duration::from_millis(20);

/// Arguments of `evergraph cluster serve`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ServeNodeArguments {
    /// The folder of the node.
    #[arg(value_name = "FOLDER", value_parser = FolderParser)]
    pub folder: PathBuf,
    /// Time at the start in which the log does nothing for the node before that is an error.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "30s")]
    pub join_timeout: Duration,
    /// Who reaches the server.
    #[command(flatten)]
    pub access: AccessArguments,
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
/// Those of opening the node, listening and closing; `busy` if another process runs the node.
pub fn execute(arguments: &ServeNodeArguments, context: &Context) -> Result<(), Failure> {
    refuse_options_of_engines(context)?;
    let server =
        ServerArguments { access: &arguments.access, limits: &arguments.limits, log: &arguments.log };
    let mut serving = Serving::begin(server, context, HangUpUse::Security)?;
    let Some(node) = open(arguments, &serving, context)? else { return Ok(()) };
    let served = Arc::new(ServedNode::new(Arc::clone(&node), &arguments.folder));
    let database = Arc::new(Database::of_cluster_node(node, &arguments.folder, &context.options)?);
    let ran = serve(&database, &served, &mut serving);
    // Whatever came of serving, the node ends in order.
    let closed = database.close();
    served.tell_end();
    ran?;
    closed?;
    serving.end();
    Ok(())
}

/// Opens the node, which has joined then; `None` if it was asked to end before.
fn open(
    arguments: &ServeNodeArguments,
    serving: &Serving<'_>,
    context: &Context,
) -> Result<Option<Arc<ClusterNode>>, Failure> {
    let folder = arguments.folder.clone();
    let (description, own) = (ClusterDescription::read(&folder)?, NodeDescription::read(&folder)?);
    let endpoints = own.log.servers().join(", ");
    tracing::info!(target: target::SERVER, cluster = description.name, node = own.node.0, "waits for the log at {endpoints}");
    serving.tell(&format!("waiting for the log at {endpoints}"));
    let (tells, progress) = channel();
    let options = ClusterNodeOptions {
        join_patience: arguments.join_timeout,
        on_report: Some(reporting(tells)),
        ..node_options()
    };
    // It may wait for the log for long, and is asked to end meanwhile.
    let opening = thread::Builder::new().name("opening".to_owned());
    let opening = opening.spawn(move || ClusterNode::open(&folder, options)).map_err(|error| {
        Error::new(ErrorKind::Io, format!("start a thread that opens the node: {error}")).because(error)
    })?;
    while !opening.is_finished() {
        if context.cancel.is_cancelled() {
            tracing::info!(target: target::SERVER, "ends before the node has joined");
            return Ok(None);
        }
        if let Some(newest) = progress.try_iter().last() {
            serving.tell_progress(&newest);
        }
        thread::sleep(JOIN_INTERVAL);
    }
    let opened = opening.join().map_err(|_| Error::new(ErrorKind::Io, "opening the node has panicked"))?;
    Ok(Some(Arc::new(opened?)))
}

fn serve(
    database: &Arc<Database>,
    served: &Arc<ServedNode>,
    serving: &mut Serving<'_>,
) -> Result<(), Failure> {
    let name = served.document().cluster;
    let databases = DatabaseCatalogue::of(&name, Arc::clone(database))?;
    if let Some(database) = databases.get(&name) {
        database.set_member(Arc::clone(served) as Arc<dyn ClusterMember>);
    }
    serving.serve(&databases, &FileOptions::default(), &**served, |url, log_in| {
        served.serves_at(url);
        ServeNodeReport::new(&served.document(), url, log_in)
    })
}

/// Refuses options about how an engine keeps a database of its own.
fn refuse_options_of_engines(context: &Context) -> Result<(), Error> {
    let taken = ["--threads", "--memory-limit"];
    match context.opening_options.iter().find(|option| !taken.contains(option)) {
        None => Ok(()),
        Some(option) => Err(Error::invalid(format!(
            "{option} has no effect on a node of a cluster: its commits are durable in the log, and node.toml in its folder says \
             how it keeps its partitions: leave it out"
        ))),
    }
}

/// Where a node serves drivers.
#[derive(Debug, Serialize)]
struct ServeNodeReport {
    cluster: String,
    node: u16,
    nodes_count: usize,
    url: String,
    /// Whether clients have to log in.
    users: bool,
    aliases: Vec<String>,
}

impl ServeNodeReport {
    fn new(report: &NodeDocument, url: &str, log_in: LogInUse) -> Self {
        let name = &report.cluster;
        Self {
            cluster: name.clone(),
            node: report.node,
            nodes_count: report.members.len(),
            url: url.to_owned(),
            users: log_in == LogInUse::Needed,
            aliases: vec![DEFAULT_ALIAS.to_owned(), name.clone(), format!("{ALIAS_PREFIX}{name}")],
        }
    }
}

impl fmt::Display for ServeNodeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, node, nodes_count, url, .. } = self;
        let cluster = visible(cluster);
        writeln!(f, "node {node} of {cluster}, one of {nodes_count}, serves it at {url}; Ctrl-C ends it")?;
        let log_in = if self.users { LogInUse::Needed } else { LogInUse::None };
        write!(f, "{}", DriverExamples { url, source: DEFAULT_ALIAS, log_in })
    }
}
