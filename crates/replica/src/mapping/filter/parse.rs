//! Parse: from the text of a condition to an expression.

use crate::mapping::filter::expression::{ConditionError, Expression, Operand, OperandKind};
use crate::mapping::filter::token::{Token, TokenKind, tokens};
use evergraph_graph::filter::Comparison;
use std::ops::Range;

/// Brackets and `not`s that may be open at once: parsing and evaluating recurse as deep.
const DEPTH_MAX: usize = 64;

/// Words that are no columns, unless they are in quotes.
const RESERVED: [&str; 9] = ["and", "or", "not", "in", "is", "null", "true", "false", "between"];

/// Reads the condition `text`.
///
/// # Errors
/// The first place that doesn't fit, with what is expected there.
pub fn parse(text: &str) -> Result<Expression, ConditionError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, end: text.len(), depth: 0 };
    let expression = parser.disjunction()?;
    match parser.tokens.first() {
        None => Ok(expression),
        Some(_) => Err(parser.unexpected("`and`, `or` or the end")),
    }
}

struct Parser<'a> {
    /// Those that are still to be read.
    tokens: &'a [Token],
    /// Where the text ends.
    end: usize,
    depth: usize,
}

impl Parser<'_> {
    fn disjunction(&mut self) -> Result<Expression, ConditionError> {
        let mut parts = vec![self.conjunction()?];
        while self.takes_word("or") {
            parts.push(self.conjunction()?);
        }
        Ok(if parts.len() > 1 { Expression::Or(parts) } else { parts.remove(0) })
    }

    fn conjunction(&mut self) -> Result<Expression, ConditionError> {
        let mut parts = vec![self.negation()?];
        while self.takes_word("and") {
            parts.push(self.negation()?);
        }
        Ok(if parts.len() > 1 { Expression::And(parts) } else { parts.remove(0) })
    }

    fn negation(&mut self) -> Result<Expression, ConditionError> {
        let at = self.at();
        if self.takes_word("not") {
            let inner = self.deeper(at, Self::negation)?;
            return Ok(Expression::Not(Box::new(inner)));
        }
        if self.takes_sign("(") {
            let inner = self.deeper(at, Self::disjunction)?;
            if !self.takes_sign(")") {
                return Err(self.unexpected("`and`, `or` or `)`"));
            }
            return Ok(inner);
        }
        self.predicate()
    }

    fn deeper(
        &mut self,
        at: Range<usize>,
        parse: fn(&mut Self) -> Result<Expression, ConditionError>,
    ) -> Result<Expression, ConditionError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let why = format!("more than {DEPTH_MAX} brackets and `not`s within each other");
            return Err(ConditionError { at, why });
        }
        let inner = parse(self)?;
        self.depth -= 1;
        Ok(inner)
    }

    fn predicate(&mut self) -> Result<Expression, ConditionError> {
        let left = self.operand()?;
        if let Some(comparison) = self.takes_comparison() {
            let right = self.operand()?;
            return Ok(Expression::Compare { left, comparison, right });
        }
        if self.takes_word("is") {
            let is_negated = self.takes_word("not");
            if !self.takes_word("null") {
                return Err(self.unexpected("`null`: of `is`, `is null` and `is not null` are known"));
            }
            return Ok(Expression::IsNull { operand: left, is_negated });
        }
        if self.takes_word("in") {
            return self.list(left, false);
        }
        if self.takes_word("not") {
            if !self.takes_word("in") {
                return Err(self.unexpected("`in`, as in `not in (1, 2)`"));
            }
            return self.list(left, true);
        }
        match (&left.kind, self.tokens.first()) {
            // A text or a number by itself is no condition.
            (OperandKind::Text(_) | OperandKind::Number(_), _) => Err(self.unexpected("a comparison")),
            (_, None) => Ok(Expression::Truth(left)),
            (_, Some(Token { kind: TokenKind::Sign(")"), .. })) => Ok(Expression::Truth(left)),
            (_, Some(Token { kind: TokenKind::Word(word), .. })) if word == "and" || word == "or" => {
                Ok(Expression::Truth(left))
            }
            _ => Err(self.unexpected("= <> < <= > >=, `in` or `is null`")),
        }
    }

    fn list(&mut self, operand: Operand, is_negated: bool) -> Result<Expression, ConditionError> {
        if !self.takes_sign("(") {
            return Err(self.unexpected("`(` and a list of literals"));
        }
        let mut list = Vec::new();
        loop {
            let element = self.operand()?;
            if matches!(element.kind, OperandKind::Column { .. }) {
                return Err(ConditionError {
                    at: element.at,
                    why: "the list behind `in` has literals: compare with a column by `=`".to_owned(),
                });
            }
            list.push(element);
            if self.takes_sign(")") {
                return Ok(Expression::In { operand, list, is_negated });
            }
            if !self.takes_sign(",") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
    }

    fn operand(&mut self) -> Result<Operand, ConditionError> {
        let expected = "a column, a text in single quotes or a number";
        let Some((Token { kind, at }, rest)) = self.tokens.split_first() else {
            return Err(self.unexpected(expected));
        };
        let at = at.clone();
        let kind = match kind {
            TokenKind::QuotedName(name) => OperandKind::Column { name: name.clone(), is_quoted: true },
            TokenKind::Text(text) => OperandKind::Text(text.clone()),
            TokenKind::Number(number) => OperandKind::Number(number.clone()),
            TokenKind::Word(word) if word == "true" || word == "false" => OperandKind::Bool(word == "true"),
            TokenKind::Word(word) if word == "null" => {
                let why = "null is equal to nothing, not even to null: write `is null` or `is not null`";
                return Err(ConditionError { at, why: why.to_owned() });
            }
            TokenKind::Word(word) if !RESERVED.contains(&word.as_str()) => {
                OperandKind::Column { name: word.clone(), is_quoted: false }
            }
            TokenKind::Sign(sign @ ("-" | "+")) => {
                let Some((Token { kind: TokenKind::Number(number), at: end }, rest)) = rest.split_first()
                else {
                    return Err(self.unexpected("a number: no calculations are known"));
                };
                let number = if *sign == "-" { format!("-{number}") } else { number.clone() };
                let at = at.start..end.end;
                self.tokens = rest;
                return Ok(Operand { kind: OperandKind::Number(number), at });
            }
            _ => return Err(self.unexpected(expected)),
        };
        self.tokens = rest;
        match self.tokens.first() {
            Some(Token { kind: TokenKind::Sign("("), at: call })
                if matches!(kind, OperandKind::Column { .. }) =>
            {
                let why = "no functions are known: a condition has columns and literals";
                Err(ConditionError { at: at.start..call.end, why: why.to_owned() })
            }
            Some(Token { kind: TokenKind::Text(_), at: text })
                if matches!(kind, OperandKind::Column { .. }) =>
            {
                let why = "write the text alone: its type is that of the column that it is compared with";
                Err(ConditionError { at: at.start..text.end, why: why.to_owned() })
            }
            Some(Token { kind: TokenKind::Sign("::"), at: cast }) => {
                let why =
                    "no conversions are known: a text has the type of the column that it is compared with";
                Err(ConditionError { at: cast.clone(), why: why.to_owned() })
            }
            _ => Ok(Operand { kind, at }),
        }
    }

    fn takes_comparison(&mut self) -> Option<Comparison> {
        let Some(Token { kind: TokenKind::Sign(sign), .. }) = self.tokens.first() else { return None };
        let comparison = match *sign {
            "=" => Comparison::Equal,
            "<>" | "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.tokens = &self.tokens[1..];
        Some(comparison)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes(|kind| matches!(kind, TokenKind::Word(found) if found == word))
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        self.takes(|kind| matches!(kind, TokenKind::Sign(found) if *found == sign))
    }

    fn takes(&mut self, is_it: impl Fn(&TokenKind) -> bool) -> bool {
        match self.tokens.split_first() {
            Some((token, rest)) if is_it(&token.kind) => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    /// Where the next token stands.
    fn at(&self) -> Range<usize> {
        self.tokens.first().map_or(self.end..self.end, |token| token.at.clone())
    }

    fn unexpected(&self, expected: &str) -> ConditionError {
        let hint = match self.tokens.first().map(|token| &token.kind) {
            Some(TokenKind::Word(word)) if word == "between" => "; write `a >= 1 and a <= 2`",
            Some(TokenKind::Word(word)) if word == "like" || word == "ilike" => "; patterns are not known",
            _ => "",
        };
        ConditionError { at: self.at(), why: format!("{expected} expected{hint}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The expression in brackets, so that its structure shows.
    fn shape(expression: &Expression) -> String {
        let all = |parts: &[Expression], word: &str| {
            format!("({})", parts.iter().map(shape).collect::<Vec<_>>().join(word))
        };
        let operand = |operand: &Operand| match &operand.kind {
            OperandKind::Column { name, .. } => name.clone(),
            OperandKind::Text(text) => format!("'{text}'"),
            OperandKind::Number(number) => number.clone(),
            OperandKind::Bool(truth) => truth.to_string(),
        };
        match expression {
            Expression::And(parts) => all(parts, " and "),
            Expression::Or(parts) => all(parts, " or "),
            Expression::Not(inner) => format!("not {}", shape(inner)),
            Expression::Compare { left, comparison, right } => {
                format!("{} {comparison:?} {}", operand(left), operand(right))
            }
            Expression::In { operand: left, list, is_negated } => {
                let list: Vec<String> = list.iter().map(operand).collect();
                format!("{} {}in {}", operand(left), if *is_negated { "not " } else { "" }, list.join(","))
            }
            Expression::IsNull { operand: left, is_negated } => {
                format!("{} is {}null", operand(left), if *is_negated { "not " } else { "" })
            }
            Expression::Truth(truth) => operand(truth),
        }
    }

    #[test]
    fn not_binds_closer_than_and_and_and_closer_than_or() {
        for (text, expected) in [
            ("a = 1 or b = 2 and not c = 3", "(a Equal 1 or (b Equal 2 and not c Equal 3))"),
            ("(A or b) and c", "((a or b) and c)"),
            ("\"A b\" IS NOT NULL", "A b is not null"),
            ("a not in (1, -2, 'x') or not not a", "(a not in 1,-2,'x' or not not a)"),
            ("1 >= a and a <> .5e1", "(1 GreaterOrEqual a and a NotEqual .5e1)"),
            ("active", "active"),
            ("true and a is null", "(true and a is null)"),
        ] {
            assert_eq!(shape(&parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place_and_what_is_expected() {
        for (text, expected) in [
            ("", "at the end: a column, a text in single quotes or a number expected"),
            ("a =", "at the end: a column, a text"),
            ("a = 1 b", "character 7, \"b\": `and`, `or` or the end expected"),
            ("a 1", "character 3, \"1\": = <> < <= > >=, `in` or `is null` expected"),
            ("1", "at the end: a comparison expected"),
            (
                "a = null",
                "character 5, \"null\": null is equal to nothing, not even to null: write `is null`",
            ),
            ("a is true", "character 6, \"true\": `null`: of `is`"),
            ("a in 1", "character 6, \"1\": `(` and a list of literals expected"),
            ("a in ()", "character 7, \")\": a column, a text"),
            ("a in (1 2)", "character 9, \"2\": `,` or `)` expected"),
            ("a in (b)", "character 7, \"b\": the list behind `in` has literals"),
            ("a not 1", "character 7, \"1\": `in`, as in"),
            ("(a = 1", "at the end: `and`, `or` or `)` expected"),
            ("a = -b", "character 5, \"-\": a number: no calculations are known"),
            ("lower(a) = 'b'", "character 1, \"lower(\": no functions are known"),
            ("a = date '2024-01-01'", "character 5, \"date '2024-01-01'\": write the text alone"),
            ("a::int = 1", "character 2, \"::\": no conversions are known"),
            (
                "a between 1 and 2",
                "character 3, \"between\": = <> < <= > >=, `in` or `is null` expected; write `a >= 1",
            ),
            ("a like 'b'", "character 3, \"like\": = <> < <= > >=, `in` or `is null` expected; patterns"),
            ("a = 'b' and and", "character 13, \"and\": a column, a text"),
        ] {
            let error = parse(text).unwrap_err().describe(text);
            assert!(error.starts_with(expected), "{text}\n  got {error}\n  not {expected}");
        }
    }

    #[test]
    fn depth_has_a_limit_and_length_has_none() {
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&nested(64)).is_ok());
        let error = parse(&nested(65)).unwrap_err();
        assert_eq!(
            (error.at, error.why.as_str()),
            (64..65, "more than 64 brackets and `not`s within each other")
        );
        assert!(parse(&nested(100_000)).is_err());
        assert!(parse(&"not ".repeat(100_000)).is_err());
        assert!(parse(&vec!["a = 1"; 100_000].join(" or ")).is_ok());
    }

    proptest! {
        #[test]
        fn random_text_is_a_condition_or_an_error(text in "(a|b|and|or|not|in|is|null|=|<|\\(|\\)|,|1|'x'| |-){0,20}") {
            if let Err(error) = parse(&text) {
                prop_assert!(!error.describe(&text).is_empty());
            }
        }
    }
}
