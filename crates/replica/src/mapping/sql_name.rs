//! SQL name: names of tables and columns as mappings, messages and SQL have them.
//!
//! ```text
//! mapping    film      shop.film      "a.b"."Odd Name"     in double quotes where a name has dots
//! SQL        public.film              "a.b"."Odd Name"     in double quotes unless it is sure to need none
//! ```

use crate::source::catalogue::Table;

/// `schema.name`, or the name alone of a table of `public`.
#[must_use]
pub fn display_name(table: &Table) -> String {
    display_table(&table.schema, &table.name)
}

/// As [`display_name`], of a table by its names.
#[must_use]
pub fn display_table(schema: &str, table: &str) -> String {
    let quoted = |name: &str| if name.contains(['.', '"']) { quoted_name(name) } else { name.to_owned() };
    match schema {
        "public" => quoted(table),
        schema => format!("{}.{}", quoted(schema), quoted(table)),
    }
}

/// The table's name as SQL has it, with its schema.
#[must_use]
pub fn sql_name(table: &Table) -> String {
    sql_table(&table.schema, &table.name)
}

/// As [`sql_name`], of a table by its names.
#[must_use]
pub fn sql_table(schema: &str, table: &str) -> String {
    format!("{}.{}", sql_identifier(schema), sql_identifier(table))
}

/// A name as SQL has it: in quotes, unless it is sure to need none.
#[must_use]
pub fn sql_identifier(name: &str) -> String {
    let is_plain = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    // A word that SQL reserves may be plain; in quotes it is always a name.
    let is_reserved = RESERVED_WORDS.contains(&name);
    if is_plain && !is_reserved { name.to_owned() } else { quoted_name(name) }
}

/// Words that PostgreSQL reserves, so that they are names of tables and columns in quotes only.
const RESERVED_WORDS: [&str; 77] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "session_user",
    "some",
    "symmetric",
    "system_user",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "when",
    "where",
    "window",
];

fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The parts of a name between dots, without their quotes; `None` if it is none.
#[must_use]
pub fn name_parts(name: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut text = String::new();
            let mut letters = quoted.char_indices().peekable();
            let end = loop {
                match letters.next()? {
                    (_, '"') if letters.next_if(|(_, next)| *next == '"').is_some() => text.push('"'),
                    (at, '"') => break at + 1,
                    (_, letter) => text.push(letter),
                }
            };
            (part, rest) = (text, &quoted[end..]);
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            (part, rest) = (rest[..end].to_owned(), &rest[end..]);
        }
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None if rest.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_parts_between_dots_and_quotes_keep_them_together() {
        let parts = |name: &str| name_parts(name).map(|parts| parts.join("/"));
        assert_eq!(parts("film"), Some("film".to_owned()));
        assert_eq!(parts("Shop.Film"), Some("Shop/Film".to_owned()));
        assert_eq!(parts("\"a.b\".\"c\"\"d\""), Some("a.b/c\"d".to_owned()));
        for name in ["", ".", "a.", ".a", "\"a", "\"a\"b", "\"\""] {
            assert_eq!(parts(name), None, "{name}");
        }
    }

    #[test]
    fn an_identifier_is_quoted_unless_it_is_sure_to_need_none() {
        let written = ["film", "_a1", "Film", "order", "a b", "a\"b", "1a", "é"].map(sql_identifier);
        assert_eq!(
            written,
            ["film", "_a1", "\"Film\"", "\"order\"", "\"a b\"", "\"a\"\"b\"", "\"1a\"", "\"é\""]
        );
    }
}
