//! The cases that the design names, one by one.

use crate::graph::{differences, of_database, of_rows};
use crate::replica::Replica;
use crate::source::{Source, row};
use crate::world::{TableSpec, World, everything, table};
use evergraph_replica::apply::applier::Applied;
use evergraph_replica::count_note::CountNote;
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::pgoutput::message::Message;
use evergraph_replica::pgoutput::relation::{Relation, RelationColumn, RelationIdentity};
use evergraph_replica::row_note::{CREATED_PREFIX, NOTES_OF_RULE_MAX, WAITING_PREFIX};
use evergraph_replica::translate::loss::{LossCause, LossCounts};
use evergraph_replica::translate::translator::Translator;
use evergraph_storage::indexing::OwnerName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A source with a replica of it.
struct Case {
    world: World,
    source: Source,
    replica: Replica,
}

impl Case {
    fn new(world: World) -> Self {
        let source = Source::new(&world);
        let replica = Replica::new(&world, &source);
        Self { world, source, replica }
    }

    fn of(tables: Vec<TableSpec>, mapping: &str) -> Self {
        Self::new(World::new(tables, mapping))
    }

    fn insert(&mut self, table: &str, texts: &[&str]) -> &mut Self {
        let table = self.world.table(table);
        assert!(self.source.insert(table, row(texts)));
        self
    }

    /// The place of the row whose first column is `id`.
    fn place(&self, table: usize, id: &str) -> usize {
        let is_it = |row: &Vec<Option<String>>| row[0].as_deref() == Some(id);
        self.source.rows[table].iter().position(is_it).unwrap()
    }

    fn update(&mut self, table: &str, id: &str, column: &str, text: &str) -> &mut Self {
        let number = self.world.table(table);
        let place = self.place(number, id);
        let mut new = self.source.rows[number][place].clone();
        new[self.world.tables[number].column(column)] = row(&[text]).remove(0);
        assert!(self.source.update(number, place, new));
        self
    }

    fn delete(&mut self, table: &str, id: &str) -> &mut Self {
        let number = self.world.table(table);
        let place = self.place(number, id);
        self.source.delete(number, place);
        self
    }

    fn truncate(&mut self, tables: &[&str]) -> &mut Self {
        let numbers: Vec<usize> = tables.iter().map(|table| self.world.table(table)).collect();
        self.source.truncate(&numbers);
        self
    }

    /// Applies it and compares the graphs.
    fn commit(&mut self) -> Applied {
        assert!(self.source.may_commit());
        let applied = self.replica.apply(&mut self.source, usize::MAX).unwrap();
        let (expected, waiting) = of_rows(&self.world, &self.source);
        let found = of_database(&self.world, &self.replica.database);
        assert_eq!(differences(&expected, &found), None);
        assert_eq!(self.replica.waiting(), waiting);
        applied
    }

    /// Why it can't be applied. Nothing of it is then.
    fn refusal(&mut self) -> String {
        let before = (of_database(&self.world, &self.replica.database), self.replica.noted());
        let refusal = self.replica.apply(&mut self.source, usize::MAX).unwrap_err();
        assert_eq!(before, (of_database(&self.world, &self.replica.database), self.replica.noted()));
        refusal
    }

    fn notes(&self, prefix: &str) -> usize {
        let notes = self.replica.database.snapshot().notes();
        notes.iter().filter(|(name, _)| name.starts_with(prefix)).count()
    }

    fn lines(&self) -> Vec<String> {
        of_database(&self.world, &self.replica.database)
    }
}

fn has(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

#[test]
fn a_value_that_an_update_left_alone_stays_also_under_another_key() {
    let mut case = Case::new(everything());
    case.insert("person", &["1", "a", "Long", "0", "null", "null"]).commit();
    case.update("person", "1", "name", "b").commit();
    case.update("person", "1", "id", "2").commit();
    case.update("person", "2", "id", "3").update("person", "3", "flag", "1").commit();
    assert!(has(&case.lines(), "Long"));
    case.insert("visit", &["1", "3", "9", "Long note"]).commit();
    assert_eq!(case.notes(WAITING_PREFIX), 1, "the city is not there");
    case.update("visit", "1", "b", "8").commit();
    case.insert("city", &["8", "t"]).commit();
    case.update("visit", "1", "id", "2").commit();
    assert!(has(&case.lines(), "Long note"));
    assert_eq!(case.notes(WAITING_PREFIX), 0);
}

#[test]
fn more_rows_change_than_are_read_at_once_and_some_of_them_are_wide() {
    const ROWS: usize = 700;
    let mut case = Case::new(everything());
    for id in 0..ROWS {
        case.insert("person", &[&id.to_string(), "a", "null", "0", "null", "null"]);
    }
    case.commit();
    let wide = "w".repeat(300_000);
    for id in 0..ROWS {
        case.update("person", &id.to_string(), "name", if id % 100 == 50 { &wide } else { "b" });
    }
    assert_eq!(case.commit().figures.vertices_changed, ROWS as u64);
    // Wide ones are read now: those behind the first few later than these.
    case.delete("person", "0").delete("person", "51");
    for id in (1..ROWS).filter(|id| *id != 51) {
        case.update("person", &id.to_string(), "flag", "1");
    }
    assert_eq!(case.commit().figures.vertices_changed, ROWS as u64 - 2);
}

#[test]
fn rows_that_swap_keys_keep_their_values_and_others_refer_to_keys() {
    let mut case = Case::new(everything());
    case.insert("pair", &["1", "x", "Long one"]).insert("pair", &["2", "x", "Long two"]);
    case.insert("ref", &["1", "1", "x", "5"]).commit();
    // For a moment both have the key 2.
    case.update("pair", "1", "k1", "2").commit_swap();
    case.insert("person", &["1", "a", "Long one", "1", "null", "null"]);
    case.insert("person", &["2", "b", "Long two", "0", "1", "null"]).commit();
    case.update("person", "1", "id", "99").update("person", "2", "id", "1").update("person", "99", "id", "2");
    case.commit();
}

impl Case {
    /// Gives the row that came second the key of the one before, and commits.
    fn commit_swap(&mut self) {
        let pair = self.world.table("pair");
        let mut other = self.source.rows[pair][1].clone();
        other[0] = Some("1".to_owned());
        assert!(self.source.update(pair, 1, other));
        self.commit();
    }
}

#[test]
fn rows_that_cascade_come_after_what_they_refer_to() {
    let mut case = Case::new(everything());
    for id in ["1", "2"] {
        case.insert("person", &[id, "a", "null", "0", "null", "null"]);
        case.insert("orders", &[id, id, "7"]);
    }
    case.commit();
    // ON DELETE SET NULL, and ON DELETE CASCADE.
    case.delete("person", "1").update("orders", "1", "customer", "null").commit();
    case.delete("person", "2").delete("orders", "2").commit();
    // ON UPDATE CASCADE.
    case.insert("person", &["3", "a", "null", "0", "3", "null"]).insert("orders", &["3", "3", "7"]).commit();
    case.update("person", "3", "id", "4")
        .update("person", "4", "boss", "4")
        .update("orders", "3", "customer", "4");
    case.commit();
    // The child first, under a deferred constraint.
    case.insert("orders", &["5", "5", "1"])
        .insert("person", &["5", "a", "null", "0", "null", "null"])
        .commit();
    case.truncate(&["person", "orders"]).commit();
    assert_eq!(case.lines(), Vec::<String>::new());
}

#[test]
fn edges_wait_for_their_ends_and_wait_again_when_these_go() {
    let mut case = Case::new(everything());
    case.insert("likes", &["1", "1", "5"]).insert("person", &["2", "a", "null", "0", "1", "1"]).commit();
    assert_eq!(case.notes(WAITING_PREFIX), 1);
    case.insert("person", &["1", "b", "null", "0", "null", "null"]).commit();
    case.insert("city", &["1", "t"]).commit();
    assert_eq!(
        (case.notes(WAITING_PREFIX), has(&case.lines(), "[LIKES]"), has(&case.lines(), "[LIVES]")),
        (0, true, true)
    );
    case.update("city", "1", "title", "hidden").commit();
    assert_eq!(
        (case.notes(WAITING_PREFIX), has(&case.lines(), "[LIKES]"), has(&case.lines(), "[LIVES]")),
        (1, false, false)
    );
    case.replica.reopen(&case.world);
    assert_eq!(case.replica.waiting().values().sum::<u64>(), 2, "the edge, and the foreign key of a person");
    case.update("city", "1", "title", "u").commit();
    assert!(has(&case.lines(), "[LIKES]"));
    case.truncate(&["likes"]).delete("city", "1").commit();
    assert_eq!(case.notes(WAITING_PREFIX), 0);
}

#[test]
fn a_vertex_that_an_edge_created_stands_in_for_its_row_and_goes_with_the_edge() {
    let mut case = Case::new(everything());
    case.insert("wish", &["1", "7", "8", "0"]).commit();
    assert_eq!(case.notes(CREATED_PREFIX), 2);
    // Others find it there.
    case.insert("person", &["1", "a", "null", "0", "7", "null"]).commit();
    assert!(has(&case.lines(), "[REPORTS]"));
    case.insert("gift", &["8", "t", "null"]).commit();
    assert_eq!(case.notes(CREATED_PREFIX), 1);
    case.delete("gift", "8").commit();
    assert_eq!(case.notes(CREATED_PREFIX), 2);
    case.delete("wish", "1").commit();
    assert_eq!((case.notes(CREATED_PREFIX), case.lines().len()), (0, 1));
}

#[test]
fn an_edge_waits_whose_row_came_with_the_change_that_takes_its_created_end_away() {
    let mut case = Case::new(everything());
    case.insert("gift", &["1", "t", "5"]).commit();
    assert_eq!(case.notes(CREATED_PREFIX), 1);
    case.update("gift", "1", "giver", "null").insert("knows", &["5", "5", "0"]).commit();
    assert_eq!((case.notes(CREATED_PREFIX), case.notes(WAITING_PREFIX)), (0, 1));
    case.insert("gift", &["2", "t", "5"]).commit();
    assert!(has(&case.lines(), "[KNOWS]"));
}

const TWO: &str = "[[table]]\ntable = 'a'\nlabel = 'A'\n[[table]]\ntable = 'b'\nlabel = 'B'\n";

#[test]
fn an_end_that_is_missing_stops_where_the_mapping_says_so_or_the_source_promised_it() {
    let mapping = format!("{TWO}missing = 'stop'\nedge = [{{ type = 'TO', column = 'a', space = 'A' }}]\n");
    let tables = || vec![table("a", "id int", 1), table("b", "id int, a int null", 1)];
    let mut case = Case::of(tables(), &mapping);
    case.insert("a", &["1"]).insert("b", &["1", "1"]).commit();
    case.insert("b", &["2", "3"]);
    let refusal = case.refusal();
    assert!(refusal.contains("the row 2 of B refers to A 3, which is not there"), "{refusal}");
    assert!(refusal.contains("table b") && refusal.contains("missing = \"wait\""), "{refusal}");
    case.source.rows[1].pop();
    case.delete("a", "1");
    assert!(case.refusal().contains("the row 1 of B refers to A 1"));

    let mapping = format!("{TWO}edge = [{{ type = 'TO', column = 'a' }}]\n");
    let mut promised = tables();
    promised[1] = promised[1].clone().refers("a", "a");
    let mut case = Case::of(promised, &mapping);
    case.insert("b", &["2", "3"]);
    let refusal = case.refusal();
    assert!(refusal.contains("though a foreign key promises it") && refusal.contains("resync"), "{refusal}");
}

#[test]
fn a_row_that_enters_the_graph_without_its_values_stops_and_names_the_sql() {
    let mapping = "[[table]]\ntable = 't'\nlabel = 'T'\nwhere = 'n = 1'\n";
    let mut case = Case::of(vec![table("t", "id int, n int, doc text", 1)], mapping);
    case.insert("t", &["1", "0", "Long"]).commit();
    case.update("t", "1", "n", "1");
    let refusal = case.refusal();
    assert!(refusal.contains("table t, column doc"), "{refusal}");
    assert!(refusal.contains("ALTER TABLE public.t REPLICA IDENTITY FULL"), "{refusal}");
    // It was shown, is left out, and is shown again, all in one transaction: what it had in between is not known.
    let mut case = Case::of(vec![table("t", "id int, n int, doc text", 1)], mapping);
    case.insert("t", &["1", "1", "Long"]).commit();
    case.update("t", "1", "n", "0").update("t", "1", "doc", "Long other").update("t", "1", "n", "1");
    assert!(case.refusal().contains("left out by a condition"));
    // With REPLICA IDENTITY FULL all is known.
    let mut case = Case::of(vec![table("t", "id int, n int, doc text", 1).full()], mapping);
    case.insert("t", &["1", "0", "Long"]).commit();
    case.update("t", "1", "n", "1").commit();
}

/// It had no value before, without a word: found beside SQL.
#[test]
fn an_edge_whose_end_was_null_has_the_values_that_the_update_left_alone_or_stops() {
    let edge = "edge = [{ type = 'TO', column = 'a', space = 'A', properties = ['doc'] }]\n";
    for is_promised in [false, true] {
        let case = |properties: &str| {
            let mut tables =
                vec![table("a", "id int", 1), table("b", "id int, a int null, doc text null", 1)];
            if is_promised {
                tables[1] = tables[1].clone().refers("a", "a");
            }
            let mut case = Case::of(tables, &format!("{TWO}{properties}\n{edge}"));
            case.insert("a", &["1"]).insert("b", &["1", "null", "Long one"]).commit();
            case
        };
        // Its row's vertex has it, too.
        let mut known = case("properties = ['doc']");
        known.update("b", "1", "a", "1").commit();
        assert!(has(&known.lines(), "[TO]"));
        let mut unknown = case("properties = []");
        unknown.update("b", "1", "a", "1");
        let refusal = unknown.refusal();
        assert!(refusal.contains("table b, column doc") && refusal.contains("end was null"), "{refusal}");
        assert!(refusal.contains("ALTER TABLE public.b REPLICA IDENTITY FULL"), "{refusal}");
    }
}

#[test]
fn two_rows_with_one_key_at_the_end_stop() {
    let mut case = Case::new(everything());
    case.insert("pair", &["1", "x", "null"]).insert("pair", &["1", "x", "a"]);
    assert!(case.refusal().contains("two rows have the key 1|x"));
}

#[test]
fn values_without_counterpart_stop_or_are_none_and_are_counted() {
    let rule = "[[table]]\ntable = 't'\nlabel = 'T'\n";
    let tables = || vec![table("t", "id int, n numeric null", 1)];
    let mut case = Case::of(tables(), rule);
    case.insert("t", &["1", "NaN"]);
    let refusal = case.refusal();
    assert!(refusal.contains("table t, column n") && refusal.contains("on-unfit"), "{refusal}");
    let mut case = Case::of(tables(), &format!("{rule}on-unfit = 'null'\n"));
    case.insert("t", &["1", "NaN"]).insert("t", &["2", "1.5"]).commit();
    let losses = case.replica.applier.losses();
    assert_eq!(losses.iter().collect::<Vec<_>>(), [(0, LossCause::UnfitValue, 1)]);
}

#[test]
fn rows_that_are_left_out_are_counted_by_rule_and_cause() {
    let mut case = Case::new(everything());
    case.insert("maybe", &["1", "null", "1", "0"]).insert("maybe", &["2", "1", "1", "3"]).commit();
    let losses = case.replica.applier.losses();
    assert_eq!((losses.of(6, LossCause::NullEnd), losses.of(6, LossCause::Condition)), (1, 1));
}

#[test]
fn losses_are_kept_and_those_of_a_transaction_without_a_commit_come_with_the_next_one() {
    let mut case = Case::new(everything());
    case.insert("maybe", &["1", "null", "1", "0"]).commit();
    let noted = |case: &Case| CountNote::of(&case.replica.database.snapshot().notes()).unwrap().losses;
    assert_eq!(noted(&case).of(6, LossCause::NullEnd), 1);
    let mut idle = LossCounts::default();
    idle.count_many(6, LossCause::NullEnd, 4);
    case.replica.applier.count_losses(&idle);
    assert_eq!(case.replica.applier.losses().of(6, LossCause::NullEnd), 5);
    assert_eq!(noted(&case).of(6, LossCause::NullEnd), 1, "the position is that of before, too");
    let position = case.replica.position();
    case.replica.applier.note_position(&mut case.replica.ownership, &position).unwrap();
    assert_eq!(noted(&case).of(6, LossCause::NullEnd), 5);
    case.replica.reopen(&case.world);
    assert_eq!(case.replica.applier.losses().of(6, LossCause::NullEnd), 5);
}

#[test]
fn foreign_keys_that_wait_are_counted_with_their_rule_until_their_end_is_there() {
    let mut case = Case::new(everything());
    case.insert("ref", &["1", "7", "k", "0"]).insert("ref", &["2", "7", "k", "0"]);
    case.insert("ref", &["3", "null", "k", "0"]).commit();
    let rule = 8;
    assert_eq!(case.replica.waiting(), BTreeMap::from([(rule, 2)]), "a null waits for nothing");
    case.replica.reopen(&case.world);
    assert_eq!(case.replica.waiting(), BTreeMap::from([(rule, 2)]));
    case.insert("pair", &["7", "k", "v"]).commit();
    assert_eq!(case.replica.waiting(), BTreeMap::new());
    case.delete("pair", "7").commit();
    assert_eq!(case.replica.waiting(), BTreeMap::from([(rule, 2)]));
    case.update("ref", "1", "k1", "null").delete("ref", "2").commit();
    assert_eq!(case.replica.waiting(), BTreeMap::new());
}

#[test]
fn more_waiting_foreign_keys_than_a_rule_may_have_stop_unless_a_condition_leaves_out_what_they_refer_to() {
    let mut case = Case::new(everything());
    for id in 0..=NOTES_OF_RULE_MAX {
        let fields = [id.to_string(), "1".to_owned(), "k".to_owned(), "0".to_owned()];
        let table = crate::world::oid(case.world.table("ref"));
        let fields = fields.map(crate::stream_bytes::Field::Text);
        case.source.messages.push(crate::stream_bytes::insert(table, &fields));
    }
    let refusal = case.replica.apply(&mut case.source, 1000).unwrap_err();
    assert!(refusal.contains("table ref") && refusal.contains("more than 100,000 foreign keys"), "{refusal}");
    assert_eq!(case.replica.waiting(), BTreeMap::new());
    let leaves_out_ends = |label: &str| {
        let plan = &case.world.plan;
        plan.leaves_out_ends(plan.label(label).unwrap().1)
    };
    assert!(leaves_out_ends("Person") && !leaves_out_ends("Ref"), "City has a condition, Pair none");
}

#[test]
fn more_waiting_rows_than_a_rule_may_have_stop() {
    let mut case = Case::new(everything());
    for id in 0..=NOTES_OF_RULE_MAX {
        // Not by `insert`, which looks for the key.
        let fields = [id.to_string(), "1".to_owned(), "0".to_owned()].map(crate::stream_bytes::Field::Text);
        let table = crate::world::oid(case.world.table("likes"));
        case.source.messages.push(crate::stream_bytes::insert(table, &fields));
    }
    let refusal = case.replica.apply(&mut case.source, 1000).unwrap_err();
    assert!(refusal.contains("table likes") && refusal.contains("more than 100,000"), "{refusal}");
    assert_eq!(case.notes(WAITING_PREFIX), 0);
}

#[test]
fn a_commit_that_a_new_unique_index_refuses_is_tried_again_from_the_beginning() {
    let mut case = Case::new(everything());
    let (database, began) = (case.replica.database.clone(), Instant::now());
    let (begin, begun) = mpsc::channel::<Duration>();
    let (end, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for wait in begun {
                std::thread::sleep(wait);
                database.create_unique_index("Person", "doc").unwrap();
                end.send(()).unwrap();
            }
        });
        let (begin, mut number, mut wait) = (begin, 0, Duration::ZERO);
        loop {
            for _ in 0..200 {
                number += 1;
                let id = number.to_string();
                case.insert("person", &[&id, "a", &format!("d{id}"), "0", "null", &id]);
                // One waits as a note, and one makes a vertex for another row.
                case.insert("likes", &[&id, "0", "1"]).insert("gift", &[&id, "t", &format!("1{id}000")]);
            }
            begin.send(wait).unwrap();
            let applied = case.commit();
            ended.recv().unwrap();
            assert_eq!(case.notes(WAITING_PREFIX), number);
            if applied.tries > 1 {
                break;
            }
            case.replica.database.drop_index(OwnerName::Label("Person"), "doc", None).unwrap();
            assert!(began.elapsed() < Duration::from_secs(60), "no index became ready during a transaction");
            // Into the middle of the next one.
            wait = (applied.times.look_up + applied.times.vertices + applied.times.edges) / 4;
        }
    });
    case.replica.reopen(&case.world);
    case.insert("city", &["0", "t"]).commit();
    assert_eq!(case.notes(WAITING_PREFIX), 0);
}

#[test]
fn a_transaction_without_rows_of_the_mapping_moves_the_position() {
    let mut case = Case::new(everything());
    assert!(case.replica.noted().is_none());
    let position = case.replica.position();
    case.replica.applier.note_position(&mut case.replica.ownership, &position).unwrap();
    assert_eq!(case.replica.noted(), Some(position));
    let applied = case.commit();
    assert_eq!(applied.figures, evergraph_replica::apply::applier::AppliedFigures::default());
    assert_eq!(case.replica.noted(), Some(case.replica.position()));
}

#[test]
fn a_row_that_changes_nothing_writes_nothing() {
    let mut case = Case::new(everything());
    case.insert("person", &["1", "a", "null", "0", "1", "1"]).insert("city", &["1", "t"]).commit();
    let figures = case.update("person", "1", "flag", "0").commit().figures;
    assert_eq!(figures, evergraph_replica::apply::applier::AppliedFigures::default());
    let figures = case.update("person", "1", "name", "b").commit().figures;
    assert_eq!((figures.vertices_changed, figures.edges_changed), (1, 1), "the name is that of LIVES, too");
}

/// The description of the table `person`.
fn person(source: &Source) -> Relation {
    let bytes = source.relations().remove(0);
    let Message::Relation { relation, .. } = Decoder::new().decode(&bytes).unwrap() else { panic!() };
    relation
}

#[test]
fn a_column_that_a_transaction_adds_may_be_missing_until_a_description_has_it() {
    let world = everything();
    let whole = person(&Source::new(&world));
    let without = |name: &str| {
        let columns = whole.columns.iter().filter(|column| *column.name != *name).cloned().collect();
        Relation { columns, ..whole.clone() }
    };
    let added = BTreeSet::from([(whole.id, Box::from("name"))]);
    let mut translator = Translator::new(world.plan.clone()).with_added_columns(added);
    assert!(translator.describe(&without("flag")).is_err(), "nobody added it");
    assert_eq!(translator.describe(&without("name")), Ok(()));
    assert_eq!(translator.describe(&without("name")), Ok(()));
    assert_eq!(translator.describe(&whole), Ok(()));
    let dropped = translator.describe(&without("name")).unwrap_err();
    assert!(dropped.to_string().contains("table person, column name: was dropped"), "{dropped}");
    // Another transaction may describe the table from its beginning.
    assert_eq!(translator.undescribed().describe(&without("name")), Ok(()));
}

#[test]
fn a_table_that_is_another_one_now_is_a_drift() {
    let world = everything();
    let relation = person(&Source::new(&world));
    let drift = |change: &dyn Fn(&mut Relation)| {
        let mut other = relation.clone();
        change(&mut other);
        Translator::new(world.plan.clone()).describe(&other).map_err(|drift| drift.to_string())
    };
    let columns = |relation: &mut Relation, change: &dyn Fn(&mut Vec<RelationColumn>)| {
        let mut columns = relation.columns.to_vec();
        change(&mut columns);
        relation.columns = columns.into();
    };
    assert_eq!(drift(&|_| {}), Ok(()));
    let added = RelationColumn { name: "new".into(), type_id: 25, type_modifier: -1, is_key: false };
    assert_eq!(drift(&|it| columns(it, &|columns| columns.insert(0, added.clone()))), Ok(()));
    let dropped = drift(&|it| columns(it, &|columns| drop(columns.remove(1)))).unwrap_err();
    assert!(dropped.contains("table person, column name: was dropped"), "{dropped}");
    let retyped = drift(&|it| columns(it, &|columns| columns[0].type_id = 20)).unwrap_err();
    assert!(retyped.contains("column id: has another type now") && retyped.contains("resync"), "{retyped}");
    let renamed = drift(&|it| it.name = "people".into()).unwrap_err();
    assert!(renamed.contains("is called public.people now"), "{renamed}");
    let identity = drift(&|it| {
        it.identity = RelationIdentity::Index;
        columns(it, &|columns| (columns[0].is_key, columns[1].is_key) = (false, true));
    });
    let identity = identity.unwrap_err();
    assert!(identity.contains("column id: identifies rows"), "{identity}");
    let again = drift(&|it| it.id = 77).unwrap_err();
    assert!(again.contains("dropped and created again"), "{again}");
}
