//! Space: a set of unique ids, and the vertex of each.
//!
//! ```text
//! id 17 ──> entry 0 ──> run: entries from 0 on are rows from 0 on of label Person
//! id 4  ──> entry 1     moved: entry 1 came again, and is row 7 now
//! ```
//!
//! Entries count ids in the order in which they come. Entries that follow one another in one table
//! share a run: a file of one label costs a few bytes in all. Vertices that the database has already
//! are numbered from above (`load::VertexTable::end`), in runs of their own.
//!
//! Ids that take too much memory are spilled. While vertices come, each id that comes then seems new: that it came before is
//! found when all vertices are there and the space is settled. Ids that come later, with edges, are new, as whoever looked
//! them up found; there may be so many that they are spilled, too.

use crate::import::assembly::id_column::IdColumn;
use crate::import::id_type::{IdKind, IdType};
use crate::import::identity::{InsertOutcome, IntegerIds, StringIds, VACANT};
use crate::import::row_origins::RowOrigins;
use crate::import::spilled_ids::{IdKey, KeptRow, SpilledIds};
use crate::import::staging::spill::Staging;
use evergraph_graph::error::{Error, ErrorKind, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Ids that are unique among each other.
pub struct Space {
    /// The space's name; empty for the one without.
    pub name: String,
    /// The file that spoke of it first.
    pub file: String,
    /// The line of each entry.
    pub places: RowOrigins,
    id_type: Option<IdType>,
    /// Those in memory: all, or those that came after others were spilled.
    ids: Ids,
    /// Those that memory doesn't hold, in the order in which they came. Only the first ones may be unsettled.
    spilled: Vec<SpilledIds>,
    /// Sorted by entry: whose rows the entries from there on are.
    runs: Vec<Run>,
    /// Entries whose vertex came again later, and replaced the one before.
    moved: HashMap<u32, VertexLocation>,
}

/// Where a vertex is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VertexLocation {
    /// Index of the label's table.
    pub table: usize,
    /// Row of the table, or the number of a vertex that the database has.
    pub row: u32,
}

#[derive(Clone, Copy)]
struct Run {
    entry: u32,
    place: VertexLocation,
    /// Rows of new vertices ascend, numbers of existing ones descend.
    is_new: bool,
}

enum Ids {
    Integers(IntegerIds),
    /// Texts, or values by their bytes.
    Bytes(StringIds),
}

impl Space {
    /// A space without ids, which are of `id_type`, or of any types.
    #[must_use]
    pub fn new(name: &str, id_type: Option<IdType>, file: &str) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            places: RowOrigins::default(),
            id_type,
            ids: Ids::new(kind_of(id_type)),
            spilled: Vec::new(),
            runs: Vec::new(),
            moved: HashMap::new(),
        }
    }

    /// The type of its ids as the first file has them; `None` if they are of any types.
    #[must_use]
    pub fn id_type(&self) -> Option<IdType> {
        self.id_type
    }

    /// As what its ids are compared.
    #[must_use]
    pub fn kind(&self) -> IdKind {
        kind_of(self.id_type)
    }

    /// What errors call it.
    #[must_use]
    pub fn title(&self) -> String {
        if self.name.is_empty() {
            "the id space without a name".to_owned()
        } else {
            format!("id space {}", self.name)
        }
    }

    /// The error of `file`, for whose vertices there is no number left in the space or in one of its tables.
    #[must_use]
    pub fn too_many_vertices(&self, file: &str) -> Error {
        let text = format!("{file}: more than 4,294,967,295 vertices in {}", self.title());
        Error::new(ErrorKind::Limit, text)
    }

    /// The entry of the id at `row` of `ids`, which gets the next one if it is new. Once ids are spilled, each is new until
    /// the space is settled; after that only ids come that it doesn't have.
    ///
    /// # Errors
    /// What spilling meets.
    ///
    /// # Panics
    /// If the ids are not of the space's kind.
    pub fn insert(&mut self, ids: &IdColumn, row: usize) -> Result<InsertOutcome> {
        let first = self.first_in_memory();
        if first == VACANT {
            return Ok(InsertOutcome::Full);
        }
        if let Some(spilled) = self.spilled.last_mut().filter(|spilled| !spilled.is_settled()) {
            spilled.push(key_of(spilled, ids, row), first)?;
            return Ok(InsertOutcome::New(first));
        }
        let inserted = match (&mut self.ids, ids) {
            (Ids::Integers(known), IdColumn::Integers(ids)) => known.insert(ids[row]),
            (Ids::Bytes(known), IdColumn::Strings(ids) | IdColumn::Values(ids)) => known.insert(ids.get(row)),
            _ => unreachable!("a file's ids are read as its space has them"),
        };
        let entry = |at: u32| first.checked_add(at).filter(|entry| *entry != VACANT);
        Ok(match inserted {
            InsertOutcome::New(at) => entry(at).map_or(InsertOutcome::Full, InsertOutcome::New),
            InsertOutcome::Known(at) => entry(at).map_or(InsertOutcome::Full, InsertOutcome::Known),
            InsertOutcome::Full => InsertOutcome::Full,
        })
    }

    /// Where the vertex with the id at `row` of `ids` is, if the id is in memory.
    ///
    /// # Panics
    /// If the ids are not of the space's kind.
    #[must_use]
    pub fn find(&self, ids: &IdColumn, row: usize) -> Option<VertexLocation> {
        let at = self.ids.get(ids, row)?;
        Some(self.place_of(self.first_in_memory() + at))
    }

    /// The entry of each of `ids`, one column after the other, [`VACANT`] for one that isn't there. What they lead to is
    /// asked for together.
    ///
    /// Cost: a look-up each; if ids are spilled, all of them are read.
    ///
    /// # Errors
    /// What reading spilled ids meets.
    ///
    /// # Panics
    /// If the ids are not of the space's kind, or were spilled and are not settled.
    pub fn entries(&self, columns: &[&IdColumn]) -> Result<Vec<Vec<u32>>> {
        let first = self.first_in_memory();
        let in_memory = |ids: &IdColumn| -> Vec<u32> {
            match (&self.ids, ids) {
                (Ids::Integers(known), IdColumn::Integers(ids)) if first == 0 => known.get_all(ids),
                (known, ids) => {
                    let entry = |row| known.get(ids, row).map_or(VACANT, |at| first + at);
                    (0..ids.len()).map(entry).collect()
                }
            }
        };
        let mut entries: Vec<Vec<u32>> = columns.par_iter().map(|ids| in_memory(ids)).collect();
        for spilled in &self.spilled {
            let mut keys = vec![IdKey::default(); columns.iter().map(|ids| ids.len()).sum()];
            let mut rest = &mut *keys;
            let mut parts = Vec::with_capacity(columns.len());
            for ids in columns {
                let (part, others) = rest.split_at_mut(ids.len());
                parts.push((*ids, part));
                rest = others;
            }
            parts.into_par_iter().for_each(|(ids, keys)| {
                keys.iter_mut().enumerate().for_each(|(row, key)| *key = key_of(spilled, ids, row));
            });
            let found = spilled.find_all(keys)?;
            let known = entries.iter_mut().flatten().zip(found).filter(|(_, found)| *found != VACANT);
            known.for_each(|(entry, found)| *entry = found);
        }
        Ok(entries)
    }

    /// Bytes of the ids in memory.
    #[must_use]
    pub fn id_bytes(&self) -> u64 {
        match &self.ids {
            Ids::Integers(ids) => ids.heap_bytes(),
            Ids::Bytes(ids) => ids.heap_bytes(),
        }
    }

    /// Whether ids lie in a file.
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        !self.spilled.is_empty()
    }

    /// Moves the ids in memory into a file where `staging` says.
    ///
    /// # Errors
    /// `limit` on a full disk; `io`.
    pub fn spill(&mut self, staging: &Arc<Staging>) -> Result<()> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let first = self.first_in_memory();
        let mut spilled = SpilledIds::new(staging)?;
        let none = Ids::new(self.kind());
        match std::mem::replace(&mut self.ids, none) {
            Ids::Integers(ids) => {
                ids.for_each(|id, at| spilled.push(spilled.keys().number(id), first + at))?
            }
            Ids::Bytes(ids) => ids.for_each(|id, at| spilled.push(spilled.keys().text(id), first + at))?,
        }
        self.spilled.push(spilled);
        Ok(())
    }

    /// Makes spilled ids ready to be found; nothing if none are, or they are. `on_repeated` hears of entries whose id came
    /// more than once: the one that `keep` keeps, and another one.
    ///
    /// # Errors
    /// What the file meets; what `on_repeated` says.
    pub fn settle(
        &mut self,
        keep: KeptRow,
        on_repeated: &mut dyn FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        self.spilled.iter_mut().try_for_each(|spilled| spilled.settle(keep, on_repeated))
    }

    /// The entry of the first id in memory.
    fn first_in_memory(&self) -> u32 {
        self.spilled.iter().map(SpilledIds::len).sum()
    }

    /// Where the vertex of `entry` is.
    ///
    /// # Panics
    /// If nobody said where: see [`Space::set_place`].
    #[must_use]
    pub fn place_of(&self, entry: u32) -> VertexLocation {
        if !self.moved.is_empty()
            && let Some(place) = self.moved.get(&entry)
        {
            return *place;
        }
        let run = match self.runs.as_slice() {
            [run] => run,
            runs => &runs[runs.partition_point(|run| run.entry <= entry) - 1],
        };
        let after = entry - run.entry;
        VertexLocation {
            row: if run.is_new { run.place.row + after } else { run.place.row - after },
            ..run.place
        }
    }

    /// Says where the vertex of a new `entry` is. Entries come in order.
    pub fn set_place(&mut self, entry: u32, place: VertexLocation) {
        self.note_run(Run { entry, place, is_new: true });
    }

    /// Says that the vertex of a new `entry` is in the database and has the number of `place` in edges.
    pub fn set_existing(&mut self, entry: u32, place: VertexLocation) {
        self.note_run(Run { entry, place, is_new: false });
    }

    fn note_run(&mut self, next: Run) {
        let continues = self.runs.last().is_some_and(|run| {
            let (low, high) = if next.is_new { (run, &next) } else { (&next, run) };
            (run.is_new, run.place.table) == (next.is_new, next.place.table)
                && high.place.row.checked_sub(low.place.row) == Some(next.entry - run.entry)
        });
        if !continues {
            self.runs.push(next);
        }
    }

    /// Takes notice that the rows of `dead`, by table and sorted, are gone: those behind move up.
    ///
    /// Cost: a pass over the runs, and one more for each row that is gone.
    pub fn renumber(&mut self, dead: &[Vec<u32>]) {
        let moved_up = |place: VertexLocation| {
            let gone = dead[place.table].partition_point(|row| *row < place.row);
            VertexLocation { row: place.row - gone as u32, ..place }
        };
        self.moved.values_mut().for_each(|place| *place = moved_up(*place));
        let next_entry = self.first_in_memory() + self.ids.len();
        let mut runs: Vec<Run> = Vec::with_capacity(self.runs.len());
        for (index, run) in self.runs.iter().enumerate() {
            // Entries that edges add later have runs of their own.
            let end = self.runs.get(index + 1).map_or(next_entry, |next| next.entry);
            let rows = &dead[run.place.table];
            debug_assert!(run.is_new, "vertices of the database are found after all files of vertices");
            runs.push(Run { place: moved_up(run.place), ..*run });
            let first = rows.partition_point(|row| *row < run.place.row);
            for row in &rows[first..] {
                // The entry of a row that is gone has moved; the run goes on behind it.
                let entry = run.entry.saturating_add(row - run.place.row).saturating_add(1);
                if entry >= end {
                    break;
                }
                runs.push(Run {
                    entry,
                    place: moved_up(VertexLocation { row: row + 1, ..run.place }),
                    ..*run
                });
            }
        }
        self.runs = runs;
    }

    /// Says that the vertex of `entry` is at `place` from now on.
    pub fn move_to(&mut self, entry: u32, place: VertexLocation) {
        self.moved.insert(entry, place);
    }
}

impl Ids {
    fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::Integers => Self::Integers(IntegerIds::new()),
            IdKind::Strings | IdKind::Typed(_) | IdKind::Values => Self::Bytes(StringIds::new()),
        }
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> u32 {
        match self {
            Self::Integers(ids) => ids.len(),
            Self::Bytes(ids) => ids.len(),
        }
    }

    fn get(&self, ids: &IdColumn, row: usize) -> Option<u32> {
        match (self, ids) {
            (Self::Integers(known), IdColumn::Integers(ids)) => known.get(ids[row]),
            (Self::Bytes(known), IdColumn::Strings(ids) | IdColumn::Values(ids)) => known.get(ids.get(row)),
            _ => unreachable!("a file's ids are read as its space has them"),
        }
    }
}

fn key_of(spilled: &SpilledIds, ids: &IdColumn, row: usize) -> IdKey {
    match ids {
        IdColumn::Integers(ids) => spilled.keys().number(ids[row]),
        IdColumn::Strings(ids) | IdColumn::Values(ids) => spilled.keys().text(ids.get(row)),
    }
}

/// As what ids of `id_type` are compared.
#[must_use]
pub fn kind_of(id_type: Option<IdType>) -> IdKind {
    id_type.map_or(IdKind::Values, IdType::kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::Value;

    #[test]
    fn every_id_leads_to_its_row_and_to_the_new_one_after_it_moved() {
        let mut space = Space::new("", Some(IdType::LONG), "a.csv");
        let ids = IdColumn::Integers(vec![7, 8, 9, 10]);
        let places = [(0, 5), (0, 6), (1, 0), (0, 7)].map(|(table, row)| VertexLocation { table, row });
        for (row, place) in places.into_iter().enumerate() {
            assert_eq!(space.insert(&ids, row).unwrap(), InsertOutcome::New(row as u32));
            space.set_place(row as u32, place);
        }
        assert_eq!([0, 1, 2, 3].map(|row| space.find(&ids, row).unwrap()), places);
        assert_eq!(space.runs.len(), 3);
        assert_eq!(space.insert(&ids, 1).unwrap(), InsertOutcome::Known(1));
        space.move_to(1, VertexLocation { table: 1, row: 4 });
        assert_eq!(space.find(&ids, 1), Some(VertexLocation { table: 1, row: 4 }));
        assert_eq!(space.find(&IdColumn::Integers(vec![6]), 0), None);
        assert_eq!(space.entries(&[&IdColumn::Integers(vec![9, 6, 7])]).unwrap(), [[2, VACANT, 0]]);
        space.renumber(&[vec![6], Vec::new()]);
        let expected = [(0, 5), (1, 4), (1, 0), (0, 6)].map(|(table, row)| VertexLocation { table, row });
        assert_eq!([0, 1, 2, 3].map(|row| space.find(&ids, row).unwrap()), expected);
    }

    /// An id came three times and its last row stays; then edges bring another id, whose vertex is made.
    #[test]
    fn an_id_that_comes_after_rows_have_gone_leads_to_its_own_vertex() {
        let mut space = Space::new("", Some(IdType::LONG), "a.csv");
        let place = |row| VertexLocation { table: 0, row };
        let ids = IdColumn::Integers(vec![7, 8]);
        assert_eq!(space.insert(&ids, 0).unwrap(), InsertOutcome::New(0));
        space.set_place(0, place(0));
        space.move_to(0, place(2));
        space.renumber(&[vec![0, 1], Vec::new()]);
        assert_eq!(space.insert(&ids, 1).unwrap(), InsertOutcome::New(1));
        let made = VertexLocation { table: 1, row: 5 };
        space.set_place(1, made);
        assert_eq!([0, 1].map(|row| space.find(&ids, row).unwrap()), [place(0), made]);
    }

    #[test]
    fn spilled_ids_are_found_once_the_space_is_settled_and_later_ones_beside_them() {
        let texts = |texts: &[&str]| {
            let mut ids = IdColumn::new(IdKind::Strings);
            texts.iter().for_each(|text| ids.push_value(&Value::from(*text)));
            ids
        };
        for keep in [KeptRow::First, KeptRow::Last] {
            let mut space = Space::new("", Some(IdType::STRING), "a.csv");
            let ids = texts(&["a", "b", "c", "a", "d"]);
            for row in 0..5 {
                if row == 2 {
                    space.spill(&Arc::new(Staging::new(0, std::env::temp_dir()))).unwrap();
                }
                assert_eq!(space.insert(&ids, row).unwrap(), InsertOutcome::New(row as u32));
                space.set_place(row as u32, VertexLocation { table: 0, row: row as u32 });
            }
            let mut repeated = Vec::new();
            space
                .settle(keep, &mut |kept, other| {
                    repeated.push([kept, other]);
                    Ok(())
                })
                .unwrap();
            let kept = if keep == KeptRow::First { 0 } else { 3 };
            assert_eq!(repeated, [[kept, 3 - kept]]);
            let later = texts(&["e", "f"]);
            for (row, existing) in [(0, u32::MAX), (1, u32::MAX - 1)] {
                assert_eq!(space.insert(&later, row).unwrap(), InsertOutcome::New(5 + row as u32));
                space.set_existing(5 + row as u32, VertexLocation { table: 0, row: existing });
            }
            let entries = space.entries(&[&texts(&["d", "a", "x"]), &texts(&["f"])]).unwrap();
            assert_eq!(entries, [vec![4, kept, VACANT], vec![6]]);
            assert_eq!(space.find(&later, 1), Some(VertexLocation { table: 0, row: u32::MAX - 1 }));
            space.spill(&Arc::new(Staging::new(0, std::env::temp_dir()))).unwrap();
            space.settle(keep, &mut |_, _| unreachable!("they are new")).unwrap();
            assert_eq!(space.entries(&[&texts(&["f", "d", "a", "x"])]).unwrap(), [[6, 4, kept, VACANT]]);
        }
    }
}
