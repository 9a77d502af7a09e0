//! Table entry: a `[[table]]` of a mapping file, from TOML to a rule.

use crate::import::csv::header::check_word;
use crate::import::mapping::column::{Column, Columns, Ends};
use crate::import::mapping::misuse::{Misuse, check, span_of};
use crate::import::mapping::origin::{Lines, Origin};
use crate::import::mapping::rule::ColumnName;
use crate::import::mapping::table::{EndColumns, ForeignKeyRule, MissingEnd, RowRule, TableRule, UnfitValue};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use toml::Spanned;

/// Keys of a rule whose rows are vertices, and of one whose rows are edges.
const VERTEX_KEYS: &str = "label, id, edge, properties, ignore, rename, types, where, missing, on-unfit";
const EDGE_KEYS: &str =
    "type, id, start, end, undirected, properties, ignore, rename, types, where, missing, on-unfit";

/// One `[[table]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TableEntry {
    table: Spanned<String>,
    label: Option<Spanned<String>>,
    #[serde(rename = "type")]
    edge_type: Option<Spanned<String>>,
    id: Option<Spanned<Columns>>,
    start: Option<Spanned<Ends>>,
    end: Option<Spanned<Ends>>,
    edge: Option<Spanned<Vec<Spanned<EdgeEntry>>>>,
    properties: Option<Spanned<Vec<Column>>>,
    ignore: Option<Spanned<Vec<Column>>>,
    rename: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    types: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    #[serde(rename = "where")]
    condition: Option<Spanned<String>>,
    undirected: Option<Spanned<bool>>,
    missing: Option<Spanned<MissingEnd>>,
    on_unfit: Option<Spanned<UnfitValue>>,
}

/// An entry of the key `edge`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeEntry {
    #[serde(rename = "type")]
    edge_type: Spanned<String>,
    column: Spanned<Columns>,
    space: Option<Spanned<String>>,
    reverse: Option<bool>,
    properties: Option<Spanned<Vec<Column>>>,
    rename: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    missing: Option<Spanned<MissingEnd>>,
}

/// What a mapping file says of all tables.
#[derive(Clone, Copy)]
pub(super) struct TableDefaults {
    pub(super) missing: Option<MissingEnd>,
    pub(super) on_unfit: Option<UnfitValue>,
}

impl TableEntry {
    /// The rule that it says; it begins at byte `at` of the file.
    pub(super) fn into_rule(
        mut self,
        defaults: TableDefaults,
        lines: &Lines<'_>,
        at: Range<usize>,
    ) -> Result<TableRule, Misuse> {
        let origin = Origin::new(lines, at.start, self.keys().map(|(key, at)| (key, at.start)));
        check(&self.table, "table", not_empty)?;
        if let (Some(properties), Some(_)) = (&self.properties, &self.ignore) {
            let why =
                "properties names all that there are: ignore has nothing to take away; say one of the two";
            return Err(Misuse { at: properties.span(), key: "properties", why: why.to_owned() });
        }
        for name in self.rename.iter().flat_map(|rename| rename.get_ref().values()) {
            check(name, "rename", not_empty)?;
        }
        for value_type in self.types.iter().flat_map(|types| types.get_ref().values()) {
            check(value_type, "types", |value_type| check_word(&format!("name:{value_type}")))?;
        }
        if let Some(condition) = &self.condition {
            check(condition, "where", not_empty)?;
        }
        let row = self.take_row(lines, at)?;
        Ok(TableRule {
            table: self.table.into_inner(),
            row,
            id: match self.id {
                Some(id) => {
                    let at = id.span();
                    different("id", at, id.into_inner().0)?
                }
                None => Vec::new(),
            },
            properties: match self.properties {
                Some(columns) => Some(column_names("properties", columns)?),
                None => None,
            },
            ignore: match self.ignore {
                Some(columns) => column_names("ignore", columns)?,
                None => Vec::new(),
            },
            rename: names(self.rename),
            types: names(self.types),
            condition: self.condition.map(Spanned::into_inner),
            missing: self.missing.map(Spanned::into_inner).or(defaults.missing),
            on_unfit: self.on_unfit.map(Spanned::into_inner).or(defaults.on_unfit),
            origin: Some(origin),
        })
    }

    /// What a row becomes; takes the keys that say so.
    fn take_row(&mut self, lines: &Lines<'_>, at: Range<usize>) -> Result<RowRule, Misuse> {
        let misuse = |at, key, why: String| Err(Misuse { at, key, why });
        match (self.label.take(), self.edge_type.take()) {
            (Some(label), None) => {
                check(&label, "label", not_empty)?;
                let others = [
                    ("start", span_of(&self.start)),
                    ("end", span_of(&self.end)),
                    ("undirected", span_of(&self.undirected)),
                ];
                if let Some((key, at)) = others.into_iter().find_map(|(key, at)| Some((key, at?))) {
                    let why = format!("rows with a label are vertices, which have no such thing; known of them are {VERTEX_KEYS}");
                    return misuse(at, key, why);
                }
                let entries = self.edge.take().map(Spanned::into_inner).unwrap_or_default();
                let edges = entries.into_iter().map(|entry| entry_rule(entry, lines));
                Ok(RowRule::Vertex { label: label.into_inner(), edges: edges.collect::<Result<_, _>>()? })
            }
            (None, Some(edge_type)) => {
                check(&edge_type, "type", not_empty)?;
                if let Some(at) = span_of(&self.edge) {
                    let why = format!("rows with a type are edges, which have no such thing; known of them are {EDGE_KEYS}");
                    return misuse(at, "edge", why);
                }
                let (start, end) = match (self.start.take(), self.end.take()) {
                    (Some(start), Some(end)) => (start, end),
                    (Some(_), None) => {
                        return misuse(edge_type.span(), "end", "is missing: where do these edges end?".to_owned());
                    }
                    (None, _) => {
                        return misuse(edge_type.span(), "start", "is missing: where do these edges begin?".to_owned());
                    }
                };
                Ok(RowRule::Edge {
                    edge_type: edge_type.into_inner(),
                    start: end_columns("start", start)?,
                    end: end_columns("end", end)?,
                    undirected: self.undirected.take().is_some_and(Spanned::into_inner),
                })
            }
            (Some(_), Some(edge_type)) => misuse(
                edge_type.span(),
                "type",
                "a row is a vertex (label) or an edge (type): if it is both, write two rules for the table; a \
                 foreign key of a vertex is an entry of `edge`"
                    .to_owned(),
            ),
            (None, None) => misuse(
                at,
                "label",
                "is missing: rows become vertices with a label, or edges with a type".to_owned(),
            ),
        }
    }

    /// The keys that are there, and where their values stand.
    fn keys(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let keys = [
            ("table", Some(self.table.span())),
            ("label", span_of(&self.label)),
            ("type", span_of(&self.edge_type)),
            ("id", span_of(&self.id)),
            ("start", span_of(&self.start)),
            ("end", span_of(&self.end)),
            ("edge", span_of(&self.edge)),
            ("properties", span_of(&self.properties)),
            ("ignore", span_of(&self.ignore)),
            ("rename", span_of(&self.rename)),
            ("types", span_of(&self.types)),
            ("where", span_of(&self.condition)),
            ("undirected", span_of(&self.undirected)),
            ("missing", span_of(&self.missing)),
            ("on-unfit", span_of(&self.on_unfit)),
        ];
        keys.into_iter().filter_map(|(key, at)| Some((key, at?)))
    }
}

/// The rule of an entry of the key `edge`.
fn entry_rule(entry: Spanned<EdgeEntry>, lines: &Lines<'_>) -> Result<ForeignKeyRule, Misuse> {
    let at = entry.span().start;
    let EdgeEntry { edge_type, column, space, reverse, properties, rename, missing } = entry.into_inner();
    let keys = [
        ("type", Some(edge_type.span())),
        ("column", Some(column.span())),
        ("space", span_of(&space)),
        ("properties", span_of(&properties)),
        ("rename", span_of(&rename)),
        ("missing", span_of(&missing)),
    ];
    let keys = keys.into_iter().filter_map(|(key, at)| Some((key, at?.start)));
    let origin = Origin::new(lines, at, keys);
    check(&edge_type, "edge", |name| not_empty(name).map_err(|why| format!("type: {why}")))?;
    for name in rename.iter().flat_map(|rename| rename.get_ref().values()) {
        check(name, "edge", |name| not_empty(name).map_err(|why| format!("rename: {why}")))?;
    }
    let at = column.span();
    let columns = different("edge", at, column.into_inner().0)?;
    Ok(ForeignKeyRule {
        end: EndColumns { columns, space: space.map(Spanned::into_inner) },
        reverse: reverse.unwrap_or(false),
        properties: match properties {
            Some(columns) => column_names("edge", columns)?,
            None => Vec::new(),
        },
        rename: names(rename),
        missing: missing.map(Spanned::into_inner),
        origin: Some(origin),
        edge_type: edge_type.into_inner(),
    })
}

fn names(names: Option<Spanned<BTreeMap<String, Spanned<String>>>>) -> BTreeMap<String, String> {
    let names = names.map(Spanned::into_inner).unwrap_or_default();
    names.into_iter().map(|(column, name)| (column, name.into_inner())).collect()
}

fn end_columns(key: &'static str, end: Spanned<Ends>) -> Result<EndColumns, Misuse> {
    let at = end.span();
    let EndColumns { columns, space } = end.into_inner().0;
    Ok(EndColumns { columns: different(key, at, columns)?, space })
}

fn column_names(key: &'static str, columns: Spanned<Vec<Column>>) -> Result<Vec<ColumnName>, Misuse> {
    let at = columns.span();
    different(key, at, columns.into_inner().into_iter().map(|Column(name)| name).collect())
}

/// `columns`, unless one is named twice.
fn different(
    key: &'static str,
    at: Range<usize>,
    columns: Vec<ColumnName>,
) -> Result<Vec<ColumnName>, Misuse> {
    let mut known = HashSet::new();
    match columns.iter().find(|&column| !known.insert(column)) {
        Some(column) => Err(Misuse { at, key, why: format!("column {column} is named twice") }),
        None => Ok(columns),
    }
}

fn not_empty(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("expected something".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::mapping::document::Mapping;
    use std::path::Path;

    fn parse(text: &str) -> Result<Vec<TableRule>, String> {
        match Mapping::parse("m.toml", text, Path::new(".")) {
            Ok(mapping) => Ok(mapping.tables),
            Err(error) => Err(error.to_string()),
        }
    }

    fn name(column: &str) -> ColumnName {
        ColumnName::Name(column.to_owned())
    }

    #[test]
    fn every_key_is_read() {
        let text = r#"
            [defaults]
            missing = "create"
            on-unfit = "null"

            [[table]]
            table = "public.rental"
            label = "Rental"
            id = ["a", 2]
            ignore = ["notes", 4]
            rename = { rental_date = "since" }
            types = { payload = "map" }
            where = "return_date is null"
            on-unfit = "stop"
            edge = [
              { type = "BY", column = "customer_id", space = "Customer", properties = ["rental_date"], rename = { rental_date = "at" } },
              { type = "LENT", column = ["a", "b"], reverse = true, missing = "stop" },
            ]

            [[table]]
            table = "person_knows_person"
            type = "KNOWS"
            start = { column = 1, space = "Person" }
            end = ["b", "c"]
            undirected = true
            properties = ["since"]
        "#;
        let rules = parse(text).unwrap();
        let [rental, knows] = &rules[..] else { panic!("two rules") };
        let RowRule::Vertex { label, edges } = &rental.row else { panic!("a vertex") };
        assert_eq!((rental.table.as_str(), label.as_str()), ("public.rental", "Rental"));
        assert_eq!(rental.id, [name("a"), ColumnName::Number(2)]);
        assert_eq!((rental.properties.as_ref(), rental.ignore.len()), (None, 2));
        assert_eq!((rental.missing, rental.on_unfit), (Some(MissingEnd::Create), Some(UnfitValue::Stop)));
        assert_eq!(
            (rental.rename["rental_date"].as_str(), rental.types["payload"].as_str()),
            ("since", "map")
        );
        assert_eq!(rental.condition.as_deref(), Some("return_date is null"));
        let [by, lent] = &edges[..] else { panic!("two edges") };
        assert_eq!((by.edge_type.as_str(), by.end.space.as_deref()), ("BY", Some("Customer")));
        assert_eq!(
            (by.properties.as_slice(), by.reverse, by.missing),
            (&[name("rental_date")][..], false, None)
        );
        assert_eq!((by.rename["rental_date"].as_str(), lent.rename.len()), ("at", 0));
        assert_eq!((lent.end.columns.as_slice(), lent.reverse), (&[name("a"), name("b")][..], true));
        assert_eq!(lent.missing, Some(MissingEnd::Stop));
        assert_eq!(rental.blame("where", "x"), "m.toml:13: where: x");
        assert_eq!(rental.blame_edge(lent, "column", "x"), "m.toml:17: edge.column: x");

        let RowRule::Edge { edge_type, start, end, undirected } = &knows.row else { panic!("an edge") };
        assert_eq!((edge_type.as_str(), undirected), ("KNOWS", &true));
        assert_eq!(
            start,
            &EndColumns { columns: vec![ColumnName::Number(1)], space: Some("Person".to_owned()) }
        );
        assert_eq!(end, &EndColumns::new(vec![name("b"), name("c")]));
        assert_eq!(knows.properties, Some(vec![name("since")]));
        assert_eq!((knows.missing, knows.on_unfit), (Some(MissingEnd::Create), Some(UnfitValue::Null)));
        assert!(rental.numbers_columns() && knows.numbers_columns());
        assert!(
            !TableRule { id: vec![name("a")], ignore: vec![name("notes")], ..rental.clone() }
                .numbers_columns()
        );
    }

    #[test]
    fn what_is_wrong_is_named_by_line_and_key_with_what_is_allowed() {
        for (rest, expected) in [
            ("", "m.toml:1: label: is missing: rows become vertices with a label, or edges with a type"),
            (
                "label = 'A'\ntype = 'B'\n",
                "m.toml:4: type: a row is a vertex (label) or an edge (type): if it is",
            ),
            ("label = ' '\n", "m.toml:3: label: \" \": expected something"),
            ("label = 'A'\nundirected = true\n", "m.toml:4: undirected: rows with a label are vertices"),
            (
                "label = 'A'\nstart = 'a'\n",
                "m.toml:4: start: rows with a label are vertices, which have no such",
            ),
            ("type = 'A'\nstart = 'a'\nend = 'b'\nedge = []\n", "m.toml:6: edge: rows with a type are edges"),
            ("type = 'A'\nstart = 'a'\n", "m.toml:3: end: is missing: where do these edges end?"),
            ("type = 'A'\nend = 'a'\n", "m.toml:3: start: is missing: where do these edges begin?"),
            (
                "label = 'A'\nproperties = ['a']\nignore = ['b']\n",
                "m.toml:4: properties: properties names all that there are: ignore has nothing to take away",
            ),
            ("label = 'A'\nid = []\n", "m.toml:4: invalid length 0, expected one column or more"),
            ("label = 'A'\nid = ['a', 'a']\n", "m.toml:4: id: column \"a\" is named twice"),
            ("label = 'A'\nid = 0\n", "m.toml:4: invalid value: integer `0`, expected the name of a column"),
            (
                "label = 'A'\nid = true\n",
                "m.toml:4: invalid type: boolean `true`, expected the name of a column, ",
            ),
            (
                "label = 'A'\nmissing = 'drop'\n",
                "m.toml:4: unknown variant `drop`, expected one of `wait`, `create`",
            ),
            ("label = 'A'\non-unfit = 'no'\n", "m.toml:4: unknown variant `no`, expected `stop` or `null`"),
            ("label = 'A'\nlabl = 'A'\n", "m.toml:4: unknown field `labl`, expected one of `table`, `label`"),
            ("label = 'A'\nwhere = ''\n", "m.toml:4: where: \"\": expected something"),
            (
                "label = 'A'\nedge = [\n  { type = 'B', column = 'c' },\n  { type = 'B', colum = 'c' },\n]\n",
                "m.toml:6: unknown field `colum`, expected one of `type`, `column`, `space`",
            ),
            (
                "label = 'A'\n[[table.edge]]\ntype = ''\ncolumn = 'c'\n",
                "m.toml:5: edge: \"\": type: expected",
            ),
            (
                "label = 'A'\n[table.types]\na = 'strin'\n",
                "m.toml:5: types: \"strin\": unknown type \"strin\"",
            ),
            ("type = 'A'\nstart = { colum = 1 }\nend = 'b'\n", "m.toml:4: unknown field `colum`, expected"),
        ] {
            let text = format!("[[table]]\ntable = 't'\n{rest}");
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(expected), "{text}\n  got {error}\n  not {expected}");
        }
        assert_eq!(
            parse("[[table]]\nlabel = 'A'\n").unwrap_err().lines().next(),
            Some("m.toml:1: missing field `table` in `table`")
        );
    }
}
