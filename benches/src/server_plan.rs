//! Plan of the part `server`: which graph, how long, how many connections, which program, and who stands beside it.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What is measured of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ServerPart {
    /// Look-ups by id and by index.
    LookUps,
    /// Counts of walks of two steps.
    TwoHops,
    /// Answers of 100,000 rows.
    Rows,
    /// Commits of one edge in each mode of durability.
    Writes,
    /// The same within `g.tx()`.
    Transactions,
    /// Connections that log in, ask once and end.
    Logins,
    /// Memory of a connection that sends nothing.
    Idle,
    /// The time to readiness.
    Start,
    /// Look-ups beside a heavy query.
    Heavy,
    /// LDBC's reads IS1 to IS4 and IC1 to IC4.
    Snb,
    /// Lissandrini's queries: reads only, 80 % and 20 % reads, at both isolation levels.
    Mixes,
}

/// Who stands beside it, each with a server of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ServerPeer {
    /// TinkerPop's Gremlin Server with TinkerGraph.
    Tinkergraph,
    /// Gremlin Server with JanusGraph on BerkeleyDB.
    Janusgraph,
    /// Neo4j's community edition, by HTTP.
    Neo4j,
}

/// How much is measured of a server.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerPlan {
    /// The program `evergraph`, whose `serve` is measured; without it the part is left out.
    pub program: Option<PathBuf>,
    /// What is measured.
    pub parts: Vec<ServerPart>,
    /// Who stands beside it.
    pub peers: Vec<ServerPeer>,
    /// Where Maven put the jars of peers: a folder for each.
    pub jars: Option<PathBuf>,
    /// The graph has 2^scale vertices (R-MAT).
    pub scale: u32,
    /// Runs of everything.
    pub rounds: usize,
    /// How long a run counts.
    pub run_time: Duration,
    /// How long a run goes on before it counts.
    pub warm_up: Duration,
    /// How long each server answers each question before its first run: a JVM compiles what is asked often.
    pub first_warm_up: Duration,
    /// Numbers of connections.
    pub connections: Vec<usize>,
    /// Rows of a large answer.
    pub rows: usize,
    /// Connections that send nothing.
    pub idle_connections: usize,
    /// What a paper measured.
    pub claims: ClaimsPlan,
}

/// How much is measured in the parts `snb` and `mixes`.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimsPlan {
    /// Numbers of connections.
    pub connections: Vec<usize>,
    /// Runs of each mix: each starts a server.
    pub mix_rounds: usize,
    /// How long a mix goes on before it counts; a JVM compiles meanwhile.
    pub mix_warm_up: Duration,
    /// How long it counts.
    pub mix_time: Duration,
    /// Queries that are encoded before a run.
    pub prepared: usize,
}

impl ServerPlan {
    /// The whole: an hour and a half with all peers.
    #[must_use]
    pub fn full() -> Self {
        Self {
            program: None,
            parts: ServerPart::value_variants().to_vec(),
            peers: ServerPeer::value_variants().to_vec(),
            jars: None,
            scale: 17,
            rounds: 5,
            run_time: Duration::from_secs(1),
            warm_up: Duration::from_millis(200),
            first_warm_up: Duration::from_secs(3),
            connections: vec![1, 8, 64, 1000],
            rows: 100_000,
            idle_connections: 1000,
            claims: ClaimsPlan {
                connections: vec![1, 8],
                mix_rounds: 3,
                mix_warm_up: Duration::from_secs(5),
                mix_time: Duration::from_secs(5),
                prepared: 100_000,
            },
        }
    }

    /// On a small graph: whether it works, not how fast.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            scale: 8,
            rounds: 1,
            run_time: Duration::from_millis(30),
            warm_up: Duration::ZERO,
            first_warm_up: Duration::ZERO,
            connections: vec![1, 64],
            rows: 200,
            idle_connections: 20,
            claims: ClaimsPlan {
                connections: vec![1, 8],
                mix_rounds: 1,
                mix_warm_up: Duration::ZERO,
                mix_time: Duration::from_millis(50),
                prepared: 100,
            },
            ..Self::full()
        }
    }

    /// Whether `part` is measured.
    #[must_use]
    pub fn has(&self, part: ServerPart) -> bool {
        self.parts.contains(&part)
    }
}

/// What of the plan may be chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "The part server")]
pub struct ServerArguments {
    /// The program `evergraph` that serves; without it the part is left out.
    #[arg(long, value_name = "PROGRAM")]
    server_program: Option<PathBuf>,
    /// Three short runs of everything: some minutes.
    #[arg(long)]
    server_quick: bool,
    /// These of its parts only.
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    server_parts: Option<Vec<ServerPart>>,
    /// Servers beside it: all whose jars are there.
    #[arg(long, value_delimiter = ',', value_name = "PEER")]
    server_peers: Option<Vec<ServerPeer>>,
    /// Where Maven put the jars of peers, a folder for each; without it nobody stands beside it.
    #[arg(long, value_name = "FOLDER")]
    server_jars: Option<PathBuf>,
    /// The graph has 2^SCALE vertices: 17.
    #[arg(long, value_name = "SCALE")]
    server_scale: Option<u32>,
    /// Numbers of connections: 1,8,64,1000.
    #[arg(long, value_delimiter = ',', value_name = "COUNT")]
    server_connections: Option<Vec<usize>>,
}

impl ServerArguments {
    /// Changes what was chosen.
    pub fn apply_to(&self, plan: &mut ServerPlan) {
        if self.server_quick {
            plan.rounds = plan.rounds.min(3);
            plan.run_time = plan.run_time.min(Duration::from_millis(400));
            plan.warm_up = plan.warm_up.min(Duration::from_millis(100));
            plan.first_warm_up = plan.first_warm_up.min(Duration::from_secs(2));
            plan.claims.mix_rounds = 1;
            plan.claims.mix_warm_up = plan.claims.mix_warm_up.min(Duration::from_secs(3));
            plan.claims.mix_time = plan.claims.mix_time.min(Duration::from_secs(2));
        }
        plan.program.clone_from(&self.server_program);
        plan.jars.clone_from(&self.server_jars);
        plan.scale = self.server_scale.unwrap_or(plan.scale);
        let choose =
            |from: &Option<Vec<usize>>, to: &mut Vec<usize>| from.iter().for_each(|from| to.clone_from(from));
        choose(&self.server_connections, &mut plan.connections);
        plan.connections.iter_mut().for_each(|count| *count = (*count).max(1));
        if let Some(parts) = &self.server_parts {
            plan.parts.clone_from(parts);
        }
        if let Some(peers) = &self.server_peers {
            plan.peers.clone_from(peers);
        }
    }
}
