//! Names: ids for new labels, edge types and keys, agreed on before they are committed.
//!
//! Two transactions that use a new name at the same time get the same id, so that the first to
//! commit adds the name and the second finds it there. A name keeps its id even if the transaction
//! that asked first is rolled back; the catalogue's tables may therefore have holes.

use crate::sync::Mutex;
use crate::transaction::give_names::{GiveNames, GivenName, NameRequest};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, TypeId};
use evergraph_graph::schema_change::SchemaChange;
use std::collections::HashMap;
use std::sync::Arc;

/// The most names of one kind.
pub const NAMES_MAX: usize = u16::MAX as usize;

/// Ids of names, the catalogue's and those still on their way there.
///
/// Concurrency: any thread; asked only for names that a transaction's catalogue doesn't have.
#[derive(Debug)]
pub struct Names {
    labels: Mutex<Table>,
    edge_types: Mutex<Table>,
    keys: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    ids: HashMap<Arc<str>, u16>,
    /// Of keys: those without a name, by the key whose meta-properties they hold.
    meta: HashMap<u16, u16>,
    next: usize,
}

impl Names {
    /// The names of `catalogue`; new ones are numbered behind its highest.
    #[must_use]
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut tables = [Table::default(), Table::default(), Table::default()];
        for change in catalogue.changes() {
            match change {
                SchemaChange::AddLabel { id, name } => tables[0].learn(id.0, name),
                SchemaChange::AddEdgeType { id, name, .. } => tables[1].learn(id.0, name),
                SchemaChange::AddKey { id, name } => tables[2].learn(id.0, name),
                SchemaChange::AddMetaKey { id, of } => tables[2].learn_meta(id.0, of.0),
                _ => {}
            }
        }
        let [labels, edge_types, keys] = tables.map(Mutex::new);
        Self { labels, edge_types, keys }
    }

    /// The id of a label, new if the name is.
    ///
    /// # Errors
    /// `invalid` for an empty name, `limit` beyond [`NAMES_MAX`].
    pub fn label(&self, name: &Arc<str>) -> Result<LabelId> {
        self.labels.lock().id("label", name).map(LabelId)
    }

    /// The id of an edge type, new if the name is.
    ///
    /// # Errors
    /// `invalid` for an empty name, `limit` beyond [`NAMES_MAX`].
    pub fn edge_type(&self, name: &Arc<str>) -> Result<TypeId> {
        self.edge_types.lock().id("edge type", name).map(TypeId)
    }

    /// The id of a property key, new if the name is.
    ///
    /// # Errors
    /// `invalid` for an empty name, `limit` beyond [`NAMES_MAX`].
    pub fn key(&self, name: &Arc<str>) -> Result<KeyId> {
        self.keys.lock().id("property key", name).map(KeyId)
    }

    /// The id of the key that holds the meta-properties of `key`, new if there is none yet.
    ///
    /// # Errors
    /// `limit` beyond [`NAMES_MAX`].
    pub fn meta_key(&self, key: KeyId, name: &str) -> Result<KeyId> {
        self.keys.lock().meta_id(key.0, name).map(KeyId)
    }
}

impl GiveNames for Names {
    fn give(&self, name: NameRequest<'_>) -> Result<GivenName> {
        Ok(GivenName::New(match name {
            NameRequest::Label(name) => {
                SchemaChange::AddLabel { id: self.label(name)?, name: Arc::clone(name) }
            }
            NameRequest::EdgeType { name, simple } => {
                SchemaChange::AddEdgeType { id: self.edge_type(name)?, name: Arc::clone(name), simple }
            }
            NameRequest::Key(name) => SchemaChange::AddKey { id: self.key(name)?, name: Arc::clone(name) },
            NameRequest::MetaKey { of, name } => {
                SchemaChange::AddMetaKey { id: self.meta_key(of, name)?, of }
            }
        }))
    }
}

impl Table {
    fn learn(&mut self, id: u16, name: Arc<str>) {
        self.ids.insert(name, id);
        self.next = self.next.max(usize::from(id) + 1);
    }

    fn id(&mut self, what: &str, name: &Arc<str>) -> Result<u16> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        if name.is_empty() {
            return Err(Error::invalid(format!("a {what} has an empty name")));
        }
        let id = self.new_id(what, name)?;
        self.learn(id, Arc::clone(name));
        Ok(id)
    }

    fn learn_meta(&mut self, id: u16, of: u16) {
        self.meta.insert(of, id);
        self.next = self.next.max(usize::from(id) + 1);
    }

    fn meta_id(&mut self, of: u16, name: &str) -> Result<u16> {
        if let Some(id) = self.meta.get(&of) {
            return Ok(*id);
        }
        let id = self.new_id("the key of the properties of", name)?;
        self.learn_meta(id, of);
        Ok(id)
    }

    fn new_id(&self, what: &str, name: &str) -> Result<u16> {
        if self.next < NAMES_MAX {
            return Ok(self.next as u16);
        }
        let text = format!("{what} `{name}` exceeds the limit of {NAMES_MAX}");
        Err(Error::new(ErrorKind::Limit, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_id_and_new_ones_follow_the_catalogue() {
        let mut catalogue = Catalogue::default();
        catalogue.apply(&SchemaChange::AddLabel { id: LabelId(4), name: "Person".into() });
        let names = Names::of(&catalogue);
        assert_eq!(names.label(&"Person".into()).unwrap(), LabelId(4));
        assert_eq!(names.label(&"Post".into()).unwrap(), LabelId(5));
        assert_eq!(names.label(&"Post".into()).unwrap(), LabelId(5));
        assert_eq!(names.key(&"Post".into()).unwrap(), KeyId(0), "each kind counts for itself");
    }

    #[test]
    fn keys_of_meta_properties_share_their_numbers_with_the_keys_that_have_names() {
        let mut catalogue = Catalogue::default();
        catalogue.apply(&SchemaChange::AddKey { id: KeyId(0), name: "name".into() });
        catalogue.apply(&SchemaChange::AddMetaKey { id: KeyId(1), of: KeyId(0) });
        let names = Names::of(&catalogue);
        assert_eq!(names.meta_key(KeyId(0), "name").unwrap(), KeyId(1));
        assert_eq!(names.key(&"city".into()).unwrap(), KeyId(2));
        assert_eq!(names.meta_key(KeyId(2), "city").unwrap(), KeyId(3));
        assert_eq!(names.meta_key(KeyId(2), "city").unwrap(), KeyId(3), "two who ask get the same");
    }

    #[test]
    fn an_empty_name_is_invalid_and_one_too_many_a_limit() {
        let names = Names::of(&Catalogue::default());
        assert_eq!(names.key(&"".into()).unwrap_err().kind(), ErrorKind::Invalid);
        for number in 0..NAMES_MAX {
            names.key(&number.to_string().into()).unwrap();
        }
        let error = names.key(&"last straw".into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("`last straw`"));
        assert_eq!(names.key(&"7".into()).unwrap(), KeyId(7), "known names still work");
    }
}
