//! `V`, `E`, `inject`, `out` to `otherV`, `properties`: where traversers come from, and where they go.

use crate::error::TextError;
use crate::gremlin::call::{ArgumentKind, Call};
use crate::gremlin::compile::argument::{direction_of, item, items, names};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, one, wrong};
use crate::gremlin::token::{Direction as Toward, Token};
use crate::plan::operator::{EdgeEnd, Expand, ExpandTo, Operator, Scan};
use evergraph_graph::id::Direction;

pub(super) const METHODS: &[NamedMethod] = &[
    one("V", |_, call, _| scan(call).map(Operator::Vertices)),
    one("E", |_, call, _| scan(call).map(Operator::Edges)),
    one("inject", Compiler::inject),
    one("out", |_, call, _| expand(Direction::Out, ExpandTo::Neighbors, call)),
    one("in", |_, call, _| expand(Direction::In, ExpandTo::Neighbors, call)),
    one("both", |_, call, _| expand(Direction::Both, ExpandTo::Neighbors, call)),
    one("outE", |compiler, call, _| expand(Direction::Out, compiler.edges(), call)),
    one("inE", |compiler, call, _| expand(Direction::In, compiler.edges(), call)),
    one("bothE", |compiler, call, _| expand(Direction::Both, compiler.edges(), call)),
    one("to", |_, call, _| {
        let needs = || wrong(call.span, "to() belongs to the addE() before it, or needs a direction");
        toward(ExpandTo::Neighbors, call, needs)
    }),
    one("toE", |compiler, call, _| {
        toward(compiler.edges(), call, || wrong(call.span, "toE() needs a direction"))
    }),
    one("outV", |_, _, _| Ok(Operator::EdgeEnds(EdgeEnd::Source))),
    one("inV", |_, _, _| Ok(Operator::EdgeEnds(EdgeEnd::Target))),
    one("bothV", |_, _, _| Ok(Operator::EdgeEnds(EdgeEnd::Both))),
    one("otherV", |compiler, _, _| Ok(Operator::EdgeEnds(EdgeEnd::Other(compiler.came_from())))),
    one("toV", |_, call, _| Ok(Operator::EdgeEnds(end_toward(call)))),
    one("properties", |_, call, _| Ok(Operator::Properties { keys: names(&call.arguments)?, values: false })),
    one("values", |_, call, _| Ok(Operator::Properties { keys: names(&call.arguments)?, values: true })),
    one("unfold", |_, _, _| Ok(Operator::Unfold)),
];

impl Compiler {
    fn inject(&mut self, call: &Call, _: &mut Calls<'_>) -> Compiled<Operator> {
        let items = call.arguments.iter().map(item).collect::<Compiled<_>>()?;
        Ok(Operator::Inject { items, first: std::mem::take(&mut self.beginning) })
    }

    fn edges(&mut self) -> ExpandTo {
        ExpandTo::Edges(Some(self.came_from()))
    }

    /// The slot of the vertex that a traverser came from to an edge.
    fn came_from(&mut self) -> usize {
        // No label is empty in a query, so nobody else has it.
        self.slot("")
    }
}

fn scan(call: &Call) -> Compiled<Scan> {
    let ids = if call.arguments.is_empty() { None } else { Some(items(&call.arguments)?) };
    Ok(Scan { ids, tests: Vec::new() })
}

fn expand(direction: Direction, to: ExpandTo, call: &Call) -> Compiled<Operator> {
    let types = names(&call.arguments)?;
    // Null alone names no type, and so no edge.
    let types = (!call.arguments.is_empty()).then_some(types);
    Ok(Operator::Expand(Expand::new(direction, types, to)))
}

/// As [`expand`], in the direction that the first argument says.
fn toward(to: ExpandTo, call: &Call, needs_direction: impl Fn() -> TextError) -> Compiled<Operator> {
    let Some((first, rest)) = call.arguments.split_first() else { return Err(needs_direction()) };
    let ArgumentKind::Token(Token::Direction(toward)) = &first.kind else { return Err(needs_direction()) };
    let types = names(rest)?;
    let types = (!types.is_empty()).then_some(types);
    Ok(Operator::Expand(Expand::new(direction_of(*toward), types, to)))
}

fn end_toward(call: &Call) -> EdgeEnd {
    match call.arguments.first().map(|first| &first.kind) {
        Some(ArgumentKind::Token(Token::Direction(Toward::Out))) => EdgeEnd::Source,
        Some(ArgumentKind::Token(Token::Direction(Toward::In))) => EdgeEnd::Target,
        _ => EdgeEnd::Both,
    }
}
