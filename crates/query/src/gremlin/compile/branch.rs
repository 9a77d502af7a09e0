//! `union`, `choose`, `coalesce`, `optional`, `local`, `map`, `repeat`: traversals within a traversal.

use crate::error::TextError;
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{Texts, name, whole};
use crate::gremlin::compile::compiler::{
    Calls, Compiled, Compiler, NamedMethod, as_traversal, not_yet, one, wrong,
};
use crate::gremlin::token::{Pick, Token};
use crate::plan::operator::{
    Branch, By, Case, Choose, Chooser, Operator, Repeat, RepeatCondition, Test, Traversal,
};
use crate::plan::predicate::Predicate;
use crate::value::item::Item;

pub(super) const METHODS: &[NamedMethod] = &[
    one("union", Compiler::union),
    one("coalesce", |compiler, call, _| compiler.traversals(&call.arguments).map(Operator::Coalesce)),
    one("optional", |compiler, call, _| compiler.only(call).map(Operator::Optional)),
    one("local", |compiler, call, _| compiler.only(call).map(Operator::Local)),
    one("map", |compiler, call, _| Ok(Operator::Child { of: compiler.only(call)?, all: false })),
    one("flatMap", |compiler, call, _| Ok(Operator::Child { of: compiler.only(call)?, all: true })),
    one("sideEffect", |compiler, call, _| compiler.only(call).map(Operator::SideEffect)),
    one("branch", |compiler, call, calls| compiler.options(call, calls).map(Operator::Branch)),
    one("choose", |compiler, call, calls| compiler.choose(call, calls).map(Operator::Choose)),
    one("repeat", Compiler::modulated_repeat),
    one("emit", Compiler::modulated_repeat),
    one("until", Compiler::modulated_repeat),
    one("times", Compiler::modulated_repeat),
];

/// What modulates a `repeat()`, wherever it stands.
#[derive(Default)]
struct Modulators {
    until: Option<(RepeatCondition, bool)>,
    emit: Option<(RepeatCondition, bool)>,
}

fn no_repeat(call: &Call) -> TextError {
    wrong(
        call.span,
        "The repeat()-traversal was not defined: emit(), until() and times() belong to a repeat() beside them",
    )
}

impl Compiler {
    fn union(&mut self, call: &Call, _: &mut Calls<'_>) -> Compiled<Operator> {
        let begins = self.beginning;
        let mut all = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            self.beginning = begins;
            all.push(self.inner(argument)?);
        }
        Ok(Operator::Union(all))
    }

    /// A `repeat()`, with the modulators before it, of which `first` is one if it isn't the `repeat()` itself.
    fn modulated_repeat(&mut self, first: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let mut modulators = Modulators::default();
        let mut call = first;
        while &*call.name != "repeat" {
            self.modulate(call, true, &mut modulators)?;
            call = calls.next().ok_or_else(|| no_repeat(call))?;
            if !matches!(&*call.name, "repeat" | "emit" | "until" | "times") {
                return Err(no_repeat(call));
            }
        }
        Ok(Operator::Repeat(Box::new(self.repeat(call, calls, modulators)?)))
    }

    fn only(&mut self, call: &Call) -> Compiled<Traversal> {
        match call.arguments.as_slice() {
            [argument] => self.inner(argument),
            _ => Err(wrong(call.span, format!("{}() needs a traversal", call.name))),
        }
    }

    fn inner(&mut self, argument: &Argument) -> Compiled<Traversal> {
        let calls =
            as_traversal(argument).ok_or_else(|| wrong(argument.span, "a traversal is needed here"))?;
        self.traversal(calls)
    }

    fn traversals(&mut self, arguments: &[Argument]) -> Compiled<Vec<Traversal>> {
        arguments.iter().map(|argument| self.inner(argument)).collect()
    }

    fn modulate(&mut self, call: &Call, before: bool, modulators: &mut Modulators) -> Compiled<()> {
        let ask = match call.arguments.as_slice() {
            [] => RepeatCondition::Yes,
            [argument] if &*call.name == "times" => {
                let times = whole(argument)?;
                let times = u64::try_from(times)
                    .map_err(|_| wrong(argument.span, "times() needs a number from 0 on"))?;
                RepeatCondition::Times(times)
            }
            [argument] => match as_traversal(argument) {
                Some(of) => RepeatCondition::Exists(self.traversal(of)?),
                None => {
                    let predicate = self.predicate(argument, Texts::Values)?;
                    RepeatCondition::Exists(Traversal {
                        operators: vec![Operator::Filter(vec![Test::Is(predicate)])],
                    })
                }
            },
            _ => return Err(not_yet(call)),
        };
        let place = if &*call.name == "emit" { &mut modulators.emit } else { &mut modulators.until };
        *place = Some((ask, before));
        Ok(())
    }

    fn repeat(&mut self, call: &Call, calls: &mut Calls<'_>, mut modulators: Modulators) -> Compiled<Repeat> {
        let (named, body) = match call.arguments.as_slice() {
            [body] => (None, body),
            [named, body] => (Some(name(named)?), body),
            _ => return Err(not_yet(call)),
        };
        if let Some(inject) =
            as_traversal(body).into_iter().flatten().find(|inside| &*inside.name == "inject")
        {
            return Err(wrong(inject.span, "The parent of inject()-step can not be repeat()-step"));
        }
        let body = self.inner(body)?;
        // What this repeat has already begins the next one; only times() may be said anew.
        loop {
            let free =
                [("times", true), ("until", modulators.until.is_none()), ("emit", modulators.emit.is_none())];
            let mut free = free.into_iter().filter(|(_, free)| *free);
            let Some(call) = free.find_map(|(name, _)| calls.next_if(name)) else { break };
            self.modulate(call, false, &mut modulators)?;
        }
        Ok(Repeat { body, name: named, until: modulators.until, emit: modulators.emit })
    }

    /// The options of a `branch()`.
    fn options(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Branch> {
        let [on] = call.arguments.as_slice() else { return Err(not_yet(call)) };
        let mut branch = Branch { on: self.projection(on)?, options: Vec::new() };
        while let Some(option) = calls.next_if("option") {
            let (case, of) = match option.arguments.as_slice() {
                [of] => (Case::Any, of),
                [key, of] => match &key.kind {
                    ArgumentKind::Token(Token::Pick(Pick::Any)) => (Case::Any, of),
                    ArgumentKind::Token(Token::Pick(Pick::None)) => (Case::None, of),
                    ArgumentKind::Token(Token::Pick(Pick::Unproductive)) => (Case::Unproductive, of),
                    ArgumentKind::Traversal(calls) => (Case::Gives(self.traversal(calls)?), of),
                    _ => (Case::Is(self.predicate(key, Texts::Values)?), of),
                },
                _ => return Err(not_yet(option)),
            };
            let of = self.inner(of)?;
            branch.options.push((case, of));
        }
        Ok(branch)
    }

    fn choose(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Choose> {
        let mut choose =
            Choose { on: Chooser::By(By::Itself), options: Vec::new(), none: None, unproductive: None };
        let [on, rest @ ..] = call.arguments.as_slice() else { return Err(not_yet(call)) };
        if !rest.is_empty() {
            // choose(condition, then) and choose(condition, then, else)
            let condition = match as_traversal(on) {
                Some(of) => self.traversal(of)?,
                None => {
                    let predicate = self.predicate(on, Texts::Values)?;
                    Traversal { operators: vec![Operator::Filter(vec![Test::Is(predicate)])] }
                }
            };
            choose.on = Chooser::Exists(condition);
            choose.options.push((vec![Predicate::equal_to(Item::from(true))], self.inner(&rest[0])?));
            choose.none = rest.get(1).map(|other| self.inner(other)).transpose()?;
            return Ok(choose);
        }
        choose.on = match &on.kind {
            ArgumentKind::Predicate(_) => {
                let predicate = self.predicate(on, Texts::Values)?;
                Chooser::Exists(Traversal { operators: vec![Operator::Filter(vec![Test::Is(predicate)])] })
            }
            _ => Chooser::By(self.projection(on)?),
        };
        while let Some(option) = calls.next_if("option") {
            let (key, of) = match option.arguments.as_slice() {
                [of] => (None, of),
                [key, of] => (Some(key), of),
                _ => return Err(not_yet(option)),
            };
            let of = self.inner(of)?;
            match key.map(|key| (&key.kind, key)) {
                None | Some((ArgumentKind::Token(Token::Pick(Pick::None)), _)) => {
                    choose.none.get_or_insert(of);
                }
                Some((ArgumentKind::Token(Token::Pick(Pick::Unproductive)), _)) => {
                    choose.unproductive.get_or_insert(of);
                }
                Some((ArgumentKind::Traversal(_), key)) => {
                    return Err(wrong(key.span, "Traversal is not allowed as a Pick token of choose()"));
                }
                Some((ArgumentKind::Token(_), _)) => {
                    return Err(not_yet(option));
                }
                Some((_, key)) => choose.options.push((vec![self.predicate(key, Texts::Values)?], of)),
            }
        }
        Ok(choose)
    }
}
