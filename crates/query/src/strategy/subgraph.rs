//! Subgraph: the vertices, edges and properties that a plan sees, chosen by conditions. `SubgraphStrategy` states
//! them, and `PartitionStrategy` does so in its own way.
//!
//! ```text
//! V().out('knows').values('name')
//! V() [vertices]   out('knows') [edges] -> [vertices]   properties('name') [properties] value()
//! ```
//!
//! Conditions are traversals that see the whole graph: a condition isn't subject to itself. An edge whose ends aren't both
//! seen isn't seen either, unless that is switched off. On the way of `out()` edges and vertices are tested within the
//! expansion: the edge isn't on the path, and the vertex is there once.
//!
//! Source: TinkerPop 3.8, `SubgraphStrategy`. Differs: a property that isn't seen is hidden from `has()` too, and an edge
//! in `out()` leaves no trace on the path.

use crate::plan::call::Shown;
use crate::plan::function::{Function, Pop, Selected};
use crate::plan::merge::MergeSubject;
use crate::plan::operator::{By, EdgeEnd, ExpandTo, Name, Operator, Test, Traversal};
use crate::plan::predicate::Predicate;
use crate::value::types::ItemType;

/// What is seen. A condition without operators holds of all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Subgraph {
    /// The vertices: those of which this gives something.
    pub vertices: Traversal,
    /// The edges.
    pub edges: Traversal,
    /// The properties of vertices.
    pub properties: Traversal,
    /// Whether an edge is seen only if both its ends are.
    pub both_ends: bool,
    /// Whether the elements that a query adds are tested like others.
    pub added: bool,
}

impl Subgraph {
    /// Changes `root` and all traversals within it.
    pub(super) fn apply(&self, root: &mut Traversal) {
        let tests = Tests::of(self);
        // The innermost first: conditions that are put into a traversal aren't met again.
        root.visit(&mut |traversal: &mut Traversal| {
            if !self.properties.operators.is_empty() {
                self.hide_properties(traversal);
            }
            tests.put(traversal);
        });
    }
}

/// What is put behind the operators of a plan, as operators that leave rows out.
struct Tests<'v> {
    subgraph: &'v Subgraph,
    /// Of a vertex.
    vertices: Vec<Operator>,
    /// Of an edge on the way to a vertex, whose ends are tested there.
    ways: Vec<Operator>,
    /// Of an edge.
    edges: Vec<Operator>,
}

impl<'v> Tests<'v> {
    fn of(subgraph: &'v Subgraph) -> Self {
        let (vertices, ways) = (filters(&subgraph.vertices), filters(&subgraph.edges));
        let mut edges = ways.clone();
        if subgraph.both_ends && !vertices.is_empty() {
            for end in [EdgeEnd::Target, EdgeEnd::Source] {
                let mut operators = vec![Operator::EdgeEnds(end)];
                operators.extend(vertices.iter().cloned());
                edges.push(Operator::Where { of: Traversal { operators }, gives: true });
            }
        }
        Self { subgraph, vertices, ways, edges }
    }

    fn put(&self, traversal: &mut Traversal) {
        let mut before = std::mem::take(&mut traversal.operators).into_iter().peekable();
        let after = &mut traversal.operators;
        // Whether traversers are at vertices that were tested.
        let mut tested = false;
        while let Some(mut operator) = before.next() {
            let mut tests: &[Operator] = &[];
            match &mut operator {
                Operator::Vertices(_) => (tests, tested) = (&self.vertices, true),
                Operator::Edges(_) => (tests, tested) = (&self.edges, false),
                Operator::EdgeEnds(_) => (tests, tested) = (&self.vertices, true),
                Operator::Expand(expand) => match expand.to {
                    ExpandTo::Edges(_) => (tests, tested) = (&self.edges, false),
                    ExpandTo::Neighbors | ExpandTo::Count => {
                        if self.subgraph.both_ends && !tested {
                            after.extend_from_slice(&self.vertices);
                        }
                        expand.edges.operators.extend_from_slice(&self.ways);
                        expand.vertices.operators.extend_from_slice(&self.vertices);
                        tested = true;
                    }
                },
                Operator::AddVertex { .. } => {
                    tested = self.subgraph.added;
                    if self.subgraph.added {
                        tests = &self.vertices;
                    }
                }
                Operator::Merge(merge) => {
                    tested = self.subgraph.added && merge.kind == MergeSubject::Vertices;
                    if self.subgraph.added {
                        tests = if tested { &self.vertices } else { &self.edges };
                    }
                }
                Operator::Match(_) | Operator::Branch(_) => tested = false,
                Operator::Call(call) => {
                    if !(self.vertices.is_empty() && self.ways.is_empty()) {
                        call.shown = Shown::Part;
                    }
                    tested = false;
                }
                Operator::AddEdge { .. } => {
                    tested = false;
                    if self.subgraph.added {
                        tests = &self.edges;
                    }
                }
                // They stay where they are.
                Operator::Filter(_)
                | Operator::Where { .. }
                | Operator::WhereBy { .. }
                | Operator::Any(_)
                | Operator::SimplePath { .. }
                | Operator::As(_)
                | Operator::Range { .. }
                | Operator::Tail(_)
                | Operator::TimeLimit(_)
                | Operator::Coin(_)
                | Operator::Sample { .. }
                | Operator::Dedup { .. }
                | Operator::Order(_)
                | Operator::Top(..)
                | Operator::Aggregate { .. }
                | Operator::SideEffect(_)
                | Operator::Subgraph(_)
                | Operator::SetSack { .. }
                | Operator::Barrier { .. }
                | Operator::Bulk
                | Operator::Exchange
                | Operator::Analysis(_)
                | Operator::SetProperties(_) => {}
                // No elements, or those of a traversal within, or such as were met before.
                Operator::Inject { .. }
                | Operator::Properties { .. }
                | Operator::Unfold
                | Operator::Map(_)
                | Operator::Fail(_)
                | Operator::Reduce(_)
                | Operator::Group(_)
                | Operator::Tree { .. }
                | Operator::Cap(_)
                | Operator::Union(_)
                | Operator::Coalesce(_)
                | Operator::Optional(_)
                | Operator::Choose(_)
                | Operator::Local(_)
                | Operator::Parallel(_)
                | Operator::Travel(_)
                | Operator::Child { .. }
                | Operator::Repeat(_)
                | Operator::ShortestPaths(_)
                | Operator::Io(_)
                | Operator::Drop => tested = false,
            }
            let is_scan = matches!(operator, Operator::Vertices(_) | Operator::Edges(_));
            after.push(operator);
            // has() behind a scan stays there, so that an index may answer it.
            while is_scan && let Some(filter) = before.next_if(|next| matches!(next, Operator::Filter(_))) {
                after.push(filter);
            }
            after.extend_from_slice(tests);
        }
    }
}

/// Operators that leave out rows of which `condition` gives nothing.
fn filters(condition: &Traversal) -> Vec<Operator> {
    let leaves_out = |operator: &Operator| {
        matches!(operator, Operator::Filter(_) | Operator::Where { .. } | Operator::Any(_))
    };
    if condition.operators.iter().all(leaves_out) {
        return condition.operators.clone();
    }
    vec![Operator::Where { of: condition.clone(), gives: true }]
}

/// Properties: everything that looks at one by its key sees only those of which the condition gives something.
impl Subgraph {
    fn hide_properties(&self, traversal: &mut Traversal) {
        for mut operator in std::mem::take(&mut traversal.operators) {
            operator.modulators(&mut |by| {
                if let By::Key(key) = by {
                    *by = By::Child(self.value(key));
                }
            });
            match operator {
                Operator::Properties { keys, values: false } => {
                    traversal.operators.push(Operator::Properties { keys, values: false });
                    traversal.operators.push(self.visible());
                }
                // One step on the path, as before.
                Operator::Properties { keys, values: true } => {
                    traversal.operators.push(Operator::Child { of: self.values(keys), all: true });
                }
                Operator::Filter(tests) => {
                    traversal.operators.extend(tests.into_iter().map(|test| self.test(test)));
                }
                Operator::Map(Function::ElementMap { mut shape, by }) => {
                    shape.visible.operators.extend(filters(&self.properties));
                    traversal.operators.push(Operator::Map(Function::ElementMap { shape, by }));
                }
                other => traversal.operators.push(other),
            }
        }
    }

    /// What leaves out the properties of vertices that aren't seen.
    fn visible(&self) -> Operator {
        let of_others = Predicate::Not(Box::new(Predicate::TypeOf(ItemType::VertexProperty)));
        let of_others = Traversal { operators: vec![Operator::Filter(vec![Test::Is(of_others)])] };
        Operator::Any(vec![of_others, self.properties.clone()])
    }

    /// The values of the properties with these keys, or of all, that are seen.
    fn values(&self, keys: Vec<Name>) -> Traversal {
        let all = Operator::Properties { keys, values: false };
        Traversal { operators: vec![all, self.visible(), Operator::Map(Function::Value)] }
    }

    /// What `by(key)` says: of a map what it has at the key, of an element a property.
    fn value(&self, key: &Name) -> Traversal {
        let selected = Selected { name: key.clone(), slot: None, side_effect: None, pop: Pop::Last };
        let of_map = vec![
            Operator::Filter(vec![Test::Is(Predicate::TypeOf(ItemType::Map))]),
            Operator::Map(Function::Select { names: vec![selected], by: Vec::new() }),
        ];
        let both = vec![Traversal { operators: of_map }, self.values(vec![key.clone()])];
        Traversal { operators: vec![Operator::Coalesce(both)] }
    }

    /// What `has(key)` and its like say.
    fn test(&self, test: Test) -> Operator {
        let (of, gives) = match test {
            Test::Has(key) => (self.value(&key), true),
            Test::HasNot(key) => (self.value(&key), false),
            Test::Property(key, predicate) => {
                let mut of = self.value(&key);
                of.operators.push(Operator::Filter(vec![Test::Is(predicate)]));
                (of, true)
            }
            other => return Operator::Filter(vec![other]),
        };
        Operator::Where { of, gives }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::compile::compile;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;

    fn plan(text: &str) -> Vec<Operator> {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
        compile(&query).unwrap().root.operators
    }

    fn has(key: &str) -> Operator {
        Operator::Filter(vec![Test::Has(key.into())])
    }

    #[test]
    fn a_hop_stays_one_step_with_its_tests_inside() {
        let text = "g.withStrategies(new SubgraphStrategy(vertices: __.has('seen'), edges: __.in('likes'))).V().out()";
        let [Operator::Vertices(scan), Operator::Expand(hop)] = &*plan(text) else { panic!("{text}") };
        assert_eq!(scan.tests, [Test::Has("seen".into())]);
        assert_eq!(hop.vertices.operators, [has("seen")]);
        // A condition that moves is asked as a whole, and isn't subject to itself.
        let [Operator::Where { of, gives: true }] = &*hop.edges.operators else { panic!("{hop:?}") };
        let [Operator::Expand(inner)] = &*of.operators else { panic!("{of:?}") };
        assert_eq!((&inner.edges, &inner.vertices), (&Traversal::default(), &Traversal::default()));
    }

    #[test]
    fn what_a_hop_starts_from_is_tested_if_it_was_not() {
        let subgraph = "g.withStrategies(new SubgraphStrategy(vertices: __.has('seen')))";
        let hops = |text: &str| {
            let operators = plan(&format!("{subgraph}{text}"));
            let hop = operators.iter().position(|operator| matches!(operator, Operator::Expand(_))).unwrap();
            operators[hop - 1] == has("seen")
        };
        assert!(!hops(".V().order().out()"));
        assert!(!hops(".E().inV().dedup().out()"));
        assert!(hops(".inject(1).unfold().out()"));
        assert!(hops(".V().select('a').out()"));
    }

    #[test]
    fn an_edge_is_seen_with_both_its_ends_unless_that_is_switched_off() {
        let ends = |options: &str| {
            let text =
                format!("g.withStrategies(new SubgraphStrategy(vertices: __.has('seen'){options})).E()");
            plan(&text).len() - 1
        };
        assert_eq!(ends(""), 2);
        assert_eq!(ends(", checkAdjacentVertices: true"), 2);
        assert_eq!(ends(", checkAdjacentVertices: false"), 0);
    }

    #[test]
    fn tests_of_a_scan_stay_with_it() {
        let text = "g.withStrategies(new SubgraphStrategy(vertices: __.out('a'))).V().has('k', 1).is(1)";
        let operators = plan(text);
        let [Operator::Vertices(scan), Operator::Where { .. }] = &*operators else { panic!("{operators:?}") };
        assert_eq!(scan.tests.len(), 2);
    }

    #[test]
    fn a_property_that_is_not_seen_is_hidden_from_all_that_look_at_one() {
        let subgraph = "g.withStrategies(new SubgraphStrategy(vertexProperties: __.hasKey('name'))).V()";
        let condition = vec![Operator::Filter(vec![Test::Key(Predicate::Within(vec!["name".into()]))])];
        for step in [
            ".properties()",
            ".values('age')",
            ".valueMap()",
            ".elementMap()",
            ".order().by('age')",
            ".order(local).by('age')",
            ".group().by('age')",
            ".choose(values('age')).option(1, identity())",
            ".has('age')",
            ".hasNot('age')",
            ".has('age', 29)",
            ".has('age', __.is(29))",
            ".where(values('age'))",
        ] {
            let mut root = Traversal { operators: plan(&format!("{subgraph}{step}")) };
            let mut found = 0;
            root.visit(&mut |traversal| found += usize::from(traversal.operators == condition));
            assert!(found > 0, "{step}");
        }
    }
}
