//! Gremlin's text: every traversal of TinkerPop's own scenarios is read, checked, printed and read again.

use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::parser::{ParseLimits, parse};
use evergraph_query::gremlin::read::{read, read_script};
use evergraph_tests::tinkerpop::{counted, features, parameters, traversals};

#[test]
fn all_traversals_of_tinkerpops_scenarios_are_read_and_checked() {
    let Some(features) = features() else { return };
    let limits = ParseLimits::default();
    let (mut count, mut failures) = (0, Vec::new());
    for (path, feature) in &features {
        let mut bindings = Bindings::new();
        parameters(feature).into_iter().for_each(|name| bindings.declare(name));
        for traversal in traversals(feature) {
            count += 1;
            match read_script(&traversal.text, &limits, &bindings) {
                Ok(queries) => assert_eq!(queries.len(), 1, "{}", traversal.scenario),
                Err(error) => {
                    failures.push(format!("{path}: {}: {error}\n{}", traversal.scenario, traversal.text))
                }
            }
        }
        for text in counted(feature) {
            if let Err(error) = read(&text, &limits, &bindings) {
                failures.push(format!("{path}: {error}\n{text}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    assert_eq!((features.len(), count), (159, 2322));
}

#[test]
fn all_traversals_of_tinkerpops_scenarios_are_read_back_from_their_text() {
    let Some(features) = features() else { return };
    let limits = ParseLimits::default();
    for traversal in features.iter().flat_map(|(_, feature)| traversals(feature)) {
        let query = parse(&traversal.text, &limits).expect(&traversal.scenario);
        assert_eq!(parse(&query.to_string(), &limits).as_ref(), Ok(&query), "{}", traversal.scenario);
    }
}
