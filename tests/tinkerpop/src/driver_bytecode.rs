//! Driver bytecode: a text as the bytecode that a driver would send for the same traversal.
//!
//! ```text
//! TEXT                                          BYTECODE
//! g.withSack(1).V()                             source [withSack, 1], steps [V]
//! g.with('x', 1)                                source [withStrategies, OptionsStrategy(x: 1)]
//! variables                                     their values
//! with(WithOptions.tokens, WithOptions.labels)  with("~tinkerpop.valueMap.tokens", 2)
//! with(PageRank.times, 2)                       with("~tinkerpop.pageRank.times", 2)
//! values(ConnectedComponent.component)          values("gremlin.connectedComponentVertexProgram.component")
//! UUID()                                        a UUID that the driver makes
//! iterate()                                     discard()
//! ```
//!
//! Source: gremlin-core 3.8.1, `GraphTraversalSource.with`, `WithOptions`, `PageRank` and its like, `Traversal.iterate`.

use evergraph::{Error, Value};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call, Query, Strategy};
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::gremlin::signature::method::Role;
use evergraph_query::gremlin::signature::table::named;
use evergraph_query::gremlin::token::{ConnectedComponent, Token, WithOptions};
use uuid::Uuid;

/// The bytecode of `text`, whose variables are `bindings`.
///
/// # Errors
/// If `text` is wrong, or ends as bytecode cannot.
pub fn driver_bytecode(text: &str, bindings: &Bindings) -> Result<Bytecode, Error> {
    let query = read(text, &ParseLimits::default(), bindings)
        .map_err(|error| Error::invalid(error.to_string()).because(error))?;
    of_query(query).map_err(Error::invalid)
}

fn of_query(query: Query) -> Result<Bytecode, String> {
    let mut calls = query.calls;
    let sources = calls.iter().take_while(|call| has_role(call, Role::Source)).count();
    let mut steps = calls.split_off(sources);
    if let Some(last) = steps.last()
        && has_role(last, Role::Terminal)
    {
        match &*last.name {
            "iterate" => {
                steps.pop();
                steps.push(Call::new("discard", []));
            }
            "toList" | "toSet" | "toBulkSet" => drop(steps.pop()),
            other => return Err(format!("{other}() is no instruction of bytecode")),
        }
    }
    let sources = calls.into_iter().map(source).collect();
    Ok(Bytecode::new(sources, steps.into_iter().map(step).collect()))
}

fn has_role(call: &Call, role: Role) -> bool {
    named(&call.name).iter().any(|signature| signature.role == role)
}

fn source(call: Call) -> Call {
    if &*call.name != "with" {
        return step(call);
    }
    let mut arguments = call.arguments.into_iter();
    let key = arguments.next().and_then(|key| key.kind.as_str().map(Box::from)).unwrap_or_default();
    let value = arguments.next().unwrap_or_else(|| ArgumentKind::from(Value::Bool(true)).into());
    let options = Strategy { name: "OptionsStrategy".into(), settings: vec![(key, value)] };
    Call { span: call.span, ..Call::new("withStrategies", [ArgumentKind::Strategy(options)]) }
}

fn step(call: Call) -> Call {
    let Call { name, mut arguments, span } = call;
    if &*name == "with"
        && let [key, values @ ..] = &mut *arguments
        && let ArgumentKind::Token(option) = key.kind
        && let Some(text) = option_name(option)
    {
        key.kind = Value::from(text).into();
        values.iter_mut().for_each(|value| {
            if let ArgumentKind::Token(token) = value.kind
                && let Some(number) = option_value(option, token)
            {
                value.kind = number.into();
            }
        });
    }
    Call { name, arguments: arguments.into_iter().map(argument).collect(), span }
}

fn argument(argument: Argument) -> Argument {
    let Argument { kind, span } = argument;
    let all = |arguments: Vec<Argument>| arguments.into_iter().map(self::argument).collect();
    let kind = match kind {
        ArgumentKind::Traversal(calls) => ArgumentKind::Traversal(calls.into_iter().map(step).collect()),
        ArgumentKind::List(values) => ArgumentKind::List(all(values)),
        ArgumentKind::Set(values) => ArgumentKind::Set(all(values)),
        ArgumentKind::Map(entries) => {
            let entry = |(key, value)| (self::argument(key), self::argument(value));
            ArgumentKind::Map(entries.into_iter().map(entry).collect())
        }
        ArgumentKind::WithCardinality(cardinality, value) => {
            ArgumentKind::WithCardinality(cardinality, Box::new(self::argument(*value)))
        }
        ArgumentKind::Predicate(mut predicate) => {
            predicate.arguments = all(predicate.arguments);
            ArgumentKind::Predicate(predicate)
        }
        ArgumentKind::Strategy(Strategy { name, settings }) => {
            let settings = settings.into_iter().map(|(key, value)| (key, self::argument(value))).collect();
            ArgumentKind::Strategy(Strategy { name, settings })
        }
        // Any one is new to the graph.
        ArgumentKind::NewUuid => {
            Value::Uuid(Uuid::from_u128(0x1d0f_63f4_0fbb_4d5c_9a5c_38ad_3b0c_6dd1)).into()
        }
        ArgumentKind::Token(Token::ConnectedComponent(ConnectedComponent::Component)) => {
            Value::from("gremlin.connectedComponentVertexProgram.component").into()
        }
        kind => kind,
    };
    Argument { kind, span }
}

/// The text that drivers write an option of a step as.
fn option_name(option: Token) -> Option<String> {
    let step = match option {
        Token::WithOptions(WithOptions::Tokens) => "valueMap",
        Token::WithOptions(WithOptions::Indexer) => "index",
        Token::PageRank(_) => "pageRank",
        Token::PeerPressure(_) => "peerPressure",
        Token::ConnectedComponent(_) => "connectedComponent",
        Token::ShortestPath(_) => "shortestPath",
        Token::Io(_) => "io",
        _ => return None,
    };
    Some(format!("~tinkerpop.{step}.{}", option.word()))
}

/// What drivers write as the value of an option, if its name has another form in texts.
fn option_value(option: Token, value: Token) -> Option<Value> {
    let Token::WithOptions(word) = value else {
        return matches!(value, Token::Io(_)).then(|| Value::from(value.word()));
    };
    let is_indexer = option == Token::WithOptions(WithOptions::Indexer);
    let number: i32 = match word {
        WithOptions::List if is_indexer => 0,
        WithOptions::Map if is_indexer => 1,
        WithOptions::None => 0,
        WithOptions::Ids => 1,
        WithOptions::Labels => 2,
        WithOptions::Keys => 4,
        WithOptions::Values => 8,
        WithOptions::All => 15,
        WithOptions::Tokens | WithOptions::Indexer | WithOptions::List | WithOptions::Map => return None,
    };
    Some(number.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(text: &str) -> String {
        let mut bindings = Bindings::new();
        bindings.bind("xx", 7_i32);
        let bytecode = driver_bytecode(text, &bindings).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (sources, steps) = bytecode.instructions();
        let shown = |calls: &[Call]| Query { calls: calls.to_vec() }.to_string();
        format!("{} | {}", shown(sources), shown(steps))
    }

    #[test]
    fn instructions_are_those_that_drivers_send() {
        for (text, expected) in [
            ("g.withSack(xx).V().limit(1)", "g.withSack(7) | g.V().limit(1)"),
            ("g.with('x').V().iterate()", "g.withStrategies(new OptionsStrategy(x: true)) | g.V().discard()"),
            ("g.with('x', 2).V().toList()", "g.withStrategies(new OptionsStrategy(x: 2)) | g.V()"),
            (
                "g.V().valueMap().with(WithOptions.tokens, WithOptions.labels)",
                "g | g.V().valueMap().with(\"~tinkerpop.valueMap.tokens\", 2)",
            ),
            (
                "g.V().map(__.index().with(WithOptions.indexer, WithOptions.map))",
                "g | g.V().map(__.index().with(\"~tinkerpop.index.indexer\", 1))",
            ),
        ] {
            assert_eq!(instructions(text), expected, "{text}");
        }
    }

    #[test]
    fn what_bytecode_cannot_say_is_an_error() {
        let error = driver_bytecode("g.V().explain()", &Bindings::new()).unwrap_err();
        assert!(error.to_string().contains("explain"), "{error}");
    }
}
