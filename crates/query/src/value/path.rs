//! Paths: where a traverser has been.

use crate::value::extent::{Extent, HasExtent};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The names that `as()` gave an item of a path.
pub type Labels = Arc<[Arc<str>]>;

/// Whether `label` is among `labels`.
pub(crate) fn is_among(label: &str, labels: Option<&Labels>) -> bool {
    labels.is_some_and(|labels| labels.iter().any(|other| **other == *label))
}

/// Where a traverser has been: items, and the names that `as()` gave them.
#[derive(Clone)]
pub struct Path<T> {
    steps: Box<[(T, Option<Labels>)]>,
    /// Once somebody asked.
    extent: OnceLock<Extent>,
}

impl<T> Path<T> {
    /// A path of `steps`.
    #[must_use]
    pub fn new(steps: Vec<(T, Option<Labels>)>) -> Self {
        Self { steps: steps.into(), extent: OnceLock::new() }
    }

    /// The items and their labels, the first first.
    #[must_use]
    pub fn steps(&self) -> &[(T, Option<Labels>)] {
        &self.steps
    }

    /// The items, the first first.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.steps.iter().map(|(item, _)| item)
    }
}

impl<T: Clone> Path<T> {
    /// The steps from the last that `from` names to the last that `to` does; all before or after where a name is
    /// missing. `None` if the path has no such step.
    #[must_use]
    pub fn between(&self, from: Option<&str>, to: Option<&str>) -> Option<Self> {
        let last = |label: &str| self.steps.iter().rposition(|(_, labels)| is_among(label, labels.as_ref()));
        let first = from.map_or(Some(0), last)?;
        let end = to.map_or(Some(self.steps.len()), |to| last(to).map(|at| at + 1))?;
        Some(Self::new(self.steps.get(first..end)?.to_vec()))
    }
}

impl<T: HasExtent> Path<T> {
    /// How much the path holds, and how deep it is nested. Cost: the first time, a look at each step.
    #[must_use]
    pub fn extent(&self) -> Extent {
        *self.extent.get_or_init(|| {
            let labels = self.steps.len() * size_of::<Option<Labels>>();
            Extent::of_all(self.items()).plus(labels).enclosed()
        })
    }
}

impl<T: PartialEq> PartialEq for Path<T> {
    fn eq(&self, other: &Self) -> bool {
        self.steps == other.steps
    }
}

impl<T: Eq> Eq for Path<T> {}

impl<T: fmt::Debug> fmt::Debug for Path<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("steps", &self.steps).finish()
    }
}

impl<T: Hash> Hash for Path<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.items().for_each(|item| item.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::item::Item;

    #[test]
    fn a_part_of_a_path_is_between_names() {
        let name = |label: &str| Some(Labels::from(vec![Arc::from(label)]));
        let path = Path::new(vec![
            (Item::from(1), name("a")),
            (Item::from(2), None),
            (Item::from(3), name("b")),
            (Item::from(4), None),
        ]);
        let part = |from, to| path.between(from, to).map(|part| part.items().cloned().collect::<Vec<_>>());
        assert_eq!(part(Some("a"), Some("b")), Some([1, 2, 3].map(Item::from).to_vec()));
        assert_eq!(part(None, Some("a")), Some(vec![Item::from(1)]));
        assert_eq!(part(Some("b"), None), Some([3, 4].map(Item::from).to_vec()));
        assert_eq!(part(Some("c"), None), None);
        assert_eq!(part(Some("b"), Some("a")), None);
    }
}
