//! Run: compares a snapshot with a source: by sums, then by hashes where sums differ, then the first differences whole.

use crate::copy::options::PART_PAGES_MIN;
use crate::copy::passes::CopyPass;
use crate::copy::table_readers::{ReadRules, RowCollector, read_tables};
use crate::mapping::plan::Plan;
use crate::mapping::sql_name::display_table;
use crate::source::contract::Source;
use crate::verify::consumer::{EntityConsumer, RangeHashes, RangeSums, WholeEntities};
use crate::verify::difference::{
    Difference, DifferenceKind, SubjectComparison, VerifyReport, describe, differing,
};
use crate::verify::entity::EntityHash;
use crate::verify::graph_side::{EdgeCounts, GraphSide};
use crate::verify::source_side::{
    EdgeCollector, MakeConsumer, SourceVertices, VertexCollector, VertexDifferences,
};
use crate::verify::subject::{EdgeSubject, VertexSubject, edge_subjects, passes, vertex_subjects};
use evergraph::Snapshot;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Rows of text that a reader takes before it hands over what it kept.
const BLOCK_BYTES: usize = 16 << 20;

/// How a graph is compared.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions {
    /// How many differences are described.
    pub differences_max: usize,
    /// Memory for hashes of what may differ, in bytes.
    pub memory_bytes: u64,
    /// How many tables are read at a time, each on a connection of its own.
    pub readers: usize,
}

impl Default for VerifyOptions {
    /// 20 differences, 256 MiB, 4 readers.
    fn default() -> Self {
        Self { differences_max: 20, memory_bytes: 256 << 20, readers: 4 }
    }
}

/// How far a comparison is.
#[derive(Clone, Debug)]
pub struct VerifyProgress<'a> {
    /// What is compared.
    pub subject: &'a str,
    /// Rows of the source that were read so far, each time that they were.
    pub rows: u64,
}

/// Compares `snapshot` with the rows of `source`, which are read in the snapshot that the source calls `at`. Both must be of
/// the same position.
///
/// Cost: each table with vertices is read once, and once more if it has edges, and the graph is scanned as often; where sides
/// differ, once or twice more.
///
/// # Errors
/// The source's; `invalid` for a row that cannot be read; errors of reading the graph; `cancelled`. Differences are no error.
pub fn verify(
    snapshot: &Snapshot,
    (source, at): (&mut dyn Source, Option<&str>),
    plan: &Plan,
    options: &VerifyOptions,
    progress: &dyn Fn(&VerifyProgress<'_>),
    cancel: &CancelFlag,
) -> Result<VerifyReport> {
    let [vertex_pass, edge_pass] = passes(plan);
    let vertices = vertex_subjects(&vertex_pass, plan);
    let edges = edge_subjects(&edge_pass);
    let mut verifier = Verifier {
        graph: GraphSide::new(snapshot, cancel),
        source,
        at,
        options: *options,
        progress,
        cancel,
        rows: 0,
        report: VerifyReport::default(),
        others: Vec::new(),
    };
    let mut of_labels = HashMap::new();
    {
        let flat: Vec<&VertexSubject<'_>> = vertices.iter().flatten().collect();
        let titles: Vec<Title> = flat
            .iter()
            .map(|subject| (subject.title(), display_table(&subject.table.schema, &subject.table.name)))
            .collect();
        let stage = VertexStage { pass: &vertex_pass, subjects: &vertices };
        let differences = verifier.compare(&stage, StageReads::new(&vertex_pass, &vertices), &titles)?;
        for (subject, differences) in flat.iter().zip(differences) {
            let mut known = VertexDifferences::default();
            for (identity, kind) in differences {
                match kind {
                    DifferenceKind::Missing => known.missing.insert(identity),
                    DifferenceKind::Extra => known.extra.insert(identity),
                    DifferenceKind::Changed => false,
                };
            }
            of_labels.insert(subject.vertex.label.as_str(), known);
        }
    }
    let incomplete: HashSet<&str> = vertices
        .iter()
        .flatten()
        .zip(&verifier.report.subjects)
        .filter(|(_, comparison)| comparison.is_incomplete)
        .map(|(subject, _)| subject.vertex.label.as_str())
        .collect();
    let flat: Vec<&EdgeSubject<'_>> = edges.iter().flatten().collect();
    let titles: Vec<Title> =
        flat.iter().map(|subject| (subject.title(), subject.source.table_name())).collect();
    let source_vertices = SourceVertices { snapshot, differences: of_labels };
    let stage = EdgeStage { pass: &edge_pass, subjects: &edges, vertices: &source_vertices };
    let first = verifier.report.subjects.len();
    verifier.compare(&stage, StageReads::new(&edge_pass, &edges), &titles)?;
    for (subject, comparison) in flat.iter().zip(&mut verifier.report.subjects[first..]) {
        // Whether ends exist is not known of all.
        let ends = [&subject.source.start, &subject.source.end];
        comparison.is_incomplete |= ends.iter().any(|end| !end.is_promised && incomplete.contains(end.label));
    }
    let labels: Vec<&str> = vertices.iter().flatten().map(|subject| subject.vertex.label.as_str()).collect();
    let types: Vec<&str> = flat.iter().map(|subject| subject.source.edge_type()).collect();
    let Verifier { graph, mut report, others, .. } = verifier;
    report.unmapped = graph.unmapped(&labels, &types, &others)?;
    Ok(report)
}

/// What a subject is called, and its table.
type Title = (String, String);

/// What is kept of each subject, if anything is.
type Kept<K> = Vec<Option<K>>;

/// What is compared together: all vertices, or all edges.
trait Stage {
    /// Hands the entities of the graph to consumers, by subject; edges of no subject go to `others`.
    fn read_graph<K: EntityConsumer>(
        &self,
        graph: &GraphSide<'_>,
        make: MakeConsumer<'_, K>,
        others: &mut Vec<(String, EdgeCounts)>,
    ) -> Result<Vec<Option<K>>>;

    /// What gathers the entities of a read, whose subjects are numbered from `first` on.
    fn collector<'a, K: EntityConsumer>(
        &'a self,
        read: usize,
        first: usize,
        make: MakeConsumer<'a, K>,
    ) -> Box<dyn RowCollector<Block = Vec<Option<K>>> + 'a>;
}

/// What a stage reads of the source.
struct StageReads<'a> {
    pass: &'a CopyPass,
    /// For each read, the numbers of its subjects.
    subjects: Vec<Range<usize>>,
}

impl<'a> StageReads<'a> {
    fn new<S>(pass: &'a CopyPass, subjects: &[Vec<S>]) -> Self {
        let mut next = 0;
        let ranges = subjects.iter().map(|of_read| {
            next += of_read.len();
            next - of_read.len()..next
        });
        Self { pass, subjects: ranges.collect() }
    }
}

struct VertexStage<'a> {
    pass: &'a CopyPass,
    subjects: &'a [Vec<VertexSubject<'a>>],
}

struct EdgeStage<'a> {
    pass: &'a CopyPass,
    subjects: &'a [Vec<EdgeSubject<'a>>],
    vertices: &'a SourceVertices<'a>,
}

impl Stage for VertexStage<'_> {
    fn read_graph<K: EntityConsumer>(
        &self,
        graph: &GraphSide<'_>,
        make: MakeConsumer<'_, K>,
        _others: &mut Vec<(String, EdgeCounts)>,
    ) -> Result<Vec<Option<K>>> {
        let subjects = self.subjects.iter().flatten().enumerate();
        let read = subjects.map(|(at, subject)| {
            let mut consumer = make(at);
            if let Some(consumer) = &mut consumer {
                graph.visit_vertices(subject, consumer)?;
            }
            Ok(consumer)
        });
        read.collect()
    }

    fn collector<'a, K: EntityConsumer>(
        &'a self,
        read: usize,
        first: usize,
        make: MakeConsumer<'a, K>,
    ) -> Box<dyn RowCollector<Block = Vec<Option<K>>> + 'a> {
        Box::new(VertexCollector::new((self.pass, read), &self.subjects[read], first, make))
    }
}

impl Stage for EdgeStage<'_> {
    fn read_graph<K: EntityConsumer>(
        &self,
        graph: &GraphSide<'_>,
        make: MakeConsumer<'_, K>,
        others: &mut Vec<(String, EdgeCounts)>,
    ) -> Result<Vec<Option<K>>> {
        let flat: Vec<&EdgeSubject<'_>> = self.subjects.iter().flatten().collect();
        let mut by_type: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, subject) in flat.iter().enumerate() {
            by_type.entry(subject.source.edge_type()).or_default().push(at);
        }
        let mut consumers: Vec<Option<K>> = flat.iter().map(|_| None).collect();
        for (edge_type, places) in by_type {
            let mut of_type: Vec<_> = places.iter().map(|at| (flat[*at], make(*at))).collect();
            if of_type.iter().all(|(_, consumer)| consumer.is_none()) {
                continue;
            }
            let counts = graph.visit_edges(edge_type, &mut of_type)?;
            if !counts.is_empty() && others.iter().all(|(known, _)| known != edge_type) {
                others.push((edge_type.to_owned(), counts));
            }
            for (at, (_, consumer)) in places.into_iter().zip(of_type) {
                consumers[at] = consumer;
            }
        }
        Ok(consumers)
    }

    fn collector<'a, K: EntityConsumer>(
        &'a self,
        read: usize,
        first: usize,
        make: MakeConsumer<'a, K>,
    ) -> Box<dyn RowCollector<Block = Vec<Option<K>>> + 'a> {
        let subjects = &self.subjects[read];
        Box::new(EdgeCollector::new((self.pass, read), subjects, first, self.vertices, make))
    }
}

struct Verifier<'a> {
    graph: GraphSide<'a>,
    source: &'a mut dyn Source,
    at: Option<&'a str>,
    options: VerifyOptions,
    progress: &'a dyn Fn(&VerifyProgress<'_>),
    cancel: &'a CancelFlag,
    rows: u64,
    report: VerifyReport,
    others: Vec<(String, EdgeCounts)>,
}

impl Verifier<'_> {
    /// Compares all subjects of `stage`, and adds to the report. How each differs, by hashes of identities.
    fn compare<S: Stage>(
        &mut self,
        stage: &S,
        reads: StageReads<'_>,
        titles: &[Title],
    ) -> Result<Vec<Vec<(u64, DifferenceKind)>>> {
        let (graph, source) = self.both(stage, &reads, titles, &|_| Some(RangeSums::default()))?;
        let sums: Vec<(RangeSums, RangeSums)> =
            graph.into_iter().flatten().zip(source.into_iter().flatten()).collect();
        let mut hashes_left = self.options.memory_bytes / size_of::<EntityHash>() as u64;
        let mut is_incomplete = vec![false; titles.len()];
        let ranges: Vec<BTreeSet<usize>> = sums
            .iter()
            .zip(&mut is_incomplete)
            .map(|((graph, source), is_incomplete)| {
                let mut ranges = BTreeSet::new();
                for (range, count) in graph.differing(source) {
                    // The first one is looked at whatever it takes: something should be said.
                    if count > hashes_left && !ranges.is_empty() {
                        *is_incomplete = true;
                        break;
                    }
                    hashes_left = hashes_left.saturating_sub(count);
                    ranges.insert(range);
                }
                ranges
            })
            .collect();
        let mut differences: Vec<Vec<(u64, DifferenceKind)>> = vec![Vec::new(); titles.len()];
        if ranges.iter().any(|ranges| !ranges.is_empty()) {
            let make = |at: usize| (!ranges[at].is_empty()).then(|| RangeHashes::of(ranges[at].clone()));
            let (graph, source) = self.both(stage, &reads, titles, &make)?;
            for (at, (graph, source)) in graph.into_iter().zip(source).enumerate() {
                if let (Some(graph), Some(source)) = (graph, source) {
                    differences[at] = differing(graph.hashes, source.hashes);
                }
            }
        }
        self.describe(stage, &reads, titles, &differences)?;
        for (at, (subject, table)) in titles.iter().enumerate() {
            self.report.subjects.push(SubjectComparison {
                subject: subject.clone(),
                table: table.clone(),
                in_graph: sums[at].0.count(),
                in_source: sums[at].1.count(),
                differences: differences[at].len() as u64,
                is_incomplete: is_incomplete[at],
            });
        }
        Ok(differences)
    }

    /// Describes the first differences.
    fn describe<S: Stage>(
        &mut self,
        stage: &S,
        reads: &StageReads<'_>,
        titles: &[Title],
        differences: &[Vec<(u64, DifferenceKind)>],
    ) -> Result<()> {
        let mut left = self.options.differences_max.saturating_sub(self.report.differences.len());
        let mut first: Vec<BTreeMap<u64, DifferenceKind>> = Vec::with_capacity(titles.len());
        for of_subject in differences {
            let taken: BTreeMap<_, _> = of_subject.iter().take(left).copied().collect();
            left -= taken.len();
            first.push(taken);
        }
        if first.iter().all(BTreeMap::is_empty) {
            return Ok(());
        }
        let make = |at: usize| {
            (!first[at].is_empty()).then(|| WholeEntities::of(first[at].keys().copied().collect()))
        };
        let (graph, source) = self.both(stage, reads, titles, &make)?;
        for (at, (graph, source)) in graph.into_iter().zip(source).enumerate() {
            let (Some(graph), Some(source)) = (graph, source) else { continue };
            for (identity, kind) in &first[at] {
                let entities = |side: &WholeEntities| side.found.get(identity).cloned().unwrap_or_default();
                let (key, details) = describe(&entities(&graph), &entities(&source));
                let (subject, table) = titles[at].clone();
                self.report.differences.push(Difference { subject, table, kind: *kind, key, details });
            }
        }
        Ok(())
    }

    /// What consumers keep of the graph and of the source, by subject.
    fn both<S: Stage, K: EntityConsumer>(
        &mut self,
        stage: &S,
        reads: &StageReads<'_>,
        titles: &[Title],
        make: MakeConsumer<'_, K>,
    ) -> Result<(Kept<K>, Kept<K>)> {
        let graph = stage.read_graph(&self.graph, make, &mut self.others)?;
        let StageReads { pass, subjects } = reads;
        let is_wanted = |at: usize| graph[at].is_some();
        let wanted: Vec<usize> =
            (0..subjects.len()).filter(|read| subjects[*read].clone().any(is_wanted)).collect();
        let reads: Vec<_> = wanted.iter().map(|read| pass.reads[*read].clone()).collect();
        let mut source: Kept<K> = graph.iter().map(|_| None).collect();
        let rules = ReadRules {
            snapshot: self.at,
            readers: self.options.readers,
            part_pages_min: PART_PAGES_MIN,
            block_bytes: BLOCK_BYTES,
        };
        let collector = |at: usize| stage.collector(wanted[at], subjects[wanted[at]].start, make);
        read_tables(self.source, &reads, rules, collector, self.cancel, |block| {
            self.rows += block.rows;
            let first = subjects[wanted[block.read]].start;
            if let Some((title, _)) = titles.get(first) {
                (self.progress)(&VerifyProgress { subject: title, rows: self.rows });
            }
            for (known, came) in source[first..].iter_mut().zip(block.content) {
                match (known, came) {
                    (Some(known), Some(came)) => known.join(came),
                    (known, came) => *known = came,
                }
            }
            Ok(())
        })?;
        Ok((graph, source))
    }
}
