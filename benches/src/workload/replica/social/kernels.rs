//! Kernels: PageRank, WCC and SSSP of persons and posts while the replica follows, beside the same reloaded into a static array.
//!
//! The graph is that of the paper: persons and posts, with who wrote, who likes and who knows whom. Every edge weighs 1.
//!
//! Source: GART (USENIX ATC 2023), table 2, graph analytics.

use crate::goals::baseline::{RELOAD, STATIC, WITHOUT};
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::pool::pool;
use crate::workload::replica::network::{beside_a_writer, catch_up};
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
use evergraph_measure::kernel::Kernel;
use std::collections::HashMap;

const KERNELS: [Kernel; 3] = [Kernel::PageRank, Kernel::Wcc, Kernel::Sssp];

/// Measures each kernel.
///
/// # Errors
/// `corrupt` if an answer is not that of the static array; those of server and replica.
pub fn measure(work: &mut Work<'_>, bench: &Bench, network: &Network) -> Result<()> {
    let (pool, replica) = (pool(1)?, &network.followed);
    let source = network.pools.persons[0];
    for kernel in KERNELS {
        let mut race = Race::new([OURS, WITHOUT, RELOAD, STATIC]);
        for round in 0..bench.plan.rounds {
            let mut times = [0.0; 4];
            for place in order(round, times.len()) {
                let ours = || pool.install(|| median_time(|| run(replica, kernel, source).map(drop)));
                times[place] = match place {
                    0 => beside_a_writer(bench, NAME, ours)?,
                    1 => {
                        catch_up(&network.replica)?;
                        ours()?
                    }
                    2 => beside_a_writer(bench, NAME, || {
                        pool.install(|| {
                            median_time(|| Reloaded::read(bench, kernel)?.run(kernel, source).map(drop))
                        })
                    })?,
                    _ => {
                        let reloaded = pool.install(|| Reloaded::read(bench, kernel))?;
                        beside_a_writer(bench, NAME, || {
                            pool.install(|| median_time(|| reloaded.run(kernel, source).map(drop)))
                        })?
                    }
                };
            }
            race.note(&times);
        }
        catch_up(&network.replica)?;
        let [ours, theirs] = pool.install(|| -> Result<_> {
            Ok([run(replica, kernel, source)?, Reloaded::read(bench, kernel)?.run(kernel, source)?])
        })?;
        expect_same(kernel, &ours, &theirs)?;
        let title =
            format!("{}, 1 thread, persons and posts, while 1,000 posts change a second", kernel.title());
        let name = format!("replica.interactive.{}", kernel.name());
        let heading = Heading::new(name, title, Unit::Seconds).with("vertices", ours.len());
        work.add_race(&heading, &race);
    }
    work.note("persons and posts: reload reads the tables by COPY, numbers the ids, makes a static array and runs on that; static is the run alone, on an array that is there already");
    Ok(())
}

fn direction(kernel: Kernel) -> Direction {
    if kernel == Kernel::Sssp { Direction::Out } else { Direction::Both }
}

/// The answer on a new snapshot.
fn run(database: &Database, kernel: Kernel, source: i64) -> Result<Vec<f64>> {
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
    let answer = kernel.run(&lists, source)?;
    Ok(comparable(&answer, lists.vertices().iter()))
}

/// A static array of what COPY reads.
struct Reloaded {
    numbers: HashMap<i64, u32>,
    lists: Lists,
}

impl Reloaded {
    fn read(bench: &Bench, kernel: Kernel) -> Result<Self> {
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
        let lists = static_lists(numbers.len(), &edges, kernel)?;
        Ok(Self { numbers, lists })
    }

    fn run(&self, kernel: Kernel, source: i64) -> Result<Vec<f64>> {
        let missing = || Error::new(ErrorKind::Corrupt, "the source has no such person");
        let source = VertexId(*self.numbers.get(&source).ok_or_else(missing)?);
        let answer = kernel.run(&self.lists, source)?;
        Ok(comparable(&answer, self.lists.vertices().iter()))
    }
}

fn static_lists(vertices: usize, edges: &[(u32, u32)], kernel: Kernel) -> Result<Lists> {
    let vertices = u32::try_from(vertices).map_err(|_| Error::invalid("a network of 2^32 vertices"))?;
    let weights = (kernel == Kernel::Sssp).then(|| vec![1.0; edges.len()]);
    let vertices = VertexSet::full(vertices);
    Ok(Lists::from(StaticCsr::new(vertices, edges, weights.as_deref(), direction(kernel))?))
}
