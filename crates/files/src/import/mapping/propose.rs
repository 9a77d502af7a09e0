//! Propose: writes a mapping file from what was recognised, for people to check and change.
//!
//! What is as it is by default is left out, and what nobody can know is said in a comment. Reading the
//! text gives the rules back.

use crate::import::id_options::ON_UNKNOWN_CREATE;
use crate::import::mapping::rule::{ColumnName, EndColumn, FileFormat, FileRule};
use std::fmt::Write;

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
        let types = rule.types.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
        key("types", format!("{{ {} }}", types.collect::<Vec<_>>().join(", ")));
    }
    if !rule.ignore.is_empty() {
        key("ignore", array(rule.ignore.iter().map(column_name)));
    }
    if rule.undirected {
        key("undirected", "true".to_owned());
    }
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
    if one_line.chars().count() <= 100 { one_line } else { format!("[\n  {},\n]", words.join(",\n  ")) }
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

    proptest! {
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
