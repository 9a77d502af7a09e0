//! Schema: what is in a database, its statistics and its indexes.

use crate::site;
use evergraph::IndexOptions;
use evergraph_graph::cancel::CancelFlag;
use evergraph_report::statistics::StatisticsReport;
use serde_json::{Value as Json, json};

#[tokio::test]
async fn a_database_is_described_with_the_statistics_of_the_program() {
    let site = site();
    site.run(
        "social",
        "g.addV('Person').property('name', 'Ada').as('a').addV('Person').addE('KNOWS').from('a')",
    );
    let mut reader = site.log_in("reader").await;
    // Whoever asks whether a database is open does not pay for counting degrees.
    let described = reader.get("/databases/social").await;
    assert_eq!((&described["name"], &described["state"]), (&json!("social"), &json!("open")));
    assert_eq!(described.get("statistics"), None);
    let statistics = &reader.get("/databases/social/statistics").await;
    let using = site.databases.get("social").unwrap().begin(CancelFlag::default()).unwrap();
    let expected = StatisticsReport::count(
        using.database(),
        "social".to_owned(),
        None,
        &CancelFlag::default(),
        &|_, _| {},
    );
    let expected = serde_json::to_value(expected.unwrap()).unwrap();
    for member in ["database", "timestamp", "vertices_count", "edges_count", "labels", "edge_types", "engine"]
    {
        assert_eq!(statistics[member], expected[member], "{member}");
    }
    let names = |report: &Json| report.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(statistics), names(&expected));
    assert_eq!((&statistics["vertices_count"], &statistics["edges_count"]), (&json!(2), &json!(1)));
    assert_eq!(statistics["edge_types"][0]["degrees"]["out"]["max"], 1);
    drop(using);
    site.databases.close_database("social").unwrap_or_else(|error| panic!("{error}"));
    let (status, kind, message) = reader.ask("GET", "/databases/social/statistics", "").await.error();
    assert!(status == 503 && kind == "busy" && message.contains("closed"), "{status} {kind} {message}");
}

#[tokio::test]
async fn a_schema_has_labels_types_properties_and_indexes() {
    let site = site();
    site.run(
        "social",
        "g.addV('Person').property('name', 'Ada').as('a').addE('KNOWS').to('a').property('since', 1833)",
    );
    let using = site.databases.get("social").unwrap().begin(CancelFlag::default()).unwrap();
    using.database().create_index(&IndexOptions::on_label("Person", "name").unique()).unwrap();
    using.database().create_index(&IndexOptions::on_edges("KNOWS", "since").ordered()).unwrap();
    drop(using);
    let mut reader = site.log_in("reader").await;
    let schema = reader.get("/databases/social/schema").await;
    assert_eq!(
        schema["labels"],
        json!([{"label": "Person", "vertices": 1, "properties": [{"key": "name", "type": "string", "unique": true}]}])
    );
    let knows = &schema["edge_types"][0];
    assert_eq!((&knows["type"], &knows["edges"]), (&json!("KNOWS"), &json!(1)));
    assert_eq!(knows["joins"], json!([{"source_label": "Person", "target_label": "Person"}]));
    let list = reader.get("/databases/social/indexes").await;
    assert_eq!(list["indexes"], schema["indexes"]);
    let of = |index: &Json| {
        ["of", "owner", "key", "kind"].map(|member| index[member].as_str().unwrap().to_owned())
    };
    let indexes: Vec<[String; 4]> = list["indexes"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(indexes, [["edges", "KNOWS", "since", "ordered"], ["vertices", "Person", "name", "hash"]]);
    let mut admin = site.log_in("admin").await;
    let path = |index: &[String; 4]| format!("/databases/social/indexes/{}", index.join("/"));
    assert_eq!(reader.ask("DELETE", &path(&indexes[0]), "").await.status, 403);
    assert_eq!(admin.ask("DELETE", &path(&indexes[0]), "").await.status, 204);
    let (status, kind, message) = admin.ask("DELETE", &path(&indexes[0]), "").await.error();
    assert_eq!((status, &*kind), (404, "not_found"), "{message}");
    for wrong in ["nodes/Person/name/hash", "vertices/Person/name/tree", "vertices/Person/name"] {
        let answer = admin.ask("DELETE", &format!("/databases/social/indexes/{wrong}"), "").await;
        assert!(matches!(answer.status, 400 | 404), "{wrong}: {}", answer.text());
    }
    assert_eq!(reader.get("/databases/social/indexes").await["indexes"].as_array().unwrap().len(), 1);
    let audit = site.audit();
    let words =
        r#""database":"social","detail":"drop an index: \"edges\", \"KNOWS\", \"since\", \"ordered\"""#;
    assert!(audit.contains(words), "{audit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_built_by_a_job() {
    let site = site();
    site.run("social", "g.addV('Person').property('name', 'Ada').addV('Person').property('name', 'Mary')");
    let mut admin = site.log_in("admin").await;
    let path = "/databases/social/indexes";
    let request =
        json!({"of": "vertices", "owner": "Person", "key": "name", "kind": "ordered", "unique": true});
    let answer = admin.ask("POST", path, request.to_string()).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = crate::jobs::ended(&mut admin, answer.json()["id"].as_str().unwrap()).await;
    assert_eq!((&job["kind"], &job["result"]), (&json!("createIndex"), &json!({"created": true})), "{job}");
    let list = admin.get(path).await;
    let index = &list["indexes"][0];
    assert_eq!(
        (&index["kind"], &index["unique"], &index["entries"]),
        (&json!("ordered"), &json!(true), &json!(2))
    );
    // What is there already is no error, and one that cannot be says why.
    let again = admin.ask("POST", path, request.to_string()).await.json();
    let job = crate::jobs::ended(&mut admin, again["id"].as_str().unwrap()).await;
    assert_eq!((&job["state"], &job["result"]), (&json!("done"), &json!({"created": false})), "{job}");
    site.run("social", "g.addV('Twin').property('name', 'Ann').addV('Twin').property('name', 'Ann')");
    let twins = json!({"of": "vertices", "owner": "Twin", "key": "name", "unique": true});
    let twins = admin.ask("POST", path, twins.to_string()).await.json();
    let job = crate::jobs::ended(&mut admin, twins["id"].as_str().unwrap()).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(admin.get(path).await["indexes"].as_array().unwrap().len(), 1);
    for (wrong, said) in [
        (json!({"of": "vertices", "owner": "Person"}), "`key`"),
        (json!({"of": "nodes", "owner": "Person", "key": "name"}), "`vertices`"),
        (json!({"of": "edges", "owner": "KNOWS", "key": "since", "kind": "tree"}), "tree"),
        (json!({"of": "edges", "owner": "KNOWS", "key": "since", "uniqe": true}), "`unique`"),
    ] {
        let (status, _, message) = admin.ask("POST", path, wrong.to_string()).await.error();
        assert!(status == 400 && message.contains(said), "{wrong}: {status} {message}");
    }
}
