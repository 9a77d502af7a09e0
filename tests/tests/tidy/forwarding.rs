//! Forwarding: who stands for several others hands every method on, those with a default too.
//!
//! A method that is not handed on compiles: it answers by the trait's default, which is right and slow. No compiler
//! and no other test tells.

use std::collections::BTreeSet;

use crate::rust_text::RustText;
use crate::tree::Finding;

/// A trait and a type that hands all of its methods on.
pub struct Forwarding {
    /// The trait's name.
    pub name: &'static str,
    /// The file that defines it.
    pub defined: &'static str,
    /// The file that implements it by handing on.
    pub forwarded: &'static str,
}

/// What `AnyEngine` and its kin, and the lists of algorithms, hand on.
pub const FORWARDINGS: &[Forwarding] = &[
    Forwarding {
        name: "View",
        defined: "crates/storage/src/view.rs",
        forwarded: "crates/engines/src/view.rs",
    },
    Forwarding {
        name: "Engine",
        defined: "crates/storage/src/engine.rs",
        forwarded: "crates/engines/src/engine.rs",
    },
    Forwarding {
        name: "DurableEngine",
        defined: "crates/storage/src/durable_engine.rs",
        forwarded: "crates/engines/src/durable.rs",
    },
    Forwarding {
        name: "Topology",
        defined: "crates/graph/src/topology.rs",
        forwarded: "crates/engines/src/topology.rs",
    },
    Forwarding {
        name: "Topology",
        defined: "crates/graph/src/topology.rs",
        forwarded: "crates/analysis/src/lists.rs",
    },
];

/// The methods of the trait in `defined` that `forwarded` doesn't have.
pub fn forgotten(forwarding: &Forwarding, defined: &str, forwarded: &str) -> Vec<Finding> {
    let Forwarding { name, forwarded: path, .. } = forwarding;
    let (defined, forwarded) = (RustText::of(defined).code, RustText::of(forwarded).code);
    let Some(methods) = block(&defined, &format!("pub trait {name}:")).map(functions) else {
        return vec![Finding::new(forwarding.defined, 1, format!("the trait `{name}` is not here"))];
    };
    let Some(handed_on) = block(&forwarded, &format!("impl {name} for ")).map(functions) else {
        return vec![Finding::new(path, 1, format!("nothing implements `{name}` here"))];
    };
    let missing = methods.difference(&handed_on);
    missing.map(|method| Finding::new(path, 1, format!("hand `{name}::{method}` on"))).collect()
}

/// What follows `head` up to the first line that closes a block of the file's own level.
fn block<'a>(code: &'a str, head: &str) -> Option<&'a str> {
    let (_, rest) = code.split_once(head)?;
    Some(rest.split_once("\n}").map_or(rest, |(block, _)| block))
}

/// The names of the functions of a block, without those inside of others.
fn functions(block: &str) -> BTreeSet<&str> {
    let heads = block.lines().filter_map(|line| line.strip_prefix("    fn "));
    heads.filter_map(|head| head.split(['(', '<']).next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_with_a_default_that_is_not_handed_on_is_found() {
        let defined = "pub trait View: Send {\n    fn live(&self);\n    fn newest<T>(&self) {\n        fn inner() {}\n    }\n}\n\
            pub trait Other: Send {\n    fn other(&self);\n}\n";
        let forwarding = Forwarding { name: "View", defined: "engine.rs", forwarded: "view.rs" };
        let found =
            |text| forgotten(&forwarding, defined, text).iter().map(ToString::to_string).collect::<Vec<_>>();
        let half = "impl View for AnyView<'_> {\n    fn live(&self) {}\n}\n";
        assert_eq!(found(half), ["view.rs:1: hand `View::newest` on"]);
        let whole = "impl View for AnyView<'_> {\n    fn live(&self) {}\n    fn newest<T>(&self) {}\n}\n";
        assert_eq!(found(whole), Vec::<String>::new());
        assert_eq!(found("").len(), 1);
    }
}
