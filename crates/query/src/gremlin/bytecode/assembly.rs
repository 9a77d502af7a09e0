//! Assembly: builds calls from the pieces that both forms of bytecode share.
//!
//! A reader knows its bytes and the types in them; what a predicate, an instruction or a strategy
//! becomes is said here, once.

use evergraph_graph::value::Value;

use crate::error::{Span, quoted};
use crate::gremlin::bytecode::Bytecode;
use crate::gremlin::bytecode::instruction_position::ReadError;
use crate::gremlin::call::{Argument, ArgumentKind, Call, Predicate, Strategy, Test};
use crate::gremlin::token::{Cardinality, Enumeration, Io, Token, WithOptions};
use evergraph_graph::nearest::did_you_mean;

/// The source instruction that a value with its cardinality is written as.
const CARDINALITY_VALUE: &str = "CardinalityValueTraversal";

/// What begins the names of options of steps.
const OPTION_PREFIX: &str = "~tinkerpop.";

/// How deep what is read may lie, and how deep it lies now; how many arguments may still be read.
#[derive(Clone, Debug)]
pub struct Levels {
    depth: usize,
    depth_max: usize,
    arguments: usize,
    arguments_max: usize,
}

impl Levels {
    /// None so far, of `depth_max`; any number of arguments.
    #[must_use]
    pub fn new(depth_max: usize) -> Self {
        Self { depth: 0, depth_max, arguments: 0, arguments_max: usize::MAX }
    }

    /// Limits the number of arguments, those inside others included. An argument takes some 50 bytes of memory and may
    /// be written in two.
    #[must_use]
    pub fn with_arguments_max(self, arguments_max: usize) -> Self {
        Self { arguments_max, ..self }
    }

    /// Counts the argument at `span`.
    ///
    /// # Errors
    /// If it is one too many.
    pub fn count(&mut self, span: Span) -> Result<(), ReadError> {
        if self.arguments >= self.arguments_max {
            let message = format!("more than {} arguments, with those inside others", self.arguments_max);
            return Err(ReadError::limit(span, message));
        }
        self.arguments += 1;
        Ok(())
    }

    /// One level deeper, at `span`. Whoever succeeds takes it back; after an error nobody asks.
    ///
    /// # Errors
    /// If it would be one too many.
    pub fn enter(&mut self, span: Span) -> Result<(), ReadError> {
        if self.depth >= self.depth_max {
            return Err(ReadError::limit(span, format!("nested more than {} deep", self.depth_max)));
        }
        self.depth += 1;
        Ok(())
    }

    /// Back from a level.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// What is around a value: an element isn't the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueContext {
    /// An instruction of which it is an argument, a collection, a strategy.
    Anything,
    /// An instruction in which elements are their ids, of which it is an argument, or a collection in one.
    Ids,
    /// `from` or `to`, of which it is an argument.
    End,
    /// A predicate.
    Predicate,
    /// An element, whose properties nobody asks for.
    Element,
}

impl ValueContext {
    /// What is around the arguments of the instruction `name`.
    #[must_use]
    pub fn of_instruction(name: &str) -> Self {
        match name {
            "from" | "to" => ValueContext::End,
            "V" | "E" | "hasId" | "inject" | "mergeV" | "mergeE" | "option" | "call" | "with" => {
                ValueContext::Ids
            }
            _ => ValueContext::Anything,
        }
    }

    /// What is around the value of a variable, which may stand anywhere in a text.
    #[must_use]
    pub fn of_variable() -> Self {
        ValueContext::Ids
    }

    /// What is around the items of a collection that this is around.
    #[must_use]
    pub fn inside(self) -> Self {
        if self == ValueContext::End { ValueContext::Anything } else { self }
    }
}

/// The call of an instruction.
///
/// # Errors
/// The number of the argument that is wrong, from 0, and what is wrong with it.
pub fn call(name: &str, mut arguments: Vec<Argument>, span: Span) -> Result<Call, (usize, String)> {
    if name == "with"
        && let [key, values @ ..] = &mut *arguments
        && let Some(option) = key.kind.as_str().and_then(option)
    {
        key.kind = ArgumentKind::Token(option);
        for (at, value) in values.iter_mut().enumerate() {
            name_value(option, value).map_err(|reason| (at + 1, reason))?;
        }
    }
    Ok(Call { name: name.into(), arguments, span })
}

/// The option of a step that `key` is the name of, such as `~tinkerpop.pageRank.times`.
fn option(key: &str) -> Option<Token> {
    let (step, word) = key.strip_prefix(OPTION_PREFIX)?.split_once('.')?;
    let enumeration = match (step, word) {
        ("valueMap", "tokens") | ("index", "indexer") => Enumeration::WithOptions,
        ("pageRank", _) => Enumeration::PageRank,
        ("peerPressure", _) => Enumeration::PeerPressure,
        ("connectedComponent", _) => Enumeration::ConnectedComponent,
        ("shortestPath", _) => Enumeration::ShortestPath,
        ("io", "reader" | "writer") => Enumeration::Io,
        _ => return None,
    };
    enumeration.token(word)
}

/// Gives the value of `option` the name that it has in texts, if there is one.
fn name_value(option: Token, value: &mut Argument) -> Result<(), String> {
    let number = match &value.kind {
        ArgumentKind::Scalar(number) => number.as_i64(),
        _ => None,
    };
    let named = match (option, number) {
        (Token::WithOptions(WithOptions::Tokens), Some(bits)) => match bits {
            0 => WithOptions::None,
            1 => WithOptions::Ids,
            2 => WithOptions::Labels,
            4 => WithOptions::Keys,
            8 => WithOptions::Values,
            15 => WithOptions::All,
            _ => return Err(format!("there is no such option of `WithOptions.tokens`: {bits}")),
        },
        (Token::WithOptions(WithOptions::Indexer), Some(form)) => match form {
            0 => WithOptions::List,
            1 => WithOptions::Map,
            _ => return Err(format!("there is no such option of `WithOptions.indexer`: {form}")),
        },
        (Token::Io(_), None) => {
            let format = value.kind.as_str().and_then(Io::from_word);
            if let Some(format @ (Io::Gryo | Io::GraphSon | Io::GraphMl)) = format {
                value.kind = ArgumentKind::Token(Token::Io(format));
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    value.kind = ArgumentKind::Token(Token::WithOptions(named));
    Ok(())
}

/// What a source instruction means: a call, or two of `tx`.
#[must_use]
pub fn source_calls(call: Call) -> Vec<Call> {
    if &*call.name == "tx"
        && let [operation] = &*call.arguments
        && let Some(name) = operation.kind.as_str()
    {
        let operation = Call { name: name.into(), arguments: Vec::new(), span: operation.span };
        return vec![Call { arguments: Vec::new(), ..call }, operation];
    }
    vec![call]
}

/// Bytecode that is an argument: an anonymous traversal, or a value with its cardinality.
///
/// # Errors
/// If it is neither.
pub fn nested(bytecode: Bytecode) -> Result<ArgumentKind, String> {
    let Bytecode { query, sources } = bytecode;
    let mut calls = query.calls;
    if sources == 0 {
        if calls.is_empty() {
            return Err("a traversal without steps can't be an argument: `identity` does nothing".to_owned());
        }
        return Ok(ArgumentKind::Traversal(calls));
    }
    if sources == 1 && calls.len() == 1 && &*calls[0].name == CARDINALITY_VALUE {
        let arguments = calls.remove(0).arguments;
        if let Ok([cardinality, value]) = <[Argument; 2]>::try_from(arguments)
            && let ArgumentKind::Token(Token::Cardinality(cardinality)) = cardinality.kind
        {
            return Ok(with_cardinality(cardinality, value));
        }
        return Err(format!("`{CARDINALITY_VALUE}` takes (Cardinality, value)"));
    }
    let name = quoted(&calls[0].name);
    Err(format!("{name} stands right after `g`, and a traversal within another begins with `__`"))
}

fn with_cardinality(cardinality: Cardinality, value: Argument) -> ArgumentKind {
    ArgumentKind::WithCardinality(cardinality, Box::new(value))
}

/// The word of an enumeration.
///
/// # Errors
/// If it has no such word.
pub fn token(enumeration: Enumeration, word: &str) -> Result<ArgumentKind, String> {
    enumeration.token(word).map(ArgumentKind::Token).ok_or_else(|| {
        let guess = did_you_mean(word, enumeration.words().iter().copied());
        format!("`{}` has no {}{guess}", enumeration.name(), quoted(word))
    })
}

/// The predicate `name` of `arguments`.
///
/// # Errors
/// If there is none of this name.
pub fn predicate(name: &str, mut arguments: Vec<Argument>, span: Span) -> Result<ArgumentKind, String> {
    let Some(test) = Test::from_name(name) else {
        let guess = did_you_mean(name, Test::ALL.iter().map(|test| test.name()));
        return Err(format!("there is no predicate called {}{guess}", quoted(name)));
    };
    match test {
        Test::And | Test::Or => {
            if let Some(ArgumentKind::Predicate(first)) = arguments.first_mut().map(|first| &mut first.kind)
                && first.test == test
            {
                // A chain of the same test is one list; drivers nest it to the left.
                let mut all = std::mem::take(&mut first.arguments);
                all.extend(arguments.into_iter().skip(1));
                arguments = all;
            }
        }
        // A text would take the only collection for the values.
        Test::Within | Test::Without => {
            if let [Argument { kind: ArgumentKind::List(_) | ArgumentKind::Set(_), .. }] = &*arguments {
                arguments = vec![Argument { kind: ArgumentKind::List(arguments), span }];
            }
        }
        // gremlinpython writes the items of a list where the list is meant.
        Test::Eq | Test::Neq if arguments.len() != 1 => {
            arguments = vec![Argument { kind: ArgumentKind::List(arguments), span }];
        }
        _ => {}
    }
    Ok(ArgumentKind::Predicate(Predicate { test, arguments, span }))
}

/// The strategy of a Java class with these settings.
#[must_use]
pub fn strategy(class: &str, settings: Vec<(Box<str>, Argument)>) -> ArgumentKind {
    ArgumentKind::Strategy(Strategy { name: simple_name(class).into(), settings })
}

/// A Java class.
///
/// # Errors
/// If it is no strategy's.
pub fn class(name: &str) -> Result<ArgumentKind, String> {
    if simple_name(name).ends_with("Strategy") {
        return Ok(strategy(name, Vec::new()));
    }
    Err(format!("the class {} can't be an argument: only strategies are named by their class", quoted(name)))
}

fn simple_name(class: &str) -> &str {
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

/// A vertex.
///
/// # Errors
/// If no element can stand there.
pub fn vertex(id: Argument, around: ValueContext, span: Span) -> Result<ArgumentKind, String> {
    match around {
        ValueContext::End => {
            Ok(ArgumentKind::Traversal(vec![Call { name: "V".into(), arguments: vec![id], span }]))
        }
        around => edge(id, around),
    }
}

/// An edge.
///
/// # Errors
/// If no element can stand there.
pub fn edge(id: Argument, around: ValueContext) -> Result<ArgumentKind, String> {
    match around {
        ValueContext::Predicate => {
            return Err("a predicate doesn't compare elements: compare their ids, as with `hasId`".to_owned());
        }
        ValueContext::Anything => {
            return Err(
                "an element can't be an argument here: give its id, or find it, as with `V`, `E` and \
                        `hasId`, which take elements"
                    .to_owned(),
            );
        }
        ValueContext::Ids | ValueContext::End | ValueContext::Element => {}
    }
    match id.kind {
        ArgumentKind::Null | ArgumentKind::Scalar(_) => Ok(id.kind),
        _ => Err("the id of an element is a value, and no collection or part of a query".to_owned()),
    }
}

/// Why what is called `name`, with its article, can't be an argument.
#[must_use]
pub fn refused(name: &str) -> String {
    match name {
        "a lambda" => "lambdas are not supported: write the function in steps".to_owned(),
        "a property" | "a vertex property" => {
            format!("{name} can't be an argument: give its element, its key or its value")
        }
        "a bulk set" => format!("{name} can't be an argument: give a list"),
        name => format!("{name} can't be an argument"),
    }
}

/// The value as an argument: scalars alone come this way.
#[must_use]
pub fn scalar(value: impl Into<Value>) -> ArgumentKind {
    ArgumentKind::Scalar(value.into())
}
