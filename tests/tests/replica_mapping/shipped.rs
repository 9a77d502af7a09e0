//! The mappings that are shipped, and those that are proposed, for the schemas of Pagila, Northwind and SNB.

use crate::ddl::catalogue;
use crate::support::{lines, rules};
use evergraph_replica::mapping::check::check;
use evergraph_replica::mapping::plan::{EndPlan, Plan, TablePlan};
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::mapping::server_state::ServerState;
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_tests::data::read_text;
use evergraph_tests::data_folder::data_set;
use std::fmt::Write;
use std::path::Path;

/// The text of a shipped mapping.
fn shipped(name: &str) -> String {
    read_text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/replica/mappings").join(name))
}

/// Resolves a shipped mapping, and checks that nothing but a publication is missing.
fn plan_of(name: &str, catalogue: &Catalogue) -> Plan {
    let rules = rules(&shipped(name));
    let plan = resolve(&rules, catalogue).unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let server = ServerState {
        version: 150_018,
        wal_level: "logical".to_owned(),
        slots_max: 1,
        slots_used: 0,
        senders_max: 2,
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
    };
    let found = check(&rules, catalogue, &server, "graph");
    let causes: Vec<&str> = found.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, ["there is no publication \"graph\""], "{name}");
    plan
}

fn relational(file: &str) -> Option<String> {
    Some(read_text(&data_set("relational")?.join(file)))
}

/// SNB's relations have no schema: the headers of their files are their columns.
fn snb_schema() -> Option<String> {
    let folder = data_set("snb-interactive-mini")?.join("relational");
    let mut schema = String::new();
    for part in ["static", "dynamic"] {
        let mut files: Vec<_> =
            std::fs::read_dir(folder.join(part)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for path in files {
            let name = path.file_name().unwrap().to_string_lossy().replace("_0_0.csv.gz", "");
            let text = read_text(&path);
            let mut columns: Vec<String> = Vec::new();
            let mut sql = String::new();
            for column in text.lines().next().unwrap().split('|') {
                // PostgreSQL wants different names.
                let is_known = columns.iter().any(|known| known == column);
                let column = if is_known { format!("{column} of the other") } else { column.to_owned() };
                let column_type = match column.as_str() {
                    "creationDate" | "joinDate" => "timestamptz",
                    "birthday" => "date",
                    "length" | "classYear" | "workFrom" => "int",
                    "email" | "language" | "title" | "name" | "url" | "type" | "imageFile" | "locationIP"
                    | "content" => "text",
                    "firstName" | "lastName" | "gender" | "browserUsed" => "text",
                    _ => "bigint",
                };
                write!(sql, "\"{column}\" {column_type}, ").unwrap();
                columns.push(column);
            }
            let key = if columns[0] == "id" { &columns[..1] } else { &columns[..2] };
            let key: Vec<String> = key.iter().map(|column| format!("\"{column}\"")).collect();
            writeln!(schema, "CREATE TABLE \"{name}\" ({sql}PRIMARY KEY ({}));", key.join(", ")).unwrap();
        }
    }
    Some(schema)
}

#[test]
fn each_shipped_mapping_states_its_numbers_of_tables_rules_and_lines() {
    for name in ["pagila.toml", "northwind.toml", "snb.toml"] {
        let text = shipped(name);
        let count = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count();
        let rules = rules(&text);
        let tables: std::collections::BTreeSet<&str> = rules.iter().map(|rule| rule.table.as_str()).collect();
        let stated = format!("{} tables, {} rules, {count} lines.", tables.len(), rules.len());
        assert!(text.lines().next().unwrap().contains(&stated), "{name}: {stated}");
    }
}

#[test]
fn the_reference_of_the_language_is_a_mapping_of_pagila() {
    let Some(schema) = relational("pagila/pagila-schema.sql.gz") else { return };
    let reference =
        read_text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/replica/src/mapping/reference.md"));
    let (_, example) = reference.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let rest = "\n[[table]]\ntable = 'customer'\nlabel = 'Customer'\n[[table]]\ntable = 'inventory'\nlabel = 'Item'\n\
                [[table]]\ntable = 'staff'\nlabel = 'Staff'\n";
    let plan = resolve(&rules(&format!("{example}{rest}")), &catalogue(&schema)).unwrap();
    assert_eq!(lines(&plan)[0].split(' ').nth(1), Some("(Film"));
}

#[test]
fn pagila_is_a_graph() {
    let Some(schema) = relational("pagila/pagila-schema.sql.gz") else { return };
    let catalogue = catalogue(&schema);
    let lines = lines(&plan_of("pagila.toml", &catalogue));
    for line in [
        "film: (Film film_id=film_id:int {title:string description:string year=release_year:int rental_duration:short \
         rental_rate:decimal length:short replacement_cost:decimal rating:string special_features:list})",
        "film: Film ->ORIGINALLY_IN{} Language[original_language_id]! wait",
        "film_actor: Actor[actor_id]! ->ACTS_IN{last_update:datetime} Film[film_id]! by ends",
        "language: (Language language_id=language_id:int {name:string last_update:datetime})",
        "rental: Rental ->BY{rental_date:datetime} Customer[customer_id]! wait",
        "rental: Rental <-LENT{} Staff[staff_id]! wait",
        "rental: Customer[customer_id]! ->HOLDS{rental_date:datetime return_date:datetime staff_id:int \
         last_update:datetime} Item[inventory_id]! by rental_id=rental_id:int where",
        "payment: (Payment key=payment_date|payment_id:string {payment_id:int amount:decimal payment_date:datetime})",
        // One of the seven partitions has no foreign keys.
        "payment: Payment ->PAYS{} Rental[rental_id] wait",
        "store: Store[store_id] ->MANAGED_BY{} Staff[manager_staff_id] by store_id=store_id:int",
    ] {
        assert!(lines.iter().any(|known| known == line), "{line}\nnot in\n{}", lines.join("\n"));
    }
    propose_covers(&catalogue, "pagila");
}

#[test]
fn northwind_is_a_graph() {
    let Some(schema) = relational("northwind/northwind.sql.gz") else { return };
    let catalogue = catalogue(&schema);
    let lines = lines(&plan_of("northwind.toml", &catalogue));
    for line in [
        "employees: Employee ->REPORTS_TO{} Employee[reports_to]! wait",
        "orders: Order <-ORDERED{} Customer[customer_id]! wait",
        "order_details: Order[order_id]! ->CONTAINS{unit_price:float quantity:short discount:float} Product[product_id]! by ends",
        "employee_territories: Employee[employee_id]! ->COVERS{} Territory[territory_id]! by ends",
    ] {
        assert!(lines.iter().any(|known| known == line), "{line}\nnot in\n{}", lines.join("\n"));
    }
    propose_covers(&catalogue, "northwind");
}

#[test]
fn snb_is_a_graph() {
    let Some(schema) = snb_schema() else { return };
    let catalogue = catalogue(&schema);
    let plan = plan_of("snb.toml", &catalogue);
    let lines = lines(&plan);
    for line in [
        "person_knows_person: Person[Person.id] --KNOWS{creationDate:datetime} Person[Person.id of the other] by \
         key=Person.id|Person.id of the other:string",
        "comment: Comment ->REPLY_OF{} Post[replyOfPost] wait",
        "comment: Comment ->REPLY_OF{} Comment[replyOfComment] wait",
        "post: Post <-CONTAINER_OF{} Forum[Forum.id] wait",
        "tagclass: TagClass ->IS_SUBCLASS_OF{} TagClass[isSubclassOf] wait",
    ] {
        assert!(lines.iter().any(|known| known == line), "{line}\nnot in\n{}", lines.join("\n"));
    }
    // Without foreign keys, tables are vertices, and nothing more is known.
    let proposed = resolve(&rules(&propose(&catalogue).unwrap()), &catalogue).unwrap();
    let vertices: usize = proposed.tables.iter().map(|table| table.vertices.len()).sum();
    assert_eq!((vertices, proposed.tables.len()), (20, 20));
}

/// The proposal for a data set has an edge for each foreign key that its counts name.
fn propose_covers(catalogue: &Catalogue, set: &str) {
    let text = propose(catalogue).unwrap();
    let plan = resolve(&rules(&text), catalogue).unwrap_or_else(|problems| panic!("{set}: {problems}"));
    let counts = relational(&format!("{set}/expected-counts.json")).expect("the schema lies beside it");
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    let keys = counts["foreign_key_edges"].as_array().unwrap();
    assert!(keys.len() > 10);
    for key in keys {
        let child = key["child"].as_str().unwrap();
        let columns = key["columns"].as_str().unwrap();
        // Partitions are mapped by their root.
        let child = child.split_once("_p2022").map_or(child, |(root, _)| root);
        let table = plan
            .tables
            .iter()
            .find(|table| &*table.name == child)
            .unwrap_or_else(|| panic!("{child} is mapped"));
        let is_it = |end: &EndPlan| column_names(table, end) == columns;
        let has_edge = table.vertices.iter().flat_map(|vertex| &vertex.edges).any(|edge| is_it(&edge.end))
            || table.edges.iter().any(|edge| is_it(&edge.start) || is_it(&edge.end));
        assert!(has_edge, "{set}: {child}({columns}) is an edge\n{text}");
    }
    let tables = counts["rows"].as_object().unwrap();
    assert_eq!(plan.tables.len(), tables.len(), "{set}: each table is mapped once");
}

fn column_names(table: &TablePlan, end: &EndPlan) -> String {
    let names: Vec<&str> = end.key.columns.iter().map(|column| &*table.columns[column.column].name).collect();
    names.join(", ")
}
