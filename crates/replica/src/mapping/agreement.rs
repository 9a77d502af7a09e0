//! Agreement: what the rules of a mapping must agree about, since they share edge types.
//!
//! - Edges of a type between two labels come from one rule, or from one entry of `edge`: else an edge could not be told
//!   from another.
//! - A property of a type has one type of values, whatever rule it comes from.
//! - A property that is the key of a type's edges is of one rule: it is unique in its type.

use crate::mapping::plan::{EdgeIdentity, Plan, PlannedColumn, PropertyPlan};
use evergraph_files::import::mapping::table::{RowRule, TableRule};
use evergraph_graph::value::ValueType;
use std::collections::BTreeMap;

/// Edges that come from one rule, or from an entry of `edge`.
struct EdgeSource<'a> {
    rule: usize,
    /// The entry of `edge`, if it is one.
    entry: Option<usize>,
    edge_type: &'a str,
    start: &'a str,
    end: &'a str,
    key: Option<(&'a str, ValueType)>,
    properties: &'a [PropertyPlan],
    columns: &'a [PlannedColumn],
}

/// What the rules of `plan` don't agree about.
pub(super) fn disagreements(plan: &Plan, rules: &[TableRule]) -> Vec<String> {
    let mut sources = sources(plan);
    // The order of the mapping, so that the rule that comes second is told.
    sources.sort_by_key(|source| (source.rule, source.entry));
    let mut problems = Vec::new();
    let mut triples: BTreeMap<[&str; 3], &EdgeSource<'_>> = BTreeMap::new();
    let mut types: BTreeMap<[&str; 2], (ValueType, &EdgeSource<'_>)> = BTreeMap::new();
    let mut keys: BTreeMap<[&str; 2], &EdgeSource<'_>> = BTreeMap::new();
    for source in &sources {
        let (edge_type, start, end) = (source.edge_type, source.start, source.end);
        if let Some(other) = triples.insert([edge_type, start, end], source) {
            let why = format!(
                "edges {edge_type} from {start} to {end} come from {} as well: give one of both another type",
                other.place(rules)
            );
            problems.push(source.blame(rules, "type", &why));
            continue;
        }
        for (name, value_type) in source.values() {
            match types.get(&[edge_type, name]) {
                Some((other_type, other)) if *other_type != value_type => {
                    let why = format!(
                        "the property {name:?} of {edge_type} is {value_type} here, and {other_type} in {}: rename one of \
                         both, or state one type by `types`",
                        other.place(rules)
                    );
                    problems.push(source.blame(rules, "type", &why));
                }
                Some(_) => {}
                None => {
                    types.insert([edge_type, name], (value_type, source));
                }
            }
        }
        if let Some((key, _)) = source.key {
            keys.insert([edge_type, key], source);
        }
    }
    for source in &sources {
        for (name, _) in source.values() {
            let Some(owner) = keys.get(&[source.edge_type, name]) else { continue };
            if (owner.rule, owner.entry) != (source.rule, source.entry) {
                let why = format!(
                    "the property {name:?} identifies the edges {} of {}, and is unique in its type: rename it here, or \
                     give the edges another type",
                    source.edge_type,
                    owner.place(rules)
                );
                problems.push(source.blame(rules, "type", &why));
            }
        }
    }
    problems
}

fn sources(plan: &Plan) -> Vec<EdgeSource<'_>> {
    let mut sources = Vec::new();
    for table in &plan.tables {
        for vertex in &table.vertices {
            for (entry, edge) in vertex.edges.iter().enumerate() {
                let (row, other) = (vertex.label.as_str(), edge.end.label.as_str());
                let (start, end) = if edge.reverse { (other, row) } else { (row, other) };
                sources.push(EdgeSource {
                    rule: vertex.rule,
                    entry: Some(entry),
                    edge_type: &edge.edge_type,
                    start,
                    end,
                    key: None,
                    properties: &edge.properties,
                    columns: &table.columns,
                });
            }
        }
        for edge in &table.edges {
            let key = match &edge.identity {
                EdgeIdentity::Key(key) => Some((key.property.as_str(), key.value_type())),
                EdgeIdentity::Ends => None,
            };
            sources.push(EdgeSource {
                rule: edge.rule,
                entry: None,
                edge_type: &edge.edge_type,
                start: &edge.start.label,
                end: &edge.end.label,
                key,
                properties: &edge.properties,
                columns: &table.columns,
            });
        }
    }
    sources
}

impl<'a> EdgeSource<'a> {
    /// The properties and the key, with their types.
    fn values(&self) -> impl Iterator<Item = (&'a str, ValueType)> {
        let columns = self.columns;
        let properties = self.properties.iter();
        let properties =
            properties.map(move |property| (property.name.as_str(), property.value_type(columns)));
        self.key.into_iter().chain(properties)
    }

    fn blame(&self, rules: &[TableRule], key: &str, why: &str) -> String {
        let rule = &rules[self.rule];
        match (&rule.row, self.entry) {
            (RowRule::Vertex { edges, .. }, Some(entry)) => rule.blame_edge(&edges[entry], key, why),
            _ => rule.blame(key, why),
        }
    }

    /// Where the mapping says so: the line, or the table.
    fn place(&self, rules: &[TableRule]) -> String {
        let rule = &rules[self.rule];
        let origin = match (&rule.row, self.entry) {
            (RowRule::Vertex { edges, .. }, Some(entry)) => edges[entry].origin.as_ref(),
            _ => rule.origin.as_ref(),
        };
        origin.map_or_else(|| format!("the rule for {}", rule.table), |origin| origin.place("type"))
    }
}
