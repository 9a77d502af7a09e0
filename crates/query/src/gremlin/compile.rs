//! Compile: turns checked calls into a plan.
//!
//! ```text
//! calls   V   as("a")   out("knows")   order   by("age", desc)   select("a")
//! plan    V   As 0      Expand         Order [(age, desc)]       Map Select [0]
//! ```
//!
//! Modulators (`by`, `from`, `option`, `times` ...) are read with the step that they belong to. A name that `as()` gives is a
//! slot of the frame.
//!
//! - `compiler`: what is known meanwhile, and how one call after the other becomes operators
//! - `argument`: what arguments mean: items, names, predicates, what `by()` says
//! - a file a family of steps, with the methods that it has; here they are found by their names, once a call

mod algorithm;
mod argument;
mod branch;
mod call;
mod compiler;
mod condition;
mod gather;
mod io;
mod map;
mod merge;
mod pattern;
mod scalar;
mod strategy;
mod walk;
mod write;

use crate::error::{Span, TextError};
use crate::gremlin::call::{Call, Query};
use crate::gremlin::compile::compiler::{Compiled, Compiler, Method, NamedMethod, as_traversal, wrong};
use crate::gremlin::compile::strategy::Strategies;
use crate::plan::operator::{Given, Name, Outcome, Plan, Sack};
use crate::rule::improve;
use crate::stack::deeper;
use crate::value::item::Item;
use evergraph_graph::cancel::CancelFlag;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The plan of a query.
///
/// # Errors
/// `invalid` for a step that isn't there yet, or is used in a way that it can't be; with the place in the text.
pub fn compile(query: &Query) -> Result<Plan, TextError> {
    compile_until(query, &CancelFlag::default())
}

/// As [`compile`], unless `stop` says to stop.
///
/// Cost: one pass over the calls, and a few over what becomes of them.
///
/// # Errors
/// As [`compile`]; `cancelled`.
pub fn compile_until(query: &Query, stop: &CancelFlag) -> Result<Plan, TextError> {
    let plan = written_until(query, stop)?;
    improve(plan, stop)
        .map_err(|error| TextError { kind: error.kind(), ..wrong(Span::default(), error.to_string()) })
}

/// The plan of a query as it is written, before any rule that makes it read less: it gives the same, more slowly.
///
/// # Errors
/// As [`compile`].
pub fn as_written(query: &Query) -> Result<Plan, TextError> {
    written_until(query, &CancelFlag::default())
}

fn written_until(query: &Query, stop: &CancelFlag) -> Result<Plan, TextError> {
    let mut compiler = Compiler::new(|name| METHODS.get(name).copied(), stop.clone());
    let mut asked = Asked::default();
    let (calls, outcome) = outcome(&query.calls);
    let calls = asked.read(calls, &mut compiler)?;
    name_side_effects(calls, &mut compiler);
    let root = compiler.traversal(calls)?;
    let mut plan = Plan {
        root,
        slots: compiler.slots.all,
        side_effects: compiler.side_effects.all,
        given: asked.given,
        seed: None,
        options: asked.options,
        sack: compiler.sack,
        bulks: !compiler.without_bulk,
        reads_paths: compiler.reads_paths,
        writes: compiler.writes && outcome != Outcome::Explanation,
        once: argument::makes_uuids(&query.calls),
        outcome,
    };
    asked.strategies.apply(&mut plan)?;
    Ok(plan)
}

/// What compiles each method, by its name.
static METHODS: LazyLock<HashMap<&str, Method, FixedState>> =
    LazyLock::new(|| FAMILIES.into_iter().flatten().copied().collect());

const FAMILIES: [&[NamedMethod]; 12] = [
    walk::METHODS,
    condition::METHODS,
    map::METHODS,
    gather::METHODS,
    algorithm::METHODS,
    call::METHODS,
    io::METHODS,
    branch::METHODS,
    pattern::METHODS,
    scalar::METHODS,
    write::METHODS,
    merge::METHODS,
];

/// The calls without those at the end that say what the result is, and that.
fn outcome(calls: &[Call]) -> (&[Call], Outcome) {
    if let [rest @ .., last] = calls
        && &*last.name == "explain"
    {
        return (rest, Outcome::Explanation);
    }
    let calls = without_end(calls);
    match calls {
        [rest @ .., last] if &*last.name == "profile" => match &*last.arguments {
            [] => (rest, Outcome::Profile),
            // Nobody asks for what it gathers.
            _ => (rest, Outcome::Results),
        },
        [rest @ .., profile, cap]
            if &*profile.name == "profile" && &*cap.name == "cap" && profile.arguments == cap.arguments =>
        {
            (rest, Outcome::Profile)
        }
        all => (all, Outcome::Results),
    }
}

/// The calls without those at the end that only say how results are fetched.
fn without_end(calls: &[Call]) -> &[Call] {
    match calls {
        [rest @ .., last]
            if matches!(&*last.name, "toList" | "iterate" | "next") && last.arguments.is_empty() =>
        {
            rest
        }
        all => all,
    }
}

/// What is said of the graph before the traversal begins.
#[derive(Default)]
struct Asked {
    given: Vec<Given>,
    options: Vec<(Name, Item)>,
    strategies: Strategies,
}

impl Asked {
    /// Reads the calls that say it; the calls of the traversal.
    fn read<'c>(&mut self, mut calls: &'c [Call], compiler: &mut Compiler) -> Compiled<&'c [Call]> {
        while let Some((call, rest)) = calls.split_first() {
            match (&*call.name, call.arguments.as_slice()) {
                ("with", [key, value @ ..]) => {
                    let value = value.first().map_or(Ok(Item::from(true)), argument::item)?;
                    self.options.push((argument::name(key)?, value));
                }
                ("withSideEffect", [name, value, how @ ..]) => {
                    let number = compiler.side_effect(&argument::name(name)?);
                    let join = how.first().map(argument::combine).transpose()?;
                    self.given.retain(|given| given.number != number);
                    self.given.push(Given { number, item: argument::item(value)?, join });
                }
                ("withPath", []) => compiler.reads_paths = true,
                ("withStrategies", strategies) => self.strategies.add(strategies, compiler)?,
                ("withoutStrategies", strategies) => self.strategies.leave_out(strategies, compiler)?,
                ("withSack", [initial, merge @ ..]) => {
                    let merge = merge.first().map(argument::combine).transpose()?;
                    compiler.sack = Some(Sack { initial: argument::item(initial)?, merge });
                }
                ("withBulk", [bulk]) => {
                    let bulk = argument::item(bulk)?.as_bool();
                    compiler.without_bulk =
                        !bulk.ok_or_else(|| wrong(call.span, "withBulk() takes true or false"))?;
                }
                _ => break,
            }
            calls = rest;
        }
        Ok(calls)
    }
}

/// Numbers what steps gather aside: a loop may ask for what is only gathered at its end.
fn name_side_effects(calls: &[Call], compiler: &mut Compiler) {
    const GATHER: [&str; 5] = ["aggregate", "group", "groupCount", "subgraph", "tree"];
    for call in calls {
        for argument in &call.arguments {
            match (as_traversal(argument), argument.kind.as_str()) {
                (Some(calls), _) => deeper(|| name_side_effects(calls, compiler)),
                (None, Some(name)) if GATHER.contains(&&*call.name) => {
                    compiler.side_effect(name);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::signature::table::{signatures, steps};
    use std::collections::BTreeSet;

    /// Steps that are read with another one, which they say more about, or that say what the result is.
    const READ_WITH_OTHERS: [&str; 7] = ["by", "from", "option", "profile", "read", "with", "write"];

    #[test]
    fn every_method_stands_in_one_family_and_has_a_signature() {
        let known: BTreeSet<&str> = signatures().map(|signature| signature.name).collect();
        let mut seen = BTreeSet::new();
        for (name, _) in FAMILIES.into_iter().flatten() {
            assert!(known.contains(name), "{name} has no signature");
            assert!(seen.insert(name), "{name} stands in two families");
        }
    }

    #[test]
    fn every_step_is_compiled() {
        let missing = steps().map(|signature| signature.name).filter(|name| !METHODS.contains_key(name));
        assert_eq!(missing.collect::<BTreeSet<_>>(), BTreeSet::from(READ_WITH_OTHERS));
    }
}
