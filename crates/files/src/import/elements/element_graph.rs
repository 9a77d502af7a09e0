//! Element graph: adds vertices of all files to the assembly as they come, and edges after all vertices.
//!
//! Edges wait in the blocks in which they were parsed, in memory or in a temporary file: about 40 bytes an edge, and its
//! packed properties.
//! Files of one format share their ids, so that a graph may be cut into several.

use crate::import::assembly::batch::{Batch, EndEntries, Ends, RejectedRow};
use crate::import::assembly::edges::EdgeRule;
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_keys::OPEN_KEY;
use crate::import::assembly::waiting_edges::WaitingEdges;
use crate::import::bad_row::Fault;
use crate::import::context::Context;
use crate::import::elements::element_file::ElementFile;
use crate::import::elements::rows::{ElementBlock, ElementRules, edge_text, vertex_text};
use crate::import::faults::FaultCollector;
use crate::import::options::ImportOptions;
use crate::import::staging::spill::{Slot, Staging};
use evergraph_formats::graphson::sides::{Side, SideSums};
use evergraph_graph::error::{Error, Result};
use std::sync::Arc;

/// What is read of element files before their edges can be placed.
pub struct ElementGraph {
    staging: Arc<Staging>,
    waiting: Vec<PendingEdges>,
    /// Edges of GraphSON files by side, and the files.
    sums: SideSums,
    graphson_files: Vec<String>,
    /// Whether lines of GraphSON files were left out: then nothing can be said about sides.
    has_gaps: bool,
    /// What was left out or is otherwise worth telling, by file.
    pub notes: Vec<String>,
}

/// Edges of one file.
struct PendingEdges {
    file: String,
    rule: EdgeRule,
    batches: Vec<Slot<Batch<Ends>>>,
}

/// A file whose elements come now.
pub(super) struct OpenElementFile {
    file: String,
    space: usize,
    rules: ElementRules,
    meta_properties: u64,
}

impl ElementGraph {
    /// Nothing yet; edges wait where `staging` says.
    #[must_use]
    pub fn new(staging: &Arc<Staging>) -> Self {
        Self {
            staging: Arc::clone(staging),
            waiting: Vec::new(),
            sums: SideSums::default(),
            graphson_files: Vec::new(),
            has_gaps: false,
            notes: Vec::new(),
        }
    }

    /// Adds all edges to `assembly`.
    ///
    /// # Errors
    /// A bad row, if it stops the import; `invalid` if the GraphSON files are not whole; `cancelled`; what reading
    /// temporary files meets.
    pub fn finish(&mut self, assembly: &mut Assembly, context: &mut Context<'_>) -> Result<()> {
        self.check_sides()?;
        let bytes_max = context.options.memory_shares().edges_bytes();
        for PendingEdges { file, rule, batches } in std::mem::take(&mut self.waiting) {
            let mut waiting = WaitingEdges::new(rule, bytes_max);
            for batch in batches {
                context.options.cancel.check()?;
                if waiting.push(assembly, batch.take(&self.staging)?, ((), 0)) {
                    place(&mut waiting, (&file, rule), assembly, context)?;
                }
            }
            place(&mut waiting, (&file, rule), assembly, context)?;
        }
        Ok(())
    }

    /// Begins a file that errors call `name`.
    pub(super) fn enter(
        &mut self,
        name: &str,
        file: &ElementFile,
        assembly: &mut Assembly,
        options: &ImportOptions,
    ) -> Result<OpenElementFile> {
        let space = assembly.enter_space(file.format.space(), None, name)?;
        assembly.create_without_label(space);
        let undirected = file.rule.undirected;
        let rule = EdgeRule { source_space: space, target_space: space, undirected, ..EdgeRule::default() };
        self.waiting.push(PendingEdges { file: name.to_owned(), rule, batches: Vec::new() });
        let rules = ElementRules {
            vertex_label: file.rule.label.clone().unwrap_or_else(|| options.lists.vertex_label.clone()),
            vertex_id_key: options.ids.vertex_key.clone(),
            known_id_keys: Arc::new(assembly.known_id_keys()),
            edge_id_key: options.ids.edge_key.clone(),
        };
        if file.format.has_untyped_numbers() {
            assembly.unify_numbers(space);
        }
        Ok(OpenElementFile { file: name.to_owned(), space, rules, meta_properties: 0 })
    }

    /// Takes the elements of a block. Gives how many there are.
    pub(super) fn add(
        &mut self,
        entered: &mut OpenElementFile,
        block: ElementBlock,
        assembly: &mut Assembly,
        collector: &mut FaultCollector,
    ) -> Result<u64> {
        let ElementBlock { vertices, edges, mut faults, meta_properties } = block;
        let OpenElementFile { file, space, rules, .. } = entered;
        let table = |label| {
            let key = rules.id_key(label).unwrap_or(OPEN_KEY);
            assembly.vertex_table(label, Some(key), None, *space, file)
        };
        let tables =
            vertices.names.names.iter().map(|label| label.as_str()).map(table).collect::<Result<Vec<_>>>()?;
        let (placed, rejected) =
            assembly.place_vertices(file, (*space, tables), &vertices, collector.rules())?;
        faults.join(rejected.map(|RejectedRow { row, why, .. }| {
            Fault::of_row(why, vertex_text(&vertices.ids.show(row)).as_bytes())
        }));
        collector.add(file, 0, faults)?;
        let added = assembly.store_vertices(file, &placed, vertices)?;
        let edges_count = edges.lines.len() as u64;
        entered.meta_properties += meta_properties;
        if edges_count > 0 {
            let waiting = self.waiting.last_mut().expect("a file was entered");
            waiting.batches.push(Slot::new(edges, &self.staging)?);
        }
        Ok(added + edges_count)
    }

    /// Ends a file.
    pub(super) fn leave(&mut self, entered: &OpenElementFile) {
        let count = entered.meta_properties;
        self.note(
            &entered.file,
            count,
            "property of a property was",
            "properties of properties were",
            "left out",
        );
    }

    /// Notes that `count` things of the file were treated somehow, if there are any.
    pub(super) fn note(&mut self, file: &str, count: u64, one: &str, many: &str, what: &str) {
        match count {
            0 => {}
            1 => self.notes.push(format!("{file}: 1 {one} {what}")),
            _ => self.notes.push(format!("{file}: {count} {many} {what}")),
        }
    }

    /// Takes over what a GraphSON file says of the sides of its edges.
    pub(super) fn add_sides(&mut self, file: &str, sums: &SideSums, has_gaps: bool) {
        self.sums.merge(sums);
        self.has_gaps |= has_gaps;
        self.graphson_files.push(file.to_owned());
    }

    fn check_sides(&self) -> Result<()> {
        if self.has_gaps {
            return Ok(());
        }
        self.sums.check(Side::Out).map_err(|why| {
            let files = match &self.graphson_files[..] {
                [first, _, ..] => format!("{first} and the other GraphSON files"),
                files => files.join(""),
            };
            Error::invalid(format!("{files}: {why}"))
        })
    }
}

impl OpenElementFile {
    /// What becomes of its elements.
    pub(super) fn rules(&self) -> ElementRules {
        self.rules.clone()
    }
}

/// Adds the edges of `waiting`, of the named file, to `assembly`.
fn place(
    waiting: &mut WaitingEdges<()>,
    (file, rule): (&str, EdgeRule),
    assembly: &mut Assembly,
    context: &mut Context<'_>,
) -> Result<()> {
    let (pool, collector) = (context.pool, &mut context.faults);
    let store = |assembly: &mut Assembly, batch: Batch<Ends>, entries: &EndEntries, ()| {
        let (placed, rejected) = assembly.place_edges(file, rule, (&batch, entries), collector.rules())?;
        let (names, Ends { sources, targets }) = (&batch.names, &batch.ids);
        let faults = rejected.map(|RejectedRow { row, why, .. }| {
            let edge_type = &names.names[names.code(row)];
            let text = edge_text(&sources.show(row), edge_type, &targets.show(row));
            Fault::of_row(why, text.as_bytes())
        });
        collector.add(file, 0, faults)?;
        assembly.store_edges(file, placed, batch)
    };
    pool.install(|| waiting.place(assembly, store))?;
    Ok(())
}

#[cfg(test)]
mod tests;
