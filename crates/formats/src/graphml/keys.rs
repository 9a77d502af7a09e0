//! Keys: the properties that a GraphML file declares before its elements use them.
//!
//! ```text
//! <key id="d0" for="node" attr.name="age" attr.type="int"><default>0</default></key>
//!      what data elements say   the property's name         of nodes without data of their own
//! ```
//!
//! Two keys may share a name and differ in type (networkx writes them so), as long as no element has
//! both. A key without `attr.name` goes by its id. Keys of `yfiles.type` hold drawings and are skipped,
//! as are keys for graphs, ports and hyperedges.

use std::collections::HashMap;
use std::io::BufRead;

use evergraph_graph::value::{Value, ValueType};

use crate::error::ReadError;
use crate::graphml::tokens::{Tag, Token, Tokens, malformed};
use crate::graphml::types::{TYPE_ATTRIBUTE, read_type, read_value};

/// Keys that a file may declare.
const KEYS_MAX: usize = 65_536;

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// Nodes, which are vertices.
    Vertex,
    /// Edges.
    Edge,
}

/// A property that the file declares.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// What `data` elements call it.
    pub id: String,
    /// The property's name.
    pub name: String,
    /// What it is for; neither, if it is skipped.
    pub vertices: bool,
    /// What it is for; neither, if it is skipped.
    pub edges: bool,
    /// Whether its data are drawings or belong to something that is not read.
    pub is_skipped: bool,
    /// The type of its values.
    pub value_type: ValueType,
    /// What elements have that say nothing else.
    pub default: Option<Value>,
    /// The number of the name: equal names have equal numbers.
    pub name_number: usize,
}

impl Key {
    /// Whether elements of `scope` may have it.
    #[must_use]
    pub fn is_for(&self, scope: Scope) -> bool {
        match scope {
            Scope::Vertex => self.vertices,
            Scope::Edge => self.edges,
        }
    }

    /// Whether its id or its name is `wanted`.
    #[must_use]
    pub fn goes_by(&self, wanted: &str) -> bool {
        self.id == wanted || self.name == wanted
    }
}

/// The keys of a file.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
    by_id: HashMap<String, usize>,
    name_numbers: HashMap<String, usize>,
}

impl Keys {
    /// The key that `data` elements call `id`.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Key> {
        self.by_id.get(id).map(|place| &self.keys[*place])
    }

    /// The keys with a default for elements of `scope`, in the file's order.
    pub fn defaults(&self, scope: Scope) -> impl Iterator<Item = (&Key, &Value)> {
        let of_scope = self.keys.iter().filter(move |key| key.is_for(scope));
        of_scope.filter_map(|key| Some((key, key.default.as_ref()?)))
    }

    /// How many names the keys have.
    #[must_use]
    pub fn names_count(&self) -> usize {
        self.name_numbers.len()
    }

    /// Reads the key that `tag` opened, up to its end.
    ///
    /// # Errors
    /// If it is not well-formed, its type is unknown, its default has another type, or there is a key
    /// of its id already.
    pub fn read<R: BufRead>(&mut self, tag: &Tag, tokens: &mut Tokens<R>) -> Result<(), ReadError> {
        let position = tag.position;
        let id = tag.required("id")?.to_owned();
        let fail = |reason: String| malformed(position, format!("key `{id}`: {reason}"));
        if self.by_id.contains_key(&id) {
            return Err(fail("is declared twice".to_owned()));
        }
        if self.keys.len() == KEYS_MAX {
            return Err(fail(format!("is one more than the limit of {KEYS_MAX} keys")));
        }
        let (vertices, edges) = match tag.attribute("for").unwrap_or("all") {
            "all" => (true, true),
            "node" => (true, false),
            "edge" => (false, true),
            "graph" | "graphml" | "hyperedge" | "port" | "endpoint" => (false, false),
            other => return Err(fail(format!("is for `{other}`: known are node, edge, all"))),
        };
        let is_drawing = tag.attribute("yfiles.type").is_some();
        let is_skipped = is_drawing || !(vertices || edges);
        let value_type = if is_skipped {
            ValueType::String
        } else {
            read_type(tag.attribute("attr.type"), tag.attribute(TYPE_ATTRIBUTE)).map_err(fail)?
        };
        let mut default = None;
        loop {
            match tokens.next_token()? {
                Token::Start(inner) if inner.name.rsplit(':').next() == Some("default") && !is_skipped => {
                    let Some(text) = tokens.read_text()? else {
                        return Err(malformed(
                            inner.position,
                            format!("key `{id}`: its default has tags in it"),
                        ));
                    };
                    let value = read_value(&text, value_type);
                    let value = value.map_err(|reason| {
                        malformed(inner.position, format!("key `{id}`: its default: {reason}"))
                    })?;
                    if default.replace(value).is_some() {
                        return Err(malformed(inner.position, format!("key `{id}`: has two defaults")));
                    }
                }
                Token::Start(_) => tokens.skip()?,
                Token::Text(_) => {}
                Token::End | Token::Eof => break,
            }
        }
        let name = tag.attribute("attr.name").unwrap_or(&id).to_owned();
        let next = self.name_numbers.len();
        let name_number = *self.name_numbers.entry(name.clone()).or_insert(next);
        self.by_id.insert(id.clone(), self.keys.len());
        let (vertices, edges) = (vertices && !is_skipped, edges && !is_skipped);
        self.keys.push(Key { id, name, vertices, edges, is_skipped, value_type, default, name_number });
        Ok(())
    }
}
