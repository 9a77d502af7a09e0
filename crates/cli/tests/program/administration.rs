//! Commands on a database of a server that a folder has as well: the same reports, by the roles of users.

use crate::support::{Folder, without_bytes};
use serde_json::{Value as Json, json};

/// A folder with `social.eg`, the users `reader` and `admin` of it with the password `correct horse`, and how both connect.
fn with_users() -> Folder {
    let folder = Folder::with_social();
    for role in ["reader", "admin"] {
        folder.run_on("correct horse\n", &["user", "add", "users.json", role]).succeeded();
        folder.run(&["user", "grant", "users.json", role, "social", role]).succeeded();
    }
    folder
}

/// `report` without what two moments and two places have in different ways.
fn comparable(mut report: Json, members: &[&str]) -> Json {
    for member in members {
        report[member] = Json::Null;
    }
    report
}

#[test]
fn stats_of_a_server_are_those_of_the_folder() {
    let folder = Folder::with_social();
    let of_folder = folder.json(&["stats", "social.eg"]);
    let tables = folder.run(&["stats", "social.eg"]).succeeded().out;
    let served = folder.serve(&["social.eg"]);
    let url = served.url() + "/social";
    let of_server = folder.json(&["stats", &url]);
    assert_eq!((&of_server["database"], &of_server["seconds"]["open"]), (&json!(url), &Json::Null));
    let other = ["database", "seconds", "budget", "memory", "disk", "checkpoint", "readers", "engine"];
    assert_eq!(comparable(of_server, &other), comparable(of_folder, &other));
    let text = folder.run(&["stats", &url]).succeeded().out;
    let degrees = |text: &str| {
        text.lines().find(|line| line.contains("KNOWS") && line.contains("out")).map(str::to_owned)
    };
    assert!(degrees(&text).is_some() && degrees(&text) == degrees(&tables), "{text}");
    assert!(text.contains("checkpoint through commit") && !text.contains("opened in"), "{text}");
    folder.run(&["stats", &(served.url() + "/other")]).failed(3, &["other"]);
    folder.run(&["stats", "social.eg", "--tls-root", "root.pem"]).failed(2, &["--tls-root", "folder"]);
}

#[test]
fn indexes_of_a_server_are_built_listed_and_dropped_as_those_of_a_folder() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url() + "/social";
    let create = |rest: &[&str]| folder.run(&[&["index", "create", &url], rest].concat());
    create(&["Persn", "name"]).failed(3, &["it has Person; did you mean Person?", "--new"]);
    create(&["Person", "nme"]).failed(3, &["\"Person.nme\"", "it has born, id, name; did you mean name?"]);
    create(&["KNOWS", "since"]).failed(3, &["KNOWS is an edge type: --edge KNOWS"]);
    create(&["Person"]).failed(2, &["label Person alone needs no index"]);
    let text = create(&["Person", "name", "--unique", "--ordered"]).succeeded().out;
    assert!(text.starts_with(&format!("{url}: unique ordered index on Person.name built in ")), "{text}");
    assert!(text.contains("3 entries"), "{text}");
    let made = folder.json(&["index", "create", &url, "Person", "name", "--unique", "--ordered"]);
    assert_eq!(
        (&made["created"], &made["index"]["kind"], &made["index"]["entries"]),
        (&json!(false), &json!("ordered"), &json!(3))
    );
    create(&["Person", "name"]).succeeded();
    let drop = ["index", "drop", &url, "Person", "name"];
    folder.run(&drop).failed(2, &["(--kind hash or --kind ordered)"]);
    let dropped = folder.run(&[&drop[..], &["--kind", "hash"]].concat()).succeeded().out;
    assert_eq!(dropped, format!("{url}: hash index on Person.name dropped\n"));
    folder.run(&["index", "drop", &url, "Person", "born"]).failed(3, &["there is no index on Person.born"]);
    let declared = folder.json(&["index", "newest-first", &url, "KNOWS", "since"]);
    assert_eq!((&declared["declared"], &declared["type"]), (&json!(true), &json!("KNOWS")));
    assert_eq!(folder.json(&["index", "newest-first", &url, "KNOWS", "since"])["declared"], false);
    let table = folder.run(&["index", "list", &url]).succeeded().out;
    let of_server = folder.json(&["index", "list", &url]);
    served.end("-TERM").succeeded();
    let of_folder = folder.json(&["index", "list", "social.eg"]);
    let list = |list: Json| without_bytes(comparable(list, &["database"]));
    assert_eq!(list(of_server), list(of_folder));
    for row in ["Person.id", "Person.name", "KNOWS is newest-first by since"] {
        assert!(table.contains(row), "{table}");
    }
}

#[test]
fn a_role_says_which_of_these_a_user_may_use() {
    let folder = with_users();
    let served = folder.serve(&["social.eg", "--users", "users.json"]);
    let url = |user: &str| served.url().replace("ws://", &format!("ws://{user}@")) + "/social";
    let run = |user: &str, command: &[&str], rest: &[&str]| {
        let url = url(user);
        let arguments = [command, &[&*url], rest].concat();
        folder.run_with(&[("EVERGRAPH_PASSWORD", "correct horse")], &arguments)
    };
    for command in [&["stats"][..], &["index", "list"]] {
        run("reader", command, &[]).succeeded();
    }
    run("reader", &["index", "create"], &["Person", "name"]).failed(2, &["admin"]);
    run("admin", &["index", "create"], &["Person", "name"]).succeeded();
    run("reader", &["index", "drop"], &["Person", "name"]).failed(2, &["admin"]);
    run("admin", &["index", "drop"], &["Person", "name"]).succeeded();
    let unknown = url("admin").replace("/social", "/bank");
    folder.run_with(&[("EVERGRAPH_PASSWORD", "correct horse")], &["stats", &unknown]).failed(2, &["bank"]);
    folder.run(&["stats", &url("reader")]).failed(2, &["EVERGRAPH_PASSWORD"]);
}
