//! Random graphs, written as CSV and as edge lists, are read as what they were.

use crate::import::options::InputFile;
use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::List;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn write(path: &Path, text: &str, packed: bool) -> InputFile {
    if packed {
        let path = PathBuf::from(format!("{}.gz", path.display()));
        fs::write(&path, gzip(text)).unwrap();
        return InputFile::new(path);
    }
    fs::write(path, text).unwrap();
    InputFile::new(path)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn shown<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map(T::to_string).unwrap_or_default()
}

/// A vertex: name, number, list.
type Row = (Option<String>, Option<f64>, Vec<String>);

fn a_row() -> impl Strategy<Value = Row> {
    let text = "[a,\"\n\r| é]{1,6}";
    (
        prop::option::of(text),
        prop::option::of(any::<f64>().prop_filter("a number", |number| !number.is_nan())),
        prop::collection::vec("[a,\" é]{1,4}", 0..3),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn csv_reads_back_what_was_written(
        rows in prop::collection::vec(a_row(), 1..20),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<i64>()), 0..20),
        packed in any::<bool>(),
        line_end in prop_oneof![Just("\n"), Just("\r\n")],
        block_bytes in 1usize..200,
        threads in 1usize..4,
        memory in prop_oneof![Just(None), Just(Some(0u64)), Just(Some(400))],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let id = |row: usize| format!("v,{row}");
        let mut nodes = format!("id:ID(N),name,score:double,tags:string[]{line_end}");
        for (row, (name, score, tags)) in rows.iter().enumerate() {
            let name = name.as_ref().map(|name| quoted(name)).unwrap_or_default();
            let tags = if tags.is_empty() { String::new() } else { quoted(&tags.join(";")) };
            nodes += &format!("{},{name},{},{tags}{line_end}", quoted(&id(row)), shown(score));
        }
        let mut relationships = format!(":START_ID(N),:END_ID(N),count:long{line_end}");
        for (source, target, count) in &ends {
            let (source, target) = (source.index(rows.len()), target.index(rows.len()));
            relationships += &format!("{},{},{count}{line_end}", quoted(&id(source)), quoted(&id(target)));
        }
        let inputs = [
            write(&folder.path().join("N.csv"), &nodes, packed),
            write(&folder.path().join("E.csv"), &relationships, packed),
        ];
        let options = ImportOptions { threads, memory, ..ImportOptions::new(inputs) };
        let load = read_in_blocks(&options, ExistingGraph::default(), &|_| (), block_bytes).unwrap().load;

        let table = &load.vertices[0];
        prop_assert_eq!(table.rows as usize, rows.len());
        let ids: Vec<_> = (0..rows.len()).map(|row| Some(Value::from(id(row)))).collect();
        prop_assert_eq!(table.values("id"), ids);
        let names: Vec<_> = rows.iter().map(|row| row.0.clone().map(Value::from)).collect();
        prop_assert_eq!(table.values("name"), names);
        let scores: Vec<_> = rows.iter().map(|row| row.1.map(Value::F64)).collect();
        prop_assert_eq!(table.values("score"), scores);
        let tags: Vec<_> = rows.iter().map(|(_, _, tags)| (!tags.is_empty()).then(|| {
            Value::List(List::new(tags.iter().map(|tag| Value::from(tag.as_str())).collect()).unwrap())
        })).collect();
        prop_assert_eq!(table.values("tags"), tags);
        if !ends.is_empty() {
            let expected: Vec<(u32, u32)> = ends.iter()
                .map(|(source, target, _)| (source.index(rows.len()) as u32, target.index(rows.len()) as u32))
                .collect();
            prop_assert_eq!(edges(&load.edges[0]), expected);
            let counts: Vec<_> = ends.iter().map(|end| Some(Value::I64(end.2))).collect();
            prop_assert_eq!(load.edges[0].values("count"), counts);
        }
    }

    #[test]
    fn an_edge_list_reads_back_what_was_written(
        lines in prop::collection::vec((any::<i64>(), -5i64..5, any::<f32>(), any::<i64>()), 1..40),
        separator in prop_oneof![Just(" "), Just("\t"), Just(","), Just("  \t"), Just(" , ")],
        line_end in prop_oneof![Just("\n"), Just("\r\n"), Just("\n# note\n"), Just("\n\n")],
        packed in any::<bool>(),
        block_bytes in 1usize..200,
        threads in 1usize..4,
        memory in prop_oneof![Just(None), Just(Some(0u64)), Just(Some(400))],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<_> = lines.into_iter().filter(|line| line.2.is_finite()).collect();
        let text: String = lines.iter()
            .map(|(source, target, weight, time)| {
                format!("{source}{separator}{target}{separator}{weight}{separator}{time}{line_end}")
            })
            .collect();
        let input = write(&folder.path().join("g.txt"), &text, packed);
        let options = ImportOptions { threads, memory, ..ImportOptions::new([input]) };
        let load = read_in_blocks(&options, ExistingGraph::default(), &|_| (), block_bytes).unwrap().load;

        let mut expected: Vec<i64> = lines.iter().flat_map(|line| [line.0, line.1]).collect();
        expected.sort_unstable();
        expected.dedup();
        let ids = ids(&load.vertices[0]);
        prop_assert_eq!(&ids, &expected);
        let read: Vec<(i64, i64)> = edges(&load.edges[0]).iter()
            .map(|(source, target)| (ids[*source as usize], ids[*target as usize]))
            .collect();
        prop_assert_eq!(read, lines.iter().map(|line| (line.0, line.1)).collect::<Vec<_>>());
        if !lines.is_empty() {
            // The text of a float of 32 bits, read as one of 64.
            let weight = |weight: f32| Some(Value::F64(weight.to_string().parse().unwrap()));
            let weights: Vec<_> = lines.iter().map(|line| weight(line.2)).collect();
            prop_assert_eq!(load.edges[0].values("weight"), weights);
            let times: Vec<_> = lines.iter().map(|line| Some(Value::I64(line.3))).collect();
            prop_assert_eq!(load.edges[0].values("time"), times);
        }
    }
}
