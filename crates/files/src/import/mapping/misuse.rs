//! Misuse: what is wrong with the value of a key of a mapping file, and where it stands.

use std::ops::Range;
use toml::Spanned;

/// What is wrong with the value of a key.
pub(super) struct Misuse {
    /// The bytes of the value.
    pub(super) at: Range<usize>,
    /// The key.
    pub(super) key: &'static str,
    /// What is wrong, and what is allowed.
    pub(super) why: String,
}

/// Has `check` look at `value`, which stands under `key`.
pub(super) fn check(
    value: &Spanned<String>,
    key: &'static str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<(), Misuse> {
    check(value.get_ref()).map_err(|why| {
        let why = format!("{:?}: {why}", value.get_ref());
        Misuse { at: value.span(), key, why }
    })
}

/// Where the value of a key stands, if the key is there.
pub(super) fn span_of<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
    value.as_ref().map(Spanned::span)
}
