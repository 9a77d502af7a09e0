//! Scheduler: whose turn it is, by rules that show from outside. All runs on one thread, which a gate holds until every task
//! waits for its turn, so that the order is always the same.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_server::scheduler::{Progress, Scheduler, SchedulerOptions, Slice, TaskHandle, Work};
use evergraph_server::turns::OwnerId;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How long anything may take that is waited for.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A task that says its name each time that it runs, as often as it is to.
struct Named {
    name: &'static str,
    runs_left: usize,
    said: Sender<&'static str>,
    /// Whoever opens it; the task waits for that within its first run.
    gate: Option<Receiver<()>>,
}

impl Work for Named {
    fn run(&mut self, _: &Slice, _: &TaskHandle) -> Progress {
        self.said.send(self.name).unwrap();
        if let Some(gate) = self.gate.take() {
            gate.recv_timeout(TIME_MAX).unwrap();
        }
        self.runs_left -= 1;
        if self.runs_left == 0 { Progress::Done } else { Progress::Ready }
    }

    fn panicked(&mut self) {}
}

struct Stage {
    scheduler: Scheduler,
    said: Sender<&'static str>,
    names: Receiver<&'static str>,
}

impl Stage {
    fn new() -> Self {
        let options = SchedulerOptions { workers: 1, spare_workers_max: 0, slice: Duration::from_millis(5) };
        let (said, names) = channel();
        Self { scheduler: Scheduler::start(options).unwrap(), said, names }
    }

    /// A task of `owner` that runs `runs` times, ready at once.
    fn add(&self, owner: u64, name: &'static str, runs: usize) {
        let work = Named { name, runs_left: runs, said: self.said.clone(), gate: None };
        self.scheduler.create(OwnerId(owner), Box::new(work)).wake();
    }

    /// A task that holds the thread until its gate is opened. It runs by now.
    fn add_gate(&self, name: &'static str, runs: usize) -> Sender<()> {
        let (open, gate) = channel();
        let work = Named { name, runs_left: runs, said: self.said.clone(), gate: Some(gate) };
        self.scheduler.create(OwnerId(0), Box::new(work)).wake();
        assert_eq!(self.next(), name);
        open
    }

    fn next(&self) -> &'static str {
        self.names.recv_timeout(TIME_MAX).unwrap()
    }

    /// The names of the next runs.
    fn order(&self, count: usize) -> Vec<&'static str> {
        (0..count).map(|_| self.next()).collect()
    }
}

#[test]
fn owners_take_turns_whoever_has_many_tasks() {
    let stage = Stage::new();
    let open = stage.add_gate("gate", 1);
    for _ in 0..20 {
        stage.add(1, "many", 1);
    }
    stage.add(2, "one", 1);
    open.send(()).unwrap();
    let order = stage.order(21);
    let before = order.iter().take_while(|name| **name == "many").count();
    assert_eq!(before, 1, "an owner of many tasks delays others by one: {order:?}");
}

#[test]
fn short_tasks_go_before_long_ones_which_have_their_turn_all_the_same() {
    let stage = Stage::new();
    // A task that has used up a slice is long. Behind it a second gate takes the thread.
    let open_long = stage.add_gate("long", 2);
    let (open, gate) = channel();
    let work = Named { name: "gate", runs_left: 1, said: stage.said.clone(), gate: Some(gate) };
    stage.scheduler.create(OwnerId(1), Box::new(work)).wake();
    open_long.send(()).unwrap();
    assert_eq!(stage.next(), "gate", "a short task goes before a long one");
    for owner in 2..12 {
        stage.add(owner, "short", 1);
    }
    open.send(()).unwrap();
    let order = stage.order(11);
    let before = order.iter().take_while(|name| **name == "short").count();
    assert!(before > 0, "short tasks go before one that has used up a slice: {order:?}");
    assert!(before <= 3, "a long task has its turn after some short ones: {order:?}");
}
