//! Campaign: histories of consecutive seeds on two threads, until so many images were judged; and the
//! smallest list of steps for what is missed.

use crate::simulated::judge::{LINES_FROM_SEED, Place, Plan, Tally, ways_max};
use evergraph_engines::kind::EngineKind;
use evergraph_storage::sync::Mutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: usize = 2;
/// A history that takes longer than this will not end.
const STUCK_AFTER: Duration = Duration::from_secs(900);
/// Fewer images than this are judged on one thread: a replay is to play its seed and no other.
const FEW: u64 = 1000;
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// A promise that was broken.
pub struct Miss {
    pub engine: EngineKind,
    pub seed: u64,
    pub text: String,
    pub place: Place,
    pub plan: Plan,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.text)?;
        if let Some((at, step)) = self.place.step {
            writeln!(f, "  in step {at}, {step:?}")?;
        }
        if let Some((cut, length, kind)) = self.place.image {
            writeln!(f, "  {kind}: the power failed after change {cut} of {length}")?;
        }
        writeln!(f, "  {:?}", self.plan.settings)?;
        writeln!(f, "  the smallest list of steps that was found, {} of them:", self.plan.steps.len())?;
        for step in &self.plan.steps {
            writeln!(f, "    {step:?}")?;
        }
        writeln!(f, "  replay: {}", replay(self.engine, self.seed, self.plan.ways_max))
    }
}

/// The command that plays the history of a seed again. The ways of a power cut are those of lines alone.
fn replay(engine: EngineKind, seed: u64, ways_max: usize) -> String {
    let ways = if seed < LINES_FROM_SEED { String::new() } else { format!(" WAYS={ways_max}") };
    format!("make crash ENGINE={engine} IMAGES=1 SEED={seed}{ways}")
}

/// Plays one plan; a panic is a miss as well.
fn play(plan: &Plan, tally: &mut Tally, place: &mut Place) -> Result<u64, String> {
    let played = caught(|| plan.play(tally, place));
    played.unwrap_or_else(Err)
}

thread_local! {
    /// The panic under way, on a thread that asked for it.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`; what it panics with is returned rather than printed.
fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_caught = PANIC.with_borrow_mut(|caught| match caught {
                Some(text) => {
                    *text = format!("panic: {panic}");
                    true
                }
                None => false,
            });
            if !is_caught {
                before(panic);
            }
        }));
    });
    PANIC.set(Some(String::new()));
    let done = std::panic::catch_unwind(AssertUnwindSafe(body));
    let text = PANIC.take().unwrap_or_default();
    done.map_err(|_| text)
}

/// Plays the plan of `seed`, with so many ways of a power cut at one moment if more than usual are allowed; its trace.
pub fn play_seed(
    engine: EngineKind,
    seed: u64,
    ways_allowed: Option<usize>,
    tally: &mut Tally,
) -> Result<u64, Box<Miss>> {
    let (plan, mut place) = (Plan::of(engine, seed, ways_allowed), Place::default());
    play(&plan, tally, &mut place).map_err(|text| Box::new(Miss { engine, seed, text, place, plan }))
}

/// Plays seeds from `seed` on until `images` images were judged. Tells how far it is every few seconds. For a
/// miss the smallest list of steps is looked for, for so long. `ways_allowed` is that of [`Plan::of`].
pub fn run(
    engine: EngineKind,
    seed: u64,
    images: u64,
    ways_allowed: Option<usize>,
    shrink_for: Duration,
) -> Result<Tally, Box<Miss>> {
    let began = Instant::now();
    let (next, judged, stop) = (AtomicU64::new(seed), AtomicU64::new(0), AtomicBool::new(false));
    let total: Mutex<Result<Tally, Box<Miss>>> = Mutex::new(Ok(Tally::default()));
    let playing: Mutex<BTreeMap<u64, Instant>> = Mutex::default();
    let work = || {
        while !stop.load(Ordering::Relaxed) && judged.load(Ordering::Relaxed) < images {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let mut tally = Tally::default();
            playing.lock().insert(seed, Instant::now());
            let played = play_seed(engine, seed, ways_allowed, &mut tally);
            playing.lock().remove(&seed);
            judged.fetch_add(tally.images_count(), Ordering::Relaxed);
            let mut total = total.lock();
            match (&mut *total, played) {
                (Ok(total), Ok(_)) => total.add(&tally),
                (Ok(_), Err(miss)) => {
                    *total = Err(miss);
                    stop.store(true, Ordering::Relaxed);
                }
                (Err(_), _) => {}
            }
        }
    };
    let threads = if images < FEW { 1 } else { THREADS };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut told = began;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(50));
            if let Some((seed, _)) = playing.lock().iter().find(|(_, began)| began.elapsed() > STUCK_AFTER) {
                // A thread cannot be ended from outside; the process can.
                let replay = replay(engine, *seed, ways_max(engine, *seed, ways_allowed));
                eprintln!("seed {seed}: stuck for {STUCK_AFTER:?}; replay: {replay}");
                std::process::exit(1);
            }
            if told.elapsed() >= PROGRESS_EVERY {
                told = Instant::now();
                let (done, seconds) = (judged.load(Ordering::Relaxed), began.elapsed().as_secs());
                eprintln!(
                    "{done} of {images} images in {seconds} s, {} histories",
                    next.load(Ordering::Relaxed) - seed
                );
            }
        }
    });
    let total = std::mem::replace(&mut *total.lock(), Ok(Tally::default()));
    match total {
        Ok(tally) => {
            println!("{}", Summary { tally: &tally, seed, seconds: began.elapsed().as_secs_f64() });
            Ok(tally)
        }
        Err(mut miss) => {
            eprintln!("seed {}: {}\nlooking for the smallest list of steps ...", miss.seed, miss.text);
            shrink(&mut miss, shrink_for);
            Err(miss)
        }
    }
}

/// Takes steps away from a miss while it stays one.
fn shrink(miss: &mut Miss, shrink_for: Duration) {
    let began = Instant::now();
    let mut chunk = miss.plan.steps.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < miss.plan.steps.len() {
            if began.elapsed() >= shrink_for {
                return;
            }
            let mut fewer = miss.plan.clone();
            fewer.steps.drain(at..(at + chunk).min(fewer.steps.len()));
            let mut place = Place::default();
            match play(&fewer, &mut Tally::default(), &mut place) {
                Ok(_) => at += chunk,
                Err(text) => {
                    (miss.plan, miss.text, miss.place) = (fewer, text, place);
                }
            }
        }
        chunk /= 2;
    }
}

struct Summary<'a> {
    tally: &'a Tally,
    seed: u64,
    seconds: f64,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tally, seed, seconds } = self;
        let images = tally.images_count();
        let histories: u64 = tally.histories.values().sum();
        writeln!(f, "{images} images of {histories} histories from seed {seed}, none broke a promise")?;
        for (kind, count) in &tally.images {
            writeln!(f, "  {count:>9}  {kind}")?;
        }
        writeln!(f, "  {:>9}  of these said clearly that they are broken", tally.refused)?;
        for (kind, count) in &tally.histories {
            writeln!(f, "  {count:>9}  histories: {kind}")?;
        }
        for (kind, count) in &tally.met {
            writeln!(f, "  {count:>9}  {kind}")?;
        }
        write!(f, "  {:>9}  commits; {seconds:.1} s, {:.0} images/s", tally.commits, images as f64 / seconds)
    }
}
