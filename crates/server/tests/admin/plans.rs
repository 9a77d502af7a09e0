//! Plans: explained and profiled by HTTP, by the roles and limits of queries.

use crate::site;
use crate::support::http_client::Client;
use serde_json::{Value as Json, json};

async fn ask(client: &mut Client, what: &str, body: &Json) -> (u16, Json) {
    let answer = client.ask("POST", &format!("/databases/social/{what}"), body.to_string()).await;
    (answer.status, answer.json())
}

#[tokio::test]
async fn a_plan_is_shown_as_the_program_shows_it() {
    let site = site();
    site.run("social", "g.addV('Person').property('name', 'Ada')");
    let mut reader = site.log_in("reader").await;
    let query = json!({"gremlin": "g.V().has('Person', 'name', n).count()", "bindings": {"n": "Ada"}});
    let (status, explained) = ask(&mut reader, "explain", &query).await;
    assert_eq!(status, 200, "{explained}");
    let step = &explained["plan"]["steps"][0];
    assert!(step["step"].as_str().unwrap().contains("\"Ada\"") && step["rows"].is_null(), "{explained}");
    assert!(explained["text"].as_str().unwrap().starts_with("step "), "{explained}");
    let (status, profiled) = ask(&mut reader, "profile", &query).await;
    assert_eq!((status, &profiled["plan"]["steps"][0]["rows"]), (200, &json!(1)), "{profiled}");
    let (_, noted) = ask(&mut reader, "explain", &json!({"gremlin": "g.V().hasLabel('Persn')"})).await;
    assert!(noted["plan"]["notes"][0].as_str().unwrap().contains("did you mean `Person`?"), "{noted}");
}

#[tokio::test]
async fn a_profile_runs_by_the_role_of_its_user_and_within_the_limits_of_queries() {
    let site = site();
    site.run("social", "g.addV('Person')");
    let (mut reader, mut writer) = (site.log_in("reader").await, site.log_in("writer").await);
    let write = json!({"gremlin": "g.addV('Person')"});
    let count = async |client: &mut Client| client.query("g.V().count()").await.number();
    let (status, refused) = ask(&mut reader, "profile", &write).await;
    assert!(
        status == 403 && refused["error"]["message"].as_str().unwrap().contains("role reader"),
        "{refused}"
    );
    assert_eq!(ask(&mut reader, "explain", &write).await.0, 200);
    assert_eq!(count(&mut reader).await, 1);
    assert_eq!(ask(&mut writer, "profile", &write).await.0, 200);
    assert_eq!(count(&mut reader).await, 2, "a query that writes is committed, as by the program");
    let endless = "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))";
    let endless = json!({"gremlin": endless, "evaluationTimeout": 50});
    let (status, late) = ask(&mut reader, "profile", &endless).await;
    assert!(status == 504, "{late}");
    for (body, words) in [
        (json!({"gremlin": "g.V().otu()"}), "out"),
        (json!({"gremlin": "g.V()", "aliases": {"g": "other"}}), "the path names the database"),
        (json!({"gremlin": "g.V()", "depth": 7}), "depth"),
        (json!({"gremlin": "g.io('/etc/passwd').read()"}), "files of the server"),
        (json!({}), "gremlin"),
    ] {
        let (status, wrong) = ask(&mut reader, "profile", &body).await;
        let message = wrong["error"]["message"].as_str().unwrap();
        assert!(status == 400 && message.contains(words), "{body}: {status} {message}");
    }
    let (_, wrong) = ask(&mut reader, "explain", &json!({"gremlin": "g.V().otu()"})).await;
    assert_eq!((&wrong["error"]["line"], &wrong["error"]["column"]), (&json!(1), &json!(7)));
}
