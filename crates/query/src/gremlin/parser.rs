//! Parser: turns text into calls. It knows calls and literals, not steps.
//!
//! ```text
//! script     query { [;] query }
//! query      g { . call } | ""
//! call       name ( [argument {, argument}] )
//! argument   literal | list | set | map | range | word | Enumeration.word | variable
//!            | [__ .] call { . call }              an anonymous traversal
//!            | g . call { . call }                 a query that runs before
//!            | [P. | TextP.] test ( ... ) { .and(...) | .or(...) | .negate() }
//!            | [new] Name ( setting : argument ... )
//! ```
//!
//! By recursive descent, and the depth is counted: a million brackets are an error, not a full stack.
//! Names of predicates are the only methods that the parser must tell from others, since `gt(1)` could
//! be a traversal. `not(x)` is a predicate if x is.

mod collection;
mod cursor;
mod predicate;
pub mod variable;

use evergraph_graph::value::{Value, ValueType};

use crate::error::{Span, TextError, quoted};
use crate::gremlin::call::{Argument, ArgumentKind, Call, Query, Strategy};
use crate::gremlin::lexer::Lexeme;
use crate::gremlin::literal;
use crate::gremlin::parser::cursor::Parser;
use crate::gremlin::token::{Cardinality, Enumeration};
use crate::stack::deeper;
use evergraph_graph::nearest::did_you_mean;

/// How much a text may ask of the parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseLimits {
    /// Bytes of the text; below 2^32 in any case.
    pub text_bytes_max: usize,
    /// Calls, lists, sets, maps and predicates around anything, whatever stack the thread has.
    pub depth_max: usize,
    /// Items of all ranges together.
    pub range_items_max: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { text_bytes_max: 1 << 20, depth_max: 256, range_items_max: 100_000 }
    }
}

/// Reads one query.
///
/// Cost: one pass. What is returned takes at most some 150 times the text's bytes, and ranges besides.
///
/// # Errors
/// If the text is no query, or more than one, or passes a limit.
pub fn parse(text: &str, limits: &ParseLimits) -> Result<Query, TextError> {
    let read = |parser: &mut Parser<'_>| {
        let query = parser.read_query()?;
        parser.skip_mark(';')?;
        parser.require_end("`.` or the end of the query")?;
        Ok(query)
    };
    begin(text, limits).and_then(|mut parser| read(&mut parser)).map_err(|error| error.within(text))
}

/// Reads all queries of a text; semicolons between them may be missing.
///
/// # Errors
/// If a part of the text is no query, or it passes a limit.
pub fn parse_script(text: &str, limits: &ParseLimits) -> Result<Vec<Query>, TextError> {
    let read = |parser: &mut Parser<'_>| {
        let mut queries = vec![parser.read_query()?];
        loop {
            parser.skip_mark(';')?;
            if parser.lexeme == Lexeme::End {
                return Ok(queries);
            }
            queries.push(parser.read_query()?);
        }
    };
    begin(text, limits).and_then(|mut parser| read(&mut parser)).map_err(|error| error.within(text))
}

/// The parser of `text`, unless it is too long.
fn begin<'a>(text: &'a str, limits: &ParseLimits) -> Result<Parser<'a>, TextError> {
    let bytes_max = limits.text_bytes_max.min(u32::MAX as usize);
    if text.len() > bytes_max {
        let message = format!("a query of {} bytes is past the limit of {bytes_max}", text.len());
        return Err(TextError::limit(Span::default(), message));
    }
    Parser::new(text, limits.depth_max, limits.range_items_max)
}

impl<'a> Parser<'a> {
    fn read_query(&mut self) -> Result<Query, TextError> {
        match self.lexeme {
            Lexeme::Word("g") => {
                self.advance()?;
                Ok(Query { calls: self.read_chain()? })
            }
            Lexeme::String("") => {
                self.advance()?;
                Ok(Query::default())
            }
            _ => Err(self.no_query()),
        }
    }

    /// Reads `.name(arguments)` as often as it comes.
    fn read_chain(&mut self) -> Result<Vec<Call>, TextError> {
        let (mut calls, mut height) = (Vec::new(), 0);
        while self.skip_mark('.')? {
            let (name, span) = self.read_word("the name of a step")?;
            calls.push(self.read_call(name, span)?);
            height = height.max(self.height);
        }
        self.height = height;
        Ok(calls)
    }

    /// Reads the arguments of `name`, which was read.
    fn read_call(&mut self, name: &'a str, span: Span) -> Result<Call, TextError> {
        if self.lexeme != Lexeme::Mark('(') {
            return Err(self.expected(&format!("`(` after {}", quoted(name))));
        }
        let arguments = self.read_items('(', ')')?;
        Ok(Call { name: name.into(), arguments, span })
    }

    /// Reads arguments with commas between them and marks around.
    fn read_items(&mut self, open: char, close: char) -> Result<Vec<Argument>, TextError> {
        self.enter()?;
        self.require_mark(open, "an argument list")?;
        let (mut items, mut height) = (Vec::new(), 0);
        if !self.skip_mark(close)? {
            loop {
                items.push(self.read_argument()?);
                height = height.max(self.height);
                if self.skip_mark(close)? {
                    break;
                }
                if !self.skip_mark(',')? {
                    return Err(self.expected(&format!("`,` or `{close}`")));
                }
            }
        }
        self.leave(height);
        Ok(items)
    }

    fn read_argument(&mut self) -> Result<Argument, TextError> {
        deeper(|| self.read_argument_here())
    }

    fn read_argument_here(&mut self) -> Result<Argument, TextError> {
        let start = self.span;
        self.height = 0;
        let kind = match self.lexeme {
            Lexeme::Word(word) => {
                self.advance()?;
                self.read_from_word(word, start)?
            }
            Lexeme::Integer(text) => {
                let value = literal::integer(text).map_err(|reason| TextError::invalid(start, reason))?;
                self.advance()?;
                self.read_range(value, start)?
            }
            Lexeme::Float(text) => {
                let value = literal::float(text).map_err(|reason| TextError::invalid(start, reason))?;
                self.advance()?;
                ArgumentKind::Scalar(value)
            }
            Lexeme::SignedInfinity { negative } => {
                self.advance()?;
                ArgumentKind::Scalar(Value::F64(if negative { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            Lexeme::String(_) => {
                let text = self.read_string("a string")?;
                self.read_range(Value::String(text), start)?
            }
            Lexeme::Mark('[') => self.read_list_or_map()?,
            Lexeme::Mark('{') => ArgumentKind::Set(self.read_items('{', '}')?),
            _ => return Err(self.expected("an argument")),
        };
        Ok(Argument { kind, span: start.to(self.last) })
    }

    /// Reads what begins with `word`, which was read.
    fn read_from_word(&mut self, word: &'a str, span: Span) -> Result<ArgumentKind, TextError> {
        let follows = match self.lexeme {
            Lexeme::Mark(mark @ ('(' | '.')) => Some(mark),
            _ => None,
        };
        Ok(match (word, follows) {
            ("true", None) => ArgumentKind::Scalar(Value::Bool(true)),
            ("false", None) => ArgumentKind::Scalar(Value::Bool(false)),
            ("null", None) => ArgumentKind::Null,
            ("NaN", None) => ArgumentKind::Scalar(Value::F64(f64::NAN)),
            ("Infinity", None) => ArgumentKind::Scalar(Value::F64(f64::INFINITY)),
            ("new", None) => {
                let (name, _) = self.read_word("the name of a strategy")?;
                self.read_strategy(name)?
            }
            ("g" | "__", Some('.')) => self.read_rooted(word)?,
            ("g" | "__", _) => return Err(self.expected(&format!("`.` after `{word}`"))),
            ("datetime" | "DateTime", Some('(')) => {
                self.read_text_call(ValueType::DateTime, ArgumentKind::Now)?
            }
            ("UUID", Some('(')) => self.read_text_call(ValueType::Uuid, ArgumentKind::NewUuid)?,
            ("single" | "set" | "list", Some('(')) => self.read_with_cardinality(word)?,
            (_, Some('(')) if self.is_setting_next() => self.read_strategy(word)?,
            (_, Some('(')) => self.read_nested(word, span)?,
            (_, Some('.')) if !self.lexer.is_next(b'.') => self.read_qualified(word, span)?,
            (_, _) => ArgumentKind::Word(word.into()),
        })
    }

    /// Reads the calls after `__` or `g`, at least one.
    fn read_rooted(&mut self, root: &str) -> Result<ArgumentKind, TextError> {
        let calls = self.read_chain()?;
        Ok(if root == "g" { ArgumentKind::Query(Query { calls }) } else { ArgumentKind::Traversal(calls) })
    }

    /// Reads the argument of `datetime` or `UUID`: a text, or nothing.
    fn read_text_call(
        &mut self,
        value_type: ValueType,
        without: ArgumentKind,
    ) -> Result<ArgumentKind, TextError> {
        self.require_mark('(', "a text in parentheses")?;
        if self.skip_mark(')')? {
            return Ok(without);
        }
        let span = self.span;
        let text = self.read_string("a string or `)`")?;
        let value = Value::parse(&text, value_type);
        let value = value.map_err(|error| TextError::invalid(span, error.to_string()))?;
        self.require_mark(')', "the end of the call")?;
        Ok(ArgumentKind::Scalar(value))
    }

    /// Reads the value in parentheses behind `word`, which names a cardinality.
    fn read_with_cardinality(&mut self, word: &str) -> Result<ArgumentKind, TextError> {
        let span = self.last;
        let Some(cardinality) = Cardinality::from_word(word) else {
            let guess = did_you_mean(word, Enumeration::Cardinality.words().iter().copied());
            return Err(TextError::invalid(span, format!("`Cardinality` has no {}{guess}", quoted(word))));
        };
        let items = self.read_items('(', ')')?;
        let count = items.len();
        let [value] = <[Argument; 1]>::try_from(items).map_err(|_| {
            TextError::invalid(span, format!("`{word}` takes (value), and was given {count} arguments"))
        })?;
        Ok(ArgumentKind::WithCardinality(cardinality, Box::new(value)))
    }

    /// Whether `(name :` comes next: the settings of a strategy, not the arguments of a step.
    fn is_setting_next(&self) -> bool {
        let mut ahead = self.lexer.clone();
        matches!(ahead.next_lexeme(), Ok((Lexeme::Word(_), _))) && ahead.is_next(b':')
    }

    /// Reads the settings of the strategy `name`, if there are any.
    fn read_strategy(&mut self, name: &str) -> Result<ArgumentKind, TextError> {
        let (mut settings, mut height) = (Vec::new(), 0);
        if self.lexeme == Lexeme::Mark('(') {
            self.enter()?;
            self.advance()?;
            while !self.skip_mark(')')? {
                if !settings.is_empty() {
                    self.require_mark(',', "the next setting")?;
                }
                let (setting, _) = self.read_word("the name of a setting")?;
                self.require_mark(':', "the setting's value")?;
                settings.push((Box::from(setting), self.read_argument()?));
                height = height.max(self.height);
            }
            self.leave(height);
        }
        Ok(ArgumentKind::Strategy(Strategy { name: name.into(), settings }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn printed(text: &str) -> String {
        parse(text, &ParseLimits::default()).expect(text).to_string()
    }

    /// The arguments of `g.f(text)`, printed.
    fn argument(text: &str) -> String {
        let printed = printed(&format!("g.f({text})"));
        printed.strip_prefix("g.f(").and_then(|rest| rest.strip_suffix(")")).expect(text).to_owned()
    }

    fn refused(text: &str) -> String {
        parse(text, &ParseLimits::default()).expect_err(text).to_string()
    }

    #[test]
    fn a_chain_is_a_call_each() {
        let query = parse("g.V(1).out('a' , \"b\")\n // why\n .count( )", &ParseLimits::default()).unwrap();
        let text = |text: &str| ArgumentKind::Scalar(text.into());
        assert_eq!(
            query.calls,
            [
                Call::new("V", [ArgumentKind::Scalar(1_i32.into())]),
                Call::new("out", [text("a"), text("b")]),
                Call::new("count", []),
            ]
        );
        assert_eq!(query.calls[1].span, Span { start: 7, end: 10 });
        assert_eq!(query.calls[1].arguments[1].span, Span { start: 17, end: 20 });
    }

    #[test]
    fn every_literal_is_read() {
        for (text, expected) in [
            (
                "1, 1l, 0x10, 1.5, 1f, 1.50m, 9223372036854775808",
                "1, 1l, 16, 1.5, 1.0f, 1.50m, 9223372036854775808n",
            ),
            ("NaN, Infinity, +Infinity, -Infinity", "NaN, Infinity, Infinity, -Infinity"),
            ("true, false, null", "true, false, null"),
            ("'it\\'s', \"\"", "\"it's\", \"\""),
            ("[], [1, [2]], {}, {1, 1}", "[], [1, [2]], {}, {1, 1}"),
            ("1..3, 'c'..'a'", "[1, 2, 3], [\"c\", \"b\", \"a\"]"),
            ("datetime('2024-02-29'), DateTime()", "datetime(\"2024-02-29T00:00:00Z\"), datetime()"),
            (
                "UUID(), UUID('f47af10b-58cc-4372-a567-0f02b2f3d479')",
                "UUID(), UUID(\"f47af10b-58cc-4372-a567-0f02b2f3d479\")",
            ),
        ] {
            assert_eq!(argument(text), expected, "{text}");
        }
    }

    #[test]
    fn a_map_has_keys_of_many_kinds() {
        assert_eq!(
            argument("[a: 1, 'b c': 2, T.id: 3, (label): 4, 5: 6, (7l): 8, true: 9, g: 10, [1]: 2, {}: [:]]"),
            "[\"a\": 1, \"b c\": 2, (T.id): 3, (label): 4, (5): 6, (7l): 8, \"true\": 9, \"g\": 10, \
             ([1]): 2, ({}): [:]]"
        );
        assert_eq!(
            argument("[Direction.from: x, (OUT): single(1)]"),
            "[(Direction.OUT): x, (OUT): Cardinality.single(1)]"
        );
    }

    #[test]
    fn tokens_traversals_and_predicates_are_told_apart() {
        for (text, expected) in [
            ("desc, Order.desc, GType.bigInt", "desc, Order.desc, GType.BIGINT"),
            ("out('a').in(), __.out()", "__.out(\"a\").in(), __.out()"),
            ("gt(1), P.gt(1), startingWith('a')", "P.gt(1), P.gt(1), TextP.startingWith(\"a\")"),
            ("P.startingWith('a'), TextP.gt(1)", "TextP.startingWith(\"a\"), P.gt(1)"),
            ("not(gt(1)), not(out()), P.not(eq(x))", "P.not(P.gt(1)), __.not(__.out()), P.not(P.eq(x))"),
            ("and(gt(1)), or(out())", "__.and(P.gt(1)), __.or(__.out())"),
            (
                "gt(1).and(lt(5)).and(neq(3)).or(eq(9)).negate()",
                "P.not(P.gt(1).and(P.lt(5)).and(P.neq(3)).or(P.eq(9)))",
            ),
            (
                "set(1), Cardinality.list('x'), set, Cardinality.set",
                "Cardinality.set(1), Cardinality.list(\"x\"), set, Cardinality.set",
            ),
            ("g.V().next()", "g.V().next()"),
            (
                "new ReadOnlyStrategy, SeedStrategy(seed: 1), new S(a: out(), b: [x])",
                "new ReadOnlyStrategy(), new SeedStrategy(seed: 1), new S(a: __.out(), b: [x])",
            ),
            ("ReadOnlyStrategy()", "__.ReadOnlyStrategy()"),
        ] {
            assert_eq!(argument(text), expected, "{text}");
        }
        assert_eq!(printed("g.tx().commit()"), "g.tx().commit()");
        assert_eq!((printed("g"), printed("''; ")), ("g".to_owned(), "g".to_owned()));
    }

    #[test]
    fn a_script_has_queries_with_or_without_semicolons() {
        let script = |text: &str| -> Vec<String> {
            let queries = parse_script(text, &ParseLimits::default()).expect(text);
            queries.iter().map(Query::to_string).collect()
        };
        assert_eq!(script("g.V();g.E()\ng.tx().rollback();"), ["g.V()", "g.E()", "g.tx().rollback()"]);
        assert_eq!(
            refused("g.V(); g.E()"),
            "line 1, column 8: expected `.` or the end of the query, found `g`"
        );
    }

    #[test]
    fn what_was_expected_is_told_with_its_column() {
        for (text, expected) in [
            ("", "line 1, column 1: expected `g`, with which a query begins, found the end of the text"),
            ("V()", "line 1, column 1: expected `g`, with which a query begins, found `V`"),
            ("g.V().", "line 1, column 7: expected the name of a step, found the end of the text"),
            ("g.V", "line 1, column 4: expected `(` after `V`, found the end of the text"),
            ("g.V(1 2)", "line 1, column 7: expected `,` or `)`, found the number `2`"),
            ("g.V(1,)", "line 1, column 7: expected an argument, found `)`"),
            ("g.V([1 2])", "line 1, column 8: expected `,` or `]`, found the number `2`"),
            ("g.V([a: 1, 2])", "line 1, column 13: expected `:` and the value of a key, found `]`"),
            ("g.V([(1), 2])", "line 1, column 9: expected `:` after the key `1`, found `,`"),
            (
                "g.V([out(): 1])",
                "line 1, column 6: a key is a name, a string, a number, a token, a list, a set or a map",
            ),
            (
                "g.V(Ordr.desc)",
                "line 1, column 5: there is no enumeration called `Ordr`; did you mean `Order`?",
            ),
            ("g.V(Order.dsc)", "line 1, column 11: `Order` has no `dsc`; did you mean `desc`?"),
            (
                "g.V(P.whitin(1))",
                "line 1, column 7: there is no predicate called `whitin`; did you mean `within`?",
            ),
            (
                "g.V(gt(1).neg())",
                "line 1, column 11: expected `and`, `or` or `negate` behind a predicate, found `neg`",
            ),
            ("g.V(gt(1).and(2))", "line 1, column 11: `and` behind a predicate takes (predicate)"),
            ("g.V(128b)", "line 1, column 5: `128b` is outside -128 to 127"),
            ("g.V('a\\u12')", "line 1, column 7: expected four hexadecimal digits after \\u"),
            (
                "g.V(datetime('2024-13-01'))",
                "line 1, column 14: \"2024-13-01\" is not a valid datetime: month 13 is outside 1 to 12",
            ),
            ("g.V(1..'a')", "line 1, column 5: the ends of a range are integers of 32 bits"),
            ("g.V(set(1, 2))", "line 1, column 5: `set` takes (value), and was given 2 arguments"),
            ("g.V(__)", "line 1, column 7: expected `.` after `__`, found `)`"),
        ] {
            assert_eq!(refused(text), expected, "{text}");
        }
    }

    #[test]
    fn long_names_are_cut_in_messages() {
        let name = "é".repeat(1000);
        let shown = format!("line 1, column 3: expected `(` after `{}…`", "é".repeat(20));
        assert!(refused(&format!("g.{name}")).starts_with(&shown.replace("column 3", "column 1003")));
    }

    #[test]
    fn texts_and_ranges_past_their_limits_are_refused() {
        let limits = ParseLimits { text_bytes_max: 20, depth_max: 2, range_items_max: 5 };
        let refused = |text: &str| parse(text, &limits).expect_err(text);
        let error = refused("g.V('aaaaaaaaaaaaaaa')");
        assert_eq!(error.to_string(), "line 1, column 1: a query of 22 bytes is past the limit of 20");
        assert_eq!(error.kind, evergraph_graph::error::ErrorKind::Limit);
        assert_eq!(
            refused("g.V(1..3, 1..3)").to_string(),
            "line 1, column 11: this range has more than the 2 items that are left to ranges"
        );
        assert_eq!(refused("g.a(b(c()))").to_string(), "line 1, column 8: nested more than 2 deep");
        assert_eq!(refused("g.a(lt(1).negate())").to_string(), "line 1, column 11: nested more than 2 deep");
        assert!(parse("g.a(lt(1)).b([1])", &limits).is_ok());
    }

    /// Opens and closes `count` levels around `1`.
    fn nested(open: &str, close: &str, count: usize) -> String {
        format!("g.f({}1{})", open.repeat(count), close.repeat(count))
    }

    #[test]
    fn a_million_levels_are_an_error_and_256_fit_into_half_a_mebibyte_of_stack() {
        let limits = ParseLimits { text_bytes_max: 1 << 26, ..ParseLimits::default() };
        let forms = [
            ("[", "]"),
            ("{", "}"),
            ("[a: ", "]"),
            ("[[1]: ", "]"),
            ("[(", "): 1]"),
            ("f(", ")"),
            ("__.f(", ")"),
            ("g.f(", ")"),
            ("eq(", ")"),
            ("P.not(", ")"),
            ("set(", ")"),
            ("new S(a: ", ")"),
            ("", ".negate()"),
        ];
        let check = move || {
            for (open, close) in forms {
                let open_first = if open.is_empty() { "eq(" } else { "" };
                let text = |count| {
                    let text = nested(open, close, count);
                    text.replacen(
                        "f(1",
                        &format!("f({open_first}1{}", if open.is_empty() { ")" } else { "" }),
                        1,
                    )
                };
                let deep = parse(&text(1_000_000), &limits).expect_err(open);
                assert_eq!(deep.message, "nested more than 256 deep", "{open}");
                let query = parse(&text(240), &limits).expect(open);
                assert_eq!(parse(&query.to_string(), &limits).as_ref(), Ok(&query), "{open}");
                assert_eq!(query.clone(), query);
            }
        };
        thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
    }

    /// Each turn of a chain lies around all before it, so levels within levels add up: with a count of
    /// open calls alone, 256 of each would make a tree 32,000 deep.
    #[test]
    fn turns_of_chains_count_with_the_levels_inside_them() {
        let mut text = "eq(1)".to_owned();
        for level in 0..200 {
            text = format!("P.not({text}){}", ".negate()".repeat(200 - level));
        }
        let limits = ParseLimits { text_bytes_max: 1 << 26, ..ParseLimits::default() };
        let error = parse(&format!("g.f({text})"), &limits).unwrap_err();
        assert_eq!(error.message, "nested more than 256 deep");
        let alternating = ".and(eq(1)).or(eq(2))".repeat(200_000);
        let error = parse(&format!("g.f(eq(0){alternating})"), &limits).unwrap_err();
        assert_eq!(error.message, "nested more than 256 deep");
        let same = ".and(eq(1))".repeat(200_000);
        let query = parse(&format!("g.f(eq(0){same})"), &limits).unwrap();
        let ArgumentKind::Predicate(predicate) = &query.calls[0].arguments[0].kind else { panic!("{query}") };
        assert_eq!(predicate.arguments.len(), 200_001);
    }
}
