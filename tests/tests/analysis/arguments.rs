//! Arguments: their defaults, and what is refused.

use evergraph_algorithms::range::RealRange;
use evergraph_algorithms::sources::Sources;
use evergraph_analysis::arguments::{Argument, Arguments};
use evergraph_analysis::parameter::{MISSING_WEIGHT, Parameter, SAMPLE, SEED, WEIGHT};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};

static PARAMETERS: &[Parameter] = &[
    Parameter::vertices("sources"),
    Parameter::real("damping", "D", RealRange::UpToOne, 0.85),
    Parameter::direction(Direction::Out),
    SAMPLE,
    SEED,
    WEIGHT,
    MISSING_WEIGHT,
];

fn arguments(given: &[(&str, Argument)]) -> Result<Arguments> {
    let source = ("sources", Argument::Vertex(VertexId(7)));
    Arguments::new(PARAMETERS, [source].into_iter().chain(given.iter().cloned()))
}

#[test]
fn what_is_not_chosen_has_its_default() {
    let all = arguments(&[("damping", Argument::Whole(1)), ("sample", Argument::Nothing)]).unwrap();
    assert_eq!((all.real("damping"), all.direction()), (1.0, Direction::Out));
    assert_eq!((all.sources(), all.vertices("sources")), (Sources::All, &[VertexId(7)][..]));
    assert!(!all.has("weight") && all.has("damping"));
    let sample = arguments(&[("sample", Argument::Whole(3))]).unwrap().sources();
    assert_eq!(sample, Sources::Sample { count: 3, seed: 0 });
}

#[test]
fn a_value_that_cannot_be_meant_is_refused_by_name() {
    let refused = |name, value| arguments(&[(name, value)]).unwrap_err().to_string();
    assert!(refused("damping", Argument::Real(1.5)).contains("damping is 1.5, but must be from 0 to 1"));
    assert!(refused("damping", Argument::Real(f64::NAN)).contains("damping is NaN"));
    assert!(refused("damping", Argument::Boolean(true)).contains("damping: expected a number"));
    assert!(refused("sample", Argument::Whole(0)).contains("sample is 0, but must be at least 1"));
    assert!(refused("sources", Argument::Vertices(vec![])).contains("at least one"));
    assert!(refused("missing_weight", Argument::Real(1.0)).contains("missing_weight goes with weight"));
    let dumping = refused("dumping", Argument::Real(1.0));
    assert!(dumping.contains("no parameter is called dumping; did you mean `damping`?"), "{dumping}");
    assert!(refused("far", Argument::Real(1.0)).contains("no parameter is called far: sources, damping, "));
    let none: [(&str, Argument); 0] = [];
    let missing = Arguments::new(PARAMETERS, none).unwrap_err().to_string();
    assert!(missing.contains("the parameter sources is missing"), "{missing}");
}
