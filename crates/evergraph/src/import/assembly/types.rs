//! Types: what all tables together make of the type of a property.
//!
//! An edge type is one table for each pair of labels that it joins, and the catalogue knows one type a key
//! of it: where its tables disagree, the type is `any`.

use crate::import::assembly::graph::Assembly;
use evergraph_graph::value::ValueType;
use std::collections::BTreeMap;

impl Assembly {
    /// Gives a property the type `any` where the tables of an edge type disagree. Tells which properties
    /// have values of several types, a sentence each.
    pub fn settle_types(&mut self) -> Vec<String> {
        let mut types: BTreeMap<(String, String), ValueType> = BTreeMap::new();
        for table in &self.edges {
            for (key, value_type) in table.stage.properties() {
                types
                    .entry((table.edge_type.clone(), key.clone()))
                    .and_modify(|known| *known = if known == value_type { *known } else { ValueType::Any })
                    .or_insert(*value_type);
            }
        }
        for table in &mut self.edges {
            for (key, _) in table.stage.properties().to_vec() {
                table.stage.set_property(&key, types[&(table.edge_type.clone(), key.clone())]);
            }
        }
        let of_labels = self.vertices.iter().flat_map(|table| {
            let properties = table.stage.properties().iter();
            properties.map(|(key, value_type)| (format!("label {}", table.label), key.clone(), *value_type))
        });
        let of_types =
            types.into_iter().map(|((name, key), value_type)| (format!("type {name}"), key, value_type));
        let mixed = of_labels.chain(of_types).filter(|(_, _, value_type)| *value_type == ValueType::Any);
        mixed
            .map(|(owner, key, _)| {
                format!("property {key} of {owner} has values of several types: its type is any")
            })
            .collect()
    }
}
