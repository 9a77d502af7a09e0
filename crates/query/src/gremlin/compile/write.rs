//! `addV`, `addE`, `property`, `drop`: what changes the graph.

use super::argument::item;
use super::{Calls, Compiled, Compiler, not_yet, wrong};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::token::{Cardinality, Token};
use crate::plan::operator::{By, Function, Operator, Pop, Scan, Selected, Traversal};
use crate::step::write::DEFAULT_LABEL;
use crate::value::item::Item;

impl Compiler {
    pub(super) fn write(
        &mut self,
        call: &Call,
        calls: &mut Calls<'_>,
        operators: &mut Vec<Operator>,
    ) -> Compiled<bool> {
        let operator = match &*call.name {
            "addV" => {
                let label = match call.arguments.first() {
                    Some(label) => self.value(label)?,
                    None => By::Item(Item::from(DEFAULT_LABEL)),
                };
                Operator::AddVertex { label, properties: self.properties(calls)? }
            }
            "addE" => {
                let edge_type = self.value(&call.arguments[0])?;
                let (mut from, mut to, mut properties) = (None, None, Vec::new());
                loop {
                    if let Some(call) = calls.next_if("from") {
                        from = Some(self.end(call)?);
                    } else if let Some(call) = calls.next_if("to") {
                        to = Some(self.end(call)?);
                    } else {
                        let more = self.properties(calls)?;
                        if more.is_empty() {
                            break;
                        }
                        properties.extend(more);
                    }
                }
                let [from, to] = [from, to].map(|end| end.unwrap_or(By::Itself));
                Operator::AddEdge { edge_type, from, to, properties }
            }
            "property" => {
                // The one that was read already, and those that follow.
                let mut properties = self.property(call)?;
                properties.extend(self.properties(calls)?);
                Operator::SetProperties(properties)
            }
            "drop" => Operator::Drop,
            _ => return Ok(false),
        };
        self.writes = true;
        operators.push(operator);
        Ok(true)
    }

    /// The `property()` calls that follow.
    fn properties(&mut self, calls: &mut Calls<'_>) -> Compiled<Vec<(By, By)>> {
        let mut all = Vec::new();
        while let Some(call) = calls.next_if("property") {
            all.extend(self.property(call)?);
        }
        Ok(all)
    }

    fn property(&mut self, call: &Call) -> Compiled<Vec<(By, By)>> {
        let mut arguments = call.arguments.as_slice();
        if let Some(ArgumentKind::Token(Token::Cardinality(cardinality))) =
            arguments.first().map(|first| &first.kind)
        {
            if *cardinality != Cardinality::Single {
                return Err(not_yet(call));
            }
            arguments = &arguments[1..];
        }
        match arguments {
            [Argument { kind: ArgumentKind::Map(entries), .. }] => {
                entries.iter().map(|(key, value)| Ok((self.value(key)?, self.value(value)?))).collect()
            }
            [Argument { kind: ArgumentKind::Token(_), .. }, ..] => Err(not_yet(call)),
            [key, value] => Ok(vec![(self.value(key)?, self.value(value)?)]),
            _ => Err(not_yet(call)),
        }
    }

    /// A value, or the first that a traversal gives.
    pub(super) fn value(&mut self, argument: &Argument) -> Compiled<By> {
        match &argument.kind {
            ArgumentKind::Traversal(calls) => Ok(By::Child(self.traversal(calls)?)),
            ArgumentKind::WithCardinality(Cardinality::Single, value) => self.value(value),
            _ => item(argument).map(By::Item),
        }
    }

    /// An end of an edge: a name, a traversal, a vertex or its id.
    fn end(&mut self, call: &Call) -> Compiled<By> {
        let [argument] = call.arguments.as_slice() else {
            return Err(wrong(call.span, format!("{}() needs a vertex", call.name)));
        };
        Ok(match (&argument.kind, argument.kind.as_str()) {
            (ArgumentKind::Traversal(calls), _) => By::Child(self.traversal(calls)?),
            (_, Some(label)) => match self.known_side_effect(label) {
                Some(side_effect) => {
                    let selected = Selected {
                        name: label.into(),
                        slot: None,
                        side_effect: Some(side_effect),
                        pop: Pop::Last,
                    };
                    let select = Function::Select { names: vec![selected], by: Vec::new() };
                    By::Child(Traversal { operators: vec![Operator::Map(select)] })
                }
                None => By::Slot(self.slot(label)),
            },
            _ => {
                let scan = Scan { ids: Some(vec![item(argument)?]), tests: Vec::new() };
                By::Child(Traversal { operators: vec![Operator::Vertices(scan)] })
            }
        })
    }
}
