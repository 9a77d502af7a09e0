//! Calls: which steps a traversal uses, by name.

use crate::gherkin::Scenario;
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call, Test};
use evergraph_query::gremlin::parser::{ParseLimits, parse};
use std::collections::BTreeSet;

/// The 48 steps of G-Tran (VLDB 2022, section 2).
pub const G_TRAN: [&str; 48] = [
    "V",
    "E",
    "in",
    "out",
    "both",
    "inE",
    "outE",
    "bothE",
    "inV",
    "outV",
    "bothV",
    "addE",
    "addV",
    "property",
    "drop",
    "has",
    "hasNot",
    "hasKey",
    "hasValue",
    "hasLabel",
    "key",
    "label",
    "properties",
    "values",
    "range",
    "limit",
    "skip",
    "tail",
    "sum",
    "max",
    "min",
    "mean",
    "count",
    "order",
    "dedup",
    "aggregate",
    "group",
    "groupCount",
    "where",
    "select",
    "as",
    "is",
    "cap",
    "and",
    "or",
    "not",
    "union",
    "repeat",
];

/// What belongs to a step before it.
const MODULATORS: [&str; 9] = ["by", "from", "to", "times", "until", "emit", "option", "with", "read"];

/// Whether the traversal of `scenario` uses steps of G-Tran alone, and their modulators.
#[must_use]
pub fn is_of_g_tran(scenario: &Scenario) -> bool {
    let used = used(scenario);
    let is_one = |name: &str| G_TRAN.contains(&name) || MODULATORS.contains(&name);
    !used.is_empty() && used.iter().all(|name| is_one(name))
}

/// The names of all calls in the traversal of `scenario`; none if it can't be read.
#[must_use]
pub fn used(scenario: &Scenario) -> BTreeSet<Box<str>> {
    let mut used = BTreeSet::new();
    let texts = scenario.steps.iter().filter(|step| step.text == "the traversal of");
    for text in texts.filter_map(|step| step.document.as_deref()) {
        if let Ok(query) = parse(text, &ParseLimits::default()) {
            of_calls(&query.calls, &mut used);
        }
    }
    used
}

fn of_calls(calls: &[Call], used: &mut BTreeSet<Box<str>>) {
    for call in calls {
        used.insert(call.name.clone());
        of_arguments(&call.arguments, used);
    }
}

fn of_arguments(arguments: &[Argument], used: &mut BTreeSet<Box<str>>) {
    for argument in arguments {
        match &argument.kind {
            ArgumentKind::Traversal(calls) => of_calls(calls, used),
            ArgumentKind::Query(query) => of_calls(&query.calls, used),
            ArgumentKind::List(inside) | ArgumentKind::Set(inside) => of_arguments(inside, used),
            ArgumentKind::Map(entries) => entries.iter().for_each(|(key, value)| {
                of_arguments(std::slice::from_ref(key), used);
                of_arguments(std::slice::from_ref(value), used);
            }),
            ArgumentKind::Predicate(predicate) => {
                // Of predicates it is the one that no other graph of its time has.
                if predicate.test == Test::TypeOf {
                    used.insert(predicate.test.name().into());
                }
                of_arguments(&predicate.arguments, used);
            }
            ArgumentKind::Strategy(strategy) => {
                strategy
                    .settings
                    .iter()
                    .for_each(|(_, value)| of_arguments(std::slice::from_ref(value), used));
            }
            ArgumentKind::WithCardinality(_, value) => of_arguments(std::slice::from_ref(value), used),
            _ => {}
        }
    }
}
