//! Tasks on few threads: whose turn it is, who is woken, who is counted out.

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
    receiver.recv_timeout(Duration::from_secs(10)).expect("it is done")
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
    let scheduler = Scheduler::start(OPTIONS).unwrap();
    let (sender, receiver) = channel();
    for _ in 0..200 {
        scheduler.create(OwnerId(2), heavy(1, "short", sender.clone())).wake();
    }
    scheduler.create(OwnerId(1), heavy(5, "long", sender)).wake();
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
        assert!(began.elapsed() < Duration::from_secs(10), "the surplus thread ends");
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
