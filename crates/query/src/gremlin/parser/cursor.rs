//! Cursor: the next lexeme, the one before it, and the depth of nesting.

use crate::error::{Span, TextError, quoted};
use crate::gremlin::language::other_language;
use crate::gremlin::lexer::{Lexeme, Lexer};
use crate::gremlin::literal;

/// A text that is being read.
pub(super) struct Parser<'a> {
    /// What is read.
    text: &'a str,
    pub(super) lexer: Lexer<'a>,
    /// The lexeme that comes next, and where it stands.
    pub(super) lexeme: Lexeme<'a>,
    pub(super) span: Span,
    /// Where the lexeme before it stands.
    pub(super) last: Span,
    /// Levels around what is read now.
    pub(super) depth: usize,
    /// Levels inside what was read last. With those around it they never pass `depth_max`.
    pub(super) height: usize,
    pub(super) depth_max: usize,
    pub(super) range_items_left: usize,
}

impl<'a> Parser<'a> {
    /// At the beginning of `text`, which has less than 2^32 bytes.
    pub(super) fn new(text: &'a str, depth_max: usize, range_items_max: usize) -> Result<Self, TextError> {
        let mut lexer = Lexer::new(text);
        let (lexeme, span) = lexer.next_lexeme().map_err(|error| in_other_language(text, error))?;
        Ok(Self {
            text,
            lexer,
            lexeme,
            span,
            last: Span::default(),
            depth: 0,
            height: 0,
            depth_max,
            range_items_left: range_items_max,
        })
    }

    pub(super) fn read_string(&mut self, expected: &str) -> Result<Box<str>, TextError> {
        let Lexeme::String(raw) = self.lexeme else { return Err(self.expected(expected)) };
        let text = literal::string(raw).map_err(|(offset, reason)| {
            let start = self.span.start + 1 + u32::try_from(offset).expect("texts have less than 2^32 bytes");
            TextError::invalid(Span { start, end: self.span.end }, reason)
        })?;
        self.advance()?;
        Ok(text.into())
    }

    pub(super) fn read_word(&mut self, expected: &str) -> Result<(&'a str, Span), TextError> {
        let Lexeme::Word(word) = self.lexeme else { return Err(self.expected(expected)) };
        let span = self.span;
        self.advance()?;
        Ok((word, span))
    }

    /// One level deeper. Whoever succeeds takes it back; after an error nobody asks.
    pub(super) fn enter(&mut self) -> Result<(), TextError> {
        if self.depth >= self.depth_max {
            return Err(self.too_deep(self.span));
        }
        self.depth += 1;
        Ok(())
    }

    /// Back from a level, inside of which there are `height` more.
    pub(super) fn leave(&mut self, height: usize) {
        self.depth -= 1;
        self.height = height + 1;
    }

    pub(super) fn too_deep(&self, span: Span) -> TextError {
        TextError::limit(span, format!("nested more than {} deep", self.depth_max))
    }

    pub(super) fn advance(&mut self) -> Result<(), TextError> {
        self.last = self.span;
        (self.lexeme, self.span) = self.lexer.next_lexeme()?;
        Ok(())
    }

    /// Steps over the next lexeme if it is `mark`.
    pub(super) fn skip_mark(&mut self, mark: char) -> Result<bool, TextError> {
        let found = self.lexeme == Lexeme::Mark(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn require_mark(&mut self, mark: char, before: &str) -> Result<(), TextError> {
        if self.skip_mark(mark)? { Ok(()) } else { Err(self.expected(&format!("`{mark}` and {before}"))) }
    }

    pub(super) fn require_end(&self, expected: &str) -> Result<(), TextError> {
        if self.lexeme == Lexeme::End { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// The error that something else than `expected` comes next.
    pub(super) fn expected(&self, expected: &str) -> TextError {
        let found = match self.lexeme {
            Lexeme::Word(word) => quoted(word),
            Lexeme::Integer(number) | Lexeme::Float(number) => format!("the number {}", quoted(number)),
            Lexeme::SignedInfinity { .. } => "the number Infinity".to_owned(),
            Lexeme::String(_) => "a string".to_owned(),
            Lexeme::Mark(mark) => format!("`{mark}`"),
            Lexeme::End => "the end of the text".to_owned(),
        };
        TextError::invalid(self.span, format!("expected {expected}, found {found}"))
    }

    /// The error that what comes next is no query.
    pub(super) fn no_query(&self) -> TextError {
        let begin = self.span.start as usize;
        in_other_language(&self.text[begin..], self.expected("`g`, with which a query begins"))
    }
}

/// What is said of `text` if it is a query in another language, and `error` if it is none.
fn in_other_language(text: &str, error: TextError) -> TextError {
    match other_language(text) {
        Some(message) => TextError { message, ..error },
        None => error,
    }
}
