//! Glob: patterns of file paths, with `/` between folders.
//!
//! `*` stands for any characters of one name, `?` for one of them, `**` as a whole name for any number
//! of folders. All other characters stand for themselves.

/// Whether `path` matches `pattern`.
///
/// Cost: for each `*`, at most one pass over the rest of the name.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let path: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    matches_folders(&pattern, &path)
}

/// Whether `pattern` is one, and not just a path.
#[must_use]
pub fn is_pattern(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

fn matches_folders(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], path) => (0..=path.len()).any(|skipped| matches_folders(rest, &path[skipped..])),
        ([first, pattern @ ..], [name, path @ ..]) => {
            matches_name(first, name) && matches_folders(pattern, path)
        }
        _ => false,
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    // On a mismatch the last star takes one more character: no earlier one needs another look.
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                in_name = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|wanted| *wanted == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_in_one_folder_and_double_stars_cross_them() {
        for (pattern, path) in [
            ("person_*_0.csv", "person_0_0.csv"),
            ("*/person*", "dynamic/person_0_0.csv.gz"),
            ("**/*.csv", "a.csv"),
            ("**/*.csv", "a/b/c.csv"),
            ("a/**/c", "a/c"),
            ("a/**", "a/b/c"),
            ("?.e", "é.e"),
            ("*a*b*", "xaaxbb"),
            ("./a.csv", "a.csv"),
            ("-", "-"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.csv", "a/b.csv"),
            ("*.csv", "a.csv.gz"),
            ("?.e", "ab.e"),
            ("?.e", ".e"),
            ("a*b", "ac"),
            ("a/**/c", "b/c"),
            ("", "a"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        assert!(!matches(&"*a".repeat(40), &"a".repeat(5000).replace("aa", "ab")));
    }
}
