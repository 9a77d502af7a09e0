//! Large: fields, lines and headers of a size that nobody meant, which end soon and in little memory.

use crate::case::{Case, run};
use evergraph::ErrorKind;

/// Ten million characters.
fn long(character: &str) -> String {
    character.repeat(10_000_000)
}

/// A number of a million digits.
fn digits() -> String {
    "7".repeat(1_000_000)
}

/// `count` times `word`, with `separator` between.
fn many(word: &str, separator: &str, count: usize) -> String {
    vec![word; count].join(separator)
}

#[test]
fn a_text_of_ten_million_characters_is_a_text() {
    run(vec![
        Case::new("a field").file("a.csv", format!("id:ID,t\n1,{}\n2,b\n", long("x"))).loads(2, 0),
        Case::new("an id").file("a.csv", format!("id:ID,t\n{},a\n2,b\n", long("x"))).loads(2, 0),
        Case::new("GraphSON")
            .file("g.graphson", format!("{{\"id\":\"{}\",\"label\":\"P\"}}\n", long("x")))
            .loads(1, 0),
        Case::new("GraphML")
            .file("g.graphml", format!("<graphml><graph><node id=\"{}\"/></graph></graphml>", long("x")))
            .loads(1, 0),
    ]);
}

#[test]
fn what_is_too_long_is_refused_soon() {
    run(vec![
        Case::new("a number")
            .file("a.csv", format!("id:ID,n:long\n1,{}\n2,5\n", digits()))
            .loads(1, 0)
            .bad_row("a.csv:2: column 2 (n:long): \"7777777777777777777777777777777777777777\"… is not a valid long: outside -9223372036854775808 to 9223372036854775807", "1,777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777…"),
        Case::new("a bigint")
            .file("a.csv", format!("id:ID,n:bigint\n1,{}\n2,5\n", digits()))
            .loads(1, 0)
            .bad_row("a.csv:2: column 2 (n:bigint): \"7777777777777777777777777777777777777777\"… is not a valid bigint: 1000000 digits are past the limit of 524288 bits (157,826 digits)", "1,777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777…"),
        Case::new("a decimal")
            .file("a.csv", format!("id:ID,n:decimal\n1,0.{}\n2,5\n", digits()))
            .loads(1, 0).bad_row("a.csv:2: column 2 (n:decimal): \"0.77777777777777777777777777777777777777\"… is not a valid decimal: 1000001 digits are past the limit of 524288 bits (157,826 digits)", "1,0.7777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777…"),
        Case::new("a double")
            .file("a.csv", format!("id:ID,n:double\n1,{}\n2,5\n", digits()))
            .loads(1, 0)
            .bad_row("a.csv:2: column 2 (n:double): \"7777777777777777777777777777777777777777\"… is not a valid double: too large for this type", "1,777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777…"),
        Case::new("guessed numbers").file("a.csv", format!("id,n\n1,{}\n2,5\n", digits())).loads(2, 0),
        Case::new("an id that is no number")
            .file("g.e", format!("1 2\n1 {}\n", digits()))
            .loads(2, 1)
            .bad_row("g.e:2: column 2 (target): \"7777777777777777777777777777777777777777\"… is outside -2^63 to 2^64-1", "1 777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777…"),
        Case::new("a line of a list")
            .file("g.e", format!("1 2\n1 {}\n", long("7").repeat(2)))
            .refused("g.e: a line of more than 16 MiB: this is no text file of rows"),
        Case::new("a record")
            .file("a.csv", format!("id:ID,t\n1,{}\n", long("x").repeat(7)))
            .refused("a.csv:2: a record of more than 64 MiB begins here: is a quote never closed?"),
        Case::new("quotes that swallow the file")
            .file("a.csv", format!("id:ID,t\n1,\"{}", "2,x\n".repeat(17_000_000)))
            .refused("a.csv:2: a record of more than 64 MiB begins here: is a quote never closed?"),
        Case::new("a tag")
            .file(
                "g.graphml",
                format!("<graphml><graph><node id=\"{}\"/></graph></graphml>", long("x").repeat(2)),
            )
            .refused_as(ErrorKind::Limit, "g.graphml: line 1, column 17: a tag or a text has more than 16777216 bytes"),
    ]);
}

#[test]
fn a_million_columns_are_refused_soon() {
    let words: String = (0..1_000_000).fold(String::new(), |text, at| text + ",c" + &at.to_string());
    run(vec![
        Case::new("in a header")
            .file("a.csv", format!("id:ID{words}\n1{}\n", many(",x", "", 1_000_000)))
            .refused_as(ErrorKind::Limit, "a.csv: 1000001 columns, 65536 at most are read: is the delimiter right?"),
        Case::new("in a plain header")
            .file("a.csv", format!("id{words}\n1{}\n", many(",x", "", 1_000_000)))
            .refused_as(ErrorKind::Limit, "a.csv: 1000001 columns, 65536 at most are read: is the delimiter right?"),
        Case::new("in a row")
            .file("a.csv", format!("id:ID,t\n1,{}\n2,b\n", many("x", ",", 1_000_000)))
            .loads(1, 0).bad_row("a.csv:2: 2 fields expected, as in the header, 1000001 found", "1,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,…"),
        Case::new("in a list")
            .file("g.e", format!("{}\n", many("1", " ", 1_000_000)))
            .refused("g.e: 999998 columns behind source and target have no names: give them, as in --columns weight,time,kind:string (`columns` in a mapping)"),
        Case::new("in a line of a list")
            .file("g.e", format!("1 2\n{}\n", many("1", " ", 1_000_000)))
            .loads(2, 1).bad_row("g.e:2: 2 fields expected (source target), 1000000 found between blanks or tabs", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 …"),
    ]);
}

#[test]
fn a_thousand_columns_load() {
    let words: String = (0..1000).fold(String::new(), |text, at| text + ",c" + &at.to_string());
    run(vec![
        Case::new("typed").file("a.csv", format!("id:ID{words}\n1{}\n", many(",x", "", 1000))).loads(1, 0),
        Case::new("guessed").file("a.csv", format!("id{words}\n1{}\n", many(",x", "", 1000))).loads(1, 0),
    ]);
}

#[test]
fn a_header_that_announces_more_vertices_than_a_label_has_is_refused() {
    run(vec![
        Case::new("DIMACS")
            .file("g.gr", "p sp 4294967295 0\n")
            .refused_as(ErrorKind::Limit, "g.gr:1: more than 4,294,967,295 vertices of one label"),
        Case::new("a matrix")
            .file("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n99999999999 99999999999 0\n")
            .refused_as(ErrorKind::Limit, "g.mtx:2: more than 4,294,967,295 vertices of one label"),
    ]);
}
