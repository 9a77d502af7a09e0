//! Ratchet: what passed once may not fail again.

use crate::outcome::Outcome;
use crate::run::Ran;
use std::collections::{BTreeMap, BTreeSet};

const HEADING: &str =
    "# Scenarios of TinkerPop's that pass, by name. `make tinkerpop FLAGS=--accept` writes this file.\n";

/// The names of `text`, one a line.
#[must_use]
pub fn names(text: &str) -> BTreeSet<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// The text that [`names`] reads: those that passed.
#[must_use]
pub fn text(ran: &[Ran]) -> String {
    let passed = ran.iter().filter(|ran| ran.outcome == Outcome::Passed);
    let names: BTreeSet<&str> = passed.map(|ran| ran.case.name.as_str()).collect();
    let lines: String = names.into_iter().map(|name| format!("{name}\n")).collect();
    format!("{HEADING}{lines}")
}

/// The scenarios of `floor` that don't pass any more, with what became of them. Those that weren't run don't count,
/// unless `all` were.
#[must_use]
pub fn lost(floor: &str, ran: &[Ran], all: bool) -> Vec<String> {
    let by_name: BTreeMap<&str, &Outcome> =
        ran.iter().map(|ran| (ran.case.name.as_str(), &ran.outcome)).collect();
    let fate = |name: &str| match by_name.get(name) {
        Some(Outcome::Passed) => None,
        Some(Outcome::Failed(why)) => Some(format!("{name}: {why}")),
        Some(Outcome::NotImplemented(what)) => Some(format!("{name}: {what}")),
        Some(Outcome::Unsupported) => Some(format!("{name}: unsupported")),
        None => all.then(|| format!("{name}: there is no such scenario")),
    };
    names(floor).into_iter().filter_map(fate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin::Scenario;
    use crate::run::Case;
    use std::sync::Arc;

    fn ran(name: &str, outcome: Outcome) -> Ran {
        let scenario = Arc::new(Scenario { name: name.to_owned(), tags: Vec::new(), steps: Vec::new() });
        Ran { case: Case { name: name.to_owned(), file: "map/X".to_owned(), scenario }, outcome }
    }

    #[test]
    fn what_passed_once_may_not_fail_again() {
        let before = [ran("b", Outcome::Passed), ran("a", Outcome::Passed), ran("c", Outcome::Unsupported)];
        let floor = text(&before);
        assert_eq!(floor, format!("{HEADING}a\nb\n"));
        assert!(lost(&floor, &before, true).is_empty());
        let now = [ran("a", Outcome::Failed("x".to_owned())), ran("c", Outcome::Passed)];
        assert_eq!(lost(&floor, &now, true), ["a: x", "b: there is no such scenario"]);
        assert_eq!(lost(&floor, &now, false), ["a: x"], "b wasn't asked for");
    }
}
