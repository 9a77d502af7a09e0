//! Routes: role x verb x database of all routes there are, so that a new one cannot be forgotten.

use crate::support::http_client::{Client, basic, raw};
use crate::support::secured_site::PASSWORD;
use crate::{Site, site_with};
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::http::admin::route::{AdminMethod, AdminRoute, Input, Need};
use evergraph_server::http::admin::routes::ROUTES;
use evergraph_server::security::role::Role;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A path of `route` in the database `name`. Other parts name nothing that there is.
fn path(route: &AdminRoute, name: &str) -> String {
    let parts = route.path.split('/').map(|part| match part {
        "{database}" => name,
        part if part.starts_with('{') => "7",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Whether a user whose greatest role on a database is `role` may send `route`.
fn is_allowed(route: &AdminRoute, role: Option<Role>, is_root: bool) -> bool {
    match route.need {
        Need::LogIn => true,
        Need::OnDatabase(least) => role.is_some_and(|role| role >= least),
        Need::OnEveryDatabase => is_root,
    }
}

async fn send(client: &mut Client, route: &AdminRoute, name: &str) -> (u16, String) {
    let body = if route.input == Input::Nothing { "" } else { "{}" };
    let answer = client.ask(route.method.name(), &path(route, name), body).await;
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

/// A site with a database `case N` for each route, on which users have the roles of their names, made after the start.
fn site_of_cases() -> Site {
    let mut options = CatalogueOptions::default();
    options.open.memory_limit_bytes = u64::MAX - 1;
    options.database_memory_limit_bytes = Some(64 << 20);
    let site = site_with(options, |users| {
        for at in 0..ROUTES.len() {
            for role in Role::ALL {
                users.grant(role.name(), &format!("case{at}"), role).unwrap();
            }
        }
    });
    for at in 0..ROUTES.len() {
        site.databases.create_database(&format!("case{at}"), CreateOptions::default()).unwrap();
    }
    site
}

#[tokio::test]
async fn every_route_is_refused_without_a_log_in_and_without_its_role() {
    let site = site_of_cases();
    // Nobody but an administrator of all has a role on it.
    site.databases.create_database("late", CreateOptions::default()).unwrap();
    let before = site.databases.list();
    let mut stranger = Client::connect(site.server.address()).await.with("content-type", "application/json");
    for route in ROUTES {
        let answer = send(&mut stranger, route, "social").await;
        assert_eq!(answer.0, 401, "{} {}: {}", route.method.name(), route.path, answer.1);
    }
    for (user, role) in [
        ("nobody", None),
        ("reader", Some(Role::Reader)),
        ("writer", Some(Role::Writer)),
        ("admin", Some(Role::Admin)),
    ] {
        let mut client = site.log_in(user).await;
        for (at, route) in ROUTES.iter().enumerate() {
            let what = format!("{user}: {} {}", route.method.name(), route.path);
            if !is_allowed(route, role, false) {
                let answer = send(&mut client, route, &format!("case{at}")).await;
                assert_eq!(answer.0, 403, "a route is refused without its role: {what}: {}", answer.1);
            }
            if !is_allowed(route, None, false) {
                let answers = ["late", "absent"].map(|name| (name, path(route, name)));
                let mut texts = BTreeSet::new();
                for (name, _) in answers {
                    let (status, text) = send(&mut client, route, name).await;
                    assert_eq!(status, 403, "a route is refused without its role: {what}: {text}");
                    texts.insert(text.replace(name, "NAME"));
                }
                assert_eq!(texts.len(), 1, "{what}: an answer tells which databases there are: {texts:?}");
            }
        }
    }
    assert_eq!(site.databases.list(), before, "what was refused has changed nothing");
}

#[tokio::test]
async fn every_route_is_answered_to_whoever_has_its_role() {
    for (user, role) in
        [("reader", Role::Reader), ("writer", Role::Writer), ("admin", Role::Admin), ("root", Role::Admin)]
    {
        let site = site_of_cases();
        let mut client = site.log_in(user).await;
        for (at, route) in ROUTES.iter().enumerate() {
            if is_allowed(route, Some(role), user == "root") {
                let (status, text) = send(&mut client, route, &format!("case{at}")).await;
                let what = format!("{user}: {} {}: {status} {text}", route.method.name(), route.path);
                assert!(!matches!(status, 401 | 403 | 405 | 500), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn every_change_has_a_record_in_the_audit_log() {
    let site = site_of_cases();
    let mut client = site.log_in("root").await;
    let mut changes = Vec::new();
    for (at, route) in ROUTES.iter().enumerate() {
        send(&mut client, route, &format!("case{at}")).await;
        changes.extend(route.change.map(|change| (at, route, change)));
        let reads = route.method == AdminMethod::Get;
        assert!(!reads || route.change.is_none(), "{}: a GET changes nothing", route.path);
        let writes = matches!(route.method, AdminMethod::Put | AdminMethod::Delete);
        assert!(!writes || route.change.is_some(), "{}: it changes something", route.path);
    }
    let audit = site.audit();
    let records: Vec<&str> = audit.lines().filter(|line| line.contains("\"administration\"")).collect();
    assert_eq!(records.len(), changes.len(), "a change has a record: {audit}");
    for ((at, route, change), record) in changes.iter().zip(&records) {
        let record: serde_json::Value = serde_json::from_str(record).unwrap();
        assert_eq!((record["user"].as_str(), record["address"].as_str()), (Some("root"), Some("127.0.0.1")));
        assert!(record["detail"].as_str().unwrap().starts_with(change), "{record}");
        assert!(matches!(record["outcome"].as_str(), Some("done" | "failed")), "{record}");
        let name = route.path.contains("{database}").then(|| format!("case{at}"));
        assert_eq!(record["database"].as_str(), name.as_deref(), "{record}");
    }
}

#[tokio::test]
async fn nothing_of_a_body_is_read_before_its_role_is_known() {
    let site = site_with(CatalogueOptions::default(), |_| {});
    for route in ROUTES.iter().filter(|route| route.input != Input::Nothing) {
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n",
            route.method.name(),
            path(route, "social")
        );
        let nobody = format!("Authorization: {}\r\n", basic("nobody", PASSWORD));
        let by_role = route.need != Need::LogIn;
        for (login, status) in [("", "401"), (&*nobody, "403")] {
            if status == "401" || by_role {
                let bytes = format!("{head}{login}\r\n");
                let (answer, _) = raw(site.server.address(), bytes.as_bytes(), Duration::from_secs(30)).await;
                let expected = format!("HTTP/1.1 {status}");
                assert!(answer.starts_with(&expected), "{} {}: {answer}", route.method.name(), route.path);
            }
        }
    }
}

#[tokio::test]
async fn names_with_paths_and_control_characters_reach_nothing() {
    let site = site_with(CatalogueOptions::default(), |_| {});
    let before = std::fs::read_dir(site.folder.path()).unwrap().count();
    for user in ["root", "nobody"] {
        let mut client = site.log_in(user).await;
        for route in ROUTES.iter().filter(|route| route.path.contains("{database}")) {
            for name in
                ["..", "%2e%2e", "..%2f..%2fusers", "a%2fb", "a%5cb", "%00", "a%0ab", "*", "g", "%ff", ".eg"]
            {
                let (status, text) = send(&mut client, route, name).await;
                let expected: &[u16] = if user == "root" { &[400] } else { &[400, 403] };
                let what = format!("{user}: {} {}", route.method.name(), path(route, name));
                assert!(expected.contains(&status), "{what}: {status} {text}");
                assert!(!text.trim_end().contains(|letter: char| letter.is_control()), "{text:?}");
            }
        }
    }
    assert_eq!(std::fs::read_dir(site.folder.path()).unwrap().count(), before);
    assert_eq!(site.databases.list().len(), 1);
}

/// Requests in the tables of the guide, with what they need, as `METHOD /path/with/*`.
fn requests_of_guide() -> BTreeMap<String, String> {
    let page = include_str!("../../../../docs/guide/server.md");
    let mut requests = BTreeMap::new();
    for name in ["Administration", "Jobs", "Algorithms"] {
        let section = page.split("\n## ").find(|section| section.starts_with(&format!("{name}\n"))).unwrap();
        let mut is_of_requests = false;
        for line in section.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            is_of_requests = match cells[..] {
                ["", "request", _, "needs", ""] => true,
                ["", _, ..] => is_of_requests,
                _ => false,
            };
            let ["", request, _, need, ""] = cells[..] else {
                assert!(!is_of_requests, "a row has three columns: {line}");
                continue;
            };
            let (mut method, mut path) = ("", String::new());
            // `GET /a`, `DELETE` and `/b` are two methods of one path, and another path beside it.
            for part in request.split('`').skip(1).step_by(2).filter(|_| is_of_requests) {
                match part.split_once(' ') {
                    Some((verb, rest)) => {
                        (method, path) = (verb, starred(rest, |part| part.chars().all(char::is_uppercase)))
                    }
                    None if part.starts_with('/') => {
                        path = format!("{}{part}", &path[..path.rfind('/').unwrap()]);
                    }
                    None => method = part,
                }
                let known = requests.insert(format!("{method} {path}"), need.to_owned());
                assert_eq!(known, None, "{method} {path} is in the guide twice");
            }
        }
    }
    requests
}

/// `path` with a star for each part that is a parameter.
fn starred(path: &str, is_parameter: impl Fn(&str) -> bool) -> String {
    let parts = path.split('/').map(|part| if !part.is_empty() && is_parameter(part) { "*" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn the_guide_has_each_route_with_what_it_needs() {
    let need = |need| match need {
        Need::LogIn => "a log-in".to_owned(),
        Need::OnDatabase(role) => role.name().to_owned(),
        Need::OnEveryDatabase => "admin on `*`".to_owned(),
    };
    let routes: BTreeMap<String, String> = ROUTES
        .iter()
        .map(|route| {
            let path = starred(route.path, |part| part.starts_with('{'));
            (format!("{} {path}", route.method.name()), need(route.need))
        })
        .collect();
    assert_eq!(requests_of_guide(), routes, "left the guide, right the server");
}
