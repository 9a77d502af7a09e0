//! Decoder: libFuzzer's program, for the target that `EVERGRAPH_FUZZ_TARGET` names.
#![no_main]

use evergraph_fuzz::target::{Target, begin, check};
use std::sync::OnceLock;

static TARGET: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(init: { TARGET.get_or_init(begin); }, |input: &[u8]| {
    check(*TARGET.get_or_init(begin), input);
});
