//! Mapping files: TOML that is broken, keys that are unknown, and rules that don't fit their files.

use crate::case::{Case, run};

/// One file, `a.csv`, and how it is mapped.
fn mapped(name: &str, toml: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("a.csv", "pid,name,born\n1,Ada,1815\n2,Eve,1900\n").mapping(toml)
}

/// A rule for that file, with more keys.
fn rule(keys: &str) -> String {
    format!("[[file]]\npath = \"a.csv\"\nlabel = \"Person\"\n{keys}\n")
}

#[test]
fn a_broken_mapping_is_refused_by_its_line() {
    run(vec![
        mapped("nothing", "").refused("m.toml: there is no [[file]] in it, which says how one is read"),
        mapped("no TOML", "{\"file\": []}").refused("m.toml:1: invalid key-value pair, expected key"),
        mapped("a bracket too few", "[[file]\npath = \"a.csv\"\n")
            .refused("m.toml:1: unclosed array table, expected `]`"),
        mapped("no UTF-8", b"[[file]]\npath = \"\xff\"\n".as_slice())
            .refused("m.toml: is not UTF-8: this is no mapping"),
        mapped("NUL bytes", "[[file]]\npath = \"a\0\"\n")
            .refused("m.toml:2: invalid basic string, expected non-double-quote visible characters, `\\`"),
        mapped("a key twice", rule("label = \"B\"")).refused("m.toml:4: duplicate key"),
        mapped("a key that there isn't", rule("lable = \"B\""))
            .refused("m.toml:4: unknown field `lable`, expected one of `path`, `format`, `label`, `type`, `header`, `columns`, `id`, `start`, `end`, `types`, `ignore`, `delimiter`, `quote`, `escape`, `comment`, `null`, `array-delimiter`, `undirected` in `file`"),
        mapped("a table that there isn't", "[[files]]\npath = \"a.csv\"\n")
            .refused("m.toml:1: unknown field `files`, expected one of `defaults`, `file`, `table`"),
        mapped("no path", "[[file]]\nlabel = \"A\"\n").refused("m.toml:1: missing field `path` in `file`"),
        mapped("a value of another type", rule("header = \"yes\""))
            .refused("m.toml:4: invalid type: string \"yes\", expected a boolean in `file.header`"),
        mapped("a format that there isn't", rule("format = \"cvs\""))
            .refused("m.toml:4: format: \"cvs\" is unknown; known are csv, edge-list, vertex-list, dimacs, matrix-market, graphson, graphml, gexf, gml, pajek, node-link, parquet, ignore"),
        mapped("a delimiter of two characters", rule("delimiter = \"||\""))
            .refused("m.toml:4: delimiter: \"||\": expected a tab (\"\\t\"), a blank or an ASCII punctuation character"),
        mapped("a column number of zero", rule("id = 0"))
            .refused("m.toml:4: invalid value: integer `0`, expected the name of a column, or its number counted from 1 in `file.id`"),
        mapped("a column number below zero", rule("ignore = [-1]"))
            .refused("m.toml:4: invalid value: integer `-1`, expected the name of a column, or its number counted from 1 in `file.ignore`"),
        mapped("a table without a column", rule("id = { space = \"P\" }"))
            .refused("m.toml:4: missing field `column` in `file.id`"),
        mapped("a type that there isn't", rule("types = { born = \"integr\" }"))
            .refused("m.toml:4: types: \"integr\": unknown type \"integr\"; known are bool, byte, short, int, long, float, double, bigint, decimal, char, string, bytes, date, datetime, duration, uuid, each also as an array (string[], long[][]), map, and ID, START_ID, END_ID, LABEL, TYPE, IGNORE"),
        mapped(
            "a column of a type that there isn't",
            rule("columns = [\"pid:ID\", \"name\", \"born:integr\"]"),
        )
        .refused("m.toml:4: columns: \"born:integr\": unknown type \"integr\"; known are bool, byte, short, int, long, float, double, bigint, decimal, char, string, bytes, date, datetime, duration, uuid, each also as an array (string[], long[][]), map, and ID, START_ID, END_ID, LABEL, TYPE, IGNORE"),
        mapped("nested without end", format!("a = {}", "[".repeat(10_000)))
            .refused("m.toml:1: cannot recurse further; max recursion depth met"),
        mapped("a long text", format!("[[file]]\npath = \"{}\"\n", "x".repeat(1 << 20)))
            .refused("a.csv: the mapping has no rule for \"a.csv\""),
    ]);
}

#[test]
fn a_rule_that_does_not_fit_its_file_is_refused_by_its_line() {
    run(vec![
        mapped("a rule that fits", rule("id = \"pid\"\ntypes = { born = \"int\" }")).loads(2, 0),
        mapped("CR LF in the mapping", rule("id = \"pid\"").replace('\n', "\r\n")).loads(2, 0),
        mapped("a byte order mark in the mapping", format!("\u{feff}{}", rule("id = \"pid\""))).loads(2, 0),
        mapped("a rule for no file", rule("id = \"pid\"").replace("a.csv", "b.csv"))
            .refused("a.csv: the mapping has no rule for \"a.csv\""),
        mapped("a second rule for no file", format!("{}[[file]]\npath = \"*.tsv\"\n", rule("id = \"pid\"")))
            .refused("m.toml:5: path: no file that is imported matches \"*.tsv\" (a rule before may have taken it); paths begin at the folder that is imported"),
        mapped("a column that isn't there", rule("id = \"id\""))
            .refused("m.toml:1: a.csv: id: there is no column \"id\"; there are pid, name, born"),
        mapped("a column number that isn't there", rule("id = 4"))
            .refused("m.toml:1: a.csv: id: there is no column 4; there are 3, counted from 1"),
        mapped("a type for a column that isn't there", rule("id = \"pid\"\ntypes = { age = \"int\" }"))
            .refused("m.toml:1: a.csv: types: there is no column \"age\"; there are pid, name, born"),
        mapped("an ignored column that isn't there", rule("id = \"pid\"\nignore = [\"age\"]"))
            .refused("m.toml:1: a.csv: ignore: there is no column \"age\"; there are pid, name, born"),
        mapped("an ignored id", rule("id = \"pid\"\nignore = [\"pid\"]"))
            .refused("m.toml:1: a.csv: id: column 1 (pid) is named by ignore as well"),
        mapped("columns of another number", rule("columns = [\"pid:ID\", \"name\"]"))
            .refused("m.toml:1: a.csv: its first line has 3 columns, the header that replaces it has 2"),
        mapped("no header, and none given", rule("header = false"))
            .refused("m.toml:1: a.csv: has no header: give `columns`, a word for each of its columns"),
        mapped("a start without an end", rule("start = \"pid\""))
            .refused("m.toml:1: a.csv: header: there is :START_ID and no :END_ID"),
        mapped("vertices and edges in one", rule("id = \"pid\"\nstart = \"pid\"\nend = \"name\""))
            .refused("m.toml:1: a.csv: start: column 1 (pid) is named by id as well"),
        mapped(
            "a space that there isn't",
            rule("start = { column = \"pid\", space = \"X\" }\nend = \"name\""),
        )
        .refused("a.csv: header column 1 (\"pid\"): no file of vertices has the id space \"X\"; no file of vertices is imported with it; --on-unknown create makes its vertices")
        .beside_data("a.csv: header column 1 (\"pid\"): no file of vertices has the id space \"X\"; the database has \"Kept\"; --on-unknown create makes its vertices"),
        mapped("an id of a type that ids don't have", rule("id = { column = \"pid\", type = \"double\" }"))
            .refused("m.toml:1: a.csv: header column 1 (\"pid:ID(Person){id-type:double}\"): unknown id-type \"double\"; known are byte, short, int, long, bigint, char, string, bytes, date, datetime, duration, uuid"),
        mapped("a key of CSV for lists", rule("format = \"edge-list\"\nid = \"pid\""))
            .refused("m.toml:5: id: files of format edge-list have no such thing; known of them are label, type, columns, delimiter, null, undirected"),
        mapped("CSV that is said to be Parquet", rule("format = \"parquet\""))
            .refused("a.csv: is not a valid Parquet file: Parquet error: Invalid Parquet file. Corrupt footer"),
        mapped("CSV that is said to be GraphML", rule("format = \"graphml\""))
            .refused("a.csv: line 1, column 1: text outside of the outermost tag"),
        mapped("CSV that is said to be GraphSON", rule("format = \"graphson\""))
            .bad_row("a.csv:1: byte 1: expected an object, found `p`", "pid,name,born")
            .bad_row("a.csv:2: byte 1: expected an object, found `1`", "1,Ada,1815")
            .bad_row("a.csv:3: byte 1: expected an object, found `2`", "2,Eve,1900"),
        mapped("CSV that is said to be DIMACS", rule("format = \"dimacs\""))
            .refused("a.csv:1: expected c, p or a at the beginning of the line, found \"pid,name,born\""),
        mapped("CSV that is said to be a matrix", rule("format = \"matrix-market\""))
            .refused("a.csv:1: expected %%MatrixMarket, found \"pid,name,born\""),
        mapped("CSV that is said to be a list", rule("format = \"edge-list\"\ndelimiter = \",\""))
            .loads(0, 0).bad_row("a.csv:1: column 1 (source): \"pid\" is not a whole number", "pid,name,born").bad_row("a.csv:2: column 2 (target): \"Ada\" is not a whole number", "1,Ada,1815").bad_row("a.csv:3: column 2 (target): \"Eve\" is not a whole number", "2,Eve,1900"),
        mapped("everything ignored", rule("format = \"ignore\"").replace("label = \"Person\"\n", ""))
            .loads(0, 0),
    ]);
}

#[test]
fn headerless_files_are_held_to_the_columns_of_their_rule() {
    let headerless = |name: &str, text: &'static [u8]| {
        Case::new(name)
            .file("a.csv", text)
            .mapping("[[file]]\npath = \"a.csv\"\nlabel = \"P\"\nheader = false\ncolumns = [\"id:ID\", \"born:int\"]\n",
        )
    };
    run(vec![
        headerless("nothing", b"").loads(0, 0),
        headerless("CR LF and a byte order mark", b"\xef\xbb\xbf1,5\r\n2,6\r\n").loads(2, 0),
        headerless("no line end at the end", b"1,5\n2,6").loads(2, 0),
        headerless("rows that don't fit", b"1,5\n2\n3,6,7\n4,x\n\xff,5\n1,8\n,5\n")
            .loads(1, 0)
            .bad_row("a.csv:2: 2 fields expected, as in the header, 1 found", "2")
            .bad_row("a.csv:3: 2 fields expected, as in the header, 3 found", "3,6,7")
            .bad_row("a.csv:4: column 2 (born:int): \"x\" is not a valid int: expected digits with an optional sign", "4,x")
            .bad_row("a.csv:5: column 1 (id:ID): \"�\" is not UTF-8; convert the file with iconv", "�,5")
            .bad_row("a.csv:6: column 1 (id:ID): vertex \"1\" of the id space without a name is there already, from a.csv:1", "1,8")
            .bad_row("a.csv:7: column 1 (id:ID): the id is missing", ",5"),
        headerless("a header all the same", b"id,born\n1,5\n")
            .loads(1, 0)
            .bad_row("a.csv:1: column 2 (born:int): \"born\" is not a valid int: expected digits with an optional sign", "id,born"),
        headerless("another delimiter, which shows", b"1;5\n2;6\n").loads(2, 0),
        headerless("a quote that isn't closed", b"1,5\n2,\"6\n3,7\n")
            .refused("a.csv:2: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
    ]);
}
