//! Copies of whole databases: the graph is what SQL says, with any memory; a copy that fails leaves nothing; and `verify` finds
//! what differs.

use crate::data_sets::DataSet;
use crate::server::{TestDatabase, TestServer};
use crate::sql_graph::{assert_equal_lines, lines_of_graph, lines_of_sql, verify_with};
use evergraph::ownership::Ownership;
use evergraph::{Database, ErrorKind};
use evergraph_files::import::mapping::document::Mapping;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_replica::copy::missing_ends::MissingEnds;
use evergraph_replica::copy::options::{CopyOptions, CopyProgress, CopyStage};
use evergraph_replica::copy::run::{CopiedGraph, copy_tables, estimate_rows, indexes_of};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::mapping::plan::Plan;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::position::{ORIGIN_NOTE, Origin, POSITION_NOTE, Position};
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::row_note::{CREATED_PREFIX, WAITING_PREFIX, WaitingEdge};
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::shared_snapshot::SharedSnapshot;
use evergraph_replica::source::table_cuts::PageRange;
use evergraph_replica::translate::loss::LossCause;
use evergraph_replica::verify::difference::DifferenceKind;
use evergraph_replica::verify::run::VerifyOptions;
use std::cell::Cell;
use std::path::Path;

fn rules(text: &str) -> Vec<TableRule> {
    Mapping::parse("m.toml", text, Path::new(".")).unwrap().tables
}

fn plan_of(database: &TestDatabase, rules: &[TableRule]) -> Plan {
    let catalogue = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    resolve(rules, &catalogue).unwrap_or_else(|problems| panic!("{problems}"))
}

fn options(memory_bytes: u64) -> CopyOptions {
    CopyOptions::new(memory_bytes, std::env::temp_dir())
}

fn copy_with(
    database: &TestDatabase,
    plan: &Plan,
    options: &CopyOptions,
    progress: &dyn Fn(&CopyProgress),
    cancel: &CancelFlag,
) -> Result<CopiedGraph> {
    let snapshot = SharedSnapshot::export(&database.settings(), &CancelFlag::default()).unwrap();
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    copy_tables(&mut source, plan, Some(snapshot.name()), options, progress, cancel)
}

/// A database that has what was copied.
struct Copied {
    graph: Database,
    ownership: Ownership,
    copied: CopiedGraph,
}

impl Copied {
    fn of(database: &TestDatabase, plan: &Plan, options: &CopyOptions) -> Self {
        let graph = Database::in_memory().unwrap();
        let mut ownership = graph.own("a test's database").unwrap();
        let copied = copy_with(database, plan, options, &|_| {}, &CancelFlag::default()).unwrap();
        let origin = Origin {
            system: "7".into(),
            database: database.name.clone(),
            slot: "s".into(),
            publication: "p".into(),
            mapping: [1; 32],
        };
        let committed_at = PostgresTime::new(0);
        let position = Position { timeline: 1, end: Lsn::new(17), xid: 0, committed_at };
        copied.load(&mut ownership, &origin, &position, &|_| {}, &CancelFlag::default()).unwrap();
        for index in indexes_of(plan, options.missing) {
            graph.create_index(&index).unwrap();
        }
        let snapshot = graph.snapshot();
        assert_eq!(Origin::decode(&snapshot.note(ORIGIN_NOTE).unwrap()), Ok(origin));
        assert_eq!(Position::decode(&snapshot.note(POSITION_NOTE).unwrap()), Ok(position));
        Self { graph, ownership, copied }
    }

    fn change(&mut self, gremlin: &str) {
        let mut transaction = self.ownership.begin().unwrap();
        transaction.gremlin(gremlin).run().unwrap_or_else(|error| panic!("{gremlin}: {error}"));
        transaction.commit().unwrap();
    }
}

fn assert_verified(copied: &Copied, database: &TestDatabase, plan: &Plan) {
    let report = verify_with(&copied.graph.snapshot(), database, plan, &VerifyOptions::default());
    assert!(report.is_equal(), "{report}");
    let count: u64 = report.subjects.iter().map(|subject| subject.in_graph).sum();
    let (load, notes) = (&copied.copied.load, &copied.copied.notes);
    // Vertices without a row are not compared.
    let created = notes.keys().filter(|name| name.starts_with(CREATED_PREFIX)).count() as u64;
    assert_eq!(count + created, load.vertices_count() + load.edges_count());
}

/// The graph of a data set is what SQL says, with much memory and with next to none.
fn assert_copied(data: Option<DataSet>) {
    let Some(server) = TestServer::shared() else { return };
    let Some(data) = data else { return };
    let database = server.database();
    data.load(&database);
    let rules = data.rules();
    let plan = plan_of(&database, &rules);
    let sql = lines_of_sql(&database, &plan, &rules);
    // Tables in parts, however small, and whole ones.
    for (memory_bytes, part_pages_min) in [(256 << 20, 1), (64 << 10, u64::MAX)] {
        let options = CopyOptions { part_pages_min, ..options(memory_bytes) };
        let copied = Copied::of(&database, &plan, &options);
        let spilled = copied.copied.spilled_bytes;
        assert_eq!(spilled > 0, memory_bytes < 1 << 20, "{spilled} bytes were spilled");
        assert_equal_lines(&lines_of_graph(&copied.graph.snapshot(), &plan), &sql);
        // Once: it reads all rows again, and the other graph has the same lines.
        if spilled > 0 {
            assert_verified(&copied, &database, &plan);
        }
    }
}

#[test]
fn pagila_becomes_the_graph_that_sql_says() {
    assert_copied(DataSet::pagila());
}

#[test]
fn northwind_becomes_the_graph_that_sql_says() {
    assert_copied(DataSet::northwind());
}

#[test]
fn a_social_network_becomes_the_graph_that_sql_says() {
    assert_copied(DataSet::snb());
}

/// Ends that are missing, keys of several columns and of decimals, conditions, partitions, and what has no counterpart.
const TRAPS: &str = "
    CREATE TABLE city (id int PRIMARY KEY, name text, big boolean NOT NULL);
    CREATE TABLE account (bank char(4), number numeric(10, 2), city int, note text, at timestamptz, PRIMARY KEY (bank, number));
    CREATE TABLE price (amount numeric PRIMARY KEY, name text);
    CREATE TABLE item (id bigint PRIMARY KEY, price numeric(12, 4), parent bigint REFERENCES item);
    CREATE TABLE transfer (id uuid PRIMARY KEY, from_bank char(4), from_number numeric, to_bank varchar(4), to_number numeric(10, 4),
        amount numeric, tags text[]);
    CREATE TABLE likes (city int, item bigint, since date, PRIMARY KEY (city, item)) PARTITION BY RANGE (city);
    CREATE TABLE likes_1 PARTITION OF likes FOR VALUES FROM (0) TO (2);
    CREATE TABLE likes_2 PARTITION OF likes FOR VALUES FROM (2) TO (1000000);
    CREATE TABLE near (a int REFERENCES city, b int REFERENCES city, km float8, PRIMARY KEY (a, b));
    INSERT INTO city VALUES (1, 'Oslo', true), (2, E'tab\\there', true), (3, 'small', false), (4, NULL, true);
    INSERT INTO account VALUES ('ab', 1.50, 1, 'x|y', '2024-02-29 12:00:00.5+02'), ('ab', 2.00, 3, NULL, NULL),
        ('a|\\', 1.00, 99, '', 'infinity'), ('cd', 7, NULL, 'n', '0044-03-15 12:00+00 BC'),
        ('no', 1, 1, NULL, NULL);
    INSERT INTO price VALUES (1.50, 'cheap'), (20.000, 'dear'), (0.0, 'free');
    INSERT INTO item VALUES (1, 1.5, NULL), (2, 20, 1), (3, 0, 2), (4, 7.77, 4);
    INSERT INTO transfer VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'ab', 1.5, 'ab', 2, 10, '{a,b}'),
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'ab', 1.5000, 'cd', 7.0000, 11, NULL),
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13', 'zz', 1, 'cd', 7, 12, '{}'),
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a14', NULL, 1, 'cd', 7, 13, '{}');
    INSERT INTO likes VALUES (1, 1, '2024-01-01'), (2, 9, '2024-01-02'), (3, 2, NULL), (77, 88, NULL), (4, 3, '2024-01-03');
    INSERT INTO near VALUES (1, 2, 0.5), (2, 1, 1.5), (4, 1, 'NaN'), (1, 1, 0)";

const TRAPS_MAPPING: &str = r#"
    [defaults]
    on-unfit = "null"
    [[table]]
    table = "city"
    label = "City"
    where = "big"
    [[table]]
    table = "account"
    label = "Account"
    where = "bank <> 'no'"
    edge = [{ type = "IN", column = "city", space = "City", properties = ["note"] }]
    [[table]]
    table = "price"
    label = "Price"
    [[table]]
    table = "item"
    label = "Item"
    edge = [
      { type = "COSTS", column = "price", space = "Price", reverse = true },
      { type = "PART_OF", column = "parent" },
    ]
    [[table]]
    table = "transfer"
    type = "TRANSFER"
    start = { column = ["from_bank", "from_number"], space = "Account" }
    end = { column = ["to_bank", "to_number"], space = "Account" }
    [[table]]
    table = "likes"
    type = "LIKES"
    start = { column = "city", space = "City" }
    end = { column = "item", space = "Item" }
    [[table]]
    table = "near"
    type = "NEAR"
    undirected = true
    start = { column = "a", space = "City" }
    end = { column = "b", space = "City" }
"#;

fn traps() -> Option<(TestDatabase, Vec<TableRule>, Plan)> {
    let database = TestServer::shared()?.database();
    database.run(TRAPS);
    let rules = rules(TRAPS_MAPPING);
    let plan = plan_of(&database, &rules);
    Some((database, rules, plan))
}

#[test]
fn missing_ends_wait_and_keys_of_every_kind_join() {
    let Some((database, rules, plan)) = traps() else { return };
    // An infinite time is no value here, nor in these lines.
    let sql = lines_of_sql(&database, &plan, &rules);
    for memory_bytes in [64 << 20, 1 << 10] {
        let copied = Copied::of(&database, &plan, &options(memory_bytes));
        let snapshot = copied.graph.snapshot();
        assert_equal_lines(&lines_of_graph(&snapshot, &plan), &sql);
        let waiting: Vec<_> =
            copied.copied.notes.keys().filter(|name| name.starts_with(WAITING_PREFIX)).collect();
        // One transfer, three likes: of small and unknown cities, and of an unknown item.
        assert_eq!(waiting.len(), 4, "{waiting:?}");
        for (name, bytes) in &copied.copied.notes {
            let edge = WaitingEdge::decode(name, bytes).unwrap();
            assert_eq!(edge.note_name(), *name);
            assert_eq!(snapshot.note(name).as_deref(), Some(&bytes[..]));
        }
        // The cities 3 and 99 of accounts, and the price 7.77: their rows keep them.
        let kept = "g.V().hasLabel('Account').has('IN->City').count()";
        assert_eq!(copied.graph.gremlin(kept).one::<i64>().unwrap(), 3);
        let note = "g.V().has('Account', 'IN->City', 99).values('IN->City.note')";
        assert_eq!(copied.graph.gremlin(note).one::<String>().unwrap(), "");
        let missing = |rule: usize| copied.copied.missing_edges.get(&rule).copied().unwrap_or_default();
        assert_eq!([1, 3, 4, 5, 6].map(missing), [2, 1, 1, 3, 0]);
        let losses = &copied.copied.losses;
        assert_eq!(losses.of(0, LossCause::Condition), 1);
        // It would be a vertex with an edge, and counts once.
        assert_eq!(losses.of(1, LossCause::Condition), 1);
        assert_eq!(losses.of(1, LossCause::UnfitValue), 1);
        assert_eq!(losses.of(4, LossCause::NullEnd), 1);
        assert_eq!(losses.iter().count(), 4, "{losses:?}");
        assert_verified(&copied, &database, &plan);
    }
}

#[test]
fn missing_ends_are_created_or_stop_everything_where_the_rule_says_so() {
    let Some((database, _, _)) = traps() else { return };
    let created = TRAPS_MAPPING.replace("on-unfit", "missing = \"create\"\non-unfit");
    let plan = plan_of(&database, &rules(&created));
    let copied = Copied::of(&database, &plan, &options(1 << 20));
    let notes: Vec<_> = copied.copied.notes.keys().filter(|name| name.starts_with(CREATED_PREFIX)).collect();
    // The cities 3, 77 and 99, the price 7.77, an account, the items 9 and 88.
    assert_eq!((notes.len(), copied.copied.notes.len()), (7, 7));
    let ids = "g.V().hasLabel('City').values('id').order()";
    assert_eq!(copied.graph.gremlin(ids).values::<i64>().unwrap(), [1, 2, 3, 4, 77, 99]);
    assert_eq!(copied.graph.gremlin("g.E().hasLabel('LIKES').count()").one::<i64>().unwrap(), 5);
    assert!(copied.copied.missing_edges.is_empty());
    assert_verified(&copied, &database, &plan);

    let stop = TRAPS_MAPPING.replace("on-unfit", "missing = \"stop\"\non-unfit");
    let plan = plan_of(&database, &rules(&stop));
    let error = copy_with(&database, &plan, &options(1 << 20), &|_| {}, &CancelFlag::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("there is no vertex") && text.contains("missing = \"stop\""), "{text}");
}

#[test]
fn a_value_without_a_counterpart_stops_the_copy_and_names_its_row() {
    let Some((database, _, _)) = traps() else { return };
    let plan = plan_of(&database, &rules(&TRAPS_MAPPING.replace("on-unfit = \"null\"", "")));
    let error = copy_with(&database, &plan, &options(1 << 20), &|_| {}, &CancelFlag::default()).unwrap_err();
    let text = error.to_string();
    assert!(error.kind() == ErrorKind::Invalid && text.contains("account, column at"), "{text}");
    assert!(text.contains("where bank = \"a|") && text.contains("infinite"), "{text}");
}

#[test]
fn edges_with_missing_ends_are_counted_and_left_out_where_nothing_follows() {
    let Some((database, rules, plan)) = traps() else { return };
    let import = CopyOptions { missing: MissingEnds::Dropped, ..options(1 << 20) };
    let copied = Copied::of(&database, &plan, &import);
    assert!(copied.copied.notes.is_empty());
    assert_eq!(copied.copied.missing_edges.values().sum::<u64>(), 7);
    let kept = "g.V().has('Account', 'IN->City').count()";
    assert_eq!(copied.graph.gremlin(kept).one::<i64>().unwrap(), 0);
    let lines = lines_of_graph(&copied.graph.snapshot(), &plan).len();
    assert_eq!(lines, lines_of_sql(&database, &plan, &rules).len());
}

#[test]
fn a_copy_that_breaks_or_is_cancelled_leaves_nothing_and_goes_well_the_next_time() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    // In both stages more than sockets and queues hold: who is killed has something left to send.
    database.run(
        "CREATE TABLE v (id int PRIMARY KEY, t text, r int); CREATE TABLE w (a int, b int, t text, PRIMARY KEY (a, b)); \
         INSERT INTO v SELECT n, repeat('x', 1900), n FROM generate_series(1, 20000) n; \
         INSERT INTO w SELECT n, n, repeat('x', 1900) FROM generate_series(1, 20000) n; ANALYZE",
    );
    let rules = rules(
        "[[table]]\ntable = 'v'\nlabel = 'V'\nedge = [{ type = 'E', column = 'r', space = 'V', properties = ['t'] }]\n\
         [[table]]\ntable = 'w'\ntype = 'F'\nstart = { column = 'a', space = 'V' }\nend = { column = 'b', space = 'V' }\n",
    );
    let plan = plan_of(&database, &rules);
    // With one reader the tables come one after the other.
    let options = |memory_bytes| CopyOptions { readers: 1, ..options(memory_bytes) };
    for (stage, table) in [(CopyStage::Vertices, "v"), (CopyStage::Edges, "w")] {
        let is_killed = Cell::new(false);
        let kill = |now: &CopyProgress| {
            if now.stage == stage && now.rows > 1_000 && now.rows != 20_000 && !is_killed.replace(true) {
                database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY%'");
            }
        };
        let error =
            copy_with(&database, &plan, &options(1 << 20), &kill, &CancelFlag::default()).unwrap_err();
        assert!(is_killed.get() && error.to_string().contains(&format!("copy public.{table}")), "{error}");
        let cancel = CancelFlag::default();
        let stop = |now: &CopyProgress| {
            if now.stage == stage && now.rows > 1_000 {
                cancel.cancel();
            }
        };
        let error = copy_with(&database, &plan, &options(1 << 20), &stop, &cancel).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    let catalogue = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    assert_eq!(estimate_rows(&plan, &catalogue), Some(40_000));
    let copied = Copied::of(&database, &plan, &options(1 << 20));
    assert_eq!((copied.copied.rows, copied.copied.load.edges_count()), (40_000, 40_000));
    assert_eq!(copied.graph.gremlin("g.V().out('E').count()").one::<i64>().unwrap(), 20_000);
}

#[test]
fn all_tables_are_read_at_the_moment_of_the_snapshot() {
    let Some((database, rules, plan)) = traps() else { return };
    let sql = lines_of_sql(&database, &plan, &rules);
    let snapshot = SharedSnapshot::export(&database.settings(), &CancelFlag::default()).unwrap();
    // Between the tables: edges of rows that came meanwhile, and of vertices that went, would not fit.
    let is_changed = Cell::new(false);
    let change = |now: &CopyProgress| {
        if now.stage == CopyStage::Edges && !is_changed.replace(true) {
            database.run(
                "INSERT INTO item VALUES (10, 1.5, 1); INSERT INTO likes VALUES (1, 10, NULL), (4, 1, NULL); \
                 DELETE FROM near; UPDATE account SET city = 2; DELETE FROM price WHERE amount = 20",
            );
        }
    };
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let (at, options) = (Some(snapshot.name()), CopyOptions { readers: 1, ..options(1 << 20) });
    let copied = copy_tables(&mut source, &plan, at, &options, &change, &CancelFlag::default()).unwrap();
    assert!(is_changed.get());
    let graph = Database::in_memory().unwrap();
    graph.load_within(copied.sorting_bytes, &copied.load, &|_| {}, &CancelFlag::default()).unwrap();
    assert_equal_lines(&lines_of_graph(&graph.snapshot(), &plan), &sql);
}

#[test]
fn verify_finds_ten_planted_differences_and_tells_how_each_differs() {
    let Some((database, _, plan)) = traps() else { return };
    let mut copied = Copied::of(&database, &plan, &options(1 << 20));
    assert_verified(&copied, &database, &plan);
    let planted = [
        // Vertices: changed, without a property, with one more, gone, too many.
        (
            "g.V().has('City', 'id', 1).property('name', 'Bergen')",
            "vertices City",
            "1",
            DifferenceKind::Changed,
            "name is \"Bergen\" in the graph, \"Oslo\" by the source",
        ),
        (
            "g.V().has('Price', 'name', 'dear').properties('name').drop()",
            "vertices Price",
            "20",
            DifferenceKind::Changed,
            "name is nothing in the graph",
        ),
        (
            "g.V().has('Item', 'id', 3L).property('new', true)",
            "vertices Item",
            "3",
            DifferenceKind::Changed,
            "new is true (bool) in the graph, nothing by the source",
        ),
        ("g.V().has('Price', 'name', 'free').drop()", "vertices Price", "0", DifferenceKind::Missing, ""),
        (
            "g.addV('City').property('id', 1000).property('big', true)",
            "vertices City",
            "1000",
            DifferenceKind::Extra,
            "",
        ),
        // Edges: with another property, gone, too many, to another vertex, of another type.
        (
            "g.V().has('City', 'id', 1).outE('LIKES').properties('since').drop()",
            "edges LIKES from City to Item",
            "(1, 1)",
            DifferenceKind::Changed,
            "since is nothing in the graph, 2024-01-01 (date) by the source",
        ),
        (
            "g.E().hasLabel('NEAR').has('key', '1|2').drop()",
            "edges NEAR from City to City",
            "1|2",
            DifferenceKind::Missing,
            "",
        ),
        (
            "g.V().has('City', 'id', 2).as('a').V().has('Item', 'id', 4L).addE('LIKES').from('a')",
            "edges LIKES from City to Item",
            "(2, 4)",
            DifferenceKind::Extra,
            "",
        ),
        (
            "g.V().has('Item', 'id', 2L).outE('PART_OF').drop()",
            "edges PART_OF from Item to Item",
            "2",
            DifferenceKind::Changed,
            "ends at 3 (long) in the graph, at 1 (long) by the source",
        ),
        (
            "g.V().has('City', 'id', 1).as('a').V().has('City', 'id', 2).addE('TWIN').from('a')",
            "",
            "",
            DifferenceKind::Extra,
            "",
        ),
    ];
    for (gremlin, ..) in &planted {
        copied.change(gremlin);
    }
    copied.change("g.V().has('Item', 'id', 2L).as('a').V().has('Item', 'id', 3L).addE('PART_OF').from('a')");
    let report = verify_with(&copied.graph.snapshot(), &database, &plan, &VerifyOptions::default());
    for (gremlin, subject, key, kind, detail) in planted.iter().filter(|planted| !planted.1.is_empty()) {
        let found = report
            .differences
            .iter()
            .find(|difference| difference.subject == *subject && difference.key == *key);
        let found = found.unwrap_or_else(|| panic!("{gremlin} is not found: {report}"));
        assert_eq!(found.kind, *kind, "{gremlin}: {found}");
        assert!(
            found.details.iter().any(|text| text.contains(detail)) || detail.is_empty(),
            "{gremlin}: {found}"
        );
    }
    // The price 0 took its edge with it.
    let of_price =
        report.differences.iter().filter(|difference| difference.subject == "edges COSTS from Price to Item");
    assert_eq!(
        of_price.map(|found| (found.kind, found.key.as_str())).collect::<Vec<_>>(),
        [(DifferenceKind::Missing, "3")]
    );
    assert_eq!(report.differences.len(), 10, "{report}");
    assert_eq!(report.unmapped, ["1 edge of type TWIN, which no rule makes"]);
    assert!(!report.is_equal());
    // The first ones, with next to no memory.
    let few = VerifyOptions { differences_max: 2, memory_bytes: 16, readers: 1 };
    let report = verify_with(&copied.graph.snapshot(), &database, &plan, &few);
    assert_eq!(report.differences.len(), 2, "{report}");
    assert!(report.subjects.iter().any(|subject| subject.is_incomplete), "{report}");
}

#[test]
fn verify_sees_what_the_stream_says_nothing_about() {
    let Some((database, _, plan)) = traps() else { return };
    let copied = Copied::of(&database, &plan, &options(1 << 20));
    database.run("TRUNCATE likes_1; UPDATE city SET big = true WHERE id = 3");
    let report = verify_with(&copied.graph.snapshot(), &database, &plan, &VerifyOptions::default());
    let mut found: Vec<(&str, DifferenceKind, &str)> = report
        .differences
        .iter()
        .map(|difference| (difference.subject.as_str(), difference.kind, difference.key.as_str()))
        .collect();
    found.sort_unstable();
    // City 3 is there now, with the like and the account that waited for it.
    assert_eq!(
        found,
        [
            ("edges IN from Account to City", DifferenceKind::Missing, "ab|2"),
            ("edges LIKES from City to Item", DifferenceKind::Missing, "(3, 2)"),
            ("edges LIKES from City to Item", DifferenceKind::Extra, "(1, 1)"),
            ("vertices City", DifferenceKind::Missing, "3"),
        ],
        "{report}"
    );
}

/// Rows a second of a copy beside those of COPY alone, which one reader takes and forgets. Says so on standard error.
#[test]
#[ignore = "it measures: cargo test --release -p evergraph-replica --test postgres -- --ignored copy_speed --nocapture"]
fn copy_speed() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let rows: u64 = std::env::var("COPY_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    database.run(&format!(
        "CREATE TABLE person (id bigint PRIMARY KEY, name text NOT NULL, born date, score float8, city int);
         CREATE TABLE knows (a bigint REFERENCES person, b bigint REFERENCES person, since timestamptz, PRIMARY KEY (a, b));
         INSERT INTO person SELECT n, 'person ' || n, '1990-01-01'::date + (n % 9000)::int, n / 7.0, n % 1000 FROM generate_series(1, {rows}) n;
         INSERT INTO knows SELECT n, 1 + (n::bigint * 7919) % {rows}, now() FROM generate_series(1, {rows}) n; ANALYZE"
    ));
    let text = "[[table]]\ntable = 'person'\nlabel = 'Person'\n[[table]]\ntable = 'knows'\ntype = 'KNOWS'\nstart = 'a'\nend = 'b'\n";
    let plan = plan_of(&database, &rules(text));
    for _ in 0..3 {
        let began = std::time::Instant::now();
        for (table, columns) in
            [("person", &["id", "name", "born", "score", "city"][..]), ("knows", &["a", "b", "since"])]
        {
            let request = evergraph_replica::source::contract::CopyRequest {
                schema: "public".into(),
                table: table.into(),
                columns: columns.iter().map(|name| (*name).to_owned()).collect(),
                snapshot: None,
                pages: PageRange::ALL,
            };
            let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
            let mut stream = source.copy(&request, &CancelFlag::default()).unwrap();
            let mut batch = evergraph_replica::source::batch::RowBatch::default();
            while stream.next_batch(&mut batch).unwrap() {}
        }
        let plain = began.elapsed();
        let began = std::time::Instant::now();
        let copied = copy_with(&database, &plan, &options(1 << 30), &|_| {}, &CancelFlag::default()).unwrap();
        let read = began.elapsed();
        let graph = Database::in_memory().unwrap();
        graph.load_within(copied.sorting_bytes, &copied.load, &|_| {}, &CancelFlag::default()).unwrap();
        let whole = began.elapsed();
        let rate = |time: std::time::Duration| 2.0 * rows as f64 / time.as_secs_f64();
        eprintln!(
            "COPY alone {:.0} rows/s; copy {:.0} rows/s, and {:.0} with the load: {:.2} of COPY alone",
            rate(plain),
            rate(read),
            rate(whole),
            rate(whole) / rate(plain)
        );
    }
}
