//! GAPBS: our kernels on a static array beside the programs of the GAP benchmark suite, on the same graph.
//!
//! ```text
//! GAPBS_DIR/converter -f edges.el -b plain.sg      edges.el     source target          an edge a line
//! GAPBS_DIR/converter -w -f edges.wel -b weighted.wsg           source target weight
//! GAPBS_DIR/pr -f plain.sg -n 3 -i 20 -t 0
//! Read Time:           0.20134
//! Trial Time:          0.05713
//! Average Time:        0.05713                 seconds, of the kernel alone
//! ```
//!
//! Nothing of GAPBS is in this project: whoever wants the comparison builds it (`make` in its folder) and names
//! the folder. Without it our own times stand alone, and networkit's are the anchor (`make compare`).
//!
//! Before anything is timed, each program runs once and checks itself (`-v`), on one thread as its betweenness
//! compares to the last bit; what it counts must be what we count. Triangles are only counted: checking them
//! takes minutes. Its PageRank drops what reaches vertices without out-edges where ours gives it to all, so
//! that scores differ; the work is the same.
//!
//! Source: Beamer, Asanovic, Patterson: The GAP Benchmark Suite (2015), `src/benchmark.h` for the form.

use crate::edges::distinct;
use crate::engine::store::Edge;
use crate::goals::baseline;
use crate::plan::{Plan, Work, expect};
use crate::race::{Race, Sample};
use crate::results::{Heading, Median};
use crate::stopwatch::Stopwatch;
use crate::workload::live::{busiest, weight};
use crate::workload::pool::pool;
use evergraph_algorithms::bfs::Bfs;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::sssp::SsspParameters;
use evergraph_analysis::kernels::sssp;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Answer, Kernel};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last digit of the times that its programs print, seconds.
const RESOLUTION: f64 = 1e-5;

/// A kernel of ours and what GAPBS calls it.
struct Program {
    kernel: Kernel,
    name: &'static str,
    form: GraphFileForm,
    /// Times that it runs in a round, and our kernel too; the median counts. A program of theirs reads its graph once for
    /// them.
    trials: usize,
    /// What it is told, beside its graph and how often to run.
    arguments: &'static [&'static str],
    /// What it is told when it checks itself.
    checked: &'static [&'static str],
    /// Where its count stands, between these words.
    count: Option<(&'static str, &'static str)>,
}

/// In which of its own files a program reads the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GraphFileForm {
    Plain,
    /// For shortest paths.
    Weighted,
    /// For triangles, which it wants in an undirected graph.
    Undirected,
}

impl GraphFileForm {
    const ALL: [Self; 3] = [Self::Plain, Self::Weighted, Self::Undirected];

    const fn file(self) -> &'static str {
        match self {
            Self::Plain => "plain.sg",
            Self::Weighted => "weighted.wsg",
            Self::Undirected => "undirected.sg",
        }
    }

    /// Writes it by GAPBS' own converter, from a file of lines.
    fn convert(self, programs: &Path, from: &Path, folder: &Path) -> Result<()> {
        let path = programs.join("converter");
        let mut command = Command::new(&path);
        match self {
            Self::Plain => &mut command,
            Self::Weighted => command.arg("-w"),
            Self::Undirected => command.arg("-s"),
        };
        ended(&path, command.arg("-f").arg(from).arg("-b").arg(folder.join(self.file()))).map(drop)
    }
}

/// Twenty iterations whatever they change; when it checks itself, as many as it takes.
const PROGRAMS: [Program; 6] = [
    Program {
        kernel: Kernel::PageRank,
        name: "pr",
        form: GraphFileForm::Plain,
        trials: 3,
        arguments: &["-i", "20", "-t", "0"],
        checked: &["-v", "-i", "200", "-t", "1e-4"],
        count: None,
    },
    Program {
        kernel: Kernel::Bfs,
        name: "bfs",
        form: GraphFileForm::Plain,
        trials: 3,
        arguments: &[],
        checked: &["-v"],
        count: Some(("BFS Tree has ", " nodes")),
    },
    Program {
        kernel: Kernel::Sssp,
        name: "sssp",
        form: GraphFileForm::Weighted,
        trials: 3,
        arguments: &[],
        checked: &["-v"],
        count: Some(("SSSP Tree reaches ", " nodes")),
    },
    Program {
        kernel: Kernel::Wcc,
        name: "cc",
        form: GraphFileForm::Plain,
        trials: 3,
        arguments: &[],
        checked: &["-v"],
        count: Some(("There are ", " components")),
    },
    Program {
        kernel: Kernel::Betweenness,
        name: "bc",
        form: GraphFileForm::Plain,
        trials: 3,
        arguments: &["-i", "1"],
        checked: &["-v", "-i", "1"],
        count: None,
    },
    Program {
        kernel: Kernel::Triangles,
        name: "tc",
        form: GraphFileForm::Undirected,
        // A minute on a large graph.
        trials: 1,
        arguments: &[],
        checked: &[],
        count: Some(("", " triangles")),
    },
];

/// The graph as both have it.
struct Graph {
    array: Lists,
    source: u32,
    /// Those of GAPBS: it knows of no vertex behind the last that an edge names.
    vertices: u32,
    /// How wide bins of distances are in our search by weight; GAPBS has no rule of its own.
    delta: u64,
}

/// Measures every kernel on each number of threads.
///
/// # Errors
/// `corrupt` if a program of GAPBS finds itself wrong or counts otherwise than ours; `io` if one can't be run.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    // Its builder drops loops and parallel edges.
    let plan = Plan { scale: work.plan.kernels_scale, ..work.plan.clone() };
    let edges: Vec<Edge> = distinct(&plan, 16)?.into_iter().filter(|edge| edge.0 != edge.1).collect();
    let last = edges.iter().map(|edge| edge.0.max(edge.1)).max().unwrap_or(0);
    let weights: Vec<f64> = edges.iter().map(|edge| weight(*edge)).collect();
    let bound = VertexSet::full(plan.vertices());
    let array = Lists::from(StaticCsr::new(bound, &edges, Some(&weights), Direction::Both)?);
    let source = busiest(&edges, plan.vertices());
    let delta = sssp(&array, VertexId(source), &SsspParameters::default(), &Control::default())?.delta;
    let graph = Graph { array, source, vertices: last + 1, delta: (delta.round() as u64).max(1) };
    let theirs = match &work.plan.gapbs {
        Some(folder) => Some(Gapbs::prepare(folder, work.folder, &edges)?),
        None => None,
    };
    for program in &PROGRAMS {
        if let Some(theirs) = &theirs {
            theirs.check(program, &graph)?;
        }
        for threads in work.plan.threads.clone() {
            beside(work, program, threads, &graph, theirs.as_ref())?;
        }
    }
    work.note("our kernels on compressed sparse rows; the array is there, nothing is live");
    work.note(match theirs {
        Some(_) => "gapbs: its own programs on the same edges, without loops; reading and building not counted",
        None => "GAPBS_DIR names no folder of GAPBS' built programs: ours stand alone here, and networkit's times \
                 (`make compare`) are the anchor",
    });
    Ok(())
}

fn beside(
    work: &mut Work<'_>,
    program: &Program,
    threads: usize,
    graph: &Graph,
    theirs: Option<&Gapbs>,
) -> Result<()> {
    let pool = pool(threads)?;
    let mut race = Race::new(std::iter::once("evergraph").chain(theirs.map(|_| baseline::GAPBS)));
    if threads == 1 {
        race = race.undisturbed();
    }
    for round in 0..work.plan.rounds {
        race.round(round, |place| match theirs.filter(|_| place == 1) {
            Some(theirs) => {
                Ok(Sample::elsewhere(Median::of(&theirs.trials(program, graph, threads)?).median))
            }
            None => pool.install(|| ours(program, graph)),
        })?;
    }
    let plural = if threads == 1 { "" } else { "s" };
    let name = format!("static.{}.threads_{threads}", program.kernel.name());
    let title = format!("{}, static array, {threads} thread{plural}", program.kernel.title());
    work.add_race(&Heading::new(name, title, Unit::Seconds), &race);
    Ok(())
}

/// The median of our trials.
fn ours(program: &Program, graph: &Graph) -> Result<Sample> {
    let whole = Stopwatch::start();
    let mut seconds = Vec::with_capacity(program.trials);
    for _ in 0..program.trials {
        let watch = Stopwatch::start();
        program.kernel.run(&graph.array, VertexId(graph.source))?;
        seconds.push(watch.stop().wall);
    }
    Ok(Sample::timed(Median::of(&seconds).median, whole.stop()))
}

/// Its programs, and the folder of the files that they read.
struct Gapbs {
    programs: PathBuf,
    folder: PathBuf,
}

impl Gapbs {
    /// Writes the graph into `folder` in all forms.
    fn prepare(programs: &Path, folder: &Path, edges: &[Edge]) -> Result<Self> {
        // Its weights are whole numbers, and so are ours.
        let lines = |name: &str, weighted: bool| -> Result<PathBuf> {
            let path = folder.join(name);
            write_lines(&path, |file| {
                edges.iter().try_for_each(|edge| {
                    let (source, target) = edge;
                    if weighted {
                        writeln!(file, "{source} {target} {}", weight(*edge))
                    } else {
                        writeln!(file, "{source} {target}")
                    }
                })
            })?;
            Ok(path)
        };
        let (plain, weighted) = (lines("edges.el", false)?, lines("edges.wel", true)?);
        for form in GraphFileForm::ALL {
            let from = if form == GraphFileForm::Weighted { &weighted } else { &plain };
            form.convert(programs, from, folder)?;
        }
        Ok(Self { programs: programs.to_owned(), folder: folder.to_owned() })
    }

    /// What a program prints.
    fn run(
        &self,
        program: &Program,
        graph: &Graph,
        threads: usize,
        trials: usize,
        more: &[&str],
    ) -> Result<String> {
        let path = self.programs.join(program.name);
        let mut command = Command::new(&path);
        command.arg("-f").arg(self.folder.join(program.form.file()));
        command.args(["-n", &trials.to_string()]).args(more);
        if matches!(program.kernel, Kernel::Bfs | Kernel::Sssp | Kernel::Betweenness) {
            command.args(["-r", &graph.source.to_string()]);
        }
        if program.kernel == Kernel::Sssp {
            command.args(["-d", &graph.delta.to_string()]);
        }
        // Its threads wait as OpenMP lets them: for a while they spin, which wakes them sooner.
        command.env("OMP_NUM_THREADS", threads.to_string());
        ended(&path, &mut command)
    }

    /// Seconds of each trial.
    fn trials(&self, program: &Program, graph: &Graph, threads: usize) -> Result<Vec<f64>> {
        let said = self.run(program, graph, threads, program.trials, program.arguments)?;
        let times = trial_times(&said)?;
        expect(program.name, "trials", times.len(), program.trials)?;
        Ok(times)
    }

    /// Lets a program check itself, and compares what it counts with ours.
    fn check(&self, program: &Program, graph: &Graph) -> Result<()> {
        let more = [&["-a"], program.checked].concat();
        let said = self.run(program, graph, 1, 1, &more)?;
        if program.checked.contains(&"-v") {
            expect(program.name, "its own verification", verified(&said), Some(true))?;
        }
        if let Some((before, after)) = program.count {
            let answer = program.kernel.run(&graph.array, VertexId(graph.source))?;
            let ours = counted(program.kernel, &answer, graph.vertices as usize);
            expect(program.name, "its count", number_between(&said, before, after), Some(ours))?;
        }
        Ok(())
    }
}

/// What the program at `path` printed when it had run.
fn ended(path: &Path, command: &mut Command) -> Result<String> {
    let done = command.output().map_err(|error| crate::failed(path, &error))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        return Ok(said);
    }
    let text = format!("{} ended with {}: {}", path.display(), done.status, last_line(&said));
    Err(Error::new(ErrorKind::Io, text))
}

fn write_lines(path: &Path, lines: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    let done = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        lines(&mut file)?;
        file.flush()
    });
    done.map_err(|error| crate::failed(path, &error))
}

/// What a program of GAPBS counts of an answer like ours: vertices that a search reaches, components,
/// triangles. Of the first `vertices` only.
fn counted(kernel: Kernel, answer: &Answer, vertices: usize) -> u64 {
    match answer {
        Answer::Numbers(distances) => {
            distances.iter().take(vertices).filter(|distance| distance.is_finite()).count() as u64
        }
        Answer::Labels(levels) if kernel == Kernel::Bfs => {
            levels.iter().take(vertices).filter(|level| **level != Bfs::UNREACHED).count() as u64
        }
        // A component is named by its smallest vertex.
        Answer::Labels(labels) => {
            (0..).zip(labels).take(vertices).filter(|(vertex, label)| vertex == *label).count() as u64
        }
        Answer::Sum(sum) => *sum,
    }
}

/// The seconds behind each `Trial Time:`, in their order.
fn trial_times(said: &str) -> Result<Vec<f64>> {
    let times = said.lines().filter_map(|line| line.trim().strip_prefix("Trial Time:"));
    times
        .map(|time| {
            let seconds =
                time.trim().parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
            let wrong = || Error::new(ErrorKind::Corrupt, format!("GAPBS says a trial took {time:?}"));
            // A shorter one is printed as zero, by which nothing can be divided.
            seconds.map(|seconds| seconds.max(RESOLUTION)).ok_or_else(wrong)
        })
        .collect()
}

/// Whether each `Verification:` passed; `None` if there is none.
fn verified(said: &str) -> Option<bool> {
    let verdicts = said.lines().filter_map(|line| line.trim().strip_prefix("Verification:"));
    verdicts.map(|verdict| verdict.trim() == "PASS").reduce(|one, other| one && other)
}

/// The whole number that a line has between two texts, which begin and end it or go on.
fn number_between(said: &str, before: &str, after: &str) -> Option<u64> {
    said.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(before)?;
        rest[..rest.find(after)?].parse().ok()
    })
}

fn last_line(said: &str) -> &str {
    said.lines().last().unwrap_or("nothing was said")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Read Time:           1.20134\nBuild Time:          0.70021\n\
                        Graph has 131072 nodes and 3939778 directed edges for degree: 30\n\
                        Trial Time:          0.05713\nBFS Tree has 90125 nodes and 3900000 edges\n\
                        Verification:                  PASS\nVerification Time:   0.2\n\
                        Trial Time:          0.00000\nAverage Time:        0.05713\n";

    #[test]
    fn what_gapbs_prints_is_understood() {
        assert_eq!(trial_times(SAID).unwrap(), [0.05713, RESOLUTION]);
        assert_eq!(verified(SAID), Some(true));
        assert_eq!(verified(&SAID.replace("PASS", "FAIL")), Some(false));
        assert_eq!(verified("Trial Time: 1\n"), None, "who doesn't check hasn't passed");
        assert_eq!(number_between(SAID, "BFS Tree has ", " nodes"), Some(90_125));
        assert_eq!(number_between("3 biggest\n46480138 triangles\n", "", " triangles"), Some(46_480_138));
        assert_eq!(number_between(SAID, "There are ", " components"), None);
        assert!(trial_times("Trial Time: soon\n").is_err());
    }

    #[test]
    fn answers_are_counted_as_gapbs_counts() {
        let far = Bfs::UNREACHED;
        assert_eq!(counted(Kernel::Bfs, &Answer::Labels(vec![1, 0, far, 1, far]), 4), 3);
        assert_eq!(counted(Kernel::Wcc, &Answer::Labels(vec![0, 0, 2, 0, 4]), 4), 2);
        assert_eq!(counted(Kernel::Sssp, &Answer::Numbers(vec![0.0, f64::INFINITY, 5.0]), 3), 2);
        assert_eq!(counted(Kernel::Triangles, &Answer::Sum(9), 3), 9);
    }
}
