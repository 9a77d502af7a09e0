//! Kernels on the lists of the disk engine, beside the memory engine's, which has no limit, and RocksDB's and LMDB's, within
//! the same limit. Answers must agree.
//!
//! ```text
//! warm     a graph in the cache: every kernel                                      beside the memory engine
//! beyond   a graph of several times the memory: some kernels, a scan               beside RocksDB and LMDB, too
//! scan     all lists of both sides, in key order                                   beside plain reads of the files
//! writer   SSSP while a thread commits batches                                     beside SSSP alone
//! ```
//!
//! A round before the first, which warms caches, is not counted. Kernels run on all cores, on lists of every store alike:
//! the same code, so that figures are of the lists alone. RocksDB and LMDB keep both sides here, and weights beside targets.

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::engine::lmdb_lists::{BothSides, LmdbGraph};
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb_lists::RocksDbGraph;
use crate::engine::store::Edge;
#[cfg(feature = "rocksdb")]
use crate::folder::make_folder;
use crate::goals::baseline;
use crate::line_process::Requests;
use crate::plan::{Work, wrong};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::disk::bandwidth::{folder_bytes, read_files};
use crate::workload::disk::graph::{DiskGraph, Properties, weight};
use crate::workload::disk::helper::{Assignment, Helper, HelperPart, limitable, started};
use crate::workload::disk::kernel::{Answer, Kernel, busiest, scan};
use crate::workload::disk::runs::{Taken, run, run_on_peer};
use crate::workload::writer_thread::beside_writer;
use clap::ValueEnum;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Projection;
use evergraph_graph::view::Freeze;
use evergraph_measure::figure::Unit;
use evergraph_memory_engine::engine::MemoryEngine;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of memory where everything fits.
const WARM_LIMIT_BYTES: u64 = 2 << 30;
/// Edges of a commit of the writer, and how long it rests after each: a tenth of what it could write, so that the graph
/// stays about the same.
const WRITER_EDGES: usize = 100;
const WRITER_RESTS: Duration = Duration::from_millis(2);

/// A graph in the stores that are measured.
struct Stores {
    disk: LimitedStore<DiskEngine>,
    disk_folder: PathBuf,
    memory: Option<LimitedStore<MemoryEngine>>,
    #[cfg(feature = "rocksdb")]
    rocksdb: Option<RocksDbGraph>,
    lmdb: Option<Helper>,
    /// Where searches begin.
    source: VertexId,
}

/// What a store of another process is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Request {
    /// To be loaded.
    Fill,
    /// To run a kernel, whose searches begin at this vertex, and to write the answer to [`ANSWER`].
    Run(Kernel, u32),
}

/// The file of an answer, in the store's folder.
const ANSWER: &str = "answer";

/// Measures in warm cache, then beyond memory.
///
/// # Errors
/// `corrupt` if answers differ; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.disk.clone();
    if plan.warm_scale > 0 {
        let warm = DiskPlan {
            scale: plan.warm_scale,
            degree: 16,
            limit_bytes: WARM_LIMIT_BYTES,
            peers: vec![DiskStore::MemoryEngine],
            kernels: Kernel::value_variants().to_vec(),
            ..plan.clone()
        };
        measure_at(work, &warm, "disk.kernel.warm")?;
    }
    if !plan.kernels.is_empty() {
        measure_at(work, &plan, "disk.kernel")?;
    }
    work.note("kernels run on all cores, on the lists of every store alike; a first round is not counted");
    work.note("rocksdb keeps both sides, and weights as values; each vertex a search comes to is a seek");
    work.note(
        "lmdb keeps both sides, and weights beside targets; it reads ahead but for searches (bfs, sssp)",
    );
    Ok(())
}

fn measure_at(work: &mut Work<'_>, plan: &DiskPlan, name: &str) -> Result<()> {
    let graph = DiskGraph::draw(plan, work.plan.seed, plan.fresh_percent)?;
    let plan = &DiskPlan { peers: limitable(work, plan.peers.clone()), ..plan.clone() };
    let mut stores = Stores::filled(work, name, plan, &graph)?;
    work.note(format!(
        "{name}: R-MAT, 2^{} vertices, {} edges loaded and {} committed; files {}; memory limit {}; {} threads",
        plan.scale,
        graph.loaded.len(),
        graph.later.len(),
        ByteSize(folder_bytes(&stores.disk_folder)?),
        ByteSize(plan.limit_bytes),
        rayon::current_num_threads(),
    ));
    let rounds = work.plan.rounds.min(if plan.limit_bytes < WARM_LIMIT_BYTES { plan.rounds } else { 3 });
    for kernel in &plan.kernels {
        measure_kernel(work, &mut stores, plan, (name, *kernel), rounds)?;
    }
    measure_scan(work, &stores, name, rounds)?;
    measure_writer(work, &stores, plan, (name, &graph.loaded), rounds)?;
    stores.lmdb.iter().for_each(|helper| work.note(helper.text()));
    Ok(())
}

impl Stores {
    fn filled(work: &mut Work<'_>, name: &str, plan: &DiskPlan, graph: &DiskGraph) -> Result<Self> {
        let place = work.place(name);
        let lmdb = plan.peers.contains(&DiskStore::Lmdb);
        let lmdb = lmdb.then(|| {
            let of = (DiskStore::Lmdb, HelperPart::Kernels);
            started::<Option<Taken>>(work, of, plan, &place.join("lmdb"), &Request::Fill)
        });
        let lmdb = lmdb.transpose()?.flatten().map(|(helper, _)| helper);
        let disk_folder = place.join("disk");
        let disk =
            LimitedStore::<DiskEngine>::filled(&disk_folder, plan.limit_bytes, graph, Properties::Weights)?;
        let memory = plan.peers.contains(&DiskStore::MemoryEngine);
        let of_memory = place.join("memory");
        let memory = memory.then(|| LimitedStore::filled(&of_memory, u64::MAX, graph, Properties::Weights));
        let source =
            busiest(&disk.open_store().store().snapshot().freeze(&Projection::all(Direction::Out))?)?;
        Ok(Self {
            disk,
            disk_folder,
            memory: memory.transpose()?,
            #[cfg(feature = "rocksdb")]
            rocksdb: plan
                .peers
                .contains(&DiskStore::Rocksdb)
                .then(|| {
                    let folder = place.join("others");
                    make_folder(&folder)?;
                    let edges = (graph.loaded.as_slice(), graph.later.as_slice());
                    RocksDbGraph::filled(&folder, plan.limit_bytes, graph.vertices, edges, weight)
                })
                .transpose()?,
            lmdb,
            source,
        })
    }

    /// Their names, the disk engine first.
    fn names(&self) -> Vec<&'static str> {
        let mut names = vec![DiskEngine::MEASURED];
        names.extend(self.memory.as_ref().map(|_| MemoryEngine::MEASURED));
        #[cfg(feature = "rocksdb")]
        names.extend(self.rocksdb.as_ref().map(|_| "rocksdb"));
        names.extend(self.lmdb.as_ref().map(|_| DiskStore::Lmdb.name()));
        names
    }

    fn run(
        &mut self,
        (place, name): (&Path, &str),
        kernel: Kernel,
        plan: &DiskPlan,
    ) -> Result<(Taken, Answer)> {
        if name == DiskEngine::MEASURED {
            return run(&self.disk, kernel, self.source, plan.kernel_time);
        }
        #[cfg(feature = "rocksdb")]
        if let Some(rocksdb) = self.rocksdb.as_ref().filter(|_| name == "rocksdb") {
            let open = |projection: &Projection| Ok(rocksdb.lists(projection));
            return run_on_peer(open, kernel, self.source, plan.kernel_time);
        }
        if let Some(helper) = self.lmdb.as_mut().filter(|_| name == DiskStore::Lmdb.name()) {
            let taken = helper.ask(&Request::Run(kernel, self.source.0))?;
            return Ok((taken, Answer::read(&place.join("lmdb").join(ANSWER))?));
        }
        let memory = self.memory.as_ref().ok_or_else(|| Error::invalid(format!("{name} takes no part")))?;
        run(memory, kernel, self.source, plan.kernel_time)
    }
}

/// Works as a helper: fills LMDB, then runs kernels on its lists.
///
/// # Errors
/// `io` if nobody listens.
pub fn serve(assignment: &Assignment, requests: Requests) -> Result<()> {
    let Assignment { plan, seed, folder, .. } = assignment;
    let prepare = || {
        let graph = DiskGraph::draw(plan, *seed, plan.fresh_percent)?;
        let mut turned: Vec<Edge> = graph.loaded.iter().map(|(source, target)| (*target, *source)).collect();
        turned.sort_unstable();
        assignment.join()?;
        let DiskGraph { vertices, loaded, later } = &graph;
        LmdbGraph::filled(folder, BothSides { vertices: *vertices, loaded, turned: &turned, later }, weight)
    };
    requests.serve(prepare, |graph, request| {
        let Request::Run(kernel, source) = request else { return Ok(None) };
        let open = |projection: &Projection| graph.lists(projection, kernel.access());
        let (taken, answer) = run_on_peer(open, kernel, VertexId(source), plan.kernel_time)?;
        answer.write(&folder.join(ANSWER))?;
        Ok(Some(taken))
    })
}

/// One kernel on each store, in turn; who is refused or too late is left out, with a note.
fn measure_kernel(
    work: &mut Work<'_>,
    stores: &mut Stores,
    plan: &DiskPlan,
    (beginning, kernel): (&str, Kernel),
    rounds: usize,
) -> Result<()> {
    let name = format!("{beginning}.{}", kernel.name());
    let mut names = stores.names();
    let mut runs: Vec<Vec<Taken>> = Vec::new();
    let mut expected: Option<(&str, Answer)> = None;
    for round in 0..=rounds {
        let mut of_round = vec![Taken::default(); names.len()];
        let mut left_out = Vec::new();
        for place in order(round, names.len()) {
            match stores.run((&work.place(beginning), names[place]), kernel, plan) {
                Ok((taken, answer)) => {
                    of_round[place] = taken;
                    let (time, read) = (taken.total(), ByteSize(taken.bytes_read as u64));
                    eprintln!("  {name}, {}: {time:.3} s, {read} read", names[place]);
                    if round == 0 {
                        let text =
                            format!("memory of the process grew by {} at most", ByteSize(taken.memory_bytes));
                        work.note(format!(
                            "{name}, {}, first run: {time:.3} s, {read} read; {text}",
                            names[place]
                        ));
                    }
                    match &expected {
                        None => expected = Some((names[place], answer)),
                        Some((_, other)) if answer.agrees(other) => {}
                        Some((who, _)) => return Err(wrong(names[place], &name, "another answer", who)),
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Cancelled) => {
                    eprintln!("  {name}, {}: {error}", names[place]);
                    work.note(format!("{name}, {}: not done: {error}", names[place]));
                    left_out.push(place);
                }
                Err(error) => return Err(error),
            }
        }
        if left_out.contains(&0) {
            return Ok(());
        }
        // From the end, so that places before stay.
        left_out.sort_unstable();
        for place in left_out.into_iter().rev() {
            names.remove(place);
            of_round.remove(place);
            for round in &mut runs {
                round.remove(place);
            }
        }
        if round > 0 {
            runs.push(of_round);
        }
    }
    let race = |value: fn(&Taken) -> f64| {
        let mut race = Race::new(names.iter().copied());
        runs.iter().for_each(|round| race.note(&round.iter().map(value).collect::<Vec<_>>()));
        race
    };
    let of = |what: &str, name: &str, unit| Heading::new(name, format!("{}{what}", kernel.name()), unit);
    work.add_race(&of("", &name, Unit::Seconds), &race(|taken| taken.running));
    let freezing = name.replace("disk.kernel", "disk.freezing");
    work.add_race(&of(", freezing", &freezing, Unit::Seconds), &race(|taken| taken.freezing));
    // The memory engine reads nothing, and what the first run left in a cache is read by nobody.
    let reads = |place: &usize| names[*place] != MemoryEngine::MEASURED;
    let readers: Vec<usize> = (0..names.len()).filter(reads).collect();
    if plan.limit_bytes < WARM_LIMIT_BYTES
        && runs.iter().all(|round| readers.iter().all(|place| round[*place].bytes_read > 0.0))
    {
        let mut race = Race::new(readers.iter().map(|place| names[*place]));
        for round in &runs {
            race.note(&readers.iter().map(|place| round[*place].bytes_read).collect::<Vec<_>>());
        }
        let read = name.replace("disk.kernel", "disk.bytes_read");
        work.add_race(&of(", bytes read", &read, Unit::Bytes), &race);
    }
    Ok(())
}

/// All lists of both sides, beside plain direct reads of the same files.
fn measure_scan(work: &mut Work<'_>, stores: &Stores, name: &str, rounds: usize) -> Result<()> {
    let snapshot = stores.disk.open_store().store().snapshot();
    let lists = snapshot.freeze(&Projection::all(Direction::Both))?;
    let (mut shares, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (bytes, plain) = read_files(&stores.disk_folder, "csr-")?;
        let began = Instant::now();
        scan(&lists, Direction::Out)?;
        scan(&lists, Direction::In)?;
        let seconds = began.elapsed().as_secs_f64();
        shares.push(plain.as_secs_f64() / seconds);
        rates.push(bytes as f64 / seconds);
    }
    let title = "scan of all lists, both sides, as a share of plain reads of the files";
    work.add(&Heading::new(format!("{name}.scan_share"), title, Unit::Share), &shares);
    let title = "bytes of files a second in that scan";
    work.add(&Heading::new(format!("{name}.scan_rate"), title, Unit::PerSecond), &rates);
    Ok(())
}

/// SSSP beside a thread that commits edges, and alone.
fn measure_writer(
    work: &mut Work<'_>,
    stores: &Stores,
    plan: &DiskPlan,
    (name, loaded): (&str, &[Edge]),
    rounds: usize,
) -> Result<()> {
    if !plan.kernels.contains(&Kernel::Sssp) {
        return Ok(());
    }
    let mut race = Race::new([DiskEngine::MEASURED, baseline::WITHOUT]);
    let mut written = 0;
    for round in 0..rounds {
        let alone = match run(&stores.disk, Kernel::Sssp, stores.source, plan.kernel_time) {
            Ok((taken, _)) => taken.total(),
            Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Cancelled) => {
                work.note(format!("{name}.sssp.writer: not done: {error}"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let write = |is_over: &AtomicBool| {
            // Edges that are not there: their ends in turn are those of others.
            let mut batches = loaded.chunks(WRITER_EDGES).skip(round * 7).step_by(11);
            while !is_over.load(Ordering::Relaxed)
                && let Some(edges) = batches.next()
            {
                let edges: Vec<Edge> = edges.iter().map(|(source, target)| (*target, *source)).collect();
                stores.disk.put_weighted(&edges, weight)?;
                written += edges.len();
                thread::sleep(WRITER_RESTS);
            }
            Ok(())
        };
        let measure = || run(&stores.disk, Kernel::Sssp, stores.source, plan.kernel_time);
        let ((taken, _), ()) = beside_writer(Duration::ZERO, write, measure)?;
        race.note(&[taken.total(), alone]);
    }
    let title = "SSSP, freezing included, while a thread commits 100 edges every 2 ms or more";
    let heading = Heading::new(format!("{name}.sssp.writer"), title, Unit::Seconds);
    work.add_race(&heading.with("edges written", written), &race);
    Ok(())
}
