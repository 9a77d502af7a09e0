//! Import: one file of any form of text, through recognition, plan and assembly. A file without a bad
//! row gives the same when bad rows are left out.
//!
//! Input: a byte that chooses the file's ending, and so its form; the file.

use crate::samples;
use crate::scratch::{import_both_ways, write};
use crate::target::{Memory, Target};
use evergraph::export::options::ExportFormat;

// Blocks of 1 MiB, twice, and a window of zstd.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 64 << 20, per_byte: 4096 } };

const ENDINGS: [&str; 12] =
    ["csv", "tsv", "v", "e", "txt", "gr", "mtx", "json", "graphml", "csv.gz", "gexf", "gml"];

const OTHERS: [(u8, &str); 12] = [
    (0, "id:ID(Person),:LABEL,name,born:int\n1,Person,Ada,1815\n2,,Bob,\n"),
    (0, "from,to,weight\n1,2,0.5\n2,3,1\n"),
    (0, "id,name,born\n1,Ada,1815-12-10\n2,Bob,\n"),
    (1, "id\tname\n1\tAda\n"),
    (2, "7 3\n8\n"),
    (3, "# comment\n7 12 0.5\n12 7 1\n"),
    (4, "1,2\n2,3\n"),
    (5, "c x\np sp 3 2\na 1 2 57\na 3 3 -1\n"),
    (
        7,
        "{\"nodes\":[{\"id\":\"a\",\"w\":1},{\"id\":\"b\",\"w\":0.5}],\"links\":[{\"source\":0,\"target\":\"a\"}]}",
    ),
    (
        10,
        "<gexf><graph><nodes><node id=\"a\" label=\"A\"/></nodes><edges><edge source=\"a\" target=\"a\"/></edges></graph></gexf>",
    ),
    (11, "graph [ node [ id 1 id_ 1 w 1 ] node [ id 2 w 0.5 ] edge [ source 1 target 2 ] ]"),
    (6, "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 0.5\n3 2 1e9\n"),
];

fn seeds() -> Vec<Vec<u8>> {
    let exported = |format, ending: u8| {
        samples::exported(format).into_iter().map(move |(_, text)| [vec![ending], text].concat())
    };
    let others = OTHERS.map(|(ending, text)| [&[ending], text.as_bytes()].concat());
    exported(ExportFormat::Csv, 0)
        .chain(exported(ExportFormat::GraphSon, 7))
        .chain(exported(ExportFormat::GraphMl, 8))
        .chain(others)
        .collect()
}

fn promise(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let ending = ENDINGS[usize::from(*choice) % ENDINGS.len()];
    import_both_ways(&write(&format!("graph.{ending}"), text));
}
