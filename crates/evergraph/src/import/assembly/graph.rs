//! Graph: the spaces and tables of an assembly, and what files say about them; they must agree.

use crate::import::assembly::id_column::{IdColumn, IdKind};
use crate::import::assembly::space::Space;
use crate::import::cell::CellType;
use crate::import::declared::Declared;
use crate::import::identity::Inserted;
use crate::import::known::Known;
use crate::import::stage::{StagedEdges, StagedVertices};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::Load;
use evergraph_graph::value::ValueType;
use std::collections::HashMap;
use std::sync::Arc;

/// A graph that is put together. All vertices come before the edges that name them.
#[derive(Default)]
pub struct Assembly {
    pub(super) spaces: Vec<Space>,
    pub(super) vertices: Vec<StagedVertices>,
    /// The space of each table's ids, and the file that said so first.
    table_spaces: Vec<(usize, String)>,
    pub(super) edges: Vec<StagedEdges>,
    /// Index in `edges` by type, source label and target label.
    edge_tables: HashMap<(String, usize, usize), usize>,
    declared: Declared,
    pub(super) known: Arc<Known>,
}

impl Assembly {
    /// An empty graph beside what the database has.
    #[must_use]
    pub fn new(known: Arc<Known>) -> Self {
        Self { known, ..Self::default() }
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

    /// The number of the space `name`, whose vertices the next batches of `file` hold.
    ///
    /// # Errors
    /// `invalid` if its ids are of another kind elsewhere.
    pub fn enter_space(&mut self, name: &str, kind: IdKind, file: &str) -> Result<usize> {
        let space = match self.find_space(name) {
            Some(space) => {
                self.check_kind(space, kind, file)?;
                space
            }
            None => {
                self.spaces.push(Space::new(name, kind, file));
                self.spaces.len() - 1
            }
        };
        self.spaces[space].places.enter(file);
        Ok(space)
    }

    /// The number of the space `name` that no file of vertices has: its ids are those of the database's
    /// vertices of the label of that name. `None` if there is no such label.
    ///
    /// # Errors
    /// `invalid` if it isn't clear by which key the vertices are found, or if files can't have its type.
    pub fn enter_known_space(&mut self, name: &str, file: &str) -> Result<Option<usize>> {
        let known = Arc::clone(&self.known);
        let in_file = |error: Error| error.context(format!("{file}: id space {name:?}"));
        let Some(label) = known.by_label(name).map_err(in_file)? else { return Ok(None) };
        let value_type = label.value_type.unwrap_or(ValueType::String);
        let kind = match value_type {
            ValueType::String => IdKind::Strings,
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => IdKind::Integers,
            other => {
                let key = &label.key_name;
                return Err(Error::invalid(format!(
                    "{file}: id space {name:?}: {name}.{key} of the database is of {other}; ids of files are \
                     strings or whole numbers"
                )));
            }
        };
        self.spaces.push(Space::new(name, kind, file));
        let space = self.spaces.len() - 1;
        let table = self.vertex_table(name, Some(&label.key_name), space, file)?;
        self.vertices[table].stage.set_property(&label.key_name, value_type);
        Ok(Some(space))
    }

    /// The table and the number of the vertex of the database with the id at `row` of `ids`, which
    /// `space` doesn't have yet.
    pub(super) fn find_existing(
        &mut self,
        space: usize,
        ids: &IdColumn,
        row: usize,
    ) -> Result<Option<(usize, u32)>> {
        if self.known.is_nothing() {
            return Ok(None);
        }
        let known = Arc::clone(&self.known);
        for table in (0..self.vertices.len()).filter(|table| self.table_spaces[*table].0 == space) {
            let Some(label) = self.vertices[table].known(&known) else { continue };
            let Some(vertex) = label.find(&ids.value(row))? else { continue };
            let end = self.vertices[table].add_existing(vertex)?;
            let Inserted::New(entry) = self.spaces[space].insert(ids, row) else {
                let text = format!("more than 4,294,967,295 vertices in {}", self.spaces[space].title());
                return Err(Error::new(ErrorKind::Limit, text));
            };
            self.spaces[space].note_existing(entry, table, end);
            return Ok(Some((table, end)));
        }
        Ok(None)
    }

    /// Complains if the ids of `space`, which are of `kind` in `file`, are of another elsewhere.
    ///
    /// # Errors
    /// `invalid`, with both files.
    pub fn check_kind(&self, space: usize, kind: IdKind, file: &str) -> Result<()> {
        let space = &self.spaces[space];
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
    /// property `key`.
    ///
    /// # Errors
    /// `invalid` if another file says otherwise.
    pub fn vertex_table(
        &mut self,
        label: &str,
        key: Option<&str>,
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
        self.vertices.push(StagedVertices::new(label, key));
        self.table_spaces.push((space, file.to_owned()));
        Ok(self.vertices.len() - 1)
    }

    /// The number of the table of edges of `edge_type` between two tables of vertices.
    pub(super) fn edge_table(&mut self, edge_type: &str, source_label: usize, target_label: usize) -> usize {
        let edges = &mut self.edges;
        *self.edge_tables.entry((edge_type.to_owned(), source_label, target_label)).or_insert_with(|| {
            edges.push(StagedEdges::new(edge_type, source_label, target_label));
            edges.len() - 1
        })
    }

    /// Notes the types of the properties of vertices of `table`, as `file` declares them.
    ///
    /// # Errors
    /// `invalid` if another file says otherwise.
    pub fn declare_vertices<'a>(
        &mut self,
        table: usize,
        properties: impl IntoIterator<Item = (&'a str, CellType)>,
        file: &str,
    ) -> Result<()> {
        let owner = format!("label {}", self.vertices[table].label);
        if let Some(key) = &self.vertices[table].unique_key {
            let id_type = match self.spaces[self.table_spaces[table].0].kind() {
                IdKind::Integers => ValueType::I64,
                IdKind::Strings => ValueType::String,
                IdKind::Values => ValueType::Any,
            };
            self.declared.declare(&owner, key, CellType::Scalar(id_type), file)?;
        }
        self.declare(&owner, properties, file)
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
        self.declare(&format!("type {edge_type}"), properties, file)
    }

    /// Moves the graph into `load`, which must be empty.
    pub fn finish(self, load: &mut Load) {
        load.vertices = self.vertices.into_iter().map(StagedVertices::finish).collect();
        load.edges = self.edges.into_iter().map(StagedEdges::finish).collect();
    }

    fn declare<'a>(
        &mut self,
        owner: &str,
        properties: impl IntoIterator<Item = (&'a str, CellType)>,
        file: &str,
    ) -> Result<()> {
        properties
            .into_iter()
            .try_for_each(|(key, cell_type)| self.declared.declare(owner, key, cell_type, file))
    }
}
