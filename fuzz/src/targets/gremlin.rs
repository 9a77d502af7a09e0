//! Gremlin: every text is queries or an error inside it; queries are read back from their text, and a
//! check of what was checked changes nothing.

use crate::target::{Memory, Target};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::check::check;
use evergraph_query::gremlin::parser::{ParseLimits, parse, parse_script};

/// The target. A bracket and a comma become a list, and a call has a name and a place.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 1024 } };

/// One of each kind of argument, and of each place where a word may mean something.
const SEEDS: [&str; 12] = [
    "g.V(1, 2l, 0x1b, 017).has('age', gt(30).and(P.lt(1_000)).negate()).out(\"knows\")",
    "g.withSack(1.5d, sum).V().repeat(both().simplePath()).until(__.loops().is(3)).emit().times(2)",
    "g.inject(null, NaN, -Infinity, 1.50m, 9223372036854775808, 1f, true, 'a\\u00e9\\n', \"\")",
    "g.inject([1, [2]], {1, 'x'}, [:], 1..5, 'a'..'e', datetime('2024-02-29'), datetime(), UUID())",
    "g.mergeV([(T.id): 1, name: 'x', 'b c': list(2), (label): null]).option(Merge.onCreate, [:])",
    "g.mergeE(xx1).option(outV, select('a')).option(onMatch, [(OUT): vid1])",
    "g.withStrategies(new SubgraphStrategy(vertices: __.has('a'), edges: out()), ReadOnlyStrategy).V()",
    "g.V().order(local).by('age', Order.desc).by(id).limit(local, 1).select(values).select(first, 'a')",
    "g.V().choose(out()).option(none, in()).option(between(1, 2), __.not(out())).option(not(eq(1)), __.V())",
    "g.V().property(single, 'k', Cardinality.set(1)).is(typeOf(INT)).is(TextP.regex('a.*')) // end",
    "g.V().valueMap().with(WithOptions.tokens).with('x', WithOptions.all).toList(); g.tx().commit()",
    "g.V(g.E().next()).where('a', neq('b')).math('_ * 2').fold(0, sum).explain().toString()",
];

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // What a range says in few bytes takes many: the limit on memory is for what has bytes.
    let limits = ParseLimits { range_items_max: 1000, ..ParseLimits::default() };
    let queries = match parse_script(text, &limits) {
        Ok(queries) => queries,
        Err(error) => {
            assert!(!error.message.is_empty() && error.place.is_some(), "{error:?}");
            let inside = text.get(error.span.start as usize..error.span.end as usize);
            assert!(inside.is_some(), "{error:?} is no part of the text");
            return;
        }
    };
    let mut bindings = Bindings::new();
    ["vid1", "xx1", "id"].into_iter().for_each(|name| bindings.declare(name));
    for mut query in queries {
        assert_eq!(parse(&query.to_string(), &limits).as_ref(), Ok(&query), "by its text");
        if check(&mut query, &bindings).is_ok() {
            let mut again = query.clone();
            assert_eq!(check(&mut again, &Bindings::new()), Ok(()), "checked again");
            assert_eq!(again, query);
        }
    }
}
