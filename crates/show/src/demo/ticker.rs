//! Ticker: a line every few seconds that says how writing and analysing go.
//!
//! ```text
//!  time  commits/s      p50      p99  PageRank  of static  lacks at first  at last   rings found
//!   2 s     12,345   0.8 ms   2.1 ms     41 ms       92 %               3      560  512 of 512
//! ```
//!
//! Plain lines without any cursor movement: the same on a terminal and in a log.

use crate::demo::analysis::Ranked;
use crate::demo::tally::{Tally, latency, quantile};
use evergraph_terminal::number::{count, time};
use std::time::{Duration, Instant};

/// The columns and their widths.
const COLUMNS: [(&str, usize); 9] = [
    ("time", 6),
    ("commits/s", 11),
    ("p50", 9),
    ("p99", 9),
    ("PageRank", 10),
    ("of static", 11),
    ("lacks at first", 16),
    ("at last", 9),
    ("rings found", 16),
];

/// Makes lines of what was said since the line before.
#[derive(Debug)]
pub struct Ticker {
    began: Instant,
    told: Instant,
    commits: usize,
    ranked: usize,
    loaded_rings: u64,
}

impl Ticker {
    /// Writing began at `began`; `loaded_rings` rings were there to find from the beginning.
    #[must_use]
    pub fn new(began: Instant, loaded_rings: u64) -> Self {
        Self { began, told: began, commits: 0, ranked: 0, loaded_rings }
    }

    /// The names of the columns.
    #[must_use]
    pub fn header() -> String {
        row(COLUMNS.map(|(name, _)| name.to_owned()))
    }

    /// When the last line was made, or writing began.
    #[must_use]
    pub fn told(&self) -> Instant {
        self.told
    }

    /// A line of what came since the last one.
    pub fn line(&mut self, tally: &Tally) -> String {
        let now = Instant::now();
        let latencies = &tally.latencies_us[self.commits..];
        let ranked = &tally.ranked[self.ranked..];
        let seconds = (now - self.told).as_secs_f64();
        // It is measured less often than lines may be told.
        let share = static_share(ranked).or_else(|| static_share(&tally.ranked));
        let middle = |part: fn(&Ranked) -> u64| quantile(ranked.iter().map(part), 0.5);
        let line = row([
            format!("{:.0} s", (now - self.began).as_secs_f64()),
            count((latencies.len() as f64 / seconds).round() as u64),
            or_nothing(latency(latencies, 0.5), precise),
            or_nothing(latency(latencies, 0.99), precise),
            or_nothing(quantile(ranked.iter().map(Ranked::live), 0.5), time),
            or_nothing(share, |share| format!("{:.0} %", share * 100.0)),
            or_nothing(middle(|ranked| ranked.lacks_at_first), count),
            or_nothing(middle(|ranked| ranked.lacks_at_last), count),
            format!(
                "{} of {}",
                count(tally.rings.len() as u64),
                count(tally.rings_closed() + self.loaded_rings)
            ),
        ]);
        (self.told, self.commits, self.ranked) = (now, tally.latencies_us.len(), tally.ranked.len());
        line
    }
}

/// The median share of a static graph's speed; `None` where it wasn't measured.
#[must_use]
pub fn static_share(ranked: &[Ranked]) -> Option<f64> {
    let mut shares: Vec<f64> = ranked.iter().filter_map(Ranked::static_share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

/// A short time with enough digits: `0.83 ms`.
#[must_use]
pub fn precise(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    let decimals = if milliseconds < 1.0 { 2 } else { usize::from(milliseconds < 10.0) };
    format!("{milliseconds:.decimals$} ms")
}

fn or_nothing<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

fn row(cells: [String; COLUMNS.len()]) -> String {
    cells.iter().zip(COLUMNS).map(|(cell, (_, width))| format!("{cell:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::message::Message;
    use crate::demo::network::{Network, NetworkSize};
    use crate::demo::reference::Reference;

    #[test]
    fn a_line_fits_a_terminal_and_covers_only_what_is_new() {
        let network = Network::generate(NetworkSize { transfers: 2000, seed: 1 }).unwrap();
        let mut tally = Tally::new(&network, &[0]);
        let mut ticker = Ticker::new(Instant::now() - Duration::from_secs(2), 3);
        for sequence in 0..200 {
            let reference = Reference { lane: 0, sequence };
            tally.add(Message::Booked { reference, latency_us: 1000 + sequence }).unwrap();
        }
        let line = ticker.line(&tally);
        assert_eq!(line.len(), Ticker::header().len());
        assert!(line.len() < 100, "{}", line.len());
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells, ["2", "s", "100", "1.1", "ms", "1.2", "ms", "-", "-", "-", "-", "0", "of", "3"]);
        assert!(ticker.line(&tally).contains(" 0        -"), "no commit is new");
    }

    #[test]
    fn short_times_keep_their_digits() {
        let texts = [0.000_834, 0.002_14, 0.0333].map(|seconds| precise(Duration::from_secs_f64(seconds)));
        assert_eq!(texts, ["0.83 ms", "2.1 ms", "33 ms"]);
    }
}
