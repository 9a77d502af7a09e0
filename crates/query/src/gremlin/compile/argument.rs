//! Arguments: items, names, predicates, and the content of `by()`.

use crate::error::{TextError, quoted};
use crate::gremlin::call::{self, Argument, ArgumentKind, Call};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, wrong};
use crate::gremlin::token::{Cardinality, Column, Direction, Operator as Operators, Order, Scope, T, Token};
use crate::plan::function;
use crate::plan::merge;
use crate::plan::operator::{By, Name, Operator, Sorting, Traversal};
use crate::plan::predicate::{Operand, Pattern, Predicate, TextTest};
use crate::randomness::Chance;
use crate::stack::deeper;
use crate::value::combine::Combine;
use crate::value::item::{self, Item};
use crate::value::list;
use crate::value::number::Arithmetic;
use crate::value::types::ItemType;
use evergraph_graph::filter::Comparison;
use std::sync::Arc;

/// What the texts of a predicate are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// Values, as in `is('a')`.
    Values,
    /// Names of slots, as in `where(eq('a'))`.
    Labels,
}

/// The item that an argument is.
pub(super) fn item(argument: &Argument) -> Compiled<Item> {
    deeper(|| item_here(argument))
}

fn item_here(argument: &Argument) -> Compiled<Item> {
    let all = |arguments: &[Argument]| arguments.iter().map(item).collect::<Compiled<Vec<Item>>>();
    Ok(match &argument.kind {
        ArgumentKind::Null => Item::Null,
        ArgumentKind::Scalar(value) => Item::Value(value.clone()),
        ArgumentKind::List(arguments) => Item::List(all(arguments)?.into()),
        ArgumentKind::Set(arguments) => list::once(all(arguments)?.into_iter()),
        ArgumentKind::Map(entries) => {
            let entry = |(key, value): &(Argument, Argument)| Ok((item(key)?, item(value)?));
            Item::Map(Arc::new(entries.iter().map(entry).collect::<Compiled<_>>()?))
        }
        ArgumentKind::Token(Token::T(token)) => Item::Token(token_of(*token)),
        ArgumentKind::Token(Token::Direction(direction)) => Item::Direction(direction_of(*direction)),
        ArgumentKind::NewUuid => Item::from(Chance::default().uuid()),
        ArgumentKind::Variable(name) => {
            return Err(wrong(argument.span, format!("the variable {name} has no value")));
        }
        _ => return Err(wrong(argument.span, "a value is needed here, and this isn't one")),
    })
}

/// Whether `UUID()` stands somewhere in these calls.
pub(super) fn makes_uuids(calls: &[Call]) -> bool {
    fn makes(argument: &Argument) -> bool {
        match &argument.kind {
            ArgumentKind::NewUuid => true,
            ArgumentKind::List(all) | ArgumentKind::Set(all) => all.iter().any(makes),
            ArgumentKind::Map(entries) => entries.iter().any(|(key, value)| makes(key) || makes(value)),
            ArgumentKind::WithCardinality(_, value) => makes(value),
            ArgumentKind::Traversal(calls) => deeper(|| makes_uuids(calls)),
            ArgumentKind::Predicate(predicate) => predicate.arguments.iter().any(makes),
            _ => false,
        }
    }
    calls.iter().any(|call| call.arguments.iter().any(makes))
}

pub(super) fn token_of(token: T) -> item::Token {
    match token {
        T::Id => item::Token::Id,
        T::Label => item::Token::Label,
        T::Key => item::Token::Key,
        T::Value => item::Token::Value,
    }
}

pub(super) fn direction_of(direction: Direction) -> evergraph_graph::id::Direction {
    match direction {
        Direction::Out => evergraph_graph::id::Direction::Out,
        Direction::In => evergraph_graph::id::Direction::In,
        Direction::Both => evergraph_graph::id::Direction::Both,
    }
}

/// The items of several arguments; those in a list that is the only argument.
pub(super) fn items(arguments: &[Argument]) -> Compiled<Vec<Item>> {
    let mut all = Vec::new();
    for argument in arguments {
        match &argument.kind {
            ArgumentKind::List(inside) | ArgumentKind::Set(inside) => {
                for argument in inside {
                    all.push(item(argument)?);
                }
            }
            _ => all.push(item(argument)?),
        }
    }
    Ok(all)
}

/// The name that an argument is.
pub(super) fn name(argument: &Argument) -> Compiled<Name> {
    argument
        .kind
        .as_str()
        .map(Name::from)
        .ok_or_else(|| wrong(argument.span, "a name is needed here: a text"))
}

/// The names that arguments are; null names nothing.
pub(super) fn names(arguments: &[Argument]) -> Compiled<Vec<Name>> {
    let named = arguments.iter().filter(|argument| argument.kind != ArgumentKind::Null);
    named.map(name).collect()
}

/// The whole number that an argument is.
pub(super) fn whole(argument: &Argument) -> Compiled<i64> {
    match &argument.kind {
        ArgumentKind::Scalar(value) => value.as_i64(),
        _ => None,
    }
    .ok_or_else(|| wrong(argument.span, "a whole number is needed here"))
}

/// What an operator such as `Operator.sum` does with two items.
pub(super) fn combine(argument: &Argument) -> Compiled<Combine> {
    let ArgumentKind::Token(Token::Operator(operator)) = &argument.kind else {
        return Err(wrong(argument.span, "an operator is needed here, such as Operator.sum"));
    };
    Ok(match operator {
        Operators::Sum => Combine::Calculate(Arithmetic::Add),
        Operators::Minus => Combine::Calculate(Arithmetic::Subtract),
        Operators::Mult => Combine::Calculate(Arithmetic::Multiply),
        Operators::Div => Combine::Calculate(Arithmetic::Divide),
        Operators::SumLong => Combine::SumLong,
        Operators::Min => Combine::Min,
        Operators::Max => Combine::Max,
        Operators::And => Combine::And,
        Operators::Or => Combine::Or,
        Operators::AddAll => Combine::AddAll,
        Operators::Assign => Combine::Assign,
    })
}

/// Whether the call's first argument is `Scope.local`, and the arguments without a scope.
pub(super) fn scoped(call: &Call) -> (bool, &[Argument]) {
    match call.arguments.split_first() {
        Some((Argument { kind: ArgumentKind::Token(Token::Scope(scope)), .. }, rest)) => {
            (*scope == Scope::Local, rest)
        }
        _ => (false, &call.arguments),
    }
}

pub(super) fn cardinality_of(cardinality: Cardinality) -> merge::Cardinality {
    match cardinality {
        Cardinality::Single => merge::Cardinality::Single,
        Cardinality::List => merge::Cardinality::List,
        Cardinality::Set => merge::Cardinality::Set,
    }
}

impl Compiler {
    /// The `by()` modulators that follow.
    pub(super) fn bys(&mut self, calls: &mut Calls<'_>) -> Compiled<Vec<By>> {
        let mut all = Vec::new();
        while let Some(call) = calls.next_if("by") {
            let (by, sorting) = self.by(call)?;
            if sorting.is_some() {
                return Err(TextError::invalid(call.span, "an order is only for the by() of order()"));
            }
            all.push(by);
        }
        Ok(all)
    }

    /// The `by()` modulators that follow `order()`.
    pub(super) fn sorted_bys(&mut self, calls: &mut Calls<'_>) -> Compiled<Vec<(By, Sorting)>> {
        let mut all = Vec::new();
        while let Some(call) = calls.next_if("by") {
            let (by, sorting) = self.by(call)?;
            all.push((by, sorting.unwrap_or(Sorting::Ascending)));
        }
        if all.is_empty() {
            all.push((By::Itself, Sorting::Ascending));
        }
        Ok(all)
    }

    /// What one `by()` says.
    fn by(&mut self, call: &Call) -> Compiled<(By, Option<Sorting>)> {
        let (mut by, mut sorting) = (By::Itself, None);
        for argument in &call.arguments {
            match &argument.kind {
                ArgumentKind::Token(Token::Order(order)) => {
                    sorting = Some(match order {
                        Order::Asc => Sorting::Ascending,
                        Order::Desc => Sorting::Descending,
                        Order::Shuffle => Sorting::Shuffle,
                    });
                }
                _ => by = self.projection(argument)?,
            }
        }
        Ok((by, sorting))
    }

    /// A value, or the first that a traversal gives.
    pub(super) fn value(&mut self, argument: &Argument) -> Compiled<By> {
        match &argument.kind {
            ArgumentKind::Traversal(calls) => Ok(By::Child(self.traversal(calls)?)),
            _ => item(argument).map(By::Item),
        }
    }

    /// What `by(argument)` says.
    pub(super) fn projection(&mut self, argument: &Argument) -> Compiled<By> {
        Ok(match &argument.kind {
            ArgumentKind::Traversal(calls) => By::Child(self.traversal(calls)?),
            ArgumentKind::Token(Token::T(token)) => By::Token(token_of(*token)),
            ArgumentKind::Token(Token::Column(column)) => {
                let function = function::Function::Column { keys: *column == Column::Keys };
                By::Child(Traversal { operators: vec![Operator::Map(function)] })
            }
            ArgumentKind::Null => By::Itself,
            _ => By::Key(name(argument)?),
        })
    }

    /// The predicate that an argument is, or that it equals a value.
    pub(super) fn predicate(&mut self, argument: &Argument, texts: Texts) -> Compiled<Predicate> {
        let ArgumentKind::Predicate(predicate) = &argument.kind else {
            return Ok(Predicate::Compare(Comparison::Equal, self.operand(argument, texts)?));
        };
        deeper(|| self.test(predicate, texts))
    }

    fn operand(&mut self, argument: &Argument, texts: Texts) -> Compiled<Operand> {
        match (texts, argument.kind.as_str()) {
            (Texts::Labels, Some(label)) => Ok(match self.known_side_effect(label) {
                Some(number) => Operand::SideEffect(number),
                None => Operand::Slot(self.slot(label)),
            }),
            _ => item(argument).map(Operand::Item),
        }
    }

    fn test(&mut self, predicate: &call::Predicate, texts: Texts) -> Compiled<Predicate> {
        use call::Test;
        let arguments = predicate.arguments.as_slice();
        let first =
            || arguments.first().ok_or_else(|| wrong(predicate.span, "this predicate needs an argument"));
        let second =
            || arguments.get(1).ok_or_else(|| wrong(predicate.span, "this predicate needs two arguments"));
        let mut compare = |comparison, argument: &Argument| -> Compiled<Predicate> {
            Ok(Predicate::Compare(comparison, self.operand(argument, texts)?))
        };
        Ok(match predicate.test {
            Test::Eq => compare(Comparison::Equal, first()?)?,
            Test::Neq => compare(Comparison::NotEqual, first()?)?,
            Test::Lt => compare(Comparison::Less, first()?)?,
            Test::Lte => compare(Comparison::LessOrEqual, first()?)?,
            Test::Gt => compare(Comparison::Greater, first()?)?,
            Test::Gte => compare(Comparison::GreaterOrEqual, first()?)?,
            Test::Between => Predicate::And(vec![
                compare(Comparison::GreaterOrEqual, first()?)?,
                compare(Comparison::Less, second()?)?,
            ]),
            Test::Inside => Predicate::And(vec![
                compare(Comparison::Greater, first()?)?,
                compare(Comparison::Less, second()?)?,
            ]),
            Test::Outside => Predicate::Or(vec![
                compare(Comparison::Less, first()?)?,
                compare(Comparison::Greater, second()?)?,
            ]),
            Test::Within | Test::Without => {
                let within = if texts == Texts::Labels {
                    let mut any = Vec::new();
                    for argument in arguments {
                        any.push(match self.operand(argument, texts)? {
                            Operand::SideEffect(number) => Predicate::WithinSideEffect(number),
                            Operand::Slot(slot) => Predicate::WithinSlot(slot),
                            item => Predicate::Compare(Comparison::Equal, item),
                        });
                    }
                    Predicate::Or(any)
                } else {
                    Predicate::Within(items(arguments)?)
                };
                if predicate.test == Test::Within { within } else { Predicate::Not(Box::new(within)) }
            }
            Test::And => Predicate::And(self.tests(arguments, texts)?),
            Test::Or => Predicate::Or(self.tests(arguments, texts)?),
            Test::Not => Predicate::Not(Box::new(self.predicate(first()?, texts)?)),
            Test::StartingWith => self.text(TextTest::StartsWith, first()?, true, texts)?,
            Test::NotStartingWith => self.text(TextTest::StartsWith, first()?, false, texts)?,
            Test::EndingWith => self.text(TextTest::EndsWith, first()?, true, texts)?,
            Test::NotEndingWith => self.text(TextTest::EndsWith, first()?, false, texts)?,
            Test::Containing => self.text(TextTest::Contains, first()?, true, texts)?,
            Test::NotContaining => self.text(TextTest::Contains, first()?, false, texts)?,
            Test::Regex => self.text(TextTest::Matches, first()?, true, texts)?,
            Test::NotRegex => self.text(TextTest::Matches, first()?, false, texts)?,
            Test::TypeOf => Predicate::TypeOf(item_type(first()?)?),
        })
    }

    fn text(&mut self, test: TextTest, argument: &Argument, so: bool, texts: Texts) -> Compiled<Predicate> {
        let text = name(argument)?;
        Ok(match (texts, test) {
            (Texts::Labels, _) => Predicate::TextOf(test, self.operand(argument, texts)?, so),
            (Texts::Values, TextTest::Matches) => {
                let pattern = Pattern::new(&text);
                Predicate::Regex(pattern.map_err(|error| wrong(argument.span, error.to_string()))?, so)
            }
            (Texts::Values, _) => Predicate::Text(test, text.as_ref().into(), so),
        })
    }

    fn tests(&mut self, arguments: &[Argument], texts: Texts) -> Compiled<Vec<Predicate>> {
        arguments.iter().map(|argument| self.predicate(argument, texts)).collect()
    }
}

fn item_type(argument: &Argument) -> Compiled<ItemType> {
    let named = match &argument.kind {
        ArgumentKind::Token(Token::GType(token)) => token.word(),
        kind => kind.as_str().unwrap_or_default(),
    };
    ItemType::named(named).ok_or_else(|| wrong(argument.span, format!("no type is called {}", quoted(named))))
}
