//! `has`, `is`, `where`, `and`, `or`, `not`, `filter`, `dedup`, `range`: which traversers go on.

use super::argument::{Texts, item, names, scoped, token_of, whole};
use super::{Calls, Compiled, Compiler, as_traversal, wrong};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::token::Token;
use crate::plan::function::{Function, Pop, Selected};
use crate::plan::operator::{Operator, Test, Traversal};
use crate::plan::predicate::{Comparison, Operand, Predicate};
use crate::value::item::{self, Item};

impl Compiler {
    pub(super) fn condition(
        &mut self,
        call: &Call,
        calls: &mut Calls<'_>,
        operators: &mut Vec<Operator>,
    ) -> Compiled<bool> {
        let arguments = call.arguments.as_slice();
        let operator = match &*call.name {
            "has" => self.has(call)?,
            "hasNot" => Operator::Filter(vec![Test::HasNot(super::argument::name(&arguments[0])?)]),
            "hasLabel" => Operator::Filter(vec![Test::Label(self.any_of(arguments)?)]),
            "hasId" => Operator::Filter(vec![Test::Id(as_id(self.any_of(arguments)?))]),
            "hasKey" => Operator::Filter(vec![Test::Key(self.any_of(arguments)?)]),
            "hasValue" => Operator::Filter(vec![Test::Value(self.any_of(arguments)?)]),
            "is" => Operator::Filter(vec![Test::Is(self.predicate(&arguments[0], Texts::Values)?)]),
            "filter" => match as_traversal(&arguments[0]) {
                Some(of) => Operator::Where { of: self.traversal(of)?, gives: true },
                None => Operator::Filter(vec![Test::Is(self.predicate(&arguments[0], Texts::Values)?)]),
            },
            "where" => self.where_(call, calls)?,
            "not" => {
                let of =
                    as_traversal(&arguments[0]).ok_or_else(|| wrong(call.span, "not() needs a traversal"))?;
                Operator::Where { of: self.traversal(of)?, gives: false }
            }
            "and" => {
                for argument in arguments {
                    operators.push(Operator::Where { of: self.nested(argument)?, gives: true });
                }
                return Ok(true);
            }
            "or" => Operator::Any(
                arguments.iter().map(|argument| self.nested(argument)).collect::<Compiled<_>>()?,
            ),
            "simplePath" | "cyclicPath" => {
                let (part, by) = self.path_part(calls)?;
                Operator::SimplePath { simple: &*call.name == "simplePath", part, by }
            }
            "dedup" => {
                let (local, rest) = scoped(call);
                if local {
                    Operator::Map(Function::LocalDedup)
                } else {
                    let labels = names(rest)?;
                    let slots: Vec<usize> = labels.iter().map(|label| self.slot(label)).collect();
                    let by = self.bys(calls)?;
                    if slots.is_empty() && by.len() > 1 {
                        return Err(wrong(call.span, "Dedup step can only have one by modulator"));
                    }
                    Operator::Dedup { slots, by }
                }
            }
            "range" | "limit" | "skip" | "tail" => bound(call)?,
            "timeLimit" => {
                let milliseconds = whole(&arguments[0])?;
                let milliseconds = u64::try_from(milliseconds);
                Operator::TimeLimit(milliseconds.map_err(|_| {
                    wrong(arguments[0].span, "timeLimit() takes a number of milliseconds, from 0 on")
                })?)
            }
            // Not a limit of none: what comes before is done for what it does aside.
            "discard" => Operator::Filter(vec![Test::Is(Predicate::Within(Vec::new()))]),
            "identity" => return Ok(true),
            "barrier" => {
                let normalises =
                    matches!(arguments, [Argument { kind: ArgumentKind::Token(Token::Barrier(_)), .. }]);
                let merges = self.sack.as_ref().is_some_and(|sack| sack.merge.is_some());
                if !normalises && !merges && !self.without_bulk {
                    // Who stands together here makes no difference.
                    return Ok(true);
                }
                Operator::Barrier { normalises }
            }
            "as" => {
                for name in names(arguments)? {
                    operators.push(Operator::As(self.slot(&name)));
                }
                return Ok(true);
            }
            _ => return Ok(false),
        };
        operators.push(operator);
        Ok(true)
    }

    /// `and()` and `or()` without arguments stand between what they connect: the operators of such a traversal.
    pub(super) fn connected(&mut self, calls: &[Call]) -> Compiled<Option<Vec<Operator>>> {
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

    fn nested(&mut self, argument: &Argument) -> Compiled<Traversal> {
        let calls =
            as_traversal(argument).ok_or_else(|| wrong(argument.span, "a traversal is needed here"))?;
        self.within(calls)
    }

    fn has(&mut self, call: &Call) -> Compiled<Operator> {
        let mut arguments = call.arguments.as_slice();
        let mut tests = Vec::new();
        if let [label, rest @ ..] = arguments
            && rest.len() == 2
        {
            tests.push(Test::Label(self.predicate(label, Texts::Values)?));
            arguments = rest;
        }
        let [key, rest @ ..] = arguments else { return Err(wrong(call.span, "has() needs a key")) };
        match (&key.kind, rest) {
            (ArgumentKind::Token(Token::T(token)), [value]) => {
                let predicate = self.predicate(value, Texts::Values)?;
                tests.push(match token_of(*token) {
                    item::Token::Id => Test::Id(as_id(predicate)),
                    item::Token::Label => Test::Label(predicate),
                    item::Token::Key => Test::Key(predicate),
                    item::Token::Value => Test::Value(predicate),
                });
            }
            // No property is called null.
            (ArgumentKind::Null, _) => tests.push(Test::Is(Predicate::Within(Vec::new()))),
            (_, []) => tests.push(Test::Has(super::argument::name(key)?)),
            // A property that was set to null isn't there.
            (_, [Argument { kind: ArgumentKind::Null, .. }]) => {
                tests.push(Test::HasNot(super::argument::name(key)?));
            }
            (_, [value]) => {
                let key = super::argument::name(key)?;
                if let Some(of) = as_traversal(value) {
                    let mut child = vec![Operator::Properties { keys: vec![key], values: true }];
                    child.extend(self.traversal(of)?.operators);
                    let mut all = Vec::new();
                    if !tests.is_empty() {
                        all.push(Operator::Filter(tests));
                    }
                    all.append(&mut child);
                    return Ok(Operator::Where { of: Traversal { operators: all }, gives: true });
                }
                tests.push(Test::Property(key, self.predicate(value, Texts::Values)?));
            }
            _ => return Err(wrong(call.span, "has() needs a key and what its value must be")),
        }
        Ok(Operator::Filter(tests))
    }

    /// `hasLabel('a', 'b')`: one of several values, of a list too, or a predicate.
    fn any_of(&mut self, arguments: &[Argument]) -> Compiled<Predicate> {
        let (mut values, mut any) = (Vec::new(), Vec::new());
        for argument in arguments {
            match &argument.kind {
                ArgumentKind::Predicate(_) => any.push(self.predicate(argument, Texts::Values)?),
                ArgumentKind::List(inside) | ArgumentKind::Set(inside) => {
                    for argument in inside {
                        values.push(item(argument)?);
                    }
                }
                _ => values.push(item(argument)?),
            }
        }
        if any.is_empty() {
            return Ok(Predicate::Within(values));
        }
        if !values.is_empty() {
            any.push(Predicate::Within(values));
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Predicate::Or(any) })
    }

    fn where_(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        if let [argument] = call.arguments.as_slice()
            && let Some(of) = as_traversal(argument)
        {
            return Ok(Operator::Where { of: self.within(of)?, gives: true });
        }
        let (left, predicate) = match call.arguments.as_slice() {
            [predicate] => (None, self.predicate(predicate, Texts::Labels)?),
            [left, predicate] => {
                let left = super::argument::name(left)?;
                (Some(self.slot(&left)), self.predicate(predicate, Texts::Labels)?)
            }
            _ => return Err(wrong(call.span, "where() needs a predicate or a traversal")),
        };
        let by = self.bys(calls)?;
        if !by.is_empty() {
            return Ok(Operator::WhereBy { left, predicate, by });
        }
        Ok(Operator::Filter(vec![match left {
            Some(left) => Test::Slot(left, predicate),
            None => Test::Is(predicate),
        }]))
    }

    /// A traversal in `where()`: a name at its start is where it begins, a name at its end what it must come to.
    fn within(&mut self, calls: &[Call]) -> Compiled<Traversal> {
        let named = |call: &Call| {
            (&*call.name == "as")
                .then(|| call.arguments.first().and_then(|name| name.kind.as_str()))
                .flatten()
                .map(str::to_owned)
        };
        let (mut operators, mut calls) = (Vec::new(), calls);
        if let Some(name) = calls.first().and_then(named) {
            let slot = self.slot(&name);
            let selected =
                Selected { name: name.as_str().into(), slot: Some(slot), side_effect: None, pop: Pop::Last };
            operators.push(Operator::Map(Function::Select { names: vec![selected], by: Vec::new() }));
            calls = &calls[1..];
        }
        let end = calls.last().and_then(named).filter(|_| calls.len() > 1 || !operators.is_empty());
        if end.is_some() {
            calls = &calls[..calls.len() - 1];
        }
        operators.extend(self.traversal_within(calls)?.operators);
        if let Some(name) = end {
            let slot = self.slot(&name);
            let equals = Predicate::Compare(Comparison::Equal, Operand::Slot(slot));
            operators.push(Operator::Filter(vec![Test::Is(equals)]));
        }
        Ok(Traversal { operators })
    }

    /// As [`Compiler::traversal`], where `and`, `or` and `not` at the top see names as `where()` does.
    pub(super) fn traversal_within(&mut self, calls: &[Call]) -> Compiled<Traversal> {
        let [call] = calls else { return self.traversal(calls) };
        Ok(Traversal {
            operators: match &*call.name {
                "not" if call.arguments.len() == 1 => {
                    vec![Operator::Where { of: self.nested(&call.arguments[0])?, gives: false }]
                }
                _ => return self.traversal(calls),
            },
        })
    }
}

/// The same of ids, where a text of digits is the number of a vertex.
fn as_id(predicate: Predicate) -> Predicate {
    let number = |item: Item| match item.as_str().and_then(|text| text.parse::<i64>().ok()) {
        Some(number) => Item::from(number),
        None => item,
    };
    match predicate {
        Predicate::Compare(comparison, Operand::Item(item)) => {
            Predicate::Compare(comparison, Operand::Item(number(item)))
        }
        Predicate::Within(items) => Predicate::Within(items.into_iter().map(number).collect()),
        Predicate::And(all) => Predicate::And(all.into_iter().map(as_id).collect()),
        Predicate::Or(all) => Predicate::Or(all.into_iter().map(as_id).collect()),
        Predicate::Not(one) => Predicate::Not(Box::new(as_id(*one))),
        other => other,
    }
}

fn bound(call: &Call) -> Compiled<Operator> {
    let (local, rest) = scoped(call);
    let count = |at: usize| rest.get(at).map(whole).transpose();
    let positive = |number: i64| {
        u64::try_from(number)
            .map_err(|_| wrong(call.span, format!("{}() needs numbers that aren't negative", call.name)))
    };
    let (skip, limit) = match (&*call.name, count(0)?, count(1)?) {
        ("tail", last, _) => {
            let last = positive(last.unwrap_or(1))?;
            return Ok(if local { Operator::Map(Function::LocalTail(last)) } else { Operator::Tail(last) });
        }
        ("limit", Some(-1), _) => (0, u64::MAX),
        ("limit", Some(limit), _) => (0, positive(limit)?),
        ("skip", Some(skip), _) => (positive(skip)?, u64::MAX),
        (_, Some(low), Some(-1)) => (positive(low)?, u64::MAX),
        (_, Some(low), Some(high)) => {
            let (low, high) = (positive(low)?, positive(high)?);
            let limit = high.checked_sub(low);
            (low, limit.ok_or_else(|| wrong(call.span, format!("not a legal range: [{low}, {high}]")))?)
        }
        _ => return Err(wrong(call.span, format!("{}() needs a number", call.name))),
    };
    Ok(if local {
        Operator::Map(Function::LocalRange { skip, limit })
    } else {
        Operator::Range { skip, limit }
    })
}
