//! `evergraph cluster status`: how a node is, by its folder on this machine or by the URL of its server.

use crate::amount;
use crate::command::cluster::node_document::NodeState;
use crate::command::cluster::report_text::{ReportText, Tense};
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
  not answer, is starting, or its process is gone: what is shown is the last
  that was known. Others: evergraph help.";

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
    let (process, status) = match &arguments.node {
        Target::Folder(folder) => {
            arguments.access.refuse()?;
            let status = StatusDocument::read(folder)?;
            (NodeProcess::of(folder, status.pid)?, status)
        }
        Target::Server(url) => {
            let admin = arguments.access.admin(url, context)?.timeout(arguments.timeout);
            (NodeProcess::Runs, admin.cluster_status::<StatusDocument>()?)
        }
    };
    let report = StatusReport::new(process, status);
    context.console.result(&report)?;
    Ok(if report.is_serving() { ExitCode::SUCCESS } else { ExitCode::from(NOT_SERVING) })
}

/// What became of the process that wrote a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeProcess {
    /// It runs the node.
    Runs,
    /// No process does.
    Gone,
    /// This other one does, and has not written a status.
    Other(u32),
}

impl NodeProcess {
    /// By the lock on the folder of the node, whose status `writer` wrote.
    fn of(folder: &Path, writer: u32) -> Result<Self> {
        let state = DiskDirectory::open(folder).and_then(|directory| directory.lock_state(LOCK_NAME))?;
        Ok(match state {
            LockState::Free => Self::Gone,
            LockState::Held(Some(holder)) if holder != writer => Self::Other(holder),
            LockState::Held(_) => Self::Runs,
        })
    }
}

/// How a node is, and how it is known.
#[derive(Debug, Serialize)]
struct StatusReport {
    /// Whether the process that wrote the status runs, as far as is known.
    running: bool,
    /// Another process that runs the node, and has not written a status.
    other_process: Option<u32>,
    seconds_since_written: f64,
    #[serde(flatten)]
    status: StatusDocument,
}

impl StatusReport {
    fn new(process: NodeProcess, status: StatusDocument) -> Self {
        let other_process = match process {
            NodeProcess::Other(other) => Some(other),
            NodeProcess::Runs | NodeProcess::Gone => None,
        };
        let seconds_since_written = status.age().as_secs_f64();
        Self { running: process == NodeProcess::Runs, other_process, seconds_since_written, status }
    }

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
        match (self.running, self.other_process) {
            (_, Some(other)) => {
                format!(
                    "{other} has not said yet how the node is: it is starting, as its log says, or it is a program that opened the node; \
                     what follows is of process {pid}, {since} ago"
                )
            }
            (false, None) => format!("{pid} is gone; what follows is {since} old"),
            // In a container the process before may have had the same number.
            (true, None) if self.is_outdated() => {
                format!(
                    "{pid}{url}; what follows has not been renewed for {since}: it is starting, and perhaps copies what it lacks, which its log \
                     says; or its disk is full, or it is stopped"
                )
            }
            (true, None) => format!("{pid}{url}"),
        }
    }
}

impl fmt::Display for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13} {}", "process", visible(&self.process()))?;
        let is_true = self.running && !self.is_outdated();
        let tense = if is_true { Tense::Present } else { Tense::Past };
        write!(f, "{}", ReportText { report: &self.status.report, tense })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cluster::node_document::example;

    #[test]
    fn a_status_that_its_process_no_longer_renews_is_told_as_old() {
        let pid = std::process::id();
        let told = |process, seconds_since_written, state| {
            let mut document = example();
            document.state = state;
            let status = StatusDocument::new(document, Some("ws://h:1/gremlin".to_owned()));
            let report = StatusReport { seconds_since_written, ..StatusReport::new(process, status) };
            (report.is_serving(), report.to_string())
        };
        let (serves, text) = told(NodeProcess::Runs, 1.0, NodeState::Serving);
        assert!(
            serves && text.starts_with(&format!("process       {pid}, for drivers at ws://h:1/gremlin\n")),
            "{text}"
        );
        assert!(text.contains("\nnode          0: serves\n"), "{text}");
        let (serves, text) = told(NodeProcess::Runs, 60.0, NodeState::Serving);
        assert!(!serves && text.contains("has not been renewed for"), "{text}");
        assert!(text.contains("\nnode          0, as it was then: serves\n"), "{text}");
        let (serves, text) = told(NodeProcess::Gone, 1.0, NodeState::Serving);
        assert!(!serves && text.contains(&format!("{pid} is gone; what follows is")), "{text}");
        assert!(text.contains("\nnode          0, as it was then: serves\n"), "{text}");
        for state in NodeState::ALL.into_iter().filter(|state| *state != NodeState::Serving) {
            assert!(!told(NodeProcess::Runs, 1.0, state).0, "{state:?}");
        }
    }

    /// A service manager starts a node that was killed within seconds, and what the killed one wrote says that it serves.
    #[test]
    fn what_the_process_before_wrote_is_not_told_of_the_one_that_starts() {
        let status = StatusDocument::new(example(), Some("ws://h:1/gremlin".to_owned()));
        assert_eq!(status.report.state, NodeState::Serving);
        let before = status.pid;
        let report = StatusReport::new(NodeProcess::Other(before + 1), status);
        let text = report.to_string();
        assert!(!report.is_serving() && !report.running, "{text}");
        for part in [
            format!("process       {} has not said yet how the node is", before + 1),
            format!("of process {before}, "),
            "0, as it was then: serves".to_owned(),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(NodeProcess::of(folder.path(), before).unwrap(), NodeProcess::Gone);
        let directory = DiskDirectory::open(folder.path()).unwrap();
        let _lock = directory.lock_exclusive(LOCK_NAME).unwrap();
        assert_eq!(NodeProcess::of(folder.path(), before).unwrap(), NodeProcess::Runs);
        assert_eq!(NodeProcess::of(folder.path(), before + 1).unwrap(), NodeProcess::Other(before));
    }
}
