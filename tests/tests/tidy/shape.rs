//! Shape: captions, lengths and sizes of files.

use crate::rust_text::RustText;
use crate::tree::Finding;

/// Lines a Rust file may have above its unit tests: about one idea.
const LINES_MAX: usize = 600;
/// Bytes a file in git may have; data sets and databases live elsewhere.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A Rust file opens with `//!` and a sentence that says what it is.
pub fn caption(path: &str, text: &str) -> Option<Finding> {
    let first = text.lines().next().unwrap_or("");
    let missing = first.strip_prefix("//!").is_none_or(|caption| caption.trim().is_empty());
    missing.then(|| Finding::new(path, 1, "open the file with `//! ` and a line that says what it is"))
}

/// A Rust file holds one idea.
pub fn length(path: &str, text: &str) -> Option<Finding> {
    let lines = RustText::of(text).code_above_tests().lines().count();
    let message = format!("{lines} lines above the tests (limit {LINES_MAX}): split it by idea");
    (lines > LINES_MAX).then(|| Finding::new(path, lines, message))
}

/// Git holds sources, not data.
pub fn size(path: &str, bytes: u64) -> Option<Finding> {
    let message = format!("{bytes} bytes (limit {FILE_BYTES_MAX}): generate it, or ignore it in .gitignore");
    (bytes > FILE_BYTES_MAX).then(|| Finding::new(path, 1, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_caption_is_found() {
        assert!(caption("a.rs", "//! Tail: the newest changes.\n").is_none());
        for bad in
            ["", "use a;\n//! Late.\n", "//!\n//! Second line.\n", "// Not documentation.\n", "\n//! Tail.\n"]
        {
            assert_eq!(caption("a.rs", bad).expect(bad).line, 1);
        }
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "b();\n".repeat(1_000));
        assert!(length("a.rs", &format!("{}{tests}", "a();\n".repeat(600))).is_none());
        assert_eq!(length("a.rs", &format!("{}{tests}", "a();\n".repeat(601))).expect("too long").line, 601);
    }

    #[test]
    fn a_large_file_is_found() {
        assert!(size("a.csv", FILE_BYTES_MAX).is_none());
        assert!(size("a.csv", FILE_BYTES_MAX + 1).expect("too large").message.contains("1048577 bytes"));
    }
}
