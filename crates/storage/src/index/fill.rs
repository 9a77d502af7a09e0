//! Index fill: what a scan found goes into an index whose entries the engine keeps.
//!
//! ```text
//! begin_index ──> fill_index ──> push, push, ... ──> finish ──> install ──> complete_index
//! commits enter   at S           in any order        sorted     below what  serves from this
//! from here on                                                  commits did commit on
//! ```
//!
//! An engine that derives its entries from its contents needs none of it.

use evergraph_graph::error::Result;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;

/// Hears of two items that may have the same value, and may stop.
pub type OnSameValue<'a> = dyn FnMut(ItemId, ItemId) -> Result<()> + 'a;

/// Entries of an index on their way into an engine. Dropped without being installed, it leaves nothing.
pub trait IndexFill {
    /// Adds an entry, once. Entries come in any order.
    ///
    /// # Errors
    /// `limit` if the budget or the disk refuses, `io`.
    fn push(&mut self, value: &Value, item: ItemId) -> Result<()>;

    /// Sorts what was pushed. If `on_same_value` is given it hears, of all items with the same value, of the first with
    /// each of the others; perhaps of some whose values differ.
    ///
    /// # Errors
    /// As [`IndexFill::push`]; what `on_same_value` says.
    fn finish(&mut self, on_same_value: Option<&mut OnSameValue<'_>>) -> Result<()>;

    /// Makes it a part of the index, older than everything that commits did to it. After `finish`.
    ///
    /// # Errors
    /// As [`IndexFill::push`].
    fn install(self: Box<Self>) -> Result<()>;
}
