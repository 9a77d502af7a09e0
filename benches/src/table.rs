//! Table: results as Markdown, a table a section, ready for `docs/benchmarks.md`.

use crate::results::{Entry, Median, Results};
use evergraph_measure::figure::Unit;
use std::fmt::Write as _;

/// All sections with their notes, then the goals that were not reached.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    for (name, value) in results.machine.iter().chain(&results.plan) {
        line(&mut text, &format!("- {name}: {value}"));
    }
    let mut sections: Vec<&str> = Vec::new();
    for entry in &results.entries {
        if !sections.contains(&entry.section.as_str()) {
            sections.push(&entry.section);
        }
    }
    for section in sections {
        line(&mut text, &format!("\n## {section}\n"));
        let entries: Vec<&Entry> = results.entries.iter().filter(|entry| entry.section == section).collect();
        table(&mut text, &entries);
        line(&mut text, "");
        let notes = results.notes.get(section).into_iter().flatten();
        notes.for_each(|note| line(&mut text, &format!("- {note}")));
        if entries.iter().any(|entry| entry.ours_lost.is_some()) {
            line(&mut text, "- loses: what a power cut may cost of commits that were acknowledged");
        }
        if entries.iter().any(|entry| entry.repeated > 0) {
            line(&mut text, "- repeated: runs whose CPU and wall time were more than 10 % apart");
        }
    }
    let missed: Vec<&Entry> = results.entries.iter().filter(|entry| entry.met == Some(false)).collect();
    let judged = results.entries.iter().filter(|entry| entry.met.is_some()).count();
    line(&mut text, &format!("\n## Goals\n\n{} of {judged} reached.\n", judged - missed.len()));
    for entry in missed {
        let beside = entry.peer.as_ref().map(|peer| format!(", beside {peer}")).unwrap_or_default();
        let (Some(goal), (unit, value)) = (&entry.goal, entry.judged_value()) else { continue };
        let value = unit.show(value);
        let claim = entry.claim.as_ref().map(|claim| format!("; {claim}")).unwrap_or_default();
        line(
            &mut text,
            &format!("- not reached: {}{beside}: {value}, {goal} was the goal{claim}", entry.title),
        );
    }
    line(&mut text, "\n## Settings\n");
    for (engine, settings) in &results.engines {
        let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        line(&mut text, &format!("- **{engine}**: {}", settings.join("; ")));
    }
    text
}

/// A row a figure, a column a peer: what it had, and ours divided by that.
fn table(text: &mut String, entries: &[&Entry]) {
    let mut peers: Vec<&str> = Vec::new();
    for peer in entries.iter().filter_map(|entry| entry.peer.as_deref()) {
        if !peers.contains(&peer) {
            peers.push(peer);
        }
    }
    let heads: String = peers.iter().map(|peer| format!(" {peer}, and ours by it |")).collect();
    line(text, &format!("| figure | ours |{heads} CPU / time |"));
    line(text, &format!("|---|---:|{}---|", "---:|".repeat(peers.len())));
    for figure in entries.chunk_by(|a, b| a.name == b.name) {
        let first = figure[0];
        let alone = figure.iter().find(|entry| entry.peer.is_none());
        let judged = alone.map(|entry| judgement(entry)).unwrap_or_default();
        let ours = range(first.unit, first.ours) + &judged + &lost(first.ours_lost.as_deref());
        let beside = |peer: &&str| {
            let entry = figure.iter().find(|entry| entry.peer.as_deref() == Some(*peer));
            let both = entry.and_then(|entry| Some((entry, entry.theirs?, entry.ratio?)));
            let cell = both.map(|(entry, theirs, ratio)| {
                let theirs = entry.unit.show(theirs.median);
                let lost = lost(entry.theirs_lost.as_deref());
                format!("{theirs}; {}{}{lost}", range(Unit::Times, ratio), judgement(entry))
            });
            format!(" {} |", cell.unwrap_or_default())
        };
        let cells: String = peers.iter().map(beside).collect();
        line(text, &format!("| {} | {ours} |{cells} {} |", first.title, busy(figure)));
    }
}

fn range(unit: Unit, Median { median, low, high }: Median) -> String {
    format!("{} ({} to {})", unit.show(median), unit.show(low), unit.show(high))
}

/// The goal of an entry that has one, and whether it was reached.
fn judgement(entry: &Entry) -> String {
    let (Some(goal), Some(met)) = (&entry.goal, entry.met) else { return String::new() };
    if met { format!(" **reached** ({goal})") } else { format!(" **not reached** ({goal})") }
}

/// What a power cut costs, where that is known.
fn lost(what: Option<&str>) -> String {
    what.map(|what| format!("; {what}")).unwrap_or_default()
}

/// Processors that were busy in our runs of a figure, and how many runs were repeated, those of peers included.
fn busy(figure: &[&Entry]) -> String {
    let busy: Vec<f64> = figure[0].ours_spent.iter().map(|spent| spent.busy()).collect();
    let busy = if busy.is_empty() { String::new() } else { format!("{:.2}", Median::of(&busy).median) };
    let repeated = figure.iter().map(|entry| entry.repeated).max().unwrap_or(0);
    if repeated > 0 { format!("{busy} ({repeated} repeated)") } else { busy }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a text takes every line");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::store::Commit;
    use crate::race::{Race, Sample};
    use crate::results::Heading;
    use crate::stopwatch::Spent;

    #[test]
    fn a_table_has_a_row_a_peer_and_missed_goals_are_listed() {
        let mut results = Results::default();
        let map = ("map".to_owned(), "x".to_owned());
        results.engines.insert("lmdb".to_owned(), [map].into());
        let mut race = Race::new(["evergraph", "lmdb"]);
        let spent = [Spent { wall: 1.0, cpu: 1.5 }, Spent { wall: 1.0, cpu: 1.0 }];
        race.note_samples(&[Sample::timed(100.0, spent[0]), Sample::timed(200.0, spent[1])], 1);
        let heading = Heading::new("insert.one.skewed", "one", Unit::PerSecond).of_commits(Commit::Unsynced);
        results.add_race("Inserts", &heading, &race);
        results.note("Inserts", "no other load");
        let text = markdown(&results);
        let row = "| one | 100/s (100/s to 100/s) **not reached** (at least 1,000,000/s); loses the last commits \
                   | 200/s; 0.50 x (0.50 x to 0.50 x) **not reached** (at least 2.00 x); \
                   loses the last commits, perhaps all | 1.50 (2 repeated) |";
        assert!(text.contains(row), "{text}");
        assert!(
            text.contains("0 of 2 reached") && text.contains("- not reached: one, beside lmdb: 0.50 x, "),
            "{text}"
        );
        assert!(text.contains("- repeated: runs whose"), "{text}");
        assert!(text.contains("- no other load\n") && text.contains("- **lmdb**: map: x\n"));
    }
}
