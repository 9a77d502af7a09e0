//! Figures: a median with its range, for people and as JSON.

use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::count::Count;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unit {
    /// So many a second: more is better.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Seconds: less is better.
    #[serde(rename = "s")]
    Seconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Bytes for each edge.
    #[serde(rename = "B/edge")]
    BytesPerEdge,
    /// A time, as a multiple of another's: 1 is as fast, less is better.
    #[serde(rename = "x")]
    Times,
    /// A part of a whole, 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// A plain number.
    #[serde(rename = "1")]
    Number,
}

impl Unit {
    /// A value as people read it: `12.4 µs`.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{}/s", Count(value.round() as u64)),
            Self::Seconds if value < 1e-6 => format!("{:.0} ns", value * 1e9),
            Self::Seconds if value < 1e-3 => format!("{:.1} µs", value * 1e6),
            Self::Seconds if value < 0.1 => format!("{:.1} ms", value * 1e3),
            Self::Seconds if value < 1.0 => format!("{:.0} ms", value * 1e3),
            Self::Seconds => format!("{value:.2} s"),
            Self::Bytes => ByteSize(value.round() as u64).to_string(),
            Self::BytesPerEdge => format!("{value:.2} B"),
            Self::Times => format!("{value:.2} x"),
            Self::Share => format!("{:.2} %", value * 100.0),
            Self::Number => format!("{value:.1e}"),
        }
    }
}

/// The lowest and the highest of several runs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// The median of `samples` and their range.
///
/// # Panics
/// If there is none: every measurement runs at least once.
#[must_use]
pub fn median_and_spread(samples: &[f64]) -> (f64, Spread) {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ends = sorted.first().zip(sorted.last());
    let (low, high) = ends.expect("every measurement runs at least once");
    let middle = sorted.len() / 2;
    let median = if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    };
    (median, Spread { low: *low, high: *high })
}

/// A measured figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Its name for programs: stable, with dots between its parts.
    pub name: String,
    /// What it is, for people.
    #[serde(skip)]
    pub title: String,
    /// The median of all runs.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// The range of all runs.
    pub spread: Spread,
    /// How many runs there were.
    pub runs: usize,
    /// Under which settings.
    pub settings: BTreeMap<&'static str, String>,
}

impl Figure {
    /// The figure of `samples`, at least one.
    ///
    /// # Panics
    /// If there is none: every measurement runs at least once.
    #[must_use]
    pub fn new(name: impl Into<String>, title: impl Into<String>, unit: Unit, samples: &[f64]) -> Self {
        let (value, spread) = median_and_spread(samples);
        Self {
            name: name.into(),
            title: title.into(),
            value,
            unit,
            spread,
            runs: samples.len(),
            settings: BTreeMap::new(),
        }
    }

    /// The same, with a setting.
    #[must_use]
    pub fn with(mut self, setting: &'static str, value: impl fmt::Display) -> Self {
        self.settings.insert(setting, value.to_string());
        self
    }

    /// The median: `12,345/s`.
    #[must_use]
    pub fn value_text(&self) -> String {
        self.unit.show(self.value)
    }

    /// The median with its range: `0.81 x (0.78 x to 0.85 x)`.
    #[must_use]
    pub fn range_text(&self) -> String {
        let [value, low, high] = [self.value, self.spread.low, self.spread.high].map(|at| self.unit.show(at));
        format!("{value} ({low} to {high})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_of_its_runs_with_their_range() {
        let odd = Figure::new("a", "A", Unit::Times, &[3.0, 1.0, 2.0]);
        assert_eq!((odd.value, odd.spread, odd.runs), (2.0, Spread { low: 1.0, high: 3.0 }, 3));
        assert_eq!(Figure::new("a", "A", Unit::Times, &[4.0, 1.0, 2.0, 3.0]).value, 2.5);
    }

    #[test]
    fn each_unit_is_shown_as_people_read_it() {
        let shown = [
            Unit::PerSecond.show(1_234_567.4),
            Unit::Seconds.show(4.25e-7),
            Unit::Seconds.show(1.24e-5),
            Unit::Seconds.show(0.0421),
            Unit::Seconds.show(1.5),
            Unit::Seconds.show(12.34),
            Unit::BytesPerEdge.show(9.5),
            Unit::Times.show(1.072),
            Unit::Share.show(0.0098),
            Unit::Number.show(2.2e-16),
        ];
        assert_eq!(
            shown,
            [
                "1,234,567/s",
                "425 ns",
                "12.4 µs",
                "42.1 ms",
                "1.50 s",
                "12.34 s",
                "9.50 B",
                "1.07 x",
                "0.98 %",
                "2.2e-16"
            ]
        );
    }

    #[test]
    fn json_has_name_value_unit_spread_and_settings() {
        let figure = Figure::new("commits.sync", "x", Unit::PerSecond, &[2.0]).with("clients", 64);
        let json = serde_json::to_value(figure).unwrap();
        let want = serde_json::json!({
            "name": "commits.sync", "value": 2.0, "unit": "1/s", "spread": { "low": 2.0, "high": 2.0 },
            "runs": 1, "settings": { "clients": "64" },
        });
        assert_eq!(json, want);
    }
}
