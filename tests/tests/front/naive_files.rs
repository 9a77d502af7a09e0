//! The naive engine's files, for tests: each checkpoint writes the whole graph anew, as the mutations that make it.
//!
//! ```text
//! naive-N        CRC32C (4 bytes), then vertices and edges as a commit's payload
//! its section    N as a varint; 0 if there is no file
//! ```

use crate::keeps::Keeps;
use crate::naive_engine::{NaiveEngine, NaiveView, State, Values, end, fresh};
use evergraph_graph::bytes::{Reader, put_varint};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, LabelId, VertexId};
use evergraph_graph::load::EdgeEnd;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::contract::{
    CheckpointOutcome, CheckpointProgress, CheckpointSources, OnCheckpointProgress,
};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, StoredGroup, remove_if_there};
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::conversion::source::{GraphSource, ListedEdge};
use evergraph_storage::durable_engine::{
    DurableEngine, EngineStep, LoadPlan, OnLoadProgress, OpenContext, OpenedEngine, PinnedFiles,
};
use evergraph_storage::engine::Engine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::known_names::KnownNames;
use evergraph_storage::salvage::loss::{Loss, LossKind};
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{LatchState, Timeline};
use evergraph_storage::transaction::payload;
use evergraph_storage::view::View;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

const FILE_BYTES_MAX: u64 = 1 << 30;

/// Where an engine's state is stored.
pub struct NaiveFiles {
    directory: Arc<dyn Directory>,
    timeline: Arc<Timeline>,
    /// The number of the file that the manifest names. Locked by whoever makes a checkpoint.
    present: Mutex<u64>,
}

fn file_name(number: u64) -> String {
    format!("naive-{number}")
}

fn file_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix("naive-")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

fn section(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, number);
    bytes
}

/// The number of the file that `manifest` names; 0 if there is none.
fn named(directory: &dyn Directory, manifest: &Manifest) -> CheckpointResult<u64> {
    let number = Reader::new(&manifest.engine_section.bytes).varint();
    number.map_err(|error| manifest.engine_section.corrupt(directory, error))
}

/// The mutations that make a state.
fn mutations_of(state: &State, label: impl Fn(GroupId) -> LabelId) -> Vec<Mutation> {
    let properties = |values: &Values| {
        Properties::new(values.iter().map(|(key, value)| (*key, Some(value.clone()))).collect())
    };
    let vertices = state.vertices.iter().map(|(vertex, values)| {
        let label = label(vertex.group());
        Mutation::InsertVertex { vertex: *vertex, label, properties: properties(values) }
    });
    let edges = state.edges.iter();
    let edges =
        edges.map(|(edge, values)| Mutation::InsertEdge { edge: *edge, properties: properties(values) });
    vertices.chain(edges).collect()
}

/// The bytes of a file.
fn encode(mutations: &[Mutation]) -> Vec<u8> {
    let bytes = payload::encode(mutations);
    [&crc32c::crc32c(&bytes).to_le_bytes()[..], &bytes].concat()
}

/// What a file says.
fn read(directory: &dyn Directory, number: u64) -> CheckpointResult<(Vec<Mutation>, u64)> {
    if number == 0 {
        return Ok((Vec::new(), 0));
    }
    let name = file_name(number);
    let corrupt = |problem: &str| CheckpointError::Corrupt {
        file: directory.path(&name),
        offset: 0,
        problem: problem.to_owned(),
    };
    let bytes = match directory.read_all(&name, FILE_BYTES_MAX) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(corrupt("the file is missing"));
        }
        bytes => bytes?,
    };
    let (crc, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| corrupt("a checksum expected"))?;
    if u32::from_le_bytes(*crc) != crc32c::crc32c(rest) {
        return Err(corrupt("another checksum expected"));
    }
    let mutations = payload::decode(Timestamp::ZERO, rest).map_err(|error| corrupt(&error.to_string()))?;
    Ok((mutations, bytes.len() as u64))
}

/// A file, read before its checkpoint may be gone.
struct Pinned(Option<(String, Vec<u8>)>);

impl PinnedFiles for Pinned {
    fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64)
    }

    fn copy(
        &self,
        target: &dyn Directory,
        progress: &mut dyn FnMut(u64) -> CheckpointResult<()>,
    ) -> CheckpointResult<u64> {
        if let Some((name, bytes)) = &self.0 {
            target.write_all_new(name, bytes)?;
            progress(bytes.len() as u64)?;
        }
        Ok(self.bytes())
    }
}

/// A load before it is installed.
pub struct NaiveLoad {
    mutations: Vec<Mutation>,
    groups: BTreeMap<GroupId, LabelId>,
    /// Its groups and the ends of its edges, with nothing else of them.
    staged: NaiveEngine,
    state: State,
}

impl NaiveEngine {
    fn files(&self) -> &NaiveFiles {
        self.files.as_ref().expect("a store that is checkpointed was opened")
    }

    fn label(&self, group: GroupId) -> LabelId {
        self.history.read().groups[group.0 as usize].expect("a vertex has a group")
    }
}

fn check_healthy(latch: &LatchState, sources: &CheckpointSources<'_>) -> CheckpointResult<()> {
    match &latch.poisoned {
        Some(cause) => Err(CheckpointError::Poisoned { cause: cause.clone() }),
        None => Ok(sources.log.check_poison()?),
    }
}

impl NaiveFiles {
    fn checkpoint(
        &self,
        engine: &NaiveEngine,
        sources: &CheckpointSources<'_>,
        number: u64,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        let mut tell = || match progress(CheckpointProgress::default()) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CheckpointError::Cancelled),
        };
        let (through, state, catalogue, notes) = {
            let latch = self.timeline.latch();
            check_healthy(&latch, sources)?;
            let state = Arc::clone(&engine.history.read().newest);
            let through = self.timeline.published();
            (through, state, (sources.catalogue)(), (sources.notes)(through))
        };
        sources.log.wait_durable(through.0)?;
        tell()?;
        let bytes = encode(&mutations_of(&state, |group| engine.label(group)));
        self.directory.write_all_new(&file_name(number), &bytes)?;
        self.directory.sync_directory()?;
        tell()?;
        sources.log.make_end_file()?;
        let manifest = Manifest {
            covered_through: through,
            need: through,
            next_file: number + 1,
            catalogue: Catalogue::clone(&catalogue),
            groups: (sources.groups)(),
            notes,
            has_end_file: true,
            ..Manifest::empty(engine.keeps.name(), section(number))
        };
        manifest.write(&*self.directory, || check_healthy(&self.timeline.latch(), sources))?;
        let mut made = CheckpointOutcome::new(through, through);
        made.bytes_written = bytes.len() as u64;
        Ok(made)
    }
}

impl DurableEngine for NaiveEngine {
    type Load = NaiveLoad;

    const NEW: &'static str = "naive";

    fn opens(engine: &str) -> bool {
        Keeps::of_name(engine).is_some()
    }

    fn empty_section(_: &str) -> Vec<u8> {
        section(0)
    }

    fn is_file(name: &str) -> bool {
        file_number(name).is_some()
    }

    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>> {
        let OpenContext { directory, manifest, timeline, .. } = *opening;
        let number = named(&**directory, manifest)?;
        directory.sync_directory()?;
        remove_if_there(&**directory, NEW_FILE_NAME)?;
        for name in directory.list()? {
            if file_number(&name).is_some_and(|other| other != number) {
                directory.remove(&name)?;
            }
        }
        let (mutations, bytes_count) = read(&**directory, number)?;
        let (directory, timeline) = (Arc::clone(directory), Arc::clone(timeline));
        let mut engine = Self::default();
        engine.keeps = Keeps::of_name(&manifest.engine).unwrap_or_default();
        engine.files = Some(NaiveFiles { directory, timeline, present: Mutex::new(number) });
        manifest.groups.iter().for_each(|group| engine.open_group(group.id, group.label));
        if !mutations.is_empty() {
            engine.install(manifest.covered_through, mutations);
        }
        Ok(OpenedEngine { engine, bytes_count })
    }

    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        let files = self.files();
        let mut present = files.present.lock();
        let before = *present;
        *present += 1;
        // A number is used once, whatever became of its file.
        let mut made = files.checkpoint(self, sources, *present, progress)?;
        let removed = remove_if_there(&*files.directory, &file_name(before));
        made.left_over = removed.err().map(CheckpointError::from);
        made.log_bytes_freed = sources.log.prune(made.covered_through.0)?;
        Ok(made)
    }

    fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        let _present = self.files().present.lock();
        work()
    }

    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>> {
        let directory = &*self.files().directory;
        let number = named(directory, manifest)?;
        read(directory, number)?;
        let name = file_name(number);
        let whole = |name: String| Ok((name.clone(), directory.read_all(&name, FILE_BYTES_MAX)?));
        let file = (number > 0).then(|| whole(name)).transpose();
        Ok(Box::new(Pinned(file.map_err(|error: CheckpointError| error)?)))
    }

    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<Self::Load> {
        let LoadPlan { load, numbers, .. } = plan;
        let (staged, mut state) = (NaiveEngine::default(), State::default());
        let (mut mutations, mut groups) = (Vec::new(), BTreeMap::new());
        let properties = |names: &[(String, _)], column: &dyn Fn(usize) -> Option<PackedColumn>, row| {
            let keys = names.iter().enumerate();
            let values = keys.filter_map(|(at, (name, _))| {
                Some((numbers.keys[name], Some(column(at).and_then(|column| column.get(row))?)))
            });
            Properties::new(values.collect())
        };
        for (number, table) in load.vertices.iter().enumerate() {
            let label = numbers.tables[number].0;
            for row in (0..table.rows as u32).step_by(4096) {
                groups.insert(numbers.vertex(number, row).group(), label);
            }
            for vertex in &table.existing {
                staged.open_group(vertex.group(), label);
            }
            let mut next = 0;
            table.blocks.for_each(&mut |block| {
                for row in 0..block.rows {
                    let properties = properties(&table.properties, &|at| block.column(at).cloned(), row);
                    let vertex = numbers.vertex(number, next);
                    state.vertices.insert(vertex, fresh(&properties));
                    mutations.push(Mutation::InsertVertex { vertex, label, properties });
                    next += 1;
                }
                Ok(())
            })?;
        }
        groups.iter().for_each(|(group, label)| staged.open_group(*group, *label));
        let present = Arc::clone(&self.history.read().newest);
        for (table, edge_type) in load.edges.iter().zip(&numbers.types) {
            let end = |of: usize, end| match load.vertices[of].end(end) {
                Some(EdgeEnd::New(row)) => numbers.vertex(of, row),
                Some(EdgeEnd::Existing(vertex)) => vertex,
                None => panic!("the shape was checked"),
            };
            table.blocks.for_each(&mut |block| {
                for (row, (source, target)) in block.sources.iter().zip(&block.targets).enumerate() {
                    let (source, target) =
                        (end(table.source_label, *source), end(table.target_label, *target));
                    let edge =
                        |discriminator| EdgeId { source, edge_type: *edge_type, target, discriminator };
                    let is_free =
                        |edge: &EdgeId| !present.edges.contains_key(edge) && !state.edges.contains_key(edge);
                    let edge = (0..=u16::MAX).map(edge).find(is_free).expect("few parallel edges in tests");
                    if edge.discriminator > 0 && numbers.simple.contains(edge_type) {
                        let name = &table.edge_type;
                        return Err(Error::invalid(format!("edge type `{name}` is simple: a second edge")));
                    }
                    let properties = properties(&table.properties, &|at| block.column(at).cloned(), row);
                    state.edges.insert(edge, fresh(&properties));
                    mutations.push(Mutation::InsertEdge { edge, properties });
                }
                progress(block.rows() as u64)
            })?;
        }
        Ok(NaiveLoad { mutations, groups, staged, state })
    }

    fn view_load<'a>(&'a self, load: &'a Self::Load, timestamp: Timestamp) -> Self::View<'a> {
        NaiveView { engine: &load.staged, state: &load.state, timestamp }
    }

    fn install_load(&self, timestamp: Timestamp, load: &Self::Load) -> Arc<State> {
        load.groups.iter().for_each(|(group, label)| self.open_group(*group, *label));
        self.install(timestamp, load.mutations.clone())
    }

    fn run_background(&self) {}

    fn step(&self, _: EngineStep) {}

    fn close(&self) {}

    fn check_files(
        directory: &dyn Directory,
        manifest: &Manifest,
        report: &mut Report,
        _: &mut CheckProgress<'_>,
    ) -> Result<()> {
        match named(directory, manifest).and_then(|number| read(directory, number)) {
            Ok((_, bytes)) => {
                report.bytes_count += bytes;
                Ok(())
            }
            Err(error) => report.take_in(error),
        }
    }

    fn write_graph<V: View>(
        _: &str,
        source: &mut GraphSource<'_, V>,
        directory: &Arc<dyn Directory>,
    ) -> Result<(Manifest, u64)> {
        let mut mutations = Vec::new();
        for group in source.groups() {
            let label = group.label;
            source.vertices(group, &mut |vertex, properties| {
                mutations.push(Mutation::InsertVertex { vertex, label, properties });
                Ok(())
            })?;
        }
        for StoredGroup { id, .. } in source.groups() {
            for edge_type in source.edge_types(*id, Direction::Out)? {
                source.edges(*id, edge_type, Direction::Out, &mut |listed, properties| {
                    let ListedEdge { vertex: source, neighbor: target, discriminator } = listed;
                    let edge = EdgeId { source, edge_type, target, discriminator };
                    mutations.push(Mutation::InsertEdge { edge, properties });
                    Ok(())
                })?;
            }
            for edge_type in source.edge_types(*id, Direction::In)? {
                // Its own in lists follow from the others.
                source.edges(*id, edge_type, Direction::In, &mut |_, _| Ok(()))?;
            }
        }
        let bytes = encode(&mutations);
        directory.write_all_new(&file_name(1), &bytes)?;
        directory.sync_directory()?;
        let manifest = Manifest {
            covered_through: source.timestamp(),
            need: source.timestamp(),
            next_file: 2,
            catalogue: source.catalogue().clone(),
            groups: source.groups().to_vec(),
            has_end_file: true,
            ..Manifest::empty(Self::NEW, section(1))
        };
        Ok((manifest, bytes.len() as u64))
    }

    fn salvage(
        mut source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        let stored =
            named(source.directory, &source.manifest).and_then(|number| read(source.directory, number));
        let stored = stored.map(|(mutations, _)| mutations).unwrap_or_else(|error| {
            source.losses.push(Loss::new(LossKind::Vertices, error.to_string()));
            Vec::new()
        });
        let mut catalogue = source.manifest.catalogue.clone();
        let mut groups: BTreeMap<GroupId, StoredGroup> =
            source.manifest.groups.iter().map(|group| (group.id, *group)).collect();
        let mut changes = stored;
        let mut known = KnownNames::new(&source.manifest);
        let log = source.read_log(
            &mut |timestamp, bytes| {
                let commit = payload::decode(timestamp, bytes).map_err(|error| error.to_string())?;
                for mutation in &commit {
                    match mutation {
                        Mutation::Schema(change) => {
                            catalogue.replay(change).map_err(|error| error.to_string())?;
                        }
                        Mutation::Note(change) => drop(known.notes.apply(change)),
                        _ => {}
                    }
                }
                changes.extend(commit);
                Ok(())
            },
            progress,
        )?;
        source.list_unsaved(&known);
        let mut state = State::default();
        for mutation in &changes {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                let (id, label) = (vertex.group(), *label);
                let group = groups.entry(id).or_insert(StoredGroup { id, label, rows: 0 });
                group.rows = group.rows.max(vertex.row() + 1);
            }
            state.apply_if_known(mutation);
        }
        state.drop_loose_edges();
        let database = target.begin()?;
        let bytes = encode(&mutations_of(&state, |group| groups[&group].label));
        database.directory().write_all_new(&file_name(1), &bytes)?;
        let at = Timestamp(log.through_ts).max(source.manifest.need);
        let manifest = Manifest {
            covered_through: at,
            need: at,
            next_file: 2,
            catalogue,
            groups: groups.into_values().collect(),
            has_end_file: true,
            ..Manifest::empty(Self::NEW, section(1))
        };
        let log_bytes = database.finish(&manifest)?;
        let mut salvaged = Salvaged::new(Timestamp(log.through_ts), source.losses, log.left);
        salvaged.vertices_count = state.vertices.len() as u64;
        salvaged.edges_count = state.edges.len() as u64;
        salvaged.bytes_written = bytes.len() as u64 + log_bytes;
        Ok(salvaged)
    }
}

impl State {
    /// Applies a mutation as far as what it changes is there.
    fn apply_if_known(&mut self, mutation: &Mutation) {
        let is_known = match mutation {
            Mutation::InsertVertex { .. }
            | Mutation::Schema(_)
            | Mutation::LeaveIndex(_)
            | Mutation::Note(_) => true,
            Mutation::DeleteVertex { vertex } | Mutation::SetVertexProperties { vertex, .. } => {
                self.vertices.contains_key(vertex)
            }
            Mutation::InsertEdge { edge, .. } => {
                [edge.source, edge.target].iter().all(|end: &VertexId| self.vertices.contains_key(end))
            }
            Mutation::ReplaceEdge { edge, .. }
            | Mutation::DeleteEdge { edge }
            | Mutation::SetEdgeProperties { edge, .. } => self.edges.contains_key(edge),
        };
        if is_known {
            self.apply(mutation);
        }
    }

    fn drop_loose_edges(&mut self) {
        let Self { vertices, edges } = self;
        let has = |edge: &EdgeId, side| vertices.contains_key(&end(edge, side));
        edges.retain(|edge, _| has(edge, Direction::Out) && has(edge, Direction::In));
    }
}
