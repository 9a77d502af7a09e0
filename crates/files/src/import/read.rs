//! Read: a whole import, from options to tables in memory.
//!
//! Order: CSV and Parquet files of vertices; files of both, but for their edges; CSV and Parquet files
//! of edges; the edges of files of both; lists of vertices, then of edges. Each file is read by the pipeline; the tables stand in the order in which their first rows came.

use crate::import::assembly::graph::Assembly;
use crate::import::bytes::lines::BLOCK_BYTES;
use crate::import::context::Context;
use crate::import::csv::graph::{read_nodes, read_relationships};
use crate::import::elements::element_graph::ElementGraph;
use crate::import::elements::read::read_elements;
use crate::import::existing_graph::ExistingGraph;
use crate::import::faults::FaultCollector;
use crate::import::list::file::{ListFile, ListKind};
use crate::import::list::graph::EdgeListGraph;
use crate::import::meter::Meter;
use crate::import::options::{ImportOptions, Imported};
use crate::import::parquet::file::ParquetFile;
use crate::import::parquet::graph as parquet_graph;
use crate::import::plan::Plan;
use crate::import::report::ReportFile;
use crate::import::role::Role;
use crate::import::staging::spill::Staging;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::{Load, ReadProgress};
use rayon::ThreadPoolBuilder;
use std::sync::Arc;

/// The memory of an import is as many blocks or more.
const BLOCKS_OF_MEMORY: u64 = 128;
/// Smaller blocks cost more than they save.
const BLOCK_BYTES_MIN: usize = 64 << 10;

/// Reads all files of `options` into tables of packed columns, telling `progress` how far it is a few times a second
/// or more.
///
/// Cost: the memory of the options for columns and ids (4 to 20 bytes a vertex and the text of its id, or temporary
/// files), and some megabytes a thread. Ids of vertex lists must fit.
///
/// # Errors
/// `not_found` or `io` for a file that can't be read; `cancelled`; `limit` beyond 4,294,967,295
/// vertices of one label or id space, and for vertex lists beyond the memory; `invalid` for everything that is wrong with options, headers
/// and rows: the text names file, line and column. Rows are errors only where they stop an import.
pub fn read(options: &ImportOptions, progress: &dyn Fn(ReadProgress<'_>)) -> Result<Imported> {
    read_beside(options, ExistingGraph::default(), progress)
}

/// As [`read`], into a database that has `known`: edges may begin and end there, and a vertex that is
/// known is a bad row.
///
/// # Errors
/// As [`read`].
pub fn read_beside(
    options: &ImportOptions,
    known: ExistingGraph,
    progress: &dyn Fn(ReadProgress<'_>),
) -> Result<Imported> {
    // Some dozen blocks are under way at once, each several times: as text, as fields, as rows.
    let share = usize::try_from(options.memory_bytes() / BLOCKS_OF_MEMORY).unwrap_or(BLOCK_BYTES);
    read_in_blocks(options, known, progress, share.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES))
}

/// As [`read_beside`], with blocks of about `block_bytes`: tests cut small files into many.
pub(crate) fn read_in_blocks(
    options: &ImportOptions,
    known: ExistingGraph,
    progress: &dyn Fn(ReadProgress<'_>),
    block_bytes: usize,
) -> Result<Imported> {
    options.check()?;
    options.cancel.check()?;
    let plan = Plan::new(options, &known)?;
    let has_vertex_lists = plan.lists.iter().any(|list| list.kind == ListKind::Vertices);
    if options.lists.vertices.is_some() && (plan.lists.is_empty() || has_vertex_lists) {
        return Err(Error::invalid(
            "a range of vertices declares those of edge lists: give it with edge lists and without vertex lists",
        ));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .thread_name(|index| format!("import-{index}"))
        .build()
        .map_err(|error| Error::new(ErrorKind::Io, "start the import's threads").because(error))?;
    let report = options.bad_rows.report.as_deref().map(ReportFile::create).transpose()?;
    let mut context = Context {
        options,
        pool: &pool,
        meter: Meter::new(progress, options.cancel.clone(), plan.bytes_total),
        faults: FaultCollector::new(options.bad_rows.on_bad_row, report),
        known: Arc::new(known),
        staging: Arc::new(Staging::new(options.memory_shares().rows, options.temporary_folder())),
        block_bytes,
    };
    let mut load = Load::default();
    let mut assembly = Assembly::new(options, Arc::clone(&context.known), Arc::clone(&context.staging));
    for file in &plan.nodes {
        read_nodes(&mut assembly, file.open(options)?, &mut context)?;
    }
    let parquet = plan.parquet.iter().map(ParquetFile::open).collect::<Result<Vec<_>>>()?;
    for file in parquet.iter().filter(|file| file.role == Role::Nodes) {
        parquet_graph::read_nodes(&mut assembly, file, &mut context)?;
    }
    let mut elements = ElementGraph::new(&context.staging);
    for file in &plan.elements {
        read_elements(&mut elements, file, &mut assembly, &mut context)?;
    }
    for file in &plan.relationships {
        read_relationships(&mut assembly, file.open(options)?, &mut context)?;
    }
    for file in parquet.iter().filter(|file| file.role != Role::Nodes) {
        parquet_graph::read_relationships(&mut assembly, file, &mut context)?;
    }
    elements.finish(&mut assembly, &mut context)?;
    pool.install(|| assembly.settle_pairs(&options.cancel))?;
    let mut notes = plan.notes.clone();
    notes.extend(elements.notes);
    notes.append(&mut assembly.notes);
    notes.extend(assembly.settle_id_keys());
    notes.extend(pool.install(|| assembly.settle_types())?);
    let mut settled = assembly.finish(&mut load)?;
    let known = Arc::clone(&context.known);
    for (label, lists) in lists_by_label(&plan, options) {
        let mut graph = EdgeListGraph::new(label, &context)?;
        for list in lists {
            match list.kind {
                ListKind::Vertices => graph.read_vertices(list, &mut context)?,
                _ => graph.read_edges(list, &mut context)?,
            }
        }
        settled.join(pool.install(|| graph.finish(&known, &mut load, &options.cancel))?);
    }
    notes.extend(edges_before(&load, &context.known)?);
    Ok(Imported {
        load,
        bad_rows: context.faults.finish(),
        settled,
        spilled_bytes: context.staging.file_bytes(),
        notes,
        ignored_files: plan.ignored_files,
        guessed_files: plan.guessed_files,
    })
}

/// What the database has of the types of edges that come: nothing tells an edge from one that is there.
fn edges_before(load: &Load, known: &ExistingGraph) -> Result<Vec<String>> {
    let mut added: Vec<(&str, u64)> = Vec::new();
    for table in &load.edges {
        match added.iter_mut().find(|(edge_type, _)| *edge_type == table.edge_type) {
            Some((_, count)) => *count += table.rows,
            None => added.push((&table.edge_type, table.rows)),
        }
    }
    let before = known.edges_by_type()?;
    let note = |(edge_type, added): (&str, u64)| {
        let before = *before.get(edge_type).filter(|count| **count > 0 && added > 0)?;
        let are_there = if before == 1 { "edge was there" } else { "edges were there" };
        let again = match (before == added, added) {
            (true, 1) => "is added; if it is the same one, it is there twice now",
            (true, _) => "are added; if they are the same ones, each is there twice now",
            (false, 1) => "is added, whether it is one of them or not",
            (false, _) => "are added, whether the same are among them or not",
        };
        Some(format!("type {edge_type}: {before} {are_there} before, and {added} {again}"))
    };
    Ok(added.into_iter().filter_map(note).collect())
}

/// The lists whose vertices are of one label, in the order of the plan.
fn lists_by_label<'a>(plan: &'a Plan, options: &'a ImportOptions) -> Vec<(&'a str, Vec<&'a ListFile>)> {
    let mut graphs: Vec<(&str, Vec<&ListFile>)> = Vec::new();
    for list in &plan.lists {
        let label = list.rule.label.as_ref().unwrap_or(&options.lists.vertex_label);
        match graphs.iter_mut().find(|(known, _)| *known == label) {
            Some((_, lists)) => lists.push(list),
            None => graphs.push((label, vec![list])),
        }
    }
    graphs
}

#[cfg(test)]
mod tests;
