//! `by()`: the value that a modulator takes from a traverser.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::step::element;
use crate::value::element_id::element_id;
use crate::value::item::{Item, Token};
use evergraph_graph::error::{Error, Result};
use std::sync::Arc;

/// A modulator, ready to run.
pub enum Projection {
    /// It itself.
    Itself,
    /// This item.
    Item(Item),
    /// A property, or what a map has at this key.
    Key(Arc<str>),
    /// A part of an element.
    Token(Token),
    /// A slot.
    Slot(usize),
    /// The first that a traversal gives.
    Child(Child),
    /// What counts otherwise, or null where nothing does.
    OrNull(Box<Projection>),
}

impl Projection {
    /// The modulated value of each row of `batch`; `None` if it is not productive for a row.
    ///
    /// # Errors
    /// What reading, or the traversal, may meet.
    pub fn of(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<Item>>> {
        let mut lacks = None;
        let (rows, column) = match self {
            Self::Itself => return Ok(batch.current.items().map(Some).collect()),
            Self::Item(item) => return Ok(vec![Some(item.clone()); batch.len()]),
            Self::Slot(slot) => return Ok((0..batch.len()).map(|row| batch.slot(*slot, row)).collect()),
            Self::Token(token) => return tokens(&batch.current, *token, cx),
            Self::Key(key) => {
                let (rows, column) = element::values(&batch.current, key, cx)?;
                if rows.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(Error::invalid(format!(
                        "Multiple properties exist for the provided key, use Vertex.properties({key})"
                    )));
                }
                // A key that a map lacks is null there, as `get()` says; a property that an element lacks is not.
                lacks = Some(|item: Item| matches!(item, Item::Map(_)).then_some(Item::Null));
                (rows, column)
            }
            Self::Child(child) => child.first(batch, cx)?,
            Self::OrNull(by) => {
                let found = by.of(batch, cx)?.into_iter();
                return Ok(found.map(|item| Some(item.unwrap_or(Item::Null))).collect());
            }
        };
        let mut found = vec![None; batch.len()];
        rows.into_iter().zip(column.items()).for_each(|(row, item)| found[row as usize] = Some(item));
        if let Some(lacks) = lacks
            && found.contains(&None)
        {
            let missing = found.iter_mut().zip(batch.current.items()).filter(|(found, _)| found.is_none());
            missing.for_each(|(found, item)| *found = lacks(item));
        }
        Ok(found)
    }
}

/// A part of each element.
///
/// # Errors
/// Errors of reading.
pub fn tokens(column: &Column, token: Token, cx: &Context<'_>) -> Result<Vec<Option<Item>>> {
    if token == Token::Label {
        return element::labels(column, cx);
    }
    let catalogue = cx.catalogue();
    let part = |item: Item| match (token, &item) {
        (Token::Id, _) => element_id(&item),
        (Token::Key, Item::Property(property)) => Some(Item::from(&*catalogue.key_name(property.key))),
        (Token::Key, Item::Entry(entry)) => Some(entry.0.clone()),
        (Token::Value, Item::Property(property)) => Some(Item::Value(property.value.clone())),
        (Token::Value, Item::Entry(entry)) => Some(entry.1.clone()),
        _ => None,
    };
    Ok(column.items().map(part).collect())
}
