//! Names: the numbers of labels, edge types and property keys, given by the log.
//!
//! A record of a name gets the number that the name has, or the one behind the highest of its kind: the same for all who ask,
//! whoever asks first. A transaction that uses the name later finds it in the catalogue. Names are never taken back.
//!
//! Transactions may add names, too, with numbers that were free at their snapshot: numbers go on behind those.

use crate::planted::{Bug, planted};
use crate::record::body::NewName;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{KeyId, LabelId, TypeId};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_storage::transaction::names::NAMES_MAX;
use std::fmt;

/// The number of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameId {
    /// Of a label.
    Label(LabelId),
    /// Of an edge type.
    EdgeType(TypeId),
    /// Of a property key, with a name or for the meta-properties of another one.
    Key(KeyId),
}

/// Why a name gets no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NameRefusal {
    /// It has no letters.
    Empty,
    /// An edge type of this name has parallel edges, and one without was asked for, or the other way round.
    OtherEdgeType,
    /// No property key has this number, or its values cannot have properties.
    UnknownKey,
    /// All numbers of this kind are given.
    TooMany,
}

/// Which numbers come next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NameNumbers {
    next_label: usize,
    next_edge_type: usize,
    next_key: usize,
}

impl NameNumbers {
    /// Behind those of a catalogue.
    #[must_use]
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut numbers = Self::default();
        catalogue.changes().iter().for_each(|change| numbers.learn(change));
        numbers
    }

    /// The catalogue was changed.
    pub fn learn(&mut self, change: &SchemaChange) {
        let behind = |next: &mut usize, number: u16| *next = (*next).max(usize::from(number) + 1);
        match change {
            SchemaChange::AddLabel { id, .. } => behind(&mut self.next_label, id.0),
            SchemaChange::AddEdgeType { id, .. } => behind(&mut self.next_edge_type, id.0),
            SchemaChange::AddKey { id, .. } | SchemaChange::AddMetaKey { id, .. } => {
                behind(&mut self.next_key, id.0);
            }
            _ => {}
        }
    }

    /// The number of `name`, and the change that gives it if `catalogue` does not have it.
    ///
    /// # Errors
    /// [`NameRefusal`].
    pub fn number(
        &self,
        catalogue: &Catalogue,
        name: &NewName,
    ) -> Result<(NameId, Option<SchemaChange>), NameRefusal> {
        match name {
            NewName::Label(name) => {
                if let Some(id) = known(catalogue.label(name)) {
                    return Ok((NameId::Label(id), None));
                }
                let id = LabelId(next(self.next_label, name)?);
                Ok((NameId::Label(id), Some(SchemaChange::AddLabel { id, name: (&**name).into() })))
            }
            NewName::EdgeType(name) => self.edge_type(catalogue, name, false),
            NewName::SimpleEdgeType(name) => self.edge_type(catalogue, name, true),
            NewName::Key(name) => {
                if let Some(id) = known(catalogue.key(name)) {
                    return Ok((NameId::Key(id), None));
                }
                let id = KeyId(next(self.next_key, name)?);
                Ok((NameId::Key(id), Some(SchemaChange::AddKey { id, name: (&**name).into() })))
            }
            NewName::MetaKey(of) => {
                if let Some(id) = known(catalogue.meta_key_of(*of)) {
                    return Ok((NameId::Key(id), None));
                }
                if !catalogue.has_key(*of) || catalogue.is_meta_key(*of) {
                    return Err(NameRefusal::UnknownKey);
                }
                let id = KeyId(free(self.next_key)?);
                Ok((NameId::Key(id), Some(SchemaChange::AddMetaKey { id, of: *of })))
            }
        }
    }

    fn edge_type(
        &self,
        catalogue: &Catalogue,
        name: &str,
        simple: bool,
    ) -> Result<(NameId, Option<SchemaChange>), NameRefusal> {
        if let Some(id) = known(catalogue.edge_type(name)) {
            let is_same = catalogue.edge_type_definition(id).is_some_and(|known| known.simple == simple);
            return if is_same { Ok((NameId::EdgeType(id), None)) } else { Err(NameRefusal::OtherEdgeType) };
        }
        let id = TypeId(next(self.next_edge_type, name)?);
        Ok((NameId::EdgeType(id), Some(SchemaChange::AddEdgeType { id, name: name.into(), simple })))
    }
}

/// The number that a name has already.
fn known<T>(id: Option<T>) -> Option<T> {
    id.filter(|_| !planted(Bug::NameNumberedAgain))
}

/// The number of a new name.
fn next(number: usize, name: &str) -> Result<u16, NameRefusal> {
    if name.is_empty() { Err(NameRefusal::Empty) } else { free(number) }
}

fn free(number: usize) -> Result<u16, NameRefusal> {
    if number < NAMES_MAX { Ok(number as u16) } else { Err(NameRefusal::TooMany) }
}

impl fmt::Display for NameRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the name is empty"),
            Self::OtherEdgeType => f.write_str("an edge type of this name is simple, or is not"),
            Self::UnknownKey => f.write_str("there is no such property key, or it has no properties itself"),
            Self::TooMany => write!(f, "there are {NAMES_MAX} names of this kind, which is the limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    /// Asks for the numbers of names, one after the other.
    #[derive(Default)]
    struct Asker {
        catalogue: Catalogue,
        numbers: NameNumbers,
    }

    impl Asker {
        fn ask(&mut self, name: NewName) -> Result<NameId, NameRefusal> {
            let (id, change) = self.numbers.number(&self.catalogue, &name)?;
            if let Some(change) = change {
                self.learn(&change);
            }
            Ok(id)
        }

        fn learn(&mut self, change: &SchemaChange) {
            self.catalogue.apply(change);
            self.numbers.learn(change);
        }
    }

    fn label(name: &str) -> NewName {
        NewName::Label(name.into())
    }

    #[test]
    fn a_name_has_one_number_for_all_who_ask_and_new_ones_follow_the_highest() {
        let mut asker = Asker::default();
        asker.learn(&SchemaChange::AddLabel { id: LabelId(4), name: "Person".into() });
        assert_eq!(asker.ask(label("Post")), Ok(NameId::Label(LabelId(5))));
        assert_eq!(asker.ask(label("City")), Ok(NameId::Label(LabelId(6))));
        assert_eq!(asker.ask(label("Post")), Ok(NameId::Label(LabelId(5))), "it has a number");
        assert_eq!(asker.ask(label("Person")), Ok(NameId::Label(LabelId(4))), "a transaction gave it");
        assert_eq!(asker.ask(NewName::Key("Post".into())), Ok(NameId::Key(KeyId(0))), "another kind");
        assert_eq!(NameNumbers::of(&asker.catalogue), asker.numbers);
    }

    #[test]
    fn a_key_of_meta_properties_has_a_number_among_those_of_keys() {
        let mut asker = Asker::default();
        assert_eq!(asker.ask(NewName::Key("name".into())), Ok(NameId::Key(KeyId(0))));
        assert_eq!(asker.ask(NewName::MetaKey(KeyId(0))), Ok(NameId::Key(KeyId(1))));
        assert_eq!(asker.ask(NewName::MetaKey(KeyId(0))), Ok(NameId::Key(KeyId(1))));
        assert_eq!(asker.ask(NewName::Key("age".into())), Ok(NameId::Key(KeyId(2))));
        for unknown in [1, 9].map(KeyId) {
            assert_eq!(asker.ask(NewName::MetaKey(unknown)), Err(NameRefusal::UnknownKey));
        }
    }

    #[test]
    fn an_edge_type_keeps_its_kind() {
        let mut asker = Asker::default();
        let knows = NameId::EdgeType(TypeId(0));
        assert_eq!(asker.ask(NewName::SimpleEdgeType("KNOWS".into())), Ok(knows));
        assert_eq!(asker.ask(NewName::SimpleEdgeType("KNOWS".into())), Ok(knows));
        assert_eq!(asker.ask(NewName::EdgeType("KNOWS".into())), Err(NameRefusal::OtherEdgeType));
        assert_eq!(asker.ask(NewName::EdgeType("LIKES".into())), Ok(NameId::EdgeType(TypeId(1))));
    }

    #[test]
    fn an_empty_name_and_one_too_many_get_no_number() {
        let mut asker = Asker::default();
        assert_eq!(asker.ask(label("")), Err(NameRefusal::Empty));
        let last = LabelId(NAMES_MAX as u16 - 1);
        asker.learn(&SchemaChange::AddLabel { id: last, name: "last".into() });
        assert_eq!(asker.ask(label("one more")), Err(NameRefusal::TooMany));
        assert_eq!(asker.ask(label("last")), Ok(NameId::Label(last)), "known names still work");
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = a_name_has_one_number_for_all_who_ask_and_new_ones_follow_the_highest;
        assert_found(Bug::NameNumberedAgain, test, "it has a number");
    }
}
