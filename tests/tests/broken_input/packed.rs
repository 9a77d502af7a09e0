//! Packed: gzip and zstd that is empty, unknown, damaged, doubled, or not what its name says.

use crate::case::{Case, run};
use crate::samples::{gzip, zstd};

const LIST: &[u8] = b"1 2\n2 3\n";

fn packed(name: &str, file: &'static str, bytes: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file(file, bytes)
}

/// `bytes` with the one at `at` (from the end, if it is below zero) changed.
fn flip(mut bytes: Vec<u8>, at: isize) -> Vec<u8> {
    let at = if at < 0 { bytes.len().checked_add_signed(at).unwrap() } else { at.cast_unsigned() };
    bytes[at] ^= 0x5a;
    bytes
}

#[test]
fn the_bytes_decide_and_not_the_name() {
    run(vec![
        packed("gzip", "g.e.gz", gzip(LIST)).loads(3, 2),
        packed("zstd", "g.e.zst", zstd(LIST)).loads(3, 2),
        packed("gzip called zstd", "g.e.zst", gzip(LIST)).loads(3, 2),
        packed("zstd without an ending", "g.e", zstd(LIST)).loads(3, 2),
        packed("text called gzip", "g.e.gz", LIST).loads(3, 2),
        packed("text with a byte order mark called gzip", "g.e.gz", [b"\xef\xbb\xbf", LIST].concat())
            .loads(3, 2),
        packed("several members", "g.e.gz", [gzip(b"1 2\n"), gzip(b"2 3\n")].concat()).loads(3, 2),
        packed("an empty member between", "g.e.gz", [gzip(b"1 2\n"), gzip(b""), gzip(b"2 3\n")].concat())
            .loads(3, 2),
        packed(
            "several frames, one to skip",
            "g.e.zst",
            [zstd(b"1 2\n"), b"\x50\x2a\x4d\x18\x02\0\0\0ab".to_vec(), zstd(b"2 3\n")].concat(),
        )
        .loads(3, 2),
        packed("nothing in it", "g.e.gz", gzip(b"")).loads(0, 0),
        packed("nothing in it, by zstd", "g.e.zst", zstd(b"")).loads(0, 0),
    ]);
}

#[test]
fn data_that_cannot_be_unpacked_is_refused_by_the_file() {
    run(vec![
        packed("an empty file", "g.e.gz", "")
            .refused("g.e.gz: is named .gz and has no bytes: the file is cut off, fetch it again"),
        packed("a byte", "g.e.zst", b"\x28".as_slice())
            .refused("g.e.zst: is named .zst and has only 1 byte: the file is cut off, fetch it again"),
        packed("wrong first bytes", "g.e.gz", flip(gzip(LIST), 0))
            .refused("g.e.gz: is named .gz and begins with bytes that are neither packed data nor text: the file is damaged, fetch it again"),
        packed("wrong first bytes of zstd", "g.e.zst", flip(zstd(LIST), 1))
            .refused("g.e.zst: is named .zst and begins with bytes that are neither packed data nor text: the file is damaged, fetch it again"),
        packed("a method that there isn't", "g.e.gz", flip(gzip(LIST), 2))
            .refused("g.e.gz: the gzip data is damaged, after 28 packed bytes and 0 unpacked ones; fetch the file again"),
        packed("a wrong checksum", "g.e.gz", flip(gzip(LIST), -5))
            .refused("g.e.gz: the gzip data is damaged, after 28 packed bytes and 8 unpacked ones; fetch the file again"),
        packed("a wrong checksum of zstd", "g.e.zst", flip(zstd(LIST), -1))
            .refused("g.e.zst: the zstd data is damaged, after 21 packed bytes and 0 unpacked ones; fetch the file again"),
        packed("a wrong length", "g.e.gz", flip(gzip(LIST), -1))
            .refused("g.e.gz: the gzip data is damaged, after 28 packed bytes and 8 unpacked ones; fetch the file again"),
        packed("half of it", "g.e.gz", &gzip(LIST)[..14])
            .refused("g.e.gz: the gzip data ends too early, after 14 packed bytes and 3 unpacked ones; fetch the file again"),
        packed("something behind it", "g.e.gz", [gzip(LIST), b"rubbish".to_vec()].concat())
            .refused("g.e.gz: the gzip data ends too early, after 35 packed bytes and 8 unpacked ones; fetch the file again"),
        packed("something behind it, by zstd", "g.e.zst", [zstd(LIST), b"rubbish".to_vec()].concat())
            .refused("g.e.zst: the zstd data is damaged, after 28 packed bytes and 8 unpacked ones; fetch the file again"),
        packed("packed twice", "g.e.gz", gzip(&gzip(LIST)))
            .bad_row("g.e.gz:1: column 1 (source): \"\\u{1f}�\\u{8}\\0\\0\\0\\0\\0\\u{4}�3T0�2R0�\\u{2}\\0��+�\\u{8}\\0\\0\\0\" is not a whole number", "\u{1f}�\u{8}\0\0\0\0\0\u{4}�3T0�2R0�\u{2}\0��+�\u{8}\0\0\0"),
        packed("xz", "g.e", b"\xfd7zXZ\0\0\0".as_slice())
            .refused("g.e: is xz data, which is not supported; unpack it in a pipe: xz -dc g.e | evergraph import DB -"),
        packed("bzip2 called gzip", "g.e.gz", b"BZh91AY&SY".as_slice())
            .refused("g.e.gz: is bzip2 data, which is not supported; unpack it in a pipe: bzip2 -dc g.e.gz | evergraph import DB -"),
        packed("a zip archive", "g.csv", b"PK\x03\x04\x14\0\0\0".as_slice())
            .refused("g.csv: is zip data, which is not supported; unpack it in a pipe: unzip -p g.csv | evergraph import DB -"),
        packed("a damaged CSV", "a.csv.gz", flip(gzip(b"id:ID,n\n1,a\n"), -5))
            .refused("a.csv.gz: the gzip data is damaged, after 32 packed bytes and 12 unpacked ones; fetch the file again"),
        packed("a damaged GraphML", "g.graphml.gz", flip(gzip(b"<graphml><graph/></graphml>"), -5))
            .refused("g.graphml.gz: the gzip data is damaged, after 36 packed bytes and 27 unpacked ones; fetch the file again"),
        packed("a damaged GraphSON", "g.graphson.zst", flip(zstd(b"{\"id\":1,\"label\":\"P\"}\n"), -1))
            .refused("g.graphson.zst: the zstd data is damaged, after 34 packed bytes and 0 unpacked ones; fetch the file again"),
        packed(
            "a packed matrix of another length",
            "g.mtx.gz",
            gzip(b"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n"),
        )
        .refused("g.mtx.gz: line 2 announces 2 edges, but the file has 1: the file is cut off, or not what it says"),
    ]);
}

#[test]
fn rows_of_packed_files_are_named_by_their_lines() {
    run(vec![
        packed("a list", "g.e.gz", gzip(b"1 2\nx 3\n"))
            .loads(2, 1)
            .bad_row("g.e.gz:2: column 1 (source): \"x\" is not a whole number", "x 3"),
        packed("CSV", "a.csv.zst", zstd(b"id:ID,n:int\n1,5\n2,x\n")).loads(1, 0).bad_row(
            "a.csv.zst:3: column 2 (n:int): \"x\" is not a valid int: expected digits with an optional sign",
            "2,x",
        ),
    ]);
}
