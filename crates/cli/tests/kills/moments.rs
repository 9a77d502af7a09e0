//! Moments: when to kill, how often, and how to learn it again.

use evergraph::EngineKind;
use std::env;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Random moments of one test; the seed is printed.
pub struct Moments(u64);

/// The number that the environment variable `name` has, if it is set.
pub fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, no number")))
}

/// A database that takes longer to open or to import into has shown what it can: the next round begins with a
/// new one.
pub const LONG: Duration = Duration::from_secs(1);

/// The engines whose databases are written and killed: that of EVERGRAPH_KILL_ENGINE, or all.
pub fn engines() -> Vec<EngineKind> {
    let Ok(name) = env::var("EVERGRAPH_KILL_ENGINE") else { return EngineKind::ALL.to_vec() };
    vec![name.parse().unwrap_or_else(|error| panic!("EVERGRAPH_KILL_ENGINE: {error}"))]
}

/// How many kills a test does of each engine that has this share of all, in percent.
pub fn cycles(percent: u64) -> u64 {
    let all = number("EVERGRAPH_KILL_CYCLES").unwrap_or(15) * percent;
    all.div_ceil(100 * engines().len() as u64)
}

impl Moments {
    /// From EVERGRAPH_KILL_SEED, or the clock.
    pub fn new() -> Self {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = number("EVERGRAPH_KILL_SEED").unwrap_or(clock.as_nanos() as u64);
        println!("EVERGRAPH_KILL_SEED={seed}");
        Self(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // An LCG will do: moments need not be good random numbers.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A time below `end`.
    pub fn within(&mut self, end: Duration) -> Duration {
        Duration::from_micros(self.below(end.as_micros() as u64 + 1))
    }
}

/// Kills `child` after `time`; whether it had not ended by itself.
pub fn kill_after(mut child: Child, time: Duration) -> bool {
    thread::sleep(time);
    // An error says that it is gone already.
    let _ = child.kill();
    let status = child.wait().unwrap();
    assert!(status.success() || status.code().is_none(), "it failed by itself: {status}");
    status.code().is_none()
}

/// Starts `command`, which says nothing, and kills it at a moment of the time that it takes.
pub fn start_and_kill(command: &mut Command, time: Duration) -> bool {
    kill_after(command.stdout(Stdio::null()).spawn().unwrap(), time)
}

/// How long `work` takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed())
}
