//! Token: the words, literals and signs of a condition.

use crate::mapping::filter::expression::ConditionError;
use std::ops::Range;

/// A part of a condition, and its bytes in the text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: Range<usize>,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind {
    /// A word without quotes, folded to lower case.
    Word(String),
    /// A name in double quotes.
    QuotedName(String),
    /// A text in single quotes.
    Text(String),
    /// Digits, perhaps with a point and an exponent.
    Number(String),
    /// A sign: `=`, `<>`, `(` and others.
    Sign(&'static str),
}

/// Signs, the longer ones first.
const SIGNS: [&str; 13] = ["<>", "!=", "<=", ">=", "=", "<", ">", "(", ")", ",", "-", "+", "::"];

/// The tokens of `text`.
///
/// # Errors
/// A quote that isn't closed, or a character that begins no token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ConditionError> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(letter) = text[start..].chars().next() {
        let rest = &text[start..];
        let (kind, length) = match letter {
            _ if letter.is_whitespace() => {
                start += letter.len_utf8();
                continue;
            }
            '\'' => {
                let (text, length) = quoted(rest, '\'', start)?;
                (TokenKind::Text(text), length)
            }
            '"' => {
                let (name, length) = quoted(rest, '"', start)?;
                (TokenKind::QuotedName(name), length)
            }
            '0'..='9' | '.' => {
                let length = number_length(rest);
                (TokenKind::Number(rest[..length].to_owned()), length)
            }
            _ if letter.is_alphabetic() || letter == '_' => {
                let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
                let length = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
                // PostgreSQL folds ASCII letters only, in databases with UTF-8.
                (TokenKind::Word(rest[..length].to_ascii_lowercase()), length)
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(&sign) => (TokenKind::Sign(sign), sign.len()),
                None => {
                    let why = "a condition has columns, literals, = <> < <= > >=, in, is null, and, or, not and brackets";
                    return Err(ConditionError { at: start..start + letter.len_utf8(), why: why.to_owned() });
                }
            },
        };
        tokens.push(Token { kind, at: start..start + length });
        start += length;
    }
    Ok(tokens)
}

/// What stands between the quote at the beginning of `rest` and the one that closes it, and how many bytes both and all
/// between them have. A quote that is doubled is one.
fn quoted(rest: &str, quote: char, start: usize) -> Result<(String, usize), ConditionError> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            text.push(letter);
        } else if letters.next_if(|(_, next)| *next == quote).is_some() {
            text.push(quote);
        } else {
            return Ok((text, at + 1));
        }
    }
    let why = format!("this quote is never closed; a quote inside is written twice: {quote}{quote}");
    Err(ConditionError { at: start..start + 1, why })
}

/// How many bytes the number at the beginning of `rest` has.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent_end = digits(end + 1 + sign.min(bytes.len() - end - 1));
        if exponent_end > end + 1 + sign {
            end = exponent_end;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_are_folded_and_quoted_names_are_not() {
        let word = |word: &str| TokenKind::Word(word.to_owned());
        assert_eq!(kinds("Größe_1$ AND"), [word("größe_1$"), word("and")]);
        assert_eq!(
            kinds(r#""a ""B""" 'it''s'"#),
            [TokenKind::QuotedName("a \"B\"".to_owned()), TokenKind::Text("it's".to_owned())]
        );
    }

    #[test]
    fn numbers_end_where_they_are_no_numbers_any_more() {
        let number = |number: &str| TokenKind::Number(number.to_owned());
        let word = |word: &str| TokenKind::Word(word.to_owned());
        assert_eq!(kinds("12 .5 1.5e-3 7."), [number("12"), number(".5"), number("1.5e-3"), number("7.")]);
        assert_eq!(kinds("1e 1e+"), [number("1"), word("e"), number("1"), word("e"), TokenKind::Sign("+")]);
        assert_eq!(kinds("a<=-1"), [word("a"), TokenKind::Sign("<="), TokenKind::Sign("-"), number("1")]);
    }

    #[test]
    fn what_is_no_token_is_named_by_its_place() {
        let error = tokens("a = 'b").unwrap_err();
        assert_eq!(error.at, 4..5);
        assert!(error.describe("a = 'b").starts_with("character 5, \"'\": this quote is never closed"));
        assert_eq!(
            tokens("é = §").unwrap_err().describe("é = §").split(':').next(),
            Some("character 5, \"§\"")
        );
    }

    proptest! {
        #[test]
        fn random_text_gives_tokens_that_cover_it_or_an_error(text in r#"[a-zé0-9.eE+'"<>=!()§ -]{0,30}"#) {
            let Ok(tokens) = tokens(&text) else { return Ok(()) };
            let mut end = 0;
            for token in tokens {
                prop_assert!(text[end..token.at.start].trim().is_empty());
                prop_assert!(!token.at.is_empty());
                end = token.at.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
