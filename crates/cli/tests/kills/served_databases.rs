//! A server that is killed while it creates or drops a database below its root: the database is there as a whole, or not
//! at all, and what was answered holds.

use crate::bank::{evergraph, run};
use crate::moments::{Moments, cycles, engines, timed};
use crate::service::Service;
use evergraph::EngineKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

const POINTS: u64 = 500;

#[test]
fn a_database_that_is_created_or_dropped_in_a_kill_is_there_as_a_whole_or_not_at_all() {
    engines().into_iter().for_each(change_databases);
}

fn serve(root: &Path) -> Service {
    let mut command = evergraph(&["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--root"]);
    Service::start(command.arg(root)).unwrap()
}

fn query(name: &str, text: &str) -> String {
    serde_json::json!({ "gremlin": text, "aliases": { "g": name } }).to_string()
}

/// The names of the databases, all of which are open.
fn names(service: &Service) -> BTreeSet<String> {
    let answer = service.get("/databases");
    let list: Value = serde_json::from_str(&answer.body).unwrap();
    let all = list["databases"].as_array().unwrap_or_else(|| panic!("{list}"));
    all.iter()
        .map(|database| {
            assert_eq!(database["state"], "open", "{list}");
            database["name"].as_str().unwrap().to_owned()
        })
        .collect()
}

fn create(service: &Service, name: &str, engine: EngineKind) -> Option<u16> {
    let body = format!("{{\"engine\": \"{}\", \"memoryLimitBytes\": {}}}", engine.name(), 64 << 20);
    Some(service.ask("PUT", &format!("/databases/{name}"), &body)?.status)
}

fn change_databases(engine: EngineKind) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut moments = Moments::new();
    let mut service = serve(root);
    // How long both take: kills come within.
    let (created, creating) = timed(|| create(&service, "first", engine));
    assert_eq!(created, Some(201));
    let (dropped, dropping) = timed(|| service.ask("DELETE", "/databases/first", "").unwrap().status);
    assert_eq!(dropped, 204);
    let (mut whole, mut gone) = (0, 0);
    for cycle in 0..cycles(40).max(6) {
        let name = format!("database{cycle}");
        let drops = cycle % 2 == 1;
        if drops {
            assert_eq!(create(&service, &name, engine), Some(201));
            let fill = format!("g.inject(1).repeat(__.addV('Point')).times({POINTS}).discard()");
            assert_eq!(service.ask("POST", "/gremlin", &query(&name, &fill)).unwrap().status, 200);
        }
        let time = moments.within(if drops { dropping } else { creating } * 2);
        let path = format!("/databases/{name}");
        let answered = thread::scope(|scope| {
            let asking = scope.spawn(|| match drops {
                true => service.ask("DELETE", &path, "").map(|answer| answer.status),
                false => create(&service, &name, engine),
            });
            thread::sleep(time);
            service.kill_now();
            asking.join().unwrap()
        });
        service.kill();
        service = serve(root);
        let is_there = names(&service).contains(&name);
        if let Some(status) = answered {
            assert_eq!((status, is_there), if drops { (204, false) } else { (201, true) });
        }
        let left: Vec<_> = root.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let half_made = |name: &std::ffi::OsString| {
            let name = name.to_string_lossy();
            name.starts_with(".evergraph-new-") || name.starts_with(".evergraph-dropped-")
        };
        assert!(!left.iter().any(half_made), "{left:?}");
        if is_there {
            whole += 1;
            let count = service.ask("POST", "/gremlin", &query(&name, "g.V().count()")).unwrap();
            let expected = if drops { POINTS } else { 0 };
            assert!(count.body.contains(&format!("\"@value\":{expected}}}")), "{count:?}");
            assert_eq!(service.ask("POST", &format!("/databases/{name}/close"), "").unwrap().status, 200);
            run(evergraph(&["check"]).arg(root.join(format!("{name}.eg"))));
            assert_eq!(service.ask("DELETE", &format!("/databases/{name}"), "").unwrap().status, 204);
        } else {
            gone += 1;
        }
    }
    println!("{engine}: {whole} were whole, {gone} not there");
}
