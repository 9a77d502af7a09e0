//! Values: what stands behind the options of an import, read from text.

use evergraph::import::csv::file::header_line;
use evergraph::import::options::{HeaderPlace, InputFile, Role};
use evergraph_graph::error::Result;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Files and perhaps the label or type of their rows.
#[derive(Clone, Debug)]
pub struct NamedFiles {
    name: Option<String>,
    /// The first one has the header of all.
    paths: Vec<PathBuf>,
}

/// What encloses fields.
#[derive(Clone, Copy, Debug)]
pub struct Quote(pub(super) Option<u8>);

impl NamedFiles {
    /// The files, each holding `role`; `header` is theirs if it isn't in the first one's first line.
    pub(super) fn inputs(&self, role: Role, header: &HeaderPlace) -> Result<Vec<InputFile>> {
        let mut header = header.clone();
        let mut inputs = Vec::with_capacity(self.paths.len());
        for (index, path) in self.paths.iter().enumerate() {
            if index == 1 && header == HeaderPlace::FirstLine {
                header = HeaderPlace::Given(header_line(&self.paths[0])?);
            }
            let mut input = InputFile::new(path).role(role).header(header.clone());
            match role {
                Role::Nodes => input.label.clone_from(&self.name),
                _ => input.edge_type.clone_from(&self.name),
            }
            inputs.push(input);
        }
        Ok(inputs)
    }
}

/// `[NAME=]FILE[,FILE...]`.
///
/// # Errors
/// What is wanted instead.
pub(super) fn named_files(text: &str) -> std::result::Result<NamedFiles, String> {
    let (name, paths) = match text.split_once('=') {
        Some((name, paths)) => (Some(name.to_owned()), paths),
        None => (None, text),
    };
    let is_one = !paths.contains(',') || Path::new(paths).exists();
    let paths: Vec<PathBuf> =
        if is_one { vec![paths.into()] } else { paths.split(',').map(PathBuf::from).collect() };
    if paths.iter().any(|path| path.as_os_str().is_empty()) || name.as_ref().is_some_and(String::is_empty) {
        return Err("expected NAME=FILE or FILE".to_owned());
    }
    Ok(NamedFiles { name, paths })
}

/// One ASCII character, or `tab`.
///
/// # Errors
/// What is wanted instead.
pub(super) fn character(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] => Ok(*byte),
        _ => Err("expected one ASCII character or `tab`".to_owned()),
    }
}

/// One ASCII character, or `none`.
///
/// # Errors
/// What is wanted instead.
pub(super) fn quote(text: &str) -> std::result::Result<Quote, String> {
    match text {
        "none" => Ok(Quote(None)),
        _ => character(text).map(|byte| Quote(Some(byte))).map_err(|why| why.replace("`tab`", "`none`")),
    }
}

/// `FROM..TO`, without TO.
///
/// # Errors
/// What is wanted instead.
pub(super) fn id_range(text: &str) -> std::result::Result<Range<i64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO, such as 0..1000")?;
    let bound = |text: &str| text.parse::<i64>().map_err(|error| format!("{text:?}: {error}"));
    let range = bound(from)?..bound(to)?;
    if range.start > range.end {
        return Err("FROM is above TO".to_owned());
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_characters_are_read_as_people_write_them() {
        let named = named_files("Person=a=b.csv").unwrap();
        assert_eq!((named.name.as_deref(), named.paths), (Some("Person"), vec![PathBuf::from("a=b.csv")]));
        let named = named_files("Person=header.csv,1.csv,2.csv").unwrap();
        assert_eq!(named.paths, ["header.csv", "1.csv", "2.csv"].map(PathBuf::from));
        assert!(named_files("a.csv").unwrap().name.is_none());
        assert!(["Person=", "=a.csv", "P=a.csv,,b.csv"].iter().all(|text| named_files(text).is_err()));
        assert_eq!((character("tab"), character("|")), (Ok(b'\t'), Ok(b'|')));
        assert!(character("||").is_err() && character("").is_err() && character("ü").is_err());
        assert_eq!((quote("none").unwrap().0, quote("'").unwrap().0), (None, Some(b'\'')));
    }

    #[test]
    fn ranges_of_ids_have_both_ends() {
        assert_eq!(id_range("0..1000"), Ok(0..1000));
        assert_eq!(id_range("-5..5"), Ok(-5..5));
        assert!(id_range("5").is_err() && id_range("5..4").is_err() && id_range("0..x").is_err());
    }
}
