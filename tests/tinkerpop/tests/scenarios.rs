//! All scenarios: what passed once still passes, and what passes could have failed.

use evergraph::EngineKind;
use evergraph_tinkerpop::exceptions::{self, CLUSTER, FormRun};
use evergraph_tinkerpop::graphs::Graphs;
use evergraph_tinkerpop::mutants::mutants;
use evergraph_tinkerpop::outcome::Outcome;
use evergraph_tinkerpop::run::{self, Case, Ran};
use evergraph_tinkerpop::target::{RequestForm, Target};
use evergraph_tinkerpop::{gherkin, jar, ratchet};
use std::slice;
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
    let run = |form: &RequestForm| {
        let ran = run_all(&cases, &graphs, &[Target::Server(*form)]);
        FormRun { form: form.name(), ran }
    };
    let runs: Vec<FormRun> = RequestForm::ALL.iter().map(run).collect();
    assert_all_but_exceptions_pass(passed, exceptions, &runs);
}

/// On three nodes, of whose partitions that of the queries has a third; `make tinkerpop-cluster` has batches of other sizes, too.
#[test]
fn what_passes_embedded_passes_on_a_cluster() {
    let Some((cases, graphs)) = given(EngineKind::Cluster) else { return };
    let (passed, exceptions) = (include_str!("../passed.txt"), include_str!("../cluster_exceptions.txt"));
    let ran = run_all(&passing(cases), &graphs, &batches_of(&[1024]));
    assert_all_but_exceptions_pass(passed, exceptions, &[FormRun { form: CLUSTER, ran }]);
}

fn assert_all_but_exceptions_pass(passed: &str, exceptions_text: &str, runs: &[FormRun]) {
    let lost = exceptions::lost(passed, exceptions_text, runs);
    assert!(lost.is_empty(), "{} don't pass:\n{}", lost.len(), lost.join("\n"));
    let stale = exceptions::stale(passed, exceptions_text, runs);
    assert!(stale.is_empty(), "these pass, and need be no exceptions any more:\n{}", stale.join("\n"));
}

/// A scenario whose expectation is met by every graph.
const TOO_TOLERANT: &str = r#"
Feature: none
  Scenario: whatever is found
    Given the empty graph
    And the traversal of
      """
      g.V()
      """
    When iterated to list
    Then the result should be of
      | result |
      | d[1].i |
"#;

/// Whoever runs a scenario tries wrong forms of its expectations, too: none of them may be met.
#[test]
fn every_expectation_can_fail() {
    let Some((cases, graphs)) = given(EngineKind::Memory) else { return };
    let steps = passing(cases).into_iter().flat_map(|case| case.scenario.steps.clone());
    let wrong = steps.map(|step| mutants(&step).len()).sum::<usize>();
    assert!(wrong > 1000, "{wrong} wrong expectations");
    let scenario = gherkin::parse(TOO_TOLERANT).expect("it is a feature").scenarios.remove(0);
    let case = Case { name: scenario.name.clone(), file: "none".to_owned(), scenario: Arc::new(scenario) };
    for target in [Target::Embedded { batch_rows: 1024 }, Target::Server(RequestForm::Bytecode)] {
        let outcome = run_all(slice::from_ref(&case), &graphs, &[target]).remove(0).outcome;
        let Outcome::Failed(why) = &outcome else { panic!("{target}: {outcome:?}") };
        assert!(why.contains("a wrong expectation is met, too: of nobody"), "{target}: {why}");
    }
}
