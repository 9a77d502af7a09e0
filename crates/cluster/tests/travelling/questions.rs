//! Questions: random queries of hops, filters and barriers, and how they are asked.

use crate::graphs::{LABELS, TYPES};
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::view::GraphView;
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, QueryLimits};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::compile::compile;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::plan::operator::Plan;
use evergraph_query::service::Services;
use evergraph_query::session::run_measured;
use evergraph_query::travel::no_kernels::NoKernels;
use evergraph_query::value::item::Item;

/// A random query behind `g`.
pub fn random(chance: &mut SeededChance) -> String {
    let mut text = ".V()".to_owned();
    match chance.below(4) {
        0 => text += &format!(".hasLabel('{}')", one(chance, &LABELS)),
        1 => text += &format!(".has('w', {})", predicate(chance)),
        _ => {}
    }
    for _ in 0..=chance.below(4) {
        text += &hop(chance);
        match chance.below(6) {
            0 => text += &format!(".has('w', {})", predicate(chance)),
            1 => text += &format!(".hasLabel('{}')", one(chance, &LABELS)),
            2 => text += ".dedup()",
            3 => text += ".has('name', within('n1', 'n2', 'n5'))",
            _ => {}
        }
    }
    text + match chance.below(9) {
        0 => ".values('w').max()",
        1 => ".values('w').min()",
        2 => ".groupCount().by('w')",
        3 => ".dedup().count()",
        4 => ".values('w').dedup().count()",
        5 => ".label().groupCount()",
        6 => ".outE().count()",
        _ => ".count()",
    }
}

fn one<'a>(chance: &mut SeededChance, all: &[&'a str]) -> &'a str {
    all[chance.below(all.len() as u64) as usize]
}

fn predicate(chance: &mut SeededChance) -> String {
    let number = chance.below(7);
    let test = one(chance, &["gt", "lte", "neq", "eq"]);
    format!("{test}({number}L)")
}

fn hop(chance: &mut SeededChance) -> String {
    let edge_type = match chance.below(3) {
        0 => String::new(),
        _ => format!("'{}'", one(chance, &TYPES)),
    };
    match chance.below(6) {
        0 => format!(".in({edge_type})"),
        1 => format!(".both({edge_type})"),
        2 => format!(".outE({edge_type}).has('w', {}).inV()", predicate(chance)),
        3 => format!(".inE({edge_type}).has('w', {}).outV()", predicate(chance)),
        _ => format!(".out({edge_type})"),
    }
}

/// Whether stages travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Travelling,
    Remote,
}

pub fn plan(text: &str, way: Way) -> Plan {
    let source = match way {
        Way::Travelling => "g",
        Way::Remote => "g.with('travel', false)",
    };
    compile(&read(&format!("{source}{text}"), &ParseLimits::default(), &Bindings::new()).unwrap()).unwrap()
}

/// What a query finds, sorted by its text, and what is noted of it.
pub fn ask(plan: &Plan, view: &dyn GraphView) -> Result<(Vec<String>, Vec<String>)> {
    ask_within(plan, view, QueryLimits::default(), CancelFlag::default())
}

pub fn ask_within(
    plan: &Plan,
    view: &dyn GraphView,
    limits: QueryLimits,
    cancel: CancelFlag,
) -> Result<(Vec<String>, Vec<String>)> {
    let charge = Charge::new(limits, cancel, &Unlimited);
    let mut results = run_measured(plan, Graph::Read(view), charge, &Services::default(), &NoKernels)?;
    let mut found: Vec<String> = results.collect()?.iter().map(shown).collect();
    found.sort();
    Ok((found, results.profile().notes))
}

/// An item; the entries of a map are sorted.
fn shown(item: &Item) -> String {
    match item {
        Item::Map(map) => {
            let mut entries: Vec<String> =
                map.entries().iter().map(|(key, value)| format!("{key:?}: {value:?}")).collect();
            entries.sort();
            entries.join(", ")
        }
        other => format!("{other:?}"),
    }
}
