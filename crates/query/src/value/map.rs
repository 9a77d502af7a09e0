//! Maps of items, made by a query.

use crate::value::item::Item;
use crate::value::ordered_map::OrderedMap;

/// Items by key, in the order they came. Two are equal if they hold the same entries, in any order.
///
/// Keys are the same where grouping says so: the `i32` 1 and the `i64` 1 are two keys.
pub type ItemMap = OrderedMap<Item, Item>;

impl ItemMap {
    /// What the text `key` leads to.
    #[must_use]
    pub fn get_text(&self, key: &str) -> Option<&Item> {
        self.get(&Item::from(key))
    }
}
