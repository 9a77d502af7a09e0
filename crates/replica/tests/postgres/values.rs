//! Values: what each type's text is read as, for the texts that PostgreSQL itself writes, by COPY and in the stream.

use crate::follower::{END, Follower};
use crate::server::TestServer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;

/// A column's type, a value in SQL, and what it becomes: its type here and its text, or the cause.
const VALUES: &[(&str, &str, &str)] = &[
    ("bool", "true", "bool true"),
    ("int2", "-32768", "short -32768"),
    ("int4", "2147483647", "int 2147483647"),
    ("int8", "-9223372036854775808", "long -9223372036854775808"),
    ("oid", "4294967295", "long 4294967295"),
    ("float4", "0.1", "float 0.1"),
    ("float8", "0.1::float8 + 0.2", "double 0.30000000000000004"),
    ("float8", "'NaN'", "double NaN"),
    ("float8", "'-Infinity'", "double -inf"),
    ("numeric(10, 3)", "12.5", "decimal 12.500"),
    ("numeric", "'NaN'", "a decimal is never NaN"),
    ("numeric", "'-Infinity'", "it is infinite"),
    ("numeric", "10::numeric ^ 40", "decimal 10000000000000000000000000000000000000000.0000000000000000"),
    ("text", "E'a\\n\\\\N\"é'", "string a\n\\N\"é"),
    ("varchar(3)", "'abc'", "string abc"),
    ("char(4)", "'ab'", "string ab  "),
    ("name", "'ab'", "string ab"),
    ("\"char\"", "'x'", "string x"),
    ("bytea", "'\\x00ff'", "bytes \\x00ff"),
    ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "uuid a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("json", "'{\"a\":  1}'", "string {\"a\":  1}"),
    ("jsonb", "'{\"a\":  1}'", "string {\"a\": 1}"),
    ("xml", "'<a/>'", "string <a/>"),
    ("date", "'2024-02-29'", "date 2024-02-29"),
    ("date", "'0044-03-15 BC'", "date -0043-03-15"),
    ("date", "'12345-06-07'", "date +12345-06-07"),
    ("date", "'infinity'", "it is infinite"),
    ("time", "'12:00:00.5'", "string 12:00:00.5"),
    ("timetz", "'12:00+02'", "string 12:00:00+02"),
    ("timestamp", "'2024-02-29 12:00:00.000001'", "datetime 2024-02-29T12:00:00.000001Z"),
    ("timestamp", "'-infinity'", "it is infinite"),
    ("timestamptz", "'2024-02-29 12:00+02'", "datetime 2024-02-29T10:00:00Z"),
    ("timestamptz", "'0044-03-15 12:00:00+00 BC'", "datetime -0043-03-15T12:00:00Z"),
    ("interval", "'1 year -2 months 3 days -04:05:06.5'", "duration P10M3DT-4H-5M-6.5S"),
    ("interval", "'0'", "duration PT0S"),
    ("int4[]", "'{1,2}'", "list [1, 2]"),
    ("int4[]", "'[0:1]={1,2}'", "list [1, 2]"),
    ("int4[]", "'{{1,2},{3,4}}'", "list [[1, 2], [3, 4]]"),
    ("int4[]", "'{}'", "list []"),
    ("int4[]", "'{1,NULL}'", "a list holds no null"),
    (
        "text[]",
        "ARRAY['a,b', 'say \"hi\"', 'NULL', '', '\\', '{}', 'é']",
        r#"list ["a,b", "say \"hi\"", "NULL", "", "\\", "{}", "é"]"#,
    ),
    ("timestamptz[]", "ARRAY['2024-02-29 12:00+02'::timestamptz]", "list [2024-02-29T10:00:00Z]"),
    ("box[]", "ARRAY[box '((1,1),(0,0))', box '((2,2),(0,0))']", r#"list ["(1,1),(0,0)", "(2,2),(0,0)"]"#),
    ("mood", "'happy'", "string happy"),
    ("mood[]", "'{happy,\"so so\"}'", r#"list ["happy", "so so"]"#),
    ("cents", "1.25", "decimal 1.25"),
    ("cents[]", "'{1.25}'", "list [1.25]"),
    ("numbers", "'{1,2}'", "list [1, 2]"),
    ("pair", "ROW(1, 'x')", "string (1,x)"),
    ("point", "'(1,2)'", "string (1,2)"),
    ("int2vector", "'1 2'", "string 1 2"),
    ("inet", "'10.0.0.1'", "string 10.0.0.1"),
    ("int4range", "'[1,3)'", "string [1,3)"),
    ("bit(3)", "B'101'", "string 101"),
    ("money", "'1.5'", "string $1.50"),
    ("tsvector", "'a b'", "string 'a' 'b'"),
];

#[test]
fn every_type_is_read_from_what_postgresql_writes() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'so so', 'happy'); CREATE DOMAIN cents AS numeric(10, 2) CHECK (VALUE > 0); \
         CREATE DOMAIN numbers AS int[]; CREATE TYPE pair AS (a int, b text)",
    );
    let columns: Vec<_> =
        VALUES.iter().enumerate().map(|(at, (column_type, ..))| format!("c{at} {column_type}")).collect();
    database.run(&format!("CREATE TABLE t ({}); ALTER TABLE t REPLICA IDENTITY FULL", columns.join(", ")));
    let mut follower = Follower::begin(&database);
    let values: Vec<_> = VALUES.iter().map(|(_, value, _)| *value).collect();
    database.run(&format!("INSERT INTO t VALUES ({})", values.join(", ")));
    database.run(END);
    let catalogue = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    let table = catalogue.table("public", "t").unwrap();
    let texts = database.run("SELECT * FROM t").remove(0);
    for ((column, text), (column_type, _, expected)) in table.columns.iter().zip(&texts).zip(VALUES) {
        let resolved = catalogue.types.resolve(column.type_id).unwrap();
        let found = match resolved.read(text.as_deref().unwrap().as_bytes()) {
            Ok(value) => {
                assert_eq!(value.value_type(), resolved.value_type());
                format!("{} {value}", value.value_type())
            }
            Err(error) => error.cause.to_string(),
        };
        assert_eq!(&found, expected, "{column_type}");
    }
    // The stream has the same texts, and the same numbers of types.
    let lines = follower.lines();
    let types: Vec<_> =
        table.columns.iter().map(|column| format!("{}*:{}", column.name, column.type_id)).collect();
    let line = lines.iter().find_map(|line| line.strip_prefix("table t ")).unwrap();
    assert_eq!(line, types.join(" "));
    let texts: Vec<_> = texts.into_iter().map(Option::unwrap).collect();
    assert!(lines.contains(&format!("insert t ({})", texts.join(", "))));
}
