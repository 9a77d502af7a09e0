//! Over TLS: jobs, uploads, downloads and algorithms, whose bytes go through another stream than those of queries.

use crate::jobs::stopped_upload;
use crate::site::Site;
use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use evergraph_analysis::arguments::Arguments;
use evergraph_analysis::table::by_name;
use evergraph_client::admin::call::Admin;
use evergraph_client::admin::jobs::{JobRequest, RemoteJob};
use evergraph_client::algorithm::{AlgorithmRequest, NameKey};
use evergraph_client::algorithm_answer::RowKey;
use evergraph_graph::error::ErrorKind;
use serde_json::json;

/// Rows of a table of some megabytes, which no record of TLS holds.
const ROWS: usize = 60_000;

fn done(admin: &Admin, request: &JobRequest) -> RemoteJob {
    let started = admin.start_job(request).unwrap();
    admin.follow_job(&started.id, &mut |_| {}).unwrap()
}

/// Imports the rows by an upload.
fn fill(admin: &Admin) {
    let rows: String = (0..ROWS).map(|id| format!("{id},the vertex with the number {id}\n")).collect();
    let table = format!("id:ID,name\n{rows}").into_bytes();
    let upload = admin.begin_upload().unwrap();
    let mut told = 0;
    upload.send("people.csv", &mut &table[..], Some(table.len() as u64), &mut |bytes| told = bytes).unwrap();
    assert_eq!(told, table.len() as u64);
    let import = done(admin, &JobRequest::new("import").with("upload", upload.id()));
    assert_eq!(import.result.unwrap()["vertices"], ROWS);
}

#[test]
fn jobs_uploads_and_downloads_go_by_tls() {
    let site = Site::with_tls();
    let admin = site.admin("admin");
    fill(&admin);
    assert_eq!(done(&admin, &JobRequest::new("check")).result.unwrap()["healthy"], json!(true));
    let export = done(&admin, &JobRequest::new("export").with("format", "csv").with("packing", "none"));
    let mut found = String::new();
    for file in admin.job_files(&export.id).unwrap() {
        let (mut reader, mut bytes) = (admin.job_file(&export.id, &file).unwrap(), Vec::new());
        while let Some(part) = reader.next_part().unwrap() {
            bytes.extend_from_slice(part);
        }
        assert_eq!(bytes.len() as u64, file.bytes, "{}", file.path);
        found += std::str::from_utf8(&bytes).unwrap();
    }
    assert_eq!(found.matches("the vertex with the number").count(), ROWS);
    admin.forget_job(&export.id);
    let refused = site.admin("reader").begin_upload().unwrap_err();
    assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains("admin"), "{refused}");
    drop(stopped_upload(&admin));
}

#[test]
fn algorithms_go_by_tls() {
    let site = Site::with_tls();
    fill(&site.admin("admin"));
    let client = site.client("reader", "social");
    let wcc = by_name("wcc").unwrap();
    let none: [(&str, _); 0] = [];
    let request = AlgorithmRequest::new(wcc, Arguments::new(wcc.parameters, none).unwrap());
    let table = client.algorithm(&request).unwrap();
    let vertices =
        table.batches.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec());
    assert!(vertices.eq(0..ROWS as u64));
    let answer = client.algorithm_answer(&request, NameKey::Property("name".to_owned())).unwrap();
    assert_eq!(answer.answer.vertices.len(), ROWS);
    let last = answer.names.name(ROWS - 1);
    assert_eq!((last.label, last.key), ("people", RowKey::Text("the vertex with the number 59999")));
    assert!(site.client("reader", "bank").algorithm(&request).unwrap_err().to_string().contains("bank"));
}
