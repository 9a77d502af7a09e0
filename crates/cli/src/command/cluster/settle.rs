//! `evergraph cluster settle`: what became of a transaction whose commit nobody knew the outcome of.

use crate::amount;
use crate::context::Context;
use crate::server_access::ServerAccessArguments;
use crate::target::Target;
use clap::Args;
use evergraph_graph::error::Error;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::count;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph cluster settle ws://localhost 2.7.143@57-00c0ffee00c0ffee
  evergraph cluster settle wss://ann@graph.example/shop 2.7.143@57-00c0ffee00c0ffee --json

What it does:
  A commit fails as `unknown` if the log or a node fails while it waits: it may
  have been written. The message of that error names the transaction. This asks
  a node, any of the cluster, what became of it; one that has not committed by
  now is called off, and may be run again. The user needs the role writer.

Exit codes:
  0 it has committed; 1 it has not, and never will: run it again; 10 that is
  still not known: the log does not answer, or has forgotten it. Ask again, or
  look at the data. Others: evergraph help.";

/// The exit code if it has not committed.
const NOT_COMMITTED: u8 = 1;

/// Arguments of `evergraph cluster settle`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct SettleArguments {
    /// The server of a node.
    #[arg(value_name = "URL")]
    pub server: Target,
    /// The transaction, as the message of the error names it.
    #[arg(value_name = "TRANSACTION")]
    pub transaction: UnknownCommit,
    /// How to connect.
    #[command(flatten)]
    pub access: ServerAccessArguments,
    /// Time that the answer may take.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "1min")]
    pub timeout: Duration,
}

/// Asks, and prints the answer.
///
/// # Errors
/// `invalid` for what is no URL of a node; `unknown` if nobody knows; those of connecting.
pub fn execute(arguments: &SettleArguments, context: &Context) -> Result<ExitCode, Failure> {
    let Target::Server(url) = &arguments.server else {
        let text = "settle asks the server of a node: name its URL, as ws://localhost";
        return Err(Error::invalid(text).into());
    };
    let admin = arguments.access.admin(url, context)?.timeout(arguments.timeout);
    let timestamp = admin.settle(arguments.transaction)?.map(|timestamp| timestamp.0);
    let transaction = arguments.transaction.to_string();
    context.console.result(&SettleReport { transaction, committed: timestamp.is_some(), timestamp })?;
    Ok(if timestamp.is_some() { ExitCode::SUCCESS } else { ExitCode::from(NOT_COMMITTED) })
}

/// What became of it.
#[derive(Debug, Serialize)]
struct SettleReport {
    transaction: String,
    committed: bool,
    timestamp: Option<u64>,
}

impl fmt::Display for SettleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transaction = &self.transaction;
        match self.timestamp {
            Some(timestamp) => writeln!(f, "{transaction} has committed at {}", count(timestamp)),
            None => writeln!(f, "{transaction} has not committed, and never will: it may be run again"),
        }
    }
}
