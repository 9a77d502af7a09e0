//! Nearest: the known name that an unknown one was probably meant to be.
//!
//! ```text
//! no step is called `otu`; did you mean `out`?
//! ```

/// The name among `known` that `typed` was probably meant to be: at most two slips away, and less
/// than half of the name.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Slips cost the product of both lengths to count, and no name of ours is long.
    const TYPED_BYTES_MAX: usize = 40;
    if typed.len() > TYPED_BYTES_MAX {
        return None;
    }
    let typed_small = typed.to_lowercase();
    let distance = |name: &str| {
        let small = name.to_lowercase();
        // Of names equally near, the first letter is the one that is rarely wrong.
        (
            strsim::damerau_levenshtein(&typed_small, &small),
            small.chars().next() != typed_small.chars().next(),
        )
    };
    // Whose length differs by more is further away, and a graph may have many names.
    let (shortest, longest) =
        (typed_small.chars().count().saturating_sub(2), typed_small.chars().count() + 2);
    let is_as_long = |name: &&str| (shortest..=longest).contains(&name.chars().count());
    let known = known.into_iter().filter(|name| *name != typed).filter(is_as_long);
    let near = known.map(|name| (distance(name), name));
    near.filter(|((slips, _), name)| *slips <= 2 && slips * 2 < name.chars().count().max(2))
        .min()
        .map(|(_, name)| name)
}

/// `; did you mean ...?` if one of `known` is near to `typed`, else nothing.
#[must_use]
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["out", "outE", "repeat", "V", "id"];
        assert_eq!(nearest("otu", known), Some("out"), "a swap is one slip");
        assert_eq!(nearest("outs", known), Some("out"));
        assert_eq!(nearest("dsc", ["asc", "desc"]), Some("desc"));
        assert_eq!(nearest("oute", known), Some("outE"));
        assert_eq!(nearest("v", known), Some("V"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("repaet", known), Some("repeat"));
        assert_eq!(nearest(&"repeat".repeat(1000), known), None);
    }
}
