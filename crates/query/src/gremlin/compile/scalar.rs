//! Functions of texts, lists, numbers and dates; `all`, `any`, `none`; chance; `tree` and `fail`.

use super::argument::{Texts, item, name, names, scoped, whole};
use super::{Calls, Compiled, Compiler, not_yet, wrong};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::token::{DT, Token, WithOptions};
use crate::plan::function::{Function, Pop, Selected};
use crate::plan::operator::{By, Operator, Test};
use crate::plan::predicate::Quantifier;
use crate::plan::scalar::{Part, Scalar};
use crate::value::convert::as_number;
use crate::value::date::Unit;
use crate::value::item::Item;
use crate::value::list::{Given, ListFunction};
use crate::value::math::Formula;
use crate::value::scalar::ScalarFunction;
use crate::value::text::TextFunction;
use crate::value::types::ItemType;
use evergraph_graph::value::{Value, ValueType};

impl Compiler {
    pub(super) fn scalar(
        &mut self,
        call: &Call,
        calls: &mut Calls<'_>,
        operators: &mut Vec<Operator>,
    ) -> Compiled<bool> {
        if let Some(function) = each(call, calls)? {
            operators.push(Operator::Map(Function::Scalar(Scalar::Each(function))));
            return Ok(true);
        }
        let arguments = call.arguments.as_slice();
        let scalar = match &*call.name {
            "concat" => Scalar::Concat(arguments.iter().map(|one| self.value(one)).collect::<Compiled<_>>()?),
            "combine" => self.list(ListFunction::Combine, call)?,
            "difference" => self.list(ListFunction::Difference, call)?,
            "disjunct" => self.list(ListFunction::Disjunct, call)?,
            "intersect" => self.list(ListFunction::Intersect, call)?,
            "merge" => self.list(ListFunction::Merge, call)?,
            "product" => self.list(ListFunction::Product, call)?,
            "dateDiff" => Scalar::DateDifference(self.value(only(call)?)?),
            "format" => {
                let parts = self.parts(&name(only(call)?)?);
                Scalar::Format(parts, self.bys(calls)?)
            }
            "math" => {
                let text = name(only(call)?)?;
                let formula = Formula::read(&text).map_err(|error| wrong(call.span, error.to_string()))?;
                let names = formula.names().iter().map(|name| (name != "_").then(|| self.named(name)));
                let names = names.collect();
                Scalar::Math { formula, names, by: self.bys(calls)? }
            }
            "sample" => match scoped(call) {
                (true, [count]) => Scalar::Sample(positive(count)?),
                _ => {
                    operators.push(self.sample(call, calls)?);
                    return Ok(true);
                }
            },
            _ => {
                let Some(operator) = self.other(call, calls)? else { return Ok(false) };
                operators.push(operator);
                return Ok(true);
            }
        };
        operators.push(Operator::Map(Function::Scalar(scalar)));
        Ok(true)
    }

    fn other(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Option<Operator>> {
        let mut elements = |quantifier: Quantifier| -> Compiled<Operator> {
            let predicate = self.predicate(only(call)?, Texts::Values)?;
            Ok(Operator::Filter(vec![Test::Elements(quantifier, predicate)]))
        };
        Ok(Some(match &*call.name {
            "all" => elements(Quantifier::All)?,
            "any" => elements(Quantifier::Any)?,
            "none" => elements(Quantifier::None)?,
            "coin" => {
                let argument = only(call)?;
                let probability = as_number(&item(argument)?, Some(ValueType::F64)).ok();
                let probability = probability.as_ref().and_then(Item::as_value).and_then(Value::as_f64);
                Operator::Coin(probability.ok_or_else(|| wrong(argument.span, "coin() needs a probability"))?)
            }
            "fail" => {
                let message = call.arguments.first().map(name).transpose()?;
                Operator::Fail(message.as_deref().unwrap_or("no message was given").into())
            }
            "tree" => {
                self.reads_paths = true;
                let into = names(&call.arguments)?.first().map(|name| self.side_effect(name));
                Operator::Tree { into, by: self.bys(calls)? }
            }
            _ => return Ok(None),
        }))
    }

    fn sample(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let (_, rest) = scoped(call);
        let [count] = rest else { return Err(not_yet(call)) };
        let mut by = self.bys(calls)?;
        if by.len() > 1 {
            return Err(wrong(call.span, "Sample step can only have one by modulator"));
        }
        Ok(Operator::Sample { count: positive(count)?, by: by.pop() })
    }

    fn list(&mut self, function: ListFunction, call: &Call) -> Compiled<Scalar> {
        let argument = only(call)?;
        let by = self.value(argument)?;
        let given = if matches!(by, By::Item(_)) { Given::Literal } else { Given::Traversal };
        Ok(Scalar::List(function, given, by))
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

/// The function of an item alone that a call is, if it is one.
fn each(call: &Call, calls: &mut Calls<'_>) -> Compiled<Option<ScalarFunction>> {
    let (local, rest) = scoped(call);
    let text = |function: TextFunction| ScalarFunction::Text(function, local);
    Ok(Some(match (&*call.name, rest) {
        ("asString", []) => ScalarFunction::AsString(local),
        ("length", []) => text(TextFunction::Length),
        ("lTrim", []) => text(TextFunction::TrimStart),
        ("rTrim", []) => text(TextFunction::TrimEnd),
        ("trim", []) => text(TextFunction::Trim),
        ("toLower", []) => text(TextFunction::ToLower),
        ("toUpper", []) => text(TextFunction::ToUpper),
        ("replace", [from, to]) => text(TextFunction::Replace(optional_text(from)?.zip(optional_text(to)?))),
        ("split", [separator]) => text(TextFunction::Split(optional_text(separator)?)),
        ("substring", [first]) => text(TextFunction::Substring(whole(first)?, None)),
        ("substring", [first, end]) => text(TextFunction::Substring(whole(first)?, Some(whole(end)?))),
        ("conjoin", [delimiter]) => ScalarFunction::Conjoin(name(delimiter)?.as_ref().into()),
        ("reverse", []) => ScalarFunction::Reverse,
        ("asBool", []) => ScalarFunction::AsBool,
        ("asDate", []) => ScalarFunction::AsDate,
        ("asNumber", []) => ScalarFunction::AsNumber(None),
        ("asNumber", [to]) => ScalarFunction::AsNumber(number_type(to)?),
        ("dateAdd", [unit, count]) => {
            let ArgumentKind::Token(Token::DT(unit)) = &unit.kind else {
                return Err(wrong(unit.span, "dateAdd() needs a unit, such as DT.day"));
            };
            ScalarFunction::DateAdd(unit_of(*unit), whole(count)?)
        }
        ("index", []) => {
            let mut as_map = false;
            while let Some(option) = calls.next_if("with") {
                as_map = indexer(option)?;
            }
            ScalarFunction::Index(as_map)
        }
        _ => return Ok(None),
    }))
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

    #[test]
    fn a_template_is_text_and_names() {
        let compiler = Compiler::default();
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
