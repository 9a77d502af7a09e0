//! Arguments of `evergraph index`, and its help.

use crate::read_access::ReadAccessArguments;
use crate::server_access::ServerAccessArguments;
use crate::target::Target;
use clap::{Args, Subcommand};
use evergraph::{IndexKind, OwnerName};
use evergraph_graph::error::{Error, Result};

const AFTER_HELP: &str = "\
Examples:
  evergraph index create social.eg Person name --unique
  evergraph index create social.eg Person born --ordered
  evergraph index create social.eg --edge KNOWS since --ordered
  evergraph index list social.eg
  evergraph index drop social.eg Person born
  evergraph index newest-first social.eg KNOWS since
  evergraph index list wss://ann@graph.example/social

Which index:
  A hash index finds equal values; an ordered one also finds ranges and
  prefixes, and takes more memory with the memory engine. With --unique no two
  vertices of the label (edges of the type) may have the same value. Finding all
  vertices of a label, or all edges of a type, needs no index: a scan visits
  nothing else.

A URL:
  On a server an index is built beside readers and writers, as a job that Ctrl-C
  cancels. Building and dropping need the role admin on the database.";

const CREATE_HELP: &str = "\
Examples:
  evergraph index create social.eg Person name --unique --ordered
  evergraph index create social.eg --edge KNOWS since
  evergraph index create social.eg City code --unique --new    before there are cities";

const DROP_HELP: &str = "\
Examples:
  evergraph index drop social.eg Person name
  evergraph index drop social.eg --edge KNOWS since --kind hash";

const NEWEST_FIRST_HELP: &str = "\
Examples:
  evergraph index newest-first social.eg KNOWS since

What it does:
  The newest edges of a vertex, which have the greatest values of the property,
  and those in a range of time are read without its other edges. The property is
  an integer, a date or a datetime. The declaration is permanent, and an edge
  type has one such property. With the memory engine nothing is built now: a
  list of more than 64 edges is sorted when it is first read in this order, at
  two bytes per edge. With the disk and mapped engines an index of kind newest
  is built, which takes some 15 bytes per edge of the disk, or 30 of mapped
  files; without it (index drop --kind newest) a list is read whole and sorted.
  An edge type that was declared in a transaction has no index: run this
  command.";

const LIST_HELP: &str = "\
Examples:
  evergraph index list social.eg
  evergraph index list social.eg --json | jq '.indexes[].bytes'";

/// Arguments of `evergraph index`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct IndexArguments {
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// Actions on indexes.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Build an index; Ctrl-C cancels it, and leaves no index behind.
    #[command(after_help = CREATE_HELP)]
    Create {
        /// Where the database is.
        #[command(flatten)]
        on_database: IndexDatabase,
        /// The label or edge type, and the property key.
        #[command(flatten)]
        on: IndexTarget,
        /// Allow at most one vertex or edge for each value.
        #[arg(long)]
        unique: bool,
        /// Order the index by value, so that it also finds ranges and prefixes.
        #[arg(long)]
        ordered: bool,
        /// Also declare a new label, type or property key; a name cannot be removed later.
        #[arg(long)]
        new: bool,
    },
    /// Drop an index; uniqueness is then no longer enforced.
    #[command(after_help = DROP_HELP)]
    Drop {
        /// Where the database is.
        #[command(flatten)]
        on_database: IndexDatabase,
        /// The label or edge type, and the property key.
        #[command(flatten)]
        on: IndexTarget,
        /// Which index to drop, if there are several: hash, ordered or newest.
        #[arg(long)]
        kind: Option<IndexKind>,
    },
    /// Declare an edge type as newest-first.
    #[command(after_help = NEWEST_FIRST_HELP)]
    NewestFirst {
        /// Where the database is.
        #[command(flatten)]
        on_database: IndexDatabase,
        /// The edge type.
        edge_type: String,
        /// The property whose greatest value is the newest.
        key: String,
    },
    /// List indexes with their sizes, and edge types that are newest-first.
    #[command(after_help = LIST_HELP)]
    List {
        /// Where the database is.
        #[command(flatten)]
        on_database: IndexDatabase,
        /// How it is opened to be read.
        #[command(flatten)]
        reading: ReadAccessArguments,
    },
}

/// Where the database is.
#[derive(Args, Debug)]
pub struct IndexDatabase {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// The label or edge type, and the property key.
#[derive(Args, Debug)]
pub struct IndexTarget {
    /// The label, unless --edge names a type, and the property key.
    #[arg(value_name = "LABEL KEY", num_args = 0..=2)]
    names: Vec<String>,
    /// The edge type, in place of a label.
    #[arg(long, value_name = "TYPE")]
    edge: Option<String>,
}

impl IndexTarget {
    /// The owner, and the key: empty if only an owner was named.
    ///
    /// # Errors
    /// `invalid` for any other number of names.
    pub fn parts(&self) -> Result<(OwnerName<'_>, &str)> {
        match (&self.edge, &self.names[..]) {
            (Some(edge_type), []) => Ok((OwnerName::EdgeType(edge_type), "")),
            (Some(edge_type), [key]) => Ok((OwnerName::EdgeType(edge_type), key)),
            (None, [label]) => Ok((OwnerName::Label(label), "")),
            (None, [label, key]) => Ok((OwnerName::Label(label), key)),
            (None, _) => Err(Error::invalid("name a label and a key, or an edge type with --edge and a key")),
            (Some(edge_type), _) => Err(Error::invalid(format!(
                "--edge {edge_type} takes the place of a label: add a key, and nothing else"
            ))),
        }
    }
}
