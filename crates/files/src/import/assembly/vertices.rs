//! Vertices: gives rows to batches of vertices, in the tables of their labels. An id that comes twice, or that the
//! database has, is a fault, or handled by policy.
//!
//! ```text
//! batch ──place_vertices──> groups by label ──store_vertices──> tables
//!                  └──────> rejected rows ──> whoever read the file describes them
//! ```

use crate::import::assembly::batch::{Batch, Columns, Group, Grouping, IdPart, RejectedRow};
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::space::VertexLocation;
use crate::import::faults::{FaultRules, Faults};
use crate::import::identity::InsertOutcome;
use crate::import::policy::OnDuplicate;
use crate::import::staging::stage::Typing;
use evergraph_graph::error::{Error, Result};

/// Vertices of a batch with the rows that they got, ready to be stored.
pub struct PlacedVertices {
    /// A group for each name of the batch.
    groups: Vec<Group>,
    /// The table of each name.
    tables: Vec<usize>,
}

impl Assembly {
    /// Gives rows to the new vertices of `batch`, whose ids are in `space`; `tables` holds a vertex table for each of
    /// its names. Also the rows that get none.
    ///
    /// # Errors
    /// `limit` beyond 4,294,967,295 ids of a space; what reading the database and spilling ids meet.
    pub fn place_vertices(
        &mut self,
        file: &str,
        (space, tables): (usize, Vec<usize>),
        batch: &Batch<IdColumn>,
        rules: FaultRules,
    ) -> Result<(PlacedVertices, Faults<RejectedRow>)> {
        let mut rejected = Faults::new(rules);
        let known: Vec<_> = tables.iter().map(|table| self.vertices[*table].known(&self.known)).collect();
        let others: Vec<_> =
            self.other_keys.iter_mut().filter(|other| tables.contains(&other.table)).collect();
        let mut others: Vec<_> = others
            .into_iter()
            .map(|other| (other.in_database(&self.known, &self.vertices[other.table].label), other))
            .collect();
        let space = &mut self.spaces[space];
        let mut groups: Vec<Group> = tables.iter().map(|_| Group::default()).collect();
        let mut grouping = Grouping::new(&batch.columns);
        for row in 0..batch.lines.len() {
            let code = batch.names.code(row);
            let (table, group) = (tables[code], &mut groups[code]);
            if let Some(known) = &known[code]
                && known.find(&batch.ids.value(row))?.is_some()
            {
                grouping.step(row, code, None);
                if self.on_duplicate == OnDuplicate::First {
                    self.settled.duplicates += 1;
                } else {
                    rejected.push(batch.lines[row], || {
                        let why = in_database(&batch.ids.show(row));
                        RejectedRow { row, part: IdPart::Vertex, why }
                    });
                }
                continue;
            }
            // A row that replaces another or is left out for one is looked at when all is loaded.
            if !others.is_empty()
                && self.on_duplicate != OnDuplicate::Last
                && space.find(&batch.ids, row).is_none()
            {
                let place = grouping.place(row, code);
                let mut taken = None;
                let mut values = Vec::with_capacity(others.len());
                for (in_database, other) in others.iter_mut().filter(|(_, other)| other.table == table) {
                    let Some(value) = other.value(&batch.columns, code, place) else { continue };
                    taken = taken.or(other.taken(in_database.as_ref(), &value)?);
                    values.push((other, value));
                }
                if let Some(why) = taken {
                    grouping.step(row, code, None);
                    rejected.push(batch.lines[row], || RejectedRow { row, part: IdPart::Row, why });
                    continue;
                }
                values.into_iter().for_each(|(other, value)| other.note(value));
            }
            let table_row = self.vertices[table].stage.rows() + group.rows.len() as u64;
            let place = VertexLocation { table, row: table_row as u32 };
            match space.insert(&batch.ids, row)? {
                // Dead rows are counted as well, so there may be more of them than ids.
                InsertOutcome::Full => return Err(space.too_many_vertices(file)),
                _ if table_row >= u64::from(u32::MAX) => return Err(space.too_many_vertices(file)),
                InsertOutcome::New(entry) => {
                    space.places.push(entry, batch.lines[row]);
                    space.set_place(entry, place);
                }
                InsertOutcome::Known(entry) if self.on_duplicate == OnDuplicate::Fail => {
                    grouping.step(row, code, None);
                    rejected.push(batch.lines[row], || {
                        let other = space.places.find(entry).unwrap_or_default();
                        let id = batch.ids.show(row);
                        let why = format!("vertex {id} of {} is there already, from {other}", space.title());
                        RejectedRow { row, part: IdPart::Vertex, why }
                    });
                    continue;
                }
                InsertOutcome::Known(_) if self.on_duplicate == OnDuplicate::First => {
                    grouping.step(row, code, None);
                    self.settled.duplicates += 1;
                    continue;
                }
                InsertOutcome::Known(entry) => {
                    self.settled.duplicates += 1;
                    self.dead.insert(space.place_of(entry));
                    space.move_to(entry, place);
                }
            }
            grouping.step(row, code, Some(group));
        }
        self.keep_ids_within_memory()?;
        Ok((PlacedVertices { groups, tables }, rejected))
    }

    /// Stores the vertices of `batch` in the rows that they got. Gives how many there were.
    ///
    /// # Errors
    /// `invalid` for numbers of unstated type that don't survive as doubles.
    pub fn store_vertices(
        &mut self,
        file: &str,
        placed: &PlacedVertices,
        mut batch: Batch<IdColumn>,
    ) -> Result<u64> {
        let PlacedVertices { groups, tables } = placed;
        let rows = batch.lines.len();
        let typing = batch.columns.typing();
        let mut added = 0;
        for (code, group) in groups.iter().enumerate().filter(|(_, group)| !group.rows.is_empty()) {
            let mut columns = batch.columns.take(code, group, rows);
            let table = &mut self.vertices[tables[code]];
            if let Some(key) = &table.unique_key {
                let is_whole = group.rows.len() == rows;
                let rows = (!is_whole).then_some(group.rows.as_slice());
                let ids = batch.ids.to_column(rows, table.id_type);
                let ids = ids.map_err(|why| Error::invalid(format!("{file}: {why}")))?;
                columns.insert(0, (key.clone(), ids));
            }
            table.push(group.rows.len(), columns, typing).map_err(|error| error.context(file))?;
            added += group.rows.len() as u64;
        }
        Ok(added)
    }
}

/// What is wrong with the row of a vertex that the database has.
pub fn in_database(id: &str) -> String {
    format!(
        "vertex {id} is in the database already, and an import changes no existing vertex; --on-duplicate first \
         leaves such rows out"
    )
}

impl Columns {
    /// How the types of the properties come about.
    pub(super) fn typing(&self) -> Typing {
        match self {
            Self::Shared(_) => Typing::Declared,
            Self::ByName(_) => Typing::Learned,
        }
    }
}
