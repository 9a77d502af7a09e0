//! `has`, `is`, `where`, `and`, `or`, `not`, `filter`, `dedup`, `range`: which traversers go on.

use crate::error::TextError;
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{Texts, item, name, names, scoped, token_of, whole};
use crate::gremlin::compile::compiler::{
    Calls, Compiled, Compiler, NamedMethod, any, as_traversal, one, wrong,
};
use crate::gremlin::token::Token;
use crate::plan::function::{Function, Pop, Selected};
use crate::plan::operator::{Operator, Test, Traversal};
use crate::plan::predicate::{Operand, Predicate};
use crate::value::item::{self, Item};
use evergraph_graph::filter::Comparison;

pub(super) const METHODS: &[NamedMethod] = &[
    one("has", Compiler::has),
    one("hasNot", |_, call, _| Ok(Operator::Filter(vec![Test::HasNot(name(&call.arguments[0])?)]))),
    one("hasLabel", |compiler, call, _| compiler.one_of(call, Test::Label)),
    one("hasId", |compiler, call, _| compiler.one_of(call, |ids| Test::Id(as_id(ids)))),
    one("hasKey", |compiler, call, _| compiler.one_of(call, Test::Key)),
    one("hasValue", |compiler, call, _| compiler.one_of(call, Test::Value)),
    one("is", |compiler, call, _| compiler.is(&call.arguments[0])),
    one("filter", |compiler, call, _| match as_traversal(&call.arguments[0]) {
        Some(of) => Ok(Operator::Where { of: compiler.traversal(of)?, gives: true }),
        None => compiler.is(&call.arguments[0]),
    }),
    one("where", Compiler::where_),
    one("not", |compiler, call, _| {
        let of = as_traversal(&call.arguments[0]);
        let of = of.ok_or_else(|| wrong(call.span, "not() needs a traversal"))?;
        Ok(Operator::Where { of: compiler.traversal(of)?, gives: false })
    }),
    any("and", |compiler, call, _, operators| {
        for argument in &call.arguments {
            operators.push(Operator::Where { of: compiler.nested(argument)?, gives: true });
        }
        Ok(())
    }),
    one("or", |compiler, call, _| {
        let all = call.arguments.iter().map(|argument| compiler.nested(argument));
        Ok(Operator::Any(all.collect::<Compiled<_>>()?))
    }),
    one("simplePath", |compiler, _, calls| compiler.simple_path(true, calls)),
    one("cyclicPath", |compiler, _, calls| compiler.simple_path(false, calls)),
    one("dedup", Compiler::dedup),
    one("range", |_, call, _| range(call)),
    one("limit", |_, call, _| limit(call)),
    one("skip", |_, call, _| skip(call)),
    one("tail", |_, call, _| tail(call)),
    one("timeLimit", |_, call, _| time_limit(&call.arguments[0])),
    // Not a limit of none: what comes before is done for what it does aside.
    one("discard", |_, _, _| Ok(Operator::Filter(vec![Test::Is(Predicate::Within(Vec::new()))]))),
    any("identity", |_, _, _, _| Ok(())),
    any("barrier", |compiler, call, _, operators| {
        operators.extend(compiler.barrier(call));
        Ok(())
    }),
    any("as", |compiler, call, _, operators| {
        for name in names(&call.arguments)? {
            operators.push(Operator::As(compiler.slot(&name)));
        }
        Ok(())
    }),
];

impl Compiler {
    fn is(&mut self, argument: &Argument) -> Compiled<Operator> {
        Ok(Operator::Filter(vec![Test::Is(self.predicate(argument, Texts::Values)?)]))
    }

    /// `hasLabel('a', 'b')` and the like.
    fn one_of(&mut self, call: &Call, test: impl Fn(Predicate) -> Test) -> Compiled<Operator> {
        Ok(Operator::Filter(vec![test(self.any_of(&call.arguments)?)]))
    }

    fn simple_path(&mut self, simple: bool, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let (part, by) = self.path_part(calls)?;
        Ok(Operator::SimplePath { simple, part, by })
    }

    fn dedup(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let (local, rest) = scoped(call);
        if local {
            return Ok(Operator::Map(Function::LocalDedup));
        }
        let labels = names(rest)?;
        let slots: Vec<usize> = labels.iter().map(|label| self.slot(label)).collect();
        let by = self.bys(calls)?;
        if slots.is_empty() && by.len() > 1 {
            return Err(wrong(call.span, "Dedup step can only have one by modulator"));
        }
        Ok(Operator::Dedup { slots, by })
    }

    /// Nothing where it makes no difference who stands together.
    fn barrier(&self, call: &Call) -> Option<Operator> {
        let arguments = call.arguments.as_slice();
        let normalises = matches!(arguments, [Argument { kind: ArgumentKind::Token(Token::Barrier(_)), .. }]);
        let merges = self.sack.as_ref().is_some_and(|sack| sack.merge.is_some());
        (normalises || merges || self.without_bulk).then_some(Operator::Barrier { normalises })
    }

    fn nested(&mut self, argument: &Argument) -> Compiled<Traversal> {
        let calls =
            as_traversal(argument).ok_or_else(|| wrong(argument.span, "a traversal is needed here"))?;
        self.within(calls)
    }

    fn has(&mut self, call: &Call, _: &mut Calls<'_>) -> Compiled<Operator> {
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
            (_, []) => tests.push(Test::Has(name(key)?)),
            // A property that was set to null isn't there.
            (_, [Argument { kind: ArgumentKind::Null, .. }]) => {
                tests.push(Test::HasNot(name(key)?));
            }
            (_, [value]) => {
                let key = name(key)?;
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

    /// That something is one of several values, of a list too, or that a predicate holds of it.
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
                let left = name(left)?;
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

fn range(call: &Call) -> Compiled<Operator> {
    match (count(call, 0)?, count(call, 1)?) {
        (Some(low), Some(-1)) => bound(call, positive(call, low)?, u64::MAX),
        (Some(low), Some(high)) => {
            let (low, high) = (positive(call, low)?, positive(call, high)?);
            let limit = high.checked_sub(low);
            let limit =
                limit.ok_or_else(|| wrong(call.span, format!("not a legal range: [{low}, {high}]")))?;
            bound(call, low, limit)
        }
        _ => Err(needs_a_number(call)),
    }
}

fn limit(call: &Call) -> Compiled<Operator> {
    match count(call, 0)? {
        Some(-1) => bound(call, 0, u64::MAX),
        Some(limit) => bound(call, 0, positive(call, limit)?),
        None => Err(needs_a_number(call)),
    }
}

fn skip(call: &Call) -> Compiled<Operator> {
    let skip = count(call, 0)?.ok_or_else(|| needs_a_number(call))?;
    bound(call, positive(call, skip)?, u64::MAX)
}

fn tail(call: &Call) -> Compiled<Operator> {
    let (local, _) = scoped(call);
    let last = positive(call, count(call, 0)?.unwrap_or(1))?;
    Ok(if local { Operator::Map(Function::LocalTail(last)) } else { Operator::Tail(last) })
}

/// Those behind the first `skip`, at most `limit`: traversers, or what is in each.
fn bound(call: &Call, skip: u64, limit: u64) -> Compiled<Operator> {
    let (local, _) = scoped(call);
    Ok(if local {
        Operator::Map(Function::LocalRange { skip, limit })
    } else {
        Operator::Range { skip, limit }
    })
}

/// The number at a place behind the scope.
fn count(call: &Call, at: usize) -> Compiled<Option<i64>> {
    let (_, rest) = scoped(call);
    rest.get(at).map(whole).transpose()
}

fn positive(call: &Call, number: i64) -> Compiled<u64> {
    let negative = |_| wrong(call.span, format!("{}() needs numbers that aren't negative", call.name));
    u64::try_from(number).map_err(negative)
}

fn needs_a_number(call: &Call) -> TextError {
    wrong(call.span, format!("{}() needs a number", call.name))
}

fn time_limit(milliseconds: &Argument) -> Compiled<Operator> {
    let number = u64::try_from(whole(milliseconds)?);
    Ok(Operator::TimeLimit(
        number
            .map_err(|_| wrong(milliseconds.span, "timeLimit() takes a number of milliseconds, from 0 on"))?,
    ))
}
