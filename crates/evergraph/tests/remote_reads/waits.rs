//! Waits: a query on a graph whose partitions do not answer ends with its time, or when it is cancelled, on whatever thread it waits.

use crate::split_graph::{DirectAsker, SplitGraph, indexes};
use crate::{NO_WRITES, PARTITIONS};
use evergraph_analysis::kernels::CompiledKernels;
use evergraph_cluster::remote::partition_view::PartitionView;
use evergraph_cluster::remote::remote_snapshot::{RemoteLimits, RemoteSnapshot};
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::remote::view_asking::{OwnWork, PartitionAsker};
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::travel::Travels;
use evergraph_graph::view::GraphView as _;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_query::error::StopReason;
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, QueryLimits};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::compile::compile;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::service::Services;
use evergraph_query::session;
use evergraph_storage::snapshot::reader::Reader;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// Answers some threads, and has all others wait as long as they may.
struct SilentAsker {
    asker: DirectAsker,
    /// Who is answered, if anybody is.
    answered: Option<ThreadId>,
    /// Threads that were not.
    waited: AtomicUsize,
}

impl PartitionAsker for SilentAsker {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        own_work(&|| Ok(()))?;
        if self.answered == Some(thread::current().id()) {
            return self.asker.ask(messages);
        }
        self.waited.fetch_add(1, Ordering::Relaxed);
        let (limit, begun) = (WaitLimit::of_thread(), Instant::now());
        while begun.elapsed() < LONG {
            limit.check()?;
            thread::yield_now();
        }
        Err(Error::new(ErrorKind::Busy, "it has waited to the end"))
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
        None
    }

    fn keeps_all(&self) -> bool {
        false
    }
}

/// What comes of a query, and how often it waited.
fn run(answered: Option<ThreadId>, text: &str, limits: QueryLimits, cancel: &CancelFlag) -> (Error, usize) {
    let graph = SplitGraph::random(4, PARTITIONS);
    let asker = graph.asker_at(graph.now);
    let asker = Arc::new(SilentAsker { asker, answered, waited: AtomicUsize::new(0) });
    let of_snapshot = Arc::clone(&asker) as Arc<dyn PartitionAsker>;
    let snapshot = RemoteSnapshot::new(graph.now, graph.map_with(None), of_snapshot, RemoteLimits::default());
    let whole = graph.whole_at(graph.now);
    let catalogue = whole.catalogue();
    let indexes = indexes(&catalogue);
    let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, &catalogue, &indexes);
    let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
    let (plan, services) = (compile(&query).unwrap(), Services::default());
    let charge = Charge::new(limits, cancel.clone(), &Unlimited);
    let mut results = session::run(&plan, Graph::Read(&reader), charge, &services, &CompiledKernels).unwrap();
    let error = results.collect().unwrap_err();
    assert!(!WaitLimit::of_thread().has_ended(), "the thread may wait again");
    (error, asker.waited.load(Ordering::Relaxed))
}

#[test]
fn a_query_waits_no_longer_than_its_time() {
    let limits = QueryLimits { timeout: Duration::from_millis(50), ..QueryLimits::default() };
    let (late, waited) = run(None, "g.V().count()", limits, &CancelFlag::default());
    assert_eq!(
        (late.kind(), StopReason::of(&late)),
        (ErrorKind::Limit, Some(&StopReason::Timeout)),
        "{late}"
    );
    assert!(waited > 0);
}

#[test]
fn a_query_that_is_cancelled_waits_no_longer() {
    let cancel = CancelFlag::default();
    let cancelling = {
        let cancel = cancel.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            cancel.cancel();
        })
    };
    let limits = QueryLimits { timeout: LONG, ..QueryLimits::default() };
    let (cancelled, _) = run(None, "g.V().count()", limits, &cancel);
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled, "{cancelled}");
    cancelling.join().unwrap();
}

#[test]
fn other_threads_of_a_query_wait_no_longer_either() {
    let timeout = Duration::from_millis(200);
    let limits = QueryLimits { timeout, threads: 2, batch_rows: 2, ..QueryLimits::default() };
    let text = "g.V().out().out().count()";
    let (late, waited) = run(Some(thread::current().id()), text, limits, &CancelFlag::default());
    assert_eq!(StopReason::of(&late), Some(&StopReason::Timeout), "{late}");
    assert!(waited > 0, "no other thread has read anything");
}
