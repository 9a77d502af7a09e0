//! Propose: writes a mapping file from rules that were recognised, for people to check and change.
//!
//! What is as it is by default is left out, and what nobody can know is said in a comment. Reading the
//! text gives the rules back.

use crate::import::id_options::ON_UNKNOWN_CREATE;
use crate::import::mapping::rule::{ColumnName, EndColumn, FileFormat, FileRule};
use crate::import::mapping::table::{EndColumns, ForeignKeyRule, RowRule, TableRule};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Longer lists have a line for each element.
const LINE_CHARS_MAX: usize = 100;

const CAPTION: &str = "\
# How `evergraph import` reads these files. Look it over, change what is wrong, and say:
#   evergraph import DATABASE FOLDER --mapping THIS_FILE
# Words of `columns` and types are those of headers: name:type, id:ID(Space), :START_ID(Space), :IGNORE.
";

/// A file and what was found out about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// Its path below the folder that is imported.
    pub path: String,
    /// How it is read.
    pub rule: FileRule,
    /// What was guessed, or couldn't be.
    pub notes: Vec<String>,
}

/// A table and what was found out about it.
#[derive(Clone, PartialEq, Debug)]
pub struct TableProposal {
    /// How its rows become vertices or edges.
    pub rule: TableRule,
    /// What was guessed, or couldn't be.
    pub notes: Vec<String>,
}

/// The mapping file that says `proposals`, below the comment `caption`. Reading it gives their rules back.
#[must_use]
pub fn table_mapping_text(caption: &str, proposals: &[TableProposal]) -> String {
    let mut text = String::new();
    caption.lines().for_each(|row| line(&mut text, format_args!("# {row}")));
    for TableProposal { rule, notes } in proposals {
        text.push('\n');
        notes.iter().for_each(|note| line(&mut text, format_args!("# {}", note.replace('\n', " "))));
        text += "[[table]]\n";
        write_table_rule(&mut text, rule);
    }
    text
}

/// The mapping file that says `proposals`, and that nothing is known of `strangers`.
#[must_use]
pub fn mapping_text(proposals: &[Proposal], strangers: &[String]) -> String {
    let mut text = CAPTION.to_owned();
    for Proposal { path, rule, notes } in proposals {
        text.push('\n');
        notes.iter().for_each(|note| line(&mut text, format_args!("# {}", note.replace('\n', " "))));
        text += "[[file]]\n";
        write_rule(&mut text, path, rule);
    }
    if !strangers.is_empty() {
        text += "\n# Left out, for nothing tells what they hold:\n";
        strangers.iter().for_each(|path| line(&mut text, format_args!("#   {}", path.replace('\n', " "))));
    }
    text
}

fn write_rule(text: &mut String, path: &str, rule: &FileRule) {
    let mut key = |key: &str, value: String| line(text, format_args!("{key} = {value}"));
    let byte = |byte: u8| quoted(&char::from(byte).to_string());
    key("path", quoted(path));
    if rule.format != FileFormat::Csv {
        key("format", quoted(rule.format.name()));
    }
    for (name, value) in [("label", &rule.label), ("type", &rule.edge_type)] {
        if let Some(value) = value {
            key(name, quoted(value));
        }
    }
    if let Some(delimiter) = rule.delimiter {
        key("delimiter", byte(delimiter));
    }
    if let Some(quote) = rule.quote {
        key("quote", quote.map_or(quoted("none"), byte));
    }
    if let Some(escape) = rule.escape {
        key("escape", byte(escape));
    }
    if let Some(comment) = rule.comment {
        key("comment", byte(comment));
    }
    if let Some(null) = &rule.null {
        key("null", quoted(null));
    }
    if let Some(delimiter) = rule.array_delimiter {
        key("array-delimiter", byte(delimiter));
    }
    if !rule.header {
        key("header", "false".to_owned());
    }
    if let Some(columns) = &rule.columns {
        key("columns", array(columns.iter().map(|word| quoted(word))));
    }
    for (name, end) in [("id", &rule.id), ("start", &rule.start), ("end", &rule.end)] {
        if let Some(end) = end {
            key(name, end_column(end));
        }
    }
    if !rule.types.is_empty() {
        key("types", name_table(&rule.types));
    }
    if !rule.ignore.is_empty() {
        key("ignore", array(rule.ignore.iter().map(column_name)));
    }
    if rule.undirected {
        key("undirected", "true".to_owned());
    }
}

fn write_table_rule(text: &mut String, rule: &TableRule) {
    let mut key = |key: &str, value: String| line(text, format_args!("{key} = {value}"));
    key("table", quoted(&rule.table));
    match &rule.row {
        RowRule::Vertex { label, .. } => key("label", quoted(label)),
        RowRule::Edge { edge_type, .. } => key("type", quoted(edge_type)),
    }
    if !rule.id.is_empty() {
        key("id", columns(&rule.id));
    }
    if let RowRule::Edge { start, end, undirected, .. } = &rule.row {
        key("start", end_columns(start));
        key("end", end_columns(end));
        if *undirected {
            key("undirected", "true".to_owned());
        }
    }
    if let Some(condition) = &rule.condition {
        key("where", quoted(condition));
    }
    if let Some(properties) = &rule.properties {
        key("properties", array(properties.iter().map(column_name)));
    }
    if !rule.ignore.is_empty() {
        key("ignore", array(rule.ignore.iter().map(column_name)));
    }
    for (name, names) in [("rename", &rule.rename), ("types", &rule.types)] {
        if !names.is_empty() {
            key(name, name_table(names));
        }
    }
    if let Some(missing) = rule.missing {
        key("missing", quoted(missing.name()));
    }
    if let Some(on_unfit) = rule.on_unfit {
        key("on-unfit", quoted(on_unfit.name()));
    }
    if let RowRule::Vertex { edges, .. } = &rule.row
        && !edges.is_empty()
    {
        key("edge", array(edges.iter().map(foreign_key)));
    }
}

fn foreign_key(edge: &ForeignKeyRule) -> String {
    let ForeignKeyRule { edge_type, end, reverse, properties, rename, missing, origin: _ } = edge;
    let mut parts =
        vec![format!("type = {}", quoted(edge_type)), format!("column = {}", columns(&end.columns))];
    parts.extend(end.space.as_ref().map(|space| format!("space = {}", quoted(space))));
    parts.extend(reverse.then(|| "reverse = true".to_owned()));
    if !properties.is_empty() {
        let names: Vec<String> = properties.iter().map(column_name).collect();
        parts.push(format!("properties = [{}]", names.join(", ")));
    }
    if !rename.is_empty() {
        parts.push(format!("rename = {}", name_table(rename)));
    }
    parts.extend(missing.map(|missing| format!("missing = {}", quoted(missing.name()))));
    format!("{{ {} }}", parts.join(", "))
}

fn end_columns(end: &EndColumns) -> String {
    match &end.space {
        Some(space) => format!("{{ column = {}, space = {} }}", columns(&end.columns), quoted(space)),
        None => columns(&end.columns),
    }
}

/// One column by itself, several as a list.
fn columns(columns: &[ColumnName]) -> String {
    match columns {
        [column] => column_name(column),
        columns => format!("[{}]", columns.iter().map(column_name).collect::<Vec<_>>().join(", ")),
    }
}

fn name_table(names: &BTreeMap<String, String>) -> String {
    let names = names.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
    format!("{{ {} }}", names.collect::<Vec<_>>().join(", "))
}

fn end_column(end: &EndColumn) -> String {
    let EndColumn { column, space, id_type, creates } = end;
    if space.is_none() && id_type.is_none() && !creates {
        return column_name(column);
    }
    let mut parts = vec![format!("column = {}", column_name(column))];
    parts.extend(space.as_ref().map(|space| format!("space = {}", quoted(space))));
    parts.extend(id_type.as_ref().map(|id_type| format!("type = {}", quoted(id_type))));
    parts.extend(creates.then(|| format!("on-unknown = {}", quoted(ON_UNKNOWN_CREATE))));
    format!("{{ {} }}", parts.join(", "))
}

fn column_name(column: &ColumnName) -> String {
    match column {
        ColumnName::Name(name) => quoted(name),
        ColumnName::Number(number) => number.to_string(),
    }
}

/// One line if it is short, else one a word.
fn array(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    let one_line = format!("[{}]", words.join(", "));
    if one_line.chars().count() <= LINE_CHARS_MAX {
        one_line
    } else {
        format!("[\n  {},\n]", words.join(",\n  "))
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::mapping::document::Mapping;
    use crate::import::mapping::table::{MissingEnd, UnfitValue};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn a_column() -> impl Strategy<Value = ColumnName> {
        prop_oneof![
            "[a-zé\"' \\\\]{1,5}".prop_map(ColumnName::Name),
            (1usize..9).prop_map(ColumnName::Number)
        ]
    }

    fn an_end() -> impl Strategy<Value = Option<EndColumn>> {
        let space = prop::option::of("[A-Z\n\"]{0,4}");
        let end = (a_column(), space, prop::option::of(Just("long".to_owned())), any::<bool>());
        let end =
            end.prop_map(|(column, space, id_type, creates)| EndColumn { column, space, id_type, creates });
        prop::option::of(end)
    }

    fn a_byte() -> impl Strategy<Value = Option<u8>> {
        prop::option::of(prop::sample::select(b"|;,\t\"'\\ ".to_vec()))
    }

    fn a_rule() -> impl Strategy<Value = FileRule> {
        let words = prop::option::of(prop::collection::vec("[a-z]{1,40}", 0..5));
        let types = prop::collection::btree_map("[a-zé. ]{0,4}", Just("int".to_owned()), 0..3);
        let quote = prop::option::of(a_byte());
        let names = (
            prop::option::of("[A-Z\"\n]{0,4}"),
            prop::option::of("[A-Z]{0,4}"),
            prop::option::of("[N\\\\]*"),
        );
        let ends = (an_end(), an_end(), an_end());
        let flags = (any::<bool>(), any::<bool>(), prop::sample::select(FileFormat::ALL.to_vec()));
        (
            words,
            types,
            quote,
            names,
            ends,
            flags,
            (a_byte(), a_byte(), a_byte(), a_byte()),
            prop::collection::vec(a_column(), 0..3),
        )
            .prop_map(|(columns, types, quote, names, ends, flags, bytes, ignore)| FileRule {
                label: names.0,
                edge_type: names.1,
                null: names.2,
                columns,
                types,
                quote,
                id: ends.0,
                start: ends.1,
                end: ends.2,
                header: flags.0,
                undirected: flags.1,
                delimiter: bytes.0,
                array_delimiter: bytes.1,
                escape: bytes.2,
                comment: bytes.3,
                ignore,
                ..FileRule::new(flags.2)
            })
            .prop_map(with_keys_of_its_format)
    }

    /// What `rule` says by keys that its format has.
    fn with_keys_of_its_format(mut rule: FileRule) -> FileRule {
        let has = |key| rule.format.keys().contains(&key);
        let [header, columns, ends, types, ignore] = ["header", "columns", "id", "types", "ignore"].map(has);
        let [delimiter, quote, escape, comment, array_delimiter, null] =
            ["delimiter", "quote", "escape", "comment", "array-delimiter", "null"].map(has);
        rule.header |= !header;
        rule.columns.take_if(|_| !columns);
        for end in [&mut rule.id, &mut rule.start, &mut rule.end] {
            end.take_if(|_| !ends);
        }
        rule.types.retain(|_, _| types);
        rule.ignore.retain(|_| ignore);
        rule.delimiter.take_if(|_| !delimiter);
        rule.quote.take_if(|_| !quote);
        rule.escape.take_if(|_| !escape);
        rule.comment.take_if(|_| !comment);
        rule.array_delimiter.take_if(|_| !array_delimiter);
        rule.null.take_if(|_| !null);
        rule
    }

    fn end_columns_strategy() -> impl Strategy<Value = EndColumns> {
        let columns = prop::collection::vec(a_column(), 1..3);
        (columns, prop::option::of("[A-Z\n\"]{0,4}"))
            .prop_map(|(columns, space)| EndColumns { columns: different(columns), space })
    }

    /// A list that names a column twice is an error.
    fn different(mut columns: Vec<ColumnName>) -> Vec<ColumnName> {
        let mut known = std::collections::HashSet::new();
        columns.retain(|column| known.insert(column.clone()));
        columns
    }

    fn a_missing() -> impl Strategy<Value = Option<MissingEnd>> {
        prop::option::of(prop::sample::select(vec![MissingEnd::Wait, MissingEnd::Create, MissingEnd::Stop]))
    }

    fn a_foreign_key() -> impl Strategy<Value = ForeignKeyRule> {
        let properties = prop::collection::vec(a_column(), 0..3).prop_map(different);
        let rename = prop::collection::btree_map("[a-z. ]{0,4}", "[a-z']{1,4}", 0..2);
        ("[A-Z\"]{1,4}", end_columns_strategy(), any::<bool>(), properties, rename, a_missing()).prop_map(
            |(edge_type, end, reverse, properties, rename, missing)| ForeignKeyRule {
                reverse,
                properties,
                rename,
                missing,
                ..ForeignKeyRule::new(edge_type, end)
            },
        )
    }

    fn a_row() -> impl Strategy<Value = RowRule> {
        let vertex = ("[A-Zé\"]{1,4}", prop::collection::vec(a_foreign_key(), 0..4))
            .prop_map(|(label, edges)| RowRule::Vertex { label, edges });
        let edge = ("[A-Z']{1,4}", end_columns_strategy(), end_columns_strategy(), any::<bool>()).prop_map(
            |(edge_type, start, end, undirected)| RowRule::Edge { edge_type, start, end, undirected },
        );
        prop_oneof![vertex, edge]
    }

    fn a_table_rule() -> impl Strategy<Value = TableRule> {
        let lists = (
            prop::collection::vec(a_column(), 0..3).prop_map(different),
            prop::option::of(prop::collection::vec(a_column(), 0..3).prop_map(different)),
            prop::collection::vec(a_column(), 0..3).prop_map(different),
        );
        let names = (
            prop::collection::btree_map("[a-zé. ]{0,4}", "[a-z\"]{1,4}", 0..3),
            prop::collection::btree_map("[a-zé. ]{0,4}", Just("map".to_owned()), 0..3),
        );
        let condition = prop::option::of("[a-z]{1,3} = '[a-z\"\n]{0,3}'");
        let unfit = prop::option::of(prop::sample::select(vec![UnfitValue::Stop, UnfitValue::Null]));
        ("[a-z.\"]{1,6}", a_row(), lists, names, condition, a_missing(), unfit).prop_map(
            |(table, row, (id, properties, ignore), (rename, types), condition, missing, on_unfit)| {
                TableRule {
                    id,
                    // One of the two can be said.
                    ignore: if properties.is_some() { Vec::new() } else { ignore },
                    properties,
                    rename,
                    types,
                    condition,
                    missing,
                    on_unfit,
                    ..TableRule::new(table, row)
                }
            },
        )
    }

    /// What a rule says, without where it says so.
    fn without_origin(mut rule: TableRule) -> TableRule {
        rule.origin = None;
        if let RowRule::Vertex { edges, .. } = &mut rule.row {
            edges.iter_mut().for_each(|edge| edge.origin = None);
        }
        rule
    }

    proptest! {
        #[test]
        fn a_proposed_mapping_of_tables_reads_back_as_its_rules(
            rules in prop::collection::vec(a_table_rule(), 1..4),
        ) {
            let proposal = |rule: &TableRule| {
                TableProposal { rule: rule.clone(), notes: vec!["said\nby nobody".to_owned()] }
            };
            let proposals: Vec<TableProposal> = rules.iter().map(proposal).collect();
            let text = table_mapping_text("first\nsecond", &proposals);
            prop_assert!(text.starts_with("# first\n# second\n\n# said by nobody\n[[table]]\n"));
            let mapping = Mapping::parse("m.toml", &text, Path::new(".")).unwrap();
            let read: Vec<TableRule> = mapping.tables.into_iter().map(without_origin).collect();
            prop_assert_eq!(read, rules);
        }

        #[test]
        fn a_proposed_mapping_reads_back_as_its_rules(rules in prop::collection::vec(a_rule(), 1..4)) {
            let proposal = |(at, rule): (usize, &FileRule)| Proposal {
                path: format!("a \"{at}\".csv"),
                rule: rule.clone(),
                notes: vec!["said\nby nobody".to_owned()],
            };
            let proposals: Vec<Proposal> = rules.iter().enumerate().map(proposal).collect();
            let text = mapping_text(&proposals, &[]);
            let mapping = Mapping::parse("m.toml", &text, Path::new(".")).unwrap();
            let read: Vec<(String, FileRule)> = mapping.rules.into_iter()
                .map(|mapped| (mapped.pattern, FileRule { origin: None, ..mapped.rule }))
                .collect();
            let expected: Vec<(String, FileRule)> = proposals.into_iter()
                .map(|proposal| (proposal.path, proposal.rule))
                .collect();
            prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn the_text_is_made_for_people() {
        let rule = FileRule {
            label: Some("Person".to_owned()),
            id: Some(EndColumn::new(ColumnName::Name("pid".to_owned()))),
            types: BTreeMap::from([("born".to_owned(), "int".to_owned())]),
            ..FileRule::new(FileFormat::Csv)
        };
        let note = "guessed: the id".to_owned();
        let proposal = Proposal { path: "people.csv".to_owned(), rule, notes: vec![note] };
        let text = mapping_text(&[proposal], &["notes.md".to_owned()]);
        let expected = "\n# guessed: the id\n[[file]]\npath = \"people.csv\"\nlabel = \"Person\"\n\
                        id = \"pid\"\ntypes = { \"born\" = \"int\" }\n\n\
                        # Left out, for nothing tells what they hold:\n#   notes.md\n";
        assert_eq!(text.strip_prefix(CAPTION).unwrap(), expected);
    }
}
