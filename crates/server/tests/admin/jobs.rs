//! Jobs, uploads and algorithms by HTTP: each kind from its start to its end, and who may see it.

use crate::support::http_client::{Client, raw, raw_until};
use crate::support::served::eventually;
use crate::{Site, site};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Starts a job, and waits for its end.
pub async fn done(client: &mut Client, request: Json) -> Json {
    let id = started(client, request).await;
    ended(client, &id).await
}

pub async fn started(client: &mut Client, request: Json) -> String {
    let answer = client.ask("POST", "/databases/social/jobs", request.to_string()).await;
    assert_eq!(answer.status, 202, "{request}: {}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.header("location"), Some(&*format!("/jobs/{id}")));
    id
}

pub async fn ended(client: &mut Client, id: &str) -> Json {
    let mut job = Json::Null;
    eventually("a job ends", async || {
        job = client.get(&format!("/jobs/{id}")).await;
        !job["endedAt"].is_null()
    })
    .await;
    job
}

pub async fn upload(client: &mut Client, files: &[(&str, &str)]) -> String {
    let answer = client.ask("POST", "/databases/social/uploads", "").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    for (name, text) in files {
        let answer = client.ask("PUT", &format!("/uploads/{id}/{name}"), (*text).to_owned()).await;
        assert_eq!((answer.status, &answer.json()["bytes"]), (201, &json!(text.len())), "{}", answer.text());
    }
    id
}

const PEOPLE: &str = "id:ID(Person),name\n1,Ada\n2,Charles\n";
const KNOWS: &str = ":START_ID(Person),:END_ID(Person),:TYPE\n1,2,KNOWS\n";

async fn fill(client: &mut Client) {
    let id = upload(client, &[("people.csv", PEOPLE), ("knows.csv", KNOWS)]).await;
    let job = done(client, json!({"kind": "import", "upload": id})).await;
    assert_eq!((&job["state"], &job["result"]["vertices"]), (&json!("done"), &json!(2)), "{job}");
    assert_eq!(job["result"]["edges"], 1);
    // It has gone where it was meant for.
    assert_eq!(client.ask("DELETE", &format!("/uploads/{id}"), "").await.status, 404);
}

pub fn spool_is_empty(site: &Site, folder: &str) -> bool {
    std::fs::read_dir(site.root().join(".evergraph-spool").join(folder)).unwrap().next().is_none()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_job_does_its_work_and_its_files_are_fetched() {
    let site = site();
    let mut admin = site.log_in("admin").await;
    fill(&mut admin).await;
    for (kind, member) in [("check", "healthy"), ("checkpoint", "bytesWritten")] {
        let job = done(&mut admin, json!({"kind": kind})).await;
        assert_eq!(
            (&job["state"], &job["kind"], &job["user"]),
            (&json!("done"), &json!(kind), &json!("admin"))
        );
        assert!(!job["result"][member].is_null(), "{job}");
    }
    let job = done(&mut admin, json!({"kind": "export", "format": "csv"})).await;
    assert_eq!(job["state"], "done", "{job}");
    let path = format!("/jobs/{}/files", job["id"].as_str().unwrap());
    let list = admin.get(&path).await;
    let names: Vec<&str> =
        list["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    let people =
        names.iter().find(|name| name.ends_with("/people.csv")).unwrap_or_else(|| panic!("{names:?}"));
    let file = admin.ask("GET", &format!("{path}/{people}"), "").await;
    assert!(file.status == 200 && file.text().contains("Ada"), "{}", file.text());
    for hostile in ["..%2F..%2Flock", "%2Fetc%2Fpasswd", "nothing.csv"] {
        let answer = admin.ask("GET", &format!("{path}/{hostile}"), "").await;
        assert!(matches!(answer.status, 400 | 404), "{hostile}: {} {}", answer.status, answer.text());
    }
    assert_eq!(admin.ask("DELETE", &path, "").await.status, 204);
    eventually("its files are gone", async || spool_is_empty(&site, "jobs")).await;
    let job = done(&mut admin, json!({"kind": "backup", "check": true})).await;
    assert_eq!((&job["state"], &job["result"]["checked"]), (&json!("done"), &json!(true)), "{job}");
    let path = format!("/jobs/{}", job["id"].as_str().unwrap());
    assert_eq!(admin.ask("DELETE", &path, "").await.status, 204);
    assert_eq!(admin.ask("GET", &path, "").await.status, 404);
    eventually("its files are gone", async || spool_is_empty(&site, "jobs")).await;
    assert!(site.audit().contains(r#""event":"job","outcome":"done""#));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_fails_leaves_the_database_as_it_was_and_says_which_line_is_wrong() {
    let site = site();
    let mut admin = site.log_in("admin").await;
    fill(&mut admin).await;
    let id = upload(&mut admin, &[("people.csv", "id:ID(Person),born:int\n3,1815\n4,unknown\n")]).await;
    let job = done(&mut admin, json!({"kind": "import", "upload": id})).await;
    let message = job["error"]["message"].as_str().unwrap_or_else(|| panic!("{job}"));
    assert_eq!((&job["state"], &job["error"]["kind"]), (&json!("failed"), &json!("invalid")));
    assert!(message.contains("people.csv:3") && !message.contains("spool"), "{message}");
    assert_eq!(admin.query("g.V().count()").await.number(), 2);
    // The files are there still, to be read otherwise.
    let job = done(&mut admin, json!({"kind": "import", "upload": id, "onBadRow": "skip"})).await;
    assert_eq!((&job["state"], &job["result"]["badRows"]), (&json!("done"), &json!(1)), "{job}");
    assert_eq!(admin.query("g.V().count()").await.number(), 3);
}

#[tokio::test]
async fn wrong_requests_are_refused_by_name_and_hostile_names_reach_nothing() {
    let site = site();
    let mut admin = site.log_in("admin").await;
    for (request, status, said) in [
        (json!({}), 400, "kind"),
        (json!({"kind": "format"}), 400, "checkpoint"),
        (json!({"kind": "check", "deep": true}), 400, "deep"),
        (json!({"kind": "export", "format": "docx"}), 400, "parquet"),
        (json!({"kind": "export", "to": "../a"}), 400, "--export-folder"),
        (json!({"kind": "import", "from": "../a"}), 400, "--import-folder"),
        (json!({"kind": "import", "upload": "7"}), 404, "upload"),
        (json!({"kind": "import", "upload": "7", "onUnknown": "maybe"}), 400, "create"),
    ] {
        let answer = admin.ask("POST", "/databases/social/jobs", request.to_string()).await;
        let (found, _, message) = answer.error();
        assert!(found == status && message.contains(said), "{request}: {found} {message}");
    }
    let id = upload(&mut admin, &[]).await;
    for name in ["..", "%2e%2e", "..%2Fa", ".a", "a%2Fb", "a%00", "%5C"] {
        let answer = admin.ask("PUT", &format!("/uploads/{id}/{name}"), "x").await;
        assert!(matches!(answer.status, 400 | 404), "{name}: {} {}", answer.status, answer.text());
    }
    let folder = site.root().join(".evergraph-spool/uploads").join(&id);
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none());
    assert_eq!(admin.ask("DELETE", &format!("/uploads/{id}"), "").await.status, 204);
    eventually("the upload is gone", async || !folder.exists()).await;
}

#[tokio::test]
async fn jobs_and_uploads_are_those_of_administrators_of_their_database() {
    let site = site();
    let mut admin = site.log_in("admin").await;
    let job = done(&mut admin, json!({"kind": "check"})).await;
    let upload = upload(&mut admin, &[]).await;
    let path = format!("/jobs/{}", job["id"].as_str().unwrap());
    for user in ["writer", "reader", "nobody"] {
        let mut client = site.log_in(user).await;
        assert_eq!(client.get("/jobs").await, json!({"jobs": []}), "others see no job: {user}");
        for (method, path) in [
            ("GET", path.clone()),
            ("DELETE", path.clone()),
            ("GET", format!("{path}/files")),
            ("DELETE", format!("/uploads/{upload}")),
            ("PUT", format!("/uploads/{upload}/a.csv")),
        ] {
            assert_eq!(client.ask(method, &path, "").await.status, 404, "{user}: {method} {path}");
        }
    }
    assert_eq!(admin.get("/jobs").await["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(site.log_in("root").await.get(&path).await["state"], "done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_in_an_upload_leaves_nothing() {
    let site = site();
    let mut admin = site.log_in("admin").await;
    let id = upload(&mut admin, &[]).await;
    let login = crate::support::http_client::basic("admin", crate::support::secured_site::PASSWORD);
    let address = site.server.address();
    let head = format!(
        "PUT /uploads/{id}/a.csv HTTP/1.1\r\nHost: {address}\r\nAuthorization: {login}\r\nContent-Length: 1000000\r\n\r\nabc"
    );
    drop(raw(address, head.as_bytes(), Duration::from_millis(300)).await);
    let folder = site.root().join(".evergraph-spool/uploads").join(&id);
    eventually("the part is gone", async || std::fs::read_dir(&folder).unwrap().next().is_none()).await;
    let long = format!(
        "PUT /uploads/{id}/a.csv HTTP/1.1\r\nHost: {address}\r\nAuthorization: {login}\r\nContent-Length: {}\r\n\r\n",
        1_u64 << 50
    );
    let (answer, _) = raw_until(address, long.as_bytes(), |answer| answer.contains("--upload-limit")).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("--upload-limit"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn algorithms_are_listed_and_run_as_lines_and_as_an_arrow_stream() {
    let site = site();
    let mut admin = site.log_in("admin").await;
    fill(&mut admin).await;
    let mut reader = site.log_in("reader").await;
    let list = reader.get("/algorithms").await;
    let pagerank =
        list["algorithms"].as_array().unwrap().iter().find(|entry| entry["name"] == "pagerank").unwrap();
    assert!(pagerank["parameters"].as_array().unwrap().iter().any(|one| one["name"] == "damping"));
    let path = "/databases/social/algorithms/pagerank";
    let answer = reader.ask("POST", path, r#"{"iterations": 5, "labels": "people"}"#).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    let lines: Vec<Json> = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{}", answer.text());
    assert!(lines[0]["score"].is_number() && lines[2]["figures"].is_object());
    let named = reader.ask("POST", path, r#"{"names": true, "summary": true}"#).await;
    let lines: Vec<Json> = named.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["label"], &lines[0]["key"]), (&json!("people"), &json!("1")), "{}", named.text());
    let end = lines.last().unwrap();
    assert!(end["summary"].is_string() && end["timestamp"].is_u64() && end["edges"] == 1, "{end}");
    let unnamed = reader.ask("POST", path, r#"{"names": "nme"}"#).await.error();
    assert!(unnamed.0 == 400 && unnamed.2.contains("nme"), "{unnamed:?}");
    let mut arrow = site.log_in("reader").await.with("accept", "application/vnd.apache.arrow.stream");
    let answer = arrow.ask("POST", path, "{}").await;
    assert_eq!(answer.header("content-type"), Some("application/vnd.apache.arrow.stream"));
    assert!(answer.status == 200 && answer.body.len() > 100);
    for (path, body, status, said) in [
        ("/databases/social/algorithms/pagerang", "{}", 404, "pagerank"),
        (path, r#"{"dampng": 1}"#, 400, "damping"),
        (path, r#"{"labels": "Nobody"}"#, 400, "Nobody"),
    ] {
        let (found, _, message) = reader.ask("POST", path, body).await.error();
        assert!(found == status && message.contains(said), "{body}: {found} {message}");
    }
}
