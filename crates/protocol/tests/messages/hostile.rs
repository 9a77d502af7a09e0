//! Hostile messages: lengths that lie, nesting without end, and bytes at random are errors with a position.

use std::thread;

use evergraph_graph::error::ErrorKind;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::Request;
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use proptest::prelude::*;

/// A request in GraphBinary to evaluate a text, with what follows the number of arguments.
fn binary_request(count: u32, arguments: &[u8]) -> Vec<u8> {
    let mut out = vec![0x81];
    out.extend([7; 16]);
    out.extend(b"\0\0\0\x04eval\0\0\0\0");
    out.extend(count.to_be_bytes());
    out.extend_from_slice(arguments);
    out
}

/// A response in GraphBinary with this data.
fn binary_response(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x81, 1, 0, 0, 0, 200, 1];
    out.extend([0; 8]);
    out.extend_from_slice(data);
    out
}

#[test]
fn a_length_that_lies_is_an_error_with_its_byte() {
    let read = |body: &[u8]| Request::read(Format::GraphBinary, body, &RequestLimits::default()).unwrap_err();
    for (body, message) in [
        (vec![], "byte 0: 1 bytes expected, 0 left"),
        (vec![0x84], "byte 0: version 0x81 expected, found 0x84"),
        (vec![0x81, 1, 2], "byte 1: 16 bytes expected, 2 left"),
        (binary_request(u32::MAX, b""), "byte 29: a length of at most 0 expected, found -1"),
        (binary_request(1 << 30, b""), "byte 29: a length of at most 0 expected, found 1073741824"),
        (
            binary_request(1, b"\x01\0\0\0\0\x07"),
            "byte 33: the name of an argument, a string, expected, found a value of type 0x01",
        ),
        (
            binary_request(1, b"\x03\0\0\0\0\x07gremlin\x03\0\x7f\xff\xff\xff"),
            "argument `gremlin`: at byte 48: a length of at most 0 expected, found 2147483647",
        ),
        (binary_request(0, b"x"), "byte 33: the end expected, 1 bytes left"),
    ] {
        let error = read(&body);
        let found = error.message.strip_prefix("argument `gremlin`: ").unwrap_or(&error.message);
        let message = message.strip_prefix("argument `gremlin`: ").unwrap_or(message);
        assert_eq!(found, message);
        assert_eq!(error.status, Status::MalformedRequest);
    }
    for (data, message) in [
        (&b"\x09\0\x7f\xff\xff\xff"[..], "byte 17: a length of at most 0 expected, found 2147483647"),
        (b"\x01\0\0\0\0\x07", "byte 15: a list of results or null expected"),
        (
            b"\x09\0\0\0\0\x01\x21\0\xff\xff\xff\xff\xff\xff\xff\xff\xfe\x01",
            "byte 23: a bulk of at least 0 expected, found -1",
        ),
        (b"\x09\0\0\0\0\x01\x2c\0", "byte 21: metrics can't be a result here"),
        (b"\x09\0\0\0\0\x01\x31\0", "byte 21: there is no type 0x31"),
        (b"\x09\0\0\0\0\x01\x20\0\x03\0\0\0\0\x01x", "byte 21: no word of this enumeration"),
        (
            b"\x09\0\0\0\0\x01\x2a\0\0\0\0\x01\xfe\x01\0\0\0\0\x7f\xff\xff\xff",
            "byte 29: a bulk set with items that occur once expected, found one 2147483647 times",
        ),
    ] {
        let error = Response::read(Format::GraphBinary, &binary_response(data)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_million_levels_are_an_error_on_a_small_stack() {
    let check = || {
        let limits = RequestLimits { bytes_max: usize::MAX, ..RequestLimits::default() };
        let open = |code: u8, count: usize| [code, 0, 0, 0, 0, 1].repeat(count);
        for code in [0x09, 0x0a, 0x0b] {
            let body = binary_request(1, &[&b"\x03\0\0\0\0\x07gremlin"[..], &open(code, 1_000_000)].concat());
            let error = Request::read(Format::GraphBinary, &body, &limits).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Limit, "{error}");
            let data = [&b"\x09\0\0\0\0\x01"[..], &open(code, 1_000_000)].concat();
            let error = Response::read(Format::GraphBinary, &binary_response(&data)).unwrap_err();
            assert_eq!(error.reason, "a result is nested more than 600 deep");
        }
        // Of a tree each key is a null.
        let tree = [&b"\x09\0\0\0\0\x01\x2b\0"[..], &[0, 0, 0, 1, 0xfe, 1].repeat(1_000_000)].concat();
        let error = Response::read(Format::GraphBinary, &binary_response(&tree)).unwrap_err();
        assert_eq!(error.reason, "a tree is nested more than 600 deep");
        for open in
            ["[", r#"{"a":"#, r#"{"@type":"g:List","@value":["#, r#"{"@type":"g:Tree","@value":[{"value":"#]
        {
            let json = format!(r#"{{"result":{{"data":[{}"#, open.repeat(1_000_000));
            let error = Response::read(Format::GraphSon, json.as_bytes()).unwrap_err();
            assert!(error.reason.contains("nested more than 300 deep"), "{error}");
            let json = format!(r#"{{"args":{{"gremlin":{}"#, open.repeat(1_000_000));
            let error = Request::read(Format::GraphSon, json.as_bytes(), &limits).unwrap_err();
            assert!(error.message.contains("nested more than 300 deep"), "{error}");
        }
    };
    thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let limits = RequestLimits::default();
        let _ = Request::read_message(&bytes, &limits);
        for format in Format::ALL {
            let _ = Request::read(*format, &bytes, &limits);
            let _ = Response::read(*format, &bytes);
        }
        let _ = Request::read(Format::GraphBinary, &binary_request(1, &bytes), &limits);
        let _ = Response::read(Format::GraphBinary, &binary_response(&bytes));
    }
}
