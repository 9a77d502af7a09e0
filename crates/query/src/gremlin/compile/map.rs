//! `id`, `label`, `select`, `path`, `project`, `valueMap` and similar steps: one item from each.

use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{combine, item, name, names};
use crate::gremlin::compile::compiler::{
    Calls, Compiled, Compiler, NamedMethod, as_traversal, not_yet, one, wrong,
};
use crate::gremlin::token::{Column, Pop as PopToken, Token, WithOptions};
use crate::plan::function::{Function, MapShape, PathPart, Pop, Selected};
use crate::plan::operator::{By, Operator, Traversal};
use crate::value::item::Token as Part;

pub(super) const METHODS: &[NamedMethod] = &[
    one("id", |_, _, _| Ok(Operator::Map(Function::Id))),
    one("label", |_, _, _| Ok(Operator::Map(Function::Label))),
    one("key", |_, _, _| Ok(Operator::Map(Function::Key))),
    one("value", |_, _, _| Ok(Operator::Map(Function::Value))),
    one("element", |_, _, _| Ok(Operator::Map(Function::Element))),
    one("constant", |_, call, _| Ok(Operator::Map(Function::Constant(item(&call.arguments[0])?)))),
    one("loops", |_, call, _| {
        Ok(Operator::Map(Function::Loops(call.arguments.first().map(name).transpose()?)))
    }),
    one("sack", Compiler::sack),
    one("path", |compiler, _, calls| {
        let (part, by) = compiler.path_part(calls)?;
        Ok(Operator::Map(Function::Path { part, by }))
    }),
    one("project", |compiler, call, calls| {
        let names = names(&call.arguments)?;
        Ok(Operator::Map(Function::Project { names, by: compiler.bys(calls)? }))
    }),
    one("select", |compiler, call, calls| compiler.select(call, calls).map(Operator::Map)),
    one("valueMap", |compiler, call, calls| compiler.element_map(ElementMap::Values, call, calls)),
    one("elementMap", |compiler, call, calls| compiler.element_map(ElementMap::Element, call, calls)),
    one("propertyMap", |compiler, call, calls| compiler.element_map(ElementMap::Properties, call, calls)),
];

/// Which map of an element is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementMap {
    /// Lists of values by key.
    Values,
    /// Lists of properties by key.
    Properties,
    /// The element itself: its id, its label, a value by key.
    Element,
}

impl Compiler {
    fn sack(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let [how, ..] = call.arguments.as_slice() else { return Ok(Operator::Map(Function::Sack)) };
        let how = combine(how)?;
        let mut by = self.bys(calls)?;
        if by.len() > 1 {
            return Err(wrong(call.span, "Sack step can only have one by modulator"));
        }
        Ok(Operator::SetSack { how, by: by.pop().unwrap_or(By::Itself) })
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

    fn element_map(&mut self, map: ElementMap, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let (tokens, rest) = match call.arguments.split_first() {
            Some((first, rest)) if first.kind.as_str().is_none() => {
                let all = matches!(&first.kind, ArgumentKind::Scalar(value) if value.as_bool() == Some(true));
                (all, rest)
            }
            _ => (false, call.arguments.as_slice()),
        };
        let all = tokens || map == ElementMap::Element;
        let mut shape = MapShape {
            keys: names(rest)?,
            lists: map != ElementMap::Element,
            properties: map == ElementMap::Properties,
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
        Ok(Operator::Map(Function::ElementMap { shape, by }))
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
        return Err(not_yet(option));
    };
    match rest.first().map(of) {
        None | Some(Some(WithOptions::All)) => Ok(ALL.to_vec()),
        Some(Some(WithOptions::Ids)) => Ok(vec![Part::Id]),
        Some(Some(WithOptions::Labels)) => Ok(vec![Part::Label]),
        Some(Some(WithOptions::Keys)) => Ok(vec![Part::Key]),
        Some(Some(WithOptions::Values)) => Ok(vec![Part::Value]),
        Some(Some(WithOptions::None)) => Ok(Vec::new()),
        _ => Err(not_yet(option)),
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
