//! Languages: recognises queries in other languages, and shows one of them in Gremlin.

/// Another language that graphs and tables are asked in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// Cypher, and GQL, which begins alike.
    Cypher,
    /// SQL.
    Sql,
    /// SPARQL.
    Sparql,
    /// GraphQL.
    GraphQl,
}

/// What a text wants to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    Read,
    Write,
}

impl Language {
    const fn name(self) -> &'static str {
        match self {
            Self::Cypher => "Cypher",
            Self::Sql => "SQL",
            Self::Sparql => "SPARQL",
            Self::GraphQl => "GraphQL",
        }
    }

    /// A question, and the same in Gremlin.
    const fn example(self, wish: Wish) -> (&'static str, &'static str) {
        match (self, wish) {
            (Self::Cypher, Wish::Read) => (
                "MATCH (a:Person {name: 'Ada'})-[:KNOWS]->(b) RETURN b.name",
                "g.V().has('Person', 'name', 'Ada').out('KNOWS').values('name')",
            ),
            (Self::Cypher, Wish::Write) => {
                ("CREATE (a:Person {name: 'Ada'})", "g.addV('Person').property('name', 'Ada')")
            }
            (Self::Sql, Wish::Read) => (
                "SELECT name FROM Person WHERE born > 1800",
                "g.V().hasLabel('Person').has('born', gt(1800)).values('name')",
            ),
            (Self::Sql, Wish::Write) => {
                ("INSERT INTO Person (name) VALUES ('Ada')", "g.addV('Person').property('name', 'Ada')")
            }
            (Self::Sparql, Wish::Read) => (
                "SELECT ?name WHERE { ?a :name 'Ada' . ?a :KNOWS ?b . ?b :name ?name }",
                "g.V().has('name', 'Ada').out('KNOWS').values('name')",
            ),
            (Self::Sparql, Wish::Write) => {
                ("INSERT DATA { :ada a :Person ; :name 'Ada' }", "g.addV('Person').property('name', 'Ada')")
            }
            (Self::GraphQl, Wish::Read) => (
                "{ person(name: \"Ada\") { knows { name } } }",
                "g.V().has('Person', 'name', 'Ada').out('KNOWS').values('name')",
            ),
            (Self::GraphQl, Wish::Write) => {
                ("mutation { addPerson(name: \"Ada\") { id } }", "g.addV('Person').property('name', 'Ada')")
            }
        }
    }
}

/// What is said of `text`, which doesn't begin as a query in Gremlin does, if it is one in another language.
///
/// Cost: a look at its first words; where these leave it open, one at the whole text.
#[must_use]
pub fn other_language(text: &str) -> Option<String> {
    let (language, wish) = recognised(without_comments(text))?;
    let (question, gremlin) = language.example(wish);
    let name = language.name();
    Some(format!("this is {name}, but queries are written in Gremlin: `{question}` would be `{gremlin}`"))
}

fn recognised(text: &str) -> Option<(Language, Wish)> {
    use Language::{Cypher, GraphQl, Sparql, Sql};
    use Wish::{Read, Write};
    let (word, rest) = first_word(text);
    let (next, behind) = first_word(rest);
    let begins = |mark: &str| rest.trim_start().starts_with(mark);
    Some(match (&*word, &*next) {
        ("EXPLAIN" | "PROFILE", _) => return recognised(rest),
        ("MATCH" | "UNWIND" | "RETURN" | "FOREACH" | "LOAD" | "USE" | "SHOW", _) | ("OPTIONAL", "MATCH") => {
            (Cypher, Read)
        }
        ("CALL", _) => (Cypher, Read),
        ("MERGE", "INTO") => (Sql, Write),
        ("MERGE", _) => (Cypher, Write),
        ("CREATE", "TABLE" | "VIEW" | "DATABASE" | "SCHEMA" | "UNIQUE" | "TEMPORARY" | "TEMP") => {
            (Sql, Write)
        }
        ("CREATE" | "DETACH", _) => (Cypher, Write),
        ("PREFIX" | "BASE" | "ASK" | "CONSTRUCT" | "DESCRIBE", _) => (Sparql, Read),
        ("SELECT", _) if is_sparql(rest) => (Sparql, Read),
        ("SELECT" | "VALUES", _) => (Sql, Read),
        ("WITH", _) => (if has_word(text, "SELECT") { Sql } else { Cypher }, Read),
        ("INSERT" | "DELETE", "DATA" | "WHERE") => (Sparql, Write),
        ("INSERT" | "DELETE", "") if begins("{") => (Sparql, Write),
        ("INSERT", "INTO") | ("DELETE", "FROM") | ("DROP" | "ALTER" | "TRUNCATE", _) => (Sql, Write),
        // GQL inserts as Cypher creates.
        ("INSERT", _) => (Cypher, Write),
        ("UPDATE", _) if behind.trim_start().get(..3).is_some_and(|set| set.eq_ignore_ascii_case("set")) => {
            (Sql, Write)
        }
        ("QUERY" | "SUBSCRIPTION", _) if rest.contains('{') => (GraphQl, Read),
        ("MUTATION", _) if rest.contains('{') => (GraphQl, Write),
        ("", _) if text.starts_with('{') => (GraphQl, Read),
        _ => return None,
    })
}

/// Whether what follows SELECT names variables as SPARQL does, or its pattern.
fn is_sparql(rest: &str) -> bool {
    let names_variable = rest.trim_start().starts_with(['?', '$']);
    let (word, behind) = first_word(rest);
    names_variable
        || matches!(&*word, "DISTINCT" | "REDUCED") && behind.trim_start().starts_with(['?', '$'])
        || rest.contains('{') && has_word(rest, "WHERE") && !has_word(rest, "FROM")
}

/// Whether `word`, which is in capitals, stands in `text`.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|char: char| !char.is_alphanumeric()).any(|part| part.eq_ignore_ascii_case(word))
}

/// The letters that `text` begins with, in capitals, and what follows them.
fn first_word(text: &str) -> (String, &str) {
    const BYTES_MAX: usize = 20;
    let text = text.trim_start();
    let end = text.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = if end <= BYTES_MAX { text[..end].to_ascii_uppercase() } else { String::new() };
    (word, &text[end..])
}

/// What follows comments at the beginning of `text`, those of any of these languages.
fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let behind = match text {
            _ if text.starts_with("/*") => text.split_once("*/").map(|(_, behind)| behind),
            _ if ["--", "//", "#"].iter().any(|mark| text.starts_with(mark)) => {
                text.split_once('\n').map(|(_, behind)| behind)
            }
            _ => return text,
        };
        let Some(behind) = behind else { return "" };
        text = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::{read, read_script};

    fn refused(text: &str) -> String {
        read(text, &ParseLimits::default(), &Bindings::new()).expect_err(text).to_string()
    }

    #[test]
    fn a_query_in_another_language_is_refused_with_its_name_and_an_example() {
        for (text, language) in [
            ("MATCH (n:Person) RETURN n", "Cypher"),
            ("match (n) return n", "Cypher"),
            ("OPTIONAL MATCH (n) RETURN n", "Cypher"),
            ("// all\nMATCH (n) RETURN n", "Cypher"),
            ("EXPLAIN MATCH (n) RETURN n", "Cypher"),
            ("CREATE (n:Person)", "Cypher"),
            ("MERGE (n:Person {name: 'a'})", "Cypher"),
            ("WITH 1 AS x RETURN x", "Cypher"),
            ("CALL db.labels()", "Cypher"),
            ("SELECT * FROM person", "SQL"),
            ("select name from person where born > 1800;", "SQL"),
            ("-- people\nSELECT name FROM person", "SQL"),
            ("WITH p AS (SELECT 1) SELECT * FROM p", "SQL"),
            ("INSERT INTO person VALUES (1)", "SQL"),
            ("CREATE TABLE person (name TEXT)", "SQL"),
            ("DELETE FROM person", "SQL"),
            ("UPDATE person SET name = 'x'", "SQL"),
            ("SELECT ?x WHERE { ?x a :Person }", "SPARQL"),
            ("SELECT DISTINCT ?x { ?x a :Person }", "SPARQL"),
            ("SELECT * WHERE { ?x ?y ?z }", "SPARQL"),
            ("PREFIX foaf: <http://xmlns.com/foaf/0.1/> SELECT ?x WHERE { ?x a foaf:Person }", "SPARQL"),
            ("# people\nASK { ?x a :Person }", "SPARQL"),
            ("INSERT DATA { :a :b :c }", "SPARQL"),
            ("{ person { name } }", "GraphQL"),
            ("query People { person { name } }", "GraphQL"),
        ] {
            let said = refused(text);
            assert!(
                said.contains(&format!("this is {language}, but queries are written in Gremlin: `")),
                "{said}"
            );
        }
        let script = read_script("g.V(); MATCH (n) RETURN n", &ParseLimits::default(), &Bindings::new());
        assert!(script.unwrap_err().to_string().starts_with("line 1, column 8: this is Cypher"));
    }

    #[test]
    fn what_is_in_no_language_is_told_what_a_query_begins_with() {
        for text in ["V()", "", "hello", "person", "sel ect", "update()"] {
            assert!(refused(text).contains("expected `g`, with which a query begins"), "{text}");
        }
    }

    #[test]
    fn every_example_is_a_query() {
        for language in [Language::Cypher, Language::Sql, Language::Sparql, Language::GraphQl] {
            for wish in [Wish::Read, Wish::Write] {
                let (question, gremlin) = language.example(wish);
                read(gremlin, &ParseLimits::default(), &Bindings::new()).expect(gremlin);
                assert_eq!(recognised(question), Some((language, wish)), "{question}");
            }
        }
    }
}
