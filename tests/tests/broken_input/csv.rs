//! CSV: headers, rows and bytes that aren't what they should be, and odd ones that are.

use crate::case::{Case, run};
use evergraph::ErrorKind;
use evergraph::import::id_type::IdType;
use evergraph::import::options::{HeaderPlace, InputFile, Role};
use evergraph::import::policy::{OnDuplicate, OnUnknown};

/// One file of vertices.
fn vertices(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("a.csv", text)
}

/// Two vertices and a file of edges.
fn edges(name: &str, text: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("v.csv", "id:ID\n1\n2\n").file("e.csv", text)
}

#[test]
fn odd_files_that_are_sound_load_whole() {
    run(vec![
        vertices("CR LF", "id:ID,n:int\r\n1,5\r\n2,6\r\n").loads(2, 0),
        vertices("CR alone", "id:ID,n:int\r1,5\r2,6\r").loads(2, 0),
        vertices("no line end at the end", "id:ID,n:int\n1,5\n2,6").loads(2, 0),
        vertices("a byte order mark", "\u{feff}id:ID,n:int\n1,5\n").loads(1, 0),
        vertices("a byte order mark before quotes", "\u{feff}\"id:ID\",n:int\n1,5\n").loads(1, 0),
        vertices("a header and nothing else", "id:ID,n:int\n").loads(0, 0),
        vertices("a header without a line end", "id:ID,n:int").loads(0, 0),
        edges("edges with a header and nothing else", ":START_ID,:END_ID\n").loads(2, 0),
        vertices("blank lines", "\n\nid:ID,n:int\n\n1,5\n\n\n2,6\n\n").loads(2, 0),
        vertices("quotes everywhere", "\"id:ID\",\"n:int\"\n\"1\",\"5\"\n").loads(1, 0),
        vertices("line ends, quotes and delimiters in quotes", "id:ID,t\n1,\"a\r\n\"\"b\"\",c\n\"\n2,x\n")
            .loads(2, 0),
        vertices("empty fields", "id:ID,a,b:int,c:int[]\n1,,,\n").loads(1, 0),
        vertices("a column of one name without values", "id:ID,a:IGNORE,b:IGNORE\n1,x,y\n").loads(1, 0),
        vertices("NUL bytes in a text", "id:ID,t\n1,a\0b\n").loads(1, 0),
        vertices("characters of every length", "id:ID,t\n1,aé€😀\u{200d}\u{202e}\n").loads(1, 0),
        vertices("a NUL in a name", "id:ID,a\0b:int\n1,5\n").loads(1, 0),
        vertices("an empty space", "id:ID(),n\n1,5\n").loads(1, 0),
        vertices("no header and pairs of texts", "a,b\na,b\n").loads(2, 2),
        vertices("a name of any characters", "id:ID,naïve 😀:int\n1,5\n").loads(1, 0),
        vertices("an id of 10,000 characters", format!("id:ID,n\n{},5\n", "x".repeat(10_000))).loads(1, 0),
        edges("edges before their vertices in the list of files", ":START_ID,:END_ID\n1,2\n2,1\n")
            .loads(2, 2),
        edges("an edge from a vertex to itself, twice", ":START_ID,:END_ID\n1,1\n1,1\n").loads(2, 2),
    ]);
}

#[test]
fn headers_that_say_nothing_or_too_much_are_refused_by_column() {
    run(vec![
        vertices("nothing", "").refused("a.csv: is empty: expected a header, such as id:ID,name,born:int"),
        vertices("a byte order mark alone", "\u{feff}")
            .refused("a.csv: is empty: expected a header, such as id:ID,name,born:int"),
        vertices("blank lines alone", "\n\n\r\n")
            .refused("a.csv: is empty: expected a header, such as id:ID,name,born:int"),
        vertices("blanks alone", "   \n")
            .refused("a.csv: its first line has no names: expected a header, such as id:ID,name,born:int"),
        vertices("delimiters alone", ",,,\n,,,\n")
            .refused("a.csv: its first line has no names: expected a header, such as id:ID,name,born:int"),
        vertices("NUL bytes alone", vec![0; 5000])
            .refused("a.csv: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are there :START_ID and :END_ID of edges: the first line is \"\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\"…; if its rows are edges between the first two columns, say --edges TYPE=FILE; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        vertices("a key twice", "id:ID,n,n\n1,5,6\n")
            .refused("a.csv: header column 3 (\"n\"): column 2 (\"n\") says the same"),
        vertices("a key twice with two types", "id:ID,n:int,n:long\n1,5,6\n")
            .refused("a.csv: header column 3 (\"n:long\"): column 2 (\"n:int\") says the same"),
        vertices("two ids", "id:ID,other:ID\n1,5\n")
            .refused("a.csv: header column 2 (\"other:ID\"): column 1 (\"id:ID\") says the same"),
        vertices("the id's key again", "id:ID,id:int\n1,5\n")
            .refused("a.csv: header column 2 (\"id:int\"): column 1 (\"id:ID\") says the same"),
        vertices("two labels", "id:ID,:LABEL,:LABEL\n1,A,B\n")
            .refused("a.csv: header column 3 (\":LABEL\"): column 2 (\":LABEL\") says the same"),
        vertices("an id and an end", ":ID,:START_ID\n1,5\n")
            .refused("a.csv: header: there is :START_ID and no :END_ID"),
        vertices("a start without an end", ":START_ID,n\n1,5\n")
            .refused("a.csv: header: there is :START_ID and no :END_ID"),
        vertices("two starts", ":START_ID,:START_ID,:END_ID\n1,5,6\n")
            .refused("a.csv: header column 2 (\":START_ID\"): column 1 (\":START_ID(Vertex){on-unknown:create}\") says the same")
            .beside_data("a.csv: header column 2 (\":START_ID\"): column 1 (\":START_ID\") says the same"),
        vertices("a type that there isn't", "id:ID,n:integr\n1,5\n")
            .refused("a.csv: header column 2 (\"n:integr\"): unknown type \"integr\"; known are bool, byte, short, int, long, float, double, bigint, decimal, char, string, bytes, date, datetime, duration, uuid, each also as an array (string[], long[][]), map, and ID, START_ID, END_ID, LABEL, TYPE, IGNORE"),
        vertices("a type of the old world", "id:ID,n:point{crs:WGS-84}\n1,5\n")
            .refused("a.csv: header column 2 (\"n:point{crs:WGS-84}\"): unknown type \"point\"; known are bool, byte, short, int, long, float, double, bigint, decimal, char, string, bytes, date, datetime, duration, uuid, each also as an array (string[], long[][]), map, and ID, START_ID, END_ID, LABEL, TYPE, IGNORE"),
        vertices("an option that there isn't", "id:ID,n:int{unit:metre}\n1,5\n")
            .refused("a.csv: header column 2 (\"n:int{unit:metre}\"): there is no option \"unit\" for \"int\"; date and datetime have epoch"),
        vertices("a bracket that isn't closed", "id:ID(Person,n\n1,5\n")
            .refused("a.csv: header column 1 (\"id:ID(Person\"): '(' without ')' at the end"),
        vertices("a brace that isn't closed", "id:ID,n:date{epoch:s\n1,5\n")
            .refused("a.csv: header column 2 (\"n:date{epoch:s\"): '{' without '}' at the end"),
        vertices("arrays too deep", format!("id:ID,n:int{}\n1,5\n", "[]".repeat(40)))
            .refused("a.csv: header column 2 (\"n:int[][][][][][][][][][][][][][][][][][\"…): arrays are at most 16 deep"),
        vertices("a column without a name", "id:ID,,n\n1,5,6\n")
            .refused("a.csv: header column 2 (\"\"): there is no name and no role"),
        vertices("a column with a type only", "id:ID,:int\n1,5\n")
            .refused("a.csv: header column 2 (\":int\"): there is no name and no role"),
        vertices("a header in Latin-1", b"id:ID,na\xefve\n1,5\n".as_slice())
            .refused("a.csv: header column 1: is not UTF-8; convert the file with iconv"),
        vertices("a header in UTF-16", utf16("id:ID,n\n1,5\n"))
            .refused("a.csv: header column 1: is not UTF-8; convert the file with iconv"),
        vertices("a quote in the header that isn't closed", "id:ID,\"n\n1,5\n")
            .refused("a.csv:1: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
        edges("an end in a space that there isn't", ":START_ID(Preson),:END_ID\n1,2\n")
            .refused("e.csv: header column 1 (\":START_ID(Preson)\"): no file of vertices has the id space \"Preson\"; the files have one without a name; --on-unknown create makes its vertices")
            .beside_data("e.csv: header column 1 (\":START_ID(Preson)\"): no file of vertices has the id space \"Preson\"; the files have one without a name; the database has \"Kept\"; --on-unknown create makes its vertices"),
        Case::new("two types of one key")
            .file("a.csv", "id:ID,:LABEL,n:int\n1,T,5\n")
            .file("b.csv", "id:ID,:LABEL,n\n2,T,5\n")
            .refused("b.csv: property n of label T is string here and int in a.csv; give both one type"),
        Case::new("two kinds of ids in one space")
            .file("a.csv", "id:ID{id-type:long}\n1\n")
            .file("b.csv", "id:ID\n2\n")
            .refused("b.csv: ids of the id space without a name are strings here and whole numbers in a.csv; give both headers one id-type"),
        vertices("edges named as vertices", ":START_ID,:END_ID\n1,2\n")
            .options(|options| options.files[0].role = Some(Role::Nodes))
            .refused("a.csv: the header is that of edges, not of vertices"),
        vertices("a replaced header of another width", "id:ID,n\n1,5\n")
            .options(|options| options.files[0].header = HeaderPlace::Replaced("id:ID".to_owned()))
            .refused("a.csv: its first line has 2 columns, the header that replaces it has 1"),
        vertices("a given header of two lines", "1,5\n")
            .options(|options| options.files[0].header = HeaderPlace::Given("id:ID\nn:int".to_owned()))
            .refused("the header \"id:ID\\nn:int\" is not one line of CSV"),
        vertices("a given header that is empty", "1,5\n")
            .options(|options| options.files[0].header = HeaderPlace::Given(String::new()))
            .refused("the header \"\" is not one line of CSV"),
        vertices("a quote that is the delimiter", "id:ID,n\n1,5\n")
            .options(|options| (options.csv.quote, options.csv.delimiter) = (Some(b','), Some(b',')))
            .refused("delimiter and quote are the same character"),
        vertices("a letter for a delimiter", "id:ID,n\n1,5\n")
            .options(|options| options.csv.delimiter = Some(b'x'))
            .refused("delimiter 'x': expected a tab, a blank or an ASCII punctuation character"),
        Case::new("no files").refused("no files to import: name some, or a folder"),
        Case::new("a file of no known name")
            .file("a.bin", "one\n")
            .refused("a.bin: its name doesn't tell what it holds (known are .csv .tsv .tab .psv .txt .dat .data .v .e .edges .el .edgelist .ncol .gr .mtx .json .graphson .xml .graphml .gexf .gml .net .paj .cyjs, each also with .gz or .zst, and .parquet); say it by --nodes LABEL=FILE, --edges TYPE=FILE, --vertex-list FILE, --graphson FILE or --graphml FILE"),
    ]);
}

fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[test]
fn rows_that_do_not_fit_are_named_by_line_and_column() {
    run(vec![
        vertices("a field too few, one too many", "id:ID,n\n1,a\n2\n3,c,d\n4,e\n")
            .loads(2, 0)
            .bad_row("a.csv:3: 2 fields expected, as in the header, 1 found", "2")
            .bad_row("a.csv:4: 2 fields expected, as in the header, 3 found", "3,c,d"),
        vertices("a row of one column too many", "id:ID\n1,\n2\n")
            .loads(1, 0)
            .bad_row("a.csv:2: 1 field expected, as in the header, 2 found", "1,"),
        vertices("no id", "id:ID,n\n,a\n2,b\n")
            .loads(1, 0)
            .bad_row("a.csv:2: column 1 (id:ID): the id is missing", ",a"),
        vertices("an id that is no UTF-8", b"id:ID,n\n\xff\xfe,a\n2,b\n".as_slice())
            .loads(1, 0)
            .bad_row("a.csv:2: column 1 (id:ID): \"��\" is not UTF-8; convert the file with iconv", "��,a"),
        vertices("a text that is no UTF-8", b"id:ID,n\n1,a\xffb\n2,\xc3\n3,\xed\xa0\x80\n4,b\n".as_slice())
            .loads(1, 0).bad_row("a.csv:2: column 2 (n): \"a�b\" is not UTF-8 at byte 2; convert the file with iconv", "1,a�b").bad_row("a.csv:3: column 2 (n): \"�\" is not UTF-8 at byte 1; convert the file with iconv", "2,�").bad_row("a.csv:4: column 2 (n): \"���\" is not UTF-8 at byte 1; convert the file with iconv", "3,���"),
        vertices("an ignored text that is no UTF-8", b"id:ID,n:IGNORE\n1,a\xffb\n".as_slice()).loads(1, 0),
        vertices("text behind quotes", "id:ID,n\n1,\"a\"b\n2,a\"b\n").loads(2, 0),
        vertices("an id twice, and three times", "id:ID,n\n1,a\n1,b\n2,c\n1,d\n")
            .loads(2, 0)
            .bad_row("a.csv:3: column 1 (id:ID): vertex \"1\" of the id space without a name is there already, from a.csv:2", "1,b")
            .bad_row("a.csv:5: column 1 (id:ID): vertex \"1\" of the id space without a name is there already, from a.csv:2", "1,d"),
        vertices("two labels in a field", "id:ID,:LABEL\n1,A;B\n2,A\n").loads(2, 0),
        vertices("ids that are no numbers", "id:ID{id-type:long}\n1\nx\n9223372036854775808\n1.5\n")
            .loads(1, 0).bad_row("a.csv:3: column 1 (id:ID{id-type:long}): \"x\" is not a valid long, as ids are here", "x").bad_row("a.csv:4: column 1 (id:ID{id-type:long}): \"9223372036854775808\" is not a valid long, as ids are here", "9223372036854775808").bad_row("a.csv:5: column 1 (id:ID{id-type:long}): \"1.5\" is not a valid long, as ids are here", "1.5"),
        vertices(
            "CR LF and an error behind quotes of three lines",
            "id:ID,t,n:int\r\n1,\"a\r\n\r\nb\",5\r\n\r\n2,c,x\r\n",
        )
        .loads(1, 0).bad_row("a.csv:6: column 3 (n:int): \"x\" is not a valid int: expected digits with an optional sign", "2,c,x"),
        edges("ends that there aren't", ":START_ID,:END_ID\n1,2\n1,3\n4,5\n")
            .loads(2, 1)
            .bad_row("e.csv:3: column 2 (:END_ID): there is no vertex \"3\" in the id space without a name", "1,3")
            .bad_row("e.csv:4: column 1 (:START_ID): there is no vertex \"4\" in the id space without a name", "4,5"),
        edges("ends that are missing", ":START_ID,:END_ID\n1,\n,2\n1,2\n")
            .loads(2, 1)
            .bad_row("e.csv:2: column 2 (:END_ID): the id is missing", "1,")
            .bad_row("e.csv:3: column 1 (:START_ID): the id is missing", ",2"),
        edges("ends that are no UTF-8", b":START_ID,:END_ID\n1,\xff\n1,2\n".as_slice())
            .loads(2, 1)
            .bad_row("e.csv:2: column 2 (:END_ID): \"�\" is not UTF-8; convert the file with iconv", "1,�"),
        edges("an edge without a type", ":START_ID,:END_ID,:TYPE\n1,2,\n1,2,T\n").loads(2, 2),
        edges("a field too few", ":START_ID,:END_ID,n:int\n1,2\n1,2,7\n")
            .loads(2, 1)
            .bad_row("e.csv:2: 3 fields expected, as in the header, 2 found", "1,2"),
        vertices("a row in UTF-16", [b"id:ID,n\n1,a\n".to_vec(), utf16("2,b\n")].concat())
            .loads(1, 0)
            .bad_row("a.csv:3: column 1 (id:ID): \"��2\\0\" is not UTF-8; convert the file with iconv", "��2\0,\0b\0")
            .bad_row("a.csv:4: 2 fields expected, as in the header, 1 found", "\0"),
    ]);
}

#[test]
fn a_quote_that_is_never_closed_ends_the_import_where_it_opens() {
    run(vec![
        vertices("in the last field", "id:ID,n\n1,a\n2,\"b\n3,c\n")
            .refused("a.csv:3: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
        vertices("in the first field of the last line", "id:ID,n\n1,a\n\"2")
            .refused("a.csv:3: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
        vertices("behind a pair of quotes", "id:ID,n\n1,\"\"\"a\n")
            .refused("a.csv:2: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
        vertices("single, where quotes are single", "id:ID,n\n1,it's\n2,'b\n")
            .options(|options| options.csv.quote = Some(b'\''))
            .refused("a.csv:3: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
        vertices("behind an escaped quote", "id:ID,n\n1,\"a\\\"\n")
            .options(|options| options.csv.escape = Some(b'\\'))
            .refused("a.csv:2: a quote that opens in this record is never closed; if quotes are ordinary characters in the file, say --quote none"),
        vertices("where quotes are characters", "id:ID,n\n1,\"a\n2,\"\n")
            .options(|options| options.csv.quote = None)
            .loads(2, 0),
    ]);
}

#[test]
fn columns_that_nobody_declared_are_guessed_or_refused() {
    run(vec![
        vertices("names only", "id,name\n1,a\n2,b\n").loads(2, 0),
        vertices("a value of another type behind the rows that were looked at", guessed())
            .loads(40_000, 0)
            .bad_row("a.csv:40002: column 2 (age): \"old\" is not a valid long: expected digits with an optional sign", "40000,old"),
        vertices("no ids and no ends", "town,name\na,Ada\na,Eve\n")
            .refused("a.csv: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are there :START_ID and :END_ID of edges: the first line is \"town name\"; if its rows are edges between the first two columns, say --edges TYPE=FILE; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        vertices("one column of names", "name\n")
            .refused("a.csv: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are there :START_ID and :END_ID of edges: the first line is \"name\"; if its rows are edges between the first two columns, say --edges TYPE=FILE; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        vertices("two rows of text that differ in width", "x\ny,z\n")
            .refused("a.csv: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are there :START_ID and :END_ID of edges: the first line is \"x\"; if its rows are edges between the first two columns, say --edges TYPE=FILE; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        Case::new("ends without a file of vertices")
            .file("knows.csv", "from,to\na,b\n")
            .loads(2, 1),
    ]);
}

/// Vertices whose last one is of another type than the first 256 KiB show.
fn guessed() -> String {
    let rows = (0..40_000).map(|number| format!("{number},{number}\n"));
    format!("id,age\n{}40000,old\n", rows.collect::<String>())
}

#[test]
fn what_is_settled_is_no_bad_row() {
    let duplicates = |choice| {
        vertices("an id twice", "id:ID,n\n1,a\n1,b\n")
            .options(move |options| options.ids.on_duplicate = choice)
    };
    let unknown = |choice| {
        edges("an end that isn't there", ":START_ID,:END_ID\n1,2\n1,3\n")
            .options(move |options| options.ids.on_unknown = choice)
    };
    run(vec![
        duplicates(OnDuplicate::First).loads(1, 0),
        duplicates(OnDuplicate::Last).loads(1, 0),
        unknown(OnUnknown::Skip).loads(2, 1),
        unknown(OnUnknown::Create).loads(3, 2),
        Case::new("an end that can't be one")
            .file("v.csv", "id:ID\n1\n")
            .file("e.csv", ":START_ID,:END_ID\n1,x\n1,2\n")
            .options(|options| {
                (options.ids.on_unknown, options.ids.id_type) = (OnUnknown::Create, IdType::LONG)
            })
            .loads(2, 1)
            .bad_row("e.csv:2: column 2 (:END_ID): \"x\" is not a valid long, as ids are here", "1,x"),
        Case::new("edges whose space no file tells")
            .file("e.csv", ":START_ID(P),:END_ID(P)\n1,2\n")
            .options(|options| {
                options.ids.on_unknown = OnUnknown::Create;
            })
            .loads(2, 1),
        Case::new("a file that isn't there")
            .options(|options| {
                options.files.push(InputFile::new("missing.csv"));
            })
            .refused_as(ErrorKind::NotFound, "missing.csv: there is no such file or folder; check the path"),
    ]);
}
