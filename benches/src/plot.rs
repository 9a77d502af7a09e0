//! Plot: bars as SVG, for README and `docs/benchmarks.md`: who takes how long, beside the goal.
//!
//! Plain shapes and text, no script, no font to load; colours read on light and dark pages.

use crate::results::{Entry, Results};
use evergraph_measure::figure::Unit;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const LABELS: f64 = 300.0;
const VALUES: f64 = 110.0;
const ROW: f64 = 26.0;
const TOP: f64 = 58.0;
const OURS: &str = "#2f7ed8";
const THEIRS: &str = "#9aa5b1";
const GOAL: &str = "#d9534f";
const TEXT: &str = "#768390";

/// A bar: its name, its length, the text behind it, whether it is ours.
struct Bar {
    label: String,
    value: f64,
    text: String,
    ours: bool,
}

/// A chart of bars that share a scale.
struct Chart {
    title: String,
    caption: String,
    bars: Vec<Bar>,
    /// A line across all bars.
    mark: Option<f64>,
}

/// File names with their plots; none for figures that were not measured.
#[must_use]
pub fn plots(results: &Results) -> Vec<(&'static str, String)> {
    let charts = [
        ("live.svg", live(results)),
        (
            "pagerank.svg",
            by_engine(
                results,
                "pagerank.by_scans",
                "PageRank, 20 iterations, by scans of each engine",
                false,
            ),
        ),
        (
            "inserts.svg",
            by_engine(results, "insert.one.skewed", "Transactions of one edge, not synced, 1 thread", true),
        ),
        (
            "linkbench.svg",
            by_engine(results, "linkbench.dflt.clients_24", "LinkBench DFLT, durable, 24 clients", true),
        ),
    ];
    charts.into_iter().filter_map(|(name, chart)| Some((name, chart?.svg()))).collect()
}

/// Live graph beside static array, every kernel with 1 % fresh edges.
fn live(results: &Results) -> Option<Chart> {
    let wanted =
        |entry: &&Entry| entry.name.starts_with("live.") && entry.name.ends_with(".fresh_1.threads_1");
    let bars: Vec<Bar> = results
        .entries
        .iter()
        .filter(wanted)
        .filter_map(|entry| {
            let ratio = entry.ratio?.median;
            let label = entry.title.split(", 1 % just").next().unwrap_or(&entry.title).to_owned();
            Some(Bar { label, value: ratio, text: Unit::Times.show(ratio), ours: true })
        })
        .collect();
    (!bars.is_empty()).then(|| Chart {
        title: "A live graph beside a static array of the same edges".to_owned(),
        caption: "time / time of the static array, 1 % of the edges just inserted, snapshot and freeze included; line: as fast"
            .to_owned(),
        bars,
        mark: Some(1.0),
    })
}

/// One figure of every engine.
fn by_engine(results: &Results, name: &str, title: &str, more_is_better: bool) -> Option<Chart> {
    let entries: Vec<&Entry> =
        results.entries.iter().filter(|entry| entry.name == name && entry.peer.is_some()).collect();
    let first = entries.first()?;
    let ours = Bar {
        label: "evergraph".to_owned(),
        value: first.ours.median,
        text: first.unit.show(first.ours.median),
        ours: true,
    };
    let theirs = entries.iter().filter_map(|entry| {
        let value = entry.theirs?.median;
        Some(Bar { label: entry.peer.clone()?, value, text: entry.unit.show(value), ours: false })
    });
    let caption = if more_is_better { "more is better" } else { "less is better" };
    let bars = std::iter::once(ours).chain(theirs).collect();
    Some(Chart { title: title.to_owned(), caption: caption.to_owned(), bars, mark: None })
}

impl Chart {
    fn svg(&self) -> String {
        let height = TOP + ROW * self.bars.len() as f64 + 12.0;
        let longest =
            self.bars.iter().map(|bar| bar.value).chain(self.mark).fold(f64::MIN_POSITIVE, f64::max);
        let length = |value: f64| (WIDTH - LABELS - VALUES) * value / longest;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
             font-size=\"13\" fill=\"{TEXT}\">\n"
        );
        let text = |x: f64, y: f64, more: &str, text: &str| {
            format!("<text x=\"{x:.1}\" y=\"{y:.1}\"{more}>{}</text>\n", escaped(text))
        };
        svg += &text(12.0, 22.0, " font-size=\"16\" font-weight=\"bold\"", &self.title);
        svg += &text(12.0, 42.0, " font-size=\"11\"", &self.caption);
        for (row, bar) in self.bars.iter().enumerate() {
            let y = TOP + ROW * row as f64;
            svg += &text(LABELS - 10.0, y + 14.0, " text-anchor=\"end\"", &bar.label);
            let colour = if bar.ours { OURS } else { THEIRS };
            let width = length(bar.value);
            writeln!(svg, "<rect x=\"{LABELS}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"18\" rx=\"2\" fill=\"{colour}\"/>")
                .expect("a text takes every line");
            svg += &text(LABELS + width + 6.0, y + 14.0, "", &bar.text);
        }
        if let Some(mark) = self.mark {
            let (x, end) = (LABELS + length(mark), height - 8.0);
            writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{end:.1}\" stroke=\"{GOAL}\"/>",
                TOP - 6.0
            )
            .expect("a text takes every line");
        }
        svg + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::Race;
    use crate::results::Heading;

    #[test]
    fn bars_are_as_long_as_their_values_and_texts_are_escaped() {
        let mut results = Results::default();
        let mut race = Race::new(["evergraph", "a<b"]);
        race.note(&[50.0, 100.0]);
        results.add_race("x", &Heading::new("insert.one.skewed", "one", Unit::PerSecond), &race);
        let plots = plots(&results);
        let [(name, svg)] = plots.as_slice() else { panic!("one figure was measured") };
        assert_eq!(*name, "inserts.svg");
        let bar =
            |width: &str, colour: &str| format!("width=\"{width}\" height=\"18\" rx=\"2\" fill=\"{colour}\"");
        assert!(svg.contains(&bar("175.0", OURS)) && svg.contains(&bar("350.0", THEIRS)), "{svg}");
        assert!(svg.contains(">a&lt;b<") && svg.ends_with("</svg>\n"));
    }
}
