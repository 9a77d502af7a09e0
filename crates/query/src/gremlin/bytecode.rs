//! Bytecode: a traversal as the instructions that a driver wrote, and the same calls as text.
//!
//! ```text
//! GraphBinary ──┐
//!               ├─(crate protocol)─[assembly]──> Bytecode ──check──> the same calls as text
//! GraphSON ─────┘
//!
//! BYTECODE                                     CALLS
//! source instructions, step instructions       g, then both, in this order
//! ["tx", "commit"]                             tx().commit()
//! bytecode as an argument                      __ and its steps
//! bytecode of a CardinalityValueTraversal      Cardinality.list(x)
//! a binding                                    its value
//! a vertex, an edge                            its id, by which texts name elements
//! a vertex in from, to                         __.V(id)
//! P and [P and [a, b], c]                      a.and(b).and(c)
//! P within [a, b], of one collection [c]       within(a, b), within([c])
//! P eq [], P eq [a, b]                         eq([]), eq([a, b])
//! with "~tinkerpop.valueMap.tokens", 2         with(WithOptions.tokens, WithOptions.labels)
//! the class of a strategy                      the strategy's name
//! ```
//!
//! What is wrong is told with the instruction, as a text's error has a line and a column:
//! "step 2 (`has`), argument 1: ...". Calls know the bytes that they were read from; the place is
//! looked up once there is an error to show.
//!
//! Refused by name: lambdas, traversers, properties, paths and other results, custom types.
//!
//! Source: TinkerPop 3.8, "IO Reference" and `Bytecode`. Differs: numbers, dates and the like are the
//! values that they are here, and a number of bits as an option of `valueMap` must be one that has a
//! name in texts.

pub mod assembly;
pub mod instruction_position;

use crate::error::{Span, TextError};
use crate::gremlin::bindings::Bindings;
use crate::gremlin::bytecode::instruction_position::{InstructionPosition, placed};
use crate::gremlin::call::{Argument, ArgumentKind, Call, Query};
use crate::gremlin::check::check;

/// A traversal that a driver wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bytecode {
    query: Query,
    /// How many of its calls are source instructions; they come first.
    sources: usize,
}

impl Bytecode {
    /// What `source` and `steps` say, one behind the other.
    #[must_use]
    pub fn new(source: Vec<Call>, steps: Vec<Call>) -> Self {
        let (sources, mut calls) = (source.len(), source);
        calls.extend(steps);
        Self { query: Query { calls }, sources }
    }

    /// Its source instructions and its steps, as calls.
    #[must_use]
    pub fn instructions(&self) -> (&[Call], &[Call]) {
        self.query.calls.split_at(self.sources)
    }

    /// The same as a text would say it.
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Checks it as [`check`] does. It has no words to resolve: variables came with their values.
    ///
    /// # Errors
    /// As [`check`], with the instruction.
    pub fn check(&mut self) -> Result<(), TextError> {
        check(&mut self.query, &Bindings::new()).map_err(|error| self.placed(error))
    }

    /// `error`, which was met in these calls, with the instruction and the argument that it is about.
    ///
    /// Cost: one visit to the calls before the place.
    #[must_use]
    pub fn placed(&self, error: TextError) -> TextError {
        let mut places = Vec::new();
        find(&self.query.calls, self.sources, error.span, &mut places);
        placed(error, &places)
    }
}

/// Whether something in `calls` was read from `span`; the places around it, the innermost first.
fn find(calls: &[Call], sources: usize, span: Span, places: &mut Vec<InstructionPosition>) -> bool {
    for (at, call) in calls.iter().enumerate() {
        let argument = if call.span == span {
            None
        } else if let Some(argument) =
            call.arguments.iter().position(|argument| find_within(argument, span, places))
        {
            Some(argument + 1)
        } else {
            continue;
        };
        let (of_source, before) = if at < sources { (true, 0) } else { (false, sources) };
        places.push(InstructionPosition {
            of_source,
            number: at - before + 1,
            name: call.name.clone(),
            argument,
        });
        return true;
    }
    false
}

fn find_within(argument: &Argument, span: Span, places: &mut Vec<InstructionPosition>) -> bool {
    if argument.span == span {
        return true;
    }
    // What lies inside was read from bytes inside.
    if span.start < argument.span.start || argument.span.end < span.end {
        return false;
    }
    let mut any =
        |arguments: &[Argument]| arguments.iter().any(|argument| find_within(argument, span, places));
    match &argument.kind {
        ArgumentKind::List(values) | ArgumentKind::Set(values) => any(values),
        ArgumentKind::Map(entries) => entries
            .iter()
            .any(|(key, value)| find_within(key, span, places) || find_within(value, span, places)),
        ArgumentKind::WithCardinality(_, value) => find_within(value, span, places),
        ArgumentKind::Predicate(predicate) => predicate.span == span || any(&predicate.arguments),
        ArgumentKind::Strategy(strategy) => {
            strategy.settings.iter().any(|(_, value)| find_within(value, span, places))
        }
        ArgumentKind::Traversal(calls) => find(calls, 0, span, places),
        ArgumentKind::Null
        | ArgumentKind::Scalar(_)
        | ArgumentKind::Token(_)
        | ArgumentKind::Now
        | ArgumentKind::NewUuid
        | ArgumentKind::Query(_)
        | ArgumentKind::Word(_)
        | ArgumentKind::Variable(_) => false,
    }
}
