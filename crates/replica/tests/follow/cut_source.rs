//! A source that is cut off from its reader at one moment, so that nothing that the reader does later reaches it; or that makes its
//! reader wait.

use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::mapping::server_state::ServerState;
use evergraph_replica::source::batch::ChangeBatch;
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_replica::source::contract::{
    ChangeStream, CopyRequest, RowStream, Source, SourceIdentity, StreamRequest,
};
use evergraph_replica::source::error::{SourceError, SourceResult};
use evergraph_replica::source::replica_source::{ExportedSlot, PartitionOrigin, ReplicaSource, TableRewrite};
use evergraph_replica::source::slot_state::SlotState;
use evergraph_replica::source::slot_wait::SlotWait;
use evergraph_replica::source::table_cuts::{CutRules, TableCuts};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What ends a wait that a test does not expect to end.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Whether the reader is still there, and what it has asked for.
#[derive(Clone, Default)]
pub struct Cut {
    is_cut: Arc<Mutex<bool>>,
    /// How often the catalogue was read. Decides nothing but how long a test waits: Relaxed.
    catalogues: Arc<AtomicU64>,
    /// How many streams may begin yet; any number if nobody said.
    streams_left: Arc<Mutex<Option<u32>>>,
}

pub struct CutSource {
    inner: Box<dyn ReplicaSource>,
    cut: Cut,
}

struct CutStream {
    inner: Box<dyn ChangeStream>,
    cut: Cut,
}

impl Cut {
    /// Cuts the reader off, and does `work` at that moment.
    pub fn off<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut is_cut = self.is_cut.lock().unwrap();
        *is_cut = true;
        work()
    }

    /// Makes the reader wait, whatever it does next with the source, while `work` is done.
    pub fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        let _held = self.is_cut.lock().unwrap();
        work()
    }

    /// The reader begins `count` streams and no more: then it is cut off.
    pub fn after_streams(count: u32) -> Self {
        Self { streams_left: Arc::new(Mutex::new(Some(count))), ..Self::default() }
    }

    /// Waits until a look at the catalogue that begins from now on has come to its end.
    pub fn wait_for_look(&self) {
        let (began, before) = (Instant::now(), self.catalogues.load(Ordering::Relaxed));
        // The first one may have begun before, and what follows from the second one is over when the third one comes.
        while self.catalogues.load(Ordering::Relaxed) < before + 3 {
            assert!(began.elapsed() < WAIT_MAX, "nobody looks at the catalogue");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Does `work`, unless the reader is cut off; not while somebody cuts.
    fn joined<T>(&self, work: impl FnOnce() -> SourceResult<T>) -> SourceResult<T> {
        let is_cut = self.is_cut.lock().unwrap();
        match *is_cut {
            false => work(),
            true => Err(SourceError::Cancelled { doing: "follow after the power was cut".to_owned() }),
        }
    }
}

impl CutSource {
    pub fn new(inner: impl ReplicaSource + 'static, cut: &Cut) -> Self {
        Self { inner: Box::new(inner), cut: cut.clone() }
    }
}

impl ChangeStream for CutStream {
    fn next_batch(&mut self, time_max: Duration) -> SourceResult<Option<ChangeBatch>> {
        let inner = &mut self.inner;
        let batch = self.cut.joined(|| inner.next_batch(Duration::ZERO))?;
        if batch.is_none() {
            std::thread::sleep(time_max.min(Duration::from_millis(1)));
        }
        Ok(batch)
    }

    fn confirm(&self, position: Lsn) {
        // Nobody hears of it when it is cut.
        let _cut = self.cut.joined(|| {
            self.inner.confirm(position);
            Ok(())
        });
    }

    fn stop(self: Box<Self>) -> SourceResult<()> {
        Ok(())
    }
}

impl Source for CutSource {
    fn identity(&mut self) -> SourceResult<SourceIdentity> {
        self.cut.joined(|| self.inner.identity())
    }

    fn catalogue(&mut self) -> SourceResult<Catalogue> {
        let catalogue = self.cut.joined(|| self.inner.catalogue());
        self.cut.catalogues.fetch_add(1, Ordering::Relaxed);
        catalogue
    }

    fn cut(&mut self, tables: &[CopyRequest], rules: CutRules) -> SourceResult<TableCuts> {
        self.cut.joined(|| self.inner.cut(tables, rules))
    }

    fn copy(&mut self, request: &CopyRequest, cancel: &CancelFlag) -> SourceResult<Box<dyn RowStream>> {
        self.cut.joined(|| self.inner.copy(request, cancel))
    }

    fn stream(&mut self, request: &StreamRequest) -> SourceResult<Box<dyn ChangeStream>> {
        match &mut *self.cut.streams_left.lock().unwrap() {
            Some(0) => return Err(SourceError::Cancelled { doing: "begin another stream".to_owned() }),
            Some(left) => *left -= 1,
            None => {}
        }
        let inner = self.cut.joined(|| self.inner.stream(request))?;
        Ok(Box::new(CutStream { inner, cut: self.cut.clone() }))
    }
}

impl ReplicaSource for CutSource {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn another(&self, cancel: &CancelFlag) -> Box<dyn ReplicaSource> {
        Box::new(Self { inner: self.inner.another(cancel), cut: self.cut.clone() })
    }

    fn server_state(&mut self) -> SourceResult<ServerState> {
        self.cut.joined(|| self.inner.server_state())
    }

    fn slot_state(&mut self, name: &str) -> SourceResult<Option<SlotState>> {
        self.cut.joined(|| self.inner.slot_state(name))
    }

    fn create_slot(
        &mut self,
        name: &str,
        waiting: &dyn Fn(&SlotWait),
        cancel: &CancelFlag,
    ) -> SourceResult<ExportedSlot> {
        self.cut.joined(|| self.inner.create_slot(name, waiting, cancel))
    }

    fn drop_slot(&mut self, name: &str) -> SourceResult<()> {
        self.cut.joined(|| self.inner.drop_slot(name))
    }

    fn create_publication(&mut self, name: &str, tables: &[(String, String)]) -> SourceResult<()> {
        self.cut.joined(|| self.inner.create_publication(name, tables))
    }

    fn drop_publication(&mut self, name: &str) -> SourceResult<()> {
        self.cut.joined(|| self.inner.drop_publication(name))
    }

    fn slots_of_database(&mut self) -> SourceResult<Vec<String>> {
        self.cut.joined(|| self.inner.slots_of_database())
    }

    fn timeline_end(&mut self, timeline: u32, current: u32) -> SourceResult<Option<Lsn>> {
        self.cut.joined(|| self.inner.timeline_end(timeline, current))
    }

    fn filled_columns(
        &mut self,
        table: u32,
        columns: &[Box<str>],
        rewrite: TableRewrite,
    ) -> SourceResult<Vec<String>> {
        self.cut.joined(|| self.inner.filled_columns(table, columns, rewrite))
    }

    fn partition_origin(&mut self, partition: u32) -> SourceResult<Option<PartitionOrigin>> {
        self.cut.joined(|| self.inner.partition_origin(partition))
    }
}
