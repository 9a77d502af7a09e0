//! Packing: which of Parquet's compressions are supported, checked before the first row.
//!
//! | packer | read | by |
//! |---|---|---|
//! | none | yes | |
//! | snappy, lz4 (raw, and Hadoop's) | yes | Rust crates of the same formats |
//! | gzip | yes | zlib-rs, as for text files |
//! | zstd | yes | the C library that text files need as well |
//! | brotli | no | its crate is larger than all the others, and hardly any file needs it |
//! | lzo | no | no crate that we know reads it |

use evergraph_graph::error::{Error, Result};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

/// Returns an error for a column with an unsupported compression.
///
/// # Errors
/// `invalid`, naming the file, the column, its packer, and what to write instead.
pub fn check_packing(name: &str, metadata: &ParquetMetaData) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let packer = match column.compression() {
            Compression::UNCOMPRESSED
            | Compression::SNAPPY
            | Compression::GZIP(_)
            | Compression::LZ4
            | Compression::LZ4_RAW
            | Compression::ZSTD(_) => continue,
            Compression::BROTLI(_) => "brotli",
            Compression::LZO => "lzo",
        };
        return Err(Error::invalid(format!(
            "{name}: column {} is packed by {packer}, which isn't read here: write the file anew with snappy, \
             zstd, gzip, lz4 or none",
            column.column_path().string()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::BrotliLevel;
    use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, RowGroupMetaData};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;
    use std::sync::Arc;

    /// The metadata of a file of one column, packed by `packer`.
    fn packed_by(packer: Compression) -> ParquetMetaData {
        let schema = parse_message_type("message schema { required int64 born; }").unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let column = ColumnChunkMetaData::builder(schema.column(0)).set_compression(packer).build().unwrap();
        let group =
            RowGroupMetaData::builder(Arc::clone(&schema)).set_column_metadata(vec![column]).build().unwrap();
        ParquetMetaData::new(FileMetaData::new(2, 0, None, None, schema, None), vec![group])
    }

    #[test]
    fn a_packer_that_is_not_read_is_named_with_the_column_and_with_those_that_are() {
        let brotli = check_packing("a.parquet", &packed_by(Compression::BROTLI(BrotliLevel::default())));
        assert_eq!(
            brotli.unwrap_err().to_string(),
            "a.parquet: column born is packed by brotli, which isn't read here: write the file anew with \
             snappy, zstd, gzip, lz4 or none"
        );
        assert!(check_packing("a.parquet", &packed_by(Compression::LZO)).is_err());
        assert!(check_packing("a.parquet", &packed_by(Compression::LZ4_RAW)).is_ok());
    }
}
