//! GraphML: one file of vertices, then edges, with all properties and their types declared first.

use crate::export::elements::ElementReader;
use crate::export::meter::Meter;
use crate::export::options::{ExportOptions, ExportedFile};
use crate::export::packed_file::PackedFile;
use crate::export::pages;
use crate::export::survey::Survey;
use crate::export::target::{FileTarget, write_failed};
use evergraph_formats::error::WriteError;
use evergraph_formats::graphml::keys::Scope;
use evergraph_formats::graphml::writer::{GraphmlSchema, GraphmlWriter, PropertyKey};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::GraphView;
use std::collections::BTreeSet;

/// Writes everything that `survey` found in `view`, as `reader` gives it.
///
/// # Errors
/// Errors of reading; `invalid`, `io` or `limit` from the target; `invalid` for what XML can't hold,
/// control characters in a text say, with the element and the property; `cancelled`.
pub fn write(
    view: &dyn GraphView,
    survey: &Survey,
    reader: &ElementReader<'_>,
    options: &ExportOptions,
    meter: &Meter<'_>,
) -> Result<Vec<ExportedFile>> {
    let target = FileTarget::create(options)?;
    let name = target.name();
    let failed = |error: std::io::Error| write_failed(&options.output, error);
    let unwritable = |error: WriteError| match error {
        WriteError::Io(error) => failed(error),
        error => Error::from(error).context(options.output.display()),
    };
    let packed = PackedFile::new(target, options.packing()).map_err(failed)?;
    let mut writer = GraphmlWriter::new(packed, schema(survey, reader)).map_err(unwritable)?;
    for label in &survey.labels {
        pages::vertices(view, label.label, |page| {
            reader
                .vertices(label, page)?
                .iter()
                .try_for_each(|vertex| writer.write_vertex(vertex))
                .map_err(unwritable)?;
            meter.tick(&name, page.len())
        })?;
    }
    for joins in survey.joins_by_source() {
        pages::edges(view, joins[0].source, joins[0].edge_type, |label, page| {
            if joins.iter().any(|join| join.target == label) {
                let edges = reader.edges(&page.edges)?;
                edges.iter().try_for_each(|edge| writer.write_edge(edge)).map_err(unwritable)?;
            }
            meter.tick(&name, page.edges.len())
        })?;
    }
    let (packed, _) = writer.finish().map_err(unwritable)?;
    let (target, bytes) = packed.finish().map_err(failed)?;
    target.finish(options.overwrite)?;
    Ok(vec![ExportedFile { name, rows: survey.vertices_count() + survey.edges_count(), bytes }])
}

/// Every property with every type that it has.
fn schema(survey: &Survey, reader: &ElementReader<'_>) -> GraphmlSchema {
    let of_vertices = survey.labels.iter().flat_map(|label| &label.facts);
    let of_vertices = of_vertices
        .filter(|(key, _)| reader.identity.key() != Some(**key))
        .flat_map(|(key, facts)| facts.types.iter().map(move |value_type| (false, *key, value_type)));
    let of_edges = survey.edge_facts.values().flatten();
    let of_edges =
        of_edges.flat_map(|(key, facts)| facts.types.iter().map(move |value_type| (true, *key, value_type)));
    // Labels share keys: each is stated once.
    let all: BTreeSet<_> = of_vertices.chain(of_edges).collect();
    let property = |(is_of_edges, key, value_type)| PropertyKey {
        scope: if is_of_edges { Scope::Edge } else { Scope::Vertex },
        name: survey.catalogue.key_name(key).to_string(),
        value_type,
    };
    GraphmlSchema {
        properties: all.into_iter().map(property).collect(),
        vertex_ids: reader.identity.value_type(),
        edge_ids: ValueType::String,
    }
}
