//! Jobs: followed to their end, with progress, and cancelled with whoever follows them.

use crate::eventually;
use crate::site::Site;
use evergraph::{IndexKind, OwnerName};
use evergraph_client::admin::call::Admin;
use evergraph_client::admin::jobs::JobRequest;
use evergraph_client::admin::uploads::Upload;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_storage::indexing::IndexRequest;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value as Json;
use std::io::{Read, Write};
use std::thread;

fn state_of(admin: &Admin, kind: &str) -> String {
    let jobs = admin.jobs().unwrap();
    jobs.into_iter().find(|job| job.kind == kind).map_or_else(String::new, |job| job.state)
}

/// An upload without an end, which was stopped in the middle.
pub fn stopped_upload(admin: &Admin) -> Upload {
    let flag = CancelFlag::default();
    let upload = admin.clone().cancel(&flag).begin_upload().unwrap();
    let mut tell = |read| {
        if read > 1 << 20 {
            flag.cancel();
        }
    };
    let cancelled = upload.send("people.csv", &mut std::io::repeat(b'1'), None, &mut tell).unwrap_err();
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled);
    upload
}

#[test]
fn a_job_is_followed_to_its_end_and_its_errors_are_ours() {
    let site = Site::new();
    site.run("g.addV('Person')");
    let admin = site.admin("admin");
    let job = admin.start_job(&JobRequest::new("check")).unwrap();
    let job = admin.follow_job(&job.id, &mut |_| {}).unwrap();
    assert_eq!((&*job.state, &job.result.unwrap()["healthy"]), ("done", &Json::Bool(true)));
    assert_eq!(admin.jobs().unwrap().len(), 1);
    admin.cancel_job(&job.id).unwrap();
    assert_eq!(
        admin.job(&job.id).unwrap_err().kind(),
        ErrorKind::NotFound,
        "one that has ended is forgotten"
    );
    let wrong = admin.start_job(&JobRequest::new("check").with("deep", true)).unwrap_err();
    assert!(wrong.kind() == ErrorKind::Invalid && wrong.to_string().contains("deep"), "{wrong}");
    let refused = site.admin("writer").start_job(&JobRequest::new("check")).unwrap_err();
    assert!(refused.to_string().contains("admin"), "{refused}");
}

/// Rows of an import that takes longer than any test waits, in some megabytes: packed pieces, one behind another.
fn endless_rows() -> Vec<u8> {
    let pack = |rows: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(rows).unwrap();
        packed.finish().unwrap()
    };
    let mut all = pack(b"id:ID(Person),name\n");
    all.extend(pack(&b"1,Ada\n".repeat(1 << 14)).repeat(1 << 14));
    all
}

#[test]
fn a_job_is_cancelled_on_the_server_with_whoever_follows_it() {
    let site = Site::new();
    site.run("g.addV('Person').property('name', 'Ada')");
    let admin = site.admin("admin");
    let upload = admin.begin_upload().unwrap();
    let rows = endless_rows();
    upload.send("people.csv.gz", &mut &rows[..], Some(rows.len() as u64), &mut |_| {}).unwrap();
    let import = JobRequest::new("import").with("upload", upload.id()).with("onBadRow", "skip");
    let import = admin.start_job(&import).unwrap();
    eventually("the import runs", || state_of(&admin, "import") == "running");

    // One that waits for it.
    let flag = CancelFlag::default();
    let following = thread::spawn({
        let admin = admin.clone().cancel(&flag);
        move || {
            let owner = OwnerName::Label("Person");
            let request = IndexRequest { owner, key: "name", kind: IndexKind::Hash, unique: false };
            admin.create_index::<Json>(&request, &mut |_| {})
        }
    });
    eventually("the index waits", || state_of(&admin, "createIndex") == "queued");
    flag.cancel();
    assert_eq!(following.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(state_of(&admin, "createIndex"), "cancelled", "an interrupted job is cancelled on the server");
    assert!(admin.indexes::<Json>().unwrap().is_empty());

    // One that runs: it is interrupted by what it tells.
    let flag = CancelFlag::default();
    let mut told = 0;
    let cancelled = admin.clone().cancel(&flag).follow_job(&import.id, &mut |progress| {
        assert_eq!(&*progress.unit, "bytes");
        told += 1;
        flag.cancel();
    });
    assert_eq!((cancelled.unwrap_err().kind(), told), (ErrorKind::Cancelled, 1));
    assert_eq!(state_of(&admin, "import"), "cancelled", "an interrupted job is cancelled on the server");
    drop(upload);
    eventually("its files are gone", || std::fs::read_dir(site.spool("uploads")).unwrap().next().is_none());
}

#[test]
fn an_upload_is_there_as_a_whole_or_not_at_all() {
    let site = Site::new();
    let admin = site.admin("admin");
    let upload = admin.begin_upload().unwrap();
    let folder = site.spool("uploads").join(upload.id());
    let is_empty = || std::fs::read_dir(&folder).unwrap().next().is_none();
    let send = |bytes: &mut dyn Read, length| upload.send("people.csv", bytes, length, &mut |_| {});
    let short = send(&mut &b"id:ID\n1\n"[..], Some(1 << 20)).unwrap_err();
    assert!(short.kind() == ErrorKind::Io && short.to_string().contains("shorter"), "{short}");
    eventually("nothing is left", is_empty);
    let long = send(&mut std::io::repeat(b'1'), Some(1 << 50)).unwrap_err();
    assert!(long.kind() == ErrorKind::Limit && long.to_string().contains("--upload-limit"), "{long}");
    let stopped = stopped_upload(&admin);
    let left = site.spool("uploads").join(stopped.id());
    drop(stopped);
    eventually("it is gone with whoever sent it", || !left.exists());
    let bad_name = upload.send("../a", &mut &b"1"[..], Some(1), &mut |_| {}).unwrap_err();
    assert_eq!(bad_name.kind(), ErrorKind::Invalid, "{bad_name}");

    send(&mut &b"id:ID(Person),name\n1,Ada\n"[..], None).unwrap();
    let import = admin.start_job(&JobRequest::new("import").with("upload", upload.id())).unwrap();
    let done = admin.follow_job(&import.id, &mut |_| {}).unwrap();
    assert_eq!(done.result.unwrap()["vertices"], 1);
    assert!(!folder.exists());
    for user in ["reader", "writer"] {
        let refused = site.admin(user).begin_upload().unwrap_err();
        assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains("admin"), "{refused}");
    }
}
