//! Types: one type for each property, from the values of all tables.
//!
//! An edge type is one table for each pair of labels that it joins, and the catalogue knows one type a key
//! of it: where its tables disagree, the type is `any`. In files whose numbers have no stated type 1 beside 0.5
//! is 1.0: a property that would be `any` for nothing else is `double`.

use crate::import::assembly::graph::Assembly;
use evergraph_graph::error::Result;
use evergraph_graph::value::ValueType;
use std::collections::BTreeMap;

impl Assembly {
    /// Gives a property the type `any` where the tables of an edge type disagree. Tells which properties
    /// have values of several types, a sentence each.
    ///
    /// # Errors
    /// That of the file where blocks lie.
    pub fn settle_types(&mut self) -> Result<Vec<String>> {
        let mut types: BTreeMap<(String, String), ValueType> = BTreeMap::new();
        for table in &self.edges {
            for (key, value_type) in table.stage.properties() {
                types
                    .entry((table.edge_type.clone(), key.clone()))
                    .and_modify(|known| *known = if known == value_type { *known } else { ValueType::Any })
                    .or_insert(*value_type);
            }
        }
        if !self.untyped_spaces.is_empty() {
            self.unify_vertex_numbers()?;
            let mixed: Vec<_> =
                types.iter_mut().filter(|(_, value_type)| **value_type == ValueType::Any).collect();
            for ((edge_type, key), value_type) in mixed {
                if self.unify_edge_numbers(edge_type, key)? {
                    *value_type = ValueType::F64;
                }
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
        let tell = |(owner, key, _)| {
            format!("property {key} of {owner} has values of several types: its type is any")
        };
        Ok(mixed.map(tell).collect())
    }

    fn unify_vertex_numbers(&mut self) -> Result<()> {
        let untyped = &self.untyped_spaces;
        let tables = self.vertices.iter_mut().zip(&self.table_spaces);
        for (table, _) in tables.filter(|(_, (space, _))| untyped.contains(space)) {
            for at in 0..table.stage.properties().len() {
                if table.stage.properties()[at].1 == ValueType::Any && table.stage.holds_doubles(at)? {
                    table.stage.make_doubles(at)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the property `key` of edges of `edge_type` one of doubles, if all of its values allow it. Gives
    /// whether they do.
    fn unify_edge_numbers(&mut self, edge_type: &str, key: &str) -> Result<bool> {
        let (untyped, spaces) = (&self.untyped_spaces, &self.table_spaces);
        let mut found = Vec::new();
        for table in self.edges.iter_mut().filter(|table| table.edge_type == edge_type) {
            let Some(at) = table.stage.properties().iter().position(|(known, _)| known == key) else {
                continue;
            };
            if !untyped.contains(&spaces[table.source_label].0) || !table.stage.holds_doubles(at)? {
                return Ok(false);
            }
            found.push((table, at));
        }
        found.into_iter().try_for_each(|(table, at)| table.stage.make_doubles(at))?;
        Ok(true)
    }
}
