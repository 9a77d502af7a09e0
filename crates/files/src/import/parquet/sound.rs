//! Sound: guards against damaged files on which the Parquet crate panics.
//!
//! The footer says where each column lies and how long it is. What can't be true of a file of this size
//! is refused before anybody allocates by it; a panic all the same is the file's error, not the end of
//! the program.

use evergraph_graph::error::{Error, ErrorKind, Result};
use parquet::file::metadata::ParquetMetaData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `work` of the crate gives; its error and its panic are those of the file that errors call `name`.
///
/// Nothing of ours belongs in `work`: our own panics are no fault of a file.
///
/// # Errors
/// `invalid`, naming the file.
pub fn guarded<T, E: std::error::Error>(
    name: &str,
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    // What `work` has touched when it panics is given up with the file.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| broken(name, &error.to_string())),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(broken(name, said.unwrap_or("its parts contradict each other")))
        }
    }
}

/// Looks whether the figures of a footer can be true of a file of `file_bytes`.
///
/// # Errors
/// `invalid`, with the row group and the column.
pub fn check_footer(name: &str, metadata: &ParquetMetaData, file_bytes: u64) -> Result<()> {
    let mut rows: i64 = 0;
    for (at, group) in metadata.row_groups().iter().enumerate() {
        let in_group = |why: &str| broken(name, &format!("row group {at}: {why}"));
        rows = Some(group.num_rows())
            .filter(|rows| *rows >= 0)
            .and_then(|more| rows.checked_add(more))
            .ok_or_else(|| in_group("it has an impossible number of rows"))?;
        for (column, chunk) in group.columns().iter().enumerate() {
            let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let end = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
            let end = end.and_then(|(start, length)| start.checked_add(length));
            let fits = end.is_some_and(|end| end <= file_bytes) && chunk.num_values() >= 0;
            if !fits || chunk.uncompressed_size() < 0 || chunk.data_page_offset() < 0 {
                return Err(in_group(&format!("column {} lies outside the file", column + 1)));
            }
        }
    }
    Ok(())
}

/// The error of a file that is damaged, or none at all.
#[must_use]
pub fn broken(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("{name}: is not a valid Parquet file: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_crate_is_an_error_of_the_file() {
        let error = guarded("a.parquet", || -> std::result::Result<(), std::fmt::Error> { panic!("odd") });
        assert_eq!(error.unwrap_err().to_string(), "a.parquet: is not a valid Parquet file: odd");
        assert_eq!(guarded("a.parquet", || Ok::<_, std::fmt::Error>(7)).unwrap(), 7);
    }
}
