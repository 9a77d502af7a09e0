//! Packed graph: edges inserted and deleted one by one, each durable at once, and views of them.

use crate::array::PackedArray;
use crate::insert::Outcome;
use crate::memory::medium::Traffic;
use crate::memory::region::Memory;
use crate::options::Options;
use crate::recovery::{Found, Reopening};
use crate::slot::{VERTICES_MAX, edge};
use crate::view::View;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::sync::RwLock;
use evergraph_storage::sync::atomic::Ordering;
use std::sync::Arc;

/// Sizes of a packed graph, and what it did since it was opened or created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Statistics {
    /// Vertices.
    pub vertices: u32,
    /// Edges that are not deleted.
    pub edges: u64,
    /// Pivots, edges and tombstones.
    pub used_slots: u64,
    /// Slots of the edge array, 4 bytes each.
    pub slots: u64,
    /// Sections, each with a log.
    pub sections: u32,
    /// Bytes of persistent memory that the graph takes.
    pub bytes: u64,
    /// Edges and tombstones that went into a gap.
    pub inserted_into_gaps: u64,
    /// Edges and tombstones that went into a log.
    pub inserted_into_logs: u64,
    /// Windows that were spread anew.
    pub rebalances: u64,
    /// Arrays that were replaced by larger ones.
    pub resizes: u64,
    /// Insertions for which lists were shifted: none with section logs.
    pub shifts: u64,
    /// Records of a section's log.
    pub log_records: u32,
    /// Bytes of all logs.
    pub log_bytes: u64,
    /// Records that are in logs now.
    pub logged: u64,
    /// What was written back.
    pub traffic: Traffic,
}

/// Where the list of a vertex lies, for tests and tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListPlace {
    /// The slot of the pivot.
    pub slot: u64,
    /// Edges and tombstones behind it.
    pub in_array: u32,
    /// Edges and tombstones in the section's log.
    pub in_log: u32,
    /// Gaps behind the list.
    pub gaps: u64,
    /// The vertex' section.
    pub section: usize,
}

/// A graph of plain edges in a packed array on persistent memory: the out-edges of each vertex, in order of insertion.
///
/// Vertices are numbers from zero on. Parallel edges and loops are allowed. There are no transactions, properties or
/// types: every insertion is durable when it returns and cannot be undone. An interrupted one is there or not.
///
/// # Concurrency
/// Any thread may insert and read. Insertions into different sections go on beside each other and beside readers. They wait
/// while a section gets room, a vertex is added or a view is made, and these wait for readers that copy a batch of
/// lists. A view keeps showing what it showed.
///
/// # Errors
/// Methods that write fail with `invalid` for a vertex that does not exist, and with the memory's `limit` or `io` if the
/// array has to grow and cannot. Nothing was changed then.
pub struct PackedGraph<M: Memory> {
    array: Arc<RwLock<PackedArray<M>>>,
}

impl<M: Memory> PackedGraph<M> {
    /// Creates a graph in `memory`, which holds no other. Cost: the array is written once.
    ///
    /// # Errors
    /// `invalid` for an option out of range, named, or if a graph is there; errors of the memory.
    pub fn create(memory: M, options: &Options) -> Result<Self> {
        Ok(Self::of(PackedArray::create(memory, options)?))
    }

    /// Opens the graph in `memory`, and says what was found: a graph that was shut down opens in time of its vertices,
    /// any other one in that of its array.
    ///
    /// # Errors
    /// `not_found` if no graph was created here; `corrupt`, naming region and place, if it is damaged; `invalid` if
    /// something else lies there, or a graph of a newer version; errors of the memory.
    pub fn open(memory: M, reopening: Reopening) -> Result<(Self, Found)> {
        let (array, found) = PackedArray::open(memory, reopening)?;
        Ok((Self::of(array), found))
    }

    fn of(array: PackedArray<M>) -> Self {
        Self { array: Arc::new(RwLock::new(array)) }
    }

    /// Inserts an edge behind those of `source`, durably.
    ///
    /// Cost: a line and a fence, or a record of the log; sometimes a rebalance of a window, O(log² n) slots on average.
    ///
    /// # Errors
    /// Those of all methods that write.
    pub fn insert_edge(&self, source: u32, target: u32) -> Result<()> {
        {
            let array = self.array.read();
            check_vertices(&array, source, target)?;
            if array.try_insert(source, edge(target))? == Outcome::Inserted {
                return Ok(());
            }
        }
        self.array.write().insert(source, edge(target))
    }

    /// Deletes one edge from `source` to `target`, durably; false if there is none. A tombstone is inserted behind the
    /// edges of `source`; both go when the array is full and replaced while no view is open.
    ///
    /// Cost: a pass over the list of `source`, and that of an insertion.
    ///
    /// # Errors
    /// Those of all methods that write.
    pub fn delete_edge(&self, source: u32, target: u32) -> Result<bool> {
        {
            let array = self.array.read();
            check_vertices(&array, source, target)?;
            match array.try_delete(source, target)? {
                None => return Ok(false),
                Some(Outcome::Inserted) => return Ok(true),
                Some(Outcome::NeedsRoom) => {}
            }
        }
        self.array.write().delete(source, target)
    }

    /// Makes sure that `vertex` and all vertices with smaller ids exist, durably.
    ///
    /// Cost: a line and a fence for each new vertex.
    ///
    /// # Errors
    /// `limit` for an id that is too large. If the memory fails, vertices below `vertex` may have been added.
    pub fn insert_vertex(&self, vertex: u32) -> Result<()> {
        if vertex >= VERTICES_MAX {
            let text =
                format!("vertex {vertex} is too large: ids of a packed graph are below {VERTICES_MAX}");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let mut array = self.array.write();
        while array.vertices.len() <= vertex as usize {
            array.append_vertex()?;
        }
        Ok(())
    }

    /// A view of the edges of this moment, which later insertions and deletions do not change.
    ///
    /// Cost: 4 bytes of memory a vertex, copied while insertions wait. Space of deleted edges is not given back before the
    /// view is gone.
    #[must_use]
    pub fn consistent_view(&self) -> View<M> {
        View::new(&self.array)
    }

    /// Saves what is in ordinary memory, so that the next opening need not scan the array, and ends the graph.
    ///
    /// # Errors
    /// `busy` if views are open; errors of the memory. The graph is as after a power cut then: complete.
    pub fn shutdown(self) -> Result<()> {
        let mut array = self.array.write();
        let views = array.open_views.load(Ordering::Relaxed);
        if views > 0 {
            let text = format!(
                "{} still open on the packed graph: drop them before it is shut down",
                counted_views(views)
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        array.save()
    }

    /// Views that are open.
    #[must_use]
    pub fn open_views(&self) -> usize {
        self.array.read().open_views.load(Ordering::Relaxed)
    }

    /// Sizes and counts.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let array = self.array.read();
        let (totals, edges) = array.totals();
        Statistics {
            vertices: array.vertices.len() as u32,
            edges,
            used_slots: array.sections.iter().map(|section| section.lock().used).sum(),
            slots: array.layout().slots(),
            sections: array.layout().sizes.sections,
            bytes: array.layout().words() as u64 * 8,
            inserted_into_gaps: totals.into_gaps,
            inserted_into_logs: totals.into_logs,
            rebalances: array.counts.rebalances,
            resizes: array.counts.resizes,
            shifts: array.counts.shifts,
            log_records: array.layout().log_records(),
            log_bytes: (array.layout().array() - array.layout().log(0)) as u64 * 8,
            logged: array.sections.iter().map(|section| u64::from(section.lock().log_count)).sum(),
            traffic: totals.traffic,
        }
    }

    /// Where the list of a vertex lies; `None` if there is no such vertex.
    #[must_use]
    pub fn place_of(&self, vertex: u32) -> Option<ListPlace> {
        let array = self.array.read();
        let place = array.vertices.get(vertex as usize)?;
        Some(ListPlace {
            slot: place.start,
            in_array: place.in_array,
            in_log: u32::from(place.in_log),
            gaps: array.room_end(vertex) - place.array_end(),
            section: array.layout().section_of(vertex),
        })
    }

    /// Spreads the lists of the section of `vertex` anew and merges its log, as a full section would be; the array is
    /// replaced if it is full.
    ///
    /// # Errors
    /// Those of all methods that write.
    pub fn rebalance_section_of(&self, vertex: u32) -> Result<()> {
        let mut array = self.array.write();
        check_vertices(&array, vertex, vertex)?;
        let section = array.layout().section_of(vertex);
        array.make_room(section)
    }
}

fn counted_views(views: usize) -> String {
    if views == 1 { "a view is".to_owned() } else { format!("{views} views are") }
}

/// Both vertices exist.
#[inline]
fn check_vertices<M: Memory>(array: &PackedArray<M>, source: u32, target: u32) -> Result<()> {
    let count = array.vertices.len();
    if source as usize >= count || target as usize >= count {
        return Err(missing_vertex(source.max(target), count));
    }
    Ok(())
}

#[cold]
fn missing_vertex(vertex: u32, count: usize) -> Error {
    Error::invalid(format!(
        "vertex {vertex} does not exist: there are {count}; add it by `insert_vertex({vertex})` first"
    ))
}
