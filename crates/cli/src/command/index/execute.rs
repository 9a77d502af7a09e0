//! Creates, drops and lists indexes, and declares edge types newest-first.

use crate::command::index::arguments::{Action, IndexArguments};
use crate::command::index::indexed_database::IndexedDatabase;
use crate::command::index::report::{
    DroppedIndex, IndexCreated, IndexDropped, IndexList, NewestFirstDeclared,
};
use crate::context::Context;
use evergraph::{IndexKind, OwnerName};
use evergraph_graph::error::Error;
use evergraph_storage::indexing::IndexRequest;
use evergraph_terminal::failure::Failure;
use std::time::Instant;

/// What helps beside another name, where names may be new.
const NEW_HINT: &str = " (--new declares a name that nothing has yet)";

/// Creates, drops or lists.
///
/// # Errors
/// Those of opening and of what is done; `cancelled`.
pub fn execute(arguments: &IndexArguments, context: &Context) -> std::result::Result<(), Failure> {
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    match &arguments.action {
        Action::Create { on_database, on, unique, ordered, new } => {
            let (owner, key) = on.parts()?;
            let kind = if *ordered { IndexKind::Ordered } else { IndexKind::Hash };
            let database = IndexedDatabase::open(on_database, context)?;
            if !new {
                database.names()?.refuse_unknown(owner, key, NEW_HINT)?;
            }
            let request = IndexRequest { owner, key, kind, unique: *unique };
            let built = database.create(&request, &meter, context)?;
            let shown = database.shown();
            database.close()?;
            drop(meter);
            context.console.summary(&IndexCreated {
                database: shown,
                created: built.created,
                index: built.index,
                seconds: began.elapsed().as_secs_f64(),
            })
        }
        Action::Drop { on_database, on, kind } => {
            let (owner, key) = on.parts()?;
            let database = IndexedDatabase::open(on_database, context)?;
            let dropped = database.drop_index(owner, key, *kind)?;
            let dropped = dropped.map(|index| DroppedIndex { kind: index.kind, unique: index.unique });
            let (property, shown) = (format!("{owner}.{key}"), database.shown());
            database.close()?;
            drop(meter);
            context.console.summary(&IndexDropped { database: shown, property, dropped })
        }
        Action::NewestFirst { on_database, edge_type, key } => {
            let database = IndexedDatabase::open(on_database, context)?;
            let names = database.names()?;
            let owner = OwnerName::EdgeType(edge_type);
            names.refuse_unknown(owner, key, "")?;
            if key.is_empty() {
                return Err(Error::invalid("name the property whose greatest value is the newest").into());
            }
            let request = IndexRequest { owner, key, kind: IndexKind::Newest, unique: false };
            let built = database.create(&request, &meter, context)?;
            let shown = database.shown();
            database.close()?;
            drop(meter);
            let was_declared = names.newest_first().iter().any(|newest| newest.edge_type == *edge_type);
            context.console.summary(&NewestFirstDeclared {
                database: shown,
                edge_type: edge_type.clone(),
                key: key.clone(),
                declared: !was_declared,
                created: built.created && built.index.is_some(),
                index: built.index,
                seconds: began.elapsed().as_secs_f64(),
            })
        }
        Action::List { on_database, reading } => {
            let database = IndexedDatabase::open_to_read(on_database, *reading, context)?;
            let (indexes, names, shown) = (database.list()?, database.names()?, database.shown());
            database.close()?;
            drop(meter);
            context.console.result(&IndexList {
                database: shown,
                indexes,
                newest_first: names.newest_first().to_vec(),
                scanned_labels: names.labels(),
                scanned_edge_types: names.edge_types(),
            })
        }
    }
}
