//! Exceptions: which scenarios need not pass elsewhere although they pass embedded, and why. All others must.
//!
//! ```text
//! bytecode, GraphSON 3<TAB>g_io_readXkryoX<TAB>why it does not pass
//! ```
//!
//! Elsewhere is a server, in each form of requests, or a cluster. Each of the two has a file.

use crate::outcome::Outcome;
use crate::ratchet;
use crate::run::Ran;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How the file of a server begins.
pub const SERVER_HEADING: &str = "\
# Scenarios that pass embedded and not on a server: form of the requests, name, reason, between tabs. All others must pass.
# `make tinkerpop-server FLAGS=--accept` writes this file.
";

/// How the file of a cluster begins.
pub const CLUSTER_HEADING: &str = "\
# Scenarios that pass embedded and not on a cluster: `cluster`, name, reason, between tabs. All others must pass.
# `make tinkerpop-cluster FLAGS=--accept` writes this file.
";

/// What a cluster is called there.
pub const CLUSTER: &str = "cluster";

/// What became of scenarios elsewhere.
pub struct FormRun {
    /// The form of requests, or a cluster.
    pub form: &'static str,
    /// The scenarios.
    pub ran: Vec<Ran>,
}

/// The names that `text` excepts, with the reasons.
#[must_use]
pub fn exceptions<'t>(text: &'t str, form: &str) -> BTreeMap<&'t str, &'t str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.filter_map(|line| {
        let (found, rest) = line.split_once('\t')?;
        (found == form).then(|| rest.split_once('\t').unwrap_or((rest, "")))
    });
    parts.collect()
}

/// The text that [`exceptions`] reads, behind `heading`: what passes embedded, as `passed` says, and did not in `runs`.
#[must_use]
pub fn text(heading: &str, passed: &str, runs: &[FormRun]) -> String {
    let passed = ratchet::names(passed);
    let mut text = heading.to_owned();
    for FormRun { form, ran } in runs {
        let failed: BTreeMap<&str, String> = ran
            .iter()
            .filter(|ran| ran.outcome != Outcome::Passed && passed.contains(ran.case.name.as_str()))
            .map(|ran| (ran.case.name.as_str(), reason(ran)))
            .collect();
        for (name, why) in failed {
            let _ = writeln!(text, "{form}\t{name}\t{why}");
        }
    }
    text
}

/// What `runs` did against the floor: scenarios that pass embedded, are no exception, and did not pass.
#[must_use]
pub fn lost(passed: &str, exceptions_text: &str, runs: &[FormRun]) -> Vec<String> {
    let passed = ratchet::names(passed);
    let mut lost = Vec::new();
    for FormRun { form, ran } in runs {
        let excepted = exceptions(exceptions_text, form);
        let bound = ran.iter().filter(|ran| {
            let name = ran.case.name.as_str();
            passed.contains(name) && !excepted.contains_key(name)
        });
        let failed = bound.filter(|ran| ran.outcome != Outcome::Passed);
        lost.extend(failed.map(|ran| format!("{form}: {}: {}", ran.case.name, why(&ran.outcome))));
    }
    lost
}

/// Exceptions that pass, which are none any more, and those that are no scenario that passes embedded.
#[must_use]
pub fn stale(passed: &str, exceptions_text: &str, runs: &[FormRun]) -> Vec<String> {
    let passed = ratchet::names(passed);
    let mut stale = Vec::new();
    for FormRun { form, ran } in runs {
        let passing: BTreeSet<&str> = ran
            .iter()
            .filter(|ran| ran.outcome == Outcome::Passed)
            .map(|ran| ran.case.name.as_str())
            .collect();
        let names = exceptions(exceptions_text, form).into_keys();
        let names = names.filter(|name| passing.contains(name) || !passed.contains(name));
        stale.extend(names.map(|name| format!("{form}: {name}")));
    }
    stale
}

/// How many scenarios pass in each of `runs`.
#[must_use]
pub fn passed_in_all(runs: &[FormRun]) -> usize {
    let passing = |run: &FormRun| -> BTreeSet<String> {
        let passed = run.ran.iter().filter(|ran| ran.outcome == Outcome::Passed);
        passed.map(|ran| ran.case.name.clone()).collect()
    };
    let common = runs.iter().map(passing).reduce(|all, other| &all & &other);
    common.map_or(0, |common| common.len())
}

/// Why a scenario is an exception; for known reasons without what differs from run to run.
fn reason(ran: &Ran) -> String {
    let why = why(&ran.outcome);
    if ran.case.scenario.tags.iter().any(|tag| tag == "TinkerServiceRegistry") {
        "needs services of an application".to_owned()
    } else if why.contains("read or write files of the server") {
        "reads a file of the machine".to_owned()
    } else {
        why
    }
}

fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(why) | Outcome::NotImplemented(why) => why.replace('\t', " "),
        other => other.kind().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin::Scenario;
    use crate::run::Case;
    use crate::target::RequestForm;
    use std::sync::Arc;

    fn run(form: RequestForm, outcomes: &[(&str, Outcome)]) -> FormRun {
        let ran = outcomes.iter().map(|(name, outcome)| {
            let scenario = Scenario { name: (*name).to_owned(), tags: Vec::new(), steps: Vec::new() };
            let case =
                Case { name: (*name).to_owned(), file: "map/X".to_owned(), scenario: Arc::new(scenario) };
            Ran { case, outcome: outcome.clone() }
        });
        FormRun { form: form.name(), ran: ran.collect() }
    }

    #[test]
    fn what_passes_embedded_passes_elsewhere_unless_it_is_excepted() {
        let failed = || Outcome::Failed("no\tservices".to_owned());
        let passed = "a\nb\nc\n";
        let first = [
            run(RequestForm::Text, &[("a", Outcome::Passed), ("b", failed()), ("d", failed())]),
            run(RequestForm::Bytecode, &[("a", Outcome::Passed), ("b", Outcome::Passed)]),
        ];
        let floor = text(SERVER_HEADING, passed, &first);
        assert_eq!(exceptions(&floor, RequestForm::Text.name()), BTreeMap::from([("b", "no services")]));
        assert!(exceptions(&floor, RequestForm::Bytecode.name()).is_empty());
        assert!(lost(passed, &floor, &first).is_empty() && stale(passed, &floor, &first).is_empty());
        assert_eq!(passed_in_all(&first), 1);
        let later = [
            run(RequestForm::Text, &[("a", failed()), ("b", Outcome::Passed)]),
            run(RequestForm::Bytecode, &[("b", failed())]),
        ];
        assert_eq!(
            lost(passed, &floor, &later),
            ["text, GraphBinary: a: no services", "bytecode, GraphBinary: b: no services"]
        );
        assert_eq!(stale(passed, &floor, &later), ["text, GraphBinary: b"]);
    }
}
