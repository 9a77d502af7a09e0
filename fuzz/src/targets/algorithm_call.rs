//! Algorithms by HTTP: a name and JSON are a call whose arguments fit the algorithm, or an error.

use crate::target::{Memory, Target};
use evergraph_graph::error::ErrorKind;
use evergraph_server::algorithm::call::AlgorithmCall;

/// The target: the name of an algorithm, a line feed, members in JSON. Two bytes of an array are a value of 32, and are held
/// as JSON and as values. An error lists what there is.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 16, per_byte: 512 } };

fn seeds() -> Vec<Vec<u8>> {
    [
        "pagerank\n{\"damping\": 0.9, \"labels\": [\"Person\"], \"types\": \"KNOWS\", \"where\": [[\"born\", \">=\", 1990]]}",
        "bfs\n{\"source\": 7, \"direction\": \"both\", \"keys\": [\"name\"]}",
        "sssp\n{\"source\": 0, \"weight\": \"km\", \"whereEdges\": [[\"since\", \"=\", {\"@type\": \"gx:LocalDate\", \"@value\": \"1990-01-31\"}]]}",
        "betweenness\n{\"sources\": [1, 2, 3], \"seed\": null}",
        "nothing\n{}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (name, members) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(members) = serde_json::from_str(members) else { return };
    match AlgorithmCall::read(name, members) {
        Ok(call) => {
            assert_eq!(call.algorithm.name, name);
            let known = |name: &str| call.algorithm.parameters.iter().any(|parameter| parameter.name == name);
            assert!(call.arguments.iter().all(|(parameter, _)| known(parameter.name)));
        }
        Err(error) => {
            assert!([ErrorKind::Invalid, ErrorKind::NotFound].contains(&error.kind()), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}
