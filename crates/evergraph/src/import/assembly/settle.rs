//! Settle: what a policy says about vertices that come twice or not at all.
//!
//! A vertex that a later one replaced keeps its row until all vertices are there; then these rows go,
//! and those behind them move up. Vertices that only edges speak of come behind all others.

use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::space::{Place, Space};
use crate::import::identity::Inserted;
use crate::import::stage::Typing;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// The property that keeps the ids of vertices of which no file but those of edges speaks.
const CREATED_KEY: &str = "id";

impl Assembly {
    /// Takes out the rows that later ones replaced.
    pub(super) fn drop_dead_rows(&mut self) {
        if self.dead.is_empty() {
            return;
        }
        let mut dead: Vec<Vec<u32>> = vec![Vec::new(); self.vertices.len()];
        self.dead.drain().for_each(|place| dead[place.table].push(place.row));
        for (staged, rows) in self.vertices.iter_mut().zip(&mut dead) {
            rows.sort_unstable();
            staged.stage.remove_rows(rows);
        }
        self.spaces.iter_mut().for_each(|space| space.renumber(&dead));
    }

    /// Creates the vertices of `ids` that aren't in `space`.
    ///
    /// # Errors
    /// `invalid` if nothing tells which label they are of; `limit` beyond 4,294,967,295.
    pub(super) fn create_unknown(&mut self, file: &str, space: usize, ids: &IdColumn) -> Result<()> {
        let is_unknown = |row: &usize| self.spaces[space].find(ids, *row).is_none();
        let unknown: Vec<usize> = (0..ids.len()).filter(is_unknown).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let table = self.created_table(file, space)?;
        let space = &mut self.spaces[space];
        let mut created: Vec<u32> = Vec::new();
        for row in unknown {
            let table_row = self.vertices[table].stage.rows() + created.len() as u64;
            match space.insert(ids, row) {
                // By a row before.
                Inserted::Known(_) => {}
                Inserted::New(entry) if table_row < u64::from(u32::MAX) => {
                    space.set_place(entry, Place { table, row: table_row as u32 });
                    created.push(row as u32);
                }
                Inserted::New(_) | Inserted::Full => return Err(too_many_vertices(file, space)),
            }
        }
        let staged = &mut self.vertices[table];
        self.settled.add_created(&staged.label, created.len() as u64);
        let key = staged.unique_key.clone();
        let columns = key.map(|key| (key, ids.to_column(Some(&created)))).into_iter().collect();
        staged
            .push(created.len(), columns, Typing::Declared)
            .map_err(|why| Error::invalid(format!("{file}: {why}")))
    }

    /// The table where vertices of `space` are created: that of its only label, or of the label called as
    /// the space. A space without vertices gets one with its own name.
    fn created_table(&mut self, file: &str, space: usize) -> Result<usize> {
        let name = self.spaces[space].name.clone();
        let tables = self.tables_of(space);
        match tables[..] {
            [table] => Ok(table),
            [] if name.is_empty() => {
                let label = self.policy.nameless_label.clone();
                self.vertex_table(&label, Some(CREATED_KEY), space, file)
            }
            [] => self.vertex_table(&name, Some(CREATED_KEY), space, file),
            _ => tables.iter().copied().find(|table| self.vertices[*table].label == name).ok_or_else(|| {
                let labels: Vec<&str> =
                    tables.iter().map(|table| self.vertices[*table].label.as_str()).collect();
                Error::invalid(format!(
                    "{file}: vertices that aren't there can't be created: {} has those of {}, and nothing tells \
                     which label they are of",
                    self.spaces[space].title(),
                    labels.join(", ")
                ))
            }),
        }
    }
}

/// A space or table of `file` is full.
pub(super) fn too_many_vertices(file: &str, space: &Space) -> Error {
    let text = format!("{file}: more than 4,294,967,295 vertices in {}", space.title());
    Error::new(ErrorKind::Limit, text)
}
