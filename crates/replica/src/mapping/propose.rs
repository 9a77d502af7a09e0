//! Propose: writes a mapping from the keys of a catalogue, for people to check and change.
//!
//! | table | becomes |
//! |---|---|
//! | a primary key | vertices, labelled by the table's name: `order_item` is `OrderItem` |
//! | each foreign key of it to such a table | an edge, typed by its column: `customer_id` is `CUSTOMER` |
//! | a primary key that consists of two foreign keys to such tables, no other one, and nobody refers to it | an edge, typed by the table's name |
//! | a partitioned table | the same, by its root |
//! | no primary key | nothing; a comment says so |
//!
//! Undirected edges are not proposed: keys don't show whether a pair has a direction.

use crate::mapping::key::{COMPOSITE_PROPERTY, is_key_type};
use crate::mapping::scope::{ForeignKeyScope, TableScope, root_of, same_columns};
use crate::mapping::sql_name::display_name;
use crate::pgoutput::relation::Oid;
use crate::source::catalogue::Catalogue;
use evergraph_files::import::mapping::propose::{TableProposal, table_mapping_text};
use evergraph_files::import::mapping::rule::ColumnName;
use evergraph_files::import::mapping::table::{EndColumns, ForeignKeyRule, RowRule, TableRule};
use evergraph_graph::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

const CAPTION: &str = "\
How the rows of this database's tables become vertices and edges. Look it over, and change what is wrong:
labels and types are names of tables and columns; `ignore = [...]` leaves columns out; tables without a rule
are left out. Pairs without a direction: `undirected = true`.";

/// The mapping that the keys of `catalogue` suggest.
///
/// # Errors
/// `invalid` if no table has a primary key, or a column's type isn't in the catalogue.
pub fn propose(catalogue: &Catalogue) -> Result<String> {
    let scopes: Vec<TableScope<'_>> = catalogue
        .tables
        .iter()
        .filter(|table| root_of(catalogue, table).id == table.id)
        .map(|table| TableScope::new(catalogue, table))
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::invalid)?;
    let (keyed, keyless): (Vec<&TableScope<'_>>, Vec<&TableScope<'_>>) =
        scopes.iter().partition(|scope| id_of(scope).is_some());
    if keyed.is_empty() {
        return Err(Error::invalid("nothing to propose: no table that this role sees has a primary key"));
    }
    let referred: BTreeSet<Oid> =
        scopes.iter().flat_map(|scope| &scope.foreign_keys).map(|key| key.target.id).collect();
    let becomes_vertices: BTreeSet<Oid> = keyed.iter().map(|scope| scope.table.id).collect();
    // A row that ends at a table without vertices is no edge.
    let has_ends = |ends: [&ForeignKeyScope<'_>; 2]| {
        ends.iter().all(|key| becomes_vertices.contains(&key.target.id) && refers_to_id(key))
    };
    let is_join = |scope: &TableScope<'_>| {
        !referred.contains(&scope.table.id) && join_ends(scope).is_some_and(has_ends)
    };
    let mut proposer = Proposer { labels: BTreeMap::new() };
    // Tables of other schemas get another name, if two have one.
    let mut by_schema = keyed.clone();
    by_schema.sort_by_key(|scope| &*scope.table.schema != "public");
    for scope in by_schema.into_iter().filter(|scope| !is_join(scope)) {
        let label = proposer.free_label(scope);
        proposer.labels.insert(scope.table.id, label);
    }
    let mut proposals: Vec<TableProposal> = Vec::new();
    for scope in keyed {
        let join = join_ends(scope).filter(|_| is_join(scope)).and_then(|[start, end]| {
            Some([(start, proposer.label_of(start)?), (end, proposer.label_of(end)?)])
        });
        proposals.push(match join {
            Some(ends) => proposer.edge(scope, ends),
            None => proposer.vertex(scope),
        });
    }
    // Vertices first, as edges name their labels.
    proposals.sort_by_key(|proposal| matches!(proposal.rule.row, RowRule::Edge { .. }));
    let mut text = table_mapping_text(CAPTION, &proposals);
    if !keyless.is_empty() {
        text += "\n# Left out, for they have no primary key that identifies rows (`id = [...]` names a unique key):\n";
        keyless
            .iter()
            .for_each(|scope| text += &format!("#   {}\n", display_name(scope.table).replace('\n', " ")));
    }
    Ok(text)
}

/// The columns of the primary key, if it can be that of vertices or edges.
fn id_of(scope: &TableScope<'_>) -> Option<Vec<usize>> {
    let id = scope.indexes(&scope.table.primary_key.as_ref()?.columns)?;
    let is_usable = |column: &usize| {
        let own = &scope.columns[*column];
        is_key_type(&own.column_type) && !own.column.is_generated
    };
    id.iter().all(is_usable).then_some(id)
}

/// Both foreign keys of a table that consists of them, in the order of its primary key.
fn join_ends<'a, 'b>(scope: &'b TableScope<'a>) -> Option<[&'b ForeignKeyScope<'a>; 2]> {
    let id = id_of(scope)?;
    let [one, other] = &scope.foreign_keys[..] else { return None };
    let both: Vec<usize> = one.columns.iter().chain(&other.columns).copied().collect();
    if !(same_columns(&both, &id) && one.has_one_text && other.has_one_text) {
        return None;
    }
    Some(if one.columns.contains(&id[0]) { [one, other] } else { [other, one] })
}

/// Whether `key` refers to the primary key of its table.
fn refers_to_id(key: &ForeignKeyScope<'_>) -> bool {
    key.target.primary_key.as_ref().is_some_and(|id| {
        id.columns.len() == key.target_columns.len()
            && id.columns.iter().all(|name| key.target_columns.contains(&&**name))
    })
}

struct Proposer {
    /// Labels of tables that become vertices.
    labels: BTreeMap<Oid, String>,
}

impl Proposer {
    /// A label for a table that no other one has.
    fn free_label(&self, scope: &TableScope<'_>) -> String {
        let name = camel_case(&scope.table.name);
        let is_free = |label: &String| self.labels.values().all(|known| known != label);
        let with_schema = || format!("{}{}", camel_case(&scope.table.schema), name);
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names =
            std::iter::once(name.clone()).chain(std::iter::once_with(with_schema)).chain(numbered);
        names.find(is_free).expect("there are more numbers than tables")
    }

    /// The label that `key` refers to, if it refers to the id of its vertices.
    fn label_of(&self, key: &ForeignKeyScope<'_>) -> Option<&str> {
        self.labels.get(&key.target.id).filter(|_| refers_to_id(key)).map(String::as_str)
    }

    fn edge(&self, scope: &TableScope<'_>, ends: [(&ForeignKeyScope<'_>, &str); 2]) -> TableProposal {
        let [start, end] = ends.map(|(key, label)| end_columns(scope, key, label));
        let row =
            RowRule::Edge { edge_type: upper_snake_case(&scope.table.name), start, end, undirected: false };
        let mut notes = Vec::new();
        let rule = self.with_columns(scope, TableRule::new(display_name(scope.table), row), &mut notes);
        TableProposal { rule, notes }
    }

    fn vertex(&self, scope: &TableScope<'_>) -> TableProposal {
        let mut notes = Vec::new();
        let mut edges: Vec<ForeignKeyRule> = Vec::new();
        for key in &scope.foreign_keys {
            let names = scope.names(&key.columns);
            let target = display_name(key.target);
            if !key.has_one_text {
                notes.push(format!(
                    "{names} refers to {target} by a type or a collation that takes different texts for equal: it stays a property"
                ));
                continue;
            }
            let Some(label) = self.label_of(key) else {
                notes.push(match self.labels.contains_key(&key.target.id) {
                    true => format!(
                        "{names} refers to {target}, but not to the id of vertices: it stays a property"
                    ),
                    false => format!("{names} refers to {target}, which has no rule: it stays a property"),
                });
                continue;
            };
            let edge_type = match &key.columns[..] {
                [column] => edge_type_of(&scope.columns[*column].column.name),
                _ => upper_snake_case(&key.target.name),
            };
            // A type between two labels comes from one key.
            let is_taken = |edge_type: &str| {
                edges
                    .iter()
                    .any(|edge| edge.edge_type == edge_type && edge.end.space.as_deref() == Some(label))
            };
            let names =
                key.columns.iter().map(|column| &*scope.columns[*column].column.name).collect::<Vec<_>>();
            let by_columns = upper_snake_case(&names.join("_"));
            let numbered = (2..).map(|number| format!("{edge_type}_{number}"));
            let mut types = [edge_type.clone(), by_columns].into_iter().chain(numbered);
            let edge_type =
                types.find(|edge_type| !is_taken(edge_type)).expect("there are more numbers than keys");
            edges.push(ForeignKeyRule::new(edge_type, end_columns(scope, key, label)));
        }
        let label = self.labels[&scope.table.id].clone();
        let rule = TableRule::new(display_name(scope.table), RowRule::Vertex { label, edges });
        let mut rule = self.with_columns(scope, rule, &mut notes);
        let has_key = scope.columns.iter().any(|column| &*column.column.name == COMPOSITE_PROPERTY);
        if has_key && id_of(scope).is_some_and(|id| id.len() > 1) {
            // The name of the key of several columns.
            rule.rename.insert(COMPOSITE_PROPERTY.to_owned(), format!("{COMPOSITE_PROPERTY}_column"));
        }
        TableProposal { rule, notes }
    }

    /// Says which columns become no properties.
    fn with_columns(
        &self,
        scope: &TableScope<'_>,
        mut rule: TableRule,
        notes: &mut Vec<String>,
    ) -> TableRule {
        for column in &scope.columns {
            let name = &*column.column.name;
            if column.column.is_generated {
                notes.push(format!("{name} is computed by PostgreSQL, which doesn't send it"));
            } else if &*column.column.type_name == "tsvector" {
                rule.ignore.push(ColumnName::Name(name.to_owned()));
            }
        }
        rule
    }
}

/// The columns of `key` in the order of the id that they refer to.
fn end_columns(scope: &TableScope<'_>, key: &ForeignKeyScope<'_>, label: &str) -> EndColumns {
    let id = key.target.primary_key.as_ref().map_or(&[][..], |key| &key.columns);
    let places = id.iter().filter_map(|name| key.target_columns.iter().position(|known| **known == **name));
    let columns = places.map(|place| &scope.columns[key.columns[place]].column.name);
    let columns = columns.map(|name| ColumnName::Name(name.to_string())).collect();
    EndColumns { columns, space: Some(label.to_owned()) }
}

/// `customer_id`: `CUSTOMER`; `reports_to`: `REPORTS_TO`.
fn edge_type_of(column: &str) -> String {
    let snake = upper_snake_case(column);
    match snake.strip_suffix("_ID") {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => snake,
    }
}

/// The words of a name: `order_item`, `orderItem` and `Order.item` have two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            (is_inside, was_lower) = (false, false);
            continue;
        }
        if !is_inside || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        (is_inside, was_lower) = (true, letter.is_lowercase() || letter.is_numeric());
        words.last_mut().expect("one was pushed").push(letter);
    }
    if words.is_empty() { vec![name.to_owned()] } else { words }
}

fn upper_snake_case(name: &str) -> String {
    words(name).iter().map(|word| word.to_uppercase()).collect::<Vec<_>>().join("_")
}

fn camel_case(name: &str) -> String {
    let word = |word: String| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        format!("{first}{}", letters.as_str())
    };
    words(name).into_iter().map(word).collect()
}
