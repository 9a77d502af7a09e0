//! Analytics: PageRank, SSSP and WCC of who follows whom, on one thread, while following, beside the same while the plain reader reads in the replica's place, and
//! beside a quiet source; then what snapshots that stay open cost.
//!
//! On a machine of few cores most of what a kernel loses goes to PostgreSQL and the writer, which the plain reader's column has,
//! too. Time of the processor, of the kernel's thread alone, shows what following itself costs it: memory, caches, fresh edges.

use crate::goals::baseline::{PLAIN_READER, WITHOUT};
use crate::plan::Work;
use crate::process::MemoryPeak;
use crate::race::{Race, order};
use crate::results::{Heading, Median};
use crate::workload::pool::pool;
use crate::workload::replica::changes::ChangeKind;
use crate::workload::replica::readers::Reader;
use crate::workload::replica::sustained::{Backlog, drain};
use crate::workload::replica::writer::{Pace, write};
use crate::workload::replica::{Bench, EPOCHS, OURS};
use crate::workload::writer_thread::beside_writer;
use cpu_time::ThreadTime;
use evergraph::{GraphView as _, ReadByName as _, Snapshot};
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Projection, Weight};
use evergraph_graph::view::Freeze as _;
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::Kernel;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Row changes a second meanwhile.
const RATE: u32 = 10_000;
/// Runs whose median is one figure.
const RUNS: usize = 5;
/// The writer has been at work for so long when the first one begins.
const HEAD_START: Duration = Duration::from_millis(500);

/// What is computed.
const KERNELS: [Kernel; 3] = [Kernel::PageRank, Kernel::Sssp, Kernel::Wcc];

/// Measures kernels in each state, then backlogs with open snapshots and without.
///
/// # Errors
/// Those of server and replica.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let mut races = KERNELS.map(|_| [race(), race()]);
    for round in 0..bench.plan.rounds {
        let mut figures = [[[0.0; 2]; KERNELS.len()]; 3];
        for place in order(round, figures.len()) {
            figures[place] = match place {
                0 => {
                    let replica = bench.follow(EPOCHS)?;
                    let observer = Reader::observe(&bench.database)?;
                    bench.catch_up(&[&observer])?;
                    drop(observer);
                    let figures = beside_a_writer(bench)?;
                    replica.stop()?;
                    figures
                }
                1 => {
                    let reader = Reader::plain(&bench.server)?;
                    bench.catch_up(&[&reader])?;
                    beside_a_writer(bench)?
                }
                _ => run_kernels(bench)?,
            };
        }
        for (number, [wall, cpu]) in races.iter_mut().enumerate() {
            wall.note(&figures.map(|kernels| kernels[number][0]));
            cpu.note(&figures.map(|kernels| kernels[number][1]));
        }
    }
    for (kernel, [wall, cpu]) in KERNELS.iter().zip(&races) {
        let title = format!("{}, 1 thread, while 10,000 rows change a second", kernel.title());
        let name = format!("replica.analytics.{}", kernel.name());
        work.add_race(&Heading::new(&name, &title, Unit::Seconds), wall);
        let title = format!("{title}: time of the processor");
        work.add_race(&Heading::new(format!("{name}.cpu"), title, Unit::Seconds), cpu);
    }
    measure_epochs(work, bench)
}

fn race() -> Race {
    Race::new([OURS, PLAIN_READER, WITHOUT])
}

/// Time that passed and time of the processor, seconds, of each kernel.
type KernelTimes = [[f64; 2]; KERNELS.len()];

/// Kernels while a writer changes rows of the source.
fn beside_a_writer(bench: &mut Bench) -> Result<KernelTimes> {
    let mut changes = bench.changes.clone();
    let mut connection = bench.server.connect()?;
    let pace = Pace::of_rate(RATE);
    let (figures, _) = beside_writer(
        HEAD_START,
        |is_over| write(&mut connection, &mut changes, pace, |_| !is_over.load(Ordering::Relaxed)),
        || run_kernels(bench),
    )?;
    bench.changes = changes;
    Ok(figures)
}

/// Medians of some runs of each kernel. A run takes a snapshot, freezes it and computes.
fn run_kernels(bench: &Bench) -> Result<KernelTimes> {
    let (pool, database) = (pool(1)?, &bench.database);
    let accounts = database.snapshot().vertices(Some("Account"))?;
    let source = accounts.first().copied().ok_or_else(no_accounts)?;
    let mut figures = KernelTimes::default();
    for (kernel, figures) in KERNELS.into_iter().zip(&mut figures) {
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        pool.install(|| -> Result<()> {
            for _ in 0..RUNS {
                let (began, thread) = (Instant::now(), ThreadTime::now());
                let lists = freeze(&database.snapshot(), kernel)?;
                kernel.run(&lists, source)?;
                wall.push(began.elapsed().as_secs_f64());
                cpu.push(thread.elapsed().as_secs_f64().max(1e-9));
            }
            Ok(())
        })?;
        *figures = [wall, cpu].map(|times| Median::of(&times).median);
    }
    Ok(figures)
}

/// Accounts, and who follows whom; since when is the weight.
///
/// # Errors
/// `corrupt` if the copy has none; those of freezing.
pub fn freeze(snapshot: &Snapshot, kernel: Kernel) -> Result<Lists> {
    let catalogue = snapshot.catalogue();
    let (label, edge_type) = (catalogue.label("Account"), catalogue.edge_type("FOLLOWS"));
    let (label, edge_type) = label.zip(edge_type).ok_or_else(no_accounts)?;
    let key = catalogue.key("since").ok_or_else(no_accounts)?;
    let direction = if kernel == Kernel::Sssp { Direction::Out } else { Direction::Both };
    let weight = (kernel == Kernel::Sssp).then_some(Weight { key, missing: None });
    let projection = Projection {
        labels: Some(vec![label]),
        types: Some(vec![edge_type]),
        weight,
        ..Projection::all(direction)
    };
    Ok(Lists::from(snapshot.freeze(&projection)?))
}

fn no_accounts() -> Error {
    Error::new(ErrorKind::Corrupt, "the copy has no accounts that follow each other")
}

/// The same kind of backlog with snapshots that stay open and without: how fast it is applied, and the memory of the process.
fn measure_epochs(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let (mut rate, mut memory) = (Race::new([OURS, WITHOUT]), Race::new([OURS, WITHOUT]));
    for round in 0..bench.plan.rounds {
        let mut figures = [[0.0; 2]; 2];
        for place in order(round, figures.len()) {
            let backlog = Backlog::write(bench, ChangeKind::Updates)?;
            MemoryPeak::forget();
            let (rate, _) = drain(bench, backlog, if place == 0 { EPOCHS } else { 0 })?;
            figures[place] = [rate, MemoryPeak::of_process_bytes() as f64];
        }
        rate.note(&figures.map(|[rate, _]| rate));
        memory.note(&figures.map(|[_, memory]| memory.max(1.0)));
    }
    let title = format!("{}, with {EPOCHS} snapshots open", ChangeKind::Updates.title());
    work.add_race(&Heading::new("replica.epochs.applier", title, Unit::PerSecond), &rate);
    let title = format!("peak memory of the process meanwhile, with {EPOCHS} snapshots open");
    work.add_race(&Heading::new("replica.epochs.memory", title, Unit::Bytes), &memory);
    Ok(())
}
