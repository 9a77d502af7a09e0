//! Lists: edges, vertices, DIMACS and Matrix Market, whose lines or headers are wrong.

use crate::case::{Case, run};
use evergraph::ErrorKind;

fn edges(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("g.e", text)
}

fn vertices(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("g.v", text)
}

fn dimacs(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("g.gr", text)
}

fn matrix(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("g.mtx", text)
}

#[test]
fn odd_lists_that_are_sound_load_whole() {
    run(vec![
        edges("nothing", "").loads(0, 0),
        edges("comments alone", "# a\n% b\n").loads(0, 0),
        edges("CR LF", "1 2\r\n2 3\r\n").loads(3, 2),
        edges("a byte order mark", "\u{feff}1 2\n").loads(2, 1),
        edges("a byte order mark and a comment", "\u{feff}# x\n1 2\n").loads(2, 1),
        edges("no line end at the end", "1 2\n2 3").loads(3, 2),
        edges("blanks everywhere", "  1\t 2  \n\n \t \n2 3\n").loads(3, 2),
        edges("both ends of the ids", "-9223372036854775808 9223372036854775807\n").loads(2, 1),
        edges("ids without sign", "18446744073709551615 0\n").loads(2, 1),
        edges("loops and repeated edges", "1 1\n1 1\n").loads(1, 2),
        edges("commas", "1,2\n2 , 3\n").loads(3, 2),
        vertices("nothing in a list of vertices", "").loads(0, 0),
        vertices("CR LF in a list of vertices", "1\r\n2\r\n").loads(2, 0),
        dimacs("no arcs", "p sp 3 0\n").loads(3, 0),
        dimacs("CR LF and comments", "c x\r\np sp 2 1\r\nc y\r\na 1 2 7\r\n").loads(2, 1),
        dimacs("a byte order mark in DIMACS", "\u{feff}p sp 2 1\na 1 2 7\n").loads(2, 1),
        matrix("no entries", "%%MatrixMarket matrix coordinate pattern general\n3 3 0\n").loads(3, 0),
        matrix(
            "CR LF in a matrix",
            "%%MatrixMarket matrix coordinate real general\r\n% x\r\n2 2 1\r\n1 2 0.5\r\n",
        )
        .loads(2, 1),
        matrix(
            "a byte order mark in a matrix",
            "\u{feff}%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
        )
        .loads(2, 1),
        matrix("any case", "%%MATRIXMARKET MATRIX COORDINATE REAL GENERAL\n2 2 1\n1 2 1e2\n").loads(2, 1),
    ]);
}

#[test]
fn lines_that_do_not_fit_are_named() {
    run(vec![
        edges("ids that are no numbers", "1 2\n1 x\ny 2\n1.0 2\n0x1 2\n2 3\n")
            .loads(3, 2)
            .bad_row("g.e:2: column 2 (target): \"x\" is not a whole number", "1 x")
            .bad_row("g.e:3: column 1 (source): \"y\" is not a whole number", "y 2")
            .bad_row("g.e:4: column 1 (source): \"1.0\" is not a whole number", "1.0 2")
            .bad_row("g.e:5: column 1 (source): \"0x1\" is not a whole number", "0x1 2"),
        edges("ids out of range", "1 2\n1 18446744073709551616\n-9223372036854775809 1\n")
            .loads(2, 1)
            .bad_row("g.e:2: column 2 (target): \"18446744073709551616\" is outside -2^63 to 2^64-1", "1 18446744073709551616")
            .bad_row("g.e:3: column 1 (source): \"-9223372036854775809\" is outside -2^63 to 2^64-1", "-9223372036854775809 1"),
        edges("a column too few, one too many", "1 2 0.5\n1 2\n1 2 0.5 7\n1\n")
            .loads(2, 1)
            .bad_row("g.e:2: 3 fields expected (source target weight:double), 2 found between blanks or tabs", "1 2")
            .bad_row("g.e:3: 3 fields expected (source target weight:double), 4 found between blanks or tabs", "1 2 0.5 7")
            .bad_row("g.e:4: 3 fields expected (source target weight:double), 1 found between blanks or tabs", "1"),
        edges("a weight that is none", "1 2 0.5\n1 2 x\n1 2 1e999\n1 2 nan\n")
            .loads(2, 2)
            .bad_row("g.e:2: column 3 (weight:double): \"x\" is not a valid double: expected digits with an optional point and exponent", "1 2 x")
            .bad_row("g.e:3: column 3 (weight:double): \"1e999\" is not a valid double: too large for this type", "1 2 1e999"),
        edges("bytes that are no text", b"1 2\n\xff\xfe 1\n1 2\0\n\0 1\n".as_slice())
            .loads(2, 1)
            .bad_row("g.e:2: column 1 (source): \"��\" is not a whole number", "�� 1")
            .bad_row("g.e:3: column 2 (target): \"2\\0\" is not a whole number", "1 2\0")
            .bad_row("g.e:4: column 1 (source): \"\\0\" is not a whole number", "\0 1"),
        edges("CR alone", "1 2\r3 4\r")
            .refused("g.e: its lines end in CR alone, which is not supported; convert it: tr '\\r' '\\n' < g.e"),
        edges("CR alone, and a weight", "1 2 3\r3 4 5\r")
            .refused("g.e: its lines end in CR alone, which is not supported; convert it: tr '\\r' '\\n' < g.e"),
        edges("a header", "source target\n1 2\n").loads(2, 1),
        edges("a delimiter that changes", "1 2\n1,2\n1;2\n")
            .loads(2, 1)
            .bad_row("g.e:2: column 1 (source): \"1,2\" is not a whole number", "1,2")
            .bad_row("g.e:3: column 1 (source): \"1;2\" is not a whole number", "1;2"),
        edges("quotes", "1 2\n\"1\" \"2\"\n")
            .loads(2, 1)
            .bad_row("g.e:2: column 1 (source): \"\\\"1\\\"\" is not a whole number", "\"1\" \"2\""),
        edges("ids of both kinds", "1 2\n-1 2\n1 9223372036854775808\n")
            .refused("g.e:3: an id above 2^63-1, and g.e:2 has a negative one: ids of 64 bits are with sign or without"),
        edges("columns without names", "1 2 3 4 5\n")
            .refused("g.e: 3 columns behind source and target have no names: give them, as in --columns weight,time,kind:string (`columns` in a mapping); a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        edges("binary data", (0..=255).cycle().take(3000).collect::<Vec<u8>>())
            .bad_row("g.e:1: column 1 (source): \"\\0\\u{1}\\u{2}\\u{3}\\u{4}\\u{5}\\u{6}\\u{7}\\u{8}\" is not a whole number", "\0\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}")
            .bad_row("g.e:2: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:3: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:4: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:5: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:6: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:7: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:8: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:9: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:10: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:11: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:12: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}�����������������������������������������������������������������������������������")
            .bad_row("g.e:13: column 1 (source): \"\\u{b}\\u{c}\\r\\u{e}\\u{f}\\u{10}\\u{11}\\u{12}\\u{13}\\u{14}\\u{15}\\u{16}\\u{17}\\u{18}\\u{19}\\u{1a}\\u{1b}\\u{1c}\\u{1d}\\u{1e}\\u{1f}\" is not a whole number", "\u{b}\u{c}\r\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f} !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}��������������������������������������������������������"),
        edges("UTF-16", b"\xff\xfe1\0 \x002\0\n\0".as_slice())
            .bad_row("g.e:1: column 1 (source): \"��1\\0\" is not a whole number", "��1\0 \x002\0")
            .bad_row("g.e:2: column 1 (source): \"\\0\" is not a whole number", "\0"),
        edges("a vertex that isn't there", "1 2\n2 3\n")
            .file("g.v", "1\n2\n")
            .loads(2, 1)
            .bad_row("g.e:2: column 2 (target): there is no vertex 3 in the vertex lists or the range of vertices", "2 3"),
        vertices("ids that are no numbers, or twice", "1\nx\n1\n1 2\n2\n")
            .loads(2, 0)
            .bad_row("g.v:2: column 1 (id): \"x\" is not a whole number", "x")
            .bad_row("g.v:3: column 1 (id): vertex 1 is there already, from g.v:1", "1")
            .bad_row("g.v:4: 1 field expected (id), 2 found between blanks or tabs", "1 2"),
        vertices("columns of vertices without names", "1 2 3\n")
            .refused("g.v: 2 columns behind the id have no names: give them, as in --vertex-columns age:int,name:string (`columns` in a mapping); a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        edges("a range and a vertex outside", "1 2\n2 9\n")
            .options(|options| options.lists.vertices = Some(0..5))
            .loads(5, 1)
            .bad_row("g.e:2: column 2 (target): there is no vertex 9 in the vertex lists or the range of vertices", "2 9"),
        edges("a range that is none", "1 2\n")
            .options(|options| options.lists.vertices = Some(5..5))
            .refused("vertices 5..5: the first id must be below the second one, which is excluded"),
        edges("a range that is everything", "1 2\n")
            .options(|options| options.lists.vertices = Some(i64::MIN..i64::MAX))
            .refused_as(ErrorKind::Limit, "the range of vertices: more than 4,294,967,295 vertices of one label"),
        edges("a range and a list of vertices", "1 2\n")
            .file("g.v", "1\n2\n")
            .options(|options| options.lists.vertices = Some(0..5))
            .refused("a range of vertices declares those of edge lists: give it with edge lists and without vertex lists"),
    ]);
}

#[test]
fn headers_of_lists_are_held_to_what_they_say() {
    run(vec![
        dimacs("an empty DIMACS file", "")
            .refused("g.gr: ends before its header does: expected a line `p sp VERTICES ARCS`"),
        dimacs("comments of DIMACS alone", "c x\n")
            .refused("g.gr: ends before its header does: expected a line `p sp VERTICES ARCS`"),
        dimacs("an arc before the header", "a 1 2 3\n")
            .refused("g.gr:1: expected p and the problem before the first arc, found \"a\""),
        dimacs("a header of another problem", "p max 3 2\n")
            .refused("g.gr:1: expected sp, the problem of shortest paths (.gr); others are not read, found \"max\""),
        dimacs("a header cut off", "p sp 3\n").refused("g.gr:1: expected the number of arcs, found the end"),
        dimacs("a header of no numbers", "p sp three 2\n")
            .refused("g.gr:1: expected the number of vertices, found \"three\""),
        dimacs("too many vertices", "p sp 99999999999 0\n")
            .refused_as(ErrorKind::Limit, "g.gr:1: more than 4,294,967,295 vertices of one label"),
        dimacs("more vertices than there are numbers", "p sp 99999999999999999999 0\n")
            .refused("g.gr:1: expected the number of vertices, found \"99999999999999999999\""),
        dimacs("all 64 bits of vertices", "p sp 18446744073709551615 0\n")
            .refused_as(ErrorKind::Limit, "g.gr:1: more than 4,294,967,295 vertices of one label"),
        dimacs("fewer arcs than announced", "p sp 2 3\na 1 2 7\n")
            .refused("g.gr: line 1 announces 3 edges, but the file has 1: the file is cut off, or not what it says"),
        dimacs("more arcs than announced", "p sp 2 1\na 1 2 7\na 2 1 7\n")
            .refused("g.gr: line 1 announces 1 edge, and 2 are there: the file is cut off, or not what it says"),
        dimacs("two headers", "p sp 2 2\np sp 2 2\na 1 2 7\n")
            .loads(2, 1)
            .bad_row("g.gr:2: a line begins with 'a' here, or with 'c' if it is a comment", "p sp 2 2"),
        dimacs("arcs that don't fit", "p sp 2 5\na 1 2 7\na 0 1 7\na 1 3 7\na 1 2\nx 1 2 7\n")
            .loads(2, 1)
            .bad_row("g.gr:3: column 1 (source): there is no vertex 0 among the 2 that line 1 announces", "a 0 1 7")
            .bad_row("g.gr:4: column 2 (target): there is no vertex 3 among the 2 that line 1 announces", "a 1 3 7")
            .bad_row("g.gr:5: 3 fields expected (source target weight:double), 2 found between blanks or tabs", "a 1 2")
            .bad_row("g.gr:6: a line begins with 'a' here, or with 'c' if it is a comment", "x 1 2 7"),
        dimacs("an arc's weight that is none", "p sp 2 2\na 1 2 x\na 1 2 5\n")
            .loads(2, 1)
            .bad_row("g.gr:2: column 3 (weight:double): \"x\" is not a valid double: expected digits with an optional point and exponent", "a 1 2 x"),
        dimacs("no UTF-8", b"c \xff\np sp 2 1\na 1 \xff 7\n".as_slice())
            .loads(2, 0)
            .bad_row("g.gr:3: column 2 (target): \"�\" is not a whole number", "a 1 � 7"),
        matrix("an empty matrix file", "")
            .refused("g.mtx: ends before its header does: expected a line `%%MatrixMarket matrix coordinate real general`"),
        matrix("no banner", "2 2 1\n1 2 1\n").refused("g.mtx:1: expected %%MatrixMarket, found \"2\""),
        matrix("a banner alone", "%%MatrixMarket matrix coordinate real general\n")
            .refused("g.mtx: ends before its header does: expected a line `ROWS COLUMNS ENTRIES`"),
        matrix("a dense matrix", "%%MatrixMarket matrix array real general\n2 2\n")
            .refused("g.mtx:1: expected coordinate (dense matrices, in array form, are not read), found \"array\""),
        matrix("complex numbers", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n")
            .refused("g.mtx:1: expected real, integer or pattern (complex matrices are not read), found \"complex\""),
        matrix("a mirror image", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n")
            .refused("g.mtx:1: skew-symmetric matrices are not supported: an edge and its mirror image differ"),
        matrix("two kinds of vertices", "%%MatrixMarket matrix coordinate pattern general\n2 3 0\n")
            .refused("g.mtx:2: a matrix of 2 rows and 3 columns joins two kinds of vertices: only square ones are read"),
        matrix("a size of no numbers", "%%MatrixMarket matrix coordinate pattern general\n2 x 0\n")
            .refused("g.mtx:2: expected the number of columns, found \"x\""),
        matrix("a size cut off", "%%MatrixMarket matrix coordinate pattern general\n2 2\n")
            .refused("g.mtx:2: expected the number of entries, found the end"),
        matrix(
            "too many rows",
            "%%MatrixMarket matrix coordinate pattern general\n99999999999 99999999999 0\n",
        )
        .refused_as(ErrorKind::Limit, "g.mtx:2: more than 4,294,967,295 vertices of one label"),
        matrix(
            "fewer entries than announced",
            "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n",
        )
        .refused("g.mtx: line 2 announces 2 edges, but the file has 1: the file is cut off, or not what it says"),
        matrix("entries outside", "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n0 1\n3 1\n1 2\n")
            .loads(2, 1)
            .bad_row("g.mtx:3: column 1 (source): there is no vertex 0 among the 2 that line 2 announces", "0 1")
            .bad_row("g.mtx:4: column 1 (source): there is no vertex 3 among the 2 that line 2 announces", "3 1"),
        matrix(
            "values of another type",
            "%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 2 5\n1 2 0.5\n1 2\n",
        ).loads(2, 1).bad_row("g.mtx:4: column 3 (weight:long): \"0.5\" is not a valid long: expected digits with an optional sign", "1 2 0.5").bad_row("g.mtx:5: 3 fields expected (source target weight:long), 2 found between blanks or tabs", "1 2"),
        matrix("an entry above the diagonal of a symmetric matrix", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1 2\n")
            .loads(2, 1),
    ]);
}
