//! Execute: which subcommand of `evergraph cluster` runs.

use crate::command::cluster::{create, renew, serve, settle, status};
use crate::context::Context;
use clap::{Args, Subcommand};
use evergraph_terminal::failure::Failure;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  evergraph cluster create shop --nodes 10.0.0.1:7400,10.0.0.2:7400,10.0.0.3:7400 --log http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379
  evergraph cluster serve shop/node-0
  evergraph cluster status shop/node-0

What a cluster is:
  One graph on several machines. Each partition of it has copies on several
  nodes, 2 by default; every node answers every query and takes transactions. A
  shared log, on etcd or NATS, orders the transactions, and each node decides
  from it alone whether one commits. When a machine is lost the others go on,
  and nothing that was acknowledged is lost.

How one begins:
  etcd runs on three machines. create makes a folder for each node; copy each to
  its machine, and serve it there. docs/guide/cluster.md leads from three empty
  machines to a cluster, and has the settings that etcd needs.";

/// Arguments of `evergraph cluster`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ClusterArguments {
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with a cluster.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Make a cluster: a folder for each node, with what it needs to find the others and to prove who it is.
    Create(create::CreateArguments),
    /// Run a node, and serve the graph to Gremlin drivers.
    Serve(Box<serve::ServeNodeArguments>),
    /// Show how a node is: how far it is in the log, whom it reaches, what became of transactions.
    Status(status::StatusArguments),
    /// Ask what became of a transaction whose commit ended as unknown.
    Settle(settle::SettleArguments),
    /// Give a node a new key and certificate.
    Renew(renew::RenewArguments),
}

/// Does it.
///
/// # Errors
/// Those of the action.
pub fn execute(arguments: &ClusterArguments, context: &Context) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::Create(arguments) => create::execute(arguments, context)?,
        Action::Serve(arguments) => serve::execute(arguments, context)?,
        Action::Settle(arguments) => return settle::execute(arguments, context),
        Action::Renew(arguments) => renew::execute(arguments, context)?,
        Action::Status(arguments) => return status::execute(arguments, context),
    }
    Ok(ExitCode::SUCCESS)
}
