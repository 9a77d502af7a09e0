//! Mappings beside PostgreSQL itself: conditions are as true as it says, and what a check asks for mends what it names.

use crate::server::{TestDatabase, TestServer, run_sql, through};
use evergraph_files::import::mapping::document::Mapping;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::split_mix::{GAMMA, mix};
use evergraph_replica::mapping::check::{Finding, Severity, check};
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::pgoutput::tuple::Cell;
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::Host;
use evergraph_replica::source::replica_source::ReplicaSource as _;
use std::path::Path;

/// One table with every type that conditions compare.
const TYPES: &str = "CREATE TYPE size AS ENUM ('small', 'large'); CREATE DOMAIN cents AS numeric(10, 2);
    CREATE TABLE v (id int PRIMARY KEY, a int, b bigint, s smallint, n numeric, c cents, r real, f float8, t text,
        w varchar(5), p char(5), flag boolean, d date, at timestamptz, local timestamp, span interval, clock time,
        u uuid, x bytea, size size, j jsonb);
    INSERT INTO v (id) VALUES (0);
    INSERT INTO v VALUES
        (1, 1, 1, 1, 1.0, 1, 0.1, 0.1, 'a', 'a', 'a', true, '2024-02-29', '2024-02-29 12:00+00', '2024-02-29 12:00',
            '1 month', '09:30', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x00', 'small', '{}'),
        (2, -1, 9007199254740993, -1, 'NaN', -0.01, 'NaN', 'NaN', '', '', '', false, 'infinity', 'infinity', '-infinity',
            '30 days', '24:00', '00000000-0000-0000-0000-000000000000', '\\x', 'large', 'null'),
        (3, 2147483647, -9223372036854775808, 32767, 0.10, 100.00, 'Infinity', 9007199254740992, 'a ', 'a ', 'a ', null,
            '-infinity', '0044-03-15 12:00+00 BC', '2024-02-29 12:00:00.000001', '-1 day', '09:29:59.999999', null,
            '\\x0001', null, '[1]'),
        (4, 0, 0, 0, 1e20, 0, '-Infinity', '-0', 'A', 'é', 'a  b', true, '2024-03-01', '2024-02-29 13:00+02', 'infinity',
            '720:00', '00:00', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '\\xff', 'small', null)";

/// Conditions of every type.
const CONDITIONS: &[&str] = &[
    "a = 1",
    "a <> 1.5 and not a > 1e9",
    "a = n or a = c",
    "a < b and b >= s",
    "b > 9223372036854775807",
    "b = 9007199254740993",
    "f = b",
    "f = 9007199254740993",
    "n = 'NaN' or n > 1e19",
    "n < 'Infinity'",
    "n = 0.1",
    "c in (100, 1)",
    "c = '100.0'",
    "r = 0.1",
    "r = '0.1'",
    "r > f",
    "r in (0.1, 'NaN') is null",
    "f = 0.1 or f = 'NaN'",
    "f > 'Infinity'",
    "f = 0",
    "t = 'a' or t = ''",
    "t <> 'a '",
    "w = t",
    "p = 'a'",
    "p = 'a   ' and p = w",
    "p <> t",
    "t in ('A', 'é')",
    "w not in ('a', 'b')",
    "flag",
    "not flag",
    "flag = 'yes' or flag is null",
    "flag > false",
    "d = '2024-02-29'",
    "d > '2024-02-29' and d < 'infinity'",
    "d < at",
    "d = local or local < d",
    "at = '2024-02-29 12:00'",
    "at <= '2024-02-29T13:00:00+01:00'",
    "at < '-infinity' or at = 'infinity'",
    "local > '2024-02-29 12:00:00'",
    "local < at",
    "span = '30 days'",
    "span > '-24:00:00'",
    "span in ('P1M', 'P-1D')",
    "clock < '9:30'",
    "clock = '24:00:00'",
    "u = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
    "u > '00000000-0000-0000-0000-000000000001'",
    "x > '\\x00' and x <> '\\xff'",
    "size = 'small'",
    "size > 'small' or size is null",
    "size not in ('large')",
    "j is null",
    "true and not false",
    "(a = 1 or b = 0) and (s = 0 or t is not null)",
];

fn rules(text: &str) -> Vec<TableRule> {
    Mapping::parse("m.toml", text, Path::new(".")).unwrap().tables
}

fn catalogue_of(database: &TestDatabase) -> Catalogue {
    PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap()
}

/// The rows of `v` that `condition` selects here, or why it isn't known.
fn selected(
    connection: &mut Connection,
    catalogue: &Catalogue,
    condition: &str,
) -> Result<Vec<String>, String> {
    let rule = TableRule {
        condition: Some(condition.to_owned()),
        ..rules("[[table]]\ntable = 'v'\nlabel = 'V'\n").remove(0)
    };
    let plan = resolve(&[rule], catalogue).map_err(|problems| problems.to_string())?;
    let (table, vertex) = plan.label("V").unwrap();
    let names: Vec<String> = table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let id = table.columns.iter().position(|column| &*column.name == "id").unwrap();
    let mut selected = Vec::new();
    for row in run_sql(connection, &format!("SELECT {} FROM v ORDER BY id", names.join(", "))) {
        let cells: Vec<Cell<'_>> = row
            .iter()
            .map(|text| text.as_ref().map_or(Cell::Null, |text| Cell::Text(text.as_bytes())))
            .collect();
        if vertex.condition.as_ref().unwrap().selects(&cells).unwrap() {
            selected.push(row[id].clone().unwrap());
        }
    }
    Ok(selected)
}

/// The rows that PostgreSQL selects.
fn selected_there(connection: &mut Connection, condition: &str) -> Vec<String> {
    let rows = run_sql(connection, &format!("SELECT id FROM v WHERE {condition} ORDER BY id"));
    rows.into_iter().map(|mut row| row.remove(0).unwrap()).collect()
}

#[test]
fn a_condition_selects_the_rows_that_postgresql_selects() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(TYPES);
    let catalogue = catalogue_of(&database);
    let (mut connection, mut refused) = (database.connect(), Vec::new());
    for condition in CONDITIONS {
        for condition in [(*condition).to_owned(), format!("not ({condition})")] {
            match selected(&mut connection, &catalogue, &condition) {
                Ok(found) => assert_eq!(found, selected_there(&mut connection, &condition), "{condition}"),
                Err(why) => refused.push(format!("{condition}: {why}")),
            }
        }
    }
    // PostgreSQL has more forms.
    assert_eq!(refused.len(), 2, "{refused:#?}");
    assert!(refused.iter().all(|refused| refused.contains("r in (0.1, 'NaN') is null")), "{refused:#?}");
}

#[test]
fn random_conditions_select_the_rows_that_postgresql_selects() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(TYPES);
    let catalogue = catalogue_of(&database);
    let (mut connection, mut random) = (database.connect(), 17);
    for _ in 0..300 {
        let condition = random_condition(&mut random, 4);
        let found = selected(&mut connection, &catalogue, &condition);
        let found = found.unwrap_or_else(|why| panic!("{condition}: {why}"));
        assert_eq!(found, selected_there(&mut connection, &condition), "{condition}");
    }
}

/// Conditions of the list above, joined by chance.
fn random_condition(random: &mut u64, depth: usize) -> String {
    let known: Vec<&&str> = CONDITIONS.iter().filter(|condition| !condition.contains("r in (")).collect();
    *random = random.wrapping_add(GAMMA);
    let number = mix(*random);
    match number % 4 {
        _ if depth == 0 => format!("({})", known[(number % known.len() as u64) as usize]),
        0 => format!("not {}", random_condition(random, 0)),
        1 => format!("{} and {}", random_condition(random, depth - 1), random_condition(random, depth - 1)),
        2 => format!("{} or {}", random_condition(random, depth - 1), random_condition(random, depth - 1)),
        _ => format!("({})", random_condition(random, depth - 1)),
    }
}

fn check_of(database: &TestDatabase, rules: &[TableRule]) -> Vec<Finding> {
    let state = PostgresSource::new(database.settings(), CancelFlag::default()).server_state().unwrap();
    assert_eq!((state.wal_level.as_str(), state.may_replicate, state.is_standby), ("logical", true, false));
    check(rules, &catalogue_of(database), &state, "graph")
}

#[test]
fn what_a_check_asks_for_mends_the_updates_that_fail_at_the_source() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TABLE no_key (a int NOT NULL, b int); CREATE UNIQUE INDEX by_a ON no_key (a);
         CREATE TABLE late (a int PRIMARY KEY DEFERRABLE, b int);
         CREATE TABLE off (a int PRIMARY KEY, b int); ALTER TABLE off REPLICA IDENTITY NOTHING;
         CREATE TABLE parts (a int, b int, PRIMARY KEY (a)) PARTITION BY RANGE (a);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (2);
         CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (2) TO (3);
         ALTER TABLE parts_2 REPLICA IDENTITY NOTHING;
         CREATE TABLE good (a int PRIMARY KEY, b int NOT NULL UNIQUE);
         INSERT INTO no_key VALUES (2, 1); INSERT INTO late VALUES (2, 1); INSERT INTO off VALUES (2, 1);
         INSERT INTO parts VALUES (2, 1); INSERT INTO good VALUES (2, 1)",
    );
    let tables = ["no_key", "late", "off", "parts", "good"];
    let text: String = tables
        .iter()
        .map(|table| format!("[[table]]\ntable = '{table}'\nlabel = '{table}'\nid = 'a'\n"))
        .collect::<Vec<_>>()
        .join("\n");
    let rules = rules(&text);
    let found = check_of(&database, &rules);
    let publication = found.iter().find(|finding| finding.cause.contains("there is no publication")).unwrap();
    let errors: Vec<&Finding> = found.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 4, "{found:#?}");
    let update = |table: &str| {
        database.connect().query("update a test's row at", &format!("UPDATE {table} SET b = b + 1")).map(drop)
    };
    for table in tables {
        update(table).unwrap();
    }
    database.run(publication.remedy.as_ref().unwrap());
    for table in tables {
        let is_good = table == "good";
        assert_eq!(update(table).is_ok(), is_good, "{table}");
    }
    for error in errors {
        assert!(error.cause.contains("FAILS AT THE SOURCE"), "{error}");
        database.run(error.remedy.as_ref().unwrap());
    }
    for table in tables {
        update(table).unwrap();
    }
    // With FULL or an index every rule finds its rows.
    assert_eq!(check_of(&database, &rules), []);

    // An identity that works, but doesn't say what a rule needs.
    let by_b = [TableRule { id: rules_of_good(), ..rules[4].clone() }];
    let found = check_of(&database, &by_b);
    assert_eq!(found.len(), 1, "{found:#?}");
    database.run(found[0].remedy.as_ref().unwrap());
    assert_eq!(check_of(&database, &by_b), []);
}

#[test]
fn a_check_names_tables_whose_rows_may_be_hidden_and_a_publication_that_the_role_may_not_make() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let role = format!("graph_{}", database.name);
    database.run(&format!(
        "CREATE TABLE plain (id int PRIMARY KEY); CREATE TABLE hidden (id int PRIMARY KEY, tenant text);
         CREATE TABLE shown (id int PRIMARY KEY);
         CREATE TABLE mine (id int PRIMARY KEY); CREATE TABLE forced (id int PRIMARY KEY);
         INSERT INTO hidden VALUES (1, 'a'), (2, 'b');
         ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; CREATE POLICY one ON hidden USING (tenant = 'a');
         ALTER TABLE shown ENABLE ROW LEVEL SECURITY; CREATE POLICY every ON shown FOR SELECT USING (true);
         ALTER TABLE mine ENABLE ROW LEVEL SECURITY;
         ALTER TABLE forced ENABLE ROW LEVEL SECURITY; ALTER TABLE forced FORCE ROW LEVEL SECURITY;
         CREATE ROLE {role} LOGIN REPLICATION; GRANT SELECT ON plain, hidden, shown TO {role};
         ALTER TABLE mine OWNER TO {role}; ALTER TABLE forced OWNER TO {role}"
    ));
    let mut settings = through(database.settings(), Host::Unix(server.folder().to_owned()), server.port());
    settings.user.clone_from(&role);
    let check_of = |tables: &[&str]| {
        let rule = |table: &&str| format!("[[table]]\ntable = '{table}'\nlabel = '{table}'\n");
        let rules = rules(&tables.iter().map(rule).collect::<String>());
        let mut source = PostgresSource::new(settings.clone(), CancelFlag::default());
        let (catalogue, state) = (source.catalogue().unwrap(), source.server_state().unwrap());
        check(&rules, &catalogue, &state, "graph")
    };
    let all = ["plain", "hidden", "shown", "mine", "forced"];
    let found = check_of(&all);
    let [hidden, forced, publication] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(publication.severity, Severity::Error);
    assert!(publication.cause.contains("it does not own plain, hidden, shown, so"), "{publication}");
    assert!(hidden.cause.contains("row-level security of hidden may hide rows"), "{hidden}");
    assert_eq!(hidden.remedy, Some(format!("ALTER ROLE {role} BYPASSRLS")));
    assert_eq!(forced.remedy.as_deref(), Some("ALTER TABLE public.forced NO FORCE ROW LEVEL SECURITY"));
    // What restricts the rows that others show hides some again.
    database.run("CREATE POLICY less ON shown AS RESTRICTIVE FOR SELECT USING (id > 1)");
    assert_eq!(check_of(&all).len(), 4);
    for finding in &found {
        database.run(finding.remedy.as_ref().unwrap());
    }
    assert_eq!(check_of(&all), [], "the role sees every row of what others own, and owns the rest");
    // A publication of its own tables it may make itself, once it may make any.
    database.run("DROP PUBLICATION graph");
    let own = check_of(&["mine"]);
    assert!(
        own.iter().any(|finding| finding.remedy.as_ref().is_some_and(|sql| sql.starts_with("GRANT CREATE")))
    );
    database.run(&format!("GRANT CREATE ON DATABASE {} TO {role}", database.name));
    assert_eq!(
        check_of(&["mine"]).iter().map(|finding| finding.severity).collect::<Vec<_>>(),
        [Severity::Warning]
    );
    // Nor may it while its transactions write nothing.
    database.run(&format!("ALTER ROLE {role} SET default_transaction_read_only = on"));
    let read_only = check_of(&["mine"]);
    let [error, warning] = &read_only[..] else { panic!("{read_only:#?}") };
    assert!(error.cause.starts_with("default_transaction_read_only is on"), "{error}");
    assert_eq!((error.severity, warning.severity), (Severity::Error, Severity::Warning));
    database.run(error.remedy.as_ref().unwrap());
    assert_eq!(check_of(&["mine"]), read_only[1..]);
    database.run(&format!("REASSIGN OWNED BY {role} TO postgres; DROP OWNED BY {role}; DROP ROLE {role}"));
}

/// The column `b` of the table `good` as an id.
fn rules_of_good() -> Vec<evergraph_files::import::mapping::rule::ColumnName> {
    rules("[[table]]\ntable = 'good'\nlabel = 'good'\nid = 'b'\n").remove(0).id
}

#[test]
fn a_proposal_for_a_real_catalogue_fits_it() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(TYPES);
    database.run(
        "CREATE TABLE film (id int PRIMARY KEY, title text, words tsvector, tags text[], twice int GENERATED ALWAYS AS
            (id * 2) STORED);
         CREATE TABLE actor (id int PRIMARY KEY, best int REFERENCES film);
         CREATE TABLE film_actor (film int REFERENCES film, actor int REFERENCES actor, PRIMARY KEY (actor, film));
         CREATE TABLE pay (day date, n int, film int, PRIMARY KEY (day, n)) PARTITION BY RANGE (day);
         CREATE TABLE pay_1 PARTITION OF pay FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
         ALTER TABLE pay ADD FOREIGN KEY (film) REFERENCES film",
    );
    let catalogue = catalogue_of(&database);
    let text = propose(&catalogue).unwrap();
    let plan = resolve(&rules(&text), &catalogue).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let mut names: Vec<&str> = plan.tables.iter().map(|table| &*table.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["actor", "film", "film_actor", "pay", "v"]);
    let (_, pay) = plan.label("Pay").unwrap();
    assert!(pay.edges[0].end.is_promised, "the key of the root holds for its partitions");
    let edge = plan.tables.iter().flat_map(|table| &table.edges).next().unwrap();
    assert_eq!((edge.start.label.as_str(), edge.end.label.as_str()), ("Actor", "Film"));
}
