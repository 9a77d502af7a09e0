//! Names: tokens, predicates and anonymous traversals, which all begin with a name.
//!
//! A chain of conditions grows at its end, but the tree that it means grows at its root: in
//! `gt(1).and(lt(9)).negate()` what was read first comes to lie deepest. So each turn of the chain is
//! counted with the levels below it.

use crate::error::{Span, TextError, quoted};
use crate::gremlin::call::{Argument, ArgumentKind, Predicate, Test};
use crate::gremlin::lexer::Lexeme;
use crate::gremlin::parser::cursor::Parser;
use crate::gremlin::token::Enumeration;
use evergraph_graph::nearest::did_you_mean;

impl<'a> Parser<'a> {
    /// Reads a predicate or an anonymous traversal whose first call is to `name`.
    pub(super) fn read_nested(&mut self, name: &'a str, span: Span) -> Result<ArgumentKind, TextError> {
        let test = Test::from_name(name).filter(|test| !matches!(test, Test::And | Test::Or));
        let first = self.read_call(name, span)?;
        let is_predicate = match (test, &*first.arguments) {
            (None, _) => false,
            (Some(Test::Not), [argument]) => matches!(argument.kind, ArgumentKind::Predicate(_)),
            (Some(Test::Not), _) => false,
            (Some(_), _) => true,
        };
        if let Some(test) = test.filter(|_| is_predicate) {
            let predicate = Predicate { test, arguments: first.arguments, span };
            return self.read_conjunctions(predicate);
        }
        let (mut calls, height) = (vec![first], self.height);
        calls.append(&mut self.read_chain()?);
        self.height = self.height.max(height);
        Ok(ArgumentKind::Traversal(calls))
    }

    /// Reads what follows `qualifier`, which was read, and a point: a predicate or a token.
    pub(super) fn read_qualified(
        &mut self,
        qualifier: &str,
        qualifier_span: Span,
    ) -> Result<ArgumentKind, TextError> {
        let is_class = matches!(qualifier, "P" | "TextP");
        let enumeration = Enumeration::from_name(qualifier);
        if enumeration.is_none() && !is_class {
            let names = Enumeration::ALL.iter().map(|enumeration| enumeration.name());
            let guess = did_you_mean(qualifier, names.chain(["P", "TextP"]));
            let message = format!("there is no enumeration called {}{guess}", quoted(qualifier));
            return Err(TextError::invalid(qualifier_span, message));
        }
        self.require_mark('.', "a point")?;
        let (word, span) = self.read_word(&format!("a word of `{qualifier}`"))?;
        if let Some(enumeration) = enumeration {
            if enumeration == Enumeration::Cardinality && self.lexeme == Lexeme::Mark('(') {
                return self.read_with_cardinality(word);
            }
            let token = enumeration.token(word).ok_or_else(|| {
                let guess = did_you_mean(word, enumeration.words().iter().copied());
                TextError::invalid(span, format!("`{qualifier}` has no {}{guess}", quoted(word)))
            })?;
            return Ok(ArgumentKind::Token(token));
        }
        let tests = Test::ALL.iter().filter(|test| !matches!(test, Test::And | Test::Or));
        let Some(test) = tests.clone().find(|test| test.name() == word) else {
            let guess = did_you_mean(word, tests.map(|test| test.name()));
            let message = format!("there is no predicate called {}{guess}", quoted(word));
            return Err(TextError::invalid(span, message));
        };
        let call = self.read_call(word, span)?;
        self.read_conjunctions(Predicate { test: *test, arguments: call.arguments, span })
    }

    /// Reads `.and(...)`, `.or(...)` and `.negate()` behind `predicate`, as often as they come.
    fn read_conjunctions(&mut self, mut predicate: Predicate) -> Result<ArgumentKind, TextError> {
        let mut height = self.height;
        while self.skip_mark('.')? {
            let (name, span) = self.read_word("`and`, `or` or `negate`")?;
            let call = self.read_call(name, span)?;
            let test = match (name, &*call.arguments) {
                ("negate", []) => Test::Not,
                ("and", [Argument { kind: ArgumentKind::Predicate(_), .. }]) => Test::And,
                ("or", [Argument { kind: ArgumentKind::Predicate(_), .. }]) => Test::Or,
                ("negate", _) => return Err(TextError::invalid(span, "`negate` takes ()")),
                ("and" | "or", _) => {
                    let message = format!("`{name}` behind a predicate takes (predicate)");
                    return Err(TextError::invalid(span, message));
                }
                _ => {
                    let found = quoted(name);
                    let message =
                        format!("expected `and`, `or` or `negate` behind a predicate, found {found}");
                    return Err(TextError::invalid(span, message));
                }
            };
            if predicate.test == test && test != Test::Not {
                // A chain of the same test is one list.
                predicate.arguments.extend(call.arguments);
                height = height.max(self.height);
                continue;
            }
            // The predicate so far goes one level down, and everything inside it.
            height = self.height.max(height + 1);
            if self.depth + height > self.depth_max {
                return Err(self.too_deep(span));
            }
            let inner = Argument { span: predicate.span, kind: ArgumentKind::Predicate(predicate) };
            let mut arguments = vec![inner];
            arguments.extend(call.arguments);
            predicate = Predicate { test, arguments, span };
        }
        self.height = height;
        Ok(ArgumentKind::Predicate(predicate))
    }
}
