//! Files of jobs: which paths of the server clients may name, how much they may upload, and what is left by nobody.

use crate::jobs::{done, ended, spool_is_empty, upload};
use crate::support::http_client::{ANSWER_TIME, Client, basic, raw_until};
use crate::support::secured_site::{PASSWORD, edit_users};
use crate::support::served::{eventually, patient};
use crate::{Site, site_with_files, site_with_limits};
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::security::role::Role;
use evergraph_server::spool::options::FileOptions;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PEOPLE: &str = "id:ID(Person),name\n1,Ada\n2,Charles\n";

fn site_of(files: FileOptions) -> Site {
    site_with_files(CatalogueOptions::default(), CreateOptions::default(), files, |_| {})
}

/// A site whose jobs read `in` and write `out`, beside a folder `secret` that links in both lead to.
fn site_with_links() -> (Site, TempDir) {
    let all = tempfile::tempdir().unwrap();
    for folder in ["in/2026", "in/linked", "out", "secret"] {
        fs::create_dir_all(all.path().join(folder)).unwrap();
    }
    let place = |name: &str| all.path().join(name);
    fs::write(place("in/2026/people.csv"), PEOPLE).unwrap();
    fs::write(place("secret/people.csv"), PEOPLE.replace("Ada", "Secret")).unwrap();
    fs::write(place("secret/mapping.toml"), "").unwrap();
    for (target, link) in [
        ("secret/people.csv", "in/link.csv"),
        ("secret/people.csv", "in/linked/people.csv"),
        ("secret/mapping.toml", "in/link.toml"),
        ("secret", "in/up"),
        ("secret", "out/up"),
        ("secret/new", "out/new"),
    ] {
        symlink(place(target), place(link)).unwrap();
    }
    let mut files = FileOptions::default();
    (files.import_folder, files.export_folder) = (Some(place("in")), Some(place("out")));
    (site_of(files), all)
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn paths_of_jobs_do_not_leave_their_folders_and_links_are_not_followed() {
    let (site, all) = site_with_links();
    let (secret, output) = (all.path().join("secret"), all.path().join("out"));
    let mut admin = site.log_in("admin").await;
    let absolute = secret.join("people.csv");
    let absolute = absolute.to_str().unwrap();
    let mut requests = Vec::new();
    for path in [
        "../secret/people.csv",
        "2026/../../secret/people.csv",
        absolute,
        "link.csv",
        "up",
        "up/people.csv",
        "linked",
        ".",
        "",
    ] {
        requests.push(json!({"kind": "import", "from": path}));
        requests.push(
            json!({"kind": "import", "from": ["2026/people.csv", {"path": path, "holds": "vertices"}]}),
        );
    }
    for path in ["../secret/mapping.toml", "link.toml", "up/mapping.toml"] {
        requests.push(json!({"kind": "import", "from": "2026/people.csv", "mapping": path}));
    }
    for path in ["../secret/new", "../new", "a/../../new", absolute, "up", "up/new", "new", ".new", "."] {
        requests.push(json!({"kind": "export", "format": "csv", "to": path, "overwrite": true}));
        requests.push(json!({"kind": "backup", "to": path}));
    }
    let before = [names(&secret), names(&output)];
    let shown = all.path().display().to_string();
    for request in requests {
        let answer = admin.ask("POST", "/databases/social/jobs", request.to_string()).await;
        // What a job reads later, a mapping, is refused by the job.
        let (kind, message) = match answer.status {
            202 => {
                let job = ended(&mut admin, answer.json()["id"].as_str().unwrap()).await;
                assert_eq!(job["state"], "failed", "no path leaves its folder: {request}: {job}");
                let text = |member: &str| job["error"][member].as_str().unwrap().to_owned();
                (text("kind"), text("message"))
            }
            _ => (answer.error().1, answer.error().2),
        };
        assert_eq!(kind, "invalid", "no path leaves its folder: {request}: {message}");
        let told = message.replace(absolute, "");
        assert!(!told.contains(&shown), "no folder of the server is named: {request}: {message}");
    }
    assert_eq!([names(&secret), names(&output)], before, "nothing was written");
    assert_eq!(admin.query("g.V().count()").await.number(), 0, "nothing was read");
    // Others are used.
    let job = done(&mut admin, json!({"kind": "import", "from": "2026/people.csv"})).await;
    assert_eq!((&job["state"], &job["result"]["vertices"]), (&json!("done"), &json!(2)), "{job}");
    for (request, made) in [
        (json!({"kind": "export", "format": "csv", "to": "people"}), "people"),
        (json!({"kind": "backup", "to": "people.eg"}), "people.eg"),
    ] {
        let job = done(&mut admin, request).await;
        assert_eq!((&job["state"], &job["result"]["to"]), (&json!("done"), &json!(made)), "{job}");
        assert!(output.join(made).is_dir() && spool_is_empty(&site, "jobs"));
    }
    let job = done(&mut admin, json!({"kind": "backup", "to": "people.eg"})).await;
    assert_eq!(
        (&job["state"], &job["error"]["kind"]),
        (&json!("failed"), &json!("invalid")),
        "it is taken: {job}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_together_have_a_limit_whether_their_length_is_told_or_not() {
    let mut files = FileOptions::default();
    files.upload_bytes_max = 1000;
    let site = site_of(files);
    let mut admin = site.log_in("admin").await;
    let id = upload(&mut admin, &[("first.csv", &"a".repeat(600))]).await;
    let folder = site.root().join(".evergraph-spool/uploads").join(&id);
    let answer = admin.ask("PUT", &format!("/uploads/{id}/second.csv"), "b".repeat(401)).await;
    assert_eq!(answer.status, 413, "uploads have a limit: {}", answer.text());
    let (_, kind, message) = answer.error();
    assert_eq!(kind, "limit");
    assert!(message.contains("--upload-limit"), "{message}");
    // Another upload has what is left of the same limit, and its length is not told.
    let other = upload(&mut admin, &[]).await;
    let (login, address) = (basic("admin", PASSWORD), site.server.address());
    let chunked = format!(
        "PUT /uploads/{other}/third.csv HTTP/1.1\r\nHost: {address}\r\nAuthorization: {login}\r\n\
         Transfer-Encoding: chunked\r\n\r\n401\r\n{}\r\n0\r\n\r\n",
        "c".repeat(0x401)
    );
    // The connection is kept.
    let (answer, _) = raw_until(address, chunked.as_bytes(), |answer| answer.contains("\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "uploads have a limit: {answer}");
    eventually("nothing is left of what was too long", async || {
        names(&folder).len() == 1 && names(&folder.with_file_name(&other)).is_empty()
    })
    .await;
    // What was refused takes nothing of the limit.
    let answer = admin.ask("PUT", &format!("/uploads/{id}/second.csv"), "b".repeat(400)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(admin.ask("DELETE", &format!("/uploads/{id}"), "").await.status, 204);
    eventually("its room is free", async || {
        admin.ask("PUT", &format!("/uploads/{other}/all.csv"), "d".repeat(1000)).await.status == 201
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_to_be_fetched_have_the_limit_of_uploads_until_they_are_removed() {
    const LIMIT: usize = 10_000;
    let mut files = FileOptions::default();
    files.upload_bytes_max = LIMIT as u64;
    let site = site_of(files);
    let mut admin = site.log_in("admin").await;
    site.run("social", &format!("g.addV('Person').property('text', '{}')", "t".repeat(2 * LIMIT)));
    let export = json!({"kind": "export", "format": "csv"});
    let job = done(&mut admin, export.clone()).await;
    let told = (&job["state"], &job["error"]["kind"]);
    assert_eq!(told, (&json!("failed"), &json!("limit")), "files to be fetched have a limit: {job}");
    let message = job["error"]["message"].as_str().unwrap();
    assert!(message.contains("--upload-limit"), "{message}");
    eventually("nothing is left of what was too long", async || spool_is_empty(&site, "jobs")).await;
    // A smaller one takes room that uploads do not have then.
    site.run("social", "g.V().drop()");
    site.run("social", "g.addV('Person').property('text', 'short')");
    let job = done(&mut admin, export).await;
    assert_eq!(job["state"], "done", "{job}");
    let id = upload(&mut admin, &[]).await;
    let all = "a".repeat(LIMIT);
    let answer = admin.ask("PUT", &format!("/uploads/{id}/first.csv"), all.clone()).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    let fetched = format!("/jobs/{}/files", job["id"].as_str().unwrap());
    assert_eq!(admin.ask("DELETE", &fetched, "").await.status, 204);
    eventually("its room is free", async || {
        admin.ask("PUT", &format!("/uploads/{id}/second.csv"), all.clone()).await.status == 201
    })
    .await;
}

#[tokio::test]
async fn what_another_server_left_in_its_spool_is_removed_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    let id = "0123456789abcdef0123456789abcdef";
    let left: Vec<PathBuf> = ["uploads", "jobs"].map(|kind| spool.join(kind).join(id)).into();
    for folder in &left {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(".part-1"), "half a file").unwrap();
    }
    fs::write(spool.join("uploads/notes.txt"), "mine").unwrap();
    let mut files = FileOptions::default();
    files.spool = Some(spool.clone());
    let site = site_of(files);
    for folder in &left {
        assert!(!folder.exists(), "the spool is swept at the start: {}", folder.display());
    }
    assert!(spool.join("uploads/notes.txt").exists(), "what is not the server's stays");
    assert_eq!(site.log_in("admin").await.ask("DELETE", &format!("/uploads/{id}"), "").await.status, 404);
}

/// Bytes of a file that no buffer of the system takes whole.
const LARGE_BYTES: u64 = 64 << 20;

/// The path of a large file of a job that is done. It is all zeros, and takes no room on the disk.
async fn large_file(site: &Site, admin: &mut Client) -> String {
    let job = done(admin, json!({"kind": "backup"})).await;
    let id = job["id"].as_str().unwrap_or_else(|| panic!("{job}")).to_owned();
    let path = site.root().join(".evergraph-spool/jobs").join(&id).join("large");
    fs::File::create(path).unwrap().set_len(LARGE_BYTES).unwrap();
    format!("/jobs/{id}/files/large")
}

/// Bytes that still come of a body, until its end or until it is broken off.
async fn bytes_left(body: &mut Incoming) -> u64 {
    let mut bytes = 0;
    loop {
        let next = tokio::time::timeout(ANSWER_TIME, body.frame()).await.expect("a part in time");
        match next {
            Some(Ok(frame)) => bytes += frame.into_data().map_or(0, |part| part.len() as u64),
            Some(Err(_)) | None => return bytes,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_is_broken_off_when_its_user_may_not_read_it_any_more() {
    let site = site_of(FileOptions::default());
    let mut root = site.log_in("root").await;
    let mut admin = site.log_in("admin").await;
    let path = large_file(&site, &mut admin).await;
    // Nobody interferes.
    let mut whole = admin.send("GET", &path, "").await.into_body();
    assert_eq!(bytes_left(&mut whole).await, LARGE_BYTES);
    for change in ["/users/admin/roles/social", "/users/admin"] {
        let mut reader = site.log_in("admin").await;
        let response = reader.send("GET", &path, "").await;
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap().len() as u64;
        assert_eq!(root.ask("DELETE", change, "").await.status, 204);
        let bytes = first + bytes_left(&mut body).await;
        assert!(bytes < LARGE_BYTES, "a download ends with what its user may read: {change}");
        edit_users(&site.folder, |users| {
            // It was removed, or is there without its role.
            let _ = users.add("admin", crate::hash());
            users.grant("admin", "social", Role::Admin).unwrap();
        });
        eventually("the user is back", async || {
            let mut admin = site.log_in("admin").await;
            admin.ask("GET", "/databases/social", "").await.status == 200
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_is_a_request_of_its_user_until_it_is_sent() {
    let mut limits = patient();
    limits.user_requests_max = 2;
    let files = FileOptions::default();
    let site = site_with_limits(limits, CatalogueOptions::default(), CreateOptions::default(), files, |_| {});
    let mut admin = site.log_in("admin").await;
    let path = large_file(&site, &mut admin).await;
    let mut reading = Vec::new();
    for _ in 0..2 {
        let mut reader = site.log_in("admin").await;
        let response = reader.send("GET", &path, "").await;
        assert_eq!(response.status(), 200);
        reading.push((reader, response));
    }
    let answer = admin.ask("GET", "/jobs", "").await;
    assert_eq!(answer.status, 503, "a download counts until it is sent: {}", answer.text());
    assert!(answer.error().2.contains("requests that are not answered"), "{}", answer.text());
    // One is given up, the other one read.
    let (reader, response) = reading.pop().unwrap();
    drop((response, reader));
    let (_reader, response) = reading.pop().unwrap();
    let mut body = response.into_body();
    assert_eq!(bytes_left(&mut body).await, LARGE_BYTES);
    eventually("both are given back", async || {
        let mut others = Vec::new();
        for _ in 0..2 {
            let mut reader = site.log_in("admin").await;
            let response = reader.send("GET", &path, "").await;
            let is_answered = response.status() == 200;
            others.push((reader, response));
            if !is_answered {
                return false;
            }
        }
        true
    })
    .await;
}
