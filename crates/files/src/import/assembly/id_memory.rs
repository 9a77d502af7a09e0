//! Id memory: how much the ids of an assembly take, and pairs of vertices beside them, what becomes of those that memory
//! doesn't hold, and how ends of edges are found among ids.
//!
//! ```text
//! place_vertices ──> ids in memory ──too many──> spilled ids of the largest space
//! look_up        the same of ids that edges brought; settles: ids that came twice, rows that go; then entries of many batches
//! ```

use crate::import::assembly::batch::{EndEntries, Ends};
use crate::import::assembly::edges::EdgeRule;
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::space::VertexLocation;
use crate::import::identity::VACANT;
use crate::import::policy::OnDuplicate;
use crate::import::spilled_ids::KeptRow;
use evergraph_graph::error::{Error, Result};

impl Assembly {
    /// Moves ids into a file until the others fit into the memory for them, the largest space first. Pairs of vertices are
    /// forgotten before that: they cost less then.
    ///
    /// # Errors
    /// What the file meets.
    pub fn keep_ids_within_memory(&mut self) -> Result<()> {
        if self.id_bytes() + self.undirected.heap_bytes() > self.id_bytes_max {
            self.undirected.forget();
        }
        while self.id_bytes() > self.id_bytes_max {
            let Some(largest) = self.spaces.iter_mut().max_by_key(|space| space.id_bytes()) else { break };
            largest.spill(&self.staging)?;
        }
        Ok(())
    }

    /// Whether looking the ends of few edges up costs as much as looking up many.
    #[must_use]
    pub fn looks_up_many(&self, rule: EdgeRule) -> bool {
        [rule.source_space, rule.target_space].iter().any(|space| self.spaces[*space].is_spilled())
    }

    /// The entries of the ends of some batches. All vertices are there.
    ///
    /// Cost: a look-up an end. Where ids are spilled, these are read once a call, on all threads of the current pool.
    ///
    /// # Errors
    /// `invalid` for a vertex that came twice, if that wasn't found before; what the files of ids and blocks meet.
    pub fn look_up(&mut self, rule: EdgeRule, batches: &[&Ends]) -> Result<Vec<EndEntries>> {
        // Those that edges brought. Not between two batches: what was looked up before wouldn't know.
        self.keep_ids_within_memory()?;
        self.settle_ids()?;
        let mut sources: Vec<&IdColumn> = batches.iter().map(|ends| &ends.sources).collect();
        let targets: Vec<&IdColumn> = batches.iter().map(|ends| &ends.targets).collect();
        let [source_space, target_space] =
            [rule.source_space, rule.target_space].map(|space| &self.spaces[space]);
        let (sources, targets) = if rule.source_space == rule.target_space {
            sources.extend(targets);
            let mut sources = source_space.entries(&sources)?;
            let targets = sources.split_off(batches.len());
            (sources, targets)
        } else {
            (source_space.entries(&sources)?, target_space.entries(&targets)?)
        };
        Ok(sources
            .into_iter()
            .zip(targets)
            .map(|(sources, targets)| EndEntries { sources, targets })
            .collect())
    }

    /// Whether a new vertex with the id at `row` of `ids` came to `space`. `true` also where ids are spilled, and nobody knows
    /// yet.
    #[must_use]
    pub fn may_have(&self, space: usize, ids: &IdColumn, row: usize) -> bool {
        // Those of the database are numbered from above.
        let is_new = |place: VertexLocation| u64::from(place.row) < self.vertices[place.table].stage.rows();
        self.spaces[space].is_spilled() || self.spaces[space].find(ids, row).is_some_and(is_new)
    }

    /// The entries of the ends of a batch that comes before all vertices are there, if all ends of its edges are there already;
    /// `None` otherwise, and where ids are spilled.
    ///
    /// # Errors
    /// What reading the database meets; `limit` beyond 4,294,967,295 vertices.
    pub fn look_up_early(&mut self, file: &str, rule: EdgeRule, ends: &Ends) -> Result<Option<EndEntries>> {
        if self.looks_up_many(rule) {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(2);
        for (space, ids) in [(rule.source_space, &ends.sources), (rule.target_space, &ends.targets)] {
            let entries = self.spaces[space].entries(&[ids])?.pop().unwrap_or_default();
            for row in (0..entries.len()).filter(|row| entries[*row] == VACANT) {
                if self.find_vertex(file, space, ids, row)?.is_none() {
                    return Ok(None);
                }
            }
            found.push(entries);
        }
        let [sources, targets] = found.try_into().expect("an edge has two ends");
        Ok(Some(EndEntries { sources, targets }))
    }

    /// Settles ids that came twice, once all vertices are there.
    pub(super) fn settle_ids(&mut self) -> Result<()> {
        let keep = if self.on_duplicate == OnDuplicate::Last { KeptRow::Last } else { KeptRow::First };
        for space in &mut self.spaces {
            let mut repeated: Vec<u32> = Vec::new();
            // The one that comes first in the files, however the ids are sorted.
            let mut first: Option<(u32, u32)> = None;
            let (fails, count) = (self.on_duplicate == OnDuplicate::Fail, &mut self.settled.duplicates);
            space.settle(keep, &mut |kept, other| {
                if fails {
                    first = Some(first.map_or((other, kept), |known| known.min((other, kept))));
                } else {
                    *count += 1;
                    repeated.push(other);
                }
                Ok(())
            })?;
            if let Some((other, kept)) = first {
                let [other, kept] = [other, kept].map(|entry| space.places.find(entry).unwrap_or_default());
                return Err(Error::invalid(format!(
                    "{other}: the vertex has the id of the one from {kept}, in {}; --on-duplicate first or last leaves \
                     one of them out",
                    space.title()
                )));
            }
            let places = repeated.into_iter().map(|entry| space.place_of(entry));
            self.dead.extend(places);
        }
        self.drop_dead_rows()
    }

    fn id_bytes(&self) -> u64 {
        self.spaces.iter().map(|space| space.id_bytes()).sum()
    }
}
