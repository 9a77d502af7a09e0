//! `addV`, `addE`, `property`, `mergeV`, `mergeE`, `drop`: what changes the graph.

use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{cardinality_of, item};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, not_yet, one, wrong};
use crate::gremlin::token::{Cardinality, T, Token};
use crate::plan::function::{Function, Pop, Selected};
use crate::plan::merge::NewProperty;
use crate::plan::new_element::{DEFAULT_LABEL, NO_OWN_IDS};
use crate::plan::operator::{By, Operator, Scan, Traversal};
use crate::value::item::Item;

pub(super) const METHODS: &[NamedMethod] = &[
    one("addV", Compiler::add_vertex),
    one("addE", Compiler::add_edge),
    one("property", Compiler::set_properties),
    one("drop", |compiler, _, _| {
        compiler.writes = true;
        Ok(Operator::Drop)
    }),
];

impl Compiler {
    fn add_vertex(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        self.writes = true;
        let label = call.arguments.first().map(|label| self.value(label)).transpose()?;
        let written = self.properties(calls)?;
        let label = written.label.or(label).unwrap_or_else(|| By::Item(Item::from(DEFAULT_LABEL)));
        Ok(Operator::AddVertex { label, properties: written.properties })
    }

    fn add_edge(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        self.writes = true;
        let mut edge_type = self.value(&call.arguments[0])?;
        let (mut from, mut to, mut properties) = (None, None, Vec::new());
        loop {
            if let Some(call) = calls.next_if("from") {
                from = Some(self.end(call)?);
            } else if let Some(call) = calls.next_if("to") {
                to = Some(self.end(call)?);
            } else {
                let before = calls.left();
                let more = self.properties(calls)?;
                if calls.left() == before {
                    break;
                }
                edge_type = more.label.unwrap_or(edge_type);
                properties.extend(more.properties);
            }
        }
        let [from, to] = [from, to].map(|end| end.unwrap_or(By::Itself));
        Ok(Operator::AddEdge { edge_type, from, to, properties })
    }

    fn set_properties(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        self.writes = true;
        // The one that was read already, and those that follow.
        calls.put_back();
        let written = self.properties(calls)?;
        if written.label.is_some() {
            return Err(wrong(call.span, "T.label is immutable on existing elements"));
        }
        Ok(Operator::SetProperties(written.properties))
    }

    /// What the `property()` calls that follow say. What `with()` sets there is for other graphs.
    fn properties(&mut self, calls: &mut Calls<'_>) -> Compiled<Written> {
        let mut written = Written::default();
        loop {
            if let Some(call) = calls.next_if("property") {
                self.property(call, &mut written)?;
            } else if calls.next_if("with").is_none() {
                return Ok(written);
            }
        }
    }

    fn property(&mut self, call: &Call, written: &mut Written) -> Compiled<()> {
        let mut arguments = call.arguments.as_slice();
        let mut cardinality = None;
        if let [Argument { kind: ArgumentKind::Token(Token::Cardinality(given)), .. }, rest @ ..] = arguments
        {
            (cardinality, arguments) = (Some(*given), rest);
        }
        match arguments {
            [Argument { kind: ArgumentKind::Null, .. }] => {}
            [Argument { kind: ArgumentKind::Map(entries), .. }] => {
                for (key, value) in entries {
                    self.entry(key, value, cardinality, &[], written)?;
                }
            }
            [key, value, own @ ..] => self.entry(key, value, cardinality, own, written)?,
            _ => return Err(not_yet(call)),
        }
        Ok(())
    }

    fn entry(
        &mut self,
        key: &Argument,
        value: &Argument,
        cardinality: Option<Cardinality>,
        own: &[Argument],
        written: &mut Written,
    ) -> Compiled<()> {
        let (pairs, rest) = own.as_chunks::<2>();
        if let [key, ..] = rest {
            return Err(wrong(
                key.span,
                "a property of the property: its key and its value, and a value is missing",
            ));
        }
        match &key.kind {
            ArgumentKind::Token(Token::T(T::Label)) if !pairs.is_empty() => {
                return Err(wrong(key.span, "T.label has no properties"));
            }
            ArgumentKind::Token(Token::T(T::Label)) => {
                written.label = Some(self.value(value)?);
                return Ok(());
            }
            ArgumentKind::Token(Token::T(T::Id)) => return Err(wrong(key.span, NO_OWN_IDS)),
            ArgumentKind::Token(_) => return Err(wrong(key.span, "the name of a property must be a string")),
            _ => {}
        }
        let (cardinality, value) = match &value.kind {
            ArgumentKind::WithCardinality(own, value) => (Some(*own), &**value),
            _ => (cardinality, value),
        };
        let mut properties = Vec::with_capacity(pairs.len());
        for [key, value] in pairs {
            if let ArgumentKind::Token(_) = key.kind {
                return Err(wrong(key.span, "the name of a meta-property must be a string"));
            }
            properties.push((self.value(key)?, self.value(value)?));
        }
        let (key, value) = (self.value(key)?, self.value(value)?);
        let cardinality = cardinality.map(cardinality_of);
        written.properties.push(NewProperty { key, value, cardinality, properties });
        Ok(())
    }

    /// An end of an edge: the name of a label or a side effect, a traversal, a vertex or its id.
    fn end(&mut self, call: &Call) -> Compiled<By> {
        let [argument] = call.arguments.as_slice() else {
            return Err(wrong(call.span, format!("{}() needs a vertex", call.name)));
        };
        Ok(match (&argument.kind, argument.kind.as_str()) {
            (ArgumentKind::Traversal(calls), _) => By::Child(self.traversal(calls)?),
            (_, Some(name)) => match self.known_side_effect(name) {
                Some(number) => By::Child(Traversal { operators: vec![Self::of_side_effect(name, number)] }),
                None => By::Slot(self.slot(name)),
            },
            _ => {
                let scan = Scan { ids: Some(vec![item(argument)?]), tests: Vec::new() };
                By::Child(Traversal { operators: vec![Operator::Vertices(scan)] })
            }
        })
    }

    fn of_side_effect(name: &str, number: usize) -> Operator {
        let selected = Selected { name: name.into(), slot: None, side_effect: Some(number), pop: Pop::Last };
        Operator::Map(Function::Select { names: vec![selected], by: Vec::new() })
    }
}

/// What `property()` calls say.
#[derive(Default)]
struct Written {
    properties: Vec<NewProperty>,
    label: Option<By>,
}
