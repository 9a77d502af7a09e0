//! Goals: what each figure should reach, in one table, with what papers claim of theirs.
//!
//! A ratio is always ours divided by the peer's, of the same runs; a goal without a peer is of our figure
//! alone.

/// What a number should be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
}

impl Bound {
    /// Whether `value` is as it should be.
    #[must_use]
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    /// The same bound, looser by `more`.
    #[must_use]
    pub fn widened(self, more: f64) -> Self {
        match self {
            Self::AtLeast(bound) => Self::AtLeast(bound - more),
            Self::AtMost(bound) => Self::AtMost(bound + more),
        }
    }

    /// As people read it, of numbers that `show` shows.
    #[must_use]
    pub fn text(self, show: impl Fn(f64) -> String) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {}", show(bound)),
            Self::AtMost(bound) => format!("at most {}", show(bound)),
        }
    }
}

/// A goal of one figure, or of all whose names begin alike.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// A figure's name; with `*` at its end, the beginning of names.
    figure: &'static str,
    /// Which peers it is against; none for our figure alone.
    peers: &'static [&'static str],
    /// Of the ratio, or of our figure.
    pub bound: Bound,
    /// What somebody else claims for the like.
    pub claim: Option<&'static str>,
}

const fn against(figure: &'static str, peers: &'static [&'static str], bound: Bound) -> Goal {
    Goal { figure, peers, bound, claim: None }
}

const fn alone(figure: &'static str, bound: Bound) -> Goal {
    Goal { figure, peers: &[], bound, claim: None }
}

const fn claimed(claim: &'static str, goal: Goal) -> Goal {
    Goal { claim: Some(claim), ..goal }
}

use Bound::{AtLeast, AtMost};

/// The baselines that are no engines.
pub mod baseline {
    /// Our kernel on compressed sparse rows.
    pub const STATIC: &str = "static";
    /// A page written over and synced, again and again.
    pub const DISK: &str = "disk";
    /// Ours with one client.
    pub const ONE_CLIENT: &str = "one client";
    /// The same run without what is measured.
    pub const WITHOUT: &str = "without";
    /// The same query, each child for a row alone.
    pub const ROW_BY_ROW: &str = "row by row";
    /// The same at the stricter level of isolation.
    pub const SERIALIZABLE: &str = "serializable";
    /// By an index.
    pub const INDEX: &str = "index";
    /// A loop written by hand on the same snapshot.
    pub const LOOP: &str = "loop";
    /// Reading all bytes of the files.
    pub const BYTES: &str = "bytes";
    /// Lists of whole numbers, as the engine keeps them.
    pub const PLAIN: &str = "plain";
    /// The GAP benchmark suite's own programs.
    pub const GAPBS: &str = "gapbs";
    /// The process that has the database open to write.
    pub const WRITER: &str = "writing process";
    /// The same while nobody else asks.
    pub const ALONE: &str = "alone";
    /// Decodes the changes of the same source, and applies nothing.
    pub const PLAIN_READER: &str = "plain reader";
    /// The same read in SQL, at the source.
    pub const SQL: &str = "sql";
    /// PostgreSQL's COPY of the same rows, by one connection.
    pub const COPY: &str = "copy";
    /// A static array made of rows read by COPY, then the same question.
    pub const RELOAD: &str = "reload";
    /// An array of records in this process.
    pub const RECORDS: &str = "records";
    /// An array a property in this process.
    pub const ARRAYS: &str = "plain arrays";
    /// A single store with the whole graph.
    pub const ONE_STORE: &str = "one store";
    /// An append to the log alone, of as many and as large messages.
    pub const APPEND: &str = "append";
    /// The node that is asked takes all steps of a query, and asks others for what they keep.
    pub const REMOTE_VIEW: &str = "remote view";
    /// All clients at one node of a cluster.
    pub const AT_ONE_NODE: &str = "at one node";
    /// A cluster that commits, without the node that starts again.
    pub const WRITING: &str = "cluster";
    /// What a node would have of a single store's, or read of what one node reads, if all were spread evenly and cost nothing: R/N, 1/N.
    pub const SHARE: &str = "its share";
}

const STATIC: &[&str] = &[baseline::STATIC];
const DISK: &[&str] = &[baseline::DISK];
const WITHOUT: &[&str] = &[baseline::WITHOUT];
const STATIC_OR_QUIET: &[&str] = &[baseline::STATIC, baseline::WITHOUT];
const PLAIN_READER: &[&str] = &[baseline::PLAIN_READER];
/// TinkerPop's own server.
const REFERENCE_SERVER: &[&str] = &["tinkergraph server"];
const NEO4J_SERVER: &[&str] = &["neo4j server"];
const JANUSGRAPH_SERVER: &[&str] = &["janusgraph server"];
const FASTEST: &[&str] = &["rocksdb", "lmdb"];
/// Every engine that keeps what is written: a goal against the best of them is one against each.
const ENGINES: &[&str] = &["rocksdb", "lmdb", "redb", "fjall"];
const LIVEGRAPH_PAGERANK: &str = "LiveGraph (2020), table 10: 1.71x Gemini's time, 266 ms beside 156 ms";
const GART_PAGERANK: &str = "GART (2023), table 2: 1.22x the time on static data, 377 ms beside 309 ms";

/// Every goal; the first that fits a figure counts. A claim names its paper and its table, figure or section:
/// its row in `docs/benchmarks/papers.md`, which `tidy` checks.
pub const GOALS: &[Goal] = &[
    claimed(LIVEGRAPH_PAGERANK, against("live.pagerank.fresh_1.*", STATIC, AtMost(1.05))),
    claimed(LIVEGRAPH_PAGERANK, against("live.pagerank.fresh_0.*", STATIC, AtMost(1.05))),
    claimed(GART_PAGERANK, against("live.pagerank.writer.*", STATIC, AtMost(1.15))),
    against("live.scan.fresh_0.*", STATIC, AtMost(1.1)),
    claimed(
        "GART (2023), figure 10a: 35 % fewer edges/s than CSR, which is 1.54x its time",
        against("live.scan.fresh_1.*", STATIC, AtMost(1.1)),
    ),
    against("live.bfs.fresh_1.*", STATIC, AtMost(1.15)),
    claimed(
        "GART (2023), table 2: 1.18x the time on static data, 513 ms beside 433 ms",
        against("live.sssp.fresh_1.*", STATIC, AtMost(1.15)),
    ),
    claimed(
        "GART (2023), table 2: 1.16x the time on static data; LiveGraph (2020), table 10: 4.06x Gemini's",
        against("live.wcc.fresh_1.*", STATIC, AtMost(1.15)),
    ),
    against("live.betweenness.fresh_1.*", STATIC, AtMost(1.15)),
    against("live.triangles.fresh_1.*", STATIC, AtMost(1.15)),
    against("packed.scan.*", &[baseline::PLAIN], AtMost(1.15)),
    against("packed.scores.*", &[baseline::PLAIN], AtMost(1.15)),
    alone("packed.bytes*", AtMost(6.0)),
    against("static.*", &[baseline::GAPBS], AtMost(1.1)),
    claimed(
        "LiveGraph (2020), figure 8a: 1.54x RocksDB with 100 % writes, durable, 24 clients",
        against("insert.one.*", FASTEST, AtLeast(2.0)),
    ),
    alone("insert.one.*", AtLeast(1_000_000.0)),
    alone("insert.batch_1000.*", AtLeast(3_000_000.0)),
    against("insert.batch_1000.*", FASTEST, AtLeast(8.0)),
    against("durable.clients_1.edges_1", DISK, AtLeast(0.9)),
    against("durable.clients_64.edges_1", &[baseline::ONE_CLIENT], AtLeast(20.0)),
    claimed("LiveGraph (2020), published code: 71 B an edge, run by us", alone("memory.hot", AtMost(11.0))),
    alone("memory.cold", AtMost(9.0)),
    against("held_snapshot.commits", WITHOUT, AtLeast(0.95)),
    against("held_snapshot.memory", WITHOUT, AtMost(2.0)),
    claimed(
        "LiveGraph (2020), section 7.2: LinkBench 6.5 % slower beside a checkpointer",
        against("checkpoint.commits", WITHOUT, AtLeast(0.935)),
    ),
    against("restart.open", &[baseline::BYTES], AtMost(1.5)),
    alone("restart.open", AtMost(2.0)),
    claimed(
        "LiveGraph (2020), figure 5: 2.71x LMDB, 8.77 M beside 3.24 M requests/s, each at its peak",
        against("linkbench.tao.clients_24", ENGINES, AtLeast(2.5)),
    ),
    claimed(
        "LiveGraph (2020), figure 6: 2.02x RocksDB, 460 K beside 228 K requests/s, each at its peak",
        against("linkbench.dflt.clients_24", ENGINES, AtLeast(2.0)),
    ),
    claimed(
        "LiveGraph (2020), figure 8a: 1.54x RocksDB, 113 K beside 73 K requests/s",
        against("linkbench.writes_100.clients_24", &["rocksdb"], AtLeast(1.5)),
    ),
    against("disk.insert.one", &["rocksdb"], AtLeast(1.5)),
    against("disk.insert.one.checked", &["rocksdb"], AtLeast(5.0)),
    against("disk.insert.batch_1000", &["rocksdb"], AtLeast(2.5)),
    against("disk.insert.batch_1000.checked", &["rocksdb"], AtLeast(5.0)),
    alone("disk.load", AtLeast(2_000_000.0)),
    alone("disk.load.bytes", AtMost(7.3)),
    alone("disk.open", AtMost(3.0)),
    alone("disk.read.out_list.cold.pages", AtMost(2.5)),
    alone("disk.read.in_list.cold.pages", AtMost(2.5)),
    alone("disk.read.no_list.cold.pages", AtMost(0.05)),
    claimed(
        "LiveGraph (2020), table 5: TAO out of core, the mean 2.19x better than LMDB's",
        against("disk.linkbench.tao.clients_2.mean", &["lmdb"], AtMost(1.0 / 2.19)),
    ),
    claimed(
        "LiveGraph (2020), table 6: DFLT out of core, the mean 1.79x better than RocksDB's",
        against("disk.linkbench.dflt.clients_2.mean", &["rocksdb"], AtMost(1.0 / 1.79)),
    ),
    alone("disk.newest_10.pages", AtMost(10.0)),
    alone("disk.kernel.scan_share", AtLeast(0.7)),
    against("disk.kernel.sssp", &["rocksdb"], AtMost(0.1)),
    against("disk.kernel.sssp.writer", WITHOUT, AtMost(1.6)),
    against("disk.kernel.warm.sssp.writer", WITHOUT, AtMost(1.6)),
    against("disk.kernel.warm.*", &["memory engine"], AtMost(4.0)),
    against("import.csv", &["duckdb"], AtMost(1.0 / 0.7)),
    against("query.walks.*", &[baseline::LOOP], AtMost(2.0)),
    against("query.reached.*", &[baseline::LOOP], AtMost(2.0)),
    against("query.child*", &[baseline::ROW_BY_ROW], AtMost(1.0 / 3.0)),
    alone("query.short*", AtMost(20e-6)),
    alone("query.walks_of_8", AtMost(10e-3)),
    against("server.rate.look_up.*", REFERENCE_SERVER, AtLeast(3.0)),
    against("server.rate.rows.*", REFERENCE_SERVER, AtLeast(2.0)),
    against("server.rate.two_hops.*", REFERENCE_SERVER, AtLeast(5.0)),
    against("server.rate.writes.sync.clients_64", &[baseline::ONE_CLIENT], AtLeast(10.0)),
    against("server.p99.heavy.*", &[baseline::ALONE], AtMost(3.0)),
    claimed(
        "G-Tran (2022), table 3: IC1 to IC4 1.3 to 19 x as fast as Neo4j",
        against("server.p50.snb.ic_*", NEO4J_SERVER, AtMost(1.0 / 1.3)),
    ),
    claimed(
        "G-Tran (2022), table 3: IC1 to IC4 27 to 375 x as fast as JanusGraph",
        against("server.p50.snb.ic_*", JANUSGRAPH_SERVER, AtMost(1.0 / 27.0)),
    ),
    claimed(
        "G-Tran (2022), table 3: IS1 to IS4 1.5 to 4 x as fast as Neo4j",
        against("server.p50.snb.is_*", NEO4J_SERVER, AtMost(1.0 / 1.5)),
    ),
    alone("server.logins", AtLeast(1_000.0)),
    alone("server.idle.*", AtMost(64.0 * 1024.0)),
    alone("server.start", AtMost(1.0)),
    alone("replica.freshness.later.p50.rate_1000", AtMost(0.5e-3)),
    alone("replica.freshness.later.p99.rate_1000", AtMost(2e-3)),
    alone("replica.freshness.later.p50.small_1000", AtMost(0.5e-3)),
    alone("replica.freshness.later.p99.small_1000", AtMost(2e-3)),
    claimed(
        "GART (2023), table 2, freshness: 18 ms, epochs of 15 ms included",
        alone("replica.freshness.max.rate_1000", AtMost(18e-3)),
    ),
    against("replica.freshness.large", PLAIN_READER, AtMost(2.0)),
    against("replica.sustained.updates", PLAIN_READER, AtLeast(0.7)),
    against("replica.sustained.vertices", PLAIN_READER, AtLeast(0.5)),
    alone("replica.sustained.*", AtLeast(50_000.0)),
    against("replica.source.transactions", PLAIN_READER, AtLeast(0.97)),
    claimed(
        "GART (2023), table 2, transactions: 1,837 K transactions/s with analysis in real time, 1,929 K with offline loads",
        against("replica.source.transactions", WITHOUT, AtLeast(0.95)),
    ),
    claimed(
        "GART (2023), figure 9b: 12 % slower as the clients of transactions grow to five",
        against("replica.analytics.pagerank", WITHOUT, AtMost(1.12)),
    ),
    against("replica.epochs.applier", WITHOUT, AtLeast(0.95)),
    against("replica.epochs.memory", WITHOUT, AtMost(1.1)),
    against("replica.copy", &[baseline::COPY], AtLeast(0.5)),
    alone("replica.copy", AtLeast(300_000.0)),
    claimed(
        "GART (2023), figure 9a: 0.99 of the rate of transactions while analysis runs",
        against("replica.split.transactions", WITHOUT, AtLeast(0.98)),
    ),
    claimed(
        "LiveGraph (2020), table 7: complex reads only, 2,403x PostgreSQL and 31.19x Virtuoso",
        against("replica.interactive.complex.*", &[baseline::SQL], AtLeast(10.0)),
    ),
    claimed(
        "LiveGraph (2020), table 7: the mix, 180x PostgreSQL and 36.43x Virtuoso",
        against("replica.interactive.mixed.*", &[baseline::SQL], AtLeast(5.0)),
    ),
    // On one network a snapshot takes more time than a kernel.
    claimed(
        "GART (2023), table 2, algorithms: PageRank on SNB 1.22x the time on a static graph",
        against("replica.interactive.pagerank.copies_50", &[baseline::STATIC], AtMost(1.22)),
    ),
    claimed(
        "GART (2023), table 2, algorithms: CC on SNB 1.16x the time on a static graph",
        against("replica.interactive.wcc.copies_50", &[baseline::STATIC], AtMost(1.16)),
    ),
    claimed(
        "GART (2023), table 2, algorithms: SSSP on SNB 1.18x the time on a static graph",
        against("replica.interactive.sssp.copies_50", &[baseline::STATIC], AtMost(1.18)),
    ),
    claimed(
        "GART (2023), table 2, networks: GCN 1.17x the time on a static graph",
        against("replica.gnn.gcn.*", STATIC_OR_QUIET, AtMost(1.25)),
    ),
    claimed(
        "GART (2023), table 2, networks: GraphSAGE 1.23x the time on a static graph",
        against("replica.gnn.graphsage.*", STATIC_OR_QUIET, AtMost(1.25)),
    ),
    claimed(
        "GART (2023), table 2, networks: SGC 1.09x the time on a static graph",
        against("replica.gnn.sgc.*", STATIC_OR_QUIET, AtMost(1.25)),
    ),
    claimed(
        "GART (2023), figure 14a: column families read one property 5.9x as fast as rows",
        against("layouts.read.*", &[baseline::RECORDS], AtLeast(1.0 / 1.5)),
    ),
    claimed(
        "DGAP (2023), table 3: 1.86 to 2.59 million edges/s by one writer",
        alone("mapped.insert.degree_16.threads_1", AtLeast(1_900_000.0)),
    ),
    claimed(
        "DGAP (2023), figure 7: PageRank 1.37x the time on CSR",
        against("mapped.pagerank.*", STATIC, AtMost(1.4)),
    ),
    // DGAP's are durable one by one, so its claim is not ours.
    alone("mapped.segments.insert.items_8", AtLeast(1_900_000.0)),
    alone("mapped.segments.bytes.items_8", AtMost(50.0)),
    against("mapped.segments.items_8.pagerank.*", STATIC, AtMost(1.2)),
    claimed(
        "DGAP (2023), figure 7: PageRank 1.37x the time on CSR",
        against("mapped.segments.worst.pagerank.*", STATIC, AtMost(1.4)),
    ),
    alone("mapped.commits.bytes.*", AtMost(50.0)),
    // Beside the commits', those that begin a file of the log.
    alone("mapped.commits.fences.edges_1", AtMost(1.01)),
    alone("mapped.checkpoints.bytes.*", AtMost(3.0)),
    against("mapped_engine.insert.*", &["memory engine"], AtLeast(0.8)),
    claimed(
        "DGAP (2023), figure 7: PageRank 1.37x the time on CSR",
        against("mapped_engine.pagerank.*", STATIC, AtMost(1.2)),
    ),
    // And 10 ms a GB: see `openings`.
    alone("mapped_engine.open.*", AtMost(1.0)),
    alone("mapped_engine.readers.begin", AtMost(2e-6)),
    alone("mapped_engine.readers.visible.p99", AtMost(1e-3)),
    against("mapped_engine.readers.pagerank", &[baseline::WRITER], AtMost(1.05)),
    alone("mapped_engine.readers.memory", AtMost(33_554_432.0)),
    against("mapped_engine.readers.commits.beside_1", &[baseline::ALONE], AtLeast(0.9)),
    alone("cluster.certify.one", AtLeast(500_000.0)),
    against("cluster.records.*", &[baseline::SHARE], AtMost(1.2)),
    against("cluster.bytes.*", &[baseline::SHARE], AtMost(1.3)),
    against("cluster.memory.*", &[baseline::SHARE], AtMost(1.3)),
    alone("cluster.log.rate.clients_128", AtLeast(8_000.0)),
    alone("cluster.log.beyond_append.*", AtMost(3e-3)),
    against("cluster.log.restart.applied", &[baseline::WRITING], AtLeast(5.0)),
    against("cluster.refused.*", &[baseline::ONE_STORE], AtMost(1.3)),
    against("cluster.hops_3.time.*", &[baseline::REMOTE_VIEW], AtMost(0.5)),
    against("cluster.hops_3.bytes.*", &[baseline::REMOTE_VIEW], AtMost(1.0 / 3.0)),
    against("cluster.hops_3.edges.*", &[baseline::SHARE], AtMost(1.2)),
    alone("cluster.loss.node.reads", AtMost(0.5)),
    alone("cluster.loss.node.counts", AtMost(0.5)),
    alone("cluster.loss.node.commits", AtMost(0.1)),
    alone("cluster.loss.leader.*", AtMost(2.0)),
    against("jvm.walks.*", &["tinkergraph"], AtMost(0.2)),
    against("jvm.reached.*", &["tinkergraph"], AtMost(0.2)),
    against("jvm.scan.*", &["tinkergraph"], AtMost(0.2)),
    claimed(
        "G-Tran (2022), table 6: IS1 to IS4 in 0.7 to 4.6 ms with an index, in 22.5 to 25.3 s without",
        against("look_up.time.*", WITHOUT, AtMost(0.1)),
    ),
    against("python.call.*", &["rust"], AtMost(1.05)),
    against("python.csr.*", &["numpy.copy"], AtMost(2.0)),
    alone("python.add_edges*", AtLeast(5_000_000.0)),
    against("python.library.*", &["networkit"], AtMost(1.0)),
    against("python.library.*", &["networkx"], AtMost(0.01)),
];

/// The goal of `figure` against `peer`, or of ours alone.
#[must_use]
pub fn goal(figure: &str, peer: Option<&str>) -> Option<&'static Goal> {
    GOALS.iter().find(|goal| {
        let named = match goal.figure.strip_suffix('*') {
            Some(beginning) => figure.starts_with(beginning),
            None => figure == goal.figure,
        };
        named && peer.map_or(goal.peers.is_empty(), |peer| goal.peers.contains(&peer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_found_by_figure_and_peer() {
        let bound = |figure, peer| goal(figure, peer).map(|goal| goal.bound);
        assert_eq!(bound("live.pagerank.fresh_1.threads_2", Some("static")), Some(AtMost(1.05)));
        assert_eq!(bound("live.pagerank.fresh_10.threads_2", Some("static")), None);
        assert_eq!(bound("live.pagerank.writer.threads_1", Some("static")), Some(AtMost(1.15)));
        assert_eq!(bound("insert.one.random", Some("lmdb")), Some(AtLeast(2.0)));
        assert_eq!(bound("insert.one.random", Some("redb")), None);
        assert_eq!(bound("insert.one.random", None), Some(AtLeast(1_000_000.0)));
        assert_eq!(bound("restart.open", None), Some(AtMost(2.0)));
        assert_eq!(bound("replica.interactive.sssp.copies_50", Some("static")), Some(AtMost(1.18)));
        assert_eq!(
            bound("replica.interactive.sssp.copies_1", Some("static")),
            None,
            "small graphs don't count"
        );
        assert_eq!(bound("static.bfs.threads_1", Some("gapbs")), Some(AtMost(1.1)));
        assert_eq!(bound("linkbench.tao.clients_24", Some("redb")), Some(AtLeast(2.5)));
        assert_eq!(bound("python.library.wcc.scale_14.threads_1", Some("networkx")), Some(AtMost(0.01)));
        assert_eq!(bound("python.add_edges.one_property.scale_18", None), Some(AtLeast(5_000_000.0)));
    }

    #[test]
    fn a_bound_is_met_at_its_value() {
        assert!(AtLeast(2.0).is_met(2.0) && !AtLeast(2.0).is_met(1.99));
        assert!(AtMost(1.07).is_met(1.07) && !AtMost(1.07).is_met(1.08));
        assert_eq!(AtMost(1.07).text(|bound| format!("{bound:.2} x")), "at most 1.07 x");
        assert_eq!(AtMost(1.0).widened(0.5), AtMost(1.5));
        assert_eq!(AtLeast(1.0).widened(0.5), AtLeast(0.5));
    }
}
