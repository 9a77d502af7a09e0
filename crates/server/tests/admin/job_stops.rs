//! What stops a job, and what goes on beside it: nothing is left of one that is cancelled, readers read, progress only grows.
//!
//! A job is caught while it runs: its state is asked for until it is at work, and then it is stopped. Where one was done
//! before that, the next one has twice the work, so that no machine is too fast for these tests.

use crate::jobs::{ended, spool_is_empty, started};
use crate::support::http_client::{Answer, Client, basic, raw};
use crate::support::secured_site::{PASSWORD, edit_users};
use crate::support::served::eventually;
use crate::{Site, site, site_with_files};
use evergraph::EngineKind;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::spool::options::FileOptions;
use serde_json::{Value as Json, json};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// People of a first import.
const PEOPLE: usize = 15_000;
/// How often a job is started that is done before it is stopped: each has twice the people of the one before.
const TRIES: usize = 7;

/// A site, and folders of the server that imports read and exports write.
struct Folders {
    site: Site,
    _all: TempDir,
    input: PathBuf,
    output: PathBuf,
    /// People of the next import.
    people: Cell<usize>,
}

impl Folders {
    /// Doubles the people of the next import.
    fn grow(&self) {
        self.people.set(2 * self.people.get());
        write_people(&self.input, self.people.get());
    }

    /// Doubles the people of the next import, and waits until they are in the database, under a label of their own.
    async fn fill(&self, client: &mut Client) {
        self.grow();
        let id = started(client, import_as(&format!("more, {}", self.people.get()))).await;
        assert_eq!(ended(client, &id).await["state"], "done");
    }
}

fn folders(engine: EngineKind) -> Folders {
    folders_with(engine, |_| {})
}

fn folders_with(engine: EngineKind, change: impl FnOnce(&mut CatalogueOptions)) -> Folders {
    let mut options = CatalogueOptions::default();
    change(&mut options);
    let all = tempfile::tempdir().unwrap();
    let [input, output] = ["in", "out"].map(|name| all.path().join(name));
    for folder in [&input, &output] {
        std::fs::create_dir(folder).unwrap();
    }
    let mut files = FileOptions::default();
    (files.import_folder, files.export_folder) = (Some(input.clone()), Some(output.clone()));
    let create = CreateOptions { engine: Some(engine), ..CreateOptions::default() };
    let site = site_with_files(options, create, files, |_| {});
    write_people(&input, PEOPLE);
    Folders { site, _all: all, input, output, people: Cell::new(PEOPLE) }
}

/// So many people, each of whom knows another one.
fn write_people(folder: &Path, count: usize) {
    let (mut people, mut knows) = ("id:ID,name\n".to_owned(), ":START_ID,:END_ID\n".to_owned());
    for person in 0..count {
        writeln!(people, "{person},the name of {person}").unwrap();
        writeln!(knows, "{person},{}", (person * 7 + 1) % count).unwrap();
    }
    std::fs::write(folder.join("people.csv"), people).unwrap();
    std::fs::write(folder.join("knows.csv"), knows).unwrap();
}

fn import() -> Json {
    import_as("people")
}

/// An import of all people under this label: those of another import, with the same ids, are others.
fn import_as(label: &str) -> Json {
    let people = json!({"path": "people.csv", "holds": "vertices", "label": label});
    let knows = json!({"path": "knows.csv", "holds": "edges", "type": format!("KNOWS of {label}")});
    json!({"kind": "import", "from": [people, knows]})
}

/// Names of all files and folders below `folder`.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(self::names(&path));
        }
        names.push(path);
    }
    names.sort();
    names
}

/// Starts a job, and asks for it until it says how far it is, or has ended.
async fn at_work(client: &mut Client, request: &Json) -> String {
    let id = started(client, request.clone()).await;
    eventually("a job is at work", async || {
        let job = client.get(&format!("/jobs/{id}")).await;
        !job["progress"].is_null() || !job["endedAt"].is_null()
    })
    .await;
    id
}

/// Starts jobs until one is cancelled at work; `request` is that of each try.
async fn cancelled(folders: &Folders, client: &mut Client, request: impl Fn(usize) -> Json) -> Json {
    for at in 0..TRIES {
        let id = at_work(client, &request(at)).await;
        let path = format!("/jobs/{id}");
        if client.ask("DELETE", &path, "").await.status == 202 {
            let job = ended(client, &id).await;
            if job["state"] == "cancelled" {
                return job;
            }
            assert_eq!(job["state"], "done", "{job}");
            client.ask("DELETE", &path, "").await;
        }
        // It was done already.
        for entry in std::fs::read_dir(&folders.output).unwrap() {
            let path = entry.unwrap().path();
            std::fs::remove_dir_all(path).unwrap();
        }
        match request(at)["kind"] == "import" {
            true => folders.grow(),
            false => folders.fill(client).await,
        }
    }
    panic!("a job that is cancelled stops: {}", request(0));
}

async fn a_job_that_is_cancelled_leaves_nothing_of(engine: EngineKind) {
    let folders = folders(engine);
    let mut admin = folders.site.log_in("admin").await;
    let database = folders.site.root().join("social.eg");
    let empty = names(&database);
    cancelled(&folders, &mut admin, |at| import_as(&format!("try{at}"))).await;
    let count = admin.query("g.V().count()").await.number();
    if count == 0 {
        eventually("its files are gone", async || names(&database) == empty).await;
    }
    folders.fill(&mut admin).await;
    for request in [
        json!({"kind": "export", "format": "csv"}),
        json!({"kind": "export", "format": "csv", "to": "people"}),
        json!({"kind": "backup", "check": true}),
        json!({"kind": "backup", "check": true, "to": "people.eg"}),
    ] {
        let job = cancelled(&folders, &mut admin, |_| request.clone()).await;
        assert_eq!((&job["error"]["kind"], job.get("result")), (&json!("cancelled"), None), "{job}");
        assert!(names(&folders.output).is_empty(), "{request}: {:?}", names(&folders.output));
        let files = admin.get(&format!("/jobs/{}/files", job["id"].as_str().unwrap())).await;
        assert_eq!(files, json!({"files": []}));
    }
    for id in admin.get("/jobs").await["jobs"].as_array().unwrap() {
        admin.ask("DELETE", &format!("/jobs/{}", id["id"].as_str().unwrap()), "").await;
    }
    eventually("nothing is left of them", async || spool_is_empty(&folders.site, "jobs")).await;
    assert!(
        admin.query("g.V().count()").await.number() >= folders.people.get() as i64,
        "what was imported is there"
    );
    assert_eq!(admin.query("g.addV('Later').count()").await.number(), 1);
    assert_eq!(names(&folders.input).len(), 2);
    let check = started(&mut admin, json!({"kind": "check"})).await;
    assert_eq!(ended(&mut admin, &check).await["result"]["healthy"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_cancelled_leaves_nothing_with_the_memory_engine() {
    a_job_that_is_cancelled_leaves_nothing_of(EngineKind::Memory).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_cancelled_leaves_nothing_with_the_disk_engine() {
    a_job_that_is_cancelled_leaves_nothing_of(EngineKind::Disk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_cancelled_leaves_nothing_with_the_mapped_engine() {
    a_job_that_is_cancelled_leaves_nothing_of(EngineKind::Mapped).await;
}

/// Whether `answer` is that of a commit, or of one that was refused as busy.
fn is_written(answer: &Answer) -> bool {
    let (status, code) = (answer.status, answer.code());
    assert!(matches!((status, code), (200, 200) | (503, 596)), "{}", answer.text());
    status == 200
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_an_import_is_built_reads_go_on_and_commits_are_refused_as_busy() {
    for engine in EngineKind::ALL {
        let folders = folders(engine);
        let mut are_refused = false;
        for at in 0..TRIES {
            let label = format!("try{at}");
            are_refused = commits_are_refused_beside_an_import_of(&folders, &label).await;
            if are_refused {
                break;
            }
            folders.grow();
        }
        assert!(are_refused, "{engine}: commits are refused while an import is built");
    }
}

/// Imports people under `label` while others read and write, and returns whether a commit was refused meanwhile.
async fn commits_are_refused_beside_an_import_of(folders: &Folders, label: &str) -> bool {
    let [mut admin, mut writer, mut reader] = [
        folders.site.log_in("admin").await,
        folders.site.log_in("writer").await,
        folders.site.log_in("reader").await,
    ];
    let (all, before) = (folders.people.get() as i64, reader.query("g.V().count()").await.number());
    let id = started(&mut admin, import_as(label)).await;
    let (mut written, mut refused) = (0, 0);
    loop {
        let job = admin.get(&format!("/jobs/{id}")).await;
        match is_written(&writer.query(&format!("g.addV('Late {label}')")).await) {
            true => written += 1,
            false => refused += 1,
        }
        let people = reader.query(&format!("g.V().hasLabel('{label}').count()")).await.number();
        assert!(people == 0 || people == all, "an import is read as a whole: {people}");
        let late = reader.query(&format!("g.V().hasLabel('Late {label}').count()")).await.number();
        assert_eq!(late, written);
        if !job["endedAt"].is_null() {
            assert_eq!(job["state"], "done", "an import that no commit disturbs is done: {job}");
            break;
        }
    }
    assert!(is_written(&writer.query(&format!("g.addV('Late {label}')")).await), "and then they go on");
    assert_eq!(reader.query("g.V().count()").await.number(), before + all + written + 1);
    refused > 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_only_grows_up_to_its_total_and_phases_come_in_order() {
    let folders = folders(EngineKind::Disk);
    let mut admin = folders.site.log_in("admin").await;
    for (request, order) in [
        (import(), &["read", "build", "write"][..]),
        (json!({"kind": "export"}), &["look", "write"]),
        (json!({"kind": "backup"}), &["copy"]),
        (json!({"kind": "checkpoint"}), &["write"]),
    ] {
        let id = started(&mut admin, request.clone()).await;
        let mut seen: Vec<(String, u64, Option<u64>)> = Vec::new();
        loop {
            let job = admin.get(&format!("/jobs/{id}")).await;
            if let Some(progress) = job["progress"].as_object() {
                let (done, total) = (progress["done"].as_u64().unwrap(), progress["total"].as_u64());
                assert!(total.is_none_or(|total| done <= total), "{job}");
                let phase = progress["phase"].as_str().unwrap().to_owned();
                match seen.last_mut() {
                    Some(last) if last.0 == phase => {
                        assert!(last.1 <= done, "{request}: {} of {phase}, and then {done}", last.1);
                        assert!(last.2.is_none() || last.2 == total, "{request}: {:?}, {total:?}", last.2);
                        *last = (phase, done, total);
                    }
                    _ => seen.push((phase, done, total)),
                }
            }
            if !job["endedAt"].is_null() {
                assert_eq!(job["state"], "done", "{job}");
                break;
            }
        }
        let phases: Vec<&str> = seen.iter().map(|(phase, ..)| &**phase).collect();
        let mut expected = order.iter();
        assert!(phases.iter().all(|phase| expected.any(|known| known == phase)), "{request}: {phases:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_ends_with_the_role_and_with_the_log_in_of_its_user() {
    let folders = folders(EngineKind::Memory);
    let mut root = folders.site.log_in("root").await;
    let mut ends = 0;
    for at in 0..TRIES {
        let mut admin = folders.site.log_in("admin").await;
        let id = at_work(&mut admin, &import_as(&format!("try{at}"))).await;
        let path = if ends == 0 { "/users/admin/roles/social" } else { "/users/admin" };
        assert_eq!(root.ask("DELETE", path, "").await.status, 204);
        let job = ended(&mut root, &id).await;
        match job["state"] == "cancelled" {
            true => ends += 1,
            false => folders.grow(),
        }
        edit_users(&folders.site.folder, |users| {
            let _ = users.add("admin", crate::hash());
            users.grant("admin", "social", evergraph_server::security::role::Role::Admin).unwrap();
        });
        eventually("the user is back", async || {
            let mut admin = folders.site.log_in("admin").await;
            admin.ask("GET", "/databases/social", "").await.status == 200
        })
        .await;
        if ends == 2 {
            return;
        }
    }
    panic!("a job ends with what its user may do: {ends} of 2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_algorithm_whose_client_leaves_is_cancelled() {
    let site = site();
    site.run("social", "g.addV('Person').as('a').addV('Person').addE('KNOWS').from('a')");
    let login = basic("reader", PASSWORD);
    let address = site.server.address();
    let body = r#"{"iterations": 4000000000, "tolerance": 0}"#;
    let head = format!(
        "POST /databases/social/algorithms/pagerank HTTP/1.1\r\nHost: {address}\r\nAuthorization: {login}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut reader = site.log_in("reader").await;
    let running = tokio::spawn(async move { raw(address, head.as_bytes(), Duration::from_secs(60)).await });
    eventually("it runs", async || reader.get("/queries").await["queries"].as_array().unwrap().len() == 1)
        .await;
    running.abort();
    eventually("an algorithm ends whose client is gone", async || {
        reader.get("/queries").await["queries"].as_array().unwrap().is_empty()
    })
    .await;
    let ended = reader.ask("GET", "/metrics", "").await.text().to_owned();
    let counts: BTreeMap<&str, &str> = ended.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    let gone = counts.iter().find(|(name, _)| name.contains("algorithm") && name.contains("gone"));
    assert_eq!(gone.map(|(_, count)| *count), Some("1"), "{ended}");
}

/// A job that does not end in time keeps its database open, and whoever closes it hears which one that is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_a_job_holds_up_ends_in_time_and_names_the_job() {
    let folders = folders_with(EngineKind::Memory, |options| {
        (options.close_grace, options.close_time_max) = (Duration::ZERO, Duration::ZERO);
    });
    let mut admin = folders.site.log_in("admin").await;
    for at in 0..TRIES {
        let id = at_work(&mut admin, &import_as(&format!("try{at}"))).await;
        let answer = admin.ask("POST", "/databases/social/close", "").await;
        let job = ended(&mut admin, &id).await;
        if answer.status == 200 {
            // It had ended before.
            assert_eq!(admin.ask("POST", "/databases/social/open", "").await.status, 200);
            folders.grow();
            continue;
        }
        let (status, kind, message) = answer.error();
        assert_eq!((status, &*kind), (503, "busy"), "{message}");
        assert!(message.contains(&format!("jobs: import {id}")), "{message}");
        assert!(message.contains("is open as before"), "{message}");
        assert!(matches!(job["state"].as_str(), Some("cancelled" | "done")), "{job}");
        assert!(is_written(&admin.query("g.addV('Later')").await), "it is open as before");
        return;
    }
    panic!("a job at work holds up a close");
}

/// One that changes its database runs at a time, so others wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_jobs_of_a_database_do_not_take_all_places_of_the_queue() {
    let folders = folders(EngineKind::Memory);
    folders.site.databases.create_database("bank", CreateOptions::default()).unwrap();
    let mut root = folders.site.log_in("root").await;
    let mut ids = vec![at_work(&mut root, &import()).await];
    let mut refused = None;
    // Those that are done meanwhile leave their places.
    for at in 0..400 {
        let request = import_as(&format!("try{at}")).to_string();
        let answer = root.ask("POST", "/databases/social/jobs", request).await;
        if answer.status == 503 {
            refused = Some(answer.error().2);
            break;
        }
        ids.push(answer.json()["id"].as_str().unwrap().to_owned());
    }
    let refused = refused.expect("the jobs of a database have a limit of their own");
    assert!(refused.contains("\"social\""), "the jobs of a database have a limit of their own: {refused}");
    assert!(ids.len() >= 17, "one runs and 16 wait: {}", ids.len());
    // Another database has places still.
    let check = json!({"kind": "check"}).to_string();
    let answer = root.ask("POST", "/databases/bank/jobs", check).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = ended(&mut root, answer.json()["id"].as_str().unwrap()).await;
    assert_eq!(job["state"], "done", "{job}");
    // The newest first: none begins meanwhile.
    for id in ids.iter().rev() {
        assert!(matches!(root.ask("DELETE", &format!("/jobs/{id}"), "").await.status, 202 | 204));
    }
}
