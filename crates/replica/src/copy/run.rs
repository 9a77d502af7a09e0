//! Run: copies all tables of a plan, and loads what came of them.

use crate::copy::graph_builder::{BuiltGraph, GraphBuilder};
use crate::copy::missing_ends::MissingEnds;
use crate::copy::options::{CopyOptions, CopyProgress, CopyStage};
use crate::copy::passes::CopyPass;
use crate::copy::row_batch::{BatchCollector, RowBatches};
use crate::copy::table_readers::{ReadRules, TableBlock, read_tables};
use crate::mapping::plan::{EdgeIdentity, Plan};
use crate::position::{ORIGIN_NOTE, Origin, POSITION_NOTE, Position};
use crate::source::catalogue::Catalogue;
use crate::source::contract::Source;
use crate::translate::loss::LossCounts;
use evergraph::IndexOptions;
use evergraph::database::ImportProgress;
use evergraph::ownership::{OwnerChanges, Ownership};
use evergraph::storage::bulk::load::LoadSummary;
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_files::import::policy::PolicyCounts;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::load::Load;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Some dozen blocks are under way at once, each several times: as text, as values, as columns.
const BLOCKS_OF_MEMORY: u64 = 128;
/// Smaller blocks cost more than they save.
const BLOCK_BYTES_MIN: u64 = 64 << 10;
/// Larger ones save nothing more.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// All rows of a plan's tables at one moment, as a graph.
#[derive(Debug)]
pub struct CopiedGraph {
    /// The graph.
    pub load: Load,
    /// Notes of edges that wait and of vertices that were created, by name; none where missing ends are dropped.
    pub notes: BTreeMap<String, Vec<u8>>,
    /// What was left out.
    pub losses: LossCounts,
    /// Edges that were left out, or wait, since an end is missing, by the place of the rule in the mapping.
    pub missing_edges: BTreeMap<usize, u64>,
    /// Vertices that were created for edges.
    pub created: PolicyCounts,
    /// Rows that came.
    pub rows: u64,
    /// Bytes of text that came.
    pub bytes: u64,
    /// Bytes of rows and ids that went through a temporary file.
    pub spilled_bytes: u64,
    /// What the load may take to sort edges.
    pub sorting_bytes: u64,
    /// How far the copy was at its end.
    progress: CopyProgress,
    began: Instant,
}

/// Copies all tables of `plan` in the snapshot that the source calls `snapshot`.
///
/// The snapshot must hold for the whole copy; with `None` each table is read at a moment of its own, so that edges may lack
/// their ends.
///
/// Cost: each table is read once; edges that come before all vertices are there wait. Memory as the options say, and some
/// megabytes a reader.
///
/// # Errors
/// The source's; `invalid` for a row that cannot be read, with table, column, key and what helps, for a key that occurs twice,
/// and for a missing end where its rule says so; `limit` if more edges wait than may; `cancelled`. Nothing is written then.
pub fn copy_tables(
    source: &mut dyn Source,
    plan: &Plan,
    snapshot: Option<&str>,
    options: &CopyOptions,
    progress: &dyn Fn(&CopyProgress),
    cancel: &CancelFlag,
) -> Result<CopiedGraph> {
    copy_tables_beside(source, plan, snapshot, options, ExistingGraph::default(), progress, cancel)
}

/// As [`copy_tables`], into a database that has `known` already: a row whose key it has is an error.
///
/// # Errors
/// As [`copy_tables`].
pub fn copy_tables_beside(
    source: &mut dyn Source,
    plan: &Plan,
    snapshot: Option<&str>,
    options: &CopyOptions,
    known: ExistingGraph,
    progress: &dyn Fn(&CopyProgress),
    cancel: &CancelFlag,
) -> Result<CopiedGraph> {
    let pass = CopyPass::of_all(plan, options.missing);
    let mut builder = GraphBuilder::new(plan, &pass, options, known)?;
    let block_bytes = (options.memory_bytes / BLOCKS_OF_MEMORY).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
    let rules = ReadRules {
        snapshot,
        readers: options.readers,
        part_pages_min: options.part_pages_min,
        block_bytes: block_bytes as usize,
    };
    let mut losses = LossCounts::default();
    let mut meter = CopyMeter {
        progress,
        estimate: options.rows_estimate,
        began: Instant::now(),
        now: CopyProgress {
            stage: CopyStage::Vertices,
            table: "".into(),
            tables_done: 0,
            tables_total: pass.reads.len(),
            rows: 0,
            bytes: 0,
            fraction: None,
            elapsed: Default::default(),
            wait: None,
        },
        names: pass.reads.iter().map(|read| Arc::clone(&read.name)).collect(),
    };
    meter.tell();
    let mut tables_of_vertices = plan.tables.iter().filter(|table| !table.vertices.is_empty()).count();
    if tables_of_vertices == 0 {
        builder.end_vertices(cancel)?;
    }
    read_tables(
        source,
        &pass.reads,
        rules,
        |read| BatchCollector::new(&pass, read),
        cancel,
        |block| {
            let is_last = block.is_last;
            let (read, content) = meter.count(block);
            losses.add(&content.losses);
            let (name, vertices) = (&pass.reads[read].name, &pass.table(read).vertices);
            let mut batches = vertices.iter().zip(content.vertices);
            batches.try_for_each(|(vertex, batch)| builder.add_vertices(name, vertex, batch))?;
            let mut batches = content.edges.into_iter().enumerate();
            batches.try_for_each(|(at, batch)| builder.add_edges((read, at), batch))?;
            if is_last && !vertices.is_empty() {
                tables_of_vertices -= 1;
                if tables_of_vertices == 0 {
                    meter.now.stage = CopyStage::Edges;
                    meter.tell();
                    builder.end_vertices(cancel)?;
                }
            }
            Ok(())
        },
    )?;
    let BuiltGraph { load, notes, missing_edges, created, spilled_bytes } = builder.finish(cancel)?;
    let CopyMeter { now, began, .. } = meter;
    Ok(CopiedGraph {
        load,
        notes,
        losses,
        missing_edges,
        created,
        rows: now.rows,
        bytes: now.bytes,
        spilled_bytes,
        sorting_bytes: options.memory_shares().sorting,
        progress: now,
        began,
    })
}

impl CopiedGraph {
    /// Loads the graph with its notes, `origin` and `position`: after a crash all of it is there, or nothing. `cancel` ends it until
    /// the graph is being written.
    ///
    /// # Errors
    /// As [`Ownership::load_within`].
    pub fn load(
        &self,
        ownership: &mut Ownership,
        origin: &Origin,
        position: &Position,
        progress: &dyn Fn(&CopyProgress),
        cancel: &CancelFlag,
    ) -> Result<LoadSummary> {
        let (origin, position) = (origin.encode(), position.encode());
        let mut notes: Vec<(&str, &[u8])> =
            self.notes.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        notes.extend([(ORIGIN_NOTE, &*origin), (POSITION_NOTE, &*position)]);
        // What stops it later leaves a database of which nobody knows whether it has the graph, and so needs the slot.
        cancel.check()?;
        let building = CancelFlag::default();
        let tell = |now: &ImportProgress<'_>| {
            let (stage, done, total) = match now {
                ImportProgress::Building(now) => (CopyStage::Building, now.edges, now.edges_total),
                ImportProgress::Writing(now) => (CopyStage::Writing, now.groups_done, now.groups_count),
                _ => return,
            };
            let fraction = Some(done as f64 / total.max(1) as f64);
            progress(&CopyProgress {
                stage,
                fraction,
                elapsed: self.began.elapsed(),
                ..self.progress.clone()
            });
            if stage == CopyStage::Building && cancel.is_cancelled() {
                building.cancel();
            }
        };
        let changes = OwnerChanges { notes: &notes, ..OwnerChanges::default() };
        ownership.load_within(self.sorting_bytes, &self.load, changes, &tell, &building)
    }
}

/// The unique indexes of edges that have keys, and, if edges are kept that wait, the indexes that find them. Labels get the
/// unique indexes of their keys with the load.
#[must_use]
pub fn indexes_of(plan: &Plan, missing: MissingEnds) -> Vec<IndexOptions> {
    let mut indexes = Vec::new();
    for table in &plan.tables {
        for edge in &table.edges {
            if let EdgeIdentity::Key(key) = &edge.identity {
                indexes.push(IndexOptions::on_edges(&edge.edge_type, &key.property).unique());
            }
        }
        for vertex in table.vertices.iter().filter(|_| missing == MissingEnds::Kept) {
            let kept = vertex.edges.iter().filter_map(|foreign| foreign.waiting.as_ref());
            indexes.extend(kept.map(|waiting| IndexOptions::on_label(&vertex.label, &waiting.key)));
        }
    }
    indexes
}

/// How many rows a copy of `plan` reads, by the source's estimates; `None` if it has none for a table.
#[must_use]
pub fn estimate_rows(plan: &Plan, catalogue: &Catalogue) -> Option<u64> {
    plan.tables.iter().map(|table| catalogue.table_of(table.table)?.rows_estimate).sum()
}

struct CopyMeter<'a> {
    progress: &'a dyn Fn(&CopyProgress),
    estimate: Option<u64>,
    began: Instant,
    now: CopyProgress,
    /// The tables.
    names: Vec<Arc<str>>,
}

impl CopyMeter<'_> {
    fn count(&mut self, block: TableBlock<RowBatches>) -> (usize, RowBatches) {
        self.now.table = Arc::clone(&self.names[block.read]);
        self.now.tables_done += usize::from(block.is_last);
        self.now.rows += block.rows;
        self.now.bytes += block.bytes;
        self.tell();
        (block.read, block.content)
    }

    fn tell(&mut self) {
        self.now.elapsed = self.began.elapsed();
        let share = |total: u64| (self.now.rows as f64 / total as f64).min(1.0);
        self.now.fraction = self.estimate.filter(|total| *total > 0).map(share);
        (self.progress)(&self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsn::Lsn;
    use crate::mapping::resolve::resolve;
    use crate::pgoutput::relation::RelationIdentity;
    use crate::postgres_time::PostgresTime;
    use crate::row_note::WaitingEdge;
    use crate::source::catalogue::{Column, Key, Table, TableKind, TableRights};
    use crate::source::contract::SourceIdentity;
    use crate::source::scripted::ScriptedSource;
    use evergraph::Database;
    use evergraph_files::import::mapping::document::Mapping;
    use evergraph_graph::error::ErrorKind;
    use std::cell::RefCell;
    use std::path::Path;

    const MAPPING: &str = "
        [[table]]
        table = 'person'
        label = 'Person'
        edge = [{ type = 'MENTORED_BY', column = 'mentor', space = 'Person' }]
        [[table]]
        table = 'knows'
        type = 'KNOWS'
        start = { column = 'a', space = 'Person' }
        end = { column = 'b', space = 'Person' }
    ";

    fn table(id: u32, name: &str, columns: &[(&str, u32)], key: &[&str]) -> Table {
        let columns = columns.iter().map(|(name, type_id)| Column {
            name: (*name).into(),
            type_id: *type_id,
            type_name: "a type".into(),
            is_nullable: !key.contains(name),
            is_generated: false,
            is_nondeterministic: false,
        });
        let key: Vec<Box<str>> = key.iter().map(|name| (*name).into()).collect();
        Table {
            id,
            schema: "public".into(),
            name: name.into(),
            kind: TableKind::Plain,
            partition_of: None,
            child_tables: Vec::new(),
            columns: columns.collect(),
            primary_key: Some(Key { name: "pkey".into(), columns: key.clone(), is_deferrable: false }),
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
            identity: RelationIdentity::PrimaryKey,
            identity_columns: key,
            rows_estimate: Some(10),
            rights: TableRights::default(),
        }
    }

    fn catalogue() -> Catalogue {
        let person = [("id", 20), ("name", 25), ("mentor", 20)];
        let knows = [("a", 20), ("b", 20), ("since", 1082)];
        Catalogue {
            tables: vec![table(1, "person", &person, &["id"]), table(2, "knows", &knows, &["a", "b"])],
            ..Catalogue::default()
        }
    }

    fn plan() -> Plan {
        let rules = Mapping::parse("m.toml", MAPPING, Path::new(".")).unwrap().tables;
        resolve(&rules, &catalogue()).unwrap()
    }

    fn source(persons: Vec<String>, knows: Vec<String>) -> ScriptedSource {
        let identity = SourceIdentity {
            system: "1".into(),
            timeline: 1,
            database: "shop".into(),
            log_end: Lsn::ZERO,
            server_version: 150_000,
        };
        let bytes = |rows: Vec<String>| rows.into_iter().map(String::into_bytes).collect();
        ScriptedSource::new(identity, catalogue(), [])
            .with_rows("public", "person", bytes(persons))
            .with_rows("public", "knows", bytes(knows))
    }

    /// Persons 0 to 1999, each mentored by the next but one, and three friends each; the last ones miss theirs.
    fn crowd() -> ScriptedSource {
        let person = |id: i64| format!("{id}\tname\\t{id}\t{}\n", id + 2);
        let knows =
            (0..6000).map(|at| format!("{}\t{}\t2024-02-{:02}\n", at / 3, at / 3 + at % 3 + 1, at % 28 + 1));
        source((0..2000).map(person).collect(), knows.collect())
    }

    fn copy(source: &mut ScriptedSource, memory_bytes: u64) -> Result<CopiedGraph> {
        let options = CopyOptions::new(memory_bytes, std::env::temp_dir());
        copy_tables(source, &plan(), None, &options, &|_| {}, &CancelFlag::default())
    }

    fn load(copied: &CopiedGraph) -> Database {
        let database = Database::in_memory().unwrap();
        let mut ownership = database.own("a script").unwrap();
        let origin = Origin {
            system: "1".into(),
            database: "shop".into(),
            slot: "s".into(),
            publication: "p".into(),
            mapping: [0; 32],
        };
        let committed_at = PostgresTime::new(0);
        let position = Position { timeline: 1, end: Lsn::new(9), xid: 0, committed_at };
        copied.load(&mut ownership, &origin, &position, &|_| {}, &CancelFlag::default()).unwrap();
        database
    }

    #[test]
    fn a_copy_within_a_kilobyte_and_one_in_parts_are_the_same_graph_as_one_with_much_memory() {
        let plenty = copy(&mut crowd(), 64 << 20).unwrap();
        let little = copy(&mut crowd(), 1 << 10).unwrap();
        let options = CopyOptions { part_pages_min: 500, ..CopyOptions::new(1 << 20, std::env::temp_dir()) };
        let parts =
            copy_tables(&mut crowd(), &plan(), None, &options, &|_| {}, &CancelFlag::default()).unwrap();
        assert!(plenty.spilled_bytes == 0 && little.spilled_bytes > 0);
        // Persons 2000 and 2001 are nobody: two mentors, and one, two and three friends of the last three.
        for copied in [&plenty, &little, &parts] {
            assert_eq!((copied.rows, copied.load.vertices_count()), (2000 + 6000, 2000));
            assert_eq!(copied.missing_edges, BTreeMap::from([(0, 2), (1, 6)]));
            assert_eq!(copied.load.edges_count(), 2000 - 2 + 6000 - 6);
            let waiting = copied.notes.iter().map(|(name, bytes)| WaitingEdge::decode(name, bytes).unwrap());
            assert!(waiting.clone().count() == 6 && waiting.clone().all(|edge| edge.end >= 2000_i64.into()));
        }
        assert!(plenty.notes == little.notes && plenty.notes == parts.notes);
        let query = "g.V().hasLabel('Person').order().by('id').project('n', 'k', 'm', 'w').by('name')\
                     .by(out('KNOWS').values('id').order().fold()).by(out('MENTORED_BY').values('id').fold())\
                     .by(values('MENTORED_BY->Person').fold())";
        let answer =
            |copied| format!("{:?}", load(copied).gremlin(query).values::<evergraph::Value>().unwrap());
        let expected = answer(&plenty);
        assert!(expected == answer(&little) && expected == answer(&parts));
        assert!(expected.contains("name\\t1999"), "{}", &expected[expected.len() - 200..]);
    }

    #[test]
    fn edges_that_wait_find_vertices_that_other_edges_create_whichever_come_first() {
        const MIXED: &str = "
            [[table]]
            table = 'person'
            label = 'Person'
            edge = [{ type = 'MENTORED_BY', column = 'mentor', space = 'Person', missing = 'wait' }]
            [[table]]
            table = 'knows'
            type = 'KNOWS'
            start = { column = 'a', space = 'Person' }
            end = { column = 'b', space = 'Person' }
            missing = 'create'
        ";
        let rules = Mapping::parse("m.toml", MIXED, Path::new(".")).unwrap().tables;
        let plan = resolve(&rules, &catalogue()).unwrap();
        for memory_bytes in [1 << 10, 64 << 20] {
            let options = CopyOptions::new(memory_bytes, std::env::temp_dir());
            let copied =
                copy_tables(&mut crowd(), &plan, None, &options, &|_| {}, &CancelFlag::default()).unwrap();
            // Persons 2000 to 2002 are whom others know.
            assert_eq!((copied.load.vertices_count(), copied.load.edges_count()), (2000 + 3, 2000 + 6000));
            assert_eq!(copied.missing_edges, BTreeMap::new());
        }
    }

    #[test]
    fn a_connection_that_breaks_and_rows_that_are_damaged_are_errors_with_their_place() {
        let mut broken = crowd().broken_after(4000);
        assert_eq!(copy(&mut broken, 1 << 20).unwrap_err().kind(), ErrorKind::Io);
        let error = |persons: &[&str]| {
            let rows = persons.iter().map(|row| (*row).to_owned()).collect();
            copy(&mut source(rows, Vec::new()), 1 << 20).unwrap_err()
        };
        let text = error(&["1\ta\t\\N\n", "2\tb\\x\t\\N\n"]).to_string();
        assert!(text.contains("row 2 of COPY of person"), "{text}");
        let text = error(&["1\ta\n"]).to_string();
        assert!(text.contains("a row has 2 columns, and 3 were asked for"), "{text}");
        let text = error(&["1\ta\t\\N\n", "x\tb\t\\N\n"]).to_string();
        assert!(
            text.contains("table person, column id: \"x\"") && text.contains("where id = \"x\""),
            "{text}"
        );
        let text = error(&["1\ta\t\\N\n", "1\tb\t\\N\n"]).to_string();
        assert!(text.contains("table person: label Person: vertex 1"), "{text}");
    }

    #[test]
    fn empty_tables_declare_their_labels_types_and_properties() {
        let copied = copy(&mut source(Vec::new(), Vec::new()), 1 << 20).unwrap();
        let catalogue = evergraph::GraphView::catalogue(&load(&copied).snapshot());
        let (person, knows) = (catalogue.label("Person").unwrap(), catalogue.edge_type("KNOWS").unwrap());
        let names = |owner| -> Vec<String> {
            let keys = catalogue.properties_of(owner).map(|(key, _)| catalogue.key_name(key).to_string());
            keys.collect()
        };
        let owner = evergraph_graph::catalogue::Owner::Label(person);
        let mut properties = names(owner);
        properties.sort();
        assert_eq!(properties, ["MENTORED_BY->Person", "id", "name"]);
        assert_eq!(names(evergraph_graph::catalogue::Owner::EdgeType(knows)), ["since"]);
        assert!(catalogue.is_unique(owner, catalogue.key("id").unwrap()));
        assert!(catalogue.edge_type("MENTORED_BY").is_some());
    }

    #[test]
    fn progress_counts_tables_and_rows() {
        let told = RefCell::new(Vec::new());
        let options =
            CopyOptions { rows_estimate: Some(16_000), readers: 1, ..CopyOptions::new(1 << 20, "/tmp") };
        let tell = |now: &CopyProgress| told.borrow_mut().push(now.clone());
        copy_tables(&mut crowd(), &plan(), None, &options, &tell, &CancelFlag::default()).unwrap();
        let told = told.into_inner();
        assert!(told.is_sorted_by_key(|now| (now.rows, now.tables_done)));
        let last = told.last().unwrap();
        assert_eq!(
            (last.stage, last.rows, last.tables_done, last.tables_total),
            (CopyStage::Edges, 8000, 2, 2)
        );
        assert_eq!((&*last.table, last.fraction), ("knows", Some(0.5)));
        assert!(told.iter().any(|now| now.stage == CopyStage::Vertices && &*now.table == "person"));
    }

    #[test]
    fn a_cancelled_copy_says_so() {
        let cancel = CancelFlag::default();
        let options = CopyOptions::new(1 << 20, std::env::temp_dir());
        let stop = |now: &CopyProgress| {
            if now.stage == CopyStage::Edges {
                cancel.cancel();
            }
        };
        let error = copy_tables(&mut crowd(), &plan(), None, &options, &stop, &cancel).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}
