//! Gremlin's text: every traversal of the scenarios is read, checked, printed and read again.

use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::parser::{ParseLimits, parse};
use evergraph_query::gremlin::read::{read, read_script};
use evergraph_tinkerpop::gherkin::Scenario;
use evergraph_tinkerpop::{jar, run};

/// All cases; `None` where nobody has the jar.
fn cases() -> Option<Vec<run::Case>> {
    let jar = jar::or_skip().unwrap_or_else(|why| panic!("{why}"))?;
    Some(run::cases(&jar).expect("all features are read"))
}

/// The traversal and the initializers of a scenario.
fn traversals(scenario: &Scenario) -> impl Iterator<Item = &str> {
    scenario.steps.iter().filter_map(|step| match step.text.as_str() {
        "the traversal of" | "the graph initializer of" => step.document.as_deref(),
        _ => None,
    })
}

/// The parameters of a scenario, without their values.
fn declared(scenario: &Scenario) -> Bindings {
    let mut bindings = Bindings::new();
    let definitions = scenario.steps.iter().filter_map(|step| step.text.strip_prefix("using the parameter "));
    definitions.filter_map(|text| text.split(' ').next()).for_each(|name| bindings.declare(name));
    bindings
}

/// The queries whose results are counted afterwards.
fn counted(scenario: &Scenario) -> impl Iterator<Item = String> {
    let texts = scenario.steps.iter().filter_map(|step| step.text.split_once(" for count of \""));
    texts.map(|(_, text)| text.trim_end_matches('"').replace("\\\"", "\""))
}

#[test]
fn all_traversals_are_read_and_checked() {
    let Some(cases) = cases() else { return };
    let limits = ParseLimits::default();
    let (mut count, mut failures) = (0, Vec::new());
    for case in &cases {
        let bindings = declared(&case.scenario);
        for text in traversals(&case.scenario) {
            count += 1;
            match read_script(text, &limits, &bindings) {
                Ok(queries) => assert_eq!(queries.len(), 1, "{}", case.name),
                Err(error) => failures.push(format!("{}: {error}\n{text}", case.name)),
            }
        }
        for text in counted(&case.scenario) {
            if let Err(error) = read(&text, &limits, &bindings) {
                failures.push(format!("{}: {error}\n{text}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(count, 2322);
}

#[test]
fn all_traversals_are_read_back_from_their_text() {
    let Some(cases) = cases() else { return };
    let limits = ParseLimits::default();
    for case in &cases {
        for text in traversals(&case.scenario) {
            let query = parse(text, &limits).expect(&case.name);
            assert_eq!(parse(&query.to_string(), &limits).as_ref(), Ok(&query), "{}", case.name);
        }
    }
}
