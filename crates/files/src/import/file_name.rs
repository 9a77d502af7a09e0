//! File name: what a file's name says, without its folders.

use crate::import::bytes::source::unpacked_name;
use std::path::Path;

/// The file's name without its endings.
#[must_use]
pub fn stem(path: &Path) -> String {
    stem_and_ending(path).0
}

/// The file's name without its endings, and the ending before that of a packer, in small letters.
#[must_use]
pub fn stem_and_ending(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = unpacked_name(&name).rsplit_once('.').unwrap_or((unpacked_name(&name), ""));
    (stem.to_owned(), ending.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_packers_are_none_of_a_name() {
        let parts = |name: &str| stem_and_ending(Path::new(name));
        assert_eq!(parts("a/Person.csv.gz"), ("Person".to_owned(), "csv".to_owned()));
        assert_eq!(parts("title.basics.TSV"), ("title.basics".to_owned(), "tsv".to_owned()));
        assert_eq!(stem(Path::new("a/knows.e")), "knows");
    }
}
