//! Type codes of GraphBinary 1.0: the first byte of every value.
//!
//! ```text
//! 01 int       0a map       15 bytecode      1f scope       29 strategy          81 duration
//! 02 long      0b set       16 cardinality   20 T           2a bulk set          83 instant
//! 03 string    0c UUID      17 column        21 traverser   2b tree              84 local date
//! 04 date      0d edge      18 direction     22 big decimal 2c, 2d metrics       85 local date-time
//! 05 timestamp 0e path      19 operator      23 big integer 2e merge             88 offset date-time
//! 06 class     0f property  1a order         24 byte        2f DT                8a period
//! 07 double    10 graph     1b pick          25 bytes       30 GType             8d zoned date-time
//! 08 float     11 vertex    1c pop           26 short       80 char
//! 09 list      12 vertex property            27 boolean     fe null
//!              13 barrier   1d lambda        28 TextP
//!              14 binding   1e P
//! ```
//!
//! Source: TinkerPop 3.8, "GraphBinary", version 1.0; `GType` (30) is in its sources only.

use evergraph_query::gremlin::token::Enumeration;

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(pub(crate) const $name: u8 = $code;)+
    };
}

codes! {
    CUSTOM = 0x00,
    INT = 0x01,
    LONG = 0x02,
    STRING = 0x03,
    DATE = 0x04,
    TIMESTAMP = 0x05,
    CLASS = 0x06,
    DOUBLE = 0x07,
    FLOAT = 0x08,
    LIST = 0x09,
    MAP = 0x0a,
    SET = 0x0b,
    UUID = 0x0c,
    EDGE = 0x0d,
    PATH = 0x0e,
    PROPERTY = 0x0f,
    GRAPH = 0x10,
    VERTEX = 0x11,
    VERTEX_PROPERTY = 0x12,
    BINDING = 0x14,
    BYTECODE = 0x15,
    DIRECTION = 0x18,
    P = 0x1e,
    T = 0x20,
    TRAVERSER = 0x21,
    BIG_DECIMAL = 0x22,
    BIG_INTEGER = 0x23,
    BYTE = 0x24,
    BYTE_BUFFER = 0x25,
    SHORT = 0x26,
    BOOLEAN = 0x27,
    TEXT_P = 0x28,
    STRATEGY = 0x29,
    BULK_SET = 0x2a,
    TREE = 0x2b,
    CHAR = 0x80,
    DURATION = 0x81,
    INSTANT = 0x83,
    LOCAL_DATE = 0x84,
    LOCAL_DATE_TIME = 0x85,
    OFFSET_DATE_TIME = 0x88,
    PERIOD = 0x8a,
    ZONED_DATE_TIME = 0x8d,
    NULL = 0xfe,
}

/// Enumerations whose words have a type code of their own.
const ENUMERATIONS: [(u8, Enumeration); 13] = [
    (0x13, Enumeration::Barrier),
    (0x16, Enumeration::Cardinality),
    (0x17, Enumeration::Column),
    (DIRECTION, Enumeration::Direction),
    (0x19, Enumeration::Operator),
    (0x1a, Enumeration::Order),
    (0x1b, Enumeration::Pick),
    (0x1c, Enumeration::Pop),
    (0x1f, Enumeration::Scope),
    (T, Enumeration::T),
    (0x2e, Enumeration::Merge),
    (0x2f, Enumeration::DT),
    (0x30, Enumeration::GType),
];

/// The enumeration whose words have the type `code`.
pub(crate) fn enumeration(code: u8) -> Option<Enumeration> {
    ENUMERATIONS.iter().find(|(known, _)| *known == code).map(|(_, enumeration)| *enumeration)
}

/// The type of the words of `enumeration`; `None` of one whose words are strings and numbers.
pub(crate) fn code_of(enumeration: Enumeration) -> Option<u8> {
    ENUMERATIONS.iter().find(|(_, known)| *known == enumeration).map(|(code, _)| *code)
}

/// The name, with its article, of a type that cannot be an argument of a query.
pub(crate) fn name(code: u8) -> Option<&'static str> {
    Some(match code {
        PATH => "a path",
        PROPERTY => "a property",
        GRAPH => "a graph",
        VERTEX_PROPERTY => "a vertex property",
        0x1d => "a lambda",
        TRAVERSER => "a traverser",
        BULK_SET => "a bulk set",
        TREE => "a tree",
        0x2c => "metrics",
        0x2d => "the metrics of a traversal",
        0x82 => "an internet address",
        0x86 => "a local time",
        0x87 => "a day of a month",
        0x89 => "a time with an offset",
        0x8b => "a year",
        0x8c => "a month of a year",
        0x8e => "an offset from UTC",
        _ => return None,
    })
}
