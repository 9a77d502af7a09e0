//! LDBC SNB Interactive, small sample: 31 files are one graph of 8 labels; then 6,920 operations, each a
//! transaction. Counts before and after are those that DuckDB found in the files and the streams.

use crate::imported::{Imported, database_of_parent, options_for};
use crate::lsqb::answers;
use crate::snb_updates::operations;
use evergraph::graph::id::{LabelId, TypeId};
use evergraph::{Database, Direction, EngineKind, GraphView, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::contents::{Contents, for_each_edge};
use evergraph_tests::data::{json_counts, read_text};
use evergraph_tests::data_folder::data_set;
use evergraph_tests::lsqb::queries::count_all;
use std::collections::{BTreeMap, HashMap};

/// Rows by the names of LDBC's files: `person`, `person_knows_person`.
fn rows(snapshot: &Snapshot) -> BTreeMap<String, u64> {
    let (catalogue, mut rows) = (snapshot.catalogue(), BTreeMap::new());
    let vertices = snapshot.vertices(None).unwrap();
    let mut labels = Vec::new();
    snapshot.labels(&vertices, &mut labels).unwrap();
    let name = |label| catalogue.label_name(label).to_lowercase();
    let labels: HashMap<VertexId, LabelId> =
        vertices.into_iter().zip(labels.into_iter().map(Option::unwrap)).collect();
    labels.values().for_each(|label| *rows.entry(name(*label)).or_default() += 1);
    // Names are made once for all edges of a kind.
    let mut kinds: HashMap<(LabelId, TypeId, LabelId), u64> = HashMap::new();
    for_each_edge(snapshot, |edge| {
        *kinds.entry((labels[&edge.source], edge.edge_type, labels[&edge.target])).or_default() += 1;
    });
    for ((source, edge_type, target), count) in kinds {
        let edge_type = catalogue.edge_type_name(edge_type).to_lowercase();
        // HAS_CREATOR is hasCreator there.
        let words = edge_type.split('_').enumerate().map(|(at, word)| match at {
            0 => word.to_owned(),
            _ => word[..1].to_uppercase() + &word[1..],
        });
        let camel: String = words.collect();
        *rows.entry(format!("{}_{camel}_{}", name(source), name(target))).or_default() += count;
    }
    rows
}

/// The five highest of `scores` with the value of `key` of their vertices; of equal scores the lowest
/// value first.
fn top_5(snapshot: &Snapshot, key: &str, scores: Vec<(u64, VertexId)>) -> Vec<(String, u64)> {
    let named = |(score, vertex): (u64, VertexId)| (score, snapshot.get(vertex, key).unwrap().unwrap());
    let mut scores: Vec<(u64, Value)> = scores.into_iter().map(named).collect();
    scores.sort_unstable_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    scores.into_iter().take(5).map(|(score, value)| (value.to_string(), score)).collect()
}

/// The degree of each vertex of `label` over edges of one type.
fn degrees(snapshot: &Snapshot, label: &str, edge_type: &str, direction: Direction) -> Vec<(u64, VertexId)> {
    let vertices = snapshot.vertices(Some(label)).unwrap();
    let edge_type = snapshot.catalogue().edge_type(edge_type).unwrap();
    let mut degrees = Vec::new();
    snapshot.degrees(&vertices, Some(&[edge_type]), direction, &mut degrees).unwrap();
    degrees.into_iter().zip(vertices).collect()
}

/// How many posts and comments each tag has.
fn tag_counts(snapshot: &Snapshot) -> Vec<(u64, VertexId)> {
    let mut counts: BTreeMap<VertexId, u64> = BTreeMap::new();
    for label in ["Post", "Comment"] {
        for message in snapshot.vertices(Some(label)).unwrap() {
            for (_, tag) in snapshot.edges(message, Direction::Out, &["HAS_TAG"]).unwrap() {
                *counts.entry(tag).or_default() += 1;
            }
        }
    }
    counts.into_iter().map(|(tag, count)| (count, tag)).collect()
}

fn text(snapshot: &Snapshot, vertex: VertexId, key: &str) -> String {
    snapshot.get(vertex, key).unwrap().unwrap().to_string()
}

fn check_properties_before(snapshot: &Snapshot) {
    let jose = snapshot.find("Person", "id", 8_796_093_022_220i64).unwrap().unwrap();
    assert_eq!(text(snapshot, jose, "firstName"), "Jose");
    assert_eq!(text(snapshot, jose, "birthday"), "1987-09-18");
    assert_eq!(text(snapshot, jose, "creationDate"), "2010-09-16T06:54:00.602Z");
    let (work, _) = snapshot.edges(jose, Direction::Out, &["WORK_AT"]).unwrap()[0];
    assert_eq!(snapshot.get_edge(work, "workFrom").unwrap(), Some(Value::I32(2009)));
    let (_, city) = snapshot.edges(jose, Direction::Out, &["IS_LOCATED_IN"]).unwrap()[0];
    assert_eq!(snapshot.get(city, "id").unwrap(), Some(Value::I64(1073)));
    let comment = snapshot.find("Comment", "id", 206_158_430_246i64).unwrap().unwrap();
    assert_eq!(text(snapshot, comment, "content"), "yes");
    assert_eq!(snapshot.get(comment, "length").unwrap(), Some(Value::I32(3)));
    let (_, post) = snapshot.edges(comment, Direction::Out, &["REPLY_OF"]).unwrap()[0];
    assert_eq!(snapshot.label_of(post).unwrap().as_deref(), Some("Post"));
    assert_eq!(snapshot.get(post, "id").unwrap(), Some(Value::I64(206_158_430_245)));
    let picture = snapshot.find("Post", "id", 343_597_383_680i64).unwrap().unwrap();
    assert_eq!(text(snapshot, picture, "imageFile"), "photo343597383680.jpg");
    assert_eq!(snapshot.get(picture, "content").unwrap(), None);
    assert_eq!(snapshot.find("Person", "id", 10_995_116_277_817i64).unwrap(), None, "a person of the stream");
}

fn check_properties_after(snapshot: &Snapshot) {
    let akira = snapshot.find("Person", "id", 10_995_116_277_817i64).unwrap().unwrap();
    assert_eq!(text(snapshot, akira, "lastName"), "Ito");
    assert_eq!(text(snapshot, akira, "birthday"), "1981-07-28");
    let Some(Value::List(languages)) = snapshot.get(akira, "language").unwrap() else { panic!("no list") };
    assert_eq!(languages.as_slice(), [Value::from("ja"), Value::from("en")]);
    let work = snapshot.edges(akira, Direction::Out, &["WORK_AT"]).unwrap();
    let years = work.iter().map(|(edge, _)| snapshot.get_edge(*edge, "workFrom").unwrap().unwrap());
    assert_eq!(years.collect::<Vec<_>>(), vec![Value::I32(2005); 3]);
}

fn the_graph_and_its_update_stream_have_the_published_counts_on(engine: EngineKind) {
    let Some(folder) = data_set("snb-interactive-mini") else { return };
    let counts = read_text(&folder.join("expected-counts.json"));
    let imported = Imported::without_ids(engine, &options_for([folder.join("graph")]));
    let before = imported.db.snapshot();
    let rows_before: BTreeMap<String, u64> = json_counts(&counts, "rows_before").into_iter().collect();
    assert_eq!(rows_before.len(), 31);
    assert_eq!(rows(&before), rows_before);
    assert_eq!(count_all(&before), answers(&counts, "lsqb_before"));
    check_properties_before(&before);
    let reader = imported.reader();
    let seen_before = reader.as_ref().map(Database::snapshot);

    let operations = operations(|stream| read_text(&folder.join(stream)));
    let mut kinds = [0; 9];
    operations.iter().for_each(|operation| kinds[usize::from(operation.kind)] += 1);
    assert_eq!(kinds, [0, 28, 818, 656, 155, 2507, 1271, 1296, 189]);
    let first = imported.db.snapshot().timestamp();
    for operation in &operations {
        operation.run(&imported.db).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
    }

    let after = imported.db.snapshot();
    assert_eq!(after.timestamp().0 - first.0, 6920, "each operation is one transaction");
    let rows_after: BTreeMap<String, u64> = json_counts(&counts, "rows_after").into_iter().collect();
    check_after(&after, &counts, &rows_after);
    assert_eq!(count_all(&after), answers(&counts, "lsqb_after"));
    let contents = Contents::of(&after, 1000);
    contents.check_frozen(&after);
    assert_eq!(rows(&before), rows_before, "the snapshot from before");
    assert_eq!(count_all(&before), answers(&counts, "lsqb_before"), "the snapshot from before");
    check_properties_before(&before);
    if let (Some(reader), Some(seen_before)) = (&reader, &seen_before) {
        let seen = reader.snapshot();
        assert_eq!(seen.timestamp(), after.timestamp(), "a reader sees every operation");
        check_after(&seen, &counts, &rows_after);
        assert_eq!(rows(seen_before), rows_before, "a reader's snapshot from before");
        check_properties_before(seen_before);
        imported.read_in_child("snb::child_that_reads");
    }
    drop((before, after, seen_before, reader));

    let imported = imported.reopened();
    assert_eq!(imported.db.open_store().unwrap().recovery().commits, 6920);
    check_after(&imported.db.snapshot(), &counts, &rows_after);
    let imported = imported.reopened_from_checkpoint();
    check_after(&imported.db.snapshot(), &counts, &rows_after);
    assert_eq!(count_all(&imported.db.snapshot()), answers(&counts, "lsqb_after"));
    assert!(Contents::of(&imported.db.snapshot(), 1000) == contents, "every property is as it was");
    imported.assert_healthy();
}

/// No test but in a child of the one in mapped files, which has the database open.
#[test]
fn child_that_reads() {
    let (Some(reader), Some(folder)) = (database_of_parent(), data_set("snb-interactive-mini")) else {
        return;
    };
    assert!(reader.writer_process().is_some_and(|writer| writer != std::process::id()));
    let counts = read_text(&folder.join("expected-counts.json"));
    let rows_after: BTreeMap<String, u64> = json_counts(&counts, "rows_after").into_iter().collect();
    let snapshot = reader.snapshot();
    check_after(&snapshot, &counts, &rows_after);
    assert_eq!(count_all(&snapshot), answers(&counts, "lsqb_after"));
}

#[test]
fn the_graph_and_its_update_stream_have_the_published_counts() {
    the_graph_and_its_update_stream_have_the_published_counts_on(EngineKind::Memory);
}

#[test]
fn the_graph_and_its_update_stream_have_the_published_counts_on_disk() {
    the_graph_and_its_update_stream_have_the_published_counts_on(EngineKind::Disk);
}

#[test]
fn the_graph_and_its_update_stream_have_the_published_counts_in_mapped_files() {
    the_graph_and_its_update_stream_have_the_published_counts_on(EngineKind::Mapped);
}

fn check_after(snapshot: &Snapshot, counts: &str, rows_after: &BTreeMap<String, u64>) {
    assert_eq!(rows(snapshot), *rows_after);
    check_properties_after(snapshot);
    let knows = degrees(snapshot, "Person", "KNOWS", Direction::Both);
    assert_eq!(top_5(snapshot, "id", knows), json_counts(counts, "top5_knows_degree_after"));
    let members = degrees(snapshot, "Forum", "HAS_MEMBER", Direction::Out);
    assert_eq!(top_5(snapshot, "id", members), json_counts(counts, "top5_forum_members_after"));
    assert_eq!(
        top_5(snapshot, "name", tag_counts(snapshot)),
        json_counts(counts, "top5_tags_by_messages_after")
    );
}
