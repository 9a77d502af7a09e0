//! Scope: labels, edge types and conditions as the command line names them, as a part of the graph.

use crate::command::run::common_arguments::CommonArguments;
use crate::command::run::condition::filter;
use crate::command::run::names::{edge_type, label};
use evergraph_algorithms::scope::Scope;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{LabelId, TypeId};

/// The part of the graph that `common` names; an empty list stands for all.
///
/// # Errors
/// `not_found` for a name that the graph doesn't have, with those that it has; `invalid` for a
/// condition that can't be read.
pub fn scope(catalogue: &Catalogue, common: &CommonArguments) -> Result<Scope> {
    let labels: Vec<LabelId> =
        common.labels.iter().map(|name| label(catalogue, name)).collect::<Result<_>>()?;
    let types: Vec<TypeId> =
        common.types.iter().map(|name| edge_type(catalogue, name)).collect::<Result<_>>()?;
    // The owners of properties in scope.
    let all_labels = catalogue.labels().map(|(label, _)| label);
    let vertex_owners: Vec<Owner> =
        all_labels.filter(|label| labels.is_empty() || labels.contains(label)).map(Owner::Label).collect();
    let all_types = catalogue.edge_types().map(|(edge_type, _)| edge_type);
    let edge_owners: Vec<Owner> = all_types
        .filter(|edge_type| types.is_empty() || types.contains(edge_type))
        .map(Owner::EdgeType)
        .collect();
    let read = |option: &str, texts: &[String], owners: &[Owner]| -> Result<Vec<Filter>> {
        texts.iter().map(|text| filter(catalogue, option, text, owners)).collect()
    };
    Ok(Scope {
        vertex_filters: read("--where", &common.vertex_conditions, &vertex_owners)?,
        edge_filters: read("--where-edge", &common.edge_conditions, &edge_owners)?,
        labels: (!labels.is_empty()).then_some(labels),
        types: (!types.is_empty()).then_some(types),
    })
}
