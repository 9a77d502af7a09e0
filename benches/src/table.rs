//! Table: results as Markdown, a table a section, ready for `docs/benchmarks.md`.

use crate::results::{Entry, Median, Results};
use crate::stopwatch::Spent;
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
        line(&mut text, "| figure | ours | beside | theirs | ours / theirs | goal | | CPU / time |");
        line(&mut text, "|---|---:|---|---:|---:|---|---|---|");
        for entry in results.entries.iter().filter(|entry| entry.section == section) {
            line(&mut text, &row(entry));
        }
        line(&mut text, "");
        let notes = results.notes.get(section).into_iter().flatten();
        notes.for_each(|note| line(&mut text, &format!("- {note}")));
        if results.entries.iter().filter(|entry| entry.section == section).any(|entry| entry.repeated > 0) {
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

fn row(entry: &Entry) -> String {
    let range = |unit: Unit, value: Option<Median>| {
        value.map_or(String::new(), |Median { median, low, high }| {
            format!("{} ({} to {})", unit.show(median), unit.show(low), unit.show(high))
        })
    };
    let met = match entry.met {
        Some(true) => "reached",
        Some(false) => "not reached",
        None => "",
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {met} | {} |",
        entry.title,
        range(entry.unit, Some(entry.ours)),
        entry.peer.as_deref().unwrap_or(""),
        range(entry.unit, entry.theirs),
        range(Unit::Times, entry.ratio),
        entry.goal.as_deref().unwrap_or(""),
        busy(entry),
    )
}

/// Processors that were busy in our runs and in theirs, and how many runs were repeated.
fn busy(entry: &Entry) -> String {
    let median = |runs: &[Spent]| {
        let busy: Vec<f64> = runs.iter().map(|spent| spent.busy()).collect();
        (!busy.is_empty()).then(|| format!("{:.2}", Median::of(&busy).median))
    };
    let both: Vec<String> =
        median(&entry.ours_spent).into_iter().chain(median(&entry.theirs_spent)).collect();
    let repeated = if entry.repeated > 0 { format!(" ({} repeated)", entry.repeated) } else { String::new() };
    both.join(", ") + &repeated
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a text takes every line");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::{Race, Sample};
    use crate::results::Heading;

    #[test]
    fn a_table_has_a_row_a_peer_and_missed_goals_are_listed() {
        let mut results = Results::default();
        let map = ("map".to_owned(), "x".to_owned());
        results.engines.insert("lmdb".to_owned(), [map].into());
        let mut race = Race::new(["evergraph", "lmdb"]);
        let spent = [Spent { wall: 1.0, cpu: 1.5 }, Spent { wall: 1.0, cpu: 1.0 }];
        race.note_samples(&[Sample::timed(100.0, spent[0]), Sample::timed(200.0, spent[1])], 1);
        results.add_race("Inserts", &Heading::new("insert.one.skewed", "one", Unit::PerSecond), &race);
        results.note("Inserts", "no other load");
        let text = markdown(&results);
        let row = "| one | 100/s (100/s to 100/s) | lmdb | 200/s (200/s to 200/s) | 0.50 x (0.50 x to 0.50 x) \
                   | at least 2.00 x | not reached | 1.50, 1.00 (2 repeated) |";
        assert!(text.contains(row), "{text}");
        assert!(
            text.contains("0 of 2 reached") && text.contains("- not reached: one, beside lmdb: 0.50 x, "),
            "{text}"
        );
        assert!(text.contains("- repeated: runs whose"), "{text}");
        assert!(text.contains("- no other load\n") && text.contains("- **lmdb**: map: x\n"));
    }
}
