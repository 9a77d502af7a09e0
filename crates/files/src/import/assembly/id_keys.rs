//! Id keys: the property that keeps the ids of vertices if none is named.
//!
//! ```text
//! file        id 7   name Ada              id 7   name Ada
//! another     id 8   name Bob              id 8   name Bob   property id 1815
//!             kept as `id`                 kept as `_id`, in all labels of the file
//! ```
//!
//! Whether vertices have a property `id` of their own is known when all are there: until then their ids stand
//! under a name that no property has.

use crate::import::assembly::graph::Assembly;
use std::collections::HashMap;

/// The name of the property of ids until it is settled: properties have names of one letter at least.
pub const OPEN_KEY: &str = "";
/// What it is called unless vertices have a property of the name.
const ID_KEY: &str = "id";
/// What it is called then.
const OTHER_ID_KEY: &str = "_id";

impl Assembly {
    /// The labels of the database whose vertices are known by a key that an import gives to ids, and that key.
    #[must_use]
    pub fn known_id_keys(&self) -> HashMap<String, String> {
        let key_of = |label: String| {
            let key =
                [ID_KEY, OTHER_ID_KEY].into_iter().find(|key| self.known.by_key(&label, key).is_some())?;
            Some((label, key.to_owned()))
        };
        self.known.labels().into_iter().filter_map(key_of).collect()
    }

    /// Names the properties that keep ids, once all vertices are there. Tells where it isn't `id`, a sentence
    /// for each kind of files.
    pub fn settle_id_keys(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        for (space, found) in self.spaces.iter().enumerate() {
            let in_space: Vec<usize> =
                (0..self.vertices.len()).filter(|table| self.table_spaces[*table].0 == space).collect();
            let is_open = |table: &usize| self.vertices[*table].unique_key.as_deref() == Some(OPEN_KEY);
            let open: Vec<usize> = in_space.iter().copied().filter(is_open).collect();
            if open.is_empty() {
                continue;
            }
            let is_taken = |name: &str| {
                let mut properties =
                    in_space.iter().flat_map(|table| self.vertices[*table].stage.properties());
                properties.any(|(key, _)| key == name)
            };
            let mut name = ID_KEY.to_owned();
            while is_taken(&name) {
                name.insert(0, '_');
            }
            if name != ID_KEY {
                notes.push(format!(
                    "vertices of {} files have a property {ID_KEY} of their own: the ids of the files are kept as \
                     {name} (--vertex-id names another key)",
                    found.name
                ));
            }
            for table in open {
                let staged = &mut self.vertices[table];
                staged.stage.rename_property(OPEN_KEY, &name);
                staged.unique_key = Some(name.clone());
            }
        }
        notes
    }
}
