//! `evergraph cluster renew`: a new key and certificate for a node, signed by the cluster's CA.

use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph_cluster::running::create::renew_certificate;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph cluster renew shop shop/node-0
  evergraph cluster renew shop shop/node-0 && scp -p shop/node-0/node.key shop/node-0/node.pem 10.0.0.1:node-0/

What it does:
  Certificates of nodes are valid for two years, that of the CA for ten. This
  writes a new key and certificate into the folder of a node, where the key of
  the CA is at hand. Copy both to the machine of the node and restart the node,
  one node after the other: the others take the old and the new one.";

/// Arguments of `evergraph cluster renew`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct RenewArguments {
    /// The folder that create made: it has ca.key and ca.pem.
    #[arg(value_name = "OUT", value_parser = FolderParser)]
    pub authority: PathBuf,
    /// The folder of the node, or a copy of it.
    #[arg(value_name = "FOLDER", value_parser = FolderParser)]
    pub node: PathBuf,
}

/// Renews.
///
/// # Errors
/// Those of [`renew_certificate`].
pub fn execute(arguments: &RenewArguments, context: &Context) -> Result<(), Failure> {
    renew_certificate(&arguments.authority, &arguments.node)?;
    context.console.summary(&RenewReport { folder: arguments.node.display().to_string() })
}

/// What was renewed.
#[derive(Debug, Serialize)]
struct RenewReport {
    folder: String,
}

impl fmt::Display for RenewReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} has a new key and certificate; the node reads them when it starts",
            visible(&self.folder)
        )
    }
}
