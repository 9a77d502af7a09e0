//! Losses: what the files of an export do not preserve, in words.

use crate::export::edge_list;
use crate::export::elements::ElementReader;
use crate::export::identity::Identity;
use crate::export::options::{ExportFormat, ExportOptions};
use crate::export::scope::ExportScope;
use crate::export::survey::Survey;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::LabelId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::value::ValueType;
use std::collections::BTreeSet;

/// What an import of the export of `survey` doesn't give back, a sentence each.
#[must_use]
pub fn losses(
    survey: &Survey,
    scope: &ExportScope,
    options: &ExportOptions,
    reader: Option<&ElementReader<'_>>,
) -> Vec<String> {
    let mut losses = Vec::new();
    let identity = |label: LabelId| match (options.format, reader) {
        (ExportFormat::EdgeList, _) => edge_list::identity(survey),
        (_, Some(reader)) => reader.identity,
        _ => survey.label(label).map_or(Identity::Number, |label| Identity::of_label(survey, label)),
    };
    indexes(survey, scope, identity, &mut losses);
    names_without_elements(survey, scope, &mut losses);
    property_types(survey, scope, &mut losses);
    if let Some(reader) = reader
        && reader.identity == Identity::Number
        && !survey.labels.is_empty()
    {
        losses.push(
            "vertices are identified by their numbers in the database, because no key `id` is unique among \
             all of them; an import keeps the numbers as the property that `--vertex-id` names"
                .to_owned(),
        );
    }
    if options.format == ExportFormat::EdgeList {
        of_edge_lists(survey, options, &mut losses);
    }
    losses
}

fn indexes(
    survey: &Survey,
    scope: &ExportScope,
    identity: impl Fn(LabelId) -> Identity,
    losses: &mut Vec<String>,
) {
    let catalogue = &survey.catalogue;
    for index in catalogue.indexes() {
        let (is_in_scope, is_carried) = match index.id.owner {
            Owner::Label(label) => {
                let is_id = survey.label(label).is_some() && identity(label).key() == Some(index.id.key);
                (scope.has_label(label), is_id && index.unique && index.id.kind == IndexKind::Hash)
            }
            Owner::EdgeType(edge_type) => (scope.types.contains(&edge_type), false),
        };
        if is_in_scope && !is_carried {
            let unique = if index.unique { "unique " } else { "" };
            let on = catalogue.property_name(index.id.owner, index.id.key);
            losses.push(format!("the {unique}{} index on `{on}`: create it again", index.id.kind));
        }
    }
}

fn names_without_elements(survey: &Survey, scope: &ExportScope, losses: &mut Vec<String>) {
    let catalogue = &survey.catalogue;
    for label in scope.labels.iter().filter(|label| survey.label(**label).is_none()) {
        losses.push(format!("the label `{}`: it has no vertices", catalogue.label_name(*label)));
    }
    for edge_type in &scope.types {
        let name = catalogue.edge_type_name(*edge_type);
        if !survey.joins.iter().any(|join| join.edge_type == *edge_type) {
            losses.push(format!("the edge type `{name}`: no edges of it are among what is written"));
        } else if catalogue.edge_type_definition(*edge_type).is_some_and(|found| found.simple) {
            losses.push(format!("that the edge type `{name}` is simple: one edge from a vertex to another"));
        }
        if let Some(key) = catalogue.newest_first(*edge_type) {
            let key = catalogue.key_name(key);
            losses.push(format!("that the edge type `{name}` is newest-first by `{key}`"));
        }
    }
}

fn property_types(survey: &Survey, scope: &ExportScope, losses: &mut Vec<String>) {
    let catalogue = &survey.catalogue;
    let mut compare = |owner: Owner, name: &str, found: &dyn Fn(_) -> Option<ValueType>| {
        for (key, declared) in catalogue.properties_of(owner) {
            let key_name = catalogue.key_name(key);
            match found(key) {
                None => losses.push(format!("the property `{key_name}` of `{name}`: it has no values")),
                Some(found) if found != declared => losses.push(format!(
                    "that `{key_name}` of `{name}` may be {declared}: all of its values are {found}"
                )),
                Some(_) => {}
            }
        }
    };
    for label in survey.labels.iter().filter(|label| scope.has_label(label.label)) {
        compare(Owner::Label(label.label), &catalogue.label_name(label.label), &|key| {
            label.facts.get(&key).map(|facts| facts.value_type())
        });
    }
    for (edge_type, _) in catalogue.edge_types() {
        if survey.joins.iter().any(|join| join.edge_type == edge_type) {
            compare(Owner::EdgeType(edge_type), &catalogue.edge_type_name(edge_type), &|key| {
                survey.edge_facts(edge_type, key).map(|facts| facts.value_type())
            });
        }
    }
    for label in survey.labels.iter().filter(|label| scope.has_label(label.label)) {
        for (key, name) in catalogue.keys().filter(|(key, _)| catalogue.meta_key(label.label, *key).is_some())
        {
            let label_name = catalogue.label_name(label.label);
            match label.meta_properties.get(&key) {
                Some(1) => losses.push(format!("1 property of a value of `{name}` of `{label_name}`")),
                Some(count) => {
                    losses.push(format!("{count} properties of values of `{name}` of `{label_name}`"));
                }
                // An import asks for none.
                None if label.facts.contains_key(&key) => {
                    losses.push(format!("that values of `{name}` of `{label_name}` may have properties"));
                }
                None => {}
            }
        }
    }
}

fn of_edge_lists(survey: &Survey, options: &ExportOptions, losses: &mut Vec<String>) {
    let catalogue = &survey.catalogue;
    if survey.labels.len() > 1 {
        losses.push("labels: a list has vertices of one".to_owned());
    }
    let identity = edge_list::identity(survey);
    let mut missing = BTreeSet::new();
    for key in survey.labels.iter().flat_map(|label| label.facts.keys()) {
        let name = catalogue.key_name(*key);
        if identity.key() == Some(*key) {
            if &*name != "id" {
                losses.push(format!("the name of `{name}`, the vertices' key: an import calls it `id`"));
            }
            if identity.value_type() != ValueType::I64 {
                let value_type = identity.value_type();
                losses.push(format!("that `{name}` is {value_type}: an import makes it long"));
            }
        } else if !options.vertex_columns.iter().any(|chosen| **chosen == *name) {
            missing.insert(format!("the property `{name}` of vertices"));
        }
    }
    for key in survey.edge_facts.values().flat_map(|facts| facts.keys()) {
        let name = catalogue.key_name(*key);
        if !options.edge_columns.iter().any(|chosen| **chosen == *name) {
            missing.insert(format!("the property `{name}` of edges"));
        }
    }
    losses.extend(missing);
}
