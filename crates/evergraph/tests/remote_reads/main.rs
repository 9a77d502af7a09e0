//! Remote reads: how many messages queries take on a graph whose partitions others keep, and that their results are the same.
//!
//! What a step reads of each element by itself it announces, so that a batch takes a few rounds and not one an element.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../../../cluster/tests/remote_views/failing_view.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod failing_view;
mod ldbc_reads;
#[path = "../../../cluster/tests/remote_views/split_graph.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod split_graph;
mod waits;

use crate::split_graph::{AGE, DirectAsker, KNOWS, NAME, PERSON, SplitGraph, indexes};
use evergraph::gremlin::elements::{ElementDetail, Elements};
use evergraph_analysis::kernels::CompiledKernels;
use evergraph_cluster::remote::remote_snapshot::RemoteLimits;
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, QueryLimits};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::compile::compile;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::service::Services;
use evergraph_query::session;
use evergraph_query::value::item::Item;
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::transaction::writes::Writes;
use std::collections::BTreeMap;

static NO_WRITES: Writes = Writes::new();

const PARTITIONS: u16 = 4;

fn charge() -> Charge<'static> {
    Charge::new(QueryLimits::default(), CancelFlag::default(), &Unlimited)
}

fn run(view: &dyn GraphView, text: &str) -> Vec<Item> {
    let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
    let plan = compile(&query).unwrap();
    let services = Services::default();
    session::run(&plan, Graph::Read(view), charge(), &services, &CompiledKernels).unwrap().collect().unwrap()
}

/// Does something on the whole graph and on its partitions, with nothing read before, and returns what both show and in how
/// many rounds of messages.
fn on_both<T>(graph: &SplitGraph, does: impl Fn(&dyn GraphView) -> T) -> (T, T, usize) {
    let whole = graph.whole_at(graph.now);
    let catalogue = whole.catalogue();
    let indexes = indexes(&catalogue);
    let (snapshot, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, &catalogue, &indexes);
    let found = does(&reader);
    let rounds = rounds(&asker);
    (does(&whole), found, rounds)
}

fn rounds(asker: &DirectAsker) -> usize {
    let (rounds, messages) = asker.counted();
    assert!(messages <= usize::from(PARTITIONS) * rounds, "a message a partition and round");
    rounds
}

#[test]
fn steps_that_read_element_by_element_take_a_few_rounds() {
    // A scan of thirteen groups takes five of them, and whether vertex 0 is there one.
    let cases = [
        ("g.V(0).valueMap()", 2),
        ("g.V(0).values('age')", 2),
        ("g.V()", 5),
        ("g.V().valueMap()", 6),
        ("g.V().valueMap('age', 'name')", 6),
        ("g.V().elementMap()", 6),
        ("g.V().properties()", 6),
        ("g.V().values('age', 'name')", 6),
        ("g.V().outE().elementMap()", 8),
        ("g.V().outE().valueMap()", 8),
        ("g.V().union(identity(), outE()).values('age')", 9),
        ("g.V().union(identity(), outE()).label()", 9),
        ("g.V().union(identity(), outE()).elementMap()", 9),
        ("g.V().both().valueMap('name')", 8),
    ];
    let graph = SplitGraph::random(1, PARTITIONS);
    let (vertices, edges) = (graph.model.vertices.len(), graph.model.edges.len());
    assert!(vertices > 60 && edges > 300, "{vertices} vertices and {edges} edges");
    let mut all = BTreeMap::new();
    for (text, most) in cases {
        let (wanted, found, rounds) = on_both(&graph, |view| run(view, text));
        assert_eq!(found, wanted, "{text}");
        if rounds > most {
            all.insert(text, rounds);
        }
    }
    assert!(all.is_empty(), "more rounds than there need be: {all:?}");
}

#[test]
fn elements_in_results_come_in_a_few_rounds() {
    let graph = SplitGraph::random(2, PARTITIONS);
    let items = run(&graph.whole_at(graph.now), "g.V().union(identity(), outE())");
    for (detail, most) in [(ElementDetail::Labels, 2), (ElementDetail::PropertiesOfEnds, 4)] {
        let (wanted, found, rounds) =
            on_both(&graph, |view| Elements::read(view, &items, detail, &mut charge()).unwrap());
        assert!(rounds <= most, "{rounds} rounds for {detail:?}");
        let vertices = |elements: &Elements| {
            elements.vertices().map(|(vertex, data)| (vertex, data.clone())).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(vertices(&found), vertices(&wanted));
        for edge in items.iter().filter_map(Item::as_edge) {
            assert_eq!(found.edge(edge), wanted.edge(edge));
        }
    }
}

#[test]
fn elements_that_rows_merge_are_found_in_a_few_rounds() {
    let graph = SplitGraph::random(3, PARTITIONS);
    let named = graph.model.vertices.iter().filter(|(vertex, _)| graph.labels[&vertex.group()] == PERSON);
    let people = named.filter_map(|(_, values)| match (values.get(&NAME), values.get(&AGE)) {
        (Some(Value::String(name)), Some(Value::I64(age))) => {
            Some(format!("[(T.label): 'person', 'name': '{name}', 'age': {age}L]"))
        }
        _ => None,
    });
    let pairs: BTreeMap<_, _> =
        graph.model.edges.keys().map(|edge| ((edge.source, edge.target), *edge)).collect();
    let edges = pairs.values().map(|edge| {
        let edge_type = if edge.edge_type == KNOWS { "knows" } else { "likes" };
        let (source, target) = (edge.source.0, edge.target.0);
        format!("[(T.label): '{edge_type}', (Direction.OUT): {source}, (Direction.IN): {target}]")
    });
    for (maps, step, most) in [
        (people.take(30).collect::<Vec<_>>(), "mergeV()", 4),
        (edges.take(60).collect::<Vec<_>>(), "mergeE()", 6),
    ] {
        assert!(maps.len() > 15, "{} for {step}", maps.len());
        let text = format!("g.inject({}).{step}", maps.join(", "));
        let (wanted, found, rounds) = on_both(&graph, |view| run(view, &text));
        assert_eq!(found, wanted, "{step}");
        assert!(found.len() >= maps.len() && rounds <= most, "{rounds} rounds for {} of {step}", maps.len());
    }
}
