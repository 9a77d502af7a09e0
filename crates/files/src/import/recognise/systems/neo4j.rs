//! Neo4j: headers in Neo4j's conventions, which say what columns hold; LDBC's files among them.

use crate::import::id_options::ON_UNKNOWN_CREATE;
use crate::import::mapping::rule::{ColumnName, EndColumn, FileRule};
use crate::import::recognise::labels::JoinableLabel;
use crate::import::recognise::systems::ldbc;

/// The rule of a file with a header in Neo4j's conventions; LDBC's names tell a type.
#[must_use]
pub fn neo4j_rule(rule: FileRule, header: &[String]) -> FileRule {
    if is_of_vertices(header) {
        return FileRule { edge_type: None, ..rule };
    }
    let (edge_type, mut undirected) = (rule.edge_type, false);
    let space = |kind: &str| header.iter().find(|word| kind_is(word, kind)).map(|word| space_of(word));
    // LDBC's files have no column of types; ours have one, and mean what it says.
    let has_types = header.iter().any(|word| kind_is(word, "TYPE"));
    let name = edge_type.as_deref().filter(|_| !has_types);
    let named = name.and_then(ldbc::type_in_name).filter(|(source, _, target)| {
        space("START_ID") == Some(source.as_str()) && space("END_ID") == Some(target.as_str())
    });
    let edge_type = named.map_or(edge_type, |(source, edge_type, target)| {
        undirected = edge_type == "KNOWS" && source == target;
        Some(edge_type)
    });
    FileRule { label: None, edge_type, undirected, ..rule }
}

/// The label of the vertices in a file with `header`, and their space.
#[must_use]
pub fn known_label(rule: &FileRule, header: &[String]) -> Option<JoinableLabel> {
    let id = header.iter().find(|word| kind_is(word, "ID")).filter(|_| is_of_vertices(header))?;
    Some(JoinableLabel { space: space_of(id).to_owned(), ..JoinableLabel::new(rule.label.clone()?) })
}

/// Lets the ends of edges in a file with `header` be created, in their spaces, or in that of `label` if they
/// name none; `false` for a file without edges, or whose header says more of its ends.
pub fn create_ends(rule: &mut FileRule, header: &[String], label: &str) -> bool {
    let end = |kind: &str| {
        let at = header.iter().position(|word| kind_is(word, kind))?;
        let space = Some(space_of(&header[at])).filter(|space| !space.is_empty()).unwrap_or(label);
        let options = header[at].split_once('{').map_or("", |(_, options)| options.trim_end_matches('}'));
        let mut end = EndColumn { creates: true, ..EndColumn::new(ColumnName::Number(at + 1)) };
        end.space = Some(space.to_owned());
        for option in options.split(',').filter(|option| !option.trim().is_empty()) {
            match option.split_once(':') {
                Some((name, of)) if name.trim().eq_ignore_ascii_case("id-type") => {
                    end.id_type = Some(of.trim().to_owned());
                }
                Some((name, ON_UNKNOWN_CREATE)) if name.trim().eq_ignore_ascii_case("on-unknown") => {}
                _ => return None,
            }
        }
        Some(end)
    };
    let (Some(start), Some(end)) = (end("START_ID"), end("END_ID")) else { return false };
    (rule.start, rule.end) = (Some(start), Some(end));
    true
}

/// Edges may have ids of their own; vertices have no ends.
fn is_of_vertices(header: &[String]) -> bool {
    let has = |kind: &str| header.iter().any(|word| kind_is(word, kind));
    has("ID") && !has("START_ID")
}

fn kind_is(word: &str, wanted: &str) -> bool {
    let kind = word.split_once(['(', '{']).map_or(word, |(kind, _)| kind);
    kind.rsplit_once(':').is_some_and(|(_, kind)| kind.trim().eq_ignore_ascii_case(wanted))
}

/// The id space in a word of a header; empty if it names none.
fn space_of(word: &str) -> &str {
    word.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(space, _)| space.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::mapping::rule::FileFormat;
    use crate::import::mapping::words::header_words;

    fn words(header: &str) -> Vec<String> {
        header.split('|').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn edges_alone_create_their_ends_in_the_spaces_that_they_name() {
        for (header, expected) in [
            (":START_ID|:END_ID", ":START_ID(V){on-unknown:create}|:END_ID(V){on-unknown:create}"),
            (
                ":START_ID(A){id-type:long}|x:int|:END_ID(B)",
                ":START_ID(A){id-type:long,on-unknown:create}|x:int|:END_ID(B){on-unknown:create}",
            ),
        ] {
            let mut rule = FileRule::new(FileFormat::Csv);
            assert!(create_ends(&mut rule, &words(header), "V"));
            assert_eq!(header_words(&words(header), &rule).unwrap().join("|"), expected);
        }
        let mut rule = FileRule::new(FileFormat::Csv);
        assert!(!create_ends(&mut rule, &words(":START_ID(A){key:name}|:END_ID(A)"), "V"));
        assert!(!create_ends(&mut rule, &words("id:ID|name"), "V"));
    }
}
