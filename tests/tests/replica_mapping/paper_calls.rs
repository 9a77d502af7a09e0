//! The calls of GART's paper (figure 5) say what a mapping file says.

use crate::ddl::catalogue;
use crate::support::{lines, rules};
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::mapping::rg_mapping::RgMapping;

const BANK: &str = "
    CREATE TABLE city (id int PRIMARY KEY, name text);
    CREATE TABLE person (id int PRIMARY KEY, full_name text, age int, city_id int REFERENCES city);
    CREATE TABLE trans (p1 int REFERENCES person, p2 int REFERENCES person, how text, money numeric, PRIMARY KEY (p1, p2));
    CREATE TABLE mayor (person_id int PRIMARY KEY REFERENCES person, city_id int REFERENCES city);
";

#[test]
fn the_calls_write_the_rules_of_a_mapping_file() {
    let catalogue = catalogue(BANK);
    let mut mapping = RgMapping::new(&catalogue);
    let mut calls = || -> evergraph_graph::error::Result<()> {
        mapping.def_vertex("Person", "person")?.def_vertex("City", "city")?;
        mapping.add_vprop("Person", "name", "full_name")?.add_vprop("Person", "age", "person.age")?;
        mapping.def_edge("LIVES_IN", "Person", "City", "city_id")?;
        mapping.def_edge("HOUSES", "City", "Person", "person.city_id")?;
        mapping.def_edge_m_to_m("TRANS", "Person", "Person", "trans.p1", "trans.p2")?;
        mapping.add_eprop("TRANS", "how", "how")?.add_eprop("TRANS", "amount", "trans.money")?;
        mapping.add_eprop("LIVES_IN", "since", "age")?;
        Ok(())
    };
    calls().unwrap();
    let text = "[[table]]\ntable = 'person'\nlabel = 'Person'\nproperties = ['full_name', 'age']\n\
                rename = { full_name = 'name' }\nedge = [\n\
                {type = 'LIVES_IN', column = 'city_id', properties = ['age'], rename = { age = 'since' }},\n\
                {type = 'HOUSES', column = 'city_id', reverse = true},\n]\n\
                [[table]]\ntable = 'city'\nlabel = 'City'\nproperties = []\n\
                [[table]]\ntable = 'trans'\ntype = 'TRANS'\nstart = 'p1'\nend = 'p2'\nproperties = ['how', 'money']\n\
                rename = { money = 'amount' }\n";
    let of_text = lines(&resolve(&rules(text), &catalogue).unwrap());
    assert_eq!(lines(&mapping.resolve().unwrap()), of_text);
    assert_eq!(
        of_text,
        [
            "person: (Person id=id:int {name=full_name:string age:int})",
            "person: Person ->LIVES_IN{since=age:int} City[city_id]! wait",
            "person: Person <-HOUSES{} City[city_id]! wait",
            "city: (City id=id:int {})",
            "trans: Person[p1]! ->TRANS{how:string amount=money:decimal} Person[p2]! by ends",
        ]
    );
}

#[test]
fn a_call_that_does_not_fit_says_why() {
    let catalogue = catalogue(BANK);
    let mut mapping = RgMapping::new(&catalogue);
    mapping.def_vertex("Person", "person").unwrap().def_vertex("City", "city").unwrap();
    mapping.def_edge("LIVES_IN", "Person", "City", "city_id").unwrap();
    let text = |result: evergraph_graph::error::Result<&mut RgMapping<'_>>| result.unwrap_err().to_string();
    assert_eq!(
        text(mapping.def_vertex("X", "persn")),
        "\"persn\" is no table of the database; did you mean `person`?"
    );
    assert_eq!(
        text(mapping.def_vertex("City", "person")),
        "def_vertex: the label \"City\" is defined already"
    );
    assert_eq!(
        text(mapping.add_vprop("Persn", "a", "age")),
        "no vertices have the label \"Persn\"; did you mean `Person`?: def_vertex comes first"
    );
    assert!(
        text(mapping.add_vprop("Person", "a", "ag"))
            .starts_with("add_vprop: person: there is no column \"ag\"")
    );
    assert_eq!(
        text(mapping.add_vprop("Person", "a", "city.name")),
        "add_vprop: \"city.name\" is no column of person"
    );
    assert_eq!(
        text(mapping.def_edge("E", "City", "Person", "age")),
        "def_edge: \"age\" is a foreign key neither of city to Person nor of person to City"
    );
    assert!(
        text(mapping.def_edge_m_to_m("E", "City", "City", "p1", "p2"))
            .contains("write table.column, of one table")
    );
    assert!(text(mapping.add_eprop("E", "a", "age")).starts_with("add_eprop: no edges are of type \"E\""));
    assert!(
        text(mapping.add_eprop("LIVES_IN", "a", "how"))
            .starts_with("add_eprop: no table with edges LIVES_IN has")
    );
}
