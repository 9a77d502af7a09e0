//! Graph: the id spaces and tables of an assembly, and the declarations of its files, which must agree.

use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::other_keys::OtherKey;
use crate::import::assembly::space::{Space, VertexLocation, kind_of};
use crate::import::csv::header::EndSpace;
use crate::import::declared_types::DeclaredTypes;
use crate::import::existing_graph::{ExistingGraph, OwnerByName};
use crate::import::field::cell::CellType;
use crate::import::id_type::IdType;
use crate::import::identity::InsertOutcome;
use crate::import::options::ImportOptions;
use crate::import::policy::{OnDuplicate, OnUnknown, PolicyCounts};
use crate::import::staging::spill::Staging;
use crate::import::staging::stage::{StagedEdges, StagedVertices};
use crate::import::staging::undirected::UndirectedEdges;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::Load;
use evergraph_graph::value::ValueType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A graph that is put together. All vertices come before the edges that name them.
pub struct Assembly {
    pub(super) on_duplicate: OnDuplicate,
    pub(super) on_unknown: OnUnknown,
    /// The label of vertices that are created in the space without a name.
    pub(super) nameless_label: String,
    pub(super) spaces: Vec<Space>,
    pub(super) vertices: Vec<StagedVertices>,
    /// The space of each table's ids, and the file that said so first.
    pub(super) table_spaces: Vec<(usize, String)>,
    /// What else of the vertices is unique in the database.
    pub(super) other_keys: Vec<OtherKey>,
    pub(super) edges: Vec<StagedEdges>,
    /// The spaces whose ids are those of vertices in the database, and the key that a header names for them.
    known_spaces: HashMap<usize, Option<String>>,
    /// Index in `edges` by type, source label and target label.
    edge_tables: HashMap<(String, usize, usize), usize>,
    declared: DeclaredTypes,
    /// Rows of vertices that a later one replaced.
    pub(super) dead: HashSet<VertexLocation>,
    /// Edges of files without direction, by type.
    pub(super) undirected: UndirectedEdges<String, VertexLocation>,
    pub(super) settled: PolicyCounts,
    /// Spaces of files whose numbers have no stated type.
    pub(super) untyped_spaces: HashSet<usize>,
    /// Spaces whose names are no labels.
    pub(super) labelless_spaces: HashSet<usize>,
    /// What of the files has another form in the graph: a sentence each.
    pub notes: Vec<String>,
    /// What the database has.
    pub(super) known: Arc<ExistingGraph>,
    /// Where blocks go, and ids that memory doesn't hold.
    pub(super) staging: Arc<Staging>,
    /// What ids may take in memory, all spaces together, and pairs of vertices beside them, in bytes.
    pub(super) id_bytes_max: u64,
}

impl Assembly {
    /// An empty graph beside `known`, in which `options` settle what is there twice or not at all; its
    /// blocks go where `staging` says.
    #[must_use]
    pub fn new(options: &ImportOptions, known: Arc<ExistingGraph>, staging: Arc<Staging>) -> Self {
        Self {
            on_duplicate: options.ids.on_duplicate,
            on_unknown: options.ids.on_unknown,
            nameless_label: options.lists.vertex_label.clone(),
            spaces: Vec::new(),
            vertices: Vec::new(),
            table_spaces: Vec::new(),
            other_keys: Vec::new(),
            edges: Vec::new(),
            known_spaces: HashMap::new(),
            edge_tables: HashMap::new(),
            declared: DeclaredTypes::new(Arc::clone(&known)),
            dead: HashSet::new(),
            undirected: UndirectedEdges::default(),
            settled: PolicyCounts::default(),
            untyped_spaces: HashSet::new(),
            labelless_spaces: HashSet::new(),
            notes: Vec::new(),
            known,
            staging,
            id_bytes_max: options.memory_shares().ids,
        }
    }

    /// Looks at `known` from here on: a newer state of the same database, or nothing for a while in which no row comes.
    pub fn renew_known(&mut self, known: Arc<ExistingGraph>) {
        self.declared.renew_known(Arc::clone(&known));
        self.known = known;
    }

    /// The number of the space `name`, if there is one.
    #[must_use]
    pub fn find_space(&self, name: &str) -> Option<usize> {
        self.spaces.iter().position(|space| space.name == name)
    }

    /// All spaces, by their numbers.
    #[must_use]
    pub fn spaces(&self) -> &[Space] {
        &self.spaces
    }

    /// The number of the space `name`, whose vertices the next batches of `file` hold. Their ids are of
    /// `id_type`; `None`: of any types.
    ///
    /// # Errors
    /// `invalid` if its ids are of another kind elsewhere.
    pub fn enter_space(&mut self, name: &str, id_type: Option<IdType>, file: &str) -> Result<usize> {
        let space = self.space(name, id_type, file)?;
        self.spaces[space].places.enter(file);
        Ok(space)
    }

    /// Says that numbers in files of `space` have no stated type: of one key that has fractions, all become
    /// doubles.
    pub fn unify_numbers(&mut self, space: usize) {
        self.untyped_spaces.insert(space);
    }

    /// Says that vertices that are created in `space` get the label for those without, since its name is none.
    pub fn create_without_label(&mut self, space: usize) {
        self.labelless_spaces.insert(space);
    }

    /// The number of the space where the edges of `file` have an end as `end` says, in a column that errors
    /// call `column`; its ids are of `default` if nobody says of which type. If no file has vertices of it,
    /// they are those of the label of that name in the database; if there is none either, it is a new space,
    /// if vertices may be created.
    ///
    /// # Errors
    /// `invalid` if there is no such space, if its ids are of another kind elsewhere, or if it isn't clear by
    /// which key the database's vertices are found.
    pub fn end_space(&mut self, end: &EndSpace, default: IdType, file: &str, column: &str) -> Result<usize> {
        let EndSpace { space: name, id_type, key, creates } = end;
        let space = match self.find_space(name) {
            Some(space) => Some(space),
            None => self.enter_known_space(name, key.as_deref(), file)?,
        };
        match space {
            Some(space) => {
                if id_type.is_some() {
                    self.check_kind(space, *id_type, file)?;
                }
                self.check_key(space, key.as_deref(), file)?;
                Ok(space)
            }
            // Skipping the edges of whole files is nothing that anybody means.
            None if !creates && self.on_unknown != OnUnknown::Create => {
                Err(Error::invalid(format!("{file}: {column}: {}", self.unknown_space(name))))
            }
            None => self.space(name, id_type.or(Some(default)), file),
        }
    }

    /// What is wrong with an end in the space `name`, which nobody has, and what to do.
    fn unknown_space(&self, name: &str) -> String {
        let files: Vec<&str> = self.spaces.iter().map(|space| space.name.as_str()).collect();
        let labels = self.known.labels();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let titles = |names: &[&str]| {
            let title = |name: &&str| {
                if name.is_empty() { "one without a name".to_owned() } else { format!("{name:?}") }
            };
            names.iter().map(title).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!("no file of vertices has the id space {name:?}");
        if !files.is_empty() {
            text += &format!("; the files have {}", titles(&files));
        }
        if !labels.is_empty() {
            text += &format!("; the database has {}", titles(&labels));
        }
        match (name, files.into_iter().chain(labels).next()) {
            ("", Some(known)) => {
                return text
                    + &format!("; say which one is meant, as in :START_ID({known}) and :END_ID({known})");
            }
            (_, None) => text += "; no file of vertices is imported with it",
            _ => {}
        }
        text + "; --on-unknown create makes its vertices"
    }

    /// Complains if the vertices of `space` are found by another key than `key`, which `file` names, or by
    /// one that `file` should name as well.
    fn check_key(&self, space: usize, key: Option<&str>, file: &str) -> Result<()> {
        let elsewhere = match self.known_spaces.get(&space) {
            Some(named) if named.as_deref() == key => return Ok(()),
            Some(named) => named.as_deref(),
            None if key.is_none() => return Ok(()),
            None => {
                let mut tables =
                    (0..self.vertices.len()).filter(|table| self.table_spaces[*table].0 == space);
                if tables.all(|table| self.vertices[table].unique_key.as_deref() == key) {
                    return Ok(());
                }
                None
            }
        };
        let show =
            |key: Option<&str>| key.map_or("by their ids".to_owned(), |key| format!("by {{key:{key}}}"));
        Err(Error::invalid(format!(
            "{file}: vertices of {} are found {} here and {} in {}: say the same everywhere",
            self.spaces[space].title(),
            show(key),
            show(elsewhere),
            self.spaces[space].file
        )))
    }

    /// The space `name` with the ids of the database's vertices of that label, if there are any: those of
    /// its unique key `key`.
    fn enter_known_space(&mut self, name: &str, key: Option<&str>, file: &str) -> Result<Option<usize>> {
        let known = Arc::clone(&self.known);
        let in_file = |error: Error| error.context(format!("{file}: id space {name:?}"));
        let Some(label) = known.by_label(name, key).map_err(in_file)? else { return Ok(None) };
        let value_type = label.value_type.unwrap_or(ValueType::String);
        let id_type = IdType::new(value_type).ok_or_else(|| {
            let key = &label.key_name;
            in_file(Error::invalid(format!(
                "{name}.{key} of the database is of {value_type}, which ids of files can't be"
            )))
        })?;
        let space = self.space(name, Some(id_type), file)?;
        self.vertex_table(name, Some(&label.key_name), Some(id_type), space, file)?;
        self.known_spaces.insert(space, key.map(ToOwned::to_owned));
        Ok(Some(space))
    }

    /// Where the vertex with the id at `row` of `ids` is, among the files' and then the database's.
    ///
    /// # Errors
    /// What reading the database meets; `limit` beyond 4,294,967,295 vertices.
    pub(super) fn find_vertex(
        &mut self,
        file: &str,
        space: usize,
        ids: &IdColumn,
        row: usize,
    ) -> Result<Option<VertexLocation>> {
        let found = self.spaces[space].find(ids, row);
        if found.is_some() || self.known.is_nothing() {
            return Ok(found);
        }
        let known = Arc::clone(&self.known);
        for table in (0..self.vertices.len()).filter(|table| self.table_spaces[*table].0 == space) {
            let Some(label) = self.vertices[table].known(&known) else { continue };
            let Some(vertex) = label.find(&ids.value(row))? else { continue };
            let place = VertexLocation { table, row: self.vertices[table].add_existing(vertex)? };
            let space = &mut self.spaces[space];
            let InsertOutcome::New(entry) = space.insert(ids, row)? else {
                return Err(space.too_many_vertices(file));
            };
            space.set_existing(entry, place);
            return Ok(Some(place));
        }
        Ok(None)
    }

    fn space(&mut self, name: &str, id_type: Option<IdType>, file: &str) -> Result<usize> {
        if let Some(space) = self.find_space(name) {
            self.check_kind(space, id_type, file)?;
            return Ok(space);
        }
        self.spaces.push(Space::new(name, id_type, file));
        Ok(self.spaces.len() - 1)
    }

    /// Complains if the ids of `space`, which are of `id_type` in `file`, are of another kind elsewhere.
    fn check_kind(&self, space: usize, id_type: Option<IdType>, file: &str) -> Result<()> {
        let (space, kind) = (&self.spaces[space], kind_of(id_type));
        if space.kind() == kind {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{file}: ids of {} are {kind} here and {} in {}; give both headers one id-type",
            space.title(),
            space.kind(),
            space.file
        )))
    }

    /// The number of the table of `label`, whose vertices have their ids in `space` and keep them as
    /// property `key` of `id_type` (`None`: learned from the ids).
    ///
    /// # Errors
    /// `invalid` if another file says otherwise.
    pub fn vertex_table(
        &mut self,
        label: &str,
        key: Option<&str>,
        id_type: Option<IdType>,
        space: usize,
        file: &str,
    ) -> Result<usize> {
        if let Some(index) = self.vertices.iter().position(|table| table.label == label) {
            let (known_space, known_file) = &self.table_spaces[index];
            let known_key = self.vertices[index].unique_key.as_deref();
            if (*known_space, known_key) == (space, key) {
                return Ok(index);
            }
            let show = |key: Option<&str>, space: usize| {
                format!("{}:ID({})", key.unwrap_or_default(), self.spaces[space].name)
            };
            return Err(Error::invalid(format!(
                "{file}: the id of label {label} is {} here and {} in {known_file}; give both one key and space",
                show(key, space),
                show(known_key, *known_space)
            )));
        }
        self.vertices.push(StagedVertices { id_type, ..StagedVertices::new(label, key, &self.staging) });
        self.table_spaces.push((space, file.to_owned()));
        let table = self.vertices.len() - 1;
        self.other_keys.extend(OtherKey::of(&self.known, label, key, table));
        Ok(table)
    }

    /// The number of the table of edges of `edge_type` between two tables of vertices.
    pub(super) fn edge_table(&mut self, edge_type: &str, source_label: usize, target_label: usize) -> usize {
        let (edges, staging) = (&mut self.edges, &self.staging);
        *self.edge_tables.entry((edge_type.to_owned(), source_label, target_label)).or_insert_with(|| {
            edges.push(StagedEdges::new(edge_type, source_label, target_label, staging));
            edges.len() - 1
        })
    }

    /// Notes the types of the ids and properties of vertices of `table`, as `file` declares them.
    ///
    /// # Errors
    /// `invalid` if another file says otherwise.
    pub fn declare_vertices<'a>(
        &mut self,
        table: usize,
        id_type: IdType,
        properties: impl IntoIterator<Item = (&'a str, CellType)>,
        file: &str,
    ) -> Result<()> {
        let StagedVertices { label, unique_key, .. } = &self.vertices[table];
        let owner = OwnerByName::Label(label);
        if let Some(key) = unique_key {
            self.declared.declare_ids(owner, key, id_type, file)?;
        }
        declare_all(&mut self.declared, owner, properties, file)
    }

    /// Notes the types of the properties of edges of `edge_type`, as `file` declares them.
    ///
    /// # Errors
    /// `invalid` if another file says otherwise.
    pub fn declare_edges<'a>(
        &mut self,
        edge_type: &str,
        properties: impl IntoIterator<Item = (&'a str, CellType)>,
        file: &str,
    ) -> Result<()> {
        declare_all(&mut self.declared, OwnerByName::EdgeType(edge_type), properties, file)
    }

    /// Moves the graph into `load`, which must be empty, and tells what was settled.
    ///
    /// # Errors
    /// Errors of the file where blocks lie.
    pub fn finish(mut self, load: &mut Load) -> Result<PolicyCounts> {
        self.settle_ids()?;
        load.vertices = self.vertices.into_iter().map(StagedVertices::finish).collect();
        load.edges = self.edges.into_iter().map(StagedEdges::finish).collect();
        Ok(self.settled)
    }
}

fn declare_all<'a>(
    declared: &mut DeclaredTypes,
    owner: OwnerByName<'_>,
    properties: impl IntoIterator<Item = (&'a str, CellType)>,
    file: &str,
) -> Result<()> {
    properties.into_iter().try_for_each(|(key, cell_type)| declared.declare(owner, key, cell_type, file))
}
