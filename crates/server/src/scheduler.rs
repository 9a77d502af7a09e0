//! Scheduler: a pool of threads that runs tasks in slices of time, each owner in turn.
//!
//! ```text
//!            wake                 its turn              Done
//! Waiting ─────────> Ready ──────────────────> Running ───────> Ended
//!    ^                 ^                          │
//!    │                 └──── slice is over ───────┤
//!    └──────────────────── nothing to do yet ─────┘
//! ```
//!
//! A task that waits owns no thread. Ready tasks of one owner (a connection) queue up; owners take turns, so that an
//! owner with many tasks delays the others by one slice each time. Short tasks, which never used up the fifth of a slice
//! that they begin with, go before long ones, of which one has its turn after every three short ones. A task gives its
//! thread back by itself; one that does not for several slices (a step that sorts, counts or groups before its first
//! result) is counted out, and a spare thread takes its place while others wait.
//!
//! To wake a thread costs as much as a look-up. So one is woken at a time, which wakes the next one if it leaves tasks; one
//! that is free looks for a task for a moment before it sleeps; and the monitor looks by itself once a slice.
//!
//! Threads are those of the standard library; nothing here knows a network.

use crate::turns::{OwnerId, Turns};
use evergraph_storage::planted::{Bug, planted};
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Slices after which a task that has not given its thread back is counted out.
const OVERRUN_SLICES: u32 = 4;

/// The part of a slice that a task is short for: of many new tasks, all come soon to know which are long.
const SHORT_PART: u32 = 5;

/// Short tasks in a row, while long ones wait.
const SHORT_IN_A_ROW: u32 = 3;

/// How long a thread that is free looks for a task before it sleeps.
const LOOK_TIME: Duration = Duration::from_micros(50);

/// What a thread does in slices.
pub trait Work: Send {
    /// Works until there is nothing to do, or until `slice` is over, if it can stop there. `task` wakes it again.
    fn run(&mut self, slice: &Slice, task: &TaskHandle) -> Progress;

    /// Called once in place of another slice if `run` panicked.
    fn panicked(&mut self);
}

/// What a slice of work led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There is more to do.
    Ready,
    /// There is nothing to do until somebody wakes the task.
    Waiting,
    /// It is done, and never runs again.
    Done,
}

/// The time that a task may work at a stretch.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    end: Instant,
}

impl Slice {
    /// Whether others should have their turn.
    #[must_use]
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }
}

/// How a scheduler works.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerOptions {
    /// Threads, at least one.
    pub workers: usize,
    /// Threads that may take the place of those whose tasks do not give them back.
    pub spare_workers_max: usize,
    /// How long a task works at a stretch.
    pub slice: Duration,
}

/// Tasks and threads of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulerStatistics {
    /// Tasks that wait for a thread.
    pub ready_count: usize,
    /// Tasks that have one.
    pub running_count: usize,
    /// Threads, spare ones included.
    pub threads_count: usize,
}

/// A pool of threads that runs tasks in slices.
///
/// Concurrency: one lock around the queue, held to move a task in or out; each task has a lock of its own for its state.
/// Neither is held with the other, and nothing runs while one is.
pub struct Scheduler {
    shared: Arc<Shared>,
}

struct Shared {
    options: SchedulerOptions,
    queue: Mutex<Queue>,
    /// Whether tasks are ready, for who looks without the lock.
    has_ready: AtomicBool,
    /// A task is ready, or the scheduler stops.
    ready: Condvar,
    /// The monitor sleeps and a task is ready for which no thread is free, or the scheduler stops.
    short_of_workers: Condvar,
}

#[derive(Default)]
struct Queue {
    short: Turns<Arc<Task>>,
    long: Turns<Arc<Task>>,
    /// Short tasks that were taken since the last long one.
    short_in_a_row: u32,
    /// By the number of the thread, when its slice began and whether it is counted out.
    running: HashMap<u64, (Instant, bool)>,
    /// Workers, and the monitor.
    threads: Vec<JoinHandle<()>>,
    next_thread: u64,
    threads_count: usize,
    idle_count: usize,
    /// Whether a thread was woken, or looks, that has not found a task yet. It wakes the next one if it leaves some.
    is_waking: bool,
    overrun_count: usize,
    /// Whether the monitor waits to be woken; otherwise it looks by itself after each slice of time.
    monitor_sleeps: bool,
    is_stopping: bool,
}

struct Task {
    /// Whether it used up a slice. Relaxed: it publishes nothing, and the queue's lock orders it.
    is_long: AtomicBool,
    owner: OwnerId,
    state: Mutex<TaskState>,
    /// `None` once it is done.
    work: Mutex<Option<Box<dyn Work>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskState {
    Waiting,
    Ready,
    Running,
    /// Somebody woke it while it ran.
    RunningAndWoken,
    Ended,
}

impl TaskState {
    /// Somebody wakes the task. Whether it has become ready, for the caller alone to queue up.
    fn wake(&mut self) -> bool {
        match *self {
            Self::Waiting => {
                *self = Self::Ready;
                return true;
            }
            Self::Running => *self = Self::RunningAndWoken,
            Self::Ready | Self::RunningAndWoken | Self::Ended => {}
        }
        false
    }

    /// Its slice is over. Whether it is ready again, for the caller alone to queue up.
    fn settle(&mut self, progress: Progress) -> bool {
        *self = match progress {
            Progress::Done => Self::Ended,
            Progress::Waiting if *self != Self::RunningAndWoken => Self::Waiting,
            Progress::Ready | Progress::Waiting => Self::Ready,
        };
        *self == Self::Ready
    }
}

/// A task that was created; clones are one.
#[derive(Clone)]
pub struct TaskHandle {
    task: Arc<Task>,
    shared: Weak<Shared>,
}

/// A task that may be gone, for whoever must not keep it.
#[derive(Clone)]
pub struct WeakTaskHandle {
    task: Weak<Task>,
    shared: Weak<Shared>,
}

impl WeakTaskHandle {
    /// As [`TaskHandle::wake`]; nothing if the task is gone.
    pub fn wake(&self) {
        if let Some(task) = self.task.upgrade() {
            TaskHandle { task, shared: Weak::clone(&self.shared) }.wake();
        }
    }
}

impl TaskHandle {
    /// The same without keeping the task.
    #[must_use]
    pub fn downgrade(&self) -> WeakTaskHandle {
        WeakTaskHandle { task: Arc::downgrade(&self.task), shared: Weak::clone(&self.shared) }
    }

    /// Makes the task ready if it waits, or keeps it ready if it is about to wait. Otherwise nothing.
    pub fn wake(&self) {
        let Some(shared) = self.shared.upgrade() else { return };
        if lock(&self.task.state).wake() {
            // Whoever takes it needs its lock.
            if let Some(queue) = shared.queue_up(Arc::clone(&self.task)) {
                shared.wake_one(queue);
            }
        }
    }
}

impl Scheduler {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(options: SchedulerOptions) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            options: SchedulerOptions { workers: options.workers.max(1), ..options },
            queue: Mutex::default(),
            has_ready: AtomicBool::new(false),
            ready: Condvar::new(),
            short_of_workers: Condvar::new(),
        });
        // Dropped after an error, it ends what was started.
        let scheduler = Self { shared: Arc::clone(&shared) };
        for _ in 0..shared.options.workers {
            shared.start_worker(&mut lock(&shared.queue))?;
        }
        let watching = Arc::clone(&shared);
        let monitor = thread::Builder::new().name("server-monitor".to_owned());
        let monitor = monitor.spawn(move || watching.watch())?;
        lock(&shared.queue).threads.push(monitor);
        Ok(scheduler)
    }

    /// A task of `owner` that waits until it is woken.
    #[must_use]
    pub fn create(&self, owner: OwnerId, work: Box<dyn Work>) -> TaskHandle {
        let task = Task {
            is_long: AtomicBool::new(false),
            owner,
            state: Mutex::new(TaskState::Waiting),
            work: Mutex::new(Some(work)),
        };
        TaskHandle { task: Arc::new(task), shared: Arc::downgrade(&self.shared) }
    }

    /// What is ready, runs, and runs it now. Cost: a look at each owner with ready tasks.
    #[must_use]
    pub fn statistics(&self) -> SchedulerStatistics {
        let queue = lock(&self.shared.queue);
        SchedulerStatistics {
            ready_count: queue.short.count() + queue.long.count(),
            running_count: queue.running.len(),
            threads_count: queue.threads_count,
        }
    }

    /// Ends the threads when the slices that run are over; tasks that are ready then are dropped.
    pub fn stop(&self) {
        let (threads, left) = {
            let mut queue = lock(&self.shared.queue);
            queue.is_stopping = true;
            let left = (std::mem::take(&mut queue.short), std::mem::take(&mut queue.long));
            (std::mem::take(&mut queue.threads), left)
        };
        self.shared.ready.notify_all();
        self.shared.short_of_workers.notify_all();
        drop(left);
        // The last owner of a scheduler may be a task of its own.
        let own = thread::current().id();
        for handle in threads.into_iter().filter(|handle| handle.thread().id() != own) {
            // Panics of tasks are caught; another one was reported by its thread.
            let _ = handle.join();
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Queues up a task that has become ready; somebody has to look for it. `None` if the scheduler stops, and drops it.
    fn queue_up(&self, task: Arc<Task>) -> Option<MutexGuard<'_, Queue>> {
        let mut queue = lock(&self.queue);
        if queue.is_stopping {
            drop(queue);
            drop(task);
            return None;
        }
        let is_long = task.is_long.load(Ordering::Relaxed);
        let turns = if is_long { &mut queue.long } else { &mut queue.short };
        turns.push(task.owner, task);
        self.has_ready.store(true, Ordering::Relaxed);
        Some(queue)
    }

    /// Wakes who takes care of the first ready task: a thread that is free, else the monitor. One that looks for a task, or
    /// was woken before and has not come yet, will do.
    fn wake_one(&self, mut queue: MutexGuard<'_, Queue>) {
        let woken = if queue.is_empty() || queue.is_waking {
            None
        } else if queue.idle_count > 0 {
            queue.is_waking = true;
            Some(&self.ready)
        } else {
            std::mem::take(&mut queue.monitor_sleeps).then_some(&self.short_of_workers)
        };
        // Whoever is woken needs the lock.
        drop(queue);
        if let Some(woken) = woken {
            woken.notify_one();
        }
    }

    fn start_worker(self: &Arc<Self>, queue: &mut Queue) -> io::Result<()> {
        let number = queue.next_thread;
        let shared = Arc::clone(self);
        let name = format!("server-worker-{number}");
        let handle = thread::Builder::new().name(name).spawn(move || shared.work(number))?;
        queue.next_thread += 1;
        queue.threads_count += 1;
        queue.threads.retain(|handle| !handle.is_finished());
        queue.threads.push(handle);
        Ok(())
    }

    /// What a thread does.
    fn work(self: &Arc<Self>, number: u64) {
        while let Some(task) = self.next(number) {
            let progress = self.run(&task);
            self.settle(&task, progress);
        }
    }

    /// The task whose turn it is; `None` at the end of the scheduler, and if the thread is one too many.
    fn next(&self, number: u64) -> Option<Arc<Task>> {
        let task = self.take(number)?;
        *lock(&task.state) = TaskState::Running;
        Some(task)
    }

    fn take(&self, number: u64) -> Option<Arc<Task>> {
        let mut queue = lock(&self.queue);
        if queue.end_slice(number, self.options.workers) {
            // A task that it gave back is for another thread.
            self.wake_one(queue);
            return None;
        }
        loop {
            if queue.is_stopping {
                return None;
            }
            if let Some(task) = queue.take() {
                queue.running.insert(number, (Instant::now(), false));
                self.has_ready.store(!queue.is_empty(), Ordering::Relaxed);
                self.wake_one(queue);
                return Some(task);
            }
            if !std::mem::replace(&mut queue.is_waking, true) {
                drop(queue);
                self.look();
                queue = lock(&self.queue);
                queue.is_waking = false;
                if !queue.is_empty() || queue.is_stopping {
                    continue;
                }
            }
            queue.idle_count += 1;
            queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle_count -= 1;
            queue.is_waking = false;
        }
    }

    /// Looks for a ready task for a moment, in which the system need not wake this thread. Others go before it.
    fn look(&self) {
        let began = Instant::now();
        while !self.has_ready.load(Ordering::Relaxed) && began.elapsed() < LOOK_TIME {
            thread::yield_now();
        }
    }

    fn run(self: &Arc<Self>, task: &Arc<Task>) -> Progress {
        let is_long = task.is_long.load(Ordering::Relaxed);
        let part = if is_long { 1 } else { SHORT_PART };
        let slice = Slice { end: Instant::now() + self.options.slice / part };
        let handle = TaskHandle { task: Arc::clone(task), shared: Arc::downgrade(self) };
        let mut work = lock(&task.work);
        let Some(running) = work.as_mut() else { return Progress::Done };
        let progress = catch_unwind(AssertUnwindSafe(|| running.run(&slice, &handle))).unwrap_or_else(|_| {
            // What it says is lost if this panics as well.
            let _ = catch_unwind(AssertUnwindSafe(|| running.panicked()));
            Progress::Done
        });
        if progress == Progress::Done {
            *work = None;
        }
        progress
    }

    fn settle(&self, task: &Arc<Task>, progress: Progress) {
        if progress == Progress::Ready {
            task.is_long.store(!planted(Bug::LongTasksUnknown), Ordering::Relaxed);
        }
        if lock(&task.state).settle(progress) {
            // This thread takes the next task now, and wakes another one if it leaves some.
            drop(self.queue_up(Arc::clone(task)));
        }
    }

    /// What the monitor does: while tasks wait for a thread, it counts out those that do not give theirs back.
    fn watch(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        while !queue.is_stopping {
            if queue.is_empty() || queue.idle_count > 0 {
                queue.monitor_sleeps = true;
                queue = self.short_of_workers.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.monitor_sleeps = false;
            } else {
                self.replace_overrun(&mut queue);
            }
            // Those who wait are no reason to look sooner: a task is not late yet.
            let waited = self.short_of_workers.wait_timeout(queue, self.options.slice);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Counts out threads whose tasks do not give them back, and starts spare ones in their place.
    fn replace_overrun(self: &Arc<Self>, queue: &mut Queue) {
        let overrun = self.options.slice * OVERRUN_SLICES;
        let mut counted_out = 0;
        for (began, is_counted_out) in queue.running.values_mut() {
            if !*is_counted_out && began.elapsed() >= overrun {
                *is_counted_out = true;
                counted_out += 1;
            }
        }
        queue.overrun_count += counted_out;
        let threads_max = self.options.workers + self.options.spare_workers_max;
        while queue.threads_count - queue.overrun_count < self.options.workers
            && queue.threads_count < threads_max
        {
            // Without a spare thread the others wait longer, and no more.
            if self.start_worker(queue).is_err() {
                break;
            }
        }
    }
}

impl Queue {
    /// Enters that the thread `number` is free again, if it ran something; whether it is one too many.
    fn end_slice(&mut self, number: u64, workers: usize) -> bool {
        let Some((_, is_counted_out)) = self.running.remove(&number) else { return false };
        self.overrun_count -= usize::from(is_counted_out);
        let is_surplus = self.threads_count - self.overrun_count > workers;
        self.threads_count -= usize::from(is_surplus);
        is_surplus
    }

    fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }

    fn take(&mut self) -> Option<Arc<Task>> {
        let prefers_long = self.short_in_a_row >= SHORT_IN_A_ROW && !planted(Bug::LongTasksStarve);
        if (prefers_long || self.short.is_empty())
            && let Some(task) = self.long.take()
        {
            self.short_in_a_row = 0;
            return Some(task);
        }
        self.short_in_a_row = self.short_in_a_row.saturating_add(1);
        self.short.take()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, Sender, channel};

    const OPTIONS: SchedulerOptions =
        SchedulerOptions { workers: 1, spare_workers_max: 2, slice: Duration::from_millis(2) };

    /// A task that does what a closure says.
    struct FakeWork<F>(F, Sender<&'static str>);

    impl<F: FnMut(&Slice, &TaskHandle) -> Progress + Send> Work for FakeWork<F> {
        fn run(&mut self, slice: &Slice, task: &TaskHandle) -> Progress {
            (self.0)(slice, task)
        }

        fn panicked(&mut self) {
            self.1.send("panicked").unwrap();
        }
    }

    fn work<F>(run: F) -> (Box<dyn Work>, Receiver<&'static str>)
    where
        F: FnMut(&Slice, &TaskHandle) -> Progress + Send + 'static,
    {
        let (sender, receiver) = channel();
        (Box::new(FakeWork(run, sender)), receiver)
    }

    /// A task that works on for `slices` slices, and then says that it is done.
    fn heavy(slices: usize, name: &'static str, done: Sender<&'static str>) -> Box<dyn Work> {
        let mut left = slices;
        work(move |slice, _| {
            while !slice.is_over() {
                std::hint::spin_loop();
            }
            left -= 1;
            if left > 0 {
                return Progress::Ready;
            }
            done.send(name).unwrap();
            Progress::Done
        })
        .0
    }

    fn wait(receiver: &Receiver<&'static str>) -> &'static str {
        receiver.recv_timeout(Duration::from_secs(60)).expect("it is done")
    }

    #[test]
    fn a_short_task_is_delayed_by_slices_and_not_by_the_tasks_before_it() {
        let scheduler = Scheduler::start(OPTIONS).unwrap();
        let (sender, receiver) = channel();
        for _ in 0..20 {
            scheduler.create(OwnerId(1), heavy(50, "heavy", sender.clone())).wake();
        }
        scheduler.create(OwnerId(2), heavy(1, "short", sender)).wake();
        assert_eq!(wait(&receiver), "short");
        scheduler.stop();
    }

    #[test]
    fn long_tasks_have_their_turn_however_many_short_ones_come() {
        // The only thread waits until all tasks are there, and no other one takes its place.
        let scheduler = Scheduler::start(SchedulerOptions { spare_workers_max: 0, ..OPTIONS }).unwrap();
        let ((sender, receiver), (open, gate)) = (channel(), channel::<()>());
        let (waits, _) = work(move |_, _| {
            gate.recv().unwrap();
            Progress::Done
        });
        scheduler.create(OwnerId(3), waits).wake();
        for _ in 0..200 {
            scheduler.create(OwnerId(2), heavy(1, "short", sender.clone())).wake();
        }
        scheduler.create(OwnerId(1), heavy(5, "long", sender)).wake();
        open.send(()).unwrap();
        let before = (0..).take_while(|_| wait(&receiver) == "short").count();
        assert!((4..40).contains(&before), "{before}");
    }

    #[test]
    fn tasks_that_wait_own_no_thread() {
        let scheduler = Scheduler::start(OPTIONS).unwrap();
        let (sender, receiver) = channel();
        let runs = Arc::new(AtomicUsize::new(0));
        let waiting: Vec<TaskHandle> = (0..1000)
            .map(|owner| {
                let (runs, sender) = (Arc::clone(&runs), sender.clone());
                let mut is_first = true;
                let (waits, _) = work(move |_, _| {
                    if std::mem::take(&mut is_first) {
                        runs.fetch_add(1, Ordering::Relaxed);
                        return Progress::Waiting;
                    }
                    sender.send("woken").unwrap();
                    Progress::Done
                });
                let task = scheduler.create(OwnerId(owner), waits);
                task.wake();
                task
            })
            .collect();
        while runs.load(Ordering::Relaxed) < 1000 {
            thread::sleep(Duration::from_millis(1));
        }
        scheduler.create(OwnerId(5000), heavy(1, "short", sender)).wake();
        assert_eq!(wait(&receiver), "short");
        for task in &waiting {
            // The first may come while it is still about to wait: it counts as well.
            task.wake();
            task.wake();
        }
        for _ in 0..1000 {
            assert_eq!(wait(&receiver), "woken");
        }
        assert!(receiver.recv_timeout(Duration::from_millis(5)).is_err(), "each runs once more");
    }

    #[test]
    fn a_task_that_is_woken_while_it_runs_does_not_wait() {
        let scheduler = Scheduler::start(OPTIONS).unwrap();
        let (sender, receiver) = channel();
        let mut runs = 0;
        let (woken, _) = work(move |_, task| {
            runs += 1;
            if runs == 1 {
                task.wake();
                return Progress::Waiting;
            }
            sender.send("again").unwrap();
            Progress::Done
        });
        scheduler.create(OwnerId(1), woken).wake();
        assert_eq!(wait(&receiver), "again");
    }

    #[test]
    fn a_spare_thread_takes_the_place_of_one_that_is_not_given_back() {
        let scheduler = Scheduler::start(OPTIONS).unwrap();
        // The monitor is asleep before there is anything for it to do.
        while !lock(&scheduler.shared.queue).monitor_sleeps {
            thread::sleep(Duration::from_millis(1));
        }
        let (release, blocked) = channel::<()>();
        let (sender, receiver) = channel();
        let (blocks, _) = work(move |_, _| {
            blocked.recv().unwrap();
            Progress::Done
        });
        scheduler.create(OwnerId(1), blocks).wake();
        for _ in 0..3 {
            scheduler.create(OwnerId(2), heavy(3, "short", sender.clone())).wake();
        }
        for _ in 0..3 {
            assert_eq!(wait(&receiver), "short");
        }
        release.send(()).unwrap();
        let began = Instant::now();
        while lock(&scheduler.shared.queue).threads_count > OPTIONS.workers {
            assert!(began.elapsed() < Duration::from_secs(60), "the surplus thread ends");
            // A thread that is free learns of it after its next slice.
            scheduler.create(OwnerId(3), heavy(1, "short", sender.clone())).wake();
            wait(&receiver);
        }
    }

    #[test]
    fn no_wake_up_is_lost_however_threads_fall_asleep() {
        let options = SchedulerOptions { workers: 3, ..OPTIONS };
        let scheduler = Arc::new(Scheduler::start(options).unwrap());
        let clients: Vec<_> = (0..4)
            .map(|owner| {
                let scheduler = Arc::clone(&scheduler);
                thread::spawn(move || {
                    let (sender, receiver) = channel();
                    for round in 0..500 {
                        let sender = sender.clone();
                        let (answers, _) = work(move |_, _| {
                            sender.send("answered").unwrap();
                            Progress::Done
                        });
                        scheduler.create(OwnerId(owner), answers).wake();
                        assert_eq!(wait(&receiver), "answered");
                        // Now and then for so long that all threads sleep.
                        if round % 50 == owner {
                            thread::sleep(LOOK_TIME * 4);
                        }
                    }
                })
            })
            .collect();
        for client in clients {
            client.join().unwrap();
        }
    }

    #[test]
    fn a_panic_ends_its_task_alone() {
        let scheduler = Scheduler::start(OPTIONS).unwrap();
        let (panics, said) = work(|_, _| panic!("planned"));
        let task = scheduler.create(OwnerId(1), panics);
        task.wake();
        assert_eq!(wait(&said), "panicked");
        task.wake();
        let (sender, receiver) = channel();
        scheduler.create(OwnerId(1), heavy(1, "next", sender)).wake();
        assert_eq!(wait(&receiver), "next");
    }
}
