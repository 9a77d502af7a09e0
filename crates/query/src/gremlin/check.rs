//! Check: compares calls with the table of signatures; words become tokens, variables and strategies.
//!
//! ```text
//! g.V().has("age", gt(x)).order().by("age", desc)
//!                     │                     └── by takes an Order there: Order.desc
//!                     └── gt takes a value: the variable x
//! ```
//!
//! What a word means depends on its place. Where a signature wants a token, its words come first;
//! where any value may stand, a variable of that name comes before a token. Values of variables are
//! taken as they are.
//!
//! The same check serves calls that never were text.

use crate::error::{Span, TextError, quoted};
use crate::gremlin::bindings::{Binding, Bindings};
use crate::gremlin::call::{Argument, ArgumentKind, Call, Query, Strategy};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Role, Signature};
use crate::gremlin::signature::predicate;
use crate::gremlin::signature::table::{named, signatures};
use crate::gremlin::token::{Enumeration, GType, Token};
use crate::stack::deeper;
use evergraph_graph::nearest::did_you_mean;

/// Checks every call of `query`, and resolves the words in its arguments.
///
/// Cost: a binary search a call, and a look at each argument for each form of its method.
///
/// # Errors
/// If a method doesn't exist, stands in the wrong place or is given what it doesn't take, or if a
/// word means nothing. Some words of the query are resolved by then, so it is of no use any more.
pub fn check(query: &mut Query, bindings: &Bindings) -> Result<(), TextError> {
    let mut stage = Stage::Source;
    for call in &mut query.calls {
        let signature = find(call, stage)?;
        stage = stage.after(signature);
        check_arguments(signature, call.span, &mut call.arguments, bindings)?;
    }
    if stage == Stage::Transaction {
        let message = "expected `begin`, `commit` or `rollback` after `tx`";
        let span = query.calls.last().map_or_else(Span::default, |call| call.span);
        return Err(TextError::invalid(span, message));
    }
    Ok(())
}

/// How far a chain of calls has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Behind `g`.
    Source,
    /// Behind `g.tx()`.
    Transaction,
    /// Within the traversal of a query.
    Traversal,
    /// Within an anonymous traversal.
    Nested,
    /// Behind what ends a query.
    Ended,
}

impl Stage {
    fn takes(self, signature: &Signature) -> bool {
        match (self, signature.role) {
            (Stage::Source, Role::Source | Role::Spawn) => true,
            (Stage::Source, Role::Transaction) => signature.name == "tx",
            (Stage::Transaction, Role::Transaction) => signature.name != "tx",
            (Stage::Traversal | Stage::Nested, Role::Step | Role::Modulator) => true,
            (Stage::Traversal, Role::Terminal) => true,
            (Stage::Source | Stage::Ended, Role::Terminal) => signature.name == "toString",
            _ => false,
        }
    }

    fn after(self, signature: &Signature) -> Stage {
        match signature.role {
            Role::Source => Stage::Source,
            Role::Transaction if signature.name == "tx" => Stage::Transaction,
            Role::Terminal | Role::Transaction => Stage::Ended,
            _ if self == Stage::Nested => Stage::Nested,
            _ => Stage::Traversal,
        }
    }
}

fn find(call: &Call, stage: Stage) -> Result<&'static Signature, TextError> {
    let found = named(&call.name);
    if let Some(signature) = found.iter().find(|signature| stage.takes(signature)) {
        return Ok(signature);
    }
    let name = quoted(&call.name);
    let Some(other) = found.first() else {
        let known = signatures().filter(|signature| stage.takes(signature)).map(|signature| signature.name);
        let message = format!("no step is called {name}{}", did_you_mean(&call.name, known));
        return Err(TextError::invalid(call.span, message));
    };
    let message = match (stage, other.role) {
        (Stage::Transaction, _) => {
            format!("expected `begin`, `commit` or `rollback` after `tx`, found {name}")
        }
        (Stage::Ended, _) => format!("{name} follows the end of the query"),
        (_, Role::Predicate) => format!("{name} is a predicate, not a step"),
        (_, Role::Transaction) => format!("{name} is allowed only after `g.tx()`"),
        (Stage::Source, _) => format!(
            "{name} can't follow `g`; a traversal begins with {}",
            joined(signatures().filter(|signature| signature.role == Role::Spawn).map(|spawn| spawn.name))
        ),
        (_, Role::Source) => format!("{name} is allowed only directly after `g`, before the traversal"),
        (_, Role::Spawn) => format!("{name} begins a traversal and is not allowed within one"),
        (_, _) => format!("{name} ends a query and is not allowed in a traversal within it"),
    };
    Err(TextError::invalid(call.span, message))
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(quoted).collect();
    match &*names {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        names => names.concat(),
    }
}

fn check_nested(calls: &mut [Call], bindings: &Bindings) -> Result<(), TextError> {
    for call in calls {
        let signature = find(call, Stage::Nested)?;
        check_arguments(signature, call.span, &mut call.arguments, bindings)?;
    }
    Ok(())
}

fn check_arguments(
    signature: &Signature,
    span: Span,
    arguments: &mut [Argument],
    bindings: &Bindings,
) -> Result<(), TextError> {
    let places = |argument: &Argument, kinds| fits(&argument.kind, kinds, bindings);
    let fitting = signature.forms.iter().find(|form| {
        form.takes(arguments.len())
            && arguments
                .iter()
                .enumerate()
                .all(|(place, argument)| form.at(place).is_some_and(|kinds| places(argument, kinds)))
    });
    let Some(form) = fitting else { return Err(mismatch(signature, span, arguments, bindings)) };
    for (place, argument) in arguments.iter_mut().enumerate() {
        resolve(argument, form.at(place).expect("an argument that fits has a place"), bindings)?;
    }
    Ok(())
}

/// What a word means.
enum Meaning<'a> {
    Token(Token),
    Value(&'a ArgumentKind),
    Declared,
    Strategy,
}

fn meaning<'a>(word: &str, kinds: Kinds, bindings: &'a Bindings) -> Option<Meaning<'a>> {
    let token = || {
        let named = kinds.enumerations().filter(|enumeration| enumeration.has_short_form());
        named.filter_map(|enumeration| enumeration.token(word)).map(Meaning::Token).next()
    };
    let variable = || match bindings.get(word)? {
        Binding::Value(value) => kinds.meets(Kinds::of(value)).then_some(Meaning::Value(value)),
        Binding::Declared => {
            kinds.meets(Kinds::of(&ArgumentKind::Variable(Box::default()))).then_some(Meaning::Declared)
        }
    };
    let known =
        if kinds.contains(Kinds::VALUE) { variable().or_else(token) } else { token().or_else(variable) };
    known.or_else(|| kinds.meets(Kinds::STRATEGY.or(Kinds::STRATEGY_NAME)).then_some(Meaning::Strategy))
}

/// Whether `argument` may stand where these kinds are wanted.
fn fits(argument: &ArgumentKind, kinds: Kinds, bindings: &Bindings) -> bool {
    match argument {
        ArgumentKind::Word(word) => meaning(word, kinds, bindings).is_some(),
        ArgumentKind::Null if kinds.contains(Kinds::token(Enumeration::GType)) => true,
        ArgumentKind::Traversal(calls) if kinds.meets(Kinds::STRATEGY) => is_name_of_strategy(calls),
        argument => kinds.meets(Kinds::of(argument)),
    }
}

/// Whether `ReadOnlyStrategy()` was read as a traversal: only its place tells that it is none.
fn is_name_of_strategy(calls: &[Call]) -> bool {
    matches!(calls, [call] if call.arguments.is_empty())
}

/// Resolves `argument`, which fits these kinds, and checks what is inside.
fn resolve(argument: &mut Argument, kinds: Kinds, bindings: &Bindings) -> Result<(), TextError> {
    deeper(|| resolve_here(argument, kinds, bindings))
}

fn resolve_here(argument: &mut Argument, kinds: Kinds, bindings: &Bindings) -> Result<(), TextError> {
    let named = |name: &mut Box<str>| {
        let name = std::mem::take(name);
        ArgumentKind::Strategy(Strategy { name, settings: Vec::new() })
    };
    match &mut argument.kind {
        ArgumentKind::Word(word) => {
            argument.kind = match meaning(word, kinds, bindings).expect("a word that fits has a meaning") {
                Meaning::Token(token) => ArgumentKind::Token(token),
                Meaning::Value(value) => value.clone(),
                Meaning::Declared => ArgumentKind::Variable(std::mem::take(word)),
                Meaning::Strategy => named(word),
            };
            Ok(())
        }
        // The word `null` is also that type's name.
        ArgumentKind::Null if !kinds.contains(Kinds::NULL) => {
            argument.kind = ArgumentKind::Token(Token::GType(GType::Null));
            Ok(())
        }
        ArgumentKind::Traversal(calls) if kinds.meets(Kinds::STRATEGY) => {
            argument.kind = named(&mut calls[0].name);
            Ok(())
        }
        ArgumentKind::Traversal(calls) => check_nested(calls, bindings),
        ArgumentKind::Query(query) => check_inner_query(query, argument.span, bindings),
        ArgumentKind::Predicate(asked) => {
            check_arguments(predicate::signature(asked.test), asked.span, &mut asked.arguments, bindings)
        }
        ArgumentKind::List(values) | ArgumentKind::Set(values) => {
            values.iter_mut().try_for_each(|value| resolve_value(value, bindings))
        }
        ArgumentKind::Map(entries) => entries.iter_mut().try_for_each(|(key, value)| {
            resolve_value(key, bindings)?;
            resolve_value(value, bindings)
        }),
        ArgumentKind::WithCardinality(_, value) => resolve_value(value, bindings),
        ArgumentKind::Strategy(strategy) => {
            strategy.settings.iter_mut().try_for_each(|(_, value)| resolve_value(value, bindings))
        }
        ArgumentKind::Scalar(_)
        | ArgumentKind::Null
        | ArgumentKind::Token(_)
        | ArgumentKind::Now
        | ArgumentKind::NewUuid
        | ArgumentKind::Variable(_) => Ok(()),
    }
}

/// The same for what is inside a collection or a setting: any value.
fn resolve_value(argument: &mut Argument, bindings: &Bindings) -> Result<(), TextError> {
    if !fits(&argument.kind, Kinds::VALUE, bindings) {
        let message = match &argument.kind {
            ArgumentKind::Word(word) => unknown_word(word, Kinds::VALUE, bindings),
            other => format!("expected a value, found {}", described(other)),
        };
        return Err(TextError::invalid(argument.span, message));
    }
    resolve(argument, Kinds::VALUE, bindings)
}

fn check_inner_query(query: &mut Query, span: Span, bindings: &Bindings) -> Result<(), TextError> {
    check(query, bindings)?;
    let last = query.calls.last().map_or(&[][..], |call| named(&call.name));
    if last.iter().any(|signature| signature.role == Role::Terminal) {
        return Ok(());
    }
    let message = "a query within a query has to end, as in `next()`; a traversal begins with `__`";
    Err(TextError::invalid(span, message))
}

/// The error that `arguments` have none of the forms of `signature`: at the argument that is furthest
/// from the start and fits no form that all before it fit, else for their number.
fn mismatch(signature: &Signature, span: Span, arguments: &[Argument], bindings: &Bindings) -> TextError {
    let fitting = signature.forms.iter().map(|form| {
        let fits = |(place, argument): &(usize, &Argument)| {
            form.at(*place).is_some_and(|kinds| fits(&argument.kind, kinds, bindings))
        };
        (arguments.iter().enumerate().take_while(fits).count(), form)
    });
    let furthest = fitting.clone().map(|(count, _)| count).max().unwrap_or(0);
    let wanted = fitting.filter(|(count, _)| *count == furthest).filter_map(|(_, form)| form.at(furthest));
    let wanted = wanted.reduce(Kinds::or);
    let name = signature.name;
    let (Some(argument), Some(kinds)) = (arguments.get(furthest), wanted) else {
        let count = match arguments.len() {
            0 => "no argument".to_owned(),
            1 => "1 argument".to_owned(),
            count => format!("{count} arguments"),
        };
        return TextError::invalid(
            span,
            format!("`{name}` takes {}, and was given {count}", signature.takes()),
        );
    };
    let message = match &argument.kind {
        ArgumentKind::Word(word) => match bindings.get(word) {
            None => unknown_word(word, kinds, bindings),
            Some(Binding::Value(value)) => {
                format!("`{name}` takes {}, and {} is {}", signature.takes(), quoted(word), described(value))
            }
            Some(Binding::Declared) => {
                format!("`{name}` takes {}, and {} is a variable", signature.takes(), quoted(word))
            }
        },
        other => format!("`{name}` takes {}, and this is {}", signature.takes(), described(other)),
    };
    TextError::invalid(argument.span, message)
}

fn unknown_word(word: &str, kinds: Kinds, bindings: &Bindings) -> String {
    const NAMED_MAX: usize = 8;
    let enumerations: Vec<_> =
        kinds.enumerations().filter(|enumeration| enumeration.has_short_form()).collect();
    let words = enumerations.iter().flat_map(|enumeration| enumeration.words()).copied();
    let guess = did_you_mean(word, bindings.names().chain(words));
    if !enumerations.is_empty() && !kinds.contains(Kinds::VALUE) {
        let names = joined(enumerations.iter().map(|enumeration| enumeration.name()));
        return format!("{} is neither a variable nor a word of {names}{guess}", quoted(word));
    }
    let known: Vec<_> = bindings.names().take(NAMED_MAX).map(quoted).collect();
    let more = if bindings.names().nth(NAMED_MAX).is_some() { ", …" } else { "" };
    match &*known {
        [] => format!("no variable is called {}; none was given{guess}", quoted(word)),
        known => format!("no variable is called {} (known: {}{more}){guess}", quoted(word), known.join(", ")),
    }
}

/// What `argument` is, with its article.
fn described(argument: &ArgumentKind) -> String {
    match argument {
        ArgumentKind::Null => "null".to_owned(),
        ArgumentKind::Token(_) => format!("`{argument}`"),
        ArgumentKind::Strategy(_) => "a strategy".to_owned(),
        ArgumentKind::Variable(name) | ArgumentKind::Word(name) => format!("the variable {}", quoted(name)),
        other => {
            let kind = Kinds::of(other).to_string();
            let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            format!("{article} {kind}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::{read, read_script};
    use evergraph_graph::value::collection::List;

    fn bindings() -> Bindings {
        let mut bindings = Bindings::new();
        bindings.bind("vid1", 7_i64);
        bindings.bind("name", "marko");
        bindings.bind("desc", "a variable");
        bindings.bind("id", 5_i32);
        bindings.bind("all", List::new(vec![1_i32.into(), 2_i32.into()]).unwrap());
        bindings.declare("later");
        bindings
    }

    fn checked(text: &str) -> String {
        read(text, &ParseLimits::default(), &bindings()).expect(text).to_string()
    }

    fn refused(text: &str) -> String {
        read(text, &ParseLimits::default(), &bindings()).expect_err(text).to_string()
    }

    #[test]
    fn a_word_means_what_its_place_wants() {
        for (text, expected) in [
            ("g.V().order().by(desc)", "g.V().order().by(Order.desc)"),
            ("g.V().order().by('age', desc)", "g.V().order().by(\"age\", Order.desc)"),
            ("g.V().count(local).limit(local, 1)", "g.V().count(Scope.local).limit(Scope.local, 1)"),
            (
                "g.V().by(id).by(values).select(values)",
                "g.V().by(T.id).by(Column.values).select(Column.values)",
            ),
            ("g.V().select(all, 'a')", "g.V().select(Pop.all, \"a\")"),
            ("g.withSack(1, sum).V().sack(mult)", "g.withSack(1, Operator.sum).V().sack(Operator.mult)"),
            ("g.V().toE(from, 'a').toV(BOTH)", "g.V().toE(Direction.OUT, \"a\").toV(Direction.BOTH)"),
            ("g.V().property(list, 'k', 1)", "g.V().property(Cardinality.list, \"k\", 1)"),
            (
                "g.V().is(typeOf(int)).is(typeOf(null))",
                "g.V().is(P.typeOf(GType.INT)).is(P.typeOf(GType.NULL))",
            ),
            ("g.V().barrier(normSack)", "g.V().barrier(Barrier.normSack)"),
            ("g.V().dateAdd(hour, 2)", "g.V().dateAdd(DT.hour, 2)"),
            (
                "g.mergeV([(label): 'a', (OUT): outV]).option(onCreate, [:])",
                "g.mergeV([(T.label): \"a\", (Direction.OUT): Merge.outV]).option(Merge.onCreate, [:])",
            ),
            ("g.V().choose(out()).option(none, in())", "g.V().choose(__.out()).option(Pick.none, __.in())"),
            (
                "g.withStrategies(ReadOnlyStrategy, ReadOnlyStrategy()).withoutStrategies(A).V()",
                "g.withStrategies(new ReadOnlyStrategy(), new ReadOnlyStrategy()).withoutStrategies(new A()).V()",
            ),
        ] {
            assert_eq!(checked(text), expected, "{text}");
        }
    }

    #[test]
    fn variables_come_before_tokens_where_any_value_may_stand() {
        for (text, expected) in [
            ("g.V(vid1).has('name', name)", "g.V(7l).has(\"name\", \"marko\")"),
            ("g.V(id).has(id, id)", "g.V(5).has(T.id, 5)"),
            ("g.inject([label, id, {name}])", "g.inject([T.label, 5, {\"marko\"}])"),
            ("g.V().is(within(all))", "g.V().is(P.within([1, 2]))"),
            (
                "g.V().limit(later).out(later).has('a', gt(later))",
                "g.V().limit(later).out(later).has(\"a\", P.gt(later))",
            ),
            ("g.mergeV(later)", "g.mergeV(later)"),
            ("g.withStrategies(S(a: vid1)).V()", "g.withStrategies(new S(a: 7l)).V()"),
        ] {
            assert_eq!(checked(text), expected, "{text}");
        }
        let query = read("g.V(later)", &ParseLimits::default(), &bindings()).unwrap();
        assert_eq!(query.calls[0].arguments[0].kind, ArgumentKind::Variable("later".into()));
    }

    #[test]
    fn a_checked_query_is_checked_again_without_a_change() {
        for text in [
            "g.V(later).order().by('a', desc)",
            "g.withStrategies(A).withoutStrategies(B).V().is(typeOf(null))",
        ] {
            let query = read(text, &ParseLimits::default(), &bindings()).unwrap();
            let mut again = query.clone();
            assert_eq!(check(&mut again, &Bindings::new()), Ok(()), "{text}");
            assert_eq!(again, query);
        }
    }

    #[test]
    fn names_are_told_apart_by_where_they_stand() {
        let begins = "a traversal begins with `V`, `E`, `addV`, `addE`, `mergeV`, `mergeE`, `inject`, `union`, `call` or `io`";
        for (text, expected) in [
            ("g.V().otu('a')", "line 1, column 7: no step is called `otu`; did you mean `out`?"),
            ("g.V().xyzzy()", "line 1, column 7: no step is called `xyzzy`"),
            ("g.v()", "line 1, column 3: no step is called `v`; did you mean `V`?"),
            ("g.V().where(__.ot())", "line 1, column 16: no step is called `ot`; did you mean `out`?"),
            (
                "g.V().\n  has('a', gt(1))\n  .outt()",
                "line 3, column 4: no step is called `outt`; did you mean `out`?",
            ),
            ("g.out()", &format!("line 1, column 3: `out` can't follow `g`; {begins}")),
            (
                "g.V().withSack(1)",
                "line 1, column 7: `withSack` is allowed only directly after `g`, before the traversal",
            ),
            ("g.V().io('a')", "line 1, column 7: `io` begins a traversal and is not allowed within one"),
            ("g.V().gt(1)", "line 1, column 7: `gt` is a predicate, not a step"),
            (
                "g.V().map(out().toList())",
                "line 1, column 17: `toList` ends a query and is not allowed in a traversal within it",
            ),
            ("g.V().toList().out()", "line 1, column 16: `out` follows the end of the query"),
            ("g.commit()", "line 1, column 3: `commit` is allowed only after `g.tx()`"),
            ("g.tx()", "line 1, column 3: expected `begin`, `commit` or `rollback` after `tx`"),
            (
                "g.tx().V()",
                "line 1, column 8: expected `begin`, `commit` or `rollback` after `tx`, found `V`",
            ),
            (
                "g.V(g.V())",
                "line 1, column 5: a query within a query has to end, as in `next()`; a traversal begins with `__`",
            ),
        ] {
            assert_eq!(refused(text), expected, "{text}");
        }
        for text in [
            "g",
            "g.toString()",
            "g.withPath()",
            "g.tx().begin()",
            "g.V().toList().toString()",
            "g.V(g.V().next())",
        ] {
            checked(text);
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_told_with_what_does() {
        for (text, expected) in [
            (
                "g.V().limit('a')",
                "line 1, column 13: `limit` takes (integer) or (Scope, integer), and this is a string",
            ),
            (
                "g.V().limit(local, 1.5)",
                "line 1, column 20: `limit` takes (integer) or (Scope, integer), and this is a fraction",
            ),
            (
                "g.V().limit()",
                "line 1, column 7: `limit` takes (integer) or (Scope, integer), and was given no argument",
            ),
            (
                "g.V().limit(1, 2, 3)",
                "line 1, column 7: `limit` takes (integer) or (Scope, integer), and was given 3 arguments",
            ),
            (
                "g.V().limit(name)",
                "line 1, column 13: `limit` takes (integer) or (Scope, integer), and `name` is a string",
            ),
            ("g.E().inV(1)", "line 1, column 7: `inV` takes (), and was given 1 argument"),
            ("g.V().as(null)", "line 1, column 10: `as` takes (string, string...), and this is null"),
            ("g.V().out('a', 1)", "line 1, column 16: `out` takes (string...), and this is an integer"),
            ("g.V().map(gt(1))", "line 1, column 11: `map` takes (traversal), and this is a predicate"),
            ("g.V().map(later)", "line 1, column 11: `map` takes (traversal), and `later` is a variable"),
            (
                "g.V().count(Order.desc)",
                "line 1, column 13: `count` takes () or (Scope), and this is `Order.desc`",
            ),
            (
                "g.V().is(between(1))",
                "line 1, column 10: `between` takes (value, value), and was given 1 argument",
            ),
            ("g.V().is(P.not(1))", "line 1, column 16: `not` takes (predicate), and this is an integer"),
            (
                "g.V().is(containing(1))",
                "line 1, column 21: `containing` takes (string), and this is an integer",
            ),
            ("g.inject([gt(1)])", "line 1, column 11: expected a value, found a predicate"),
            (
                "g.withStrategies(1).V()",
                "line 1, column 18: `withStrategies` takes (strategy, strategy...), and this is an integer",
            ),
        ] {
            assert_eq!(refused(text), expected, "{text}");
        }
    }

    #[test]
    fn words_without_a_meaning_are_told_with_those_that_have_one() {
        for (text, expected) in [
            (
                "g.V(vid2)",
                "line 1, column 5: no variable is called `vid2` (known: `all`, `desc`, `id`, `later`, `name`, `vid1`); \
                 did you mean `vid1`?",
            ),
            (
                "g.V().order().by('a', dsc)",
                "line 1, column 23: `dsc` is neither a variable nor a word of `Order`; did you mean `desc`?",
            ),
            (
                "g.V().count(locl)",
                "line 1, column 13: `locl` is neither a variable nor a word of `Scope`; did you mean `local`?",
            ),
            (
                "g.mergeV([a: onCreat])",
                "line 1, column 14: no variable is called `onCreat` (known: `all`, `desc`, `id`, `later`, `name`, `vid1`); did you mean `onCreate`?",
            ),
        ] {
            assert_eq!(refused(text), expected, "{text}");
        }
        let error = read("g.V(x)", &ParseLimits::default(), &Bindings::new()).unwrap_err();
        assert_eq!(error.to_string(), "line 1, column 5: no variable is called `x`; none was given");
        let mut many = Bindings::new();
        (0..9).for_each(|number| many.declare(format!("v{number}")));
        let error = read("g.V(xyz)", &ParseLimits::default(), &many).unwrap_err();
        assert!(error.message.ends_with("`v7`, …)"), "{error}");
    }

    #[test]
    fn a_script_is_checked_query_by_query() {
        let limits = ParseLimits::default();
        assert_eq!(read_script("g.V();g.E()", &limits, &bindings()).unwrap().len(), 2);
        let error = read_script("g.V();\ng.Q()", &limits, &bindings()).unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 3: no step is called `Q`");
    }
}
