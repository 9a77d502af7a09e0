//! Stage program: stages of a query that another node sends. One that is read is written in bytes that read the same again; an
//! error names its place.

use crate::target::{Memory, Target};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::compile::as_written;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::plan::operator::{ExpandTo, Operator, Traversal};
use evergraph_query::travel::program;

/// The target. A regular expression of a few bytes takes much memory.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 64 << 20, per_byte: 4096 } };

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "g.V().hasLabel('a', 'b').has('x').hasNot('y').out('k').count()",
        "g.V().has('z', within(1, 2.5, 'c').or(gt(7))).outE('k').inV().values('w').max()",
        "g.V().both().has('n', startingWith('m').and(notContaining('q'))).has('n', regex('a+')).dedup().id()",
        "g.V().bothE('a').outV().label().constant('c').min()",
    ];
    let stages: Vec<Traversal> = texts.iter().filter_map(|text| stage(text)).collect();
    let mut seeds: Vec<Vec<u8>> =
        stages.iter().filter_map(|stage| program::encode(std::slice::from_ref(stage))).collect();
    seeds.extend(program::encode(&stages));
    assert_eq!(seeds.len(), texts.len() + 1, "every text is a stage");
    seeds
}

fn stage(text: &str) -> Option<Traversal> {
    let query = read(text, &ParseLimits::default(), &Bindings::new()).ok()?;
    let mut root = as_written(&query).ok()?.root;
    for operator in &mut root.operators {
        // Nobody asks where an edge was come from.
        if let Operator::Expand(expand) = operator
            && expand.to != ExpandTo::Neighbors
        {
            expand.to = ExpandTo::Edges(None);
        }
    }
    Some(root)
}

fn promise(input: &[u8]) {
    match program::decode(input) {
        Ok(stages) => {
            let written = program::encode(&stages).expect("what was read has a form");
            let again = program::decode(&written).expect("what was written reads");
            assert_eq!(format!("{again:?}"), format!("{stages:?}"));
        }
        Err(error) => assert!(error.offset <= input.len() && !error.expected.is_empty(), "{error}"),
    }
}
