//! `id`, `label`, `select`, `path`, `project`, `valueMap` and their like: from each to one.

use super::argument::{combine, item, name, names};
use super::{Calls, Compiled, Compiler, as_traversal, wrong};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::token::{Column, Pop as PopToken, Token, WithOptions};
use crate::plan::function::{Function, MapShape, PathPart, Pop, Selected};
use crate::plan::operator::{By, Operator, Traversal};
use crate::value::item::Token as Part;

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
                let (part, by) = self.path_part(calls)?;
                Function::Path { part, by }
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

    /// The `from()`, `to()` and `by()` that follow a step which asks for paths.
    pub(super) fn path_part(&mut self, calls: &mut Calls<'_>) -> Compiled<(PathPart, Vec<By>)> {
        self.reads_paths = true;
        let (mut part, mut by) = (PathPart::default(), Vec::new());
        loop {
            by.extend(self.bys(calls)?);
            if let Some(from) = calls.next_if("from") {
                part.from = Some(name(&from.arguments[0])?);
            } else if let Some(to) = calls.next_if("to") {
                part.to = Some(name(&to.arguments[0])?);
            } else {
                return Ok((part, by));
            }
        }
    }

    fn element_map(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Function> {
        let (tokens, rest) = match call.arguments.split_first() {
            Some((first, rest)) if first.kind.as_str().is_none() => {
                let all = matches!(&first.kind, ArgumentKind::Scalar(value) if value.as_bool() == Some(true));
                (all, rest)
            }
            _ => (false, call.arguments.as_slice()),
        };
        let is_element_map = &*call.name == "elementMap";
        let all = tokens || is_element_map;
        let mut shape = MapShape {
            keys: names(rest)?,
            lists: !is_element_map,
            properties: &*call.name == "propertyMap",
            tokens: if all { ALL.to_vec() } else { Vec::new() },
            visible: Traversal::default(),
        };
        while let Some(option) = calls.next_if("with") {
            shape.tokens = tokens_of(option)?;
        }
        let by = self.bys(calls)?;
        if by.len() > 1 {
            return Err(wrong(call.span, format!("{} step can only have one by modulator", call.name)));
        }
        Ok(Function::ElementMap { shape, by })
    }
}

/// All parts of elements that maps of them may have. Keys and values are of properties alone.
const ALL: &[Part] = &[Part::Id, Part::Label, Part::Key, Part::Value];

/// The parts that `with(WithOptions.tokens, ...)` asks for.
fn tokens_of(option: &Call) -> Compiled<Vec<Part>> {
    let of = |argument: &Argument| match &argument.kind {
        ArgumentKind::Token(Token::WithOptions(option)) => Some(*option),
        _ => None,
    };
    let (Some(WithOptions::Tokens), rest) = (option.arguments.first().and_then(of), &option.arguments[1..])
    else {
        return Err(super::not_yet(option));
    };
    match rest.first().map(of) {
        None | Some(Some(WithOptions::All)) => Ok(ALL.to_vec()),
        Some(Some(WithOptions::Ids)) => Ok(vec![Part::Id]),
        Some(Some(WithOptions::Labels)) => Ok(vec![Part::Label]),
        Some(Some(WithOptions::Keys)) => Ok(vec![Part::Key]),
        Some(Some(WithOptions::Values)) => Ok(vec![Part::Value]),
        Some(Some(WithOptions::None)) => Ok(Vec::new()),
        _ => Err(super::not_yet(option)),
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
