//! Keys: the properties that a GraphML file declares before its elements use them.
//!
//! ```text
//! <key id="d0" for="node" attr.name="age" attr.type="int"><default>0</default></key>
//!      what data elements say   the property's name         of nodes without data of their own
//! ```
//!
//! Two keys may share a name and differ in type (networkx writes them so), as long as no element has
//! both; and they may share an id if one is for nodes and the other for edges or for the graph (igraph).
//! A key without `attr.name` goes by its id. Keys of `yfiles.type` hold drawings and are skipped but for
//! the labels in them, as are keys for graphs, ports and hyperedges.

use std::collections::HashMap;
use std::io::BufRead;

use evergraph_graph::value::{Value, ValueType};

use crate::error::ReadError;
use crate::graphml::types::{
    FORM_ATTRIBUTE, GRAPHSON_FORM, KeyType, read_graphson, read_key_type, read_key_value,
};
use crate::xml::tokens::{Tag, Token, Tokens, malformed};

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
    /// What becomes of its data.
    pub purpose: Purpose,
    /// What its values are.
    pub key_type: KeyType,
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

    /// Whether the same data could mean this key and `other`.
    fn overlaps(&self, other: &Self) -> bool {
        let is_for_others = |key: &Self| !key.vertices && !key.edges;
        (self.vertices && other.vertices)
            || (self.edges && other.edges)
            || (is_for_others(self) && is_for_others(other))
    }
}

/// What the data of a key are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Values of a property.
    Property,
    /// Drawings, in which the element's label may stand.
    Drawing,
    /// Something that is not read: drawings, or what belongs to the graph, to ports or hyperedges.
    Skipped,
}

/// The keys of a file.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
    /// Where in `keys` those of an id are: one, or one for each kind of elements.
    by_id: HashMap<String, Vec<usize>>,
    name_numbers: HashMap<String, usize>,
}

impl Keys {
    /// The key that `data` of elements of `scope` calls `id`; if there is none, the one that is declared for
    /// other elements.
    #[must_use]
    pub fn find(&self, id: &str, scope: Scope) -> Option<&Key> {
        let mut keys = self.by_id.get(id)?.iter().map(|place| &self.keys[*place]);
        let first = keys.clone().next();
        keys.find(|key| key.is_for(scope)).or(first)
    }

    /// Whether `key` is the one that options call `wanted`: by its id, or by its name if no other key of the
    /// elements has that id.
    #[must_use]
    pub fn is_called(&self, key: &Key, wanted: &str, scope: Scope) -> bool {
        let is_taken = || self.find(wanted, scope).is_some_and(|other| other.is_for(scope));
        key.id == wanted || (key.name == wanted && !is_taken())
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

    /// Reads the key that `tag` opened, up to its end. Gives whether its type is known.
    ///
    /// # Errors
    /// If it is not well-formed, its default has another type, or there is another key of its id for the
    /// same elements.
    pub fn read<R: BufRead>(&mut self, tag: &Tag, tokens: &mut Tokens<R>) -> Result<bool, ReadError> {
        let position = tag.position;
        let id = tag.required("id")?.to_owned();
        let fail = |reason: String| malformed(position, format!("key `{id}`: {reason}"));
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
        let purpose = if vertices || edges { purpose_of(tag) } else { Purpose::Skipped };
        let key_type = match purpose {
            Purpose::Property => read_key_type(tag).map_err(fail)?,
            Purpose::Drawing | Purpose::Skipped => KeyType::Unknown,
        };
        let mut default = None;
        loop {
            match tokens.next_token()? {
                Token::Start(inner)
                    if inner.name.rsplit(':').next() == Some("default") && purpose == Purpose::Property =>
                {
                    let fail = |reason: &str| malformed(inner.position, format!("key `{id}`: {reason}"));
                    let Some(text) = tokens.read_text()? else {
                        // A drawing: data with tags in it are left out as well.
                        continue;
                    };
                    let value = read_key_value(&text, key_type);
                    let value = value.map_err(|reason| fail(&format!("its default: {reason}")))?;
                    if default.replace(value).is_some() {
                        return Err(fail("has two defaults"));
                    }
                }
                Token::Start(_) => tokens.skip()?,
                Token::Text(_) => {}
                Token::End | Token::Eof => break,
            }
        }
        let name = tag.attribute("attr.name").unwrap_or(&id);
        let name = match tag.attribute(FORM_ATTRIBUTE) {
            Some(GRAPHSON_FORM) => {
                let read = read_graphson(name, ValueType::String)
                    .map_err(|reason| fail(format!("its name: {reason}")))?;
                read.as_str().unwrap_or_default().to_owned()
            }
            _ => name.to_owned(),
        };
        let next = self.name_numbers.len();
        let name_number = *self.name_numbers.entry(name.clone()).or_insert(next);
        let default = default.flatten();
        let key = Key { id, name, vertices, edges, purpose, key_type, default, name_number };
        let same_id = self.by_id.entry(key.id.clone()).or_default();
        if let Some(other) = same_id.iter().map(|place| &self.keys[*place]).find(|other| other.overlaps(&key))
        {
            // Some writers repeat themselves; what belongs to the graph is left out whatever it is.
            if *other == key || !(vertices || edges) {
                return Ok(true);
            }
            let id = &key.id;
            return Err(malformed(position, format!("key `{id}`: is declared twice, differently")));
        }
        same_id.push(self.keys.len());
        self.keys.push(key);
        Ok(purpose != Purpose::Property || key_type != KeyType::Unknown)
    }
}

/// What the data of the key that `tag` declares are, by what the programs of yWorks say there.
fn purpose_of(tag: &Tag) -> Purpose {
    let named = |(name, _): &&(String, String)| name.rsplit(':').next() == Some("attr.uri");
    let uri = tag.attributes.iter().find(named).map_or("", |(_, uri)| uri.as_str());
    match (tag.attribute("yfiles.type"), uri.rsplit('/').next()) {
        (Some("nodegraphics" | "edgegraphics"), _) | (None, Some("NodeLabels" | "EdgeLabels")) => {
            Purpose::Drawing
        }
        (Some(_), _) => Purpose::Skipped,
        (None, _) => Purpose::Property,
    }
}
