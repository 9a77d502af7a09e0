//! Floors: which crate and which module may import which; nothing imports upward.
//!
//! Cargo forbids circles between crates and allows them between modules; both tables below hold
//! lists of floors, lowest first. A crate may use lower floors only, so that neighbours stay
//! strangers (algorithms never learn how a graph is stored). A module may use its own floor too.

use std::collections::BTreeSet;

use crate::rust_text::{RustText, is_word, line_of, words};
use crate::tree::Finding;

/// Names by floor, lowest first.
pub type Floors = &'static [&'static [&'static str]];

/// Our crates, by floor.
pub const CRATES: Floors = &[
    &["evergraph-graph"],
    &["evergraph-storage", "evergraph-algorithms", "evergraph-formats"],
    &["evergraph-memory-engine", "evergraph-disk-engine", "evergraph-query"],
    &["evergraph-engines", "evergraph-files", "evergraph-protocol"],
    &["evergraph-analysis"],
    &["evergraph", "evergraph-arrow"],
    &["evergraph-report"],
    &["evergraph-measure", "evergraph-replica", "evergraph-server", "evergraph-terminal"],
    // Tests of the client run servers.
    &["evergraph-client", "evergraph-show"],
    &["evergraph-cli", "evergraph-python"],
    &["evergraph-tests", "evergraph-tinkerpop", "evergraph-benches", "evergraph-fuzz"],
    &["evergraph-libfuzzer"],
];

/// The modules of each crate that has floors, by its folder of sources; edit it when a module lands or moves.
///
/// The longest entry that a module's path starts with counts: with `"segment"` here and
/// `"segment::merge"` two floors up, only merge stands higher.
pub const MODULES: &[(&str, Floors)] = &[
    (
        "crates/storage/src",
        &[
            &["sync", "instrumented_locks", "planted"],
            &["io", "timeline"],
            &["log", "notes"],
            &["checkpoint::error"],
            &["index::index_item", "index::entry_bound"],
            &["index::changes", "index::fill"],
            &["error", "view", "engine", "transaction::payload"],
            &["checkpoint::arrays", "checkpoint::column_form", "checkpoint::manifest"],
            &["checkpoint::contract", "checkpoint::report", "bulk::numbers", "unfinished_directory"],
            &[
                "salvage::known_names",
                "salvage::loss",
                "salvage::salvaged",
                "salvage::source",
                "salvage::new_database",
            ],
            &["memory_budget", "conversion::source"],
            &["durable_engine"],
            &["vertex_ids"],
            &["index"],
            &["transaction", "snapshot"],
            &["store", "indexing"],
            &["bulk", "checkpoint"],
            &["operations", "found_database", "ownership"],
            &["backup", "salvage", "upkeep", "conversion"],
            &["open"],
            &["open_owned"],
        ],
    ),
    (
        "crates/memory_engine/src",
        &[
            &["segment"],
            &["group"],
            &["counters", "list", "records", "values"],
            &["merger", "view"],
            &["segments", "fresh", "frozen_list", "dense_list"],
            &["freeze", "frozen", "shared_list"],
            &["load", "checkpoint"],
            &["engine"],
            &["salvage"],
            &["graph_writer"],
            &["durable"],
        ],
    ),
    (
        "crates/disk_engine/src",
        &[
            &["format", "pacing"],
            &[
                "cache",
                "counters",
                "memory_graph",
                "merge",
                "source",
                "stored_file",
                "key_range",
                "groups",
                "index_table",
                "level",
                "level_scan",
                "file_set",
                "compaction_areas",
                "pick",
                "spill",
            ],
            &["generation", "writer", "file", "graph_supply"],
            &["flush", "tree", "tree_state", "compact"],
            &["view"],
            &["topology", "index_records"],
            &["durable::section", "durable::files", "durable::load"],
            &["tuning"],
            &["engine"],
            &["commit_room", "flusher", "compactor", "statistics", "index_fill"],
            &["transactions"],
            &["durable"],
        ],
    ),
    (
        "crates/evergraph/src",
        &[
            &["options", "import_progress", "index", "snapshot", "generate"],
            &["gremlin"],
            &["read"],
            &["transaction"],
            &["shared_transaction"],
            &["database"],
            &["durability", "files", "ownership"],
            &["gremlin::database", "gremlin::io"],
        ],
    ),
    (
        "crates/files/src",
        &[
            // Bytes, cells, headers and ids of files; the rest of import stands above.
            &["import"],
            &["import::mapping", "import::list::file", "import::elements::element_file"],
            &["import::options", "import::meter", "import::context", "import::list::header"],
            &["import::setting"],
            &["import::assembly"],
            &["import::csv::rows", "import::csv::file", "import::csv::graph"],
            &["import::list::reader", "import::list::graph", "import::elements", "import::parquet"],
            &["import::list::numbering"],
            &["import::recognise"],
            &["import::plan"],
            &["import::read"],
            &["export"],
        ],
    ),
    (
        "crates/query/src",
        &[
            &["error", "stack", "randomness", "write"],
            &["gremlin"],
            &["value::extent", "value::result_budget"],
            &["value::shared_list", "value::ordered_map", "value::path", "value::trie", "value::subgraph"],
            &["value"],
            &["plan"],
            &["rule", "strategy"],
            &["gremlin::compile", "gremlin::mention", "unknown_name"],
            &["batch", "service"],
            &["execute"],
            &["step"],
            &["explain", "metrics"],
            &["session"],
        ],
    ),
    (
        "crates/protocol/src",
        &[
            &["format", "response::status", "response::attributes", "error", "strategy"],
            &["graph_binary::type_code", "graph_binary::binary_reader", "graph_binary::value_write"],
            &["request::operation", "request::error", "result"],
            &["graph_binary", "graphson"],
            &["request", "response"],
        ],
    ),
    (
        "crates/analysis/src",
        &[
            &["column", "names", "vertex_rows", "parameter", "real_text", "convergence", "snapshot"],
            &["arguments", "groups", "lists"],
            &["answer", "input", "kernels"],
            &["algorithm"],
            &["entries"],
            &["table", "graph"],
        ],
    ),
    (
        "crates/arrow/src",
        &[&["time_array", "answer_array"], &["column_array"], &["table_builder"], &["result_table"]],
    ),
    (
        "crates/report/src",
        &[
            &["degrees", "disk_size", "index", "plan", "sizes", "tree", "vertex_names"],
            &["schema"],
            &["statistics"],
        ],
    ),
    (
        "crates/server/src",
        &[
            &[
                "client_socket",
                "end_reason",
                "failure",
                "log",
                "options",
                "result_chunk",
                "scheduler",
                "turns",
                "server_phase",
                "http::error",
                "message_meter",
                "metric_samples",
                "metrics",
                "metrics_listener",
                "databases::name",
                "random_id",
                "disk_error",
                "spool::options",
                "spool::relative_path",
            ],
            &["outbox", "blocking", "spool"],
            &["answer", "algorithm"],
            &["security"],
            &["answer_stream", "session", "http::accept", "http::held_body", "http::keep_alive"],
            &[
                "databases::options",
                "databases::change",
                "databases::ending_checkpoint",
                "databases::follower",
                "databases::open_database",
                "databases::settings_file",
                "databases::write_health",
            ],
            &["databases::root_folder", "databases::memory_shares"],
            &["databases::served_database"],
            &["databases::catalogue"],
            &["databases"],
            &["jobs::job_kind"],
            &["jobs::job"],
            &["jobs::registry", "jobs::resources"],
            &["jobs::operations"],
            &["jobs"],
            &["client", "query_registry", "request_log", "server_core", "session_owners"],
            &["connection_login", "request_context", "listener", "http::basic_login", "http::body"],
            &["request_task", "algorithm::task"],
            &["request_content"],
            &["pending_request"],
            &["connection", "exchange"],
            &["websocket", "shared"],
            &["http", "http::admin"],
            &["http::admin::routes", "http::admin::dispatch"],
            &["http::router"],
            &["server"],
        ],
    ),
    (
        "crates/client/src",
        &[
            &["arrow_stream", "interrupt", "password", "server_answer", "url"],
            &["options", "wait_limit"],
            &["destination"],
            &["credentials", "query", "stream", "tls"],
            &["web_socket"],
            &["connection"],
            &["http", "pool"],
            &["results"],
            &["transaction"],
            &["client"],
            &["health", "admin::answer"],
            &["admin", "algorithm"],
            &["algorithm_answer"],
        ],
    ),
    (
        "crates/measure/src",
        &[
            &["clients", "disk_sync", "figure", "kernel", "machine", "social"],
            &["social::network"],
            &["social::graph", "social::operation"],
            &["social::client"],
            &["social::perform"],
        ],
    ),
    (
        "crates/replica/src",
        &[
            &["lsn", "network_reader", "note_format", "postgres_time", "resync"],
            &["pgoutput"],
            &["position", "row_note", "value"],
            &["wire"],
            &["source"],
            &["source::catalogue", "source::contract"],
            &["mapping"],
            &["source::replica_source"],
            &["source::postgres", "source::scripted"],
            // It looks at the publication, too.
            &["mapping::check", "translate"],
            &["count_note", "private_server"],
            &["apply", "copy", "stream"],
            &["follow::pause", "epochs", "metrics", "verify"],
            &["status"],
            &["status_file"],
            &["follow"],
        ],
    ),
    (
        "crates/terminal/src",
        &[&["number", "table"], &["failure"], &["meter", "result_file"], &["console"], &["interrupt"]],
    ),
    (
        "crates/show/src",
        &[
            &["folder", "generate::graph_files", "demo::reference", "demo::rings"],
            &["generate", "demo::network"],
            // What is measured, and how it is told.
            &["bench::plan", "bench::section", "bench::transactions::contest", "bench::transactions::plan"],
            &["bench::report", "bench::transactions::section_table"],
            // One measurement a file.
            &["bench"],
            &["bench::run", "bench::transactions::run"],
            &["demo"],
            &["demo::process_message"],
            // Both ends of the pipe.
            &["demo::stream", "demo::tally"],
            &["demo::ticker", "demo::writers"],
            &["demo::report"],
            &["demo::story"],
            // Follows a database of its own.
            &["demo::replica::shop", "demo::replica::following"],
            &["demo::replica"],
            &["demo::replica::story"],
        ],
    ),
    (
        "crates/cli/src",
        &[
            &["allocator", "amount", "engine", "open", "schema_catalogue", "settings", "target", "welcome"],
            &["context"],
            &["remote_job", "server_access"],
            &["download", "loading"],
            &["command", "command::replica::source_url"],
            &["command::query"],
            &["command::shell"],
            &["command::replica"],
            &["command::service::replicas"],
            &["command::serve"],
            &["usage"],
            &["arguments"],
        ],
    ),
];

/// Checks the dependencies of one `Cargo.toml`, those for tests and builds included.
pub fn crates(path: &str, text: &str, floors: Floors) -> Vec<Finding> {
    let Some(name) = package_name(text) else { return Vec::new() };
    let Some(own) = crate_floor(name, floors) else {
        let message = format!("`{name}` stands on no floor: add it to CRATES (tests/tests/tidy/floors.rs)");
        return vec![Finding::new(path, 1, message)];
    };
    let mut findings = Vec::new();
    for (line, dependency) in dependencies(text) {
        let Some(floor) = crate_floor(dependency, floors) else { continue };
        // Its tests may ask for features of its own.
        if floor >= own && dependency != name {
            let message = format!("`{name}` (floor {own}) may not depend on `{dependency}` (floor {floor})");
            findings.push(Finding::new(path, line, message));
        }
    }
    findings
}

fn crate_floor(name: &str, floors: Floors) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&name))
}

fn package_name(manifest: &str) -> Option<&str> {
    let package = manifest.split("[package]").nth(1)?;
    let line =
        package.lines().take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("name"))?;
    line.split('"').nth(1)
}

/// Line and package of every dependency, whatever its section's form and its local name.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_section = section.ends_with("dependencies") && section != "workspace.dependencies";
            if let Some((kind, name)) = section.rsplit_once('.')
                && kind.ends_with("dependencies")
            {
                found.push((index + 1, name.trim_matches('"')));
            }
        } else if in_section && !line.starts_with('#') {
            let key = line.split(['.', '=', ' ']).next().unwrap_or("");
            let renamed = line.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
            found.extend(renamed.or(Some(key)).filter(|name| !name.is_empty()).map(|name| (index + 1, name)));
        }
    }
    found
}

/// The modules of every crate, as the files say.
pub struct Modules {
    /// Folder of sources and module path, for example `("crates/storage/src", "io::disk")`.
    files: BTreeSet<(String, String)>,
    /// The same for modules that only list others: a `mod.rs`.
    lists: BTreeSet<(String, String)>,
}

impl Modules {
    /// Reads them off the paths of Rust files.
    pub fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut modules = Self { files: BTreeSet::new(), lists: BTreeSet::new() };
        for path in paths {
            let Some((source, module)) = module_of(path) else { continue };
            let kind = if path.ends_with("/mod.rs") { &mut modules.lists } else { &mut modules.files };
            kind.insert((source.to_owned(), module.join("::")));
        }
        modules
    }

    /// The first name of `import` that stands where a module's name should, if there is one.
    fn first_stranger(&self, source: &str, import: &[&str]) -> Option<usize> {
        for names in 1..=import.len() {
            let module = (source.to_owned(), import[..names].join("::"));
            if self.files.contains(&module) {
                return None;
            }
            if !self.lists.contains(&module) {
                return Some(names - 1);
            }
        }
        None
    }
}

/// `use crate::…` names the file that defines the thing, never a list that hands it on.
pub fn defining_file(path: &str, text: &str, modules: &Modules) -> Vec<Finding> {
    let Some((source, module)) = module_of(path) else { return Vec::new() };
    let code = RustText::of(text).code;
    let mut findings = Vec::new();
    for (at, import) in imports(&code, &module) {
        if let Some(stranger) = modules.first_stranger(source, &import) {
            let import = import.join("::");
            let list = if stranger == 0 { "the crate's root" } else { "a mod.rs" };
            let message =
                format!("`crate::{import}` goes through {list}: import it from the file that defines it");
            findings.push(Finding::new(path, line_of(&code, at), message));
        }
    }
    findings
}

/// No module of a crate with floors imports from a higher one; its unit tests may.
pub fn modules(path: &str, text: &str, crates: &[(&str, Floors)]) -> Vec<Finding> {
    let counts = |module: &[&str]| !module.is_empty() && !module.contains(&"tests");
    let Some((source, module)) = module_of(path).filter(|(_, module)| counts(module)) else {
        return Vec::new();
    };
    let Some(&(_, floors)) = crates.iter().find(|(of, _)| *of == source) else { return Vec::new() };
    let name = module.join("::");
    let Some((own, _)) = module_floor(&module, floors) else {
        let message = format!("`{name}` stands on no floor: add it to MODULES (tests/tests/tidy/floors.rs)");
        return vec![Finding::new(path, 1, message)];
    };
    let text = RustText::of(text);
    let code = text.code_above_tests();
    let mut findings = Vec::new();
    for (at, import) in imports(code, &module) {
        let Some((floor, entry)) = module_floor(&import, floors) else { continue };
        if floor > own {
            let message = format!("`{name}` (floor {own}) may not import from `{entry}` (floor {floor})");
            findings.push(Finding::new(path, line_of(code, at), message));
        }
    }
    findings
}

/// Floor of a path and the entry of the table that decides it.
fn module_floor(path: &[&str], floors: Floors) -> Option<(usize, &'static str)> {
    let entries =
        floors.iter().enumerate().flat_map(|(floor, names)| names.iter().map(move |name| (floor, *name)));
    entries
        .filter(|(_, entry)| entry.split("::").enumerate().all(|(at, name)| path.get(at) == Some(&name)))
        .max_by_key(|(_, entry)| entry.len())
}

/// Folder of sources and module path of a crate's file; the crate's root has an empty path.
pub fn module_of(path: &str) -> Option<(&str, Vec<&str>)> {
    let rest = path.strip_prefix("crates/")?.strip_suffix(".rs")?;
    let (_, module) = rest.split_once("/src/")?;
    let source = path.get(..path.len() - module.len() - "/.rs".len())?;
    let module = module.strip_suffix("/mod").unwrap_or(module);
    let root = matches!(module, "lib" | "main");
    Some((source, if root { Vec::new() } else { module.split('/').collect() }))
}

/// Offset and path, from the crate's root, of all that the code of `module` names by `crate::`
/// anywhere, or by `super::` in a declaration at the file's own level.
pub fn imports<'a>(code: &'a str, module: &[&'a str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    for at in words(code, "crate") {
        leaves(&code[at + "crate".len()..], Vec::new(), &mut |path| found.push((at, path)));
    }
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        if let Some(at) = line.find("use super::").filter(|&at| at == 0 || line.starts_with("pub")) {
            let (mut path, mut rest) = (module.to_vec(), &code[start + at + "use ".len()..]);
            while let Some(above) = rest.strip_prefix("super") {
                path.pop();
                rest = above;
                rest = if rest.starts_with("::super::") { &rest["::".len()..] } else { rest };
            }
            leaves(rest, path, &mut |path| found.push((start + at, path)));
        }
        start += line.len();
    }
    found
}

/// Calls `found` with every path of the tree that `rest` starts with, each begun by `stem`:
/// `::a::{b, c::D as E}` gives `a b` and `a c D`. Returns what follows the tree.
pub fn leaves<'a>(rest: &'a str, stem: Vec<&'a str>, found: &mut dyn FnMut(Vec<&'a str>)) -> &'a str {
    let Some(after) = rest.trim_start().strip_prefix("::") else {
        if !stem.is_empty() {
            found(stem);
        }
        return rest;
    };
    branch(after.trim_start(), stem, found)
}

fn branch<'a>(rest: &'a str, mut stem: Vec<&'a str>, found: &mut dyn FnMut(Vec<&'a str>)) -> &'a str {
    if let Some(mut rest) = rest.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            rest = branch(rest, stem.clone(), found);
            // A new name (`as E`) says nothing about where the thing is from.
            let Some(end) = rest.find([',', '}']) else { return "" };
            rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
        }
    }
    let length =
        if rest.starts_with('*') { 1 } else { rest.bytes().take_while(|&byte| is_word(byte)).count() };
    let (name, rest) = rest.split_at(length);
    if !matches!(name, "" | "self") {
        stem.push(name);
    }
    leaves(rest, stem, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_CRATES: Floors = &[&["graph"], &["storage", "algorithms"], &["database"]];
    const SAMPLE_MODULES: &[(&str, Floors)] = &[
        ("crates/query/src", &[&["store"], &["io"]]),
        ("crates/storage/src", &[&["io"], &["log", "segment"], &["segment::merge", "store"]]),
    ];

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.to_string()).collect()
    }

    fn paths(code: &str, module: &[&'static str]) -> Vec<String> {
        imports(code, module).into_iter().map(|(_, path)| path.join("::")).collect()
    }

    #[test]
    fn a_dependency_on_a_neighbour_or_upward_is_found_in_every_section() {
        let manifest = "[package]\nname = \"algorithms\"\n\n[dependencies]\ngraph.workspace = true\n\
            storage.workspace = true\nrayon = \"1\"\n[dev-dependencies.database]\npath = \"x\"\n\
            [target.'cfg(shuttle)'.dependencies]\nother = { package = \"storage\", path = \"x\" }\n";
        assert_eq!(
            messages(crates("Cargo.toml", manifest, SAMPLE_CRATES)),
            [
                "Cargo.toml:6: `algorithms` (floor 1) may not depend on `storage` (floor 1)",
                "Cargo.toml:8: `algorithms` (floor 1) may not depend on `database` (floor 2)",
                "Cargo.toml:11: `algorithms` (floor 1) may not depend on `storage` (floor 1)",
            ]
        );
    }

    #[test]
    fn a_crate_without_a_floor_is_found_and_the_workspace_is_no_crate() {
        let found = |text| messages(crates("Cargo.toml", text, SAMPLE_CRATES));
        assert!(found("[package]\nname = \"new\"\n")[0].contains("`new` stands on no floor"));
        assert!(found("[workspace.dependencies]\ndatabase = { path = \"x\" }\n").is_empty());
    }

    #[test]
    fn algorithms_may_not_depend_on_storage() {
        let manifest = "[package]\nname = \"evergraph-algorithms\"\n[dependencies]\nevergraph-storage.workspace = true\n";
        assert_eq!(crates("Cargo.toml", manifest, CRATES).len(), 1);
    }

    #[test]
    fn imports_are_read_from_trees_from_expressions_and_from_super() {
        assert_eq!(
            paths("use crate::a::{self, b::{C as D, E}, f::*};", &[]),
            ["a", "a::b::C", "a::b::E", "a::f::*"]
        );
        assert_eq!(paths("use {crate::a::B, std::c};\nfn f() { crate::d::e::<G>() }", &[]), ["a::B", "d::e"]);
        assert_eq!(paths("pub(crate) fn f() {}", &[]), Vec::<String>::new());
        assert_eq!(
            paths("use super::run::Run;\npub use super::super::b::C;", &["a", "tail"]),
            ["a::run::Run", "b::C"]
        );
        assert_eq!(paths("mod a {\n    use super::B;\n}", &["c"]), Vec::<String>::new());
    }

    #[test]
    fn an_import_through_a_root_or_a_list_is_found() {
        let files = ["lib.rs", "store.rs", "sync.rs", "segment/mod.rs", "segment/tail.rs"];
        let files = files.map(|file| format!("crates/storage/src/{file}"));
        let tree = Modules::of(files.iter().map(String::as_str));
        let found = |text| messages(defining_file("crates/storage/src/store.rs", text, &tree));
        let good = "use crate::sync::atomic::AtomicU64;\nuse crate::segment::{self, tail::Tail};\nuse crate::sync;\n";
        assert_eq!(found(good), Vec::<String>::new());
        assert_eq!(
            found("use crate::Store;\nuse crate::segment::{Tail, tail};\n"),
            [
                "crates/storage/src/store.rs:1: `crate::Store` goes through the crate's root: \
                 import it from the file that defines it",
                "crates/storage/src/store.rs:2: `crate::segment::Tail` goes through a mod.rs: \
                 import it from the file that defines it",
            ]
        );
        assert_eq!(found("use crate::*;\n").len(), 1);
    }

    #[test]
    fn an_import_from_a_higher_floor_is_found_above_the_tests() {
        let text = "//! Tail.\nuse crate::io::disk::Disk;\nuse crate::store::Store;\n\
            #[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}\n";
        let found = |path, text| messages(modules(path, text, SAMPLE_MODULES));
        assert_eq!(
            found("crates/storage/src/segment/tail.rs", text),
            [
                "crates/storage/src/segment/tail.rs:3: `segment::tail` (floor 1) may not import from `store` (floor 2)"
            ]
        );
        assert!(found("crates/storage/src/segment/merge.rs", text).is_empty());
        assert!(found("crates/storage/src/segment/tests/tail.rs", text).is_empty());
        assert_eq!(found("crates/storage/src/io.rs", "use super::log::writer::Log;\n").len(), 1);
        assert_eq!(found("crates/storage/src/log/mod.rs", "use crate::segment::merge::Merge;\n").len(), 1);
        assert!(found("crates/algorithms/src/io.rs", text).is_empty());
        assert!(found("crates/query/src/io.rs", text).is_empty());
        assert_eq!(found("crates/query/src/store.rs", "use crate::io::disk::Disk;\n").len(), 1);
    }

    #[test]
    fn a_module_without_a_floor_is_found() {
        let found = |path, text| messages(modules(path, text, SAMPLE_MODULES));
        assert!(
            found("crates/storage/src/old/a.rs", "//! Old.\n")[0].contains(":1: `old::a` stands on no floor")
        );
        assert!(found("crates/storage/src/lib.rs", "//! All.\nuse crate::store::Store;\n").is_empty());
    }
}
