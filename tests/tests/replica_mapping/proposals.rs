//! Mappings that are written from the keys of a catalogue.

use crate::ddl::catalogue;
use crate::support::{lines, rules};
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::mapping::resolve::resolve;

/// What is proposed for `schema`, without the comment above, and what it makes of the rows.
fn proposed(schema: &str) -> (String, Vec<String>) {
    let catalogue = catalogue(schema);
    let text = propose(&catalogue).unwrap();
    let plan = resolve(&rules(&text), &catalogue).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let body = text.split_once("\n\n").unwrap().1.to_owned();
    (body, lines(&plan))
}

#[test]
fn tables_are_vertices_and_their_foreign_keys_are_edges() {
    let (text, _) = proposed(
        "CREATE TABLE customers (customer_id int PRIMARY KEY, name text);
         CREATE TABLE orders (order_id int PRIMARY KEY, customer_id int REFERENCES customers, search tsvector);",
    );
    assert_eq!(
        text,
        "[[table]]\ntable = \"customers\"\nlabel = \"Customers\"\n\n\
         [[table]]\ntable = \"orders\"\nlabel = \"Orders\"\nignore = [\"search\"]\n\
         edge = [{ type = \"CUSTOMER\", column = \"customer_id\", space = \"Customers\" }]\n"
    );
}

#[test]
fn a_table_of_two_foreign_keys_is_an_edge_unless_somebody_refers_to_it() {
    let schema = "CREATE TABLE actor (id int PRIMARY KEY); CREATE TABLE film (id int PRIMARY KEY);
        CREATE TABLE film_actor (actor_id int REFERENCES actor, film_id int REFERENCES film, since date,
            PRIMARY KEY (actor_id, film_id));";
    let (_, made) = proposed(schema);
    assert_eq!(made[2], "film_actor: Actor[actor_id]! ->FILM_ACTOR{since:date} Film[film_id]! by ends");
    let (_, made) = proposed(&format!(
        "{schema} CREATE TABLE scene (id int PRIMARY KEY, actor_id int, film_id int,
         FOREIGN KEY (film_id, actor_id) REFERENCES film_actor (film_id, actor_id));"
    ));
    assert_eq!(
        made,
        [
            "actor: (Actor id=id:int {})",
            "film: (Film id=id:int {})",
            "film_actor: (FilmActor key=actor_id|film_id:string {since:date})",
            "film_actor: FilmActor ->ACTOR{} Actor[actor_id]! wait",
            "film_actor: FilmActor ->FILM{} Film[film_id]! wait",
            "scene: (Scene id=id:int {})",
            "scene: Scene ->FILM_ACTOR{} FilmActor[actor_id|film_id]! wait",
        ]
    );
}

#[test]
fn a_relation_of_three_and_a_self_reference_are_vertices_with_edges() {
    let (_, made) = proposed(
        "CREATE TABLE a (id int PRIMARY KEY, boss int REFERENCES a, old_boss_id int REFERENCES a);
         CREATE TABLE b (x int, y int, PRIMARY KEY (x, y));
         CREATE TABLE abc (a_id int REFERENCES a, x int, y int, c_id int REFERENCES a, key text,
            PRIMARY KEY (a_id, x, y), FOREIGN KEY (x, y) REFERENCES b);",
    );
    assert_eq!(
        made,
        [
            "a: (A id=id:int {})",
            "a: A ->BOSS{} A[boss]! wait",
            "a: A ->OLD_BOSS{} A[old_boss_id]! wait",
            "abc: (Abc key=a_id|x|y:string {key_column=key:string})",
            "abc: Abc ->A{} A[a_id]! wait",
            "abc: Abc ->C{} A[c_id]! wait",
            "abc: Abc ->B{} B[x|y]! wait",
            "b: (B key=x|y:string {x:int y:int})",
        ]
    );
}

#[test]
fn partitions_are_proposed_by_their_root_with_the_keys_that_they_have() {
    let (text, made) = proposed(
        "CREATE TABLE c (id int PRIMARY KEY);
         CREATE TABLE p (id int, at date NOT NULL, c_id int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
         CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
         CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
         ALTER TABLE p1 ADD FOREIGN KEY (c_id) REFERENCES c;",
    );
    assert_eq!(text.matches("[[table]]").count(), 2);
    assert_eq!(made[2], "p: P ->C{} C[c_id] wait");
}

#[test]
fn what_is_not_mapped_is_told() {
    let (text, made) = proposed(
        "CREATE TABLE a (id int PRIMARY KEY, email text NOT NULL UNIQUE, twice int GENERATED ALWAYS AS (id * 2) STORED);
         CREATE TABLE b (id int PRIMARY KEY, email text REFERENCES a (email));
         CREATE TABLE c (code text COLLATE ignoring_case PRIMARY KEY);
         CREATE TABLE d (code text COLLATE ignoring_case REFERENCES c, a_id int REFERENCES a, PRIMARY KEY (code, a_id));
         CREATE TABLE log (line text);
         CREATE TABLE other.a (id real PRIMARY KEY);",
    );
    assert_eq!(
        made,
        [
            "a: (A id=id:int {email:string})",
            "b: (B id=id:int {email:string})",
            "c: (C code=code:string {})",
            "d: (D key=code|a_id:string {code:string})",
            "d: D ->A{} A[a_id]! wait",
        ]
    );
    assert!(
        text.contains("# twice is computed by PostgreSQL, which doesn't send it\n[[table]]\ntable = \"a\""),
        "{text}"
    );
    assert!(text.contains(
        "# email refers to a, but not to the id of vertices: it stays a property\n[[table]]\ntable = \"b\""
    ));
    assert!(
        text.contains("# code refers to c by a type or a collation that takes different texts for equal")
    );
    assert!(text.ends_with("`id = [...]` names a unique key):\n#   other.a\n#   log\n"), "{text}");
    let error = propose(&catalogue("CREATE TABLE log (line text);")).unwrap_err().to_string();
    assert_eq!(error, "nothing to propose: no table that this role sees has a primary key");
}

/// A join table whose one end is no vertex was left out without a word.
#[test]
fn a_table_of_two_foreign_keys_is_a_vertex_if_one_end_is_none() {
    let schema = "CREATE TABLE purchase (id int PRIMARY KEY);
        CREATE TABLE product (id int NOT NULL UNIQUE, title text, sku text PRIMARY KEY);
        CREATE TABLE purchase_item (purchase_id int REFERENCES purchase, product_id int REFERENCES product (id), pieces int,
            PRIMARY KEY (purchase_id, product_id));";
    let keyless = schema.replace(", sku text PRIMARY KEY", "");
    let item = [
        "purchase_item: (PurchaseItem key=purchase_id|product_id:string {product_id:int pieces:int})",
        "purchase_item: PurchaseItem ->PURCHASE{} Purchase[purchase_id]! wait",
    ];
    let (text, made) = proposed(schema);
    assert_eq!(made[made.len() - 2..], item);
    assert!(text.contains("# product_id refers to product, but not to the id of vertices"), "{text}");
    let (text, made) = proposed(&keyless);
    assert_eq!(made[made.len() - 2..], item);
    assert!(
        text.contains("# product_id refers to product, which has no rule: it stays a property\n[[table]]"),
        "{text}"
    );
    assert!(text.ends_with("#   product\n"), "{text}");
}

#[test]
fn no_two_tables_have_one_label_and_no_two_keys_one_type() {
    let (text, made) = proposed(
        "CREATE TABLE item (id int PRIMARY KEY); CREATE TABLE other.item (id int PRIMARY KEY);
         CREATE TABLE \"Order.Line\" (id int PRIMARY KEY, a int REFERENCES item, \"a_id\" int REFERENCES item, \"aId\" int
            REFERENCES other.item);",
    );
    assert!(text.contains("label = \"Item\"") && text.contains("label = \"OtherItem\""), "{text}");
    assert!(
        text.contains("table = \"\\\"Order.Line\\\"\"") || text.contains("table = '\"Order.Line\"'"),
        "{text}"
    );
    let types: Vec<&str> =
        made.iter().filter_map(|line| line.split("->").nth(1)?.split('{').next()).collect();
    assert_eq!(types, ["A", "A_ID", "A"], "{made:?}");
}
