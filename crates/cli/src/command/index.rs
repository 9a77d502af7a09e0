//! `evergraph index`: indexes and uniqueness, created, dropped and listed; edge types that are newest-first.

use crate::command::run::names;
use crate::context::Context;
use crate::target::FolderParser;
use clap::{Args, Subcommand};
use evergraph::index::IndexInfo;
use evergraph::{IndexKind, IndexOptions, OwnerName};
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::view::GraphView;
use evergraph_report::index::{IndexEntry, is_on, list};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph index create social.eg Person name --unique
  evergraph index create social.eg Person born --ordered
  evergraph index create social.eg --edge KNOWS since --ordered
  evergraph index list social.eg
  evergraph index drop social.eg Person born
  evergraph index newest-first social.eg KNOWS since

Which index:
  A hash index finds equal values; an ordered one also finds ranges and prefixes,
  and takes more memory. With --unique no two vertices of the label (edges of
  the type) may have the same value. Finding all vertices of a label, or all
  edges of a type, needs no index: a scan visits nothing else.";

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
  an integer, a date or a datetime. The declaration is permanent, and an edge type
  has one such property.
  With the memory engine nothing is built now: a list of more than 64 edges is
  sorted when it is first read in this order, at two bytes per edge. With the disk
  engine an index of kind newest is built, which takes some 15 bytes per edge of
  the disk; without it (index drop --kind newest) a list is read whole and sorted.
  An edge type that was declared in a transaction has no index: run this command.";

/// What helps beside another name, where names may be new.
const NEW_HINT: &str = " (--new declares a name that nothing has yet)";

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
        /// The database.
        #[arg(value_parser = FolderParser)]
        database: PathBuf,
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
        /// The database.
        #[arg(value_parser = FolderParser)]
        database: PathBuf,
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
        /// The database.
        #[arg(value_parser = FolderParser)]
        database: PathBuf,
        /// The edge type.
        edge_type: String,
        /// The property whose greatest value is the newest.
        key: String,
    },
    /// List indexes with their sizes, and edge types that are newest-first.
    #[command(after_help = LIST_HELP)]
    List {
        /// The database.
        #[arg(value_parser = FolderParser)]
        database: PathBuf,
    },
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
    fn parts(&self) -> std::result::Result<(OwnerName<'_>, &str), Failure> {
        match (&self.edge, &self.names[..]) {
            (Some(edge_type), []) => Ok((OwnerName::EdgeType(edge_type), "")),
            (Some(edge_type), [key]) => Ok((OwnerName::EdgeType(edge_type), key)),
            (None, [label]) => Ok((OwnerName::Label(label), "")),
            (None, [label, key]) => Ok((OwnerName::Label(label), key)),
            (None, _) => {
                Err(Error::invalid("name a label and a key, or an edge type with --edge and a key").into())
            }
            (Some(edge_type), _) => Err(Error::invalid(format!(
                "--edge {edge_type} takes the place of a label: add a key, and nothing else"
            ))
            .into()),
        }
    }
}

/// Creates, drops or lists.
///
/// # Errors
/// Those of opening and of what is done; `cancelled`.
pub fn execute(arguments: &IndexArguments, context: &Context) -> std::result::Result<(), Failure> {
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    match &arguments.action {
        Action::Create { database: path, on, unique, ordered, new } => {
            let (owner, key) = on.parts()?;
            let options = match owner {
                OwnerName::Label(label) => IndexOptions::on_label(label, key),
                OwnerName::EdgeType(edge_type) => IndexOptions::on_edges(edge_type, key),
            };
            let options = if *unique { options.unique() } else { options };
            let kind = if *ordered { IndexKind::Ordered } else { IndexKind::Hash };
            let options = if *ordered { options.ordered() } else { options };
            let database = context.open(path)?;
            if !new {
                refuse_unknown(&database.snapshot().catalogue(), owner, key, NEW_HINT)?;
            }
            let created = database.create_index_with(
                &options,
                &|now| {
                    let share = f64::from(now.groups_done) / f64::from(now.groups_count.max(1));
                    meter.tell("index", Some(share), || counted(now.entries, "entry", "entries"));
                },
                &context.cancel,
            )?;
            let index =
                database.indexes().into_iter().find(|index| is_on(index, owner, key) && index.kind == kind);
            database.close()?;
            drop(meter);
            context.console.summary(&IndexCreated {
                database: path.display().to_string(),
                created,
                index: index.map(|index| IndexEntry::new(&index)),
                seconds: began.elapsed().as_secs_f64(),
            })
        }
        Action::Drop { database: path, on, kind } => {
            let (owner, key) = on.parts()?;
            let database = context.open(path)?;
            let there = database.indexes();
            database.drop_index(owner, key, *kind)?;
            let dropped = there
                .iter()
                .find(|index| is_on(index, owner, key) && kind.is_none_or(|kind| index.kind == kind));
            let dropped = dropped.map(|index| DroppedIndex { kind: index.kind.name(), unique: index.unique });
            database.close()?;
            drop(meter);
            let (property, database) = (format!("{owner}.{key}"), path.display().to_string());
            context.console.summary(&IndexDropped { database, property, dropped })
        }
        Action::NewestFirst { database: path, edge_type, key } => {
            let database = context.open(path)?;
            let catalogue = database.snapshot().catalogue();
            refuse_unknown(&catalogue, OwnerName::EdgeType(edge_type), key, "")?;
            let of = catalogue.edge_type(edge_type).filter(|_| !key.is_empty());
            let of =
                of.ok_or_else(|| Error::invalid("name the property whose greatest value is the newest"))?;
            let created = database.create_index_with(
                &IndexOptions::newest(edge_type, key),
                &|now| {
                    let share = f64::from(now.groups_done) / f64::from(now.groups_count.max(1));
                    meter.tell("index", Some(share), || counted(now.entries, "entry", "entries"));
                },
                &context.cancel,
            )?;
            let is_order = |index: &IndexInfo| {
                is_on(index, OwnerName::EdgeType(edge_type), key) && index.kind == IndexKind::Newest
            };
            let index = database.indexes().into_iter().find(is_order);
            database.close()?;
            drop(meter);
            context.console.summary(&NewestFirstDeclared {
                database: path.display().to_string(),
                edge_type: edge_type.clone(),
                key: key.clone(),
                declared: catalogue.newest_first(of).is_none(),
                created: created && index.is_some(),
                index: index.map(|index| IndexEntry::new(&index)),
                seconds: began.elapsed().as_secs_f64(),
            })
        }
        Action::List { database: path } => {
            let database = context.open(path)?;
            let indexes = list(&database);
            let catalogue = database.snapshot().catalogue();
            database.close()?;
            drop(meter);
            let newest_first = catalogue.edge_types().filter_map(|(id, kind)| {
                let key = catalogue.newest_first(id)?;
                let (edge_type, key) = (kind.name.to_string(), catalogue.key_name(key).to_string());
                Some(NewestFirst { edge_type, key })
            });
            context.console.result(&IndexList {
                database: path.display().to_string(),
                indexes,
                newest_first: newest_first.collect(),
                scanned_labels: catalogue.labels().map(|(_, name)| name.to_string()).collect(),
                scanned_edge_types: catalogue.edge_types().map(|(_, kind)| kind.name.to_string()).collect(),
            })
        }
    }
}

/// Refuses names that the graph doesn't have: once in the catalogue, a misspelt one stays for good.
/// `hint` says what helps beside another name.
fn refuse_unknown(catalogue: &Catalogue, owner: OwnerName<'_>, key: &str, hint: &str) -> Result<()> {
    let with = |error: Error, more: String| Error::new(error.kind(), format!("{error}{more}"));
    let id = match owner {
        OwnerName::Label(name) => names::label(catalogue, name).map(Owner::Label).map_err(|error| {
            let is_type = catalogue.edge_type(name).is_some();
            let flag = || format!("; {name} is an edge type: --edge {name}");
            with(error, if is_type { flag() } else { hint.to_owned() })
        })?,
        OwnerName::EdgeType(name) => names::edge_type(catalogue, name)
            .map(Owner::EdgeType)
            .map_err(|error| with(error, hint.to_owned()))?,
    };
    let keys: Vec<_> = catalogue.properties_of(id).map(|(key, _)| catalogue.key_name(key)).collect();
    // Without a key the index itself says what is wrong.
    if key.is_empty() || keys.iter().any(|name| **name == *key) {
        return Ok(());
    }
    let property = format!("{owner}.{key}");
    Err(with(names::unknown("property", &property, key, keys.iter().map(AsRef::as_ref)), hint.to_owned()))
}

/// What was built.
#[derive(Debug, Serialize)]
struct IndexCreated {
    database: String,
    /// Whether it wasn't there.
    created: bool,
    index: Option<IndexEntry>,
    seconds: f64,
}

impl fmt::Display for IndexCreated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(index) = &self.index else {
            return writeln!(f, "{}: the index was dropped meanwhile", visible(&self.database));
        };
        let unique = if index.unique { "unique " } else { "" };
        let what = format!("{unique}{} index on {}.{}", index.kind, index.owner, index.key);
        let about = if index.file_bytes == 0 { "" } else { "about " };
        let entries = counted(index.entries, "entry", "entries");
        let size = format!("{about}{entries}, {}", size(index.bytes + index.file_bytes));
        let took = time(Duration::from_secs_f64(self.seconds));
        match self.created {
            true => writeln!(f, "{}: {} built in {took}: {size}", visible(&self.database), visible(&what)),
            false => writeln!(f, "{}: {} was there: {size}", visible(&self.database), visible(&what)),
        }
    }
}

/// What was dropped.
#[derive(Debug, Serialize)]
struct IndexDropped {
    database: String,
    property: String,
    #[serde(flatten)]
    dropped: Option<DroppedIndex>,
}

/// Which of the indexes on a property.
#[derive(Debug, Serialize)]
struct DroppedIndex {
    kind: &'static str,
    unique: bool,
}

impl fmt::Display for IndexDropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = self.dropped.as_ref().map_or_else(String::new, |index| {
            format!("{}{} ", if index.unique { "unique " } else { "" }, index.kind)
        });
        writeln!(f, "{}: {which}index on {} dropped", visible(&self.database), visible(&self.property))
    }
}

/// What was declared newest-first.
#[derive(Debug, Serialize)]
struct NewestFirstDeclared {
    database: String,
    #[serde(rename = "type")]
    edge_type: String,
    key: String,
    /// Whether it wasn't so before.
    declared: bool,
    /// Whether an index was built for it.
    created: bool,
    /// `null` if the engine's lists have the order themselves.
    index: Option<IndexEntry>,
    seconds: f64,
}

impl fmt::Display for NewestFirstDeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (database, edge_type, key) =
            (visible(&self.database), visible(&self.edge_type), visible(&self.key));
        let now = if self.declared { "is newest-first" } else { "was newest-first" };
        writeln!(f, "{database}: {edge_type} {now} by {key}")?;
        let Some(index) = &self.index else { return Ok(()) };
        let size = format!(
            "about {}, {}",
            counted(index.entries, "entry", "entries"),
            size(index.bytes + index.file_bytes)
        );
        match self.created {
            true => {
                writeln!(f, "its index was built in {}: {size}", time(Duration::from_secs_f64(self.seconds)))
            }
            false => writeln!(f, "its index was there: {size}"),
        }
    }
}

/// An edge type, and the property that it is newest-first by.
#[derive(Debug, Serialize)]
struct NewestFirst {
    #[serde(rename = "type")]
    edge_type: String,
    key: String,
}

/// A count, or that it is an estimate.
fn told(number: u64, is_exact: bool) -> String {
    if is_exact || number == 0 { count(number) } else { format!("about {}", count(number)) }
}

/// A row an index.
#[must_use]
pub fn indexes_table(indexes: &[IndexEntry]) -> Table {
    let mut table = Table::new(&[
        ("property", Side::Left),
        ("of", Side::Left),
        ("kind", Side::Left),
        ("", Side::Left),
        ("entries", Side::Right),
        ("distinct", Side::Right),
        ("memory", Side::Right),
        ("on disk", Side::Right),
    ]);
    for index in indexes {
        table.row([
            format!("{}.{}", index.owner, index.key),
            index.of.to_owned(),
            index.kind.to_owned(),
            if index.unique { "unique" } else { "" }.to_owned(),
            told(index.entries, index.file_bytes == 0),
            index.distinct.map_or_else(|| "-".to_owned(), |distinct| told(distinct, index.distinct_is_exact)),
            size(index.bytes),
            if index.file_bytes == 0 { "-".to_owned() } else { size(index.file_bytes) },
        ]);
    }
    table
}

/// What there is.
#[derive(Debug, Serialize)]
struct IndexList {
    database: String,
    indexes: Vec<IndexEntry>,
    newest_first: Vec<NewestFirst>,
    /// Labels: found by a scan that visits nothing else.
    scanned_labels: Vec<String>,
    /// Edge types: the same.
    scanned_edge_types: Vec<String>,
}

impl fmt::Display for IndexList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", indexes_table(&self.indexes))?;
        for NewestFirst { edge_type, key } in &self.newest_first {
            writeln!(f, "{} is newest-first by {}.", visible(edge_type), visible(key))?;
        }
        writeln!(
            f,
            "Labels and edge types need no index: vertices are stored by label and edges by type, so a scan of one \
             visits nothing else."
        )
    }
}
