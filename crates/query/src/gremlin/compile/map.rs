//! `id`, `label`, `select`, `path`, `project`, `valueMap` and their like: from each to one.

use super::argument::{combine, item, name, names};
use super::{Calls, Compiled, Compiler, as_traversal, wrong};
use crate::gremlin::call::{ArgumentKind, Call};
use crate::gremlin::token::{Column, Pop as PopToken, Token};
use crate::plan::operator::{By, Function, MapShape, Operator, Pop, Selected, Traversal};

impl Compiler {
    pub(super) fn map(
        &mut self,
        call: &Call,
        calls: &mut Calls<'_>,
        operators: &mut Vec<Operator>,
    ) -> Compiled<bool> {
        let arguments = call.arguments.as_slice();
        let function = match &*call.name {
            "id" => Function::Id,
            "label" => Function::Label,
            "key" => Function::Key,
            "value" => Function::Value,
            "element" => Function::Element,
            "constant" => Function::Constant(item(&arguments[0])?),
            "loops" => Function::Loops(arguments.first().map(name).transpose()?),
            "sack" => match arguments {
                [] => Function::Sack,
                [how, ..] => {
                    let how = combine(how)?;
                    let mut by = self.bys(calls)?;
                    if by.len() > 1 {
                        return Err(wrong(call.span, "Sack step can only have one by modulator"));
                    }
                    operators.push(Operator::SetSack { how, by: by.pop().unwrap_or(By::Itself) });
                    return Ok(true);
                }
            },
            "path" => {
                self.reads_paths = true;
                Function::Path { by: self.bys(calls)? }
            }
            "project" => Function::Project { names: names(arguments)?, by: self.bys(calls)? },
            "select" => self.select(call, calls)?,
            "valueMap" | "elementMap" | "propertyMap" => self.element_map(call, calls)?,
            _ => return Ok(false),
        };
        operators.push(Operator::Map(function));
        Ok(true)
    }

    fn select(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Function> {
        let (pop, rest) = match call.arguments.split_first() {
            Some((first, rest)) => match &first.kind {
                ArgumentKind::Token(Token::Column(column)) => {
                    return Ok(Function::Column { keys: *column == Column::Keys });
                }
                ArgumentKind::Token(Token::Pop(pop)) => (pop_of(*pop), rest),
                _ => (Pop::Last, call.arguments.as_slice()),
            },
            None => return Err(wrong(call.span, "select() needs names")),
        };
        if pop != Pop::Last {
            self.reads_paths = true;
        }
        if let [key] = rest
            && as_traversal(key).is_some()
        {
            let key = self.projection(key)?;
            return Ok(Function::SelectNamed { key, pop, by: self.bys(calls)?.into_iter().next() });
        }
        let selected = |name| Selected {
            slot: self.known_slot(name),
            side_effect: self.known_side_effect(name),
            name: name.into(),
            pop,
        };
        let names = names(rest)?.iter().map(|name| selected(name)).collect();
        Ok(Function::Select { names, by: self.bys(calls)? })
    }

    fn element_map(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Function> {
        if &*call.name == "propertyMap" {
            return Err(super::not_yet(call));
        }
        let (tokens, rest) = match call.arguments.split_first() {
            Some((first, rest)) if first.kind.as_str().is_none() => {
                let all = matches!(&first.kind, ArgumentKind::Scalar(value) if value.as_bool() == Some(true));
                (all, rest)
            }
            _ => (false, call.arguments.as_slice()),
        };
        let is_element_map = &*call.name == "elementMap";
        let shape = MapShape {
            keys: names(rest)?,
            lists: !is_element_map,
            tokens: tokens || is_element_map,
            visible: Traversal::default(),
        };
        if calls.calls.get(calls.at).is_some_and(|next| &*next.name == "with") {
            return Err(super::not_yet(&calls.calls[calls.at]));
        }
        let by = self.bys(calls)?;
        if by.len() > 1 {
            return Err(wrong(call.span, format!("{} step can only have one by modulator", call.name)));
        }
        Ok(Function::ElementMap { shape, by })
    }
}

fn pop_of(pop: PopToken) -> Pop {
    match pop {
        PopToken::First => Pop::First,
        PopToken::Last => Pop::Last,
        PopToken::All => Pop::All,
        PopToken::Mixed => Pop::Mixed,
    }
}
