//! File names: a name for each file of an export, safe on every system, from any label or type.
//!
//! ```text
//! Person               Person            ../x           .._x ─> _._x: no dot in front
//! person               person-2          a/b: "c"       a_b___c_
//! con                  con_              Größe 名前     Größe_名前
//! ```
//!
//! Letters and digits of all scripts, `_`, `-` and `.` stay; everything else becomes `_`. Names that
//! differ in case only, or not any longer, get a number behind. None is one that Windows keeps for its
//! devices, and none is longer than file systems take.

use std::collections::HashSet;

/// Longer names are cut: 255 bytes is what file systems take, and endings come behind.
const BYTES_MAX: usize = 120;

/// Names that Windows keeps for its devices, with every ending.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// The names given so far.
#[derive(Debug, Default)]
pub struct FileNames {
    /// In small letters.
    taken: HashSet<String>,
}

impl FileNames {
    /// A name for `wanted`, unlike all those before, without an ending.
    pub fn name(&mut self, wanted: &str) -> String {
        let safe = safe(wanted);
        let mut name = safe.clone();
        let mut number = 1_u64;
        while !self.taken.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{safe}-{number}");
        }
        name
    }
}

fn safe(wanted: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let mut name: String = wanted.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    while name.len() > BYTES_MAX {
        name.pop();
    }
    // Hidden files are no input, a dash would be an option, a dot at the end is lost on Windows.
    if name.is_empty() || name.starts_with(['.', '-']) {
        name.insert(0, '_');
    }
    let before_dot = name.split('.').next().unwrap_or_default().to_lowercase();
    if DEVICES.contains(&before_dot.as_str()) {
        name.insert(before_dot.len(), '_');
    }
    if name.ends_with('.') {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(wanted: &[&str]) -> Vec<String> {
        let mut names = FileNames::default();
        wanted.iter().map(|wanted| names.name(wanted)).collect()
    }

    #[test]
    fn plain_names_stay_and_others_become_safe() {
        assert_eq!(names(&["Person", "works_at-2.x", "Größe"]), ["Person", "works_at-2.x", "Größe"]);
        assert_eq!(names(&["../x", "a/b", "", ".", "a\0b\n"]), ["_.._x", "a_b", "_", "_._", "a_b_"]);
        assert_eq!(names(&["con", "NUL.txt", "com1x", "-rf"]), ["con_", "NUL_.txt", "com1x", "_-rf"]);
    }

    #[test]
    fn names_that_clash_are_numbered() {
        assert_eq!(
            names(&["a", "A", "a-2", "a b", "a/b", "a"]),
            ["a", "A-2", "a-2-2", "a_b", "a_b-2", "a-3"]
        );
    }

    proptest! {
        #[test]
        fn every_name_is_safe_and_its_own(wanted in proptest::collection::vec(".{0,60}|[aA.]{0,2}", 1..20)) {
            let mut given = FileNames::default();
            let mut seen = HashSet::new();
            for wanted in &wanted {
                let name = given.name(wanted);
                prop_assert!(!name.is_empty() && name.len() < 200, "{name}");
                prop_assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'), "{name}");
                prop_assert!(!name.contains(['/', '\\', ':', '*', '"', ' ', '\0', '\n']), "{name}");
                prop_assert!(seen.insert(name.to_lowercase()), "{name} comes twice");
            }
        }
    }
}
