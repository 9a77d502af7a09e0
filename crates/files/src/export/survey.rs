//! Survey: which labels, edges and properties a snapshot holds, found in one pass.
//!
//! The catalogue knows names that were ever used and types that were ever declared. A header should have
//! what is there now: properties without values have no column, and one whose values are all of a type
//! has that type, whatever it was declared as.

use crate::export::facts::Facts;
use crate::export::meter::Meter;
use crate::export::pages;
use crate::export::scope::ExportScope;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, LabelId, TypeId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is to be written.
#[derive(Debug)]
pub struct Survey {
    /// The names.
    pub catalogue: Arc<Catalogue>,
    /// Labels that have vertices, by number.
    pub labels: Vec<LabelSurvey>,
    /// Edges by type and by the labels that they join, in this order.
    pub joins: Vec<JoinSurvey>,
    /// The properties of the edges of each type that has some. All files of one type give a property one
    /// type, since an import wants that.
    pub edge_facts: BTreeMap<TypeId, BTreeMap<KeyId, Facts>>,
}

/// The vertices of one label.
#[derive(Debug)]
pub struct LabelSurvey {
    /// The label.
    pub label: LabelId,
    /// How many vertices it has.
    pub count: u64,
    /// The properties that some of them have.
    pub facts: BTreeMap<KeyId, Facts>,
    /// How many properties the values of a key have themselves, for keys where there are any.
    pub meta_properties: BTreeMap<KeyId, u64>,
}

/// The edges of one type between vertices of two labels.
#[derive(Debug)]
pub struct JoinSurvey {
    /// The type.
    pub edge_type: TypeId,
    /// The label where they begin.
    pub source: LabelId,
    /// The label where they end.
    pub target: LabelId,
    /// How many there are.
    pub count: u64,
    /// The properties that some of them have.
    pub keys: BTreeSet<KeyId>,
}

impl Survey {
    /// Reads everything in `scope`. Cost: every property value is looked at once; memory for one page.
    ///
    /// # Errors
    /// Errors of reading; `cancelled`.
    pub fn new(view: &dyn GraphView, scope: &ExportScope, meter: &Meter<'_>) -> Result<Self> {
        let catalogue = view.catalogue();
        let mut survey =
            Self { labels: Vec::new(), joins: Vec::new(), edge_facts: BTreeMap::new(), catalogue };
        for label in &scope.labels {
            survey.add_label(view, *label, meter)?;
        }
        for edge_type in &scope.types {
            for source in survey.sources_of(*edge_type, scope) {
                survey.add_edges(view, *edge_type, source, scope, meter)?;
            }
        }
        survey.joins.sort_by_key(|join| (join.edge_type, join.source, join.target));
        Ok(survey)
    }

    /// The vertices of `label`, if it has some.
    #[must_use]
    pub fn label(&self, label: LabelId) -> Option<&LabelSurvey> {
        self.labels.iter().find(|known| known.label == label)
    }

    /// The property `key` of edges of `edge_type`; `None` if no edge has it.
    #[must_use]
    pub fn edge_facts(&self, edge_type: TypeId, key: KeyId) -> Option<&Facts> {
        self.edge_facts.get(&edge_type)?.get(&key)
    }

    /// All vertices.
    #[must_use]
    pub fn vertices_count(&self) -> u64 {
        self.labels.iter().map(|label| label.count).sum()
    }

    /// All edges.
    #[must_use]
    pub fn edges_count(&self) -> u64 {
        self.joins.iter().map(|join| join.count).sum()
    }

    /// The joins of each type and source label: they are read together.
    pub fn joins_by_source(&self) -> impl Iterator<Item = &[JoinSurvey]> {
        self.joins.chunk_by(|left, right| (left.edge_type, left.source) == (right.edge_type, right.source))
    }

    fn add_label(&mut self, view: &dyn GraphView, label: LabelId, meter: &Meter<'_>) -> Result<()> {
        let keys: Vec<KeyId> =
            self.catalogue.properties_of(Owner::Label(label)).map(|(key, _)| key).collect();
        let with_meta: Vec<(KeyId, KeyId)> =
            keys.iter().filter_map(|key| Some((*key, self.catalogue.meta_key(label, *key)?))).collect();
        let mut found =
            LabelSurvey { label, count: 0, facts: BTreeMap::new(), meta_properties: BTreeMap::new() };
        pages::vertices(view, label, |page| {
            found.count += page.len() as u64;
            for key in &keys {
                let column = pages::vertex_column(view, label, page, *key)?;
                for value in (0..column.len()).filter_map(|row| column.get(row)) {
                    found.facts.entry(*key).or_default().note(&value);
                }
            }
            for (key, meta_key) in &with_meta {
                let mut column = Column::new(ValueType::List);
                view.vertex_properties(page, *meta_key, &mut column)?;
                let count: u64 = (0..column.len())
                    .filter_map(|row| column.get(row))
                    .map(|maps| entries_count(&maps))
                    .sum();
                if count > 0 {
                    *found.meta_properties.entry(*key).or_default() += count;
                }
            }
            meter.tick("", page.len())
        })?;
        if found.count > 0 {
            self.labels.push(found);
        }
        Ok(())
    }

    /// The labels in which edges of `edge_type` may begin.
    fn sources_of(&self, edge_type: TypeId, scope: &ExportScope) -> BTreeSet<LabelId> {
        let joins = self.catalogue.joins(edge_type);
        joins
            .filter(|(source, target)| scope.has_label(*source) && scope.has_label(*target))
            .map(|(source, _)| source)
            .collect()
    }

    fn add_edges(
        &mut self,
        view: &dyn GraphView,
        edge_type: TypeId,
        source: LabelId,
        scope: &ExportScope,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let keys: Vec<KeyId> =
            self.catalogue.properties_of(Owner::EdgeType(edge_type)).map(|(key, _)| key).collect();
        let mut found: BTreeMap<LabelId, JoinSurvey> = BTreeMap::new();
        let mut facts = self.edge_facts.remove(&edge_type).unwrap_or_default();
        pages::edges(view, source, edge_type, |target, page| {
            if !scope.has_label(target) {
                return Ok(());
            }
            let join = found.entry(target).or_insert_with(|| JoinSurvey {
                edge_type,
                source,
                target,
                count: 0,
                keys: BTreeSet::new(),
            });
            join.count += page.edges.len() as u64;
            for key in &keys {
                let column = pages::edge_column(view, edge_type, &page.edges, *key)?;
                for value in (0..column.len()).filter_map(|row| column.get(row)) {
                    facts.entry(*key).or_default().note(&value);
                    join.keys.insert(*key);
                }
            }
            meter.tick("", page.edges.len())
        })?;
        if !facts.is_empty() {
            self.edge_facts.insert(edge_type, facts);
        }
        self.joins.extend(found.into_values());
        Ok(())
    }
}

/// How many entries the maps in the list `maps` have: the properties of a key's values.
fn entries_count(maps: &Value) -> u64 {
    let Value::List(maps) = maps else { return 0 };
    let count = |map: &Value| match map {
        Value::Map(map) => map.as_slice().len() as u64,
        _ => 0,
    };
    maps.as_slice().iter().map(count).sum()
}
