//! All scenarios: what passed once still passes, and what passes could have failed.

use evergraph::EngineKind;
use evergraph_tinkerpop::gherkin::{Scenario, Step};
use evergraph_tinkerpop::graphs::Graphs;
use evergraph_tinkerpop::outcome::Outcome;
use evergraph_tinkerpop::run::{self, Case, Ran};
use evergraph_tinkerpop::server_floor::{self, FormRun};
use evergraph_tinkerpop::target::{RequestForm, Target};
use evergraph_tinkerpop::{jar, ratchet};
use std::sync::Arc;
use std::thread::available_parallelism;

/// All cases, and the graphs that they are about; `None` where nobody has the jar.
fn given(engine: EngineKind) -> Option<(Vec<Case>, Arc<Graphs>)> {
    let jar = jar::or_skip().unwrap_or_else(|why| panic!("{why}"))?;
    let graphs = Graphs::read(&jar, engine).expect("the jar has its graphs");
    Some((run::cases(&jar).expect("all features are read"), Arc::new(graphs)))
}

fn run_all(cases: &[Case], graphs: &Arc<Graphs>, targets: &[Target]) -> Vec<Ran> {
    run::run(cases, graphs, targets, available_parallelism().map_or(1, usize::from))
}

fn batches_of(sizes: &[usize]) -> Vec<Target> {
    sizes.iter().map(|rows| Target::Embedded { batch_rows: *rows }).collect()
}

fn passing(cases: Vec<Case>) -> Vec<Case> {
    let floor = ratchet::names(include_str!("../passed.txt"));
    cases.into_iter().filter(|case| floor.contains(case.name.as_str())).collect()
}

#[test]
fn all_files_are_read() {
    let Some((cases, _)) = given(EngineKind::Memory) else { return };
    let mut files: Vec<_> = cases.iter().map(|case| case.file.as_str()).collect();
    files.dedup();
    assert_eq!((files.len(), cases.len()), (159, 2061));
    let mut names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2061, "no two scenarios have one name");
}

fn what_passed_once_passes(engine: EngineKind, sizes: &[usize]) {
    let Some((cases, graphs)) = given(engine) else { return };
    let floor = include_str!("../passed.txt");
    let count = cases.len();
    let cases = passing(cases);
    assert!(cases.len() == ratchet::names(floor).len() && cases.len() < count, "each name is a scenario's");
    let lost = ratchet::lost(floor, &run_all(&cases, &graphs, &batches_of(sizes)), true);
    assert!(lost.is_empty(), "{} don't pass any more:\n{}", lost.len(), lost.join("\n"));
}

#[test]
fn what_passed_once_passes_with_batches_of_any_size() {
    what_passed_once_passes(EngineKind::Memory, &[1, 3, 1024]);
}

/// Sizes of batches are the executor's, which knows no engine.
#[test]
fn what_passes_on_the_memory_engine_passes_on_disk() {
    what_passed_once_passes(EngineKind::Disk, &[3]);
}

#[test]
fn what_passes_on_the_memory_engine_passes_in_mapped_files() {
    what_passed_once_passes(EngineKind::Mapped, &[3]);
}

/// In each form in which drivers send requests; all scenarios, since they take seconds.
#[test]
fn what_passes_embedded_passes_on_a_server() {
    let Some((cases, graphs)) = given(EngineKind::Memory) else { return };
    let (passed, exceptions) = (include_str!("../passed.txt"), include_str!("../server_exceptions.txt"));
    let cases = passing(cases);
    let run =
        |form: &RequestForm| FormRun { form: *form, ran: run_all(&cases, &graphs, &[Target::Server(*form)]) };
    let runs: Vec<FormRun> = RequestForm::ALL.iter().map(run).collect();
    let lost = server_floor::lost(passed, exceptions, &runs);
    assert!(lost.is_empty(), "{} don't pass on a server:\n{}", lost.len(), lost.join("\n"));
    let stale = server_floor::stale(passed, exceptions, &runs);
    assert!(stale.is_empty(), "these pass, and need be no exceptions any more:\n{}", stale.join("\n"));
}

#[test]
fn every_expectation_can_fail() {
    all_mutants_fail(Target::Embedded { batch_rows: 1024 });
}

#[test]
fn every_expectation_can_fail_on_a_server() {
    all_mutants_fail(Target::Server(RequestForm::Bytecode));
}

fn all_mutants_fail(target: Target) {
    let Some((cases, graphs)) = given(EngineKind::Memory) else { return };
    let mut cases = passing(cases);
    if let Target::Server(form) = target {
        let exceptions = server_floor::exceptions(include_str!("../server_exceptions.txt"), form);
        cases.retain(|case| !exceptions.contains_key(case.name.as_str()));
    }
    let mut wrong = Vec::new();
    for case in cases {
        for (at, step) in case.scenario.steps.iter().enumerate() {
            for (how, step) in mutants(step) {
                let mut scenario = Scenario::clone(&case.scenario);
                scenario.steps[at] = step;
                wrong.push(Case {
                    name: format!("{} {how}", case.name),
                    scenario: Arc::new(scenario),
                    ..case.clone()
                });
            }
        }
    }
    assert!(wrong.len() > 1000, "{} wrong expectations", wrong.len());
    let ran = run_all(&wrong, &graphs, &[target]);
    let kept = ran.iter().filter(|ran| !matches!(ran.outcome, Outcome::Failed(_)));
    let kept: Vec<_> = kept.map(|ran| ran.case.name.as_str()).collect();
    assert!(kept.is_empty(), "{} pass in spite of a wrong expectation:\n{}", kept.len(), kept.join("\n"));
}

/// An expectation, changed so that it can't be met any more; nothing of a step that expects nothing.
fn mutants(step: &Step) -> Vec<(&'static str, Step)> {
    let with_text = |text: String| Step { text, ..step.clone() };
    let text = step.text.as_str();
    let mut mutants = Vec::new();
    if text == "the result should be unordered" || text == "the result should be ordered" {
        let stranger = vec!["str[a stranger]".to_owned()];
        let mut longer = step.clone();
        longer.table.push(stranger.clone());
        mutants.push(("with a row more", longer));
        if step.table.len() > 1 {
            let (mut shorter, mut other) = (step.clone(), step.clone());
            shorter.table.pop();
            mutants.push(("with a row less", shorter));
            other.table[1] = stranger;
            mutants.push(("with another row", other));
        }
    } else if text == "the result should be of" {
        let mut nobody = step.clone();
        nobody.table.truncate(1);
        mutants.push(("of nobody", nobody));
    } else if text == "the result should be empty" {
        mutants.push(("with a result", with_text("the result should have a count of 1".to_owned())));
    } else if let Some(count) = text.strip_prefix("the result should have a count of ") {
        let count: usize = count.parse().expect("the runner reads it, too");
        mutants
            .push(("with one more", with_text(format!("the result should have a count of {}", count + 1))));
    } else if let Some((count, rest)) =
        text.strip_prefix("the graph should return ").and_then(|text| text.split_once(' '))
    {
        let count: usize = count.parse().expect("the runner reads it, too");
        mutants.push((
            "with one more in the graph",
            with_text(format!("the graph should return {} {rest}", count + 1)),
        ));
    } else if text.starts_with("the traversal will raise an error") {
        mutants
            .push(("with a result in place of an error", with_text("the result should be empty".to_owned())));
        if let Some(text) = text.strip_suffix('"') {
            mutants.push(("with another error", with_text(format!("{text} or so it says\""))));
        }
    }
    mutants
}
