//! Social: LinkBench's mix under both isolation levels, each contention, durability mode and number of threads.

use crate::bench::section::Section;
use crate::bench::transactions::contest::{Contest, THREADS};
use crate::bench::transactions::plan::Work;
use crate::bench::transactions::told::Told;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::Result;
use evergraph_measure::clients::{self, transact};
use evergraph_measure::social::client::Client;
use evergraph_measure::social::graph::SocialGraph;
use evergraph_measure::social::network::Network;
use evergraph_measure::social::operation::{Mix, Shares};
use evergraph_measure::social::perform::perform;
use evergraph_measure::social::shape::Degrees;
use evergraph_terminal::number::count;
use std::time::Duration;

const PURPOSE: u64 = 300;
/// More log than a run writes: checkpoints are made between rounds.
const NO_CHECKPOINT: u64 = u64::MAX / 4;

/// A graph, how it is committed to, and its contests.
struct Arena {
    database: Database,
    graph: SocialGraph,
    mix: Mix,
    clients: Vec<Client>,
    contests: Vec<Contest>,
}

/// Measures the mix.
///
/// # Errors
/// `cancelled`; what the file of distributions, reading and writing meet.
pub fn measure(work: &Work<'_>) -> Result<Told> {
    let degrees = match &work.plan.distributions {
        Some(path) => Degrees::read(path)?,
        None => Degrees::PowerLaw,
    };
    let mut arenas = Vec::new();
    for (mode, durability) in
        [("none", Durability::None), ("interval", Durability::Interval(Duration::from_millis(10)))]
    {
        for (contention, nodes) in [("low", work.plan.nodes), ("high", work.plan.hot_nodes)] {
            let name = format!("social.{mode}.{contention}");
            let title = format!("{contention} contention, mode `{mode}`");
            arenas.push(Arena::open(work, &degrees, durability, nodes, (&name, &title))?);
        }
    }
    let links: Vec<String> = arenas[..2].iter().map(Arena::links).collect::<Result<_>>()?;
    let meter = work.console.meter();
    for round in 0..work.plan.rounds {
        for arena in &mut arenas {
            work.round(&meter, "LinkBench's mix", round)?;
            arena.round(round, work.plan.run_time)?;
        }
    }
    let contests = arenas.iter().flat_map(|arena| &arena.contests);
    let (rows, figures): (Vec<_>, Vec<_>) =
        contests.map(|contest| (contest.row(), contest.figures())).unzip();
    for arena in arenas {
        arena.database.close()?;
    }
    let (nodes, hot) = (count(work.plan.nodes.into()), count(work.plan.hot_nodes.into()));
    Ok(Told {
        section: Section {
            title: "LinkBench's default mix, 69 % reads and 31 % writes, an operation a transaction"
                .to_owned(),
            figures: figures.into_iter().flatten().collect(),
            notes: vec![
                format!("low contention: {nodes} nodes, {} links; high: {hot} nodes, {}", links[0], links[1]),
                format!("{}; Zipf's for accesses", degrees.title()),
                "clients are threads of this process, and draw their operations within the time".to_owned(),
                "no checkpoint is made during runs; merges go on and take their share of the cores"
                    .to_owned(),
            ],
        },
        columns: Contest::COLUMNS.to_vec(),
        rows,
    })
}

impl Arena {
    fn open(
        work: &Work<'_>,
        degrees: &Degrees,
        durability: Durability,
        nodes: u32,
        (name, title): (&str, &str),
    ) -> Result<Self> {
        let options = Options { durability, checkpoint_after_bytes: NO_CHECKPOINT, ..Options::default() };
        let database = Database::open_with(work.folder.join(name), &options)?;
        let mut random = Random::new(work.plan.seed, PURPOSE, 0);
        let network = Network::new(degrees, nodes, &mut random);
        let graph = SocialGraph::load(&database, network, work.cancel)?;
        let mix = Mix::new(Shares::DEFAULT, nodes, &mut random);
        let most = THREADS.into_iter().max().unwrap_or(1);
        let clients =
            (1..=most as u64).map(|client| Client::new(Random::new(work.plan.seed, PURPOSE, client), 0));
        let contests = THREADS.iter().map(|threads| Contest::new(name, title, *threads));
        Ok(Self { database, graph, mix, clients: clients.collect(), contests: contests.collect() })
    }

    fn links(&self) -> Result<String> {
        self.database.statistics().map(|statistics| count(statistics.edges_count()))
    }

    fn round(&mut self, round: usize, time: Duration) -> Result<()> {
        let Self { database, graph, mix, clients, contests } = self;
        for contest in contests {
            let threads = contest.threads();
            contest.round(round, |isolation| {
                let step = |client: &mut Client| {
                    let mut attempts = 0;
                    client.step(&graph.network, mix, |operation, time| {
                        let done = transact(database, isolation, |tx| perform(tx, graph, operation, time))?;
                        attempts = done.1;
                        Ok(done.0)
                    })?;
                    Ok(attempts)
                };
                clients::run(&mut clients[..threads], time, step)
            })?;
        }
        database.checkpoint()?;
        Ok(())
    }
}
