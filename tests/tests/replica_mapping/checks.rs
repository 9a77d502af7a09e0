//! What stands in the way of following a database, by line and key, with the SQL that mends it.

use crate::ddl::catalogue;
use crate::support::rules;
use evergraph_replica::mapping::check::{Finding, Severity, check};
use evergraph_replica::mapping::server_state::{IdleSlot, ServerState};
use evergraph_replica::source::catalogue::{Operations, Publication, PublishedTable};

fn server() -> ServerState {
    ServerState {
        version: 150_018,
        wal_level: "logical".to_owned(),
        slots_max: 10,
        slots_used: 0,
        senders_max: 10,
        senders_used: 0,
        role: "ann".to_owned(),
        database: "shop".to_owned(),
        may_replicate: true,
        may_create: true,
        is_standby: false,
        encoding: "UTF8".into(),
        is_read_only: false,
        has_rds_role: false,
        idle_slots: Vec::new(),
    }
}

fn row(columns: &[&str]) -> Vec<Option<String>> {
    columns.iter().map(|column| Some((*column).to_owned())).collect()
}

/// The findings for one rule, but that there is no publication yet.
fn findings(schema: &str, rest: &str) -> Vec<Finding> {
    let text = format!("[[table]]\ntable = 't'\n{rest}");
    let mut found = check(&rules(&text), &catalogue(schema), &server(), "graph");
    found.retain(|finding| !finding.cause.contains("there is no publication"));
    found
}

/// Cause and remedy of the only finding.
fn only(schema: &str, rest: &str) -> (Severity, String, String) {
    let found = findings(schema, rest);
    let [finding] = &found[..] else { panic!("{schema}: {found:?}") };
    (finding.severity, finding.cause.clone(), finding.remedy.clone().unwrap_or_default())
}

#[test]
fn a_table_whose_updates_would_fail_at_the_source_is_named_with_the_sql_that_mends_it() {
    let edge = "label = 'T'\nid = 'a'\n";
    for (schema, cause, remedy) in [
        (
            "CREATE TABLE t (a int NOT NULL UNIQUE, b int);",
            "it has no primary key",
            "ALTER TABLE \"public\".\"t\" REPLICA IDENTITY USING INDEX \"t_a_key\"",
        ),
        (
            "CREATE TABLE t (a int NOT NULL, b int, CONSTRAINT u UNIQUE (a) DEFERRABLE);",
            "it has no primary key",
            "ALTER TABLE \"public\".\"t\" REPLICA IDENTITY FULL",
        ),
        (
            "CREATE TABLE t (a int, PRIMARY KEY (a) DEFERRABLE INITIALLY DEFERRED);",
            "its primary key is deferrable, which is no replica identity",
            "ALTER TABLE \"public\".\"t\" REPLICA IDENTITY FULL",
        ),
        (
            "CREATE TABLE t (a int PRIMARY KEY); ALTER TABLE t REPLICA IDENTITY NOTHING;",
            "its replica identity is NOTHING",
            "ALTER TABLE public.t REPLICA IDENTITY DEFAULT",
        ),
    ] {
        let (severity, found, sql) = only(schema, edge);
        assert_eq!(severity, Severity::Error);
        let expected = format!(
            "m.toml:2: table: t has no replica identity: {cause}. As soon as a publication has the table, every UPDATE and \
             DELETE of it FAILS AT THE SOURCE"
        );
        assert_eq!((found, sql), (expected, remedy.to_owned()), "{schema}");
    }
    assert_eq!(findings("CREATE TABLE t (a int PRIMARY KEY, b int);", edge), []);
}

#[test]
fn each_partition_needs_an_identity_of_its_own() {
    let schema = "CREATE TABLE t (a int, b int NOT NULL, PRIMARY KEY (a, b)) PARTITION BY RANGE (b);
        CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (2);
        CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (2) TO (3);
        ALTER TABLE t2 REPLICA IDENTITY NOTHING;";
    let (_, cause, sql) = only(schema, "label = 'T'\n");
    assert!(cause.starts_with("m.toml:2: table: t2 has no replica identity"), "{cause}");
    assert_eq!(sql, "ALTER TABLE public.t2 REPLICA IDENTITY DEFAULT");
}

#[test]
fn an_identity_has_the_columns_that_a_rule_finds_its_rows_by() {
    let schema = "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL UNIQUE, c int UNIQUE);";
    let (severity, cause, sql) = only(schema, "label = 'T'\nid = 'b'\n");
    assert_eq!(severity, Severity::Error);
    assert_eq!(
        cause,
        "m.toml:4: id: the replica identity of t is (a): a DELETE does not say b, which this rule finds the row by"
    );
    assert_eq!(sql, "ALTER TABLE \"public\".\"t\" REPLICA IDENTITY USING INDEX \"t_b_key\"");
    let indexed = format!("{schema} ALTER TABLE t REPLICA IDENTITY USING INDEX t_b_key;");
    assert_eq!(findings(&indexed, "label = 'T'\nid = 'b'\n"), []);
    let (_, cause, sql) = only(&indexed, "label = 'T'\n");
    assert!(cause.contains("the replica identity of t is (b): a DELETE does not say a"), "{cause}");
    assert_eq!(sql, "ALTER TABLE public.t REPLICA IDENTITY DEFAULT");
    let full = format!("{schema} ALTER TABLE t REPLICA IDENTITY FULL;");
    assert_eq!(findings(&full, "label = 'T'\nid = 'b'\n"), []);
}

#[test]
fn a_filter_asks_for_the_values_that_an_update_may_leave_out() {
    let schema = "CREATE TABLE t (a int PRIMARY KEY, b boolean, note text, short varchar(5), facts jsonb, price numeric(10,2));";
    let (severity, cause, sql) = only(schema, "label = 'T'\nwhere = 'b'\n");
    assert_eq!(severity, Severity::Warning);
    assert_eq!(
        cause,
        "m.toml:4: where: an UPDATE of t may leave out the values of note, facts (TOAST), which a row needs that enters \
         this filter"
    );
    assert_eq!(sql, "ALTER TABLE public.t REPLICA IDENTITY FULL");
    assert_eq!(findings(schema, "label = 'T'\nwhere = 'b'\nproperties = ['short', 'price']\n"), []);
    assert_eq!(findings(schema, "label = 'T'\n"), [], "without a filter, what was not sent is in the graph");
    let full = format!("{schema} ALTER TABLE t REPLICA IDENTITY FULL;");
    assert_eq!(findings(&full, "label = 'T'\nwhere = 'b'\n"), []);
}

#[test]
fn an_edge_whose_end_may_be_null_asks_for_the_values_that_an_update_may_leave_out() {
    let other = "[[table]]\ntable = 'p'\nlabel = 'P'\n";
    let schema = |null: &str| {
        format!(
            "CREATE TABLE p (a int PRIMARY KEY); \
             CREATE TABLE t (a int PRIMARY KEY, x int {null} REFERENCES p, y int NOT NULL REFERENCES p, note text, n int);"
        )
    };
    let of_row = format!("type = 'E'\nstart = 'x'\nend = 'y'\n{other}");
    let (severity, cause, sql) = only(&schema(""), &of_row);
    assert_eq!(severity, Severity::Warning);
    assert_eq!(
        cause,
        "m.toml:3: type: an UPDATE of t may leave out the values of note (TOAST), which an edge needs whose end was null before"
    );
    assert_eq!(sql, "ALTER TABLE public.t REPLICA IDENTITY FULL");
    assert_eq!(findings(&schema("NOT NULL"), &of_row), []);
    assert_eq!(findings(&schema(""), &of_row.replace("end = 'y'", "end = 'y'\nproperties = ['n']")), []);
    let link = |properties: &str| {
        format!(
            "label = 'T'\n{properties}edge = [{{ type = 'E', column = 'x', properties = ['note'] }}]\n{other}"
        )
    };
    let (_, cause, _) = only(&schema(""), &link("properties = ['n']\n"));
    assert!(cause.contains("edge: an UPDATE of t may leave out the values of note (TOAST)"), "{cause}");
    assert_eq!(findings(&schema(""), &link("properties = ['note']\n")), [], "the vertex has it");
}

#[test]
fn rights_and_foreign_keys_are_told() {
    let schema = "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE t (a int PRIMARY KEY, p int);
        ALTER TABLE t ADD CONSTRAINT \"to P\" FOREIGN KEY (p) REFERENCES p NOT VALID;";
    let text = "label = 'T'\nedge = [{ type = 'E', column = 'p' }]\n[[table]]\ntable = 'p'\nlabel = 'P'\n";
    let (severity, cause, sql) = only(schema, text);
    assert_eq!(severity, Severity::Warning);
    assert!(cause.starts_with("m.toml:2: table: the foreign key to P of t is not validated"), "{cause}");
    assert_eq!(sql, "ALTER TABLE public.t VALIDATE CONSTRAINT \"to P\"");

    let mut catalogue = catalogue("CREATE TABLE t (a int PRIMARY KEY, \"A\" int, b int, c int);");
    catalogue.tables[0].rights.may_read = false;
    let found = check(&rules("[[table]]\ntable = 't'\nlabel = 'T'\n"), &catalogue, &server(), "graph");
    let finding = found.iter().find(|finding| finding.cause.contains("may not read")).unwrap();
    assert_eq!(finding.cause, "m.toml:2: table: ann may not read t");
    assert_eq!(
        finding.remedy.as_deref(),
        Some("GRANT USAGE ON SCHEMA public TO ann; GRANT SELECT ON public.t TO ann")
    );
    catalogue.tables[0].rights.may_read = true;
    catalogue.tables[0].rights.unreadable_columns = vec!["A".into(), "b".into(), "c".into()];
    let schema = "[[table]]\ntable = 't'\nlabel = 'T'\nignore = ['c']\n";
    let found = check(&rules(schema), &catalogue, &server(), "graph");
    let finding = found.iter().find(|finding| finding.cause.contains("may not read")).unwrap();
    assert!(finding.cause.starts_with("m.toml:2: table: ann may not read A, b of t"), "{}", finding.cause);
    assert_eq!(finding.remedy.as_deref(), Some("GRANT SELECT (\"A\", b) ON public.t TO ann"));
    catalogue.tables[0].rights.unreadable_columns.clear();
    catalogue.tables[0].child_tables = vec!["public.a".into(), "other.\"B\"".into()];
    let found = check(&rules("[[table]]\ntable = 't'\nlabel = 'T'\n"), &catalogue, &server(), "graph");
    let finding = found.iter().find(|finding| finding.cause.contains("INHERITS")).unwrap();
    assert_eq!(finding.severity, Severity::Error);
    assert!(
        finding.cause.starts_with("m.toml:2: table: t has child tables (INHERITS): public.a, other.\"B\".")
    );
    assert_eq!(
        finding.remedy.as_deref(),
        Some("ALTER TABLE public.a NO INHERIT public.t; ALTER TABLE other.\"B\" NO INHERIT public.t")
    );
}

#[test]
fn settings_and_rights_of_the_server_are_told() {
    let catalogue = catalogue("CREATE TABLE t (a int PRIMARY KEY);");
    let rules = rules("[[table]]\ntable = 't'\nlabel = 'T'\n");
    let state = ServerState {
        version: 130_004,
        wal_level: "replica".to_owned(),
        slots_max: 1,
        slots_used: 1,
        senders_max: 0,
        role: "Ann".to_owned(),
        may_replicate: false,
        may_create: false,
        is_standby: true,
        ..server()
    };
    let found = check(&rules, &catalogue, &state, "graph");
    let remedies: Vec<&str> = found.iter().filter_map(|finding| finding.remedy.as_deref()).collect();
    assert_eq!(
        remedies,
        [
            "ALTER SYSTEM SET wal_level = logical; then restart the server",
            "ALTER SYSTEM SET max_replication_slots = 5; then restart the server",
            "ALTER SYSTEM SET max_wal_senders = 4; then restart the server",
            "ALTER ROLE \"Ann\" REPLICATION",
            "GRANT CREATE ON DATABASE shop TO \"Ann\"",
            "CREATE PUBLICATION \"graph\" FOR TABLE \"public\".\"t\" WITH (publish_via_partition_root = true)",
        ]
    );
    let causes: Vec<&str> = found.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes[0], "the server is PostgreSQL 13; 14 or newer is needed");
    assert_eq!(causes[1], "the server is a standby, which can be followed from PostgreSQL 16 on");
    assert!(
        found[2]
            .to_string()
            .starts_with("error: wal_level is replica: the log has no changes of rows\n  ALTER SYSTEM")
    );
}

/// Nobody there may set the attribute.
#[test]
fn a_server_with_the_role_of_amazon_rds_is_mended_by_membership() {
    let catalogue = catalogue("CREATE TABLE t (a int PRIMARY KEY);");
    let rules = rules("[[table]]\ntable = 't'\nlabel = 'T'\n");
    let remedy = |has_rds_role| {
        let state = ServerState { role: "Ann".to_owned(), may_replicate: false, has_rds_role, ..server() };
        check(&rules, &catalogue, &state, "graph")[0].remedy.clone().unwrap()
    };
    assert_eq!(remedy(true), "GRANT rds_replication TO \"Ann\"");
    assert_eq!(remedy(false), "ALTER ROLE \"Ann\" REPLICATION");
}

#[test]
fn the_servers_answer_is_read_as_a_state() {
    let mut cells =
        ["150018", "logical", "10", "0", "10", "0", "ann", "shop", "t", "t", "f", "UTF8", "f", "f", ""];
    assert_eq!(ServerState::from_row(&row(&cells)), Some(server()));
    assert_eq!(ServerState::from_row(&row(&cells[..14])), None);
    assert_eq!(ServerState::from_row(&row(&["x"; 15])), None);
    cells[14] = "evergraph_shop_1 4096,mine 0";
    let idle_slots = vec![
        IdleSlot { name: "evergraph_shop_1".into(), kept_bytes: 4096 },
        IdleSlot { name: "mine".into(), kept_bytes: 0 },
    ];
    assert_eq!(ServerState::from_row(&row(&cells)), Some(ServerState { idle_slots, ..server() }));
    cells[14] = "mine";
    assert_eq!(ServerState::from_row(&row(&cells)), None);
}

/// Nobody noticed the slots of replicas whose folders were removed, until the disk was full of log.
#[test]
fn slots_of_replicas_that_nobody_reads_are_told_with_the_log_that_they_keep() {
    let catalogue = catalogue("CREATE TABLE t (a int PRIMARY KEY);");
    let rules = rules("[[table]]\ntable = 't'\nlabel = 'T'\n");
    let slot = |name: &str| IdleSlot { name: name.into(), kept_bytes: 3 << 20 };
    let idle_slots = vec![slot("evergraph_shop_1234abcd"), slot("of_somebody_else")];
    let found = check(&rules, &catalogue, &ServerState { idle_slots, ..server() }, "graph");
    let [idle, publication] = &found[..] else { panic!("{found:?}") };
    assert_eq!(idle.severity, Severity::Warning);
    assert!(idle.cause.contains("\"evergraph_shop_1234abcd\"") && idle.cause.contains("3.0 MiB"), "{idle}");
    assert_eq!(idle.remedy.as_deref(), Some("SELECT pg_drop_replication_slot('evergraph_shop_1234abcd')"));
    assert!(publication.cause.contains("there is no publication"), "{publication}");
}

/// Done from top to bottom, the publication came first, and updates failed until the identity was there.
#[test]
fn the_publication_comes_last_behind_the_identities_that_it_needs() {
    let catalogue = catalogue("CREATE TABLE t (a int NOT NULL UNIQUE);");
    let rules = rules("[[table]]\ntable = 't'\nlabel = 'T'\nid = 'a'\n");
    let found = check(&rules, &catalogue, &server(), "graph");
    let remedies: Vec<&str> = found.iter().filter_map(|finding| finding.remedy.as_deref()).collect();
    let [identity, publication] = remedies[..] else { panic!("{found:?}") };
    assert!(identity.contains("REPLICA IDENTITY USING INDEX"), "{identity}");
    assert!(publication.starts_with("CREATE PUBLICATION"), "{publication}");
}

#[test]
fn a_publication_that_lacks_something_is_told() {
    let mut catalogue =
        catalogue("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE u (a int PRIMARY KEY);");
    let all = Operations { inserts: true, updates: true, deletes: true, truncates: true };
    let published = |columns: &[&str], row_filter: Option<&str>| PublishedTable {
        schema: "public".into(),
        table: "t".into(),
        columns: columns.iter().map(|column| Box::from(*column)).collect(),
        row_filter: row_filter.map(Box::from),
    };
    let publication = Publication {
        name: "graph".into(),
        has_all_tables: false,
        operations: all,
        is_by_root: true,
        tables: vec![published(&["a", "b"], None)],
    };
    let text = "[[table]]\ntable = 't'\nlabel = 'T'\n[[table]]\ntable = 'u'\nlabel = 'U'\n";
    catalogue.publications = vec![publication.clone()];
    let found = check(&rules(text), &catalogue, &server(), "graph");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].cause,
        "m.toml:5: table: the publication \"graph\" does not have the table \"public\".\"u\""
    );
    assert_eq!(found[0].remedy.as_deref(), Some("ALTER PUBLICATION \"graph\" ADD TABLE \"public\".\"u\""));

    let text = "[[table]]\ntable = 't'\nlabel = 'T'\n";
    let anew = "ALTER PUBLICATION graph DROP TABLE public.t; ALTER PUBLICATION graph ADD TABLE public.t";
    for (operations, table, cause, remedy) in [
        (
            all,
            published(&["a"], None),
            "m.toml:2: table: the publication \"graph\" leaves out columns that the rules need: b",
            anew,
        ),
        (all, published(&["a", "b"], Some("(a > 1)")), "the publication \"graph\" sends only rows of", anew),
        (
            Operations { deletes: false, ..all },
            published(&["a", "b"], None),
            "the publication \"graph\" leaves out inserts, updates, deletes or truncates",
            "ALTER PUBLICATION \"graph\" SET (publish = 'insert, update, delete, truncate')",
        ),
    ] {
        catalogue.publications = vec![Publication { operations, tables: vec![table], ..publication.clone() }];
        let found = check(&rules(text), &catalogue, &server(), "graph");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].cause.starts_with(cause), "{}", found[0].cause);
        assert_eq!(found[0].remedy.as_deref(), Some(remedy));
    }
}

#[test]
fn what_is_wrong_with_the_rules_comes_behind_what_is_wrong_with_the_server() {
    let state = ServerState { may_replicate: false, ..server() };
    let found = check(&rules("[[table]]\ntable = 'x'\nlabel = 'T'\n"), &catalogue(""), &state, "graph");
    let causes: Vec<&str> = found.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(
        causes,
        ["the role ann may not read the log", "m.toml:2: table: \"x\" is no table of the database"]
    );
}
