//! Indexed database: what `index` works on: a folder that it opens, or a database of a server.

use crate::command::index::arguments::IndexDatabase;
use crate::command::index::graph_names::GraphNames;
use crate::context::Context;
use crate::read_access::ReadAccessArguments;
use crate::remote_job::tell;
use crate::target::Target;
use evergraph::{Database, IndexKind, IndexOptions, OwnerName};
use evergraph_client::admin::call::Admin;
use evergraph_client::admin::indexes::CreatedIndex;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::view::GraphView;
use evergraph_report::index::{IndexEntry, is_on, list};
use evergraph_storage::indexing::IndexRequest;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::counted;

/// Where the database is.
pub enum IndexedDatabase {
    /// A folder, which is open.
    Folder(Database, String),
    /// A server.
    Server(Admin),
}

impl IndexedDatabase {
    /// Opens the folder, or reads how to connect.
    ///
    /// # Errors
    /// Those of opening; `invalid` for a wrong URL, and for options of a URL with a folder.
    pub fn open(on: &IndexDatabase, context: &Context) -> Result<Self> {
        match &on.database {
            Target::Folder(path) => {
                on.access.refuse()?;
                Ok(Self::Folder(context.open(path)?, path.display().to_string()))
            }
            Target::Server(url) => Ok(Self::Server(on.access.admin(url, context)?)),
        }
    }

    /// As [`IndexedDatabase::open`], to change nothing: a folder beside the process that writes there.
    ///
    /// # Errors
    /// As [`IndexedDatabase::open`]; those of [`ReadAccessArguments::open`].
    pub fn open_to_read(on: &IndexDatabase, reading: ReadAccessArguments, context: &Context) -> Result<Self> {
        match &on.database {
            Target::Folder(path) => {
                on.access.refuse()?;
                Ok(Self::Folder(reading.open(path, context)?, path.display().to_string()))
            }
            Target::Server(_) => {
                reading.refuse()?;
                Self::open(on, context)
            }
        }
    }

    /// What it is called in reports.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Folder(_, shown) => shown.clone(),
            Self::Server(admin) => admin.client().url().to_string(),
        }
    }

    /// The names of its graph.
    ///
    /// # Errors
    /// Those of the server; as [`GraphView::check_begun`].
    pub fn names(&self) -> Result<GraphNames> {
        match self {
            Self::Folder(database, _) => Ok(GraphNames::of_catalogue(&*database.snapshot().names()?)),
            Self::Server(admin) => admin.schema().map(GraphNames::of_schema),
        }
    }

    /// All indexes.
    ///
    /// # Errors
    /// Those of the server.
    pub fn list(&self) -> Result<Vec<IndexEntry>> {
        match self {
            Self::Folder(database, _) => list(database),
            Self::Server(admin) => admin.indexes(),
        }
    }

    /// Builds an index.
    ///
    /// # Errors
    /// Those of building it; `cancelled`.
    pub fn create(
        &self,
        request: &IndexRequest<'_>,
        meter: &Meter,
        context: &Context,
    ) -> Result<CreatedIndex<IndexEntry>> {
        let IndexRequest { owner, key, kind, unique } = *request;
        match self {
            Self::Folder(database, _) => {
                let options = match owner {
                    OwnerName::Label(label) => IndexOptions::on_label(label, key),
                    OwnerName::EdgeType(edge_type) => IndexOptions::on_edges(edge_type, key),
                };
                let options = if unique { options.unique() } else { options };
                let created = database.create_index_with(
                    &options.of_kind(kind),
                    &|now| {
                        let share = f64::from(now.groups_done) / f64::from(now.groups_count.max(1));
                        meter.tell("index", Some(share), || counted(now.entries, "entry", "entries"));
                    },
                    &context.cancel,
                )?;
                let indexes = database.indexes();
                let index = indexes.iter().find(|index| is_on(index, owner, key) && index.kind == kind);
                Ok(CreatedIndex::new(created, index.map(IndexEntry::new)))
            }
            Self::Server(admin) => admin.create_index(request, &mut |progress| tell(meter, progress)),
        }
    }

    /// Drops an index, and says which.
    ///
    /// # Errors
    /// `not_found` if there is none; `invalid` if there are several and no `kind` is named.
    pub fn drop_index(
        &self,
        owner: OwnerName<'_>,
        key: &str,
        kind: Option<IndexKind>,
    ) -> Result<Option<IndexEntry>> {
        let mut found = self.list()?;
        found.retain(|index| index.is_on(owner, key) && kind.is_none_or(|kind| index.kind == kind.name()));
        match self {
            Self::Folder(database, _) => database.drop_index(owner, key, kind)?,
            Self::Server(admin) => {
                let kind = match &found[..] {
                    [] => {
                        let what = kind.map_or_else(String::new, |kind| format!("{kind} "));
                        let text = format!("there is no {what}index on {owner}.{key}");
                        return Err(Error::new(ErrorKind::NotFound, text));
                    }
                    [index] => index.kind.parse().map_err(|why: String| Error::invalid(why))?,
                    several => {
                        let kinds: Vec<&str> = several.iter().map(|index| &*index.kind).collect();
                        return Err(Error::invalid(format!(
                            "{owner}.{key} has several indexes: say which of them is meant (--kind {})",
                            kinds.join(" or --kind ")
                        )));
                    }
                };
                admin.drop_index(owner, key, kind)?;
            }
        }
        Ok(found.into_iter().next())
    }

    /// Closes what was opened.
    ///
    /// # Errors
    /// Those of the last sync.
    pub fn close(self) -> Result<()> {
        match self {
            Self::Folder(database, _) => database.close(),
            Self::Server(_) => Ok(()),
        }
    }
}
