//! Salvage: a small database with one damaged file. What is saved was there at the commit that the report
//! names, unless checksums were mended over the damage; and not a byte of the damaged files changes.
//!
//! Input: a byte of choices: what happens to the file, and which one; then edits, each a place (3 bytes) and
//! what is combined with the byte there.

use crate::target::{Memory, Target};
use crate::targets::log;
use crc32c::crc32c;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore, salvage};
use evergraph_storage::view::{PointReads, View};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

// The database itself, which the first input makes, the new one, and windows of 1 MiB for each log.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 64 << 20, per_byte: 64 } };

/// The choice to give the damaged file the checksums that it should have.
const MENDS: u8 = 1;
/// The choice to cut the file off at the place of the first edit.
const CUTS: u8 = 2;
/// Where a log file's batches begin, and bodies.
const PAGE_BYTES: usize = 4096;
const BLOCK_BYTES: usize = 64 << 10;
const END_BYTES: usize = 32;

type Properties = Vec<(KeyId, Value)>;

/// Vertices and edges with their properties.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    vertices: BTreeMap<VertexId, Properties>,
    edges: BTreeMap<(VertexId, u16, VertexId, u16), Properties>,
}

/// A sound database, and its state at each commit since its checkpoint.
struct Sound {
    files: Vec<(String, Vec<u8>)>,
    states: BTreeMap<u64, State>,
}

fn sound() -> &'static Sound {
    static SOUND: OnceLock<Sound> = OnceLock::new();
    SOUND.get_or_init(|| {
        let directory = MemoryDirectory::new("db");
        let open = open(&directory).expect("an empty directory becomes a database");
        let mut states = BTreeMap::new();
        let mut last = None;
        for round in 0..8 {
            last = Some(commit(&open, round, last));
            if round == 3 {
                open.checkpoint(&mut |_| ControlFlow::Continue(())).expect("memory doesn't fail");
            }
            if round >= 3 {
                states.insert(open.store().timeline().published().0, state(&open));
            }
        }
        open.close().expect("memory doesn't fail");
        let read = |name: String| (name.clone(), directory.read_all(&name, 1 << 30).expect("it is listed"));
        let names = directory.list().expect("memory doesn't fail").into_iter();
        let used = names.map(read).filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0));
        Sound { files: used.collect(), states }
    })
}

fn open(directory: &MemoryDirectory) -> evergraph_graph::error::Result<OpenStore<MemoryEngine>> {
    let environment = Environment::simulated(7);
    let options = OpenOptions { environment, log_file_bytes: 64 << 10, ..OpenOptions::default() };
    OpenStore::<MemoryEngine>::open(Arc::new(directory.clone()), &options)
}

/// Vertices and edges come, change and go; the first vertices are long, so that bodies take many blocks.
fn commit(open: &OpenStore<MemoryEngine>, round: i64, before: Option<EdgeId>) -> EdgeId {
    let done = open.store().transact(|tx| {
        let (label, edge_type) = (tx.label("V")?, tx.edge_type("E")?);
        let (n, s) = (tx.key("n")?, tx.key("s")?);
        let text = "long".repeat(if round < 3 { 10_000 } else { 2 });
        let one = tx.add_vertex(label, &[(n, Value::I64(round)), (s, Value::from(text))])?;
        let other = tx.add_vertex(label, &[(n, Value::I64(-round))])?;
        let edge = tx.add_edge(one, edge_type, other, &[(n, Value::I64(round))])?;
        if let Some(before) = before {
            tx.add_edge(other, edge_type, before.source, &[])?;
            tx.set_vertex_property(before.source, n, Some(Value::I64(round * 100)))?;
            tx.set_edge_property(before, n, Some(Value::I64(round * 100)))?;
        }
        Ok(edge)
    });
    done.expect("nobody else writes")
}

/// Why reads of a memory engine do not fail.
const IN_MEMORY: &str = "what is in memory is read";

fn state(open: &OpenStore<MemoryEngine>) -> State {
    let store = open.store();
    let view = store.engine().view(&(), store.timeline().published());
    let mut state = State::default();
    let groups = (0..view.group_count())
        .map(GroupId)
        .filter(|group| view.group_label(*group).expect(IN_MEMORY).is_some());
    for group in groups {
        let live = view.live(group).expect(IN_MEMORY);
        let rows = (0..4096u16).filter(|row| live[usize::from(row / 64)] >> (row % 64) & 1 == 1);
        for vertex in rows.map(|row| VertexId::new(group, row)) {
            let properties = view.vertex_property_map(vertex).expect(IN_MEMORY);
            state.vertices.insert(vertex, properties);
            for edge_type in view.edge_types(group, Direction::Out).expect(IN_MEMORY) {
                let mut list = Vec::new();
                view.all_neighbors(vertex, edge_type, Direction::Out, &mut list).expect(IN_MEMORY);
                for (target, discriminator) in list {
                    let edge = EdgeId { source: vertex, edge_type, target, discriminator };
                    let properties = view.edge_property_map(edge).expect(IN_MEMORY);
                    state.edges.insert((vertex, edge_type.0, target, discriminator), properties);
                }
            }
        }
    }
    state
}

/// For each file: nothing happens to it, it is flipped in some places with and without mending, it is cut.
fn seeds() -> Vec<Vec<u8>> {
    let files = &sound().files;
    let of_file = |(number, (_, bytes)): (usize, &(String, Vec<u8>))| {
        let file = (number as u8) << 2;
        let written = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        let edit = |at: usize, value: u8| [&(at as u32).to_le_bytes()[..3], &[value]].concat();
        let places = [0, 20, 70, 4100, 4120, 5000, written / 2, written * 3 / 4, written];
        let mut seeds = vec![vec![file]];
        for at in places {
            seeds.extend([0, MENDS].map(|choice| [vec![file | choice], edit(at, 4)].concat()));
        }
        seeds.push([vec![file | CUTS], edit(written / 2, 0)].concat());
        seeds
    };
    files.iter().enumerate().flat_map(of_file).collect()
}

fn promise(input: &[u8]) {
    let Some((choice, edits)) = input.split_first() else { return };
    let sound = sound();
    let damaged = usize::from(choice >> 2) % sound.files.len();
    let directory = MemoryDirectory::new("db");
    let mut before = Vec::new();
    for (number, (name, bytes)) in sound.files.iter().enumerate() {
        let mut bytes = bytes.clone();
        if number == damaged {
            damage(name, &mut bytes, *choice, edits);
        }
        directory.write_all_new(name, &bytes).expect("a new name");
        before.push((name, bytes));
    }
    let target = MemoryDirectory::new("saved");
    let new: Arc<dyn Directory> = Arc::new(target.clone());
    let made = salvage::<MemoryEngine>(&directory, &new, &mut |_, _, _| ControlFlow::Continue(()));
    for (name, bytes) in before {
        assert!(directory.read_all(name, 1 << 30).expect("it was there") == bytes, "{name} was changed");
    }
    let made = match made {
        Ok(made) => made,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return assert!(
                target.list().expect("memory doesn't fail").is_empty(),
                "{error}: something stays"
            );
        }
    };
    if choice & MENDS != 0 {
        return;
    }
    let saved = state(&open(&target).expect("what is saved opens"));
    if let Some(known) = sound.states.get(&made.through.0) {
        let is_part = |saved: &Properties, known: Option<&Properties>| {
            known.is_some_and(|known| saved.iter().all(|value| known.contains(value)))
        };
        for (vertex, properties) in &saved.vertices {
            assert!(is_part(properties, known.vertices.get(vertex)), "{vertex}: {properties:?}");
        }
        for (edge, properties) in &saved.edges {
            assert!(is_part(properties, known.edges.get(edge)), "{edge:?}: {properties:?}");
        }
        assert!(&saved == known || !made.is_complete(), "something is missing, and nothing is listed");
    }
}

/// Edits a file, cuts it or mends it, as `choice` says.
fn damage(name: &str, bytes: &mut Vec<u8>, choice: u8, edits: &[u8]) {
    let edits =
        edits.chunks_exact(4).map(|edit| (u32::from_le_bytes([edit[0], edit[1], edit[2], 0]), edit[3]));
    for (nth, (place, value)) in edits.enumerate() {
        let place = place as usize % bytes.len().max(1);
        match bytes.get_mut(place) {
            Some(_) if nth == 0 && choice & CUTS != 0 => bytes.truncate(place),
            Some(byte) => *byte ^= value,
            None => return,
        }
    }
    if choice & MENDS != 0 && name.starts_with("log-") && bytes.len() > PAGE_BYTES {
        log::mend(bytes);
    } else if choice & MENDS != 0 && name.starts_with("bodies-") {
        mend_blocks(bytes);
    }
}

/// Gives the blocks of bodies the checksums of what is in them; the length says where the bodies end.
fn mend_blocks(bytes: &mut [u8]) {
    let Some(rest) = bytes.len().checked_sub(END_BYTES) else { return };
    let Some(bodies_end) = rest.checked_sub(4 * rest.div_ceil(BLOCK_BYTES + 4)) else { return };
    let (bodies, list) = bytes.split_at_mut(bodies_end);
    for (block, place) in bodies.chunks(BLOCK_BYTES).zip(list.chunks_exact_mut(4)) {
        place.copy_from_slice(&crc32c(block).to_le_bytes());
    }
}
