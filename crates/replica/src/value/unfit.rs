//! `UnfitValue`: a value of PostgreSQL that has no counterpart here, and why.

use evergraph_graph::value::shortened::Shortened;
use thiserror::Error;

use crate::value::column_type::ColumnType;

/// A value of PostgreSQL that has no counterpart here.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{text} of type {column_type} has no counterpart: {cause}")]
pub struct UnfitValue {
    /// The type that it was read as.
    pub column_type: ColumnType,
    /// The beginning of its text.
    pub text: Shortened,
    /// Why.
    pub cause: UnfitCause,
}

/// Why a value has no counterpart.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum UnfitCause {
    /// A numeric that is no number.
    #[error("a decimal is never NaN")]
    NotANumber,
    /// A numeric, a date, a timestamp or an interval without end.
    #[error("it is infinite")]
    Infinite,
    /// A null within an array.
    #[error("a list holds no null")]
    NullElement,
    /// A number or a moment beyond what is held here.
    #[error("{0}")]
    OutOfRange(String),
    /// The text does not have the type's form: the type is another one, or a setting of the session was changed.
    #[error("{0}")]
    Malformed(String),
    /// The text is no UTF-8.
    #[error("it is not UTF-8 text")]
    NotUtf8,
}
