//! Analysis: PageRank and the search for rings of fraud, on one live snapshot while writers go on.
//!
//! ```text
//! snapshot ── freeze ── PageRank ──> ranks        timed together: what an answer costs live
//!     │           └──── copy to a StaticCsr, PageRank on that: what it would cost on a dead graph
//!     └── freeze with amounts and times ── flow rings
//! ```
//!
//! How fresh an answer is: a snapshot lacks the commits that are not durable yet when it is taken; its
//! answer lacks those published until it is there, and is as old as freezing and computing took.

use crate::demo::network::{AMOUNT, TIME, TRANSFER};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::flow_rings::{FlowRing, FlowRingParameters};
use evergraph_algorithms::pagerank::{PageRank, PageRankParameters};
use evergraph_algorithms::scope::Scope;
use evergraph_analysis::kernels::{flow_rings, pagerank};
use evergraph_analysis::lists::Lists;
use evergraph_analysis::snapshot::Snapshot;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Weight;
use evergraph_graph::view::{Freeze as _, GraphView as _};
use evergraph_measure::kernel::static_copy;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The figures of one analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranked {
    /// Transfers in the snapshot.
    pub transfers: u64,
    /// To freeze the snapshot for PageRank.
    pub freeze: Duration,
    /// PageRank itself: 20 rounds.
    pub kernel: Duration,
    /// PageRank on a static graph of the same transfers, directly afterwards, if it was measured.
    pub static_kernel: Option<Duration>,
    /// Commits that the snapshot lacked when it was taken: published, and not durable yet.
    pub lacks_at_first: u64,
    /// Commits that it lacked when the ranks were there.
    pub lacks_at_last: u64,
    /// To freeze amounts and times, and to search for rings.
    pub rings: Duration,
    /// Commits that the log has taken since it was opened.
    pub commits: u64,
    /// Syncs that made them durable.
    pub syncs: u64,
}

impl Ranked {
    /// From taking the snapshot to having the ranks: what PageRank takes live, and how old its answer is.
    #[must_use]
    pub fn live(&self) -> Duration {
        self.freeze + self.kernel
    }

    /// Its share of the static graph's speed, freezing included; 1 is as fast.
    #[must_use]
    pub fn static_share(&self) -> Option<f64> {
        self.static_kernel.map(|time| time.as_secs_f64() / self.live().as_secs_f64())
    }
}

/// PageRank over transfers on `snapshot`, with the lists that it read and the times of freezing and of computing.
///
/// # Errors
/// `not_found` without transfers; `cancelled`; what freezing may meet.
pub fn rank(snapshot: &Snapshot, control: &Control<'_>) -> Result<(Lists, PageRank, Duration, Duration)> {
    let began = Instant::now();
    let lists = Lists::from(transfers(snapshot)?.freeze(snapshot, Direction::Both, None, control)?);
    let freeze = began.elapsed();
    let ranks = pagerank(&lists, &PageRankParameters::default(), &control.on_budget(snapshot.budget()))?;
    Ok((lists, ranks, freeze, began.elapsed() - freeze))
}

/// PageRank on a static copy of `lists`, and how long it took without the copying.
///
/// # Errors
/// `cancelled`; what reading may meet.
pub fn rank_static(lists: &Lists, control: &Control<'_>) -> Result<(PageRank, Duration)> {
    let copy = static_copy(lists)?;
    let began = Instant::now();
    let ranks = pagerank(&copy, &PageRankParameters::default(), control)?;
    Ok((ranks, began.elapsed()))
}

/// Rings among the transfers of `snapshot` from `since_ms` on (`None`: all).
///
/// # Errors
/// As [`rank`].
pub fn find_rings(
    snapshot: &Snapshot,
    since_ms: Option<i64>,
    control: &Control<'_>,
) -> Result<Vec<FlowRing>> {
    let scope = transfers(snapshot)?;
    let catalogue = snapshot.catalogue();
    let weighed = |name: &str| {
        let key = catalogue.key(name).ok_or_else(|| missing(format!("property {name}")))?;
        scope.freeze(snapshot, Direction::Out, Some(Weight { key, missing: None }), control).map(Lists::from)
    };
    let (amounts, times) = (weighed(AMOUNT)?, weighed(TIME)?);
    let since = since_ms.map_or(f64::NEG_INFINITY, |time_ms| time_ms as f64);
    let parameters = FlowRingParameters { since, ..FlowRingParameters::default() };
    flow_rings(&amounts, &times, &parameters, &control.on_budget(snapshot.budget()))
}

fn transfers(snapshot: &Snapshot) -> Result<Scope> {
    let edge_type =
        snapshot.catalogue().edge_type(TRANSFER).ok_or_else(|| missing(format!("edge type {TRANSFER}")))?;
    Ok(Scope { types: Some(vec![edge_type]), ..Scope::default() })
}

fn missing(what: String) -> Error {
    Error::new(ErrorKind::NotFound, format!("{what} isn't in the database: it was not made by this demo"))
}
