//! Kernels: PageRank, WCC and SSSP of persons and posts while the replica follows, beside the same reloaded into a static array.
//!
//! The graph is that of the paper: persons and posts, with who wrote, who likes and who knows whom. Every edge weighs 1. Neo4j, embedded,
//! has the same edges, and is written to as often as the source.
//!
//! Source: GART (USENIX ATC 2023), table 2, graph analytics.

use crate::goals::baseline::{RELOAD, STATIC, WITHOUT};
use crate::plan::Work;
use crate::race::{Race, order};
use crate::workload::pool::pool;
use crate::workload::replica::neo4j::worker::{NEO4J, Neo4j};
use crate::workload::replica::network::post_writer::{CHANGED_POSTS, INTERVAL, PostWriter};
use crate::workload::replica::readers::catch_up;
use crate::workload::replica::reload::{comparable, copy_numbers, expect_same, median_time};
use crate::workload::replica::social::{NAME, Network};
use crate::workload::replica::{Bench, OURS};
use evergraph::{Database, ReadByName as _};
use evergraph_algorithms::csr::StaticCsr;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Projection, Topology as _, Weight};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::{Freeze as _, GraphView as _};
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Answer, Kernel};
use std::collections::HashMap;

const KERNELS: [Kernel; 3] = [Kernel::PageRank, Kernel::Wcc, Kernel::Sssp];

/// Measures each kernel.
///
/// # Errors
/// `corrupt` if an answer is not that of the static array; those of server and replica.
pub fn measure(work: &mut Work<'_>, bench: &Bench, network: &Network) -> Result<()> {
    let (pool, replica) = (pool(1)?, &network.followed);
    let source = network.pools.persons[0];
    let mut neo4j = EdgesInNeo4j::start(work, bench, source)?;
    let mut writer = PostWriter::new(bench, NAME)?;
    for kernel in KERNELS {
        let names = [OURS, WITHOUT, RELOAD, STATIC].into_iter();
        let names: Vec<_> = names.chain(neo4j.is_some().then_some(NEO4J)).collect();
        let mut race = Race::new(names.iter().copied());
        for round in 0..bench.plan.rounds {
            let mut times = vec![0.0; names.len()];
            for place in order(round, times.len()) {
                let ours = || pool.install(|| median_time(|| run(replica, kernel, source).map(drop)));
                times[place] = match place {
                    0 => writer.beside(ours)?,
                    1 => {
                        catch_up(&network.replica)?;
                        ours()?
                    }
                    2 => writer.beside(|| {
                        pool.install(|| {
                            median_time(|| Reloaded::read(bench, kernel)?.run(kernel, source).map(drop))
                        })
                    })?,
                    3 => {
                        let reloaded = pool.install(|| Reloaded::read(bench, kernel))?;
                        writer.beside(|| {
                            pool.install(|| median_time(|| reloaded.run(kernel, source).map(drop)))
                        })?
                    }
                    _ => {
                        let neo4j = neo4j.as_mut().expect("it is in a race only where it is there");
                        neo4j.time(kernel)?
                    }
                };
            }
            race.note(&times);
        }
        catch_up(&network.replica)?;
        let vertices = pool.install(|| -> Result<u64> {
            let (answer, lists) = run(replica, kernel, source)?;
            let ours = comparable(&answer, lists.vertices().iter());
            let reloaded = Reloaded::read(bench, kernel)?;
            let theirs = comparable(&reloaded.run(kernel, source)?, reloaded.lists.vertices().iter());
            expect_same(kernel, &ours, &theirs)?;
            Ok(lists.vertices().len())
        })?;
        let title =
            format!("{}, 1 thread, persons and posts, while 1,000 posts change a second", kernel.title());
        let heading = network.heading(kernel.name(), &title, Unit::Seconds).with("vertices", vertices);
        work.add_race(&heading, &race);
    }
    writer.note(work, "persons and posts");
    work.note("persons and posts: reload reads the tables by COPY, numbers the ids, makes a static array and runs on that; static is the run alone, on an array that is there already");
    if let Some(EdgesInNeo4j { neo4j, .. }) = neo4j {
        work.note(format!(
            "persons and posts: {NEO4J} has these edges without properties, and inserts them again, {CHANGED_POSTS} a transaction, a hundred transactions a second: {} in all; PageRank, WCC and SSSP (Dijkstra's algorithm, which reads no weights) over its API; {}",
            neo4j.written, neo4j.settings
        ));
        neo4j.note_repeated(work, "persons and posts");
    }
    Ok(())
}

fn direction(kernel: Kernel) -> Direction {
    if kernel == Kernel::Sssp { Direction::Out } else { Direction::Both }
}

/// The answer on a new snapshot, and the lists that have its vertices.
fn run(database: &Database, kernel: Kernel, source: i64) -> Result<(Answer, Lists)> {
    let snapshot = database.snapshot();
    let catalogue = snapshot.catalogue();
    let missing = || Error::new(ErrorKind::Corrupt, "the network has no persons who wrote posts");
    let labels: Option<Vec<_>> = ["Person", "Post"].map(|name| catalogue.label(name)).into_iter().collect();
    let types = ["KNOWS", "LIKES", "HAS_CREATOR"].map(|name| catalogue.edge_type(name));
    let types: Option<Vec<_>> = types.into_iter().collect();
    // None of these edges has one: each weighs 1.
    let key = catalogue.key("workFrom").ok_or_else(missing)?;
    let weight = (kernel == Kernel::Sssp).then_some(Weight { key, missing: Some(1.0) });
    let projection = Projection {
        labels: Some(labels.ok_or_else(missing)?),
        types: Some(types.ok_or_else(missing)?),
        weight,
        ..Projection::all(direction(kernel))
    };
    let lists = Lists::from(snapshot.freeze(&projection)?);
    let source = snapshot.find("Person", "id", source)?.ok_or_else(missing)?;
    Ok((kernel.run(&lists, source)?, lists))
}

/// Neo4j with the edges alone.
struct EdgesInNeo4j {
    neo4j: Neo4j,
    /// The vertex at which a search begins.
    source: u32,
}

impl EdgesInNeo4j {
    /// Loads what COPY reads and compares each kernel's answer with the static array's; `None` without a JVM.
    fn start(work: &mut Work<'_>, bench: &Bench, source: i64) -> Result<Option<Self>> {
        let Some(built) = Neo4j::built(work, bench, "persons and posts") else { return Ok(None) };
        let copied = CopiedEdges::read(bench)?;
        let vertices = copied.vertices_count()?;
        let first = number_of(&copied.numbers, source)?;
        let mut neo4j = Neo4j::start(built, &bench.folder.join("neo4j-social"), vertices, &copied.edges)?;
        for kernel in KERNELS {
            // Of the same copy: another one may have its rows, and so its numbers, in another order.
            let expected = kernel.run(&copied.lists(kernel)?, VertexId(first))?;
            neo4j.compare(kernel, first, &expected)?;
        }
        Ok(Some(Self { neo4j, source: first }))
    }

    /// Seconds of a kernel while edges are inserted, as often as posts change at our source.
    fn time(&mut self, kernel: Kernel) -> Result<f64> {
        let source = self.source;
        self.neo4j.beside_inserts(CHANGED_POSTS, INTERVAL, |neo4j| neo4j.run(kernel, source))
    }
}

/// What COPY reads: a number for each id of a person or a post, and edges between numbers.
struct CopiedEdges {
    numbers: HashMap<i64, u32>,
    edges: Vec<(u32, u32)>,
}

impl CopiedEdges {
    fn read(bench: &Bench) -> Result<Self> {
        let settings = bench.server.settings_of(NAME);
        let (mut numbers, mut edges, mut creators) = (HashMap::new(), Vec::new(), Vec::new());
        copy_numbers(&settings, "person", ["id"], |[id]| {
            let next = numbers.len() as u32;
            numbers.insert(id, next);
        })?;
        copy_numbers(&settings, "post", ["id", "creator"], |[id, creator]| {
            let next = numbers.len() as u32;
            numbers.insert(id, next);
            creators.push((id, creator));
        })?;
        let number = |id: i64| numbers.get(&id).copied();
        let mut add = |one: i64, other: i64| edges.extend(number(one).zip(number(other)));
        creators.into_iter().for_each(|(post, creator)| add(post, creator));
        for (table, columns) in [
            ("person_likes_post", ["Person.id", "Post.id"]),
            ("person_knows_person", ["Person.id", "Person.id2"]),
        ] {
            copy_numbers(&settings, table, columns, |[one, other]| {
                // As the mapping has friendships: from the smaller id.
                let is_turned = table == "person_knows_person" && other < one;
                if is_turned { add(other, one) } else { add(one, other) }
            })?;
        }
        Ok(Self { numbers, edges })
    }

    fn vertices_count(&self) -> Result<u32> {
        u32::try_from(self.numbers.len()).map_err(|_| Error::invalid("a network of 2^32 vertices"))
    }

    /// A static array of them.
    fn lists(&self, kernel: Kernel) -> Result<Lists> {
        let vertices = VertexSet::full(self.vertices_count()?);
        let weights = (kernel == Kernel::Sssp).then(|| vec![1.0; self.edges.len()]);
        Ok(Lists::from(StaticCsr::new(vertices, &self.edges, weights.as_deref(), direction(kernel))?))
    }
}

fn number_of(numbers: &HashMap<i64, u32>, id: i64) -> Result<u32> {
    let missing = || Error::new(ErrorKind::Corrupt, "the source has no such person");
    numbers.get(&id).copied().ok_or_else(missing)
}

/// A static array of what COPY reads.
struct Reloaded {
    numbers: HashMap<i64, u32>,
    lists: Lists,
}

impl Reloaded {
    fn read(bench: &Bench, kernel: Kernel) -> Result<Self> {
        let copied = CopiedEdges::read(bench)?;
        Ok(Self { lists: copied.lists(kernel)?, numbers: copied.numbers })
    }

    fn run(&self, kernel: Kernel, source: i64) -> Result<Answer> {
        kernel.run(&self.lists, VertexId(number_of(&self.numbers, source)?))
    }
}
