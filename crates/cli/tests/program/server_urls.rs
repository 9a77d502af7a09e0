//! URLs of servers in place of folders: query, shell and health, with the output that a folder gives.

use crate::support::{Folder, Ran, eventually, program, send};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Queries whose results are of every form.
const QUERIES: [&str; 17] = [
    "g.V()",
    "g.E()",
    "g.V().has('name', 'Ada').out('KNOWS').path()",
    "g.V().outE().inV().path().by('name').by('since').by(values('born').fold())",
    "g.V().valueMap()",
    "g.V().order().by('name').project('name', 'born').by('name').by('born')",
    "g.V().elementMap()",
    "g.E().elementMap()",
    "g.V().group().by('name')",
    "g.V().properties('name', 'born')",
    "g.E().properties()",
    "g.V().out().tree()",
    "g.V().values('born').fold()",
    "g.inject(null, true, 1.5d, 7L, 'a\\nb', UUID('41d2e28a-20a4-4ab0-b379-d810dede3786'), NaN)",
    "g.inject(['a': 1, 'b': [1, 2]], {1, 2}, [[]])",
    "g.V().limit(0)",
    "g.V().count()",
];

#[test]
fn a_query_prints_the_same_of_a_url_as_of_a_folder() {
    let folder = Folder::with_social();
    let all = |place: &str| {
        let one = |text: &&str| {
            [&["query", place, text][..], &["query", place, text, "--json"]]
                .map(|arguments| folder.run(arguments))
        };
        QUERIES.iter().map(one).collect::<Vec<[Ran; 2]>>()
    };
    let local = all("social.eg");
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    for (text, (local, remote)) in QUERIES.iter().zip(local.into_iter().zip(all(&format!("{url}/social")))) {
        for (local, remote) in local.into_iter().zip(remote) {
            assert_eq!((remote.code, &remote.err, remote.out), (Some(0), &local.err, local.out), "{text}");
        }
    }
    served.end("-TERM").succeeded();
    folder.run(&["check", "social.eg"]).succeeded();
}

#[test]
fn errors_and_notes_are_the_same_of_a_url_as_of_a_folder() {
    let folder = Folder::with_social();
    let all = |place: &str| {
        [
            folder.run(&["query", place, "g.V()\n  .otu()"]),
            folder.run(&["query", place, "g.V().otu()", "--json"]),
            folder.run(&["query", place, "g.V().hasLabel('Persn').count()"]),
            folder.run(&["query", place, "g.V().hasLabel('Persn').count()", "--strict"]),
            folder.run(&["query", place, "g.V().fail('no stock')"]),
            folder.run(&[
                "query",
                place,
                "g.V().has('born', lt(year)).values('name')",
                "--bind",
                "year=1800",
            ]),
            folder.run(&["query", place, "--explain", "g.V().has('name', 'Ada').out() // a comment"]),
            folder.run(&["query", place, "g.V().out().explain()"]),
            folder.run_on("g.V().count()", &["query", place, "-"]),
            folder.run(&["shell", place, "-c", "g.V().count();\ng.V().otu()"]),
        ]
    };
    let local = all("social.eg");
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    for (local, remote) in local.iter().zip(all(&url)) {
        assert_eq!((remote.code, &remote.out, &remote.err), (local.code, &local.out, &local.err));
    }
}

#[test]
fn a_write_by_a_url_is_there_and_a_conflict_is_retried() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    folder.run(&["query", &url, "g.addV('Person').property('name', 'Grace')"]).succeeded();
    let serializable = ["query", &url, "g.V().has('name', 'Ada').property('born', 1)", "--serializable"];
    folder.run(&serializable).succeeded();
    let counts = folder.run(&["query", &url, "g.V().has('born', 1).count()"]).succeeded();
    assert_eq!(counts.out, "1\n");
    served.end("-TERM").succeeded();
    assert_eq!(folder.run(&["query", "social.eg", "g.V().count()"]).succeeded().out, "4\n");
}

#[test]
fn the_shell_has_transactions_by_a_url() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    let script = "g.V().count(); :begin\n g.addV('Person'); g.V().count(); :rollback\n g.V().count();\n\
                  :begin serializable\n g.addV('Person'); :commit\n g.V().count(); :bind n 'Ada'\n\
                  g.V().has('name', n).values('born'); :explain g.V()\n :set rows 1\n g.V().values('name')";
    let ran = folder.run_on(script, &["shell", &url]).succeeded();
    let numbers: Vec<&str> =
        ran.out.lines().filter(|line| line.len() <= 4 && line.parse::<u32>().is_ok()).collect();
    assert_eq!(numbers, ["3", "4", "3", "4", "1815"], "{ran:?}");
    assert!(ran.out.contains("V()") && ran.err.contains("more: :rows N"), "{ran:?}");
    let broken = "g.addV('Person').fail('no')";
    let ran = folder.run(&["shell", &url, "--keep-going", "-c", &format!(":begin\n{broken}; :commit")]);
    assert!(ran.code == Some(2) && ran.err.contains(":rollback ends it"), "{ran:?}");
    let open = folder.run(&["shell", &url, "-c", ":begin\ng.addV('Person')"]);
    assert!(open.code == Some(2) && open.err.contains(":commit is missing"), "{open:?}");
    assert_eq!(folder.run(&["query", &url, "g.V().count()"]).succeeded().out, "4\n");
}

/// Without the memory of indexes, which depends on when they were built, and on the random seed of their process.
fn without_sizes(output: &str) -> Vec<String> {
    let words = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let kept = words.map(|mut words| {
        if let Some(unit) = words.iter().position(|word| *word == "bytes")
            && unit > 0
        {
            words.remove(unit - 1);
        }
        words.retain(|word| !word.is_empty());
        words.join(" ")
    });
    kept.filter(|line| !line.starts_with("\"memory") && !line.starts_with("\"bytes\"")).collect()
}

#[test]
fn plans_and_the_schema_are_those_of_the_folder() {
    let folder = Folder::with_social();
    let query = "g.V().has('Person', 'id', n).out()";
    let all = |place: &str| {
        [
            folder.run(&["query", place, "--explain", query, "--bind", "n='1'", "--json"]),
            folder.run(&["query", place, "--explain", "g.V().hasLabel('Persn')", "--strict"]),
            folder.run(&["shell", place, "-c", ":schema"]),
            folder.run(&["shell", place, "--json", "-c", ":schema"]),
            folder.run(&["shell", place, "-c", ":explain g.V().out()"]),
        ]
    };
    let local = all("social.eg");
    let served = folder.serve(&["social.eg"]);
    let url = served.url() + "/social";
    for (local, remote) in local.iter().zip(all(&url)) {
        let (remote_out, local_out) = (without_sizes(&remote.out), without_sizes(&local.out));
        assert_eq!((remote.code, remote_out, &remote.err), (local.code, local_out, &local.err));
    }
    let profiled = folder.json(&["query", &url, "--profile", "g.addV('Person')"]);
    assert!(profiled["steps"][0]["rows"].is_u64(), "{profiled}");
    let profile = folder.run(&["shell", &url, "-c", ":profile g.V().count()"]).succeeded().out;
    assert!(profile.contains("rows") && profile.contains("count()"), "{profile}");
    assert_eq!(
        folder.run(&["query", &url, "g.V().count()"]).succeeded().out,
        "4\n",
        "what was profiled is committed"
    );
    let within = folder.run(&["shell", &url, "-c", ":begin\n:explain g.V()\n:rollback"]).succeeded();
    assert!(within.out.contains("V()"), "{within:?}");
    let refused = folder.run(&["shell", &url, "-c", ":begin\n:profile g.V()"]);
    assert!(refused.code == Some(2) && refused.err.contains(".profile()"), "{refused:?}");
}

#[test]
fn ctrl_c_stops_a_query_on_a_server() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    let endless = "g.V().repeat(out()).times(1000000000).count()";
    let began = Instant::now();
    let mut program = program();
    program.args(["query", &url, endless]).current_dir(folder.root());
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it begins", || served.running_queries() == 1);
    send("-INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(ran.code == Some(130) && ran.err.contains("cancelled"), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(60));
    let late = folder.run(&["query", &url, endless, "--timeout", "200ms"]);
    late.failed(6, &["time"]);
    served.end("-TERM").succeeded();
}

#[test]
fn a_password_comes_from_the_variable_or_a_file_and_is_never_shown() {
    let folder = Folder::with_social();
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
    folder.run(&["user", "grant", "users.json", "ann", "social", "writer"]).succeeded();
    let served = folder.serve(&["social.eg", "--users", "users.json"]);
    let stranger = served.url();
    let url = stranger.replace("ws://", "ws://ann@") + "/social";
    let with = |password: &str| {
        folder.run_with(&[("EVERGRAPH_PASSWORD", password)], &["query", &url, "g.V().count()"])
    };
    assert_eq!(with("correct horse").succeeded().out, "3\n");
    with("battery staple").failed(2, &["password"]);
    folder.run(&["query", &url, "g.V().count()"]).failed(2, &["EVERGRAPH_PASSWORD"]);
    folder.run(&["query", &stranger, "g.V().count()"]).failed(2, &["name one in the URL"]);
    let leaking = stranger.replace("ws://", "ws://ann:secret@");
    for arguments in
        [["query", &leaking, "g.V()"], ["shell", &leaking, "-fscript"], ["stats", &leaking, "--json"]]
    {
        folder.write("script", "g.V()");
        let ran = folder.run(&arguments);
        assert!(ran.code == Some(2) && !ran.err.contains("secret") && !ran.err.is_empty(), "{ran:?}");
    }
    folder.write("password", "correct horse\n");
    let by_file = ["query", &url, "g.V().count()", "--password-file", "password"];
    fs::set_permissions(folder.path("password"), fs::Permissions::from_mode(0o644)).unwrap();
    folder.run(&by_file).failed(2, &["chmod 600"]);
    fs::set_permissions(folder.path("password"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(folder.run(&by_file).succeeded().out, "3\n");
    let local = ["query", "social.eg", "g.V()", "--password-file", "password"];
    folder.run(&local).failed(2, &["--password-file", "folder"]);
}

#[test]
fn commands_that_open_a_folder_say_so_of_a_url() {
    let folder = Folder::new();
    let url = "ws://localhost/social";
    for arguments in
        [&["serve", url][..], &["convert", url, "new.eg", "--engine", "disk"], &["salvage", url, "new.eg"]]
    {
        let command = arguments[0];
        folder.run(arguments).failed(2, &[&format!("{command} opens the folder"), "evergraph help"]);
    }
    folder.run(&["query", url, "g.V()", "--memory", "1MiB"]).failed(2, &["--memory"]);
    folder.run(&["query", "ftp://localhost", "g.V()"]).failed(2, &["ws://"]);
    folder.run(&["query", "ws://127.0.0.1:9", "g.V()"]).failed(7, &["evergraph serve"]);
}

#[test]
fn options_about_a_folder_are_refused_of_a_url_and_settings_of_them_are_not() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    let options = [
        ["--durability", "none"],
        // The default, but said.
        ["--durability", "sync"],
        ["--memory-limit", "1GiB"],
        ["--io-threads", "2"],
        ["--compaction-threads", "2"],
        ["--live-bytes-max", "1GiB"],
        ["--persistent-memory", "required"],
        ["--threads", "2"],
    ];
    for [option, value] in options {
        let command = ["query", &url, "g.V().count()", option, value];
        folder.run(&command).failed(2, &[&format!("{option} has no effect on a server"), "evergraph serve"]);
        folder.run(&[option, value, "stats", &url]).failed(2, &[option]);
    }
    // One of each way to connect.
    for command in
        [&["shell", &url, "-c", "g.V()"][..], &["check", &url], &["health", &url], &["run", &url, "wcc"]]
    {
        folder.run(&[command, &["--memory-limit", "1GiB"]].concat()).failed(2, &["--memory-limit"]);
    }
    folder.write("evergraph.toml", "durability = 'none'\nmemory-limit = '1GiB'\nthreads = 2\n");
    let variables = [("EVERGRAPH_IO_THREADS", "2"), ("EVERGRAPH_COMPACTION_THREADS", "2")];
    let counted = folder.run_with(&variables, &["query", &url, "g.V().count()"]).succeeded();
    assert_eq!(counted.out, "3\n");
    let with_file = folder.run_with(&variables, &["query", &url, "g.V().count()", "--threads", "2"]);
    with_file.failed(2, &["--threads"]);
}

#[test]
fn health_tells_by_its_exit_code() {
    let folder = Folder::with_social();
    let served = folder.serve(&["social.eg"]);
    let url = served.url();
    let healthy = folder.run(&["health", &url]).succeeded();
    assert!(healthy.out.contains("is ready") || healthy.out.contains("is alive"), "{healthy:?}");
    let document = folder.json(&["health", &url]);
    assert!(document["url"].as_str().unwrap().starts_with("ws://127.0.0.1"), "{document}");

    served.end("-TERM").succeeded();
    folder.run(&["health", &url]).failed(7, &["evergraph serve"]);
    folder.run(&["health", "social.eg"]).failed(2, &["ws://localhost"]);
}
