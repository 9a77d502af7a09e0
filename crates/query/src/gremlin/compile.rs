//! Compile: checked calls to a plan.
//!
//! ```text
//! calls   V   as("a")   out("knows")   order   by("age", desc)   select("a")
//! plan    V   As 0      Expand         Order [(age, desc)]       Map Select [0]
//! ```
//!
//! Modulators (`by`, `from`, `option`, `times` ...) are read with the step that they belong to. A name that `as()` gives is a
//! slot of the frame.
//!
//! - `argument`: what arguments mean: items, names, predicates, what `by()` says
//! - a file a family of steps

mod algorithm;
mod argument;
mod branch;
mod call;
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
use crate::gremlin::call::{Argument, ArgumentKind, Call, Query};
use crate::gremlin::token::{Order, Token};
use crate::plan::operator::{By, Given, Name, Operator, Outcome, Plan, Sack, Sorting, Traversal};
use crate::rule::improve;
use crate::stack::deeper;
use crate::value::item::Item;
use evergraph_graph::cancel::CancelFlag;
use std::collections::HashMap;

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
    let mut compiler = Compiler { beginning: true, stop: stop.clone(), ..Compiler::default() };
    let (calls, outcome) = outcome(&query.calls);
    let calls = compiler.source(calls)?;
    compiler.name_side_effects(calls);
    let root = compiler.traversal(calls)?;
    let mut plan = Plan {
        root,
        slots: compiler.slots.all,
        side_effects: compiler.side_effects.all,
        given: compiler.given,
        seed: None,
        options: compiler.options,
        sack: compiler.sack,
        bulks: !compiler.without_bulk,
        reads_paths: compiler.reads_paths,
        writes: compiler.writes && outcome != Outcome::Explanation,
        once: argument::makes_uuids(&query.calls),
        outcome,
    };
    strategy::apply(compiler.strategies, &mut plan)?;
    Ok(plan)
}

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

/// What is known while a query is compiled.
#[derive(Default)]
struct Compiler {
    /// Asks to stop when somebody else does, or the time is over.
    stop: CancelFlag,
    slots: NameTable,
    side_effects: NameTable,
    given: Vec<Given>,
    options: Vec<(Name, Item)>,
    strategies: Vec<strategy::Asked>,
    /// Whether `and()` and `or()` mean themselves alone, wherever they stand.
    keeps_connectives: bool,
    sack: Option<Sack>,
    without_bulk: bool,
    /// Whether nothing was compiled yet that traversers could come from.
    beginning: bool,
    reads_paths: bool,
    writes: bool,
    /// How many traversals the one that is compiled stands in, itself counted.
    depth: usize,
}

/// The calls that are left of a traversal.
struct Calls<'c> {
    calls: &'c [Call],
    at: usize,
}

impl<'c> Calls<'c> {
    fn next(&mut self) -> Option<&'c Call> {
        let call = self.calls.get(self.at)?;
        self.at += 1;
        Some(call)
    }

    /// The next call, if it is called so.
    fn next_if(&mut self, name: &str) -> Option<&'c Call> {
        let call = self.calls.get(self.at).filter(|call| *call.name == *name)?;
        self.at += 1;
        Some(call)
    }
}

type Compiled<T> = Result<T, TextError>;

impl Compiler {
    /// What is said of the graph before the traversal begins, and the calls of the traversal.
    fn source<'c>(&mut self, mut calls: &'c [Call]) -> Compiled<&'c [Call]> {
        while let Some((call, rest)) = calls.split_first() {
            match (&*call.name, call.arguments.as_slice()) {
                ("with", [key, value @ ..]) => {
                    let value = value.first().map_or(Ok(Item::from(true)), argument::item)?;
                    self.options.push((argument::name(key)?, value));
                }
                ("withSideEffect", [name, value, how @ ..]) => {
                    let number = self.side_effect(&argument::name(name)?);
                    let join = how.first().map(argument::combine).transpose()?;
                    self.given.retain(|given| given.number != number);
                    self.given.push(Given { number, item: argument::item(value)?, join });
                }
                ("withPath", []) => self.reads_paths = true,
                ("withStrategies", strategies) => self.add_strategies(strategies)?,
                ("withoutStrategies", strategies) => self.leave_out_strategies(strategies)?,
                ("withSack", [initial, merge @ ..]) => {
                    let merge = merge.first().map(argument::combine).transpose()?;
                    self.sack = Some(Sack { initial: argument::item(initial)?, merge });
                }
                ("withBulk", [bulk]) => {
                    let bulk = argument::item(bulk)?.as_bool();
                    self.without_bulk =
                        !bulk.ok_or_else(|| wrong(call.span, "withBulk() takes true or false"))?;
                }
                _ => break,
            }
            calls = rest;
        }
        Ok(calls)
    }

    /// Numbers what steps gather aside: a loop may ask for what is only gathered at its end.
    fn name_side_effects(&mut self, calls: &[Call]) {
        const GATHER: [&str; 5] = ["aggregate", "group", "groupCount", "subgraph", "tree"];
        for call in calls {
            for argument in &call.arguments {
                match (as_traversal(argument), argument.kind.as_str()) {
                    (Some(calls), _) => deeper(|| self.name_side_effects(calls)),
                    (None, Some(name)) if GATHER.contains(&&*call.name) => {
                        self.side_effect(name);
                    }
                    _ => {}
                }
            }
        }
    }

    fn traversal(&mut self, calls: &[Call]) -> Compiled<Traversal> {
        deeper(|| self.traversal_here(calls))
    }

    fn traversal_here(&mut self, calls: &[Call]) -> Compiled<Traversal> {
        self.depth += 1;
        let operators = match self.connected(calls)? {
            Some(operators) => operators,
            None => self.operators(calls)?,
        };
        self.depth -= 1;
        Ok(Traversal { operators })
    }

    fn operators(&mut self, calls: &[Call]) -> Compiled<Vec<Operator>> {
        let mut operators = Vec::new();
        let mut calls = Calls { calls, at: 0 };
        while let Some(call) = calls.next() {
            self.step(call, &mut calls, &mut operators)?;
        }
        Ok(operators)
    }

    /// The operators of `call` and its modulators.
    fn step(&mut self, call: &Call, calls: &mut Calls<'_>, operators: &mut Vec<Operator>) -> Compiled<()> {
        self.stop
            .check()
            .map_err(|error| TextError { kind: error.kind(), ..wrong(call.span, error.to_string()) })?;
        // The branches of a union that begins a query begin it as well.
        let begins = self.beginning && matches!(&*call.name, "inject" | "union");
        self.beginning = begins;
        let done = self.walk(call, operators)?
            || self.condition(call, calls, operators)?
            || self.map(call, calls, operators)?
            || self.gather(call, calls, operators)?
            || self.algorithm(call, calls, operators)?
            || self.call(call, calls, operators)?
            || self.io(call, calls, operators)?
            || self.branch(call, calls, operators)?
            || self.scalar(call, calls, operators)?
            || self.write(call, calls, operators)?;
        self.beginning = false;
        if done { Ok(()) } else { Err(not_yet(call)) }
    }

    /// The number of the slot called `name`, which may be a new one.
    fn slot(&mut self, name: &str) -> usize {
        self.slots.number(name)
    }

    /// The slot called `name`, if one is.
    fn known_slot(&self, name: &str) -> Option<usize> {
        self.slots.known(name)
    }

    /// The side effect called `name`, if one is and no slot is.
    fn known_side_effect(&self, name: &str) -> Option<usize> {
        let number = self.side_effects.known(name)?;
        self.known_slot(name).is_none().then_some(number)
    }

    /// The number of the side effect called `name`, which may be a new one.
    fn side_effect(&mut self, name: &str) -> usize {
        self.side_effects.number(name)
    }

    /// The `by()` modulators that follow.
    fn bys(&mut self, calls: &mut Calls<'_>) -> Compiled<Vec<By>> {
        let mut all = Vec::new();
        while let Some(call) = calls.next_if("by") {
            let (by, sorting) = self.by(call)?;
            if sorting.is_some() {
                return Err(TextError::invalid(call.span, "an order is only for the by() of order()"));
            }
            all.push(by);
        }
        Ok(all)
    }

    /// The `by()` modulators that follow `order()`.
    fn sorted_bys(&mut self, calls: &mut Calls<'_>) -> Compiled<Vec<(By, Sorting)>> {
        let mut all = Vec::new();
        while let Some(call) = calls.next_if("by") {
            let (by, sorting) = self.by(call)?;
            all.push((by, sorting.unwrap_or(Sorting::Ascending)));
        }
        if all.is_empty() {
            all.push((By::Itself, Sorting::Ascending));
        }
        Ok(all)
    }

    /// What one `by()` says.
    fn by(&mut self, call: &Call) -> Compiled<(By, Option<Sorting>)> {
        let (mut by, mut sorting) = (By::Itself, None);
        for argument in &call.arguments {
            match &argument.kind {
                ArgumentKind::Token(Token::Order(order)) => {
                    sorting = Some(match order {
                        Order::Asc => Sorting::Ascending,
                        Order::Desc => Sorting::Descending,
                        Order::Shuffle => Sorting::Shuffle,
                    });
                }
                _ => by = self.projection(argument)?,
            }
        }
        Ok((by, sorting))
    }
}

/// Names with their numbers.
#[derive(Default)]
struct NameTable {
    all: Vec<Name>,
    numbers: HashMap<Name, usize>,
}

impl NameTable {
    /// The number of `name`, if it has one.
    fn known(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of `name`, which may be a new one.
    fn number(&mut self, name: &str) -> usize {
        self.known(name).unwrap_or_else(|| {
            let name = Name::from(name);
            self.all.push(Name::clone(&name));
            self.numbers.insert(name, self.all.len() - 1);
            self.all.len() - 1
        })
    }
}

/// A step that the signatures know and nothing runs.
fn not_yet(call: &Call) -> TextError {
    if &*call.name == "profile" {
        let text =
            "profile() stands once and at the end of a query; profile('x') is followed by cap('x') alone";
        return TextError::invalid(call.span, text);
    }
    TextError::invalid(
        call.span,
        format!("{}() isn't supported, at least not with these arguments here", call.name),
    )
}

fn wrong(span: Span, text: impl Into<String>) -> TextError {
    TextError::invalid(span, text)
}

/// The traversal that an argument is.
fn as_traversal(argument: &Argument) -> Option<&[Call]> {
    match &argument.kind {
        ArgumentKind::Traversal(calls) => Some(calls),
        _ => None,
    }
}
