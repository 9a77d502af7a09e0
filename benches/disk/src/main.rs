//! `evergraph-bench-disk`: the disk engine's kernels beside the memory engine's, in one run.
//!
//! ```text
//! kernels   each kernel on both engines, taking turns: median seconds and their ratio; answers must agree
//! scan      all lists in key order beside plain direct reads of the same files: share of the disk's bandwidth
//! writer    SSSP alone and beside a thread that commits batches
//! ```
//!
//! A row is a line of tab-separated figures, the median of the rounds; the spread is the range. What would make it
//! lie: another process on the machine; a limit so large that no page is read (`--limit-mib` sets it).

mod bandwidth;
mod database;
mod kernels;
mod rmat;

use crate::bandwidth::{folder_bytes, read_files};
use crate::kernels::{Kernel, busiest, scan};
use crate::rmat::{Rmat, WEIGHT};
use clap::{Parser, ValueEnum};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Projection;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::open::OpenStore;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    Kernels,
    Scan,
    Writer,
}

#[derive(Parser, Debug)]
#[command(about = "Measures the disk engine's kernels beside the memory engine's")]
struct Arguments {
    /// The parts to measure; default: all.
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// The kernels to run; default: all.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kernel>,
    /// Vertices: 2 to this power.
    #[arg(long, default_value_t = 17)]
    scale: u32,
    /// Edges a vertex.
    #[arg(long, default_value_t = 16)]
    degree: u64,
    /// Edges that are added by transactions after the bulk load, in per cent.
    #[arg(long, default_value_t = 0)]
    fresh: u64,
    /// The disk engine's memory limit.
    #[arg(long, default_value_t = 2048)]
    limit_mib: u64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the databases lie; they are kept, and found again. Default: a folder that is removed.
    #[arg(long)]
    folder: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let temporary = tempfile::tempdir();
    let temporary =
        temporary.map_err(|error| Error::new(ErrorKind::Io, format!("make a folder: {error}")))?;
    let folder = arguments.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    let wanted = |part| arguments.parts.is_empty() || arguments.parts.contains(&part);
    let disk_folder = folder.join("disk");
    let disk = filled::<DiskEngine>(&disk_folder, arguments.limit_mib << 20, &arguments)?;
    println!("# {arguments:?}");
    println!("# files {} MiB, {} threads", folder_bytes(&disk_folder)? >> 20, rayon::current_num_threads());
    if wanted(Part::Kernels) {
        let memory = filled::<MemoryEngine>(&folder.join("memory"), u64::MAX, &arguments)?;
        measure_kernels(&memory, &disk, &arguments)?;
    }
    if wanted(Part::Scan) {
        measure_scan(&disk, &disk_folder, &arguments)?;
    }
    if wanted(Part::Writer) {
        measure_writer(&disk, &arguments)?;
    }
    Ok(())
}

/// The database in `folder`, filled if it is new.
fn filled<E: DurableEngine>(
    folder: &std::path::Path,
    limit_bytes: u64,
    arguments: &Arguments,
) -> Result<OpenStore<E>> {
    let open = database::open::<E>(folder, limit_bytes)?;
    if open.recovery().created {
        let edges = arguments.degree << arguments.scale;
        let fresh = edges * arguments.fresh / 100;
        database::fill(&open, &mut Rmat::new(arguments.scale, 1), edges - fresh, fresh)?;
    }
    Ok(open)
}

/// Seconds of freezing and running, and the answer.
fn run<E: DurableEngine>(
    open: &OpenStore<E>,
    kernel: Kernel,
    source: VertexId,
) -> Result<([f64; 2], kernels::Answer)> {
    let snapshot = open.store().snapshot();
    let key = snapshot.catalogue().key(WEIGHT);
    let key = key.ok_or_else(|| Error::new(ErrorKind::NotFound, "the graph has no weights"))?;
    let start = Instant::now();
    let lists = snapshot.freeze(&kernel.projection(key))?;
    let frozen = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let answer = kernel.run(&lists, source, snapshot.budget())?;
    Ok(([frozen, start.elapsed().as_secs_f64()], answer))
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn measure_kernels(
    memory: &OpenStore<MemoryEngine>,
    disk: &OpenStore<DiskEngine>,
    arguments: &Arguments,
) -> Result<()> {
    let source = busiest(&memory.store().snapshot().freeze(&Projection::all(Direction::Out))?)?;
    println!("kernel\tmemory s\tdisk s\tratio\tmemory freeze s\tdisk freeze s\tagrees");
    for kernel in Kernel::value_variants() {
        if !arguments.only.is_empty() && !arguments.only.contains(kernel) {
            continue;
        }
        let name = kernel.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let (mut of_memory, mut of_disk) = (Vec::new(), Vec::new());
        let mut outcome = Ok(true);
        // The first round warms caches up.
        for round in 0..=arguments.rounds {
            let (times, expected) = run(memory, *kernel, source)?;
            match run(disk, *kernel, source) {
                Ok((disk_times, found)) => {
                    outcome = outcome.map(|agrees: bool| agrees && found.agrees(&expected));
                    if round > 0 {
                        of_memory.push(times);
                        of_disk.push(disk_times);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Limit => {
                    outcome = Err(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        match outcome {
            Err(refused) => println!("{name}\trefused: {refused}"),
            Ok(agrees) => {
                let of = |times: &[[f64; 2]], at: usize| median(times.iter().map(|time| time[at]).collect());
                let (memory_time, disk_time) = (of(&of_memory, 1), of(&of_disk, 1));
                let (memory_frozen, disk_frozen) = (of(&of_memory, 0), of(&of_disk, 0));
                println!(
                    "{name}\t{memory_time:.4}\t{disk_time:.4}\t{:.2}\t{memory_frozen:.4}\t{disk_frozen:.4}\t{agrees}",
                    disk_time / memory_time
                );
            }
        }
    }
    Ok(())
}

fn measure_scan(disk: &OpenStore<DiskEngine>, folder: &std::path::Path, arguments: &Arguments) -> Result<()> {
    println!("scan of all lists\tMiB\tplain s\tscan s\tMiB/s\tshare");
    let snapshot = disk.store().snapshot();
    let lists = snapshot.freeze(&Projection::all(Direction::Both))?;
    let (mut plain, mut scans, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..arguments.rounds {
        let (read, time) = read_files(folder, "csr-")?;
        bytes = read;
        plain.push(time.as_secs_f64());
        let start = Instant::now();
        scan(&lists, Direction::Out)?;
        scan(&lists, Direction::In)?;
        scans.push(start.elapsed().as_secs_f64());
    }
    let (plain, scan) = (median(plain), median(scans));
    let mib = bytes as f64 / f64::from(1 << 20);
    println!("all lists\t{mib:.0}\t{plain:.4}\t{scan:.4}\t{:.0}\t{:.2}", mib / scan, plain / scan);
    Ok(())
}

fn measure_writer(disk: &OpenStore<DiskEngine>, arguments: &Arguments) -> Result<()> {
    let snapshot = disk.store().snapshot();
    let source = busiest(&snapshot.freeze(&Projection::all(Direction::Out))?)?;
    drop(snapshot);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let mut random = Rmat::new(arguments.scale, 2);
    let (stop, edges) = (AtomicBool::new(false), AtomicU64::new(0));
    let total = |times: [f64; 2]| times[0] + times[1];
    for _ in 0..arguments.rounds {
        alone.push(total(run(disk, Kernel::Sssp, source)?.0));
        stop.store(false, Ordering::Relaxed);
        let time = std::thread::scope(|scope| {
            let (random, stop, edges) = (&mut random, &stop, &edges);
            let writer = scope.spawn(move || -> Result<()> {
                while !stop.load(Ordering::Relaxed) {
                    database::insert(disk, random, 100)?;
                    edges.fetch_add(100, Ordering::Relaxed);
                    // A tenth of what it could write, so that the graph stays the same.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                Ok(())
            });
            let outcome = run(disk, Kernel::Sssp, source);
            stop.store(true, Ordering::Relaxed);
            writer.join().expect("a writer returns its errors")?;
            outcome.map(|(times, _)| total(times))
        })?;
        beside.push(time);
    }
    let (alone, beside) = (median(alone), median(beside));
    println!("SSSP\talone s\tbeside a writer s\tratio\tedges written");
    println!("sssp\t{alone:.4}\t{beside:.4}\t{:.2}\t{}", beside / alone, edges.load(Ordering::Relaxed));
    Ok(())
}
