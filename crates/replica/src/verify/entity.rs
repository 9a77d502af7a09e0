//! Entity: a vertex or an edge as both sides have it, and its hashes.

use evergraph_graph::value::Value;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher as _};

/// A vertex or an edge.
#[derive(Clone, PartialEq, Debug)]
pub struct Entity<'a> {
    /// What identifies it within its subject: one key, or both ends.
    pub identity: (Cow<'a, Value>, Option<Cow<'a, Value>>),
    /// Of an edge, the keys of its start and its end.
    pub ends: Option<[Cow<'a, Value>; 2]>,
    /// The properties that it has, by name.
    pub properties: Vec<(&'a str, Cow<'a, Value>)>,
}

/// An entity by two hashes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntityHash {
    /// Of what identifies it.
    pub identity: u64,
    /// Of all of it.
    pub content: u64,
}

/// The hash of an identity that is one key.
#[must_use]
pub fn hash_of_key(key: &Value) -> u64 {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    hasher.finish()
}

impl Entity<'_> {
    /// Its hashes; `bytes` is room for what is hashed.
    ///
    /// Cost: one pass over its values.
    #[must_use]
    pub fn hash(&self, bytes: &mut Vec<u8>) -> EntityHash {
        bytes.clear();
        self.identity.0.encode(bytes);
        if let Some(second) = &self.identity.1 {
            second.encode(bytes);
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        let identity = hasher.finish();
        for end in self.ends.iter().flatten() {
            end.encode(bytes);
        }
        for (name, value) in &self.properties {
            bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
            value.encode(bytes);
        }
        hasher.write(bytes);
        EntityHash { identity, content: hasher.finish() }
    }

    /// The same without borrowed values; names stay those of the subject.
    #[must_use]
    pub fn into_owned(self) -> OwnedEntity {
        let owned = |value: Cow<'_, Value>| value.into_owned();
        OwnedEntity {
            key: match self.identity {
                (first, None) => owned(first).to_string(),
                (first, Some(second)) => format!("({first}, {second})"),
            },
            ends: self.ends.map(|ends| ends.map(owned)),
            properties: self
                .properties
                .into_iter()
                .map(|(name, value)| (name.to_owned(), owned(value)))
                .collect(),
        }
    }
}

/// An entity that is kept to be shown.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnedEntity {
    /// What identifies it, for people.
    pub key: String,
    /// Of an edge, the keys of its start and its end.
    pub ends: Option<[Value; 2]>,
    /// Its properties, by name.
    pub properties: Vec<(String, Value)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(key: i32, ends: Option<[i32; 2]>, properties: Vec<(&str, Value)>) -> EntityHash {
        let entity = Entity {
            identity: (Cow::Owned(key.into()), None),
            ends: ends.map(|ends| ends.map(|end| Cow::Owned(end.into()))),
            properties: properties.into_iter().map(|(name, value)| (name, Cow::Owned(value))).collect(),
        };
        entity.hash(&mut Vec::new())
    }

    #[test]
    fn whatever_differs_changes_the_hash_and_the_key_alone_the_identity() {
        let one = entity(1, Some([1, 2]), vec![("a", 1.into()), ("b", Value::from("x"))]);
        assert_eq!(one, entity(1, Some([1, 2]), vec![("a", 1.into()), ("b", Value::from("x"))]));
        for other in [
            entity(1, Some([1, 3]), vec![("a", 1.into()), ("b", Value::from("x"))]),
            entity(1, Some([1, 2]), vec![("a", 1.into()), ("b", Value::from("y"))]),
            entity(1, Some([1, 2]), vec![("a", 1_i64.into()), ("b", Value::from("x"))]),
            entity(1, Some([1, 2]), vec![("a", 1.into())]),
            entity(1, Some([1, 2]), vec![("ab", 1.into()), ("", Value::from("x"))]),
            entity(1, None, vec![("a", 1.into()), ("b", Value::from("x"))]),
        ] {
            assert_eq!(one.identity, other.identity);
            assert_ne!(one.content, other.content);
        }
        assert_ne!(one.identity, entity(2, Some([1, 2]), Vec::new()).identity);
        assert_eq!(one.identity, hash_of_key(&1.into()));
    }
}
