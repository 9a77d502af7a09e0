//! Lists, maps and ranges.

use evergraph_graph::value::Value;

use crate::error::{Span, TextError, quoted};
use crate::gremlin::call::{Argument, ArgumentKind};
use crate::gremlin::lexer::Lexeme;
use crate::gremlin::literal::{self, RangeError};
use crate::gremlin::parser::cursor::Parser;

impl Parser<'_> {
    /// Reads a list or a map: its first colon tells.
    pub(super) fn read_list_or_map(&mut self) -> Result<ArgumentKind, TextError> {
        self.enter()?;
        self.require_mark('[', "a list or a map")?;
        if self.skip_mark(']')? {
            self.leave(0);
            return Ok(ArgumentKind::List(Vec::new()));
        }
        if self.skip_mark(':')? {
            self.require_mark(']', "the end of the empty map")?;
            self.leave(0);
            return Ok(ArgumentKind::Map(Vec::new()));
        }
        match self.read_item_or_key()? {
            item if self.lexeme == Lexeme::Mark(':') => self.read_entries(item).map(ArgumentKind::Map),
            Item::Key(key) => {
                let key = format!("`:` after the key {}", quoted(&key.to_string()));
                Err(self.expected(&key))
            }
            Item::Argument(first) => self.read_list_after(first).map(ArgumentKind::List),
        }
    }

    fn read_list_after(&mut self, first: Argument) -> Result<Vec<Argument>, TextError> {
        let (mut items, mut height) = (vec![first], self.height);
        while !self.skip_mark(']')? {
            if !self.skip_mark(',')? {
                return Err(self.expected("`,` or `]`"));
            }
            items.push(self.read_argument()?);
            height = height.max(self.height);
        }
        self.leave(height);
        Ok(items)
    }

    fn read_entries(&mut self, first: Item) -> Result<Vec<(Argument, Argument)>, TextError> {
        let (mut entries, mut key, mut height) = (Vec::new(), first, self.height);
        loop {
            self.require_mark(':', "the value of a key")?;
            let value = self.read_argument()?;
            height = height.max(self.height);
            entries.push((key.into_key()?, value));
            if self.skip_mark(']')? {
                self.leave(height);
                return Ok(entries);
            }
            if !self.skip_mark(',')? {
                return Err(self.expected("`,` or `]`"));
            }
            key = self.read_item_or_key()?;
            height = height.max(self.height);
        }
    }

    /// Reads what may be an item of a list or a key of a map.
    fn read_item_or_key(&mut self) -> Result<Item, TextError> {
        let start = self.span;
        if self.skip_mark('(')? {
            let key = self.read_argument()?;
            self.require_mark(')', "the end of the key")?;
            return Ok(Item::Key(key));
        }
        if let Lexeme::Word(word) = self.lexeme
            && self.lexer.is_next(b':')
            && word != "__"
        {
            // A name before a colon is a string, also where the word means something else.
            self.advance()?;
            self.height = 0;
            return Ok(Item::Key(Argument { kind: ArgumentKind::Scalar(word.into()), span: start }));
        }
        Ok(Item::Argument(self.read_argument()?))
    }

    /// Reads `..` and the other end of a range, if they come.
    pub(super) fn read_range(&mut self, first: Value, start: Span) -> Result<ArgumentKind, TextError> {
        if !(self.lexeme == Lexeme::Mark('.') && self.lexer.is_next(b'.')) {
            return Ok(ArgumentKind::Scalar(first));
        }
        self.advance()?;
        self.advance()?;
        let last = match self.lexeme {
            Lexeme::Integer(text) => {
                let value = literal::integer(text).map_err(|reason| TextError::invalid(self.span, reason))?;
                self.advance()?;
                value
            }
            _ => Value::String(self.read_string("the other end of the range")?),
        };
        let items = match (&first, &last) {
            (Value::String(first), Value::String(last)) => {
                literal::string_range(first, last, self.range_items_left)
            }
            _ => literal::integer_range(&first, &last, self.range_items_left),
        };
        let span = start.to(self.last);
        let items = items.map_err(|error| match error {
            RangeError::Ends(expected) => TextError::invalid(span, expected),
            RangeError::TooWide => {
                let left = self.range_items_left;
                TextError::limit(
                    span,
                    format!("this range has more than the {left} items that are left to ranges"),
                )
            }
        })?;
        self.range_items_left -= items.len();
        self.height = 1;
        let argument = |value| Argument { kind: ArgumentKind::Scalar(value), span };
        Ok(ArgumentKind::List(items.into_iter().map(argument).collect()))
    }
}

/// What stands before the first `:` or `,` of a list or map.
enum Item {
    /// In parentheses, or a name before a colon: a key and nothing else.
    Key(Argument),
    /// Either.
    Argument(Argument),
}

impl Item {
    fn into_key(self) -> Result<Argument, TextError> {
        let (Item::Key(key) | Item::Argument(key)) = self;
        match key.kind {
            ArgumentKind::Traversal(_)
            | ArgumentKind::Query(_)
            | ArgumentKind::Predicate(_)
            | ArgumentKind::Strategy(_) => {
                let message = "a key is a name, a string, a number, a token, a list, a set or a map";
                Err(TextError::invalid(key.span, message))
            }
            _ => Ok(key),
        }
    }
}
