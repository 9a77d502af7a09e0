//! Policies: handles duplicate and unknown ids where options allow them.
//!
//! Where a vertex came twice and the last one counts, the rows before are dead: they keep their numbers
//! until all vertices are there, and go before the first edge.

use crate::import::assembly::edges::{EdgeGroup, EdgeTableKey};
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::space::VertexLocation;
use crate::import::identity::{InsertOutcome, VACANT};
use crate::import::staging::stage::Typing;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};

/// The property that keeps the ids of vertices that only files of edges mention.
const CREATED_KEY: &str = "id";

impl Assembly {
    /// Takes the rows out that later ones replaced; everything behind them moves up.
    pub(super) fn drop_dead_rows(&mut self) -> Result<()> {
        if self.dead.is_empty() {
            return Ok(());
        }
        let mut dead: Vec<Vec<u32>> = vec![Vec::new(); self.vertices.len()];
        self.dead.drain().for_each(|place| dead[place.table].push(place.row));
        for (staged, rows) in self.vertices.iter_mut().zip(&mut dead) {
            rows.sort_unstable();
            staged.stage.remove_rows(rows.iter().map(|row| u64::from(*row)))?;
        }
        self.spaces.iter_mut().for_each(|space| space.renumber(&dead));
        Ok(())
    }

    /// Creates the vertices of `space` that `ids` name and that aren't there: those without an entry, but for those that
    /// came meanwhile.
    pub(super) fn create_unknown(
        &mut self,
        file: &str,
        space: usize,
        (ids, entries): (&IdColumn, &[u32]),
    ) -> Result<()> {
        let is_unknown =
            |row: &usize| entries[*row] == VACANT && self.spaces[space].find(ids, *row).is_none();
        let mut unknown: Vec<usize> = (0..ids.len()).filter(is_unknown).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let table = self.created_table(file, space)?;
        if !self.known.is_nothing() {
            let rows = std::mem::take(&mut unknown);
            for row in rows {
                if self.find_vertex(file, space, ids, row)?.is_none() {
                    unknown.push(row);
                }
            }
        }
        let space = &mut self.spaces[space];
        let mut created: Vec<u32> = Vec::new();
        for row in unknown {
            let table_row = self.vertices[table].stage.rows() + created.len() as u64;
            match space.insert(ids, row)? {
                // By a row before.
                InsertOutcome::Known(_) => {}
                InsertOutcome::New(entry) if table_row < u64::from(u32::MAX) => {
                    space.set_place(entry, VertexLocation { table, row: table_row as u32 });
                    created.push(row as u32);
                }
                InsertOutcome::New(_) | InsertOutcome::Full => return Err(space.too_many_vertices(file)),
            }
        }
        let staged = &mut self.vertices[table];
        self.settled.add_created(&staged.label, created.len() as u64);
        let id_column = |key: &String| {
            let ids = ids.to_column(Some(&created), staged.id_type);
            let ids =
                ids.map_err(|why| Error::invalid(format!("{file}: a vertex can't be created: {why}")))?;
            Ok((key.clone(), ids))
        };
        let columns = staged.unique_key.iter().map(id_column).collect::<Result<_>>()?;
        let typing = if staged.id_type.is_none() { Typing::Learned } else { Typing::Declared };
        staged.push(created.len(), columns, typing).map_err(|error| error.context(file))
    }

    /// The table where vertices of `space` are created: that of its only label. A space without
    /// vertices gets one with its own name, or the label for those without, if it has none.
    fn created_table(&mut self, file: &str, space: usize) -> Result<usize> {
        let name = self.spaces[space].name.clone();
        let tables: Vec<usize> =
            (0..self.vertices.len()).filter(|table| self.table_spaces[*table].0 == space).collect();
        match tables[..] {
            [table] => Ok(table),
            [] => {
                let is_label = !name.is_empty() && !self.labelless_spaces.contains(&space);
                let label = if is_label { name } else { self.nameless_label.clone() };
                let id_type = self.spaces[space].id_type();
                self.vertex_table(&label, Some(CREATED_KEY), id_type, space, file)
            }
            _ => tables.iter().copied().find(|table| self.vertices[*table].label == name).ok_or_else(|| {
                let labels: Vec<&str> =
                    tables.iter().map(|table| self.vertices[*table].label.as_str()).collect();
                Error::invalid(format!(
                    "{file}: missing vertices can't be created: {} has those of {}, and their label is \
                     unknown",
                    self.spaces[space].title(),
                    labels.join(", ")
                ))
            }),
        }
    }

    /// Leaves out the edges of a group whose pair of vertices has one of `edge_type` already, unless such pairs are
    /// forgotten.
    pub(super) fn drop_repeated_pairs(
        &mut self,
        edge_type: &str,
        joins: EdgeTableKey,
        edges: &mut EdgeGroup,
    ) {
        let Some(pairs) = self.undirected.pairs(edge_type.to_owned()) else { return };
        let (_, source_table, target_table) = joins;
        let is_new = |(source, target): (&u32, &u32)| {
            let source = VertexLocation { table: source_table, row: *source };
            let target = VertexLocation { table: target_table, row: *target };
            pairs.insert((source.min(target), source.max(target)))
        };
        let keep: Vec<bool> = edges.sources.iter().zip(&edges.targets).map(is_new).collect();
        self.settled.repeated_pairs += keep.iter().filter(|keep| !**keep).count() as u64;
        edges.group.retain(&keep);
        for ends in [&mut edges.sources, &mut edges.targets] {
            let mut kept = keep.iter();
            ends.retain(|_| *kept.next().expect("one entry an edge"));
        }
    }

    /// Takes out the edges of files without direction whose pair of vertices has one already, once all edges are there.
    ///
    /// # Errors
    /// As [`crate::import::staging::undirected::UndirectedEdges::drop_repeated`].
    pub fn settle_pairs(&mut self, cancel: &CancelFlag) -> Result<()> {
        let undirected = std::mem::take(&mut self.undirected);
        self.settled.repeated_pairs += undirected.drop_repeated(&mut self.edges, &self.staging, cancel)?;
        Ok(())
    }
}
