//! Tidy: the project's own rules, checked on the whole tree. `make check` runs it.
//!
//! Each rule is a function from text to findings, in the file that is named after its subject, with
//! bad samples below it; here each rule meets the tree. A finding says file, line and what to do.
//!
//! What to edit when the project grows: the tables `CRATES` and `MODULES` (`floors.rs`), `FORWARDINGS` (`forwarding.rs`) and
//! `UNSAFE_FILES` (`words.rs`); when a circle of imports is cut, `KNOTS` (`cycles.rs`);
//! when a goal gets a claim of a paper, the page that `claims.rs` names; the code map of `ARCHITECTURE.md` when a
//! folder or a module lands, moves or goes (`code_map.rs`).

mod claims;
mod code_map;
mod cycles;
mod features;
mod file_names;
mod floors;
mod forwarding;
mod imports;
mod kernels;
mod links;
mod rust_text;
mod shape;
mod tree;
mod words;

use tree::{Tree, assert_none};

#[test]
fn every_rust_file_opens_with_a_caption() {
    assert_none(Tree::read().rust().flat_map(|file| shape::caption(&file.path, &file.text)));
}

#[test]
fn no_rust_file_is_longer_than_its_idea() {
    assert_none(Tree::read().rust().flat_map(|file| shape::length(&file.path, &file.text)));
}

#[test]
fn no_file_in_git_is_larger_than_a_mebibyte() {
    assert_none(Tree::read().sizes().flat_map(|(path, bytes)| shape::size(path, bytes)));
}

#[test]
fn no_crate_depends_on_its_own_floor_or_a_higher_one() {
    assert_none(
        Tree::read()
            .named("Cargo.toml")
            .flat_map(|file| imports::crates(&file.path, &file.text, floors::CRATES)),
    );
}

#[test]
fn every_import_names_the_file_that_defines_the_thing() {
    let tree = Tree::read();
    let modules = imports::Modules::of(tree.rust().map(|file| file.path.as_str()));
    assert_none(tree.rust().flat_map(|file| imports::defining_file(&file.path, &file.text, &modules)));
}

#[test]
fn no_crate_but_analysis_compiles_a_kernel() {
    assert_none(Tree::read().rust().flat_map(|file| kernels::calls(&file.path, &file.text)));
}

#[test]
fn no_module_imports_from_a_higher_floor_of_its_crate() {
    assert_none(
        Tree::read().rust().flat_map(|file| imports::modules(&file.path, &file.text, floors::MODULES)),
    );
}

#[test]
fn no_files_import_each_other_in_a_circle_but_those_listed() {
    let tree = Tree::read();
    let files = tree.rust().map(|file| (file.path.as_str(), file.text.as_str()));
    assert_none(cycles::circles(files, cycles::KNOTS));
}

/// The crates that the crate of `manifest` builds without features, those of its tests included if `edges` has them.
fn crates_without_features(manifest: &str, edges: &str) -> String {
    crates_with(manifest, edges, &["--no-default-features"])
}

fn crates_with(manifest: &str, edges: &str, features: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = std::process::Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--prefix", "none"])
        .args(features)
        .args(["--edges", edges, "--manifest-path", manifest])
        .current_dir(tree::root())
        .output()
        .expect("cargo runs this test");
    let said = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{said}");
    String::from_utf8_lossy(&tree.stdout).into_owned()
}

#[test]
fn a_program_without_files_builds_no_arrow() {
    let tree = crates_without_features(features::MANIFEST, "normal,build,dev");
    assert!(tree.contains("evergraph-query"), "{tree}");
    assert_none(features::behind_files(&tree));
}

#[test]
fn a_program_without_clusters_builds_nothing_of_them() {
    let tree = crates_without_features(features::MANIFEST, "normal,build");
    assert!(tree.contains("evergraph-engines"), "{tree}");
    assert_none(features::behind_cluster(&tree));
}

#[test]
fn a_program_without_a_network_builds_no_tokio() {
    let tree = crates_without_features(features::NETWORK_MANIFEST, "normal,build");
    assert!(tree.contains("evergraph-storage"), "{tree}");
    assert_none(features::behind_network(&tree));
}

#[test]
fn a_program_builds_no_nats_unless_it_is_asked_to() {
    let tree = crates_with(features::PROGRAM_MANIFEST, "normal,build", &[]);
    assert!(tree.contains("evergraph-cluster"), "{tree}");
    assert_none(features::behind_nats(&tree));
}

#[test]
fn who_stands_for_any_engine_hands_every_method_on() {
    let tree = Tree::read();
    let text = |path| tree.rust().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    assert_none(forwarding::FORWARDINGS.iter().flat_map(|forwarding| {
        forwarding::forgotten(forwarding, text(forwarding.defined), text(forwarding.forwarded))
    }));
}

#[test]
fn unsafe_stands_only_in_the_files_listed_for_it() {
    assert_none(Tree::read().rust().flat_map(|file| words::unsafe_code(&file.path, &file.text)));
}

#[test]
fn no_macro_stands_in_for_code_that_is_missing() {
    assert_none(Tree::read().rust().flat_map(|file| words::unfinished(&file.path, &file.text)));
}

#[test]
fn no_comment_puts_work_off() {
    assert_none(Tree::read().text().flat_map(|file| words::put_off(&file.path, &file.text)));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    assert_none(Tree::read().text().flat_map(|file| words::machine_paths(&file.path, &file.text)));
}

#[test]
fn every_relative_link_points_to_something() {
    let tree = Tree::read();
    assert_none(tree.markdown().flat_map(|file| links::broken(&file.path, &file.text, &tree.paths)));
}

#[test]
fn every_anchor_of_a_link_is_a_heading_of_its_page() {
    let tree = Tree::read();
    let pages: Vec<_> = tree.markdown().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    assert_none(links::without_heading(&pages));
}

#[test]
fn every_source_file_that_a_page_names_is_there() {
    let tree = Tree::read();
    let pages = tree.markdown().filter(|file| file_names::PAGES.contains(&file.path.as_str()));
    assert_none(pages.flat_map(|file| file_names::missing(&file.path, &file.text, &tree.paths)));
}

#[test]
fn the_code_map_has_a_line_for_every_folder_and_module() {
    let tree = Tree::read();
    let page = tree.markdown().find(|file| file.path == code_map::PAGE).map_or("", |file| file.text.as_str());
    assert_none(code_map::differences(page, &tree.paths));
}

#[test]
fn every_page_of_the_documentation_can_be_reached() {
    let tree = Tree::read();
    let pages: Vec<_> = tree.markdown().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    assert_none(links::unreachable(&pages));
}

#[test]
fn what_papers_claim_has_a_row_beside_ours() {
    let tree = Tree::read();
    let text = |wanted| {
        let file = tree.text().find(|file| file.path == wanted);
        &file.unwrap_or_else(|| panic!("{wanted} is gone: mend tests/tests/tidy/claims.rs")).text
    };
    let (goals, page) = (text(claims::GOALS), text(claims::PAGE));
    assert_none(claims::without_a_row(goals, page).into_iter().chain(claims::unnamed(page, claims::PAPERS)));
}
