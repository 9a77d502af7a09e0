//! `Pipeline`: translates committed transactions on several threads, and gives their changes out in order.
//!
//! ```text
//! push ──> tasks ──> jobs ──> workers ──> outcomes ──> take_next        a backlog
//!            └──────────────────────────────────────> take_next        little: translated by whoever takes it
//! ```
//!
//! A hand-over between threads costs as much as a dozen rows, and waiting for one delays a commit. So little work is done by the
//! thread that takes the outcomes; only what exceeds 32 KiB of messages goes to workers, in jobs of that size or of a piece. The
//! taker does jobs, too: the next one if nobody has begun it, else a later one until the next one is done. With one thread there
//! are no workers.
//!
//! Tables are described here, in the order of the stream, and each job has a translator as it was then. The first error ends
//! the pipeline: it comes out at its place, and nothing after it.
//!
//! Memory: jobs are made ahead until their messages, and the changes that nobody has taken, reach the limit; those of the jobs
//! that run then come on top. Messages that wait to become jobs are those of the reader.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::source::error::{SourceError, SourceResult};
use crate::stream::event::{CommittedTransaction, StreamEvent, TransactionEnd};
use crate::stream::job::{Job, Task};
use crate::stream::piece::Piece;
use crate::stream::row_translator::RowTranslator;
use crate::stream::translated::{EarlyTransaction, ErrorOf, OutcomeOf, PipelineError, Translated};
use crate::stream::worker_pool::{SubmittedJob, WorkerPool};

/// Bytes of messages of small transactions that make a job: some 200 rows, a quarter of a millisecond of work.
pub const JOB_BYTES: usize = 32 << 10;

/// How a pipeline works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PipelineOptions {
    /// Threads that translate; the one that takes the outcomes is one of them.
    pub threads: usize,
    /// Bytes of messages and of their changes that are translated ahead.
    pub memory_bytes: usize,
}

impl Default for PipelineOptions {
    /// Two threads, 16 MiB.
    fn default() -> Self {
        Self { threads: 2, memory_bytes: 16 << 20 }
    }
}

/// Translates committed transactions, in order.
///
/// # Concurrency
/// Belongs to one thread, which pushes and takes. Dropping it waits for the jobs that were begun.
#[derive(Debug)]
pub struct Pipeline<T: RowTranslator> {
    translator: Arc<T>,
    memory_bytes: usize,
    workers: WorkerPool<T>,
    /// What is not in a job yet.
    tasks: VecDeque<Task<T>>,
    /// Bytes of messages in these.
    tasks_bytes: usize,
    jobs: VecDeque<Arc<SubmittedJob<T>>>,
    /// Outcomes of the job that was taken last.
    outcomes: VecDeque<OutcomeOf<T>>,
    is_over: bool,
}

impl<T: RowTranslator> Pipeline<T> {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`SourceError::Local`] if the system refuses one.
    pub fn new(translator: T, options: PipelineOptions) -> SourceResult<Self> {
        Ok(Self {
            translator: Arc::new(translator),
            memory_bytes: options.memory_bytes,
            workers: WorkerPool::start(options.threads.saturating_sub(1))?,
            tasks: VecDeque::new(),
            tasks_bytes: 0,
            jobs: VecDeque::new(),
            outcomes: VecDeque::new(),
            is_over: false,
        })
    }

    /// Adds what comes next in the stream. Waits for nobody.
    pub fn push(&mut self, event: StreamEvent) {
        if self.is_over {
            return;
        }
        match event {
            StreamEvent::Transaction(transaction) => {
                let end = transaction.end;
                self.tasks_bytes += transaction.size_bytes();
                if transaction.early_pieces > 0 {
                    let CommittedTransaction { end, pieces, early_pieces } = transaction;
                    let translator = Arc::clone(&self.translator);
                    let early = EarlyTransaction { end, pieces, early_pieces, translator };
                    self.tasks.push_back(Task::Early(Box::new(early)));
                    self.tasks.push_back(Task::Commit(end));
                    self.submit_jobs();
                    return;
                }
                self.tasks.extend(transaction.pieces.into_iter().map(|piece| Task::Piece { end, piece }));
                self.tasks.push_back(Task::Commit(end));
            }
            StreamEvent::Idle { position } => self.tasks.push_back(Task::Idle { position }),
        }
        self.submit_jobs();
    }

    /// Says that the stream failed: the error comes out behind everything before.
    pub fn fail(&mut self, error: SourceError) {
        self.tasks.push_back(Task::Failure(PipelineError::Source(error)));
    }

    /// Whether so little waits that more may be pushed, to be translated ahead.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        !self.is_over && self.tasks_bytes + self.workers.bytes() < self.memory_bytes
    }

    /// Takes what comes next, in order; `None` if everything was taken, or an error was.
    ///
    /// Waits for a job that a worker has begun; translates what no worker has.
    ///
    /// # Errors
    /// The first one in the order of the stream, once.
    ///
    /// # Panics
    /// If the translator did.
    pub fn take_next(&mut self) -> Result<Option<Translated<T>>, ErrorOf<T>> {
        if self.is_over {
            return Ok(None);
        }
        if self.outcomes.is_empty()
            && let Some(job) = self.jobs.pop_front()
        {
            self.submit_jobs();
            self.outcomes = self.workers.take(&job).into();
        }
        let outcome = match self.outcomes.pop_front() {
            Some(outcome) => outcome,
            None => match self.next_task() {
                Some(task) => task.run(&self.translator),
                None => return Ok(None),
            },
        };
        if outcome.is_err() {
            self.is_over = true;
            self.tasks.clear();
            self.jobs.clear();
            self.workers.abandon();
            self.outcomes.clear();
        }
        outcome.map(Some)
    }

    /// Makes jobs of what exceeds the work that is done at once, as far as memory goes.
    fn submit_jobs(&mut self) {
        if self.workers.is_empty() {
            return;
        }
        while self.tasks_bytes > JOB_BYTES
            && (self.jobs.is_empty() || self.workers.bytes() < self.memory_bytes)
        {
            let before = self.tasks_bytes;
            let tasks = self.next_tasks();
            let job = Job { translator: Arc::clone(&self.translator), tasks };
            self.jobs.push_back(self.workers.submit(job, before - self.tasks_bytes));
        }
    }

    /// The tasks of the next job: up to [`JOB_BYTES`], and between them no table is described.
    fn next_tasks(&mut self) -> Vec<Task<T>> {
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        while let Some(next) = self.tasks.front() {
            match next {
                Task::Piece { piece, .. } => {
                    bytes += piece.size_bytes();
                    if !tasks.is_empty() && (bytes > JOB_BYTES || !piece.relations().is_empty()) {
                        break;
                    }
                }
                Task::Early(_) if !tasks.is_empty() => break,
                _ => {}
            }
            tasks.extend(self.next_task());
        }
        tasks
    }

    /// The next task, when the tables before its rows are described.
    fn next_task(&mut self) -> Option<Task<T>> {
        let mut task = self.tasks.pop_front()?;
        self.tasks_bytes -= task.size_bytes();
        let described = match &mut task {
            Task::Piece { end, piece } => self.describe(*end, piece),
            Task::Early(early) => {
                early.translator = Arc::clone(&self.translator);
                early.pieces.iter().try_for_each(|piece| self.describe(early.end, piece))
            }
            Task::Commit(_) | Task::Idle { .. } | Task::Failure(_) => Ok(()),
        };
        if let Err(error) = described {
            // Nothing behind it will be done.
            self.tasks.clear();
            self.tasks_bytes = 0;
            return Some(Task::Failure(error));
        }
        Some(task)
    }

    fn describe(&mut self, end: TransactionEnd, piece: &Piece) -> Result<(), ErrorOf<T>> {
        for relation in piece.relations() {
            let described = Arc::make_mut(&mut self.translator).describe(relation);
            described.map_err(|drift| PipelineError::Drift { end, drift })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsn::Lsn;
    use crate::pgoutput::decoder::Block;
    use crate::pgoutput::message::{Commit, Message, Xid};
    use crate::pgoutput::relation::{Relation, RelationIdentity};
    use crate::pgoutput::tuple::Cell;
    use crate::postgres_time::PostgresTime;
    use crate::stream::stored_messages::{PURPOSE, StoredMessages};
    use evergraph_files::import::staging::temporary_file::TemporaryFile;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::slice;
    use std::thread::{current, sleep};
    use std::time::Duration;

    /// Names the table as it was described last, the row's text without its filling, and the thread.
    #[derive(Clone, Debug, Default)]
    struct Naming {
        table: String,
        delay: Duration,
    }

    impl RowTranslator for Naming {
        type Changes = Vec<(String, String)>;
        type Drift = String;
        type Halt = String;

        fn describe(&mut self, relation: &Relation) -> Result<(), String> {
            self.table = relation.name.to_string();
            if self.table == "drift" { Err(self.table.clone()) } else { Ok(()) }
        }

        fn translate(&self, message: &Message<'_>, out: &mut Self::Changes) -> Result<(), String> {
            let Message::Insert { new, .. } = message else { panic!("{message:?}") };
            let Some(Cell::Text(text)) = new.cells().next() else { panic!("{message:?}") };
            let text = std::str::from_utf8(text).unwrap().trim_end_matches('.');
            sleep(self.delay);
            match text {
                "halt" => return Err(text.to_owned()),
                "panic" => panic!("the translator panics"),
                _ => {}
            }
            out.push((format!("{} {text}", self.table), current().name().unwrap_or_default().to_owned()));
            Ok(())
        }

        fn room(messages: usize) -> Self::Changes {
            Vec::with_capacity(messages)
        }

        fn heap_bytes(changes: &Self::Changes) -> usize {
            changes.len() * 100
        }
    }

    fn insert(text: &str, bytes: usize) -> Vec<u8> {
        let text = format!("{text:.<bytes$}");
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&b"I\0\0\0\x05N\0\x01t"[..], &length, text.as_bytes()].concat()
    }

    fn end(xid: Xid) -> TransactionEnd {
        let (commit_lsn, end_lsn) = (Lsn::new(u64::from(xid)), Lsn::new(u64::from(xid) + 1));
        TransactionEnd { xid, commit: Commit { commit_lsn, end_lsn, commit_time: PostgresTime::new(0) } }
    }

    fn piece(table: &str, rows: &[&str], bytes: usize) -> Piece {
        let identity = RelationIdentity::PrimaryKey;
        let relation =
            || Relation { id: 5, schema: "".into(), name: table.into(), identity, columns: [].into() };
        let relations = if table.is_empty() { Vec::new() } else { vec![Arc::new(relation())] };
        let messages: Vec<_> = rows.iter().map(|text| insert(text, bytes)).collect();
        let messages = StoredMessages::Memory(messages.iter().map(Vec::as_slice).collect());
        Piece { relations, block: Block::Outside, messages, dropped: Vec::new() }
    }

    fn transaction(xid: Xid, pieces: Vec<Piece>) -> StreamEvent {
        StreamEvent::Transaction(CommittedTransaction { end: end(xid), pieces, early_pieces: 0 })
    }

    /// All that comes out, in a line; the error is the last word.
    fn all(pipeline: &mut Pipeline<Naming>) -> String {
        let mut line = String::new();
        loop {
            let word: String = match pipeline.take_next() {
                Ok(None) => return line,
                Ok(Some(Translated::Changes(changes))) => {
                    changes.iter().map(|(text, _)| format!("{text}, ")).collect()
                }
                Ok(Some(Translated::Early(_))) => panic!("nothing was handed out"),
                Ok(Some(Translated::Commit(end))) => format!("commit {}; ", end.xid),
                Ok(Some(Translated::Idle { position })) => format!("idle {position}; "),
                Err(PipelineError::Drift { end, drift }) => format!("{drift} in {}", end.xid),
                Err(PipelineError::Halt { end, halt }) => format!("{halt} in {}", end.xid),
                Err(PipelineError::Source(error)) => error.to_string(),
            };
            line += &word;
        }
    }

    fn pipeline(threads: usize, memory_bytes: usize) -> Pipeline<Naming> {
        Pipeline::new(Naming::default(), PipelineOptions { threads, memory_bytes }).unwrap()
    }

    /// Pipelines of every kind: alone, with much and with little memory.
    fn pipelines() -> [Pipeline<Naming>; 4] {
        [pipeline(1, 1 << 20), pipeline(2, 1 << 20), pipeline(4, 1 << 20), pipeline(3, 1)]
    }

    #[test]
    fn changes_come_out_in_order_and_mean_the_tables_that_were_described_before_them() {
        for mut pipeline in pipelines() {
            let mut wanted = String::new();
            for xid in 0..60 {
                let bytes = [10, 3000, 50_000][xid as usize % 3];
                let mut pieces = Vec::new();
                if xid % 7 == 0 {
                    pieces.push(piece(&format!("old{xid}"), &["a", "b"], bytes));
                    wanted += &format!("old{xid} a, old{xid} b, ");
                }
                let table = xid / 4 * 4;
                pieces.push(piece(&format!("t{table}"), &["c"], bytes));
                wanted += &format!("t{table} c, commit {xid}; ");
                pipeline.push(transaction(xid, pieces));
                if xid % 10 == 0 {
                    pipeline.push(transaction(1000 + xid, vec![piece("", &["d"; 20], bytes)]));
                    wanted += &format!("{}commit {}; ", format!("t{table} d, ").repeat(20), 1000 + xid);
                    pipeline.push(StreamEvent::Idle { position: Lsn::new(u64::from(xid)) });
                    pipeline.push(transaction(2000 + xid, vec![]));
                    wanted += &format!("idle {}; commit {}; ", Lsn::new(u64::from(xid)), 2000 + xid);
                }
            }
            assert_eq!(all(&mut pipeline), wanted);
            assert!(pipeline.wants_more() && pipeline.workers.bytes() == 0);
        }
    }

    #[test]
    fn the_first_error_comes_out_at_its_place_and_nothing_after_it() {
        let ends: [(&str, &dyn Fn() -> Piece); 2] = [
            ("halt in 30", &|| piece("t", &["x", "halt", "y"], 5000)),
            ("drift in 30", &|| piece("drift", &["x"], 5000)),
        ];
        for (wanted, failing) in ends {
            for mut pipeline in pipelines() {
                for xid in 0..60 {
                    let failed = (xid == 30).then(failing);
                    let pieces = [Some(piece("t", &["a"], 5000)), failed].into_iter().flatten();
                    pipeline.push(transaction(xid, pieces.collect()));
                }
                pipeline.fail(SourceError::Invalid("over".into()));
                let line = all(&mut pipeline);
                assert!(line.ends_with(&format!("commit 29; t a, {wanted}")), "{line}");
                assert_eq!(line.matches("commit").count(), 30);
                pipeline.push(transaction(61, vec![piece("t", &["a"; 50], 5000)]));
                assert_eq!(all(&mut pipeline), "");
            }
        }
    }

    #[test]
    fn an_error_of_the_stream_comes_out_behind_everything_before() {
        for mut pipeline in pipelines() {
            for xid in 0..3 {
                pipeline.push(transaction(xid, vec![piece("t", &["a"], 40_000)]));
            }
            pipeline.fail(SourceError::Invalid("the stream broke".into()));
            assert_eq!(all(&mut pipeline), "t a, commit 0; t a, commit 1; t a, commit 2; the stream broke");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_of_its_transaction() {
        let folder = tempfile::tempdir().unwrap();
        for mut pipeline in pipelines() {
            let file = Arc::new(TemporaryFile::new(folder.path().to_owned(), PURPOSE));
            let mut pieces = [piece("t", &["a"], 40_000), piece("", &["b"], 40_000), piece("", &["c"], 9)];
            pieces.iter_mut().for_each(|piece| piece.messages.spill(&file).unwrap());
            file.write(b"?", 50_000).unwrap();
            pipeline.push(transaction(1, pieces.into()));
            let line = all(&mut pipeline);
            assert!(line.starts_with("t a, a temporary file of the replica"), "{line}");
        }
    }

    #[test]
    fn a_small_transaction_stays_on_its_thread_and_a_backlog_does_not() {
        let mut pipeline = pipeline(2, 1 << 20);
        pipeline.translator = Arc::new(Naming { delay: Duration::from_millis(5), ..Naming::default() });
        let mut threads = |event| {
            pipeline.push(event);
            let mut names = Vec::new();
            while let Some(next) = pipeline.take_next().unwrap() {
                if let Translated::Changes(changes) = next {
                    names.extend(changes.into_iter().map(|(_, thread)| thread));
                }
            }
            names
        };
        let here = current().name().unwrap_or_default().to_owned();
        assert_eq!(threads(transaction(1, vec![piece("t", &["a"], 9)])), slice::from_ref(&here));
        // A thread that gets no core in all that time has nothing left to do: then there is another backlog.
        for xid in 2.. {
            assert!(xid < 100, "a backlog stays on one thread");
            let pieces = (0..20).map(|_| piece("", &["a", "b"], 20_000)).collect();
            let names = threads(transaction(xid, pieces));
            let of_worker = names.iter().filter(|name| *name == "replica-translate").count();
            assert_eq!(
                (names.len(), names.iter().filter(|name| **name == here).count()),
                (40, 40 - of_worker)
            );
            if (1..40).contains(&of_worker) {
                break;
            }
        }
    }

    #[test]
    fn a_panic_is_carried_over_and_dropping_does_not_hang() {
        for mut pipeline in pipelines() {
            pipeline.translator = Arc::new(Naming { delay: Duration::from_millis(1), ..Naming::default() });
            for xid in 0..20 {
                let row = if xid == 9 { "panic" } else { "a" };
                pipeline.push(transaction(xid, vec![piece("", &[row], 40_000)]));
            }
            let mut commits = 0;
            let panic = catch_unwind(AssertUnwindSafe(|| {
                while let Some(next) = pipeline.take_next().unwrap() {
                    commits += u32::from(matches!(next, Translated::Commit(_)));
                }
            }));
            let panic = panic.unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"the translator panics"));
            assert_eq!(commits, 9);
        }
    }

    #[test]
    fn little_memory_keeps_the_work_ahead_small() {
        let mut pipeline = pipeline(2, 200_000);
        pipeline.translator = Arc::new(Naming { delay: Duration::from_millis(1), ..Naming::default() });
        pipeline.push(transaction(1, (0..40).map(|_| piece("", &["a"; 5], 10_000)).collect()));
        assert!(!pipeline.wants_more());
        let mut most = 0;
        while pipeline.take_next().unwrap().is_some() {
            most = most.max(pipeline.workers.bytes());
        }
        assert!((50_000..=300_000).contains(&most), "{most}");
    }
}
