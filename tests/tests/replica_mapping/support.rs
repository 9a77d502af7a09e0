//! Support: rules from text, plans as text.

use evergraph_files::import::mapping::document::Mapping;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_replica::mapping::key::KeyPlan;
use evergraph_replica::mapping::plan::{EdgeIdentity, EndPlan, Plan, PropertyPlan, TablePlan};
use std::path::Path;

/// The rules of the mapping `text`, which errors call `m.toml`.
pub fn rules(text: &str) -> Vec<TableRule> {
    Mapping::parse("m.toml", text, Path::new(".")).unwrap().tables
}

/// What `plan` makes of each table, a line for each vertex and edge.
pub fn lines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for table in &plan.tables {
        for vertex in &table.vertices {
            let key = key_text(table, &vertex.key);
            let properties = property_text(table, &vertex.properties);
            let only = if vertex.condition.is_some() { " where" } else { "" };
            lines.push(format!("{}: ({} {key} {{{properties}}}){only}", table.name, vertex.label));
            for edge in &vertex.edges {
                let (end, properties) = (end_text(table, &edge.end), property_text(table, &edge.properties));
                let arrow = if edge.reverse { "<-" } else { "->" };
                lines.push(format!(
                    "{}: {} {arrow}{}{{{properties}}} {end} {}",
                    table.name,
                    vertex.label,
                    edge.edge_type,
                    edge.missing.name()
                ));
            }
        }
        for edge in &table.edges {
            let identity = match &edge.identity {
                EdgeIdentity::Ends => "by ends".to_owned(),
                EdgeIdentity::Key(key) => format!("by {}", key_text(table, key)),
            };
            let (start, end) = (end_text(table, &edge.start), end_text(table, &edge.end));
            let (line, only) = (
                if edge.undirected { "--" } else { "->" },
                if edge.condition.is_some() { " where" } else { "" },
            );
            let properties = property_text(table, &edge.properties);
            lines.push(format!(
                "{}: {start} {line}{}{{{properties}}} {end} {identity}{only}",
                table.name, edge.edge_type
            ));
        }
    }
    lines
}

fn key_text(table: &TablePlan, key: &KeyPlan) -> String {
    let columns: Vec<&str> = key.columns.iter().map(|column| &*table.columns[column.column].name).collect();
    format!("{}={}:{}", key.property, columns.join("|"), key.value_type())
}

/// The end, with `!` if the source promises that it is there.
fn end_text(table: &TablePlan, end: &EndPlan) -> String {
    let columns: Vec<&str> =
        end.key.columns.iter().map(|column| &*table.columns[column.column].name).collect();
    format!("{}[{}]{}", end.label, columns.join("|"), if end.is_promised { "!" } else { "" })
}

fn property_text(table: &TablePlan, properties: &[PropertyPlan]) -> String {
    let text = |property: &PropertyPlan| {
        let (column, value_type) =
            (&table.columns[property.column].name, property.value_type(&table.columns));
        if **column == *property.name {
            format!("{}:{value_type}", property.name)
        } else {
            format!("{}={column}:{value_type}", property.name)
        }
    };
    properties.iter().map(text).collect::<Vec<_>>().join(" ")
}
