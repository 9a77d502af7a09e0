//! `evergraph cluster status`: how a node is, by its folder on this machine or by the URL of its server.

use crate::amount;
use crate::command::cluster::node_document::NodeState;
use crate::command::cluster::report_text::ReportText;
use crate::command::cluster::status_file::StatusDocument;
use crate::context::Context;
use crate::server_access::ServerAccessArguments;
use crate::target::Target;
use clap::Args;
use evergraph_graph::error::Result;
use evergraph_storage::io::directory::{Directory as _, LockState};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::unfinished_directory::LOCK_NAME;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::time;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph cluster status shop/node-0
  evergraph cluster status wss://ann@graph.example/shop
  evergraph cluster status shop/node-0 --json | jq '.members[] | select(.reached | not)'

What it shows:
  How far the node is in the log, what became of transactions, which partitions
  it keeps, and which nodes it hears of. A folder is read on this machine: the
  node writes its status there every second. A URL asks the server of a node,
  whose user needs the role admin. Each node tells what it knows itself: ask
  another one before you believe that a third one is lost.

Exit codes:
  0 the node serves; 1 it does not, lacks partitions that it should keep, does
  not answer, or its process is gone: what is shown is the last that was known.
  Others: evergraph help.";

/// The exit code if the node does not serve, or not all that it should.
const NOT_SERVING: u8 = 1;

/// After so many seconds its process should have written the status again.
const AGE_MAX: Duration = Duration::from_secs(10);

/// Arguments of `evergraph cluster status`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct StatusArguments {
    /// The node: its folder, or the URL of its server.
    #[arg(value_name = "FOLDER|URL")]
    pub node: Target,
    /// How to connect.
    #[command(flatten)]
    pub access: ServerAccessArguments,
    /// Time that a server may take to answer.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "10s")]
    pub timeout: Duration,
}

/// Looks and prints.
///
/// # Errors
/// `not_found` if a folder is not that of a node that was served, or a server's database is no node; those of connecting.
pub fn execute(arguments: &StatusArguments, context: &Context) -> std::result::Result<ExitCode, Failure> {
    let (is_running, status) = match &arguments.node {
        Target::Folder(folder) => {
            arguments.access.refuse()?;
            let status = StatusDocument::read(folder)?;
            (is_running(folder)?, status)
        }
        Target::Server(url) => {
            let admin = arguments.access.admin(url, context)?.timeout(arguments.timeout);
            (true, admin.cluster_status::<StatusDocument>()?)
        }
    };
    let report =
        StatusReport { running: is_running, seconds_since_written: status.age().as_secs_f64(), status };
    context.console.result(&report)?;
    Ok(if report.is_serving() { ExitCode::SUCCESS } else { ExitCode::from(NOT_SERVING) })
}

/// Whether a process runs the node with this folder.
fn is_running(folder: &Path) -> Result<bool> {
    let state = DiskDirectory::open(folder).and_then(|directory| directory.lock_state(LOCK_NAME))?;
    Ok(matches!(state, LockState::Held(_)))
}

/// How a node is, and how it is known.
#[derive(Debug, Serialize)]
struct StatusReport {
    /// Whether its process runs, as far as is known.
    running: bool,
    seconds_since_written: f64,
    #[serde(flatten)]
    status: StatusDocument,
}

impl StatusReport {
    fn is_serving(&self) -> bool {
        self.running && !self.is_outdated() && self.status.report.state == NodeState::Serving
    }

    fn is_outdated(&self) -> bool {
        self.seconds_since_written > AGE_MAX.as_secs_f64()
    }

    fn process(&self) -> String {
        let (pid, since) = (self.status.pid, time(Duration::from_secs_f64(self.seconds_since_written)));
        let url =
            self.status.url.as_deref().map_or_else(String::new, |url| format!(", for drivers at {url}"));
        match self.running {
            false => format!("{pid} is gone; what follows is {since} old"),
            true if self.is_outdated() => {
                format!(
                    "{pid}{url}; what follows has not been renewed for {since}: it is starting, and perhaps copies what it lacks, which its log \
                     says; or its disk is full, or it is stopped"
                )
            }
            true => format!("{pid}{url}"),
        }
    }
}

impl fmt::Display for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13} {}", "process", visible(&self.process()))?;
        write!(f, "{}", ReportText(&self.status.report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cluster::node_document::example;

    #[test]
    fn a_status_that_its_process_no_longer_renews_is_told_as_old() {
        let told = |running, seconds_since_written, state| {
            let mut document = example();
            document.state = state;
            let status = StatusDocument::new(document, Some("ws://h:1/gremlin".to_owned()));
            let report = StatusReport { running, seconds_since_written, status };
            (report.is_serving(), report.to_string())
        };
        let (serves, text) = told(true, 1.0, NodeState::Serving);
        let pid = std::process::id();
        assert!(
            serves && text.starts_with(&format!("process       {pid}, for drivers at ws://h:1/gremlin\n")),
            "{text}"
        );
        let (serves, text) = told(true, 60.0, NodeState::Serving);
        assert!(!serves && text.contains("has not been renewed for"), "{text}");
        let (serves, text) = told(false, 1.0, NodeState::Serving);
        assert!(!serves && text.contains(&format!("{pid} is gone; what follows is")), "{text}");
        for state in NodeState::ALL.into_iter().filter(|state| *state != NodeState::Serving) {
            assert!(!told(true, 1.0, state).0, "{state:?}");
        }
    }
}
