//! Plot: bars as SVG, for README and `docs/benchmarks.md`: who takes how long, beside the goal.
//!
//! ```text
//! live_beside_others.svg   the main one: PageRank on the live graph and on the others, as multiples of a static array
//! live.svg                 every kernel, with 1 % fresh edges        linkbench.svg, inserts.svg   by engine
//! ```
//!
//! Plain shapes and text, no script, no font to load. Text and colours follow the reader's light or dark theme,
//! and fit both where a viewer ignores that.

use crate::goals::baseline;
use crate::results::{Entry, Results};
use evergraph_measure::figure::Unit;

const WIDTH: f64 = 760.0;
const LABELS: f64 = 300.0;
const VALUES: f64 = 110.0;
const ROW: f64 = 26.0;
const BAR: f64 = 18.0;
const TOP: f64 = 58.0;
/// A bar longer than this many marks is cut: others beside it would be too short to compare.
const MARKS_MAX: f64 = 10.0;
const STYLE: &str = "<style>
text { fill: #57606a } .strong { fill: #24292f; font-weight: bold }
.ours { fill: #2f7ed8 } .base { fill: #57606a } .theirs { fill: #9aa5b1 } .mark { stroke: #d9534f }
.cut { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #9aa5b1 } .strong { fill: #e6edf3 }
.ours { fill: #58a6ff } .base { fill: #9aa5b1 } .theirs { fill: #57606a } .mark { stroke: #f47067 }
.cut { fill: #0d1117 }
}
</style>
";

/// Whose figure a bar shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Ours,
    /// What the others are measured by.
    Base,
    Theirs,
}

impl Whose {
    const fn class(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Base => "base",
            Self::Theirs => "theirs",
        }
    }
}

/// A bar: its name, its length, the text behind it, whose it is.
struct Bar {
    label: String,
    value: f64,
    text: String,
    whose: Whose,
}

/// A chart of bars that share a scale.
struct Chart {
    title: String,
    caption: String,
    bars: Vec<Bar>,
    /// A line across all bars; those that are too many times as long are cut.
    mark: Option<f64>,
    /// What was measured on; may be empty.
    footer: String,
}

/// File names with their plots; none for figures that were not measured.
#[must_use]
pub fn plots(results: &Results) -> Vec<(&'static str, String)> {
    let charts = [
        ("live_beside_others.svg", live_beside_others(results)),
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

/// PageRank on the live graph, on a static array, and on every other engine, all as multiples of the array's time.
///
/// Ours is measured beside the array as "live" has it, while or right after it is written to. The others come
/// from "reads", where they are at rest and the array ran beside them on the same edges.
fn live_beside_others(results: &Results) -> Option<Chart> {
    let found = |name: &str, peer: &str| {
        results.entries.iter().find(|entry| entry.name == name && entry.peer.as_deref() == Some(peer))
    };
    let bar = |label: &str, times: f64, whose| Bar {
        label: label.to_owned(),
        value: times,
        text: Unit::Times.show(times),
        whose,
    };
    let states = [
        ("fresh_0", "Evergraph, live"),
        ("fresh_1", "Evergraph, 1 % just inserted"),
        ("fresh_10", "Evergraph, 10 % just inserted"),
        ("writer", "Evergraph, while a thread inserts"),
    ];
    let ours = states.into_iter().filter_map(|(state, label)| {
        let entry = found(&format!("live.pagerank.{state}.threads_1"), baseline::STATIC)?;
        Some(bar(label, entry.ratio?.median, Whose::Ours))
    });
    let ours: Vec<Bar> = ours.collect();
    let by_scans = "pagerank.by_scans";
    let array = found(by_scans, baseline::STATIC)?.theirs?.median;
    let others = results.entries.iter().filter(|entry| entry.name == by_scans).filter_map(|entry| {
        let name = entry.peer.as_deref().filter(|peer| *peer != baseline::STATIC)?;
        Some(bar(
            &format!("{}, nobody writes", proper_name(name)),
            entry.theirs?.median / array,
            Whose::Theirs,
        ))
    });
    let mut others: Vec<Bar> = others.collect();
    others.sort_by(|one, other| one.value.total_cmp(&other.value));
    if ours.is_empty() || others.is_empty() {
        return None;
    }
    let array = bar("static array: never changes", 1.0, Whose::Base);
    Some(Chart {
        title: "PageRank on a graph that is being written to".to_owned(),
        caption: "time as a multiple of a static array's, same edges, 1 thread; less is better; bars with a gap are cut"
            .to_owned(),
        bars: std::iter::once(array).chain(ours).chain(others).collect(),
        mark: Some(1.0),
        footer: results.plan.get("graph").cloned().unwrap_or_default(),
    })
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
            Some(Bar { label, value: ratio, text: Unit::Times.show(ratio), whose: Whose::Ours })
        })
        .collect();
    (!bars.is_empty()).then(|| Chart {
        title: "A live graph beside a static array of the same edges".to_owned(),
        caption: "time / time of the static array, 1 % of the edges just inserted, snapshot and freeze included; line: as fast"
            .to_owned(),
        bars,
        mark: Some(1.0),
        footer: String::new(),
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
        whose: Whose::Ours,
    };
    let theirs = entries.iter().filter_map(|entry| {
        let value = entry.theirs?.median;
        Some(Bar { label: entry.peer.clone()?, value, text: entry.unit.show(value), whose: Whose::Theirs })
    });
    let caption = if more_is_better { "more is better" } else { "less is better" };
    let bars = std::iter::once(ours).chain(theirs).collect();
    Some(Chart {
        title: title.to_owned(),
        caption: caption.to_owned(),
        bars,
        mark: None,
        footer: String::new(),
    })
}

impl Chart {
    fn svg(&self) -> String {
        let end = TOP + ROW * self.bars.len() as f64;
        let height = end + if self.footer.is_empty() { 12.0 } else { 28.0 };
        let longest =
            self.bars.iter().map(|bar| bar.value).chain(self.mark).fold(f64::MIN_POSITIVE, f64::max);
        let longest = self.mark.map_or(longest, |mark| longest.min(MARKS_MAX * mark));
        let length = |value: f64| (WIDTH - LABELS - VALUES) * value.min(longest) / longest;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"13\">\n<title>{}</title>\n{STYLE}",
            escaped(&self.title)
        );
        let text = |x: f64, y: f64, more: &str, text: &str| {
            format!("<text x=\"{x:.1}\" y=\"{y:.1}\"{more}>{}</text>\n", escaped(text))
        };
        svg += &text(12.0, 22.0, " class=\"strong\" font-size=\"16\"", &self.title);
        svg += &text(12.0, 42.0, " font-size=\"11\"", &self.caption);
        for (row, bar) in self.bars.iter().enumerate() {
            let y = TOP + ROW * row as f64;
            svg += &text(LABELS - 10.0, y + 14.0, " text-anchor=\"end\"", &bar.label);
            let (width, class) = (length(bar.value), bar.whose.class());
            svg += &format!(
                "<rect class=\"{class}\" x=\"{LABELS}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>\n"
            );
            if bar.value > longest {
                svg += &cut(LABELS + 0.9 * width, y);
            }
            let strong = if bar.whose == Whose::Ours { " class=\"strong\"" } else { "" };
            svg += &text(LABELS + width + 6.0, y + 14.0, strong, &bar.text);
        }
        if let Some(mark) = self.mark {
            let (x, top, end) = (LABELS + length(mark), TOP - 6.0, end + 4.0);
            svg += &format!(
                "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{end:.1}\"/>\n"
            );
        }
        if !self.footer.is_empty() {
            svg += &text(12.0, height - 10.0, " font-size=\"11\"", &self.footer);
        }
        svg + "</svg>\n"
    }
}

/// An engine's name as its makers write it.
fn proper_name(name: &str) -> &str {
    match name {
        "lmdb" => "LMDB",
        "lmdb_writemap" => "LMDB, WRITEMAP",
        "rocksdb" => "RocksDB",
        name => name,
    }
}

/// A slanted gap across a bar whose top is at `y`: it is longer than it is drawn.
fn cut(x: f64, y: f64) -> String {
    let end = y + BAR;
    format!(
        "<path class=\"cut\" d=\"M{:.1} {y:.1} L{:.1} {y:.1} L{:.1} {end:.1} L{x:.1} {end:.1} Z\"/>\n",
        x + 6.0,
        x + 11.0,
        x + 5.0
    )
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
        assert_eq!(bars(svg), [("ours", 175.0), ("theirs", 350.0)]);
        assert!(svg.contains(">a&lt;b<") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("class=\"cut\""), "without a mark no bar is cut");
    }

    /// Class and width of each bar, from top to bottom.
    fn bars(svg: &str) -> Vec<(&str, f64)> {
        let attribute = |line: &str, name: &str| {
            let begin = line.find(&format!(" {name}=\""))? + name.len() + 3;
            Some((begin, begin + line[begin..].find('"')?))
        };
        svg.lines()
            .filter(|line| line.starts_with("<rect"))
            .map(|line| {
                let [class, width] = ["class", "width"].map(|name| attribute(line, name).unwrap());
                (&line[class.0..class.1], line[width.0..width.1].parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn the_main_plot_has_the_array_then_ours_then_the_others_by_time_and_cuts_what_is_too_long() {
        let mut results = Results::default();
        results.plan.insert("graph".to_owned(), "R-MAT, tiny".to_owned());
        let mut scans = Race::new(["evergraph", "slow", "lmdb", "static"]);
        scans.note(&[0.2, 5.0, 0.4, 0.1]);
        results.add_race("Reads", &Heading::new("pagerank.by_scans", "PageRank", Unit::Seconds), &scans);
        assert!(plots(&results).iter().all(|(name, _)| *name != "live_beside_others.svg"), "ours is missing");
        for (state, live) in [("fresh_0", 1.0), ("writer", 1.25)] {
            let mut race = Race::new(["evergraph", "static"]);
            race.note(&[live, 1.0]);
            let name = format!("live.pagerank.{state}.threads_1");
            results.add_race("Live", &Heading::new(name, "PageRank", Unit::Seconds), &race);
        }
        let plots = plots(&results);
        let (name, svg) = &plots[0];
        assert_eq!(*name, "live_beside_others.svg");
        let expected = [("base", 35.0), ("ours", 35.0), ("ours", 43.8), ("theirs", 140.0), ("theirs", 350.0)];
        assert_eq!(bars(svg), expected, "the static array is one tenth of the longest bar");
        assert_eq!(svg.matches("class=\"cut\"").count(), 1, "50 x is cut at 10 x");
        assert!(svg.contains(">50.00 x<") && svg.contains(">4.00 x<") && svg.contains(">1.25 x<"));
        assert!(svg.contains(">LMDB, nobody writes<") && svg.contains(">R-MAT, tiny<"));
        assert!(svg.contains("prefers-color-scheme: dark") && svg.contains("<title>PageRank"));
    }
}
