//! Functions of texts, lists, numbers and dates; `all`, `any`, `none`; chance; `tree` and `fail`.

use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{Texts, item, name, names, scoped, whole};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, not_yet, one, wrong};
use crate::gremlin::token::{DT, Token, WithOptions};
use crate::plan::function::{Function, Pop, Selected};
use crate::plan::operator::{By, Operator, Test};
use crate::plan::predicate::Quantifier;
use crate::plan::scalar::{Part, Scalar};
use crate::value::convert::as_number;
use crate::value::date::Unit;
use crate::value::item::Item;
use crate::value::list::{ListFunction, OperandOrigin};
use crate::value::math::Formula;
use crate::value::scalar::ScalarFunction;
use crate::value::text::TextFunction;
use crate::value::types::ItemType;
use evergraph_graph::value::{Value, ValueType};

pub(super) const METHODS: &[NamedMethod] = &[
    one("asString", |_, call, _| match scoped(call) {
        (local, []) => Ok(each(ScalarFunction::AsString(local))),
        _ => Err(not_yet(call)),
    }),
    one("length", |_, call, _| text(call, TextFunction::Length)),
    one("lTrim", |_, call, _| text(call, TextFunction::TrimStart)),
    one("rTrim", |_, call, _| text(call, TextFunction::TrimEnd)),
    one("trim", |_, call, _| text(call, TextFunction::Trim)),
    one("toLower", |_, call, _| text(call, TextFunction::ToLower)),
    one("toUpper", |_, call, _| text(call, TextFunction::ToUpper)),
    one("replace", |_, call, _| {
        let (local, [from, to]) = scoped(call) else { return Err(not_yet(call)) };
        let both = optional_text(from)?.zip(optional_text(to)?);
        Ok(each(ScalarFunction::Text(TextFunction::Replace(both), local)))
    }),
    one("split", |_, call, _| {
        let (local, [separator]) = scoped(call) else { return Err(not_yet(call)) };
        Ok(each(ScalarFunction::Text(TextFunction::Split(optional_text(separator)?), local)))
    }),
    one("substring", |_, call, _| {
        let (local, [first, end @ ..]) = scoped(call) else { return Err(not_yet(call)) };
        let function = TextFunction::Substring(whole(first)?, end.first().map(whole).transpose()?);
        Ok(each(ScalarFunction::Text(function, local)))
    }),
    one("conjoin", |_, call, _| Ok(each(ScalarFunction::Conjoin(name(only(call)?)?.as_ref().into())))),
    one("reverse", |_, _, _| Ok(each(ScalarFunction::Reverse))),
    one("index", |_, _, calls| {
        let mut as_map = false;
        while let Some(option) = calls.next_if("with") {
            as_map = indexer(option)?;
        }
        Ok(each(ScalarFunction::Index(as_map)))
    }),
    one("asBool", |_, _, _| Ok(each(ScalarFunction::AsBool))),
    one("asDate", |_, _, _| Ok(each(ScalarFunction::AsDate))),
    one("asNumber", |_, call, _| {
        let to = call.arguments.first().map(number_type).transpose()?;
        Ok(each(ScalarFunction::AsNumber(to.flatten())))
    }),
    one("dateAdd", |_, call, _| date_add(call)),
    one("dateDiff", |compiler, call, _| Ok(scalar(Scalar::DateDifference(compiler.value(only(call)?)?)))),
    one("concat", |compiler, call, _| {
        let all = call.arguments.iter().map(|one| compiler.value(one));
        Ok(scalar(Scalar::Concat(all.collect::<Compiled<_>>()?)))
    }),
    one("combine", |compiler, call, _| compiler.list(ListFunction::Combine, call)),
    one("difference", |compiler, call, _| compiler.list(ListFunction::Difference, call)),
    one("disjunct", |compiler, call, _| compiler.list(ListFunction::Disjunct, call)),
    one("intersect", |compiler, call, _| compiler.list(ListFunction::Intersect, call)),
    one("merge", |compiler, call, _| compiler.list(ListFunction::Merge, call)),
    one("product", |compiler, call, _| compiler.list(ListFunction::Product, call)),
    one("format", |compiler, call, calls| {
        let parts = compiler.parts(&name(only(call)?)?);
        Ok(scalar(Scalar::Format(parts, compiler.bys(calls)?)))
    }),
    one("math", Compiler::math),
    one("sample", Compiler::sample),
    one("all", |compiler, call, _| compiler.elements(Quantifier::All, call)),
    one("any", |compiler, call, _| compiler.elements(Quantifier::Any, call)),
    one("none", |compiler, call, _| compiler.elements(Quantifier::None, call)),
    one("coin", |_, call, _| coin(only(call)?)),
    one("fail", |_, call, _| {
        let message = call.arguments.first().map(name).transpose()?;
        Ok(Operator::Fail(message.as_deref().unwrap_or("no message was given").into()))
    }),
    one("tree", |compiler, call, calls| {
        compiler.reads_paths = true;
        let into = names(&call.arguments)?.first().map(|name| compiler.side_effect(name));
        Ok(Operator::Tree { into, by: compiler.bys(calls)? })
    }),
];

fn scalar(scalar: Scalar) -> Operator {
    Operator::Map(Function::Scalar(scalar))
}

fn each(function: ScalarFunction) -> Operator {
    scalar(Scalar::Each(function))
}

/// A function of texts that takes nothing but a scope.
fn text(call: &Call, function: TextFunction) -> Compiled<Operator> {
    match scoped(call) {
        (local, []) => Ok(each(ScalarFunction::Text(function, local))),
        _ => Err(not_yet(call)),
    }
}

impl Compiler {
    fn math(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let text = name(only(call)?)?;
        let formula = Formula::read(&text).map_err(|error| wrong(call.span, error.to_string()))?;
        let names = formula.names().iter().map(|name| (name != "_").then(|| self.named(name)));
        let names = names.collect();
        Ok(scalar(Scalar::Math { formula, names, by: self.bys(calls)? }))
    }

    fn elements(&mut self, quantifier: Quantifier, call: &Call) -> Compiled<Operator> {
        let predicate = self.predicate(only(call)?, Texts::Values)?;
        Ok(Operator::Filter(vec![Test::Elements(quantifier, predicate)]))
    }

    fn sample(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let (local, [count]) = scoped(call) else { return Err(not_yet(call)) };
        if local {
            return Ok(scalar(Scalar::Sample(positive(count)?)));
        }
        let mut by = self.bys(calls)?;
        if by.len() > 1 {
            return Err(wrong(call.span, "Sample step can only have one by modulator"));
        }
        Ok(Operator::Sample { count: positive(count)?, by: by.pop() })
    }

    fn list(&mut self, function: ListFunction, call: &Call) -> Compiled<Operator> {
        let argument = only(call)?;
        let by = self.value(argument)?;
        let given = if matches!(by, By::Item(_)) { OperandOrigin::Literal } else { OperandOrigin::Traversal };
        Ok(scalar(Scalar::List(function, given, by)))
    }

    /// What a name in a formula or a template stands for.
    fn named(&self, name: &str) -> Selected {
        Selected {
            slot: self.known_slot(name),
            side_effect: self.known_side_effect(name),
            name: name.into(),
            pop: Pop::Last,
        }
    }

    /// The parts of `"%{name} is %{_}"`; a second `%` before the brace makes it an ordinary text.
    fn parts(&self, template: &str) -> Vec<Part> {
        let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), template);
        while let Some(at) = rest.find("%{") {
            let (before, from) = rest.split_at(at);
            text.push_str(before);
            let variable = from[2..].split_once('}').filter(|_| !text.ends_with('%'));
            let Some((name, behind)) = variable else {
                text.push_str("%{");
                rest = &from[2..];
                continue;
            };
            parts.push(Part::Text(std::mem::take(&mut text).into()));
            parts.push(if name == "_" { Part::By } else { Part::Name(self.named(name)) });
            rest = behind;
        }
        text.push_str(rest);
        parts.push(Part::Text(text.into()));
        parts
    }
}

fn coin(probability: &Argument) -> Compiled<Operator> {
    let number = as_number(&item(probability)?, Some(ValueType::F64)).ok();
    let number = number.as_ref().and_then(Item::as_value).and_then(Value::as_f64);
    Ok(Operator::Coin(number.ok_or_else(|| wrong(probability.span, "coin() needs a probability"))?))
}

fn date_add(call: &Call) -> Compiled<Operator> {
    let [unit, count] = call.arguments.as_slice() else { return Err(not_yet(call)) };
    let ArgumentKind::Token(Token::DT(token)) = &unit.kind else {
        return Err(wrong(unit.span, "dateAdd() needs a unit, such as DT.day"));
    };
    Ok(each(ScalarFunction::DateAdd(unit_of(*token), whole(count)?)))
}

fn only(call: &Call) -> Compiled<&Argument> {
    match call.arguments.as_slice() {
        [argument] => Ok(argument),
        _ => Err(not_yet(call)),
    }
}

fn optional_text(argument: &Argument) -> Compiled<Option<Box<str>>> {
    match &argument.kind {
        ArgumentKind::Null => Ok(None),
        _ => name(argument).map(|text| Some(text.as_ref().into())),
    }
}

fn positive(argument: &Argument) -> Compiled<u64> {
    u64::try_from(whole(argument)?).map_err(|_| wrong(argument.span, "a number from 0 on is needed here"))
}

/// The type of numbers that `asNumber()` is asked for; nothing if any will do.
fn number_type(argument: &Argument) -> Compiled<Option<ValueType>> {
    let ArgumentKind::Token(Token::GType(wanted)) = &argument.kind else {
        return Err(wrong(argument.span, "asNumber() requires a numeric type token, such as GType.INT"));
    };
    let word = wanted.word();
    match ItemType::named(word) {
        Some(ItemType::Number) => Ok(None),
        other => other.and_then(ItemType::number).map(Some).ok_or_else(|| {
            wrong(argument.span, format!("asNumber() requires a numeric type token, got {word}"))
        }),
    }
}

fn unit_of(unit: DT) -> Unit {
    match unit {
        DT::Second => Unit::Second,
        DT::Minute => Unit::Minute,
        DT::Hour => Unit::Hour,
        DT::Day => Unit::Day,
    }
}

/// Whether `with(WithOptions.indexer, ...)` asks for a map.
fn indexer(option: &Call) -> Compiled<bool> {
    let of = |argument: &Argument| match &argument.kind {
        ArgumentKind::Token(Token::WithOptions(option)) => Some(*option),
        _ => None,
    };
    match option.arguments.as_slice() {
        [key, value] if of(key) == Some(WithOptions::Indexer) => match of(value) {
            Some(WithOptions::Map) => Ok(true),
            Some(WithOptions::List) => Ok(false),
            _ => Err(not_yet(option)),
        },
        _ => Err(not_yet(option)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::cancel::CancelFlag;

    #[test]
    fn a_template_is_text_and_names() {
        let compiler = Compiler::new(|_| None, CancelFlag::default());
        let shown = |template: &str| {
            let part = |part: Part| match part {
                Part::Text(text) => text.into_string(),
                Part::Name(selected) => format!("<{}>", selected.name),
                Part::By => "<>".to_owned(),
            };
            compiler.parts(template).into_iter().map(part).collect::<Vec<_>>().join("|")
        };
        assert_eq!(shown("Hello world"), "Hello world");
        assert_eq!(shown("%{name} is %{_}, %{_}."), "|<name>| is |<>|, |<>|.");
        assert_eq!(shown("%%{name} 100% %{open"), "%%{name} 100% %{open");
    }
}
