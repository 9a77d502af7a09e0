//! The compiler: its state while calls become operators, one after the other.

use crate::error::{Span, TextError};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::plan::operator::{Name, Operator, Sack, Traversal};
use crate::stack::deeper;
use evergraph_graph::cancel::CancelFlag;
use std::collections::HashMap;

pub(super) type Compiled<T> = Result<T, TextError>;

/// What makes operators of a call and of its modulators, which are the calls behind it.
#[derive(Clone, Copy)]
pub(super) enum Method {
    /// Makes one operator.
    One(fn(&mut Compiler, &Call, &mut Calls<'_>) -> Compiled<Operator>),
    /// Makes any number of operators, and puts them behind those that are there.
    Any(fn(&mut Compiler, &Call, &mut Calls<'_>, &mut Vec<Operator>) -> Compiled<()>),
}

/// A method with its name.
pub(super) type NamedMethod = (&'static str, Method);

/// The method `name`, of which `make` makes one operator.
pub(super) const fn one(
    name: &'static str,
    make: fn(&mut Compiler, &Call, &mut Calls<'_>) -> Compiled<Operator>,
) -> NamedMethod {
    (name, Method::One(make))
}

/// The method `name`, of which `make` makes any number of operators.
pub(super) const fn any(
    name: &'static str,
    make: fn(&mut Compiler, &Call, &mut Calls<'_>, &mut Vec<Operator>) -> Compiled<()>,
) -> NamedMethod {
    (name, Method::Any(make))
}

/// What is known while a query is compiled.
pub(super) struct Compiler {
    /// Finds a method by its name.
    method: fn(&str) -> Option<Method>,
    /// Asks to stop when somebody else does, or the time is over.
    stop: CancelFlag,
    pub(super) slots: NameTable,
    pub(super) side_effects: NameTable,
    /// Whether `and()` and `or()` mean themselves alone, wherever they stand.
    pub(super) keeps_connectives: bool,
    pub(super) sack: Option<Sack>,
    pub(super) without_bulk: bool,
    /// Whether nothing was compiled yet that traversers could come from.
    pub(super) beginning: bool,
    pub(super) reads_paths: bool,
    pub(super) writes: bool,
    /// How many traversals the one that is compiled stands in, itself counted.
    pub(super) depth: usize,
}

impl Compiler {
    /// The compiler of a query that begins, with the methods that `method` finds.
    pub(super) fn new(method: fn(&str) -> Option<Method>, stop: CancelFlag) -> Self {
        Self {
            method,
            stop,
            slots: NameTable::default(),
            side_effects: NameTable::default(),
            keeps_connectives: false,
            sack: None,
            without_bulk: false,
            beginning: true,
            reads_paths: false,
            writes: false,
            depth: 0,
        }
    }

    pub(super) fn traversal(&mut self, calls: &[Call]) -> Compiled<Traversal> {
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

    /// `and()` and `or()` without arguments stand between what they connect: the operators of such a traversal.
    fn connected(&mut self, calls: &[Call]) -> Compiled<Option<Vec<Operator>>> {
        let between = |call: &Call| call.arguments.is_empty() && matches!(&*call.name, "and" | "or");
        if self.keeps_connectives || !calls.iter().any(between) {
            return Ok(None);
        }
        // A traversal that begins at the graph begins there for all of them.
        let source = calls.iter().take_while(|call| matches!(&*call.name, "V" | "E" | "inject")).count();
        let mut operators = self.traversal(&calls[..source])?.operators;
        let mut any = Vec::new();
        for part in calls[source..].split(|call| call.arguments.is_empty() && &*call.name == "or") {
            let mut all = Vec::new();
            for one in part.split(|call| call.arguments.is_empty() && &*call.name == "and") {
                all.push(Operator::Where { of: self.traversal(one)?, gives: true });
            }
            any.push(Traversal { operators: all });
        }
        match any.as_mut_slice() {
            [one] => operators.append(&mut one.operators),
            _ => operators.push(Operator::Any(any)),
        }
        Ok(Some(operators))
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
        match (self.method)(&call.name).ok_or_else(|| not_yet(call))? {
            Method::One(make) => operators.push(make(self, call, calls)?),
            Method::Any(make) => make(self, call, calls, operators)?,
        }
        self.beginning = false;
        Ok(())
    }

    /// The number of the slot called `name`, which may be a new one.
    pub(super) fn slot(&mut self, name: &str) -> usize {
        self.slots.number(name)
    }

    /// The slot called `name`, if one is.
    pub(super) fn known_slot(&self, name: &str) -> Option<usize> {
        self.slots.known(name)
    }

    /// The side effect called `name`, if one is and no slot is.
    pub(super) fn known_side_effect(&self, name: &str) -> Option<usize> {
        let number = self.side_effects.known(name)?;
        self.known_slot(name).is_none().then_some(number)
    }

    /// The number of the side effect called `name`, which may be a new one.
    pub(super) fn side_effect(&mut self, name: &str) -> usize {
        self.side_effects.number(name)
    }
}

/// The calls that are left of a traversal.
pub(super) struct Calls<'c> {
    calls: &'c [Call],
    at: usize,
}

impl<'c> Calls<'c> {
    pub(super) fn next(&mut self) -> Option<&'c Call> {
        let call = self.calls.get(self.at)?;
        self.at += 1;
        Some(call)
    }

    /// The next call, if it is called so.
    pub(super) fn next_if(&mut self, name: &str) -> Option<&'c Call> {
        let call = self.calls.get(self.at).filter(|call| *call.name == *name)?;
        self.at += 1;
        Some(call)
    }

    /// Puts the call back that was taken last.
    pub(super) fn put_back(&mut self) {
        self.at -= 1;
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.calls.len() - self.at
    }
}

/// Names with their numbers.
#[derive(Default)]
pub(super) struct NameTable {
    pub(super) all: Vec<Name>,
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
pub(super) fn not_yet(call: &Call) -> TextError {
    if &*call.name == "profile" {
        let text = "profile() is allowed once, at the end of a query; only cap('x') may follow profile('x')";
        return TextError::invalid(call.span, text);
    }
    TextError::invalid(call.span, format!("{}() isn't supported with these arguments here", call.name))
}

pub(super) fn wrong(span: Span, text: impl Into<String>) -> TextError {
    TextError::invalid(span, text)
}

/// The traversal that an argument is.
pub(super) fn as_traversal(argument: &Argument) -> Option<&[Call]> {
    match &argument.kind {
        ArgumentKind::Traversal(calls) => Some(calls),
        _ => None,
    }
}
