//! Run: all scenarios on all threads, each with a deadline; one that panics or never ends harms no other.

use crate::gherkin::{self, Scenario};
use crate::graphs::Graphs;
use crate::jar;
use crate::outcome::Outcome;
use crate::target::Target;
use crate::world::{self, Limits};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// A query that takes longer gives up by itself. None that passes takes a tenth of it on a machine that is free.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A scenario that takes longer doesn't look at its timeout.
const DEADLINE: Duration = Duration::from_secs(180);
const STACK_BYTES: usize = 16 << 20;

/// A scenario of TinkerPop's.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name; where another has it already, with a number.
    pub name: String,
    /// The file that it is in: `map/AddEdge`.
    pub file: String,
    /// What it says.
    pub scenario: Arc<Scenario>,
}

/// A case and what became of it.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The case.
    pub case: Case,
    /// What became of it.
    pub outcome: Outcome,
}

/// All scenarios of the jar, in the order of their files.
///
/// # Errors
/// If the jar can't be read, or a file is no feature.
pub fn cases(jar: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for file in jar::features(jar)? {
        let feature = gherkin::parse(&file.text).map_err(|error| format!("{}: {error}", file.name))?;
        for scenario in feature.scenarios {
            let times = seen.entry(scenario.name.clone()).or_default();
            *times += 1;
            let name =
                if *times == 1 { scenario.name.clone() } else { format!("{} ({times})", scenario.name) };
            cases.push(Case { name, file: file.name.clone(), scenario: Arc::new(scenario) });
        }
    }
    Ok(cases)
}

/// Runs `cases` on each of `targets`; an outcome that depends on which is a failure.
///
/// # Panics
/// If the system has no thread to give.
#[must_use]
pub fn run(cases: &[Case], graphs: &Arc<Graphs>, targets: &[Target], threads: usize) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let ran = Mutex::new(Vec::with_capacity(cases.len()));
    keep_panics();
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((at, case)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(at).map(|case| (at, case))
                } {
                    let outcome = outcome(case, graphs, targets);
                    ran.lock().unwrap_or_else(PoisonError::into_inner).push((at, outcome));
                }
            });
        }
    });
    let mut ran = ran.into_inner().unwrap_or_else(PoisonError::into_inner);
    ran.sort_by_key(|(at, _)| *at);
    ran.into_iter().map(|(at, outcome)| Ran { case: cases[at].clone(), outcome }).collect()
}

/// What becomes of one case, on a thread that may be left behind.
fn outcome(case: &Case, graphs: &Arc<Graphs>, targets: &[Target]) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let (scenario, graphs, targets) = (Arc::clone(&case.scenario), Arc::clone(graphs), targets.to_vec());
    let body = move || {
        RUNS_SCENARIOS.set(true);
        let each = targets.iter().map(|target| (*target, guarded(&scenario, &graphs, *target)));
        // Who waited for too long isn't there any more.
        let _ = sender.send(agreed(&each.collect::<Vec<_>>()));
    };
    let started = thread::Builder::new().name(case.name.clone()).stack_size(STACK_BYTES).spawn(body);
    started.expect("a thread can be started");
    let late = || format!("it runs longer than {} s and doesn't look at its timeout", DEADLINE.as_secs());
    receiver.recv_timeout(DEADLINE).unwrap_or_else(|_| Outcome::Failed(late()))
}

thread_local! {
    /// What the panic of this thread says, if it runs scenarios.
    static PANICKED: RefCell<Option<String>> = const { RefCell::new(None) };
    static RUNS_SCENARIOS: Cell<bool> = const { Cell::new(false) };
}

/// From now on panics of scenarios are kept instead of printed; those of others are told as before.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !RUNS_SCENARIOS.get() {
                return before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("something");
            let place = info
                .location()
                .map_or_else(String::new, |place| format!("{}:{}: ", place.file(), place.line()));
            PANICKED.with(|panicked| *panicked.borrow_mut() = Some(format!("panicked at {place}{text}")));
        }));
    });
}

fn guarded(scenario: &Scenario, graphs: &Graphs, target: Target) -> Outcome {
    let limits = Limits { target, timeout: TIMEOUT };
    panic::catch_unwind(AssertUnwindSafe(|| world::run(scenario, graphs, limits))).unwrap_or_else(|_| {
        let why = PANICKED.with(|panicked| panicked.borrow_mut().take());
        Outcome::Failed(why.unwrap_or_else(|| "panicked".to_owned()))
    })
}

/// The outcome of all targets, if it is the same.
fn agreed(each: &[(Target, Outcome)]) -> Outcome {
    let Some((last_target, last)) = each.last() else { return Outcome::Failed("it wasn't run".to_owned()) };
    let Some((target, other)) = each.iter().find(|(_, other)| other.kind() != last.kind()) else {
        return last.clone();
    };
    let why = |outcome: &Outcome| match outcome {
        Outcome::Failed(why) | Outcome::NotImplemented(why) => format!("{}: {why}", outcome.kind()),
        other => other.kind().to_owned(),
    };
    Outcome::Failed(format!("{target}: {}; {last_target}: {}", why(other), why(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        keep_panics();
        let body = || {
            RUNS_SCENARIOS.set(true);
            let caught = panic::catch_unwind(|| panic!("row {} is missing", 3));
            assert!(caught.is_err());
            PANICKED.take()
        };
        let said = thread::spawn(body).join().unwrap().unwrap();
        assert!(said.starts_with("panicked at tests/tinkerpop/src/run.rs:"), "{said}");
        assert!(said.ends_with(": row 3 is missing"), "{said}");
        assert_eq!(PANICKED.take(), None, "this thread runs no scenario");
    }

    #[test]
    fn an_outcome_that_depends_on_the_size_of_batches_is_a_failure() {
        let failed = |why: &str| Outcome::Failed(why.to_owned());
        let agreed = |one: Outcome, three: Outcome| {
            let target = |batch_rows| Target::Embedded { batch_rows };
            agreed(&[(target(1), one), (target(3), three)])
        };
        assert_eq!(agreed(Outcome::Passed, Outcome::Passed), Outcome::Passed);
        assert_eq!(agreed(failed("a"), failed("b")), failed("b"));
        let different = agreed(failed("a"), Outcome::Passed);
        assert_eq!(different, failed("batches of 1: failed: a; batches of 3: passed"));
    }
}
