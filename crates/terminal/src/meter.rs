//! Meter: how far a long piece of work is, as a bar on a terminal and as lines anywhere else.
//!
//! ```text
//! people.csv: 12,345,678 rows, 1.3 M rows/s  ━━━━━━━━━━━╸           43 %  12 s left
//! ```
//!
//! All of it goes to standard error, so that results can be piped. Off a terminal nothing is shown, or,
//! with `--progress always`, at most one line every few seconds.

use crate::failure::tell;
use crate::number;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines off a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The bar's length: thousandths of a phase.
const STEPS: u64 = 1000;

/// Shows progress; what is left of it on a terminal vanishes with the meter.
///
/// Concurrency: any thread may tell it how far the work is.
#[derive(Debug)]
pub struct Meter {
    form: Form,
    state: Mutex<State>,
}

#[derive(Debug)]
enum Form {
    Silent,
    Bar(ProgressBar),
    Lines,
}

#[derive(Debug)]
struct State {
    phase: String,
    phase_began: Instant,
    told: Instant,
}

impl Meter {
    /// One that shows nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::with(Form::Silent)
    }

    /// A bar on standard error, which is a terminal.
    #[must_use]
    pub fn bar() -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
        Self::with(Form::Bar(bar))
    }

    /// Lines on standard error.
    #[must_use]
    pub fn lines() -> Self {
        Self::with(Form::Lines)
    }

    fn with(form: Form) -> Self {
        let now = Instant::now();
        let state = State { phase: String::new(), phase_began: now, told: now };
        Self { form, state: Mutex::new(state) }
    }

    /// Tells that `fraction` (0 to 1; `None` if nobody can know) of `phase` is done; `detail` is shown
    /// beside the phase. The time left is that of the phase.
    pub fn tell(&self, phase: &str, fraction: Option<f64>, detail: impl FnOnce() -> String) {
        if matches!(self.form, Form::Silent) {
            return;
        }
        let now = Instant::now();
        // A meter that another thread left in a panic still has a sound state.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.phase != phase {
            phase.clone_into(&mut state.phase);
            state.phase_began = now;
        }
        let left = fraction.and_then(|fraction| time_left(now - state.phase_began, fraction));
        let left = left.map(|left| format!("{} left", number::time(left)));
        let detail = detail();
        let what = if detail.is_empty() { phase.to_owned() } else { format!("{phase}: {detail}") };
        match &self.form {
            Form::Silent => {}
            Form::Bar(bar) => {
                bar.set_style(style(fraction.is_some()));
                bar.set_prefix(what);
                bar.set_message(left.unwrap_or_default());
                bar.set_position((fraction.unwrap_or(0.0) * STEPS as f64) as u64);
            }
            Form::Lines => {
                if now - state.told >= LINE_EVERY {
                    state.told = now;
                    let percent = fraction.map(|fraction| format!("{:.0} %", fraction * 100.0));
                    let parts: Vec<String> = [Some(what), percent, left].into_iter().flatten().collect();
                    tell(&parts.join(", "));
                }
            }
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Form::Bar(bar) = &self.form {
            bar.finish_and_clear();
        }
    }
}

/// The time that is left if the rest goes as fast as what is done. `None` before anything can be said.
fn time_left(spent: Duration, fraction: f64) -> Option<Duration> {
    if fraction < 0.001 || spent < Duration::from_millis(500) {
        return None;
    }
    Duration::try_from_secs_f64(spent.as_secs_f64() * (1.0 - fraction) / fraction).ok()
}

fn style(end_is_known: bool) -> ProgressStyle {
    let template =
        if end_is_known { "{prefix}  {wide_bar} {percent:>3} %  {msg}" } else { "{spinner} {prefix}  {msg}" };
    ProgressStyle::with_template(template)
        .expect("the template is ours and well-formed")
        .progress_chars("━╸ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_is_done() {
        let left = |spent, fraction| time_left(Duration::from_secs(spent), fraction);
        assert_eq!(left(10, 0.25), Some(Duration::from_secs(30)));
        assert_eq!(left(10, 1.0), Some(Duration::ZERO));
        assert_eq!(left(10, 0.0), None);
        assert_eq!(left(0, 0.5), None);
    }

    #[test]
    fn both_forms_of_the_bar_are_well_formed() {
        style(true);
        style(false);
    }
}
