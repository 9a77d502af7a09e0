//! Bytecode in GraphSON: what is promised of it in GraphBinary.

use super::bytecode::{assert_sound, check};
use crate::target::{Memory, Target};
use evergraph_protocol::graphson::bytecode_read::{parse, parse_argument};
use evergraph_query::gremlin::parser::ParseLimits;

/// The target. A digit and a comma become an argument.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 1024 } };

/// Values; traversals, predicates and bindings; elements and tokens; strategies.
const SEEDS: [&str; 5] = [
    r#"{"@type": "g:Bytecode", "@value": {"step": [["inject", {"@type": "g:Int32", "@value": 1},
        {"@type": "g:Int64", "@value": -7}, {"@type": "gx:Byte", "@value": 1}, {"@type": "g:Double", "@value": "NaN"},
        {"@type": "gx:BigInteger", "@value": 12345678901234567890}, {"@type": "gx:BigDecimal", "@value": "12.50"},
        {"@type": "g:UUID", "@value": "00112233-4455-6677-8899-aabbccddeeff"}, "é\u00e9\n", true, null, 0.5]]}}"#,
    r#"{"@type": "g:Bytecode", "@value": {"step": [["inject", {"@type": "g:Date", "@value": 5},
        {"@type": "gx:OffsetDateTime", "@value": "2024-02-29T12:00:00.5+01:00"}, {"@type": "gx:Duration", "@value": "PT5S"},
        {"@type": "g:List", "@value": [1, {"@type": "g:Set", "@value": ["x"]}]}, [1, [2]], {"a": {"b": []}},
        {"@type": "g:Map", "@value": ["k", 1, {"@type": "g:T", "@value": "id"}, null]}]]}}"#,
    r#"{"@value": {"step": [["V"], ["where", {"@type": "g:Bytecode", "@value": {"step": [["out", "knows"]]}}],
        ["has", "a", {"@type": "g:P", "@value": {"predicate": "and", "value": [
            {"@type": "g:P", "@value": {"predicate": "within", "value": {"@type": "g:List", "@value": [1, 2]}}},
            {"@type": "g:TextP", "@value": {"predicate": "startingWith", "value": "b"}}]}}],
        ["is", {"@type": "g:Binding", "@value": {"key": "x", "value": 5}}]]}, "@type": "g:Bytecode"}"#,
    r#"{"@type": "g:Bytecode", "@value": {"step": [["V", {"@type": "g:Vertex", "@value": {"id": 1, "label": "a"}}],
        ["addE", "knows"], ["to", {"@type": "g:Vertex", "@value": {"id": {"@type": "g:Int64", "@value": 2}}}],
        ["property", "k", {"@type": "g:Bytecode", "@value": {"source": [["CardinalityValueTraversal",
            {"@type": "g:Cardinality", "@value": "list"}, 1]]}}], ["valueMap"], ["with", "~tinkerpop.valueMap.tokens", 2],
        ["order", {"@type": "g:Scope", "@value": "local"}], ["by", {"@type": "g:Order", "@value": "desc"}]]}}"#,
    r#"{"@type": "g:Bytecode", "@value": {"source": [["withStrategies", {"@type": "g:SubgraphStrategy", "@value": {
            "fqcn": "org.example.SubgraphStrategy", "conf": {"vertices": {"@type": "g:Bytecode", "@value": {"step":
            [["has", "a"]]}}, "checkAdjacentVertices": false}}}, {"@type": "g:SeedStrategy", "@value": {"seed": 7}}],
        ["withoutStrategies", {"@type": "g:Class", "@value": "org.example.CountStrategy"}], ["withSack", 1,
            {"@type": "g:Operator", "@value": "sum"}]], "step": [["V"], ["barrier", {"@type": "g:Barrier",
            "@value": "normSack"}]]}}"#,
];

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    let limits = ParseLimits::default();
    check(parse(input, &limits), input);
    if let Err(error) = parse_argument(input, &limits) {
        assert_sound(&error, input);
    }
}
