//! Salvage: whatever is damaged, nothing that is saved is wrong, what isn't saved is listed, and the damaged
//! files stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_graph::bytes::Reader;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_memory_engine::checkpoint::body_file::BodyFile;
use evergraph_memory_engine::checkpoint::segment_list::SegmentList;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_memory_engine::segment::version::Stored;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::OpenStore;
use evergraph_storage::salvage::loss::{IdRange, Loss, LossKind};
use evergraph_storage::salvage::salvaged::Salvaged;

use crate::backup::{graph, open};
use crate::support::Graph;

const BLOCK_BYTES: u64 = 64 << 10;

/// A database that was closed, and its states from its checkpoint on.
pub struct Fixture {
    pub directory: MemoryDirectory,
    states: BTreeMap<u64, Graph>,
    catalogue: Arc<Catalogue>,
    list: SegmentList,
}

fn column(rows: usize, value: impl Fn(usize) -> Value) -> Option<PackedColumn> {
    let values: Vec<Value> = (0..rows).map(value).collect();
    PackedColumn::from_values(values.iter().map(Some))
}

/// How large a database is: one whose bodies take many blocks and have hubs, or one that is soon read.
#[derive(Clone, Copy)]
struct Scale {
    many: u32,
    few: u32,
    hub: u32,
}

const LARGE: Scale = Scale { many: 6000, few: 2000, hub: 17_000 };
const SMALL: Scale = Scale { many: 300, few: 100, hub: 60 };

/// Two labels, properties of both kinds, parallel edges, long lists on both sides.
fn load(Scale { many, few, hub }: Scale) -> Load {
    let property = |name: &str, value_type| (name.to_owned(), value_type);
    let rows = many as usize;
    let block = VertexBlock {
        rows,
        columns: vec![
            column(rows, |row| Value::I64(row as i64)),
            column(rows, |row| Value::from(format!("text {row}"))),
        ],
    };
    let properties = vec![property("n", ValueType::I64), property("s", ValueType::String)];
    let table = VertexTable::new("Many", properties, vec![block]).unique_key("n");
    let ends = (0..many).map(|at| (at, at * 7 % many));
    let from_hub = (0..hub).map(|at| (5, at % many));
    let mut weighted = EdgeBlock::bare(ends.chain(from_hub));
    weighted.columns = vec![column(weighted.rows(), |row| Value::F64(row as f64))];
    let weighted = EdgeTable::new("E", 0, 0, vec![property("w", ValueType::F64)], vec![weighted]);
    let ends = (0..hub + many).map(|at| (at % many, if at < hub { 7 } else { at % few }));
    let bare = EdgeTable::new("F", 0, 1, Vec::new(), vec![EdgeBlock::bare(ends)]);
    let few = VertexTable::new("Few", Vec::new(), vec![VertexBlock::bare(few as usize)]);
    Load { vertices: vec![table, few], edges: vec![weighted, bare] }
}

/// Some of everything that a commit may do; `round` is at most 20.
fn commit(open: &OpenStore<MemoryEngine>, Scale { many: count, .. }: Scale, round: u32) {
    let done = open.store().transact(|tx| {
        let (many, few) = (tx.label("Many")?, tx.label("Few")?);
        let (weighted, bare) = (tx.edge_type("E")?, tx.edge_type("F")?);
        let (n, s, w) = (tx.key("n")?, tx.key("s")?, tx.key("w")?);
        let number = Value::I64(100_000 + i64::from(round));
        let one = tx.add_vertex(many, &[(n, number), (s, Value::from("new"))])?;
        let other = tx.add_vertex(few, &[(s, Value::from("few"))])?;
        let old = VertexId(20 + round * (count / 30));
        tx.add_edge(one, bare, other, &[])?;
        tx.add_edge(old, weighted, one, &[(w, Value::F64(0.5))])?;
        tx.add_edge(VertexId(5), weighted, one, &[])?;
        tx.set_vertex_property(VertexId(old.0 + 1), s, Some(Value::from(format!("round {round}"))))?;
        tx.set_vertex_property(VertexId(old.0 + 2), s, None)?;
        let edge = |source: u32| EdgeId {
            source: VertexId(source),
            edge_type: weighted,
            target: VertexId(source * 7 % count),
            discriminator: 0,
        };
        tx.set_edge_property(edge(old.0), w, Some(Value::F64(-1.0)))?;
        tx.delete_edge(edge(old.0 + 3))?;
        if round.is_multiple_of(3) {
            tx.delete_vertex(VertexId(old.0 + 4))?;
        }
        Ok(())
    });
    done.unwrap();
}

pub fn large() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| fixture(LARGE))
}

pub fn small() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| fixture(SMALL))
}

fn fixture(scale: Scale) -> Fixture {
    let directory = MemoryDirectory::new("db");
    let open = open(&directory).unwrap();
    let checkpoint = || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    open.store().load(&load(scale), &mut |_| Ok(()), &mut || checkpoint()).unwrap();
    (0..5).for_each(|round| commit(&open, scale, round));
    checkpoint().unwrap();
    let mut states = BTreeMap::new();
    for round in 5..12 {
        states.insert(open.store().timeline().published().0, graph(&open));
        commit(&open, scale, round);
    }
    states.insert(open.store().timeline().published().0, graph(&open));
    let catalogue = open.store().catalogue();
    open.close().unwrap();
    let list = segment_list(&directory);
    Fixture { directory, states, catalogue, list }
}

fn segment_list(directory: &MemoryDirectory) -> SegmentList {
    let manifest = Manifest::read(directory, MemoryEngine::opens).unwrap();
    SegmentList::of(directory, &manifest).unwrap()
}

fn contents(directory: &MemoryDirectory) -> Vec<(String, Vec<u8>)> {
    let names = directory.list().unwrap().into_iter();
    names.map(|name| (name.clone(), directory.read_all(&name, 1 << 30).unwrap())).collect()
}

pub fn salvage(directory: &MemoryDirectory) -> Result<(Salvaged, MemoryDirectory)> {
    let before = contents(directory);
    let target = MemoryDirectory::new("saved");
    let new: Arc<dyn Directory> = Arc::new(target.clone());
    let made = evergraph_storage::open::salvage::<MemoryEngine>(directory, &new, &mut |_, _, _| {
        ControlFlow::Continue(())
    });
    assert!(contents(directory) == before, "the damaged database was changed");
    if made.is_err() {
        assert!(target.list().unwrap().is_empty());
    }
    Ok((made?, target.power_cut()))
}

/// What happened to the files that are compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Damage {
    /// Every loss that is listed has something missing.
    AtOnePlace,
    /// What two damaged places could have in common is listed, and may be nothing: nobody knows.
    Anywhere,
}

fn is_in(range: IdRange, vertex: u32) -> bool {
    (range.0.0..=range.1.0).contains(&vertex)
}

impl Fixture {
    fn covers_vertex(&self, loss: &Loss, vertex: u32) -> bool {
        loss.kind == LossKind::Vertices && is_in(loss.vertices.unwrap(), vertex)
    }

    fn covers_edge(&self, loss: &Loss, edge: (u32, u16, u32, u16)) -> bool {
        matches!(loss.kind, LossKind::Edges | LossKind::LooseEdges)
            && self.is_of_type(loss, edge.1)
            && is_in(loss.vertices.unwrap(), edge.0)
            && loss.others.iter().any(|others| is_in(*others, edge.2))
    }

    fn is_of_type(&self, loss: &Loss, edge_type: u16) -> bool {
        loss.edge_type.as_deref() == Some(&*self.catalogue.edge_type_name(TypeId(edge_type)))
    }

    fn is_of_key(&self, loss: &Loss, key: u16) -> bool {
        loss.property.as_deref().is_none_or(|property| *property == *self.catalogue.key_name(KeyId(key)))
    }

    /// Of items as they were and as they were saved: how many lack a value that `loss` speaks of, and how many
    /// could, since they have none.
    fn count<'g>(
        &self,
        loss: &Loss,
        items: impl Iterator<Item = (&'g BTreeMap<u16, Value>, &'g BTreeMap<u16, Value>)>,
    ) -> (usize, usize) {
        let (mut missing, mut possible) = (0, 0);
        for (known, saved) in items {
            missing +=
                usize::from(known.keys().any(|key| self.is_of_key(loss, *key) && !saved.contains_key(key)));
            let is_there = loss.property.is_some() && saved.keys().any(|key| self.is_of_key(loss, *key));
            possible += usize::from(!is_there);
        }
        (missing, possible)
    }

    /// Holds that what was saved is the model without what is listed, and that nothing is listed in vain.
    pub fn compare(&self, made: &Salvaged, saved: &Graph, damage: Damage) {
        let model = &self.states[&made.through.0];
        let covered = |what: String, covers: &dyn Fn(&Loss) -> bool| {
            assert!(made.losses.iter().any(covers), "{what} is missing and isn't listed: {:#?}", made.losses);
        };
        let values = |what: &str,
                      model: &BTreeMap<u16, Value>,
                      saved: &BTreeMap<u16, Value>,
                      covers: &dyn Fn(&Loss, u16) -> bool| {
            for (key, value) in saved {
                assert_eq!(model.get(key), Some(value), "property {key} of {what}");
            }
            for key in model.keys().filter(|key| !saved.contains_key(key)) {
                covered(format!("property {key} of {what}"), &|loss| covers(loss, *key));
            }
        };
        for (vertex, properties) in &saved.vertices {
            let known = model.vertices.get(vertex).unwrap_or_else(|| panic!("v{vertex} was made up"));
            values(&format!("v{vertex}"), known, properties, &|loss, key| {
                loss.kind == LossKind::VertexProperty
                    && self.is_of_key(loss, key)
                    && is_in(loss.vertices.unwrap(), *vertex)
            });
        }
        for (edge, properties) in &saved.edges {
            let known = model.edges.get(edge).unwrap_or_else(|| panic!("{edge:?} was made up"));
            values(&format!("{edge:?}"), known, properties, &|loss, key| {
                loss.kind == LossKind::EdgeProperty
                    && self.is_of_type(loss, edge.1)
                    && self.is_of_key(loss, key)
                    && is_in(loss.vertices.unwrap(), edge.0)
            });
        }
        let lost_vertices: BTreeSet<u32> =
            model.vertices.keys().filter(|vertex| !saved.vertices.contains_key(vertex)).copied().collect();
        let lost_edges: Vec<_> = model.edges.keys().filter(|edge| !saved.edges.contains_key(edge)).collect();
        for vertex in &lost_vertices {
            covered(format!("v{vertex}"), &|loss| self.covers_vertex(loss, *vertex));
        }
        for edge in &lost_edges {
            covered(format!("{edge:?}"), &|loss| self.covers_edge(loss, **edge));
        }
        for loss in made.losses.iter().filter(|loss| loss.is_missing()) {
            let in_range = |vertex: u32| is_in(loss.vertices.unwrap(), vertex);
            // How many things are missing, and how many that are there or not could be.
            let (count, possible) = match loss.kind {
                LossKind::Vertices => {
                    let (first, last) = loss.vertices.unwrap();
                    let lost = lost_vertices.iter().filter(|vertex| in_range(**vertex)).count();
                    let there = saved.vertices.range(first.0..=last.0).count();
                    (lost, (last.0 - first.0) as usize + 1 - there)
                }
                LossKind::VertexProperty => {
                    let there = saved.vertices.iter().filter(|(vertex, _)| in_range(**vertex));
                    let known = |vertex: &u32| &model.vertices[vertex];
                    self.count(loss, there.map(|(vertex, properties)| (known(vertex), properties)))
                }
                LossKind::EdgeProperty => {
                    let there = saved.edges.iter();
                    let there = there.filter(|(edge, _)| self.is_of_type(loss, edge.1) && in_range(edge.0));
                    self.count(loss, there.map(|(edge, properties)| (&model.edges[edge], properties)))
                }
                LossKind::Edges => {
                    (lost_edges.iter().filter(|edge| self.covers_edge(loss, ***edge)).count(), usize::MAX)
                }
                LossKind::LooseEdges => {
                    let loose = |edge: &&&_| self.covers_edge(loss, ***edge);
                    let ends = |edge: &&&(u32, u16, u32, u16)| {
                        lost_vertices.contains(&edge.0) || lost_vertices.contains(&edge.2)
                    };
                    (lost_edges.iter().filter(loose).filter(ends).count(), usize::MAX)
                }
                _ => continue,
            };
            let (count, possible) = (count as u64, possible as u64);
            let is_exact = damage == Damage::AtOnePlace;
            assert!(!is_exact || count > 0 || loss.count_max == Some(0), "nothing is missing for {loss:?}");
            // Of edges without a value some may go since their ends are lost elsewhere.
            let is_bound = !is_exact || loss.count_max.is_none_or(|max| max <= possible);
            assert!(is_bound, "at most {possible}: {loss:?}");
            // Ranges of a group's own lists hold its hubs, which are listed apart.
            let is_exact_range = loss.kind != LossKind::EdgeProperty;
            assert!(!is_exact_range || loss.count_max.is_none_or(|max| count <= max), "{count} of {loss:?}");
            let is_alone = made.losses.iter().all(|other| other.kind != LossKind::Edges);
            assert!(loss.count.is_none_or(|exact| !is_alone || count == exact), "{count} of {loss:?}");
        }
        assert_eq!(made.vertices_count, saved.vertices.len() as u64);
        assert_eq!(made.edges_count, saved.edges.len() as u64);
        let is_whole = Some(&made.through.0) == self.states.keys().next_back() && model == saved;
        assert!(is_whole || !made.is_complete(), "something is missing, and nothing is listed");
    }

    /// Salvages `directory`, a damaged copy, and compares.
    fn saves(&self, directory: &MemoryDirectory) -> (Salvaged, OpenStore<MemoryEngine>) {
        let (made, target) = salvage(directory).unwrap();
        let saved = open(&target).unwrap();
        assert!(saved.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
        self.compare(&made, &graph(&saved), Damage::AtOnePlace);
        (made, saved)
    }

    /// Where the body of a segment lies.
    fn place(&self, group: u32, subject: Option<(u16, Direction)>, hub: Option<u16>) -> Stored {
        let subject = subject.map(|(edge_type, side)| EdgeSubject::new(TypeId(edge_type), side));
        let id = SegmentId { group: evergraph_graph::id::GroupId(group), subject, hub };
        self.list.segments.iter().find(|segment| segment.0 == id).unwrap().1
    }
}

fn file_of(stored: Stored) -> String {
    format!("bodies-{:016x}", stored.file)
}

pub fn change(directory: &MemoryDirectory, name: &str, at: u64, length: u64, to: impl Fn(u8) -> u8) {
    let file = directory.open(name, OpenMode::ReadWrite).unwrap();
    let mut bytes = vec![0; length as usize];
    file.read_at(&mut bytes, at).unwrap();
    bytes.iter_mut().for_each(|byte| *byte = to(*byte));
    file.write_at(&bytes, at).unwrap();
}

fn kinds(made: &Salvaged) -> BTreeSet<LossKind> {
    made.losses.iter().map(|loss| loss.kind).collect()
}

#[test]
fn a_sound_database_is_salvaged_whole_and_goes_on() {
    let fixture = large();
    let (made, saved) = fixture.saves(&fixture.directory.power_cut());
    assert!(made.is_complete() && made.losses.is_empty() && made.mixed_through.is_none());
    assert_eq!(saved.store().catalogue(), fixture.catalogue);
    commit(&saved, LARGE, 12);
    assert!(saved.store().timeline().published() > made.through);
}

#[test]
fn lists_of_the_in_side_are_saved_without_properties() {
    let (_, target) = salvage(&small().directory).unwrap();
    let mut with_columns = BTreeMap::new();
    for (id, stored) in &segment_list(&target).segments {
        let Some(subject) = id.subject else { continue };
        let range = stored.offset..stored.offset + stored.length;
        let file = BodyFile::open(&target, stored.file).unwrap();
        let window = file.read(range.clone()).unwrap();
        let body = EdgeBody::take(&mut Reader::new(window.bytes(range))).unwrap();
        *with_columns.entry(subject.side() == Direction::In).or_insert(0) += body.columns_count();
    }
    assert_eq!(with_columns.into_iter().collect::<Vec<_>>(), [(false, 1), (true, 0)]);
}

#[test]
fn a_vertex_of_which_only_a_change_is_known_is_listed_as_missing() {
    let fixture = small();
    let image = fixture.directory.power_cut();
    break_body(&image, fixture.place(0, None, None));
    let (made, saved) = fixture.saves(&image);
    // The commits behind the checkpoint changed vertices of this group, and added none to it.
    assert!(graph(&saved).vertices.keys().all(|vertex| VertexId(*vertex).group().0 != 0));
    let loss = made.losses.iter().find(|loss| loss.kind == LossKind::Vertices).unwrap();
    assert_eq!(loss.count_max, Some(u64::from(SMALL.many)));
}

#[test]
fn every_damaged_block_of_bodies_costs_what_is_listed_and_nothing_else() {
    let fixture = large();
    let files = fixture.list.files();
    let (mut found, mut blocks) = (BTreeSet::new(), 0);
    for name in files.iter().map(|number| format!("bodies-{number:016x}")) {
        let length = fixture.directory.open(&name, OpenMode::Read).unwrap().len().unwrap();
        for at in
            (4500..length).step_by(BLOCK_BYTES as usize).chain([9, length - 50, length - 20, length - 3])
        {
            let image = fixture.directory.power_cut();
            change(&image, &name, at.min(length - 1), 1, |byte| byte ^ 1);
            found.extend(kinds(&fixture.saves(&image).0));
            blocks += 1;
        }
        let image = fixture.directory.power_cut();
        image.remove(&name).unwrap();
        found.extend(kinds(&fixture.saves(&image).0));
    }
    assert!(blocks > 12, "{blocks}");
    use LossKind::{EdgeProperty, Edges, LooseEdges, Nothing, VertexProperty, Vertices};
    let all = BTreeSet::from([Edges, EdgeProperty, LooseEdges, Nothing, VertexProperty, Vertices]);
    assert_eq!(found, all);
}

#[test]
fn every_damaged_page_of_the_log_costs_the_commits_from_there_on() {
    let fixture = small();
    let (first, last) = (*fixture.states.keys().next().unwrap(), *fixture.states.keys().next_back().unwrap());
    let name = fixture.directory.list().unwrap().into_iter().rfind(|name| name.starts_with("log-")).unwrap();
    let bytes = fixture.directory.read_all(&name, 1 << 30).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
    let mut throughs = BTreeSet::new();
    for at in (0..written).step_by(61) {
        let image = fixture.directory.power_cut();
        change(&image, &name, at, 1, |byte| byte ^ 0x40);
        let (made, _) = fixture.saves(&image);
        throughs.insert(made.through.0);
        let missing = made.losses.iter().find_map(|loss| loss.commits);
        assert_eq!(missing.is_some(), made.through.0 < last, "byte {at}: {:?}", made.losses);
        if let Some((from, _)) = missing {
            assert_eq!(from.0, made.through.0 + 1);
            assert!(made.left.count <= last - made.through.0, "{:?}", made.left);
        }
    }
    assert_eq!(throughs, (first..=last).collect(), "a commit after which nothing was damaged");
}

#[test]
fn a_log_that_was_cut_short_or_is_gone_is_told() {
    let fixture = small();
    let name = fixture.directory.list().unwrap().into_iter().rfind(|name| name.starts_with("log-")).unwrap();
    let bytes = fixture.directory.read_all(&name, 1 << 30).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
    for length in (0..written).step_by(1531) {
        let image = fixture.directory.power_cut();
        image.open(&name, OpenMode::ReadWrite).unwrap().set_len(length).unwrap();
        assert!(!fixture.saves(&image).0.is_complete(), "{length}");
    }
    let image = fixture.directory.power_cut();
    for name in image.list().unwrap().iter().filter(|name| name.starts_with("log-")) {
        image.remove(name).unwrap();
    }
    let (made, _) = fixture.saves(&image);
    assert_eq!(kinds(&made), BTreeSet::from([LossKind::Commits]));
}

#[test]
fn a_side_that_is_lost_comes_back_from_the_other_and_properties_dont() {
    let fixture = large();
    let all = fixture.states.values().next_back().unwrap();
    for side in [Direction::Out, Direction::In] {
        // One group's lists of type F, which has no properties: a side of nothing but hubs and small lists.
        let group = if side == Direction::Out { 1 } else { 2 };
        let place = fixture.place(group, Some((1, side)), None);
        let image = fixture.directory.power_cut();
        // The head alone, its block made to verify: nobody else lies in it.
        break_body(&image, place);
        let (made, saved) = fixture.saves(&image);
        assert!(made.is_complete(), "{side:?}: {:#?}", made.losses);
        assert!(graph(&saved) == *all);
    }
    let image = fixture.directory.power_cut();
    break_body(&image, fixture.place(0, Some((0, Direction::Out)), Some(5)));
    let (made, saved) = fixture.saves(&image);
    let missing: Vec<&Loss> = made.losses.iter().filter(|loss| loss.is_missing()).collect();
    assert_eq!(missing.len(), 1, "{missing:#?}");
    assert_eq!(
        (missing[0].kind, missing[0].vertices),
        (LossKind::EdgeProperty, Some((VertexId(5), VertexId(5))))
    );
    assert_eq!(graph(&saved).edges.len(), all.edges.len());
}

/// Makes the body at `place` one that nobody can read, and gives its block the checksum for that.
fn break_body(directory: &MemoryDirectory, place: Stored) {
    let name = file_of(place);
    change(directory, &name, place.offset, 1, |_| 77);
    let bytes = directory.read_all(&name, 1 << 30).unwrap();
    let end = bytes.len() - 32;
    let bodies_end = u64::from_le_bytes(bytes[end + 8..end + 16].try_into().unwrap()) as usize;
    let block = place.offset / BLOCK_BYTES;
    let from = (block * BLOCK_BYTES) as usize;
    let crc = crc32c::crc32c(&bytes[from..(from + BLOCK_BYTES as usize).min(bodies_end)]);
    let file = directory.open(&name, OpenMode::ReadWrite).unwrap();
    file.write_at(&crc.to_le_bytes(), bodies_end as u64 + 4 * block).unwrap();
}

#[test]
fn without_a_manifest_the_log_alone_serves_if_it_goes_back_to_the_first_commit() {
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    let commit = |number: i64| {
        let made = store.store().transact(|tx| {
            let (label, edge_type, key) = (tx.label("V")?, tx.edge_type("E")?, tx.key("n")?);
            let one = tx.add_vertex(label, &[(key, Value::I64(number))])?;
            tx.add_edge(one, edge_type, one, &[])
        });
        made.unwrap();
    };
    (0..20).for_each(commit);
    store.store().log().wait_durable(20).unwrap();
    let image = directory.power_cut();
    store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    for image in [image, directory.power_cut()] {
        for gone in [true, false] {
            let image = image.power_cut();
            match gone {
                true => image.remove("manifest").unwrap(),
                false => change(&image, "manifest", 66, 1, |byte| byte ^ 1),
            }
            let Ok((made, target)) = salvage(&image) else { panic!("the log holds everything") };
            assert!(made.is_complete() && made.losses.len() == 1, "{:?}", made.losses);
            assert_eq!(graph(&open(&target).unwrap()), graph(&store));
        }
    }
    let began_with_a_load = small().directory.power_cut();
    began_with_a_load.remove("manifest").unwrap();
    let (made, _) = salvage(&began_with_a_load).unwrap();
    assert_eq!((made.through.0, made.vertices_count), (1, 0));
    let of_kind = |kind| made.losses.iter().find(|loss| loss.kind == kind).unwrap().commits.unwrap().0.0;
    assert_eq!((of_kind(LossKind::Load), of_kind(LossKind::Commits)), (1, 2));
    assert_eq!(made.left.last_ts, *small().states.keys().next_back().unwrap());
    let nameless = began_with_a_load;
    for name in nameless.list().unwrap().iter().filter(|name| name.starts_with("log-")) {
        nameless.remove(name).unwrap();
    }
    let error = salvage(&nameless).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("the names of labels, types and properties are lost"), "{error}");
    let empty = MemoryDirectory::new("empty");
    assert_eq!(salvage(&empty).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_log_that_ends_before_the_bodies_gives_a_sound_graph_of_values_that_there_were() {
    const SCALE: Scale = Scale { many: 6000, ..SMALL };
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    store
        .store()
        .load(&load(SCALE), &mut |_| Ok(()), &mut || {
            store.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
        })
        .unwrap();
    (0..3).for_each(|round| commit(&store, SCALE, round));
    let first = graph(&store);
    let swap = |from: u32, to: u32| {
        let swapped = store.store().transact(|tx| {
            let n = tx.key("n")?;
            tx.set_vertex_property(VertexId(from), n, None)?;
            tx.set_vertex_property(VertexId(to), n, Some(Value::I64(i64::from(from))))
        });
        swapped.unwrap();
    };
    let mut round = 3;
    store
        .checkpoint(&mut |_| {
            // Groups that come later are stored with commits that C doesn't cover.
            commit(&store, SCALE, round);
            swap(100 + round, 4500 + round);
            round += 1;
            store.store().engine().merge_everything();
            ControlFlow::Continue(())
        })
        .unwrap();
    let last = graph(&store);
    store.close().unwrap();
    let manifest = Manifest::read(&directory, MemoryEngine::opens).unwrap();
    assert!(manifest.need > manifest.covered_through);
    for name in directory.list().unwrap().iter().filter(|name| name.starts_with("log-")) {
        directory.remove(name).unwrap();
    }
    let (made, target) = salvage(&directory).unwrap();
    assert!(made.mixed_through.is_some() && made.through == manifest.covered_through);
    let saved = open(&target).unwrap();
    assert!(saved.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
    assert!(kinds(&made).contains(&LossKind::Index), "{:?}", kinds(&made));
    let saved = graph(&saved);
    for (edge, properties) in &saved.edges {
        let known: Vec<_> = [&first, &last].into_iter().filter_map(|state| state.edges.get(edge)).collect();
        let is_listed =
            |loss: &Loss| loss.kind == LossKind::EdgeProperty && is_in(loss.vertices.unwrap(), edge.0);
        let is_explained = known.contains(&properties) || made.losses.iter().any(is_listed);
        assert!(!known.is_empty() && is_explained, "{edge:?} {properties:?} {known:?}");
    }
    for vertex in saved.vertices.keys() {
        assert!(first.vertices.contains_key(vertex) || last.vertices.contains_key(vertex), "{vertex}");
    }
}
