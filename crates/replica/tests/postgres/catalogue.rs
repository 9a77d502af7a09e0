//! The catalogue: tables, keys, identities, partitions and publications, as PostgreSQL has them.

use crate::server::TestServer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::pgoutput::relation::RelationIdentity;
use evergraph_replica::source::catalogue::{Key, TableKind, TableRights, TypeKind};
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;

fn names(names: &[Box<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

#[test]
fn a_catalogue_has_tables_keys_identities_partitions_and_publications() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE SCHEMA shop; CREATE TYPE mood AS ENUM ('sad', 'so \"so\"'); CREATE DOMAIN cents AS numeric(10, 2); \
         CREATE TABLE shop.customer (b int, a int, name varchar(8) NOT NULL, mood mood, price cents[], \
           twice int GENERATED ALWAYS AS (a * 2) STORED, gone int, PRIMARY KEY (b, a), UNIQUE (name)); \
         ALTER TABLE shop.customer DROP gone; \
         CREATE UNIQUE INDEX by_expression ON shop.customer (lower(name)); \
         CREATE UNIQUE INDEX in_part ON shop.customer (a) WHERE a > 0; \
         CREATE TABLE orders (id int PRIMARY KEY DEFERRABLE, x int, y int, \
           CONSTRAINT whose FOREIGN KEY (y, x) REFERENCES shop.customer (b, a) DEFERRABLE); \
         CREATE TABLE parts (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); \
         CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01'); \
         CREATE TABLE by_index (id int NOT NULL, code text NOT NULL); CREATE UNIQUE INDEX code ON by_index (code); \
         ALTER TABLE by_index REPLICA IDENTITY USING INDEX code; \
         CREATE TABLE whole (id int, v text); ALTER TABLE whole REPLICA IDENTITY FULL; \
         CREATE TABLE nothing (id int PRIMARY KEY); ALTER TABLE nothing REPLICA IDENTITY NOTHING; \
         ALTER TABLE orders ADD CONSTRAINT later FOREIGN KEY (x) REFERENCES nothing NOT VALID; \
         CREATE UNLOGGED TABLE unlogged (id int); CREATE VIEW seen AS SELECT 1; \
         CREATE PUBLICATION chosen FOR TABLE whole, shop.customer (b, a, name) WHERE (a > 5) WITH (publish = 'insert, truncate'); \
         CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true); \
         INSERT INTO whole SELECT n FROM generate_series(1, 10) n; ANALYZE whole",
    );
    let catalogue = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    let tables: Vec<_> =
        catalogue.tables.iter().map(|table| format!("{}.{}", table.schema, table.name)).collect();
    let expected =
        ["by_index", "nothing", "orders", "part_1", "parts", "whole"].map(|name| format!("public.{name}"));
    assert_eq!(tables, [&expected[..], &["shop.customer".to_owned()]].concat());

    let customer = catalogue.table("shop", "customer").unwrap();
    let columns: Vec<_> = customer
        .columns
        .iter()
        .map(|column| (&*column.name, &*column.type_name, column.is_nullable, column.is_generated))
        .collect();
    assert_eq!(
        columns,
        [
            ("b", "integer", false, false),
            ("a", "integer", false, false),
            ("name", "character varying(8)", false, false),
            ("mood", "public.mood", true, false),
            ("price", "public.cents[]", true, false),
            ("twice", "integer", true, true),
        ]
    );
    let key = |name: &str, columns: &[&str], is_deferrable| Key {
        name: name.into(),
        columns: columns.iter().map(|column| (*column).into()).collect(),
        is_deferrable,
    };
    assert_eq!(customer.primary_key, Some(key("customer_pkey", &["b", "a"], false)));
    assert_eq!(customer.unique_keys, [key("customer_name_key", &["name"], false)]);
    assert_eq!(
        (customer.identity, names(&customer.identity_columns)),
        (RelationIdentity::PrimaryKey, vec!["b", "a"])
    );

    let mood = catalogue.types.get(customer.columns[3].type_id).unwrap();
    assert_eq!(mood.kind, TypeKind::Enum { labels: vec!["sad".into(), "so \"so\"".into()] });
    assert_eq!(catalogue.types.resolve(customer.columns[4].type_id).unwrap().to_string(), "numeric[]");

    let orders = catalogue.table("public", "orders").unwrap();
    assert_eq!(orders.primary_key, Some(key("orders_pkey", &["id"], true)));
    assert!(!orders.has_identity());
    let [later, whose] = &orders.foreign_keys[..] else { panic!("{:?}", orders.foreign_keys) };
    assert_eq!((names(&whose.columns), names(&whose.target_columns)), (vec!["y", "x"], vec!["b", "a"]));
    assert_eq!((whose.target, whose.is_validated, whose.is_deferrable), (customer.id, true, true));
    let nothing = catalogue.table("public", "nothing").unwrap();
    assert_eq!((later.target, later.is_validated, later.is_deferrable), (nothing.id, false, false));

    let (parts, part) =
        (catalogue.table("public", "parts").unwrap(), catalogue.table("public", "part_1").unwrap());
    assert_eq!(
        (parts.kind, part.kind, part.partition_of),
        (TableKind::Partitioned, TableKind::Plain, Some(parts.id))
    );
    assert_eq!(names(&parts.identity_columns), ["id", "at"]);

    for (table, identity, columns) in [
        ("by_index", RelationIdentity::Index, &["code"][..]),
        ("whole", RelationIdentity::Full, &["id", "v"]),
        ("nothing", RelationIdentity::Nothing, &[]),
    ] {
        let table = catalogue.table("public", table).unwrap();
        assert_eq!((table.identity, names(&table.identity_columns)), (identity, columns.to_vec()));
        assert_eq!(table.rights, TableRights::default());
    }
    assert_eq!(catalogue.table("public", "whole").unwrap().rows_estimate, Some(10));
    assert_eq!(orders.rows_estimate, None);

    let chosen = catalogue.publication("chosen").unwrap();
    let operations = chosen.operations;
    assert_eq!(
        (
            operations.inserts,
            operations.updates,
            operations.deletes,
            operations.truncates,
            chosen.is_by_root,
            chosen.has_all_tables
        ),
        (true, false, false, true, false, false)
    );
    let [whole, filtered] = &chosen.tables[..] else { panic!("{:?}", chosen.tables) };
    assert_eq!((&*whole.table, names(&whole.columns), &whole.row_filter), ("whole", vec!["id", "v"], &None));
    assert_eq!(
        (names(&filtered.columns), filtered.row_filter.as_deref()),
        (vec!["b", "a", "name"], Some("(a > 5)"))
    );
    let everything = catalogue.publication("everything").unwrap();
    assert!(everything.has_all_tables && everything.is_by_root);
    assert!(everything.tables.iter().all(|table| &*table.table != "part_1"));
    // Two readings are equal: a comparison finds changes alone.
    let again = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    assert_eq!(again, catalogue);
}
