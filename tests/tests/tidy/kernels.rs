//! Kernels: algorithms are compiled in one crate, so every other one imports only types of `evergraph-algorithms`.
//!
//! Its functions are generic over the lists that they read. Whoever calls one compiles it, and what it calls, again.

use crate::imports::leaves;
use crate::rust_text::{RustText, line_of, words};
use crate::tree::Finding;

/// Sources that may call kernels: the crate that has them, the one that compiles them for the others, the benchmark of the
/// disk engine, which compares the lists of two engines without what stands above them, and a baseline of benchmarks that
/// is none of the lists for which they are compiled.
const CALLERS: [&str; 4] = [
    "crates/algorithms/",
    "crates/analysis/",
    "benches/src/workload/disk/",
    "benches/src/workload/mapped/blocked.rs",
];

/// What code is called that is built for tests alone, and may call kernels on lists of its own.
const TESTS: [&str; 2] = ["tests/", "fuzz/"];

/// Paths into `evergraph-algorithms` that name no type: a function, a module whose functions would be called, or all.
pub fn calls(path: &str, text: &str) -> Vec<Finding> {
    let is_test = TESTS.iter().any(|folder| path.starts_with(folder)) || path.contains("/tests/");
    if is_test || CALLERS.iter().any(|source| path.starts_with(source)) {
        return Vec::new();
    }
    let text = RustText::of(text);
    let code = text.code_above_tests();
    let mut findings = Vec::new();
    for at in roots(code) {
        leaves(&code[at..], Vec::new(), &mut |names| {
            let is_type = |name: &&str| name.starts_with(|letter: char| letter.is_ascii_uppercase());
            if !names.iter().any(is_type) {
                let name = names.join("::");
                let message = format!(
                    "`{name}` of evergraph-algorithms would be compiled here again: call evergraph-analysis (`kernels`, or \
                     an algorithm by name)"
                );
                findings.push(Finding::new(path, line_of(code, at), message));
            }
        });
    }
    findings
}

/// Where the names of the crate, by any of its paths, end.
fn roots(code: &str) -> Vec<usize> {
    const CRATE: &str = "evergraph_algorithms";
    const REEXPORT: &str = "algorithms";
    let own = words(code, CRATE).map(|at| at + CRATE.len());
    let handed_on = words(code, REEXPORT).filter(|at| {
        let before = &code[..*at];
        before.ends_with("evergraph::")
    });
    own.chain(handed_on.map(|at| at + REEXPORT.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        calls(path, text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_kernel_that_another_crate_calls_is_found() {
        let planted = "use evergraph_algorithms::control::Control;\n\
                       use evergraph_algorithms::pagerank::{PageRank, pagerank};\n\
                       use evergraph::algorithms::{scope::Scope, wcc};\n\
                       fn f() { evergraph_algorithms::bfs::bfs(lists); }\n\
                       use evergraph_algorithms::cdlp::*;\n";
        let findings = found("crates/query/src/step/algorithm.rs", planted);
        let named: Vec<&str> = findings.iter().map(|text| text.split('`').nth(1).unwrap()).collect();
        assert_eq!(named, ["pagerank::pagerank", "bfs::bfs", "cdlp::*", "wcc"], "{findings:?}");
        assert!(findings[0].contains("algorithm.rs:2"), "{}", findings[0]);
        assert_eq!(found("benches/src/workload/reads.rs", planted).len(), 4);
    }

    #[test]
    fn types_constants_and_tests_are_free() {
        let text = "use evergraph_algorithms::bfs::{Bfs, BfsParameters};\n\
                    pub use evergraph_algorithms as algorithms;\n\
                    fn f() { let far = evergraph_algorithms::bfs::Bfs::UNREACHED; }\n\
                    // use evergraph_algorithms::wcc::wcc;\n\
                    #[cfg(test)]\nmod tests {\n    use evergraph_algorithms::wcc::wcc;\n}\n";
        assert_eq!(found("crates/query/src/a.rs", text), Vec::<String>::new());
        let call = "use evergraph::algorithms::wcc;\n";
        assert_eq!(found("tests/tests/papers/dgap.rs", call), Vec::<String>::new());
        assert_eq!(found("crates/analysis/src/entries/structure/wcc.rs", call), Vec::<String>::new());
    }
}
