//! Packed: the column of the packed graph.

use crate::engine::store::Edge;
use crate::workload::mapped::raw_lists::RawLists;
use crate::workload::mapped::store::{Column, Ending, RawCounts, RawOptions, RawStore, Sides};
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::{Error, Result};
use evergraph_packed::ablation::Ablation;
use evergraph_packed::both_sides::BothSides;
use evergraph_packed::graph::{PackedGraph, Statistics};
use evergraph_packed::memory::file::FileMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use evergraph_storage::io::dax::Emulation;
use std::path::Path;
use std::sync::Arc;

pub const COLUMN: Column = Column { name: "packed", create, open: Some(open) };

/// Bytes of a log without records, and of a record.
const LOG_HEADER_BYTES: u32 = 8;
const RECORD_BYTES: u32 = 12;

enum PackedStore {
    Out(PackedGraph<FileMemory>),
    Both(BothSides<FileMemory>),
}

fn memory(folder: &Path, options: &RawOptions) -> Result<FileMemory> {
    let emulation = if options.is_emulated { Emulation::Demanded } else { Emulation::Refused };
    FileMemory::create(folder, emulation, Domain::Adr)
        .map_err(|error| error.context("--emulate-dax takes any file system, and measures DRAM"))
}

fn create(folder: &Path, options: &RawOptions) -> Result<Box<dyn RawStore>> {
    create_ablated(folder, options, Ablation::NONE)
}

/// Creates a packed graph in an empty folder, with those components of DGAP replaced that `ablation` names.
///
/// # Errors
/// As of the part.
pub fn create_ablated(folder: &Path, options: &RawOptions, ablation: Ablation) -> Result<Box<dyn RawStore>> {
    let sizes = Options {
        vertices: options.vertices,
        edges: options.edges,
        log_records: (options.log_bytes.saturating_sub(LOG_HEADER_BYTES) / RECORD_BYTES).max(2),
        ablation,
        ..Options::default()
    };
    let side = |name: &str| memory(&folder.join(name), options);
    Ok(Box::new(match options.sides {
        Sides::Out => PackedStore::Out(PackedGraph::create(side("out")?, &sizes)?),
        Sides::Both => PackedStore::Both(BothSides::create(side("out")?, side("in")?, &sizes)?),
    }))
}

fn open(folder: &Path, options: &RawOptions) -> Result<Box<dyn RawStore>> {
    let side = |name: &str| memory(&folder.join(name), options);
    Ok(Box::new(match options.sides {
        Sides::Out => PackedStore::Out(PackedGraph::open(side("out")?, Reopening::Saved)?.0),
        Sides::Both => PackedStore::Both(BothSides::open(side("out")?, side("in")?, Reopening::Saved)?.0),
    }))
}

impl PackedStore {
    fn sides(&self) -> Vec<Statistics> {
        match self {
            Self::Out(graph) => vec![graph.statistics()],
            Self::Both(graph) => graph.statistics().to_vec(),
        }
    }
}

impl RawStore for PackedStore {
    fn insert(&self, edges: &[Edge]) -> Result<()> {
        match self {
            Self::Out(graph) => {
                edges.iter().try_for_each(|(source, target)| graph.insert_edge(*source, *target))
            }
            Self::Both(graph) => {
                edges.iter().try_for_each(|(source, target)| graph.insert_edge(*source, *target))
            }
        }
    }

    fn lists(&self) -> Result<Box<dyn RawLists>> {
        match self {
            Self::Out(_) => Err(Error::invalid("kernels need a packed graph with both sides")),
            Self::Both(graph) => Ok(Box::new(Lists::from(Arc::new(graph.consistent_view()?)))),
        }
    }

    fn counts(&self) -> RawCounts {
        let sides = self.sides();
        let sum = |field: fn(&Statistics) -> u64| sides.iter().map(field).sum();
        RawCounts {
            edges: sides[0].edges,
            measured: sides[0].edges,
            bytes_written_back: sum(|side| side.traffic.bytes_written_back()),
            fences: sum(|side| side.traffic.fences),
            bytes: sum(|side| side.bytes),
            logged: sum(|side| side.logged),
            log_capacity: sum(|side| u64::from(side.sections) * u64::from(side.log_records)),
            log_bytes: sum(|side| side.log_bytes),
        }
    }

    fn end(self: Box<Self>, ending: Ending) -> Result<()> {
        match (*self, ending) {
            (_, Ending::Dropped) => Ok(()),
            (Self::Out(graph), Ending::ShutDown) => graph.shutdown(),
            (Self::Both(graph), Ending::ShutDown) => graph.shutdown(),
        }
    }
}
