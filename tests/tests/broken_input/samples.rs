//! Samples: a small sound file of every format, and its packed forms, for tests that cut and damage it.

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{ImportOptions, Imported, InputFile};
use evergraph::import::read::read;
use evergraph::{ErrorKind, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Rows of most samples.
const ROWS: u32 = 24;

/// A sound file.
pub struct Sample {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// What is imported beside it and stays whole.
    pub beside: Option<(&'static str, String)>,
    pub mapping: Option<&'static str>,
    /// Vertices and edges in all.
    pub counts: (u64, u64),
    /// Lines before the first row, if every line behind them is a row that stands alone.
    pub header_lines: Option<usize>,
}

/// A file of each format that is read.
pub fn samples() -> Vec<Sample> {
    let rows = u64::from(ROWS);
    let sample = |name, bytes: String, counts| Sample {
        name,
        bytes: bytes.into_bytes(),
        beside: None,
        mapping: None,
        counts,
        header_lines: None,
    };
    let lines = |head: &str, line: &dyn Fn(u32) -> String| {
        (1..=ROWS).fold(head.to_owned(), |text, at| text + &line(at))
    };
    let next = |at: u32| at % ROWS + 1;
    let people = lines("id:ID,name,born:int\n", &|at| format!("{at},\"na\"\"me, {at}\",{}\n", 1800 + at));
    let list = lines("", &|at| format!("{at} {} 0.5\n", next(at)));
    let vertex_lists = lines("", &|at| format!("{at} {}\n", at * 7));
    let dimacs = lines(&format!("c roads\np sp {ROWS} {ROWS}\n"), &|at| format!("a {at} {} 7\n", next(at)));
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n% x\n{ROWS} {ROWS} {ROWS}\n");
    let matrix = lines(&matrix, &|at| format!("{at} {} 0.5\n", next(at)));
    vec![
        Sample { header_lines: Some(1), ..sample("a.csv", people.clone(), (rows, 0)) },
        Sample {
            beside: Some(("v.csv", people)),
            header_lines: Some(1),
            ..sample(
                "e.csv",
                lines(":START_ID,:END_ID,since:date\n", &|at| format!("{at},{},2024-02-29\n", next(at))),
                (rows, rows),
            )
        },
        Sample {
            mapping: Some(
                "[[file]]\npath = \"*\"\nlabel = \"P\"\nheader = false\ncolumns = [\"id:ID\", \"n:long\"]\n",
            ),
            header_lines: Some(0),
            ..sample("h.csv", lines("", &|at| format!("{at},{}\n", at * 1000)), (rows, 0))
        },
        Sample { header_lines: Some(0), ..sample("g.e", list, (rows, rows)) },
        Sample { header_lines: Some(0), ..sample("g.v", vertex_lists, (rows, 0)) },
        sample("g.gr", dimacs, (rows, rows)),
        sample("g.mtx", matrix, (rows, rows)),
        sample("g.graphml", graphml(), (rows, rows)),
        sample("g.gexf", gexf(), (rows, rows)),
        sample("g.gml", gml(), (rows, rows)),
        sample("g.net", pajek(), (rows, rows)),
        sample("g.json", node_link(), (rows, rows)),
        sample("one.graphson", graphson(&|id| id.to_string(), false), (rows, rows)),
        sample(
            "three.graphson",
            graphson(&|id| format!("{{\"@type\":\"g:Int64\",\"@value\":{id}}}"), false),
            (rows, rows),
        ),
        sample(
            "wrapped.graphson",
            graphson(&|id| format!("{{\"@type\":\"g:Int32\",\"@value\":{id}}}"), true),
            (rows, rows),
        ),
        Sample { bytes: parquet(), ..sample("a.parquet", String::new(), (rows, 0)) },
    ]
}

fn graphml() -> String {
    let mut text =
        "<?xml version=\"1.0\"?>\n<graphml><key id=\"n\" for=\"node\" attr.name=\"n\" attr.type=\"int\"/>\n\
         <graph edgedefault=\"directed\">\n"
            .to_owned();
    for id in 1..=ROWS {
        writeln!(text, "<node id=\"{id}\"><data key=\"n\">{id}</data></node>").unwrap();
    }
    for id in 1..=ROWS {
        writeln!(text, "<edge source=\"{id}\" target=\"{}\"/>", id % ROWS + 1).unwrap();
    }
    text + "</graph></graphml>"
}

fn gexf() -> String {
    let node = |id: u32| {
        format!(
            "<node id=\"{id}\" label=\"n{id}\"><attvalues><attvalue for=\"0\" value=\"{id}\"/></attvalues></node>\n"
        )
    };
    let edge = |id: u32| format!("<edge source=\"{id}\" target=\"{}\" weight=\"0.5\"/>\n", id % ROWS + 1);
    format!(
        "<?xml version=\"1.0\"?>\n<gexf version=\"1.3\"><graph defaultedgetype=\"directed\">\n<attributes class=\"node\">\
         <attribute id=\"0\" title=\"n\" type=\"integer\"/></attributes>\n<nodes>\n{}</nodes>\n<edges>\n{}</edges>\n</graph></gexf>",
        (1..=ROWS).map(node).collect::<String>(),
        (1..=ROWS).map(edge).collect::<String>()
    )
}

fn gml() -> String {
    let node = |id: u32| format!("  node [\n    id {id}\n    label \"n &amp; {id}\"\n  ]\n");
    let edge =
        |id: u32| format!("  edge [\n    source {id}\n    target {}\n    value 0.5\n  ]\n", id % ROWS + 1);
    let elements: String = (1..=ROWS).map(node).chain((1..=ROWS).map(edge)).collect();
    format!("Creator \"x\"\ngraph [\n  directed 1\n{elements}]")
}

fn pajek() -> String {
    let vertex = |id: u32| format!("{id} \"n {id}\" 0.1 0.2\n");
    let edge = |id: u32| format!("{id} {} 0.5\n", id % ROWS + 1);
    let (vertices, edges): (String, String) =
        ((1..=ROWS).map(vertex).collect(), (1..=ROWS).map(edge).collect());
    format!("*Vertices {ROWS}\n{vertices}*Arcs\n{edges}")
}

fn node_link() -> String {
    let node = |id: u32| format!("{{\"id\": \"n{id}\", \"n\": {id}}}");
    let link = |id: u32| format!("{{\"source\": \"n{id}\", \"target\": \"n{}\"}}", id % ROWS + 1);
    let join = |items: Vec<String>| items.join(",\n");
    format!(
        "{{\"directed\": true, \"nodes\": [\n{}],\n\"links\": [\n{}]}}",
        join((1..=ROWS).map(node).collect()),
        join((1..=ROWS).map(link).collect())
    )
}

/// A ring, every edge at both of its ends; `value` writes an id.
fn graphson(value: &dyn Fn(u32) -> String, is_wrapped: bool) -> String {
    let vertex = |id: u32| {
        let (before, after) = ((id + ROWS - 2) % ROWS + 1, id % ROWS + 1);
        let edge = |number: u32, key: &str, end: u32| {
            format!("{{\"knows\":[{{\"id\":{},\"{key}\":{}}}]}}", value(number), value(end))
        };
        format!(
            "{{\"id\":{},\"label\":\"P\",\"inE\":{},\"outE\":{}}}",
            value(id),
            edge(100 + before, "outV", before),
            edge(100 + id, "inV", after)
        )
    };
    let vertices: Vec<String> = (1..=ROWS).map(vertex).collect();
    if is_wrapped {
        format!("{{\"vertices\":[{}]}}", vertices.join(",\n"))
    } else {
        vertices.join("\n") + "\n"
    }
}

/// Vertices with a number and a text, in several row groups.
fn parquet() -> Vec<u8> {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(1..=ROWS as i32));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter((1..=ROWS).map(|id| (id % 3 > 0).then(|| format!("t{id}")))));
    let batch = RecordBatch::try_from_iter([("id:ID", ids), ("text", texts)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    for half in [batch.slice(0, 12), batch.slice(12, 12)] {
        writer.write(&half).unwrap();
        writer.flush().unwrap();
    }
    writer.into_inner().unwrap()
}

/// `bytes` packed by gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `bytes` packed by zstd, with a checksum.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

impl Sample {
    /// Reads the sample with `bytes` in its file, which is called `file_name`, in `folder`.
    pub fn read(
        &self,
        folder: &Path,
        file_name: &str,
        bytes: &[u8],
        change: impl FnOnce(&mut ImportOptions),
    ) -> Result<Imported> {
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            // A new file each time: one that is emptied and filled again is written to the disk at once by ext4.
            drop(fs::remove_file(&path));
            fs::write(&path, bytes).unwrap();
            InputFile::new(path)
        };
        let mut files = vec![write(file_name, bytes)];
        files.extend(self.beside.as_ref().map(|(name, text)| write(name, text.as_bytes())));
        let mut options = ImportOptions::new(files);
        // Else the system is asked several times how much it has.
        options.memory = Some(256 << 20);
        options.mapping = self.mapping.map(|toml| Mapping::parse("m.toml", toml, folder).unwrap());
        options.threads = 1;
        change(&mut options);
        read(&options, &|_| ())
    }
}

/// Vertices and edges of `imported`.
pub fn counts(imported: &Imported) -> (u64, u64) {
    (imported.load.vertices_count(), imported.load.edges_count())
}

/// Holds that `error` is one of the file called `file_name`, which its text names.
pub fn assert_names(error: &evergraph::Error, file_name: &str, place: &str) {
    assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Limit), "{place}: {error}");
    assert!(error.to_string().contains(file_name), "{place}: {error}");
}
