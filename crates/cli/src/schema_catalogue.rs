//! Schema catalogue: the names, types and indexes of a server's graph, as a catalogue that names are looked up in as in a
//! folder's.
//!
//! Numbers are those of the order in the schema, not the server's: nothing that is sent may have one.

use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId, TypeId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind, IndexState};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::ValueType;
use evergraph_report::schema::{Property, SchemaReport};
use std::collections::HashMap;

/// The catalogue of `schema`.
///
/// # Errors
/// `invalid` if a name is there twice, or there are more than a catalogue takes.
pub fn catalogue(schema: &SchemaReport) -> Result<Catalogue> {
    let mut catalogue = Catalogue::default();
    for (at, name) in keys(schema).into_iter().enumerate() {
        catalogue.replay(&SchemaChange::AddKey { id: KeyId(number(at)?), name: name.into() })?;
    }
    for (at, entry) in schema.labels.iter().enumerate() {
        let (id, name) = (LabelId(number(at)?), entry.label.as_str().into());
        catalogue.replay(&SchemaChange::AddLabel { id, name })?;
        define(&mut catalogue, Owner::Label(id), &entry.properties)?;
    }
    for (at, entry) in schema.edge_types.iter().enumerate() {
        let (id, name) = (TypeId(number(at)?), entry.edge_type.as_str().into());
        catalogue.replay(&SchemaChange::AddEdgeType { id, name, simple: false })?;
        define(&mut catalogue, Owner::EdgeType(id), &entry.properties)?;
    }
    for index in &schema.indexes {
        let owner = match &*index.of {
            "vertices" => catalogue.label(&index.owner).map(Owner::Label),
            _ => catalogue.edge_type(&index.owner).map(Owner::EdgeType),
        };
        // A catalogue has those that are ready; one of a kind that is not known here finds nothing here.
        let (Some(owner), Some(key), Ok(kind)) =
            (owner, catalogue.key(&index.key), index.kind.parse::<IndexKind>())
        else {
            continue;
        };
        if index.state == IndexState::Ready.name() {
            let definition = IndexDefinition { id: IndexId { owner, key, kind }, unique: index.unique };
            catalogue.replay(&SchemaChange::AddIndex(definition))?;
        }
    }
    Ok(catalogue)
}

fn number(at: usize) -> Result<u16> {
    u16::try_from(at).map_err(|_| Error::invalid("the schema of the server has too many names"))
}

fn define(catalogue: &mut Catalogue, owner: Owner, properties: &[Property]) -> Result<()> {
    for property in properties {
        let Some(key) = catalogue.key(&property.key) else { continue };
        // One of a newer server may be of a type that is not known here.
        let value_type = property.value_type.parse().unwrap_or(ValueType::Any);
        catalogue.replay(&SchemaChange::DefineProperty { owner, key, value_type })?;
    }
    Ok(())
}

/// All keys. Those of a label, and of an edge type, are in the order of their numbers at the server: of several unique keys
/// that order decides which one names a vertex. So each comes behind those before it in every list.
fn keys(schema: &SchemaReport) -> Vec<&str> {
    let labels = schema.labels.iter().map(|entry| &entry.properties);
    let lists = labels.chain(schema.edge_types.iter().map(|entry| &entry.properties));
    // Each in the order in which it is met first.
    let (mut places, mut all): (HashMap<&str, usize>, Vec<&str>) = (HashMap::new(), Vec::new());
    let mut place = |name| {
        *places.entry(name).or_insert_with(|| {
            all.push(name);
            all.len() - 1
        })
    };
    let mut pairs = Vec::new();
    for list in lists {
        let list: Vec<usize> = list.iter().map(|property| place(&*property.key)).collect();
        pairs.extend(list.windows(2).map(|pair| (pair[0], pair[1])));
    }
    for index in &schema.indexes {
        place(&index.key);
    }
    let (mut next, mut waits_for) = (vec![Vec::new(); all.len()], vec![0_usize; all.len()]);
    for (before, behind) in pairs {
        next[before].push(behind);
        waits_for[behind] += 1;
    }
    let mut ordered: Vec<usize> = (0..all.len()).filter(|at| waits_for[*at] == 0).collect();
    let mut taken = 0;
    while let Some(at) = ordered.get(taken).copied() {
        taken += 1;
        for behind in std::mem::take(&mut next[at]) {
            waits_for[behind] -= 1;
            if waits_for[behind] == 0 {
                ordered.push(behind);
            }
        }
    }
    // Lists that contradict each other have no order.
    let left = (0..all.len()).filter(|at| waits_for[*at] > 0);
    ordered.into_iter().chain(left).map(|at| all[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::{Database, IndexOptions};
    use evergraph_graph::view::GraphView as _;

    fn received(database: &Database) -> Catalogue {
        // As it comes from a server.
        let sent = serde_json::to_string(&SchemaReport::new(database).unwrap()).unwrap();
        catalogue(&serde_json::from_str(&sent).unwrap()).unwrap()
    }

    #[test]
    fn names_types_and_keys_of_vertices_are_those_of_the_graph() {
        let database = Database::in_memory().unwrap();
        // `code` has the lower number, and `number` is met first.
        database
            .transact(|tx| {
                tx.add_vertex("City", &[("code", "FR".into())])?;
                tx.add_vertex("Person", &[("number", 7_i32.into()), ("name", "Ada".into())])?;
                tx.add_vertex("City", &[("number", 8_i32.into())])?;
                tx.add_vertex("Account", &[("id", 7_i64.into()), ("code", "x".into())]).map(drop)
            })
            .unwrap();
        for (label, key) in [("City", "code"), ("City", "number"), ("Person", "number"), ("Account", "code")]
        {
            database.create_index(&IndexOptions::on_label(label, key).unique()).unwrap();
        }
        database.create_index(&IndexOptions::on_label("Account", "id").unique()).unwrap();
        database.create_index(&IndexOptions::on_label("Person", "name")).unwrap();
        let (own, received) = (database.snapshot().catalogue(), received(&database));
        for (label, name) in own.labels() {
            let there = received.label(name).unwrap();
            let key =
                |catalogue: &Catalogue, label| catalogue.vertex_key(label).map(|key| catalogue.key_name(key));
            assert_eq!(key(&received, there), key(&own, label), "{name}");
            for (key, value_type) in own.properties_of(Owner::Label(label)) {
                let key_there = received.key(&own.key_name(key)).unwrap();
                assert_eq!(received.property_type(Owner::Label(there), key_there), Some(value_type));
                let unique = own.is_unique(Owner::Label(label), key);
                assert_eq!(received.is_unique(Owner::Label(there), key_there), unique);
            }
        }
        assert_eq!(received.keys().count(), own.keys().count());
    }

    #[test]
    fn keys_keep_the_order_of_every_list() {
        let properties = |keys: &[&str]| {
            let one =
                |key: &&str| Property { key: (*key).to_owned(), value_type: "int".to_owned(), unique: false };
            keys.iter().map(one).collect()
        };
        let label = |name: &str, keys: &[&str]| evergraph_report::schema::LabelEntry {
            label: name.to_owned(),
            vertices: 1,
            properties: properties(keys),
        };
        let schema = |labels| SchemaReport { labels, edge_types: Vec::new(), indexes: Vec::new() };
        let made = schema(vec![label("A", &["c", "d"]), label("B", &["b"]), label("C", &["a", "b", "c"])]);
        assert_eq!(keys(&made), ["a", "b", "c", "d"]);
        let contradicting = schema(vec![label("A", &["a", "b"]), label("B", &["b", "a"])]);
        assert_eq!(keys(&contradicting).len(), 2);
        assert_eq!(keys(&schema(vec![label("A", &["a", "a"])])), ["a"]);
    }

    #[test]
    fn a_schema_with_a_name_twice_is_an_error() {
        let twice = r#"{"labels": [{"label": "A", "vertices": 1, "properties": []}, {"label": "A", "vertices": 1, "properties": []}],
            "edge_types": [], "indexes": []}"#;
        assert!(catalogue(&serde_json::from_str(twice).unwrap()).is_err());
    }
}
