//! `V`, `E`, `inject`, `out` to `otherV`, `properties`: where traversers come from, and where they go.

use super::argument::{direction_of, item, items, names};
use super::{Compiled, Compiler, wrong};
use crate::gremlin::call::{ArgumentKind, Call};
use crate::gremlin::token::{Direction as Toward, Token};
use crate::plan::operator::{EdgeEnd, Expand, ExpandTo, Operator, Scan};
use evergraph_graph::id::Direction;

impl Compiler {
    pub(super) fn walk(&mut self, call: &Call, operators: &mut Vec<Operator>) -> Compiled<bool> {
        let arguments = call.arguments.as_slice();
        let scan = || -> Compiled<Scan> {
            let ids = if arguments.is_empty() { None } else { Some(items(arguments)?) };
            Ok(Scan { ids, tests: Vec::new() })
        };
        let operator = match &*call.name {
            "V" => Operator::Vertices(scan()?),
            "E" => Operator::Edges(scan()?),
            "inject" => {
                let items = arguments.iter().map(item).collect::<Compiled<_>>()?;
                Operator::Inject { items, first: std::mem::take(&mut self.beginning) }
            }
            "out" => expand(Direction::Out, ExpandTo::Neighbors, call)?,
            "in" => expand(Direction::In, ExpandTo::Neighbors, call)?,
            "both" => expand(Direction::Both, ExpandTo::Neighbors, call)?,
            "outE" => expand(Direction::Out, self.edges(), call)?,
            "inE" => expand(Direction::In, self.edges(), call)?,
            "bothE" => expand(Direction::Both, self.edges(), call)?,
            "toE" => {
                let Some(ArgumentKind::Token(Token::Direction(toward))) =
                    arguments.first().map(|first| &first.kind)
                else {
                    return Err(wrong(call.span, "toE() needs a direction"));
                };
                let types = names(&arguments[1..])?;
                let types = (!types.is_empty()).then_some(types);
                Operator::Expand(Expand::new(direction_of(*toward), types, self.edges()))
            }
            "outV" => Operator::EdgeEnds(EdgeEnd::Source),
            "inV" => Operator::EdgeEnds(EdgeEnd::Target),
            "bothV" => Operator::EdgeEnds(EdgeEnd::Both),
            "otherV" => Operator::EdgeEnds(EdgeEnd::Other(self.came_from())),
            "to" => {
                let Some(ArgumentKind::Token(Token::Direction(toward))) =
                    arguments.first().map(|first| &first.kind)
                else {
                    return Err(wrong(
                        call.span,
                        "to() belongs to the addE() before it, or needs a direction",
                    ));
                };
                let types = names(&arguments[1..])?;
                let types = (!types.is_empty()).then_some(types);
                let direction = direction_of(*toward);
                Operator::Expand(Expand::new(direction, types, ExpandTo::Neighbors))
            }
            "toV" => match arguments.first().map(|first| &first.kind) {
                Some(ArgumentKind::Token(Token::Direction(Toward::Out))) => {
                    Operator::EdgeEnds(EdgeEnd::Source)
                }
                Some(ArgumentKind::Token(Token::Direction(Toward::In))) => {
                    Operator::EdgeEnds(EdgeEnd::Target)
                }
                _ => Operator::EdgeEnds(EdgeEnd::Both),
            },
            "properties" => Operator::Properties { keys: names(arguments)?, values: false },
            "values" => Operator::Properties { keys: names(arguments)?, values: true },
            "unfold" => Operator::Unfold,
            _ => return Ok(false),
        };
        operators.push(operator);
        Ok(true)
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

fn expand(direction: Direction, to: ExpandTo, call: &Call) -> Compiled<Operator> {
    let types = names(&call.arguments)?;
    // Null alone names no type, and so no edge.
    let types = (!call.arguments.is_empty()).then_some(types);
    Ok(Operator::Expand(Expand::new(direction, types, to)))
}
