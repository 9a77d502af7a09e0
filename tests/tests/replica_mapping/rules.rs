//! Rules that are bound to a catalogue: what they default to, and what is wrong with them, by line and key.

use crate::ddl::catalogue;
use crate::support::{lines, rules};
use evergraph_replica::mapping::plan::Plan;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_replica::value::column_type::ColumnType;

/// A shop with all kinds of tables and columns.
const SHOP: &str = r#"
    CREATE TYPE mood AS ENUM ('calm', 'angry');
    CREATE DOMAIN email AS varchar(100);
    CREATE TABLE customer (
        id bigint PRIMARY KEY, name text NOT NULL, email email NOT NULL UNIQUE, mood mood, code char(4),
        friend bigint REFERENCES customer, born date, shout text GENERATED ALWAYS AS (upper(name)) STORED);
    CREATE TABLE item (id int PRIMARY KEY, title varchar(20), price numeric(10, 2), tags text[], facts jsonb);
    CREATE TABLE orders (day date, number int, customer_id bigint NOT NULL REFERENCES customer, note text,
        PRIMARY KEY (day, number));
    CREATE TABLE line (day date, number int, item_id int REFERENCES item, amount int NOT NULL,
        PRIMARY KEY (day, number, item_id), FOREIGN KEY (day, number) REFERENCES orders);
    CREATE TABLE visit (id uuid PRIMARY KEY, who bigint, item_id int, at timestamptz, weight real);
    CREATE TABLE bag (a int, b int);
    CREATE TABLE part (id int, day date NOT NULL, customer_id bigint, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
    ALTER TABLE part_1 ADD FOREIGN KEY (customer_id) REFERENCES customer;
    CREATE TABLE other.item (id int PRIMARY KEY);
    CREATE TABLE "Odd.Name" ("Id" int PRIMARY KEY, key int);
"#;

/// Rules for the tables that others refer to.
const CUSTOMER: &str = "[[table]]\ntable = 'customer'\nlabel = 'Customer'\n";
const ITEM: &str = "[[table]]\ntable = 'item'\nlabel = 'Item'\n";
const ORDER: &str = "[[table]]\ntable = 'orders'\nlabel = 'Order'\n";

fn shop() -> Catalogue {
    catalogue(SHOP)
}

fn plan(text: &str) -> Plan {
    resolve(&rules(text), &shop()).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_vertex_has_its_primary_key_and_all_columns_without_another_purpose() {
    let text = format!("{CUSTOMER}edge = [{{ type = 'KNOWS', column = 'friend' }}]\n");
    assert_eq!(
        lines(&plan(&text)),
        [
            "customer: (Customer id=id:long {name:string email:string mood:string code:string born:date})",
            "customer: Customer ->KNOWS{} Customer[friend]! wait",
        ]
    );
    assert_eq!(
        lines(&plan(ITEM)),
        ["item: (Item id=id:int {title:string price:decimal tags:list facts:string})"]
    );
}

#[test]
fn only_columns_that_rules_need_are_copied() {
    let text = "[[table]]\ntable = 'item'\nlabel = 'Item'\nproperties = ['title']\nwhere = 'price > 1'\n";
    let plan = plan(text);
    let names: Vec<&str> = plan.tables[0].columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["id", "title", "price"]);
    assert_eq!(plan.tables[0].columns[2].column_type, ColumnType::Numeric);
    assert_eq!(
        plan.tables[0].vertices[0].condition.as_ref().unwrap().columns().into_iter().collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn names_and_types_of_properties_can_be_chosen() {
    let text = "[[table]]\ntable = 'item'\nlabel = 'Item'\nid = 'id'\nproperties = ['price', 'facts', 2]\n\
                rename = { id = 'number', price = 'cost' }\ntypes = { price = 'double', facts = 'map', title = 'string' }\n";
    assert_eq!(lines(&plan(text)), ["item: (Item number=id:int {cost=price:double facts:map title:string})"]);
}

#[test]
fn another_unique_key_can_be_the_id_and_its_domain_is_what_it_is_over() {
    let text = "[[table]]\ntable = 'customer'\nlabel = 'Customer'\nid = 'email'\nproperties = ['id']\n";
    assert_eq!(lines(&plan(text)), ["customer: (Customer email=email:string {id:long})"]);
}

#[test]
fn several_columns_are_one_key_and_stay_properties() {
    let text = format!(
        "{CUSTOMER}{ITEM}{ORDER}edge = [{{ type = 'BY', column = 'customer_id' }}]\n\
         [[table]]\ntable = 'line'\ntype = 'CONTAINS'\nstart = ['day', 'number']\nend = 'item_id'\n"
    );
    let plan = plan(&text);
    let lines = lines(&plan);
    assert_eq!(lines[2], "orders: (Order key=day|number:string {day:date number:int note:string})");
    assert_eq!(lines[3], "orders: Order ->BY{} Customer[customer_id]! wait");
    assert_eq!(lines[4], "line: Order[day|number]! ->CONTAINS{amount:int} Item[item_id]! by ends");
    assert!(plan.label("Order").unwrap().1.key.is_composite());
}

#[test]
fn a_row_can_be_a_vertex_with_its_edges_and_an_edge_too() {
    let text = format!(
        "{CUSTOMER}{ITEM}[[table]]\ntable = 'visit'\nlabel = 'Visit'\nmissing = 'stop'\nedge = [\n\
         {{ type = 'BY', column = 'who', space = 'Customer', properties = ['at'], missing = 'create' }},\n\
         {{ type = 'TO', column = 'item_id', space = 'Item', reverse = true }},\n]\n\
         [[table]]\ntable = 'visit'\ntype = 'SAW'\nwhere = 'at is not null'\n\
         start = {{ column = 'who', space = 'Customer' }}\nend = {{ column = 'item_id', space = 'Item' }}\n"
    );
    let lines = lines(&plan(&text));
    assert_eq!(lines[2], "visit: (Visit id=id:uuid {at:datetime weight:float})");
    assert_eq!(lines[3], "visit: Visit ->BY{at:datetime} Customer[who] create");
    assert_eq!(lines[4], "visit: Visit <-TO{} Item[item_id] stop");
    assert_eq!(
        lines[5],
        "visit: Customer[who] ->SAW{at:datetime weight:float} Item[item_id] by id=id:uuid where"
    );
}

#[test]
fn an_undirected_edge_has_a_key_since_both_rows_of_a_pair_have_the_same_ends() {
    let schema = "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE knows (a int, b int, since date, PRIMARY KEY (a, b));";
    let text = "[[table]]\ntable = 'p'\nlabel = 'P'\n[[table]]\ntable = 'knows'\ntype = 'KNOWS'\nundirected = true\n\
                start = { column = 1, space = 'P' }\nend = { column = 2, space = 'P' }\n";
    let plan = resolve(&rules(text), &catalogue(schema)).unwrap();
    assert_eq!(lines(&plan)[1], "knows: P[a] --KNOWS{since:date} P[b] by key=a|b:string");
}

#[test]
fn a_promise_needs_a_validated_key_of_all_partitions_and_a_label_without_a_condition() {
    let part =
        "[[table]]\ntable = 'part'\nlabel = 'Part'\nedge = [{ type = 'OF', column = 'customer_id' }]\n";
    let end = |text: &str, catalogue: &Catalogue| {
        let plan = resolve(&rules(text), catalogue).unwrap();
        lines(&plan).into_iter().find(|line| line.contains("->OF")).unwrap()
    };
    let text = format!("{CUSTOMER}{part}");
    // One of two partitions has the key, which tells the space all the same.
    assert_eq!(end(&text, &shop()), "part: Part ->OF{} Customer[customer_id] wait");
    let add = "ALTER TABLE part_2 ADD FOREIGN KEY (customer_id) REFERENCES customer";
    let both = catalogue(&format!("{SHOP}; {add};"));
    assert_eq!(end(&text, &both), "part: Part ->OF{} Customer[customer_id]! wait");
    let not_valid = catalogue(&format!("{SHOP}; {add} NOT VALID;"));
    assert_eq!(end(&text, &not_valid), "part: Part ->OF{} Customer[customer_id] wait");
    let filtered = format!("{CUSTOMER}where = 'born is null'\n{part}");
    assert_eq!(end(&filtered, &both), "part: Part ->OF{} Customer[customer_id] wait");
}

#[test]
fn tables_are_found_by_schema_and_by_quoted_name() {
    let text = "[[table]]\ntable = 'other.item'\nlabel = 'A'\n[[table]]\ntable = '\"Odd.Name\"'\nlabel = 'B'\n\
                [[table]]\ntable = 'public.item'\nlabel = 'C'\nproperties = []\n";
    assert_eq!(
        lines(&plan(text)),
        ["item: (A id=id:int {})", "Odd.Name: (B Id=Id:int {key:int})", "item: (C id=id:int {})"]
    );
}

#[test]
fn what_does_not_fit_is_named_by_line_and_key() {
    let label = |table: &str, rest: &str| format!("[[table]]\ntable = '{table}'\nlabel = 'X'\n{rest}");
    let edge = |rest: &str| format!("{CUSTOMER}{ITEM}[[table]]\ntable = 'visit'\ntype = 'X'\n{rest}");
    let entry = |entry: &str| format!("{CUSTOMER}{ITEM}{ORDER}edge = [\n  {{ type = 'E', {entry} }},\n]\n");
    let visit_ends =
        "start = { column = 'who', space = 'Customer' }\nend = { column = 'item_id', space = 'Item' }\n";
    for (text, expected) in [
        (label("itm", ""), "m.toml:2: table: \"itm\" is no table of the database; did you mean `item`?"),
        (label("a.b.c", ""), "m.toml:2: table: \"a.b.c\": expected a name, or schema.name"),
        (
            label("part_1", ""),
            "m.toml:2: table: part_1 is a partition of part, and is published by way of it: name part",
        ),
        (
            label("bag", ""),
            "m.toml:1: id: is missing, and bag has no primary key to identify its rows; it has no other",
        ),
        (
            label("item", "id = 'titel'\n"),
            "m.toml:4: id: there is no column \"titel\"; did you mean `title`?",
        ),
        (label("item", "id = 9\n"), "m.toml:4: id: there is no column 9; there are 5, counted from 1"),
        (label("item", "id = 'title'\n"), "m.toml:4: id: column title of item may be null"),
        (
            label("customer", "id = 'name'\n"),
            "m.toml:4: id: [name] is no primary key or unique key of customer, so that \
            rows may share it; its unique keys without nulls are [email]",
        ),
        (
            label("customer", "properties = ['shout']\n"),
            "m.toml:4: properties: column shout is computed by PostgreSQL",
        ),
        (
            label("item", "ignore = ['prise']\n"),
            "m.toml:4: ignore: there is no column \"prise\"; did you mean `price`?",
        ),
        (
            label("item", "ignore = ['id']\n"),
            "m.toml:4: ignore: column id identifies the row, and is always a property",
        ),
        (
            label("item", "rename = { title = 'price' }\n"),
            "m.toml:4: rename: column title and column price would both be \
            the property \"price\"",
        ),
        (
            label("item", "rename = { price = 'id' }\n"),
            "m.toml:4: rename: column id and column price would both be",
        ),
        (
            label("orders", "rename = { note = 'key' }\n"),
            "m.toml:4: rename: the key of several columns and column note",
        ),
        (
            label("item", "ignore = ['title']\nrename = { title = 'name' }\n"),
            "m.toml:5: rename: column title becomes no",
        ),
        (
            label("item", "types = { price = 'long' }\n"),
            "m.toml:4: types: column price is numeric(10,2), which becomes \
            decimal, double or string, not \"long\"",
        ),
        (
            label("item", "types = { title = 'map' }\n"),
            "m.toml:4: types: column title is character varying(20), which \
            becomes string, not \"map\"",
        ),
        (
            label("item", "types = { id = 'string' }\n"),
            "m.toml:4: types: column id identifies the row, and has the type",
        ),
        (label("item", "where = 'price > '\n"), "m.toml:4: where: at the end: a column, a text"),
        (
            label("item", "where = \"title < 'b'\"\n"),
            "m.toml:4: where: character 1, \"title < 'b'\": texts are ordered by",
        ),
        (label("customer", "where = 'shout is null'\n"), "m.toml:4: where: column shout is computed"),
        (edge(""), "m.toml:9: start: is missing"),
        (
            edge("start = 'who'\nend = 'item_id'\n"),
            "m.toml:10: start: [who] is no foreign key of visit: say a space",
        ),
        (
            edge(
                "start = { column = 'who', space = 'Custmer' }\nend = { column = 'item_id', space = 'Item' }\n",
            ),
            "m.toml:10: start: no rule has the label \"Custmer\"; did you mean `Customer`?",
        ),
        (
            edge(
                "start = { column = 'at', space = 'Customer' }\nend = { column = 'item_id', space = 'Item' }\n",
            ),
            "m.toml:10: start: column at is timestamp with time zone, and id of Customer is bigint: they are never equal",
        ),
        (
            edge(
                "start = { column = ['who', 'item_id'], space = 'Customer' }\nend = { column = 'item_id', space = 'Item' }\n",
            ),
            "m.toml:10: start: [who, item_id] can't refer to Customer, which is identified by [id]",
        ),
        (
            edge(&format!("{visit_ends}undirected = true\n")),
            "m.toml:12: undirected: the ends have different labels",
        ),
        (edge(&format!("{visit_ends}id = 'weight'\n")), "m.toml:12: id: column weight of visit may be null"),
        (
            entry("column = 'custmer_id'"),
            "m.toml:11: edge.column: there is no column \"custmer_id\"; did you mean",
        ),
        (
            entry("column = 'note', space = 'Item'"),
            "m.toml:11: edge.column: column note is text, and id of Item is integer",
        ),
        (
            entry("column = 'customer_id', space = 'Nobody'"),
            "m.toml:11: edge.space: no rule has the label \"Nobody\"; there \
            are Customer, Item, Order",
        ),
        (
            entry("column = 'customer_id', properties = ['x']"),
            "m.toml:11: edge.properties: there is no column \"x\"",
        ),
        (
            format!("{CUSTOMER}{CUSTOMER}"),
            "m.toml:6: label: another rule (m.toml:3) has the label \"Customer\"",
        ),
        (
            format!("{ORDER}edge = [{{ type = 'BY', column = 'customer_id' }}]\n"),
            "m.toml:4: edge.column: [customer_id] \
            refers to customer, which no rule makes vertices of",
        ),
        (
            format!(
                "{ITEM}{ORDER}[[table]]\ntable = 'line'\ntype = 'L'\nstart = ['number', 'day']\nend = 'item_id'\n"
            ),
            "m.toml:10: start: [number, day] is in another order than the id of Order, [day, number]: write [day, number]",
        ),
        (
            format!("{CUSTOMER}id = 'email'\n{ORDER}edge = [{{ type = 'BY', column = 'customer_id' }}]\n"),
            "m.toml:8: edge.column: [customer_id] refers to [id] of customer, and Customer is identified by [email]",
        ),
    ] {
        let parsed = evergraph_files::import::mapping::document::Mapping::parse(
            "m.toml",
            &text,
            std::path::Path::new("."),
        );
        let error = match parsed {
            Ok(mapping) => resolve(&mapping.tables, &shop()).expect_err(&text).to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with(expected), "{text}\n  got {error}\n  not {expected}");
    }
    assert!(
        resolve(&[], &shop()).unwrap_err().to_string().starts_with("there is no [[table]] in the mapping")
    );
}

/// PostgreSQL takes 'A' and 'a' for equal there, and an edge would miss its end.
#[test]
fn what_postgresql_compares_by_rules_unknown_here_is_no_end_of_an_edge_and_no_operand() {
    let schema = "CREATE TABLE person (id int PRIMARY KEY, mail text COLLATE ignoring_case NOT NULL UNIQUE, code text NOT NULL UNIQUE, \
            facts jsonb NOT NULL UNIQUE);
        CREATE TABLE letter (id int PRIMARY KEY, receiver text COLLATE ignoring_case REFERENCES person (mail), \
            code text COLLATE ignoring_case, facts jsonb REFERENCES person (facts));";
    let catalogue = catalogue(schema);
    let person = |rest: &str| format!("[[table]]\ntable = 'person'\nlabel = 'Person'\n{rest}");
    let letter = |id: &str, column: &str| {
        let edge = format!("edge = [{{ type = 'TO', column = '{column}', space = 'Person' }}]\n");
        person(&format!("id = '{id}'\n[[table]]\ntable = 'letter'\nlabel = 'Letter'\n{edge}"))
    };
    for (text, expected) in [
        (
            letter("mail", "receiver"),
            "m.toml:8: edge.column: column receiver of letter is text with a collation that is not deterministic, of which \
             PostgreSQL takes different texts for equal, by rules unknown here: edges would miss their ends. Let them refer to \
             another unique key of Person",
        ),
        (letter("code", "code"), "m.toml:8: edge.column: column code of letter is text with a collation"),
        (letter("facts", "facts"), "m.toml:8: edge.column: column facts of letter is jsonb, of which"),
        (
            person("where = \"mail = 'a'\"\n"),
            "m.toml:4: where: character 8, \"'a'\": is compared with a column: values of type text with a collation that is not \
             deterministic are compared by rules unknown here",
        ),
        (
            person("where = \"mail = code\"\n"),
            "m.toml:4: where: character 1, \"mail = code\": values of type text with",
        ),
    ] {
        let error = resolve(&rules(&text), &catalogue).expect_err(&text).to_string();
        assert!(error.starts_with(expected), "{text}\n  got {error}\n  not {expected}");
    }
    // Keys that nobody refers to are told apart by their texts, and so are properties.
    for text in [person("id = 'mail'\n"), person("where = \"mail is not null\"\n")] {
        resolve(&rules(&text), &catalogue).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    }
}

#[test]
fn every_rule_is_looked_at_and_each_problem_is_told() {
    let text = "[[table]]\ntable = 'x'\nlabel = 'A'\n[[table]]\ntable = 'item'\nlabel = 'B'\nignore = ['x']\n\
                [[table]]\ntable = 'bag'\nlabel = 'C'\n";
    let problems = resolve(&rules(text), &shop()).unwrap_err().0;
    let places: Vec<&str> = problems.iter().map(|problem| problem.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["m.toml:2", "m.toml:8", "m.toml:7"]);
}

#[test]
fn rules_agree_about_the_types_that_they_share() {
    let both = |first: &str, second: &str| {
        let text = format!(
            "{CUSTOMER}{ITEM}[[table]]\ntable = 'visit'\ntype = 'SAW'\n{first}\
             start = {{ column = 'who', space = 'Customer' }}\nend = {{ column = 'item_id', space = 'Item' }}\n\
             [[table]]\ntable = 'orders'\nlabel = 'Order'\nedge = [{{ type = 'SAW', column = 'customer_id', {second} }}]\n"
        );
        resolve(&rules(&text), &shop()).map(|_| ()).map_err(|problems| problems.to_string())
    };
    assert_eq!(both("", "properties = ['day']"), Ok(()));
    let error = both("rename = { at = 'day' }\n", "properties = ['day']").unwrap_err();
    assert_eq!(
        error,
        "m.toml:16: edge.type: the property \"day\" of SAW is date here, and datetime in m.toml:9: rename one of both, or \
         state one type by `types`"
    );
    let error = both("rename = { id = 'number' }\n", "properties = ['number']").unwrap_err();
    assert!(error.contains("the property \"number\" of SAW is int here, and uuid in m.toml:9"), "{error}");
    assert!(
        error.contains("the property \"number\" identifies the edges SAW of m.toml:9, and is unique"),
        "{error}"
    );
    let twice = format!(
        "{CUSTOMER}edge = [\n  {{ type = 'A', column = 'friend' }},\n  {{ type = 'A', column = 'friend' }},\n]\n"
    );
    let error = resolve(&rules(&twice), &shop()).unwrap_err().to_string();
    assert_eq!(
        error,
        "m.toml:6: edge.type: edges A from Customer to Customer come from m.toml:5 as well: give one of both another type"
    );
}
