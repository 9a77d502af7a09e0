//! A random value of a column's type, as an SQL literal.

use crate::shop::below;
use evergraph_replica::source::catalogue::{TypeKind, Types};

/// Characters of short texts: few, so that keys meet; and those that separate the parts of a key.
const LETTERS: [char; 7] = ['A', 'B', '|', '\\', 'é', '~', ' '];
const TEXTS: [&str; 12] = [
    "",
    " ",
    "it's",
    "a|b\\c",
    "tab\there",
    "line\nbreak",
    "\\N",
    "NULL",
    "{}",
    "ünï 😀",
    "\"quoted\"",
    "end\\",
];

/// How values of a type are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueForm {
    Whole {
        max: i64,
    },
    Real,
    Numeric {
        /// Digits before the point.
        whole: u32,
        /// Digits behind it.
        scale: u32,
    },
    Text {
        chars_max: Option<usize>,
    },
    Bool,
    Bytes,
    Date,
    Moment,
    Uuid,
    Json,
    /// Of an enum.
    Label(Vec<String>),
    /// `tsvector`.
    Words,
    Array(Box<ValueForm>),
    /// A value that some row had, else null: of what is none of these.
    Sampled,
}

impl ValueForm {
    /// That of a column's type.
    pub fn of(types: &Types, type_id: u32, type_name: &str) -> Self {
        let modifiers: Vec<u32> = type_name
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map_or(Vec::new(), |(inner, _)| inner.split(',').filter_map(|part| part.parse().ok()).collect());
        match type_id {
            16 => Self::Bool,
            17 => Self::Bytes,
            20 => Self::Whole { max: i64::MAX },
            21 => Self::Whole { max: i64::from(i16::MAX) },
            23 => Self::Whole { max: i64::from(i32::MAX) },
            700 | 701 => Self::Real,
            1082 => Self::Date,
            1114 | 1184 => Self::Moment,
            1700 => match modifiers[..] {
                [precision, scale] => Self::Numeric { whole: precision - scale, scale },
                _ => Self::Numeric { whole: 9, scale: 3 },
            },
            2950 => Self::Uuid,
            114 | 3802 => Self::Json,
            25 => Self::Text { chars_max: None },
            1042 | 1043 => Self::Text { chars_max: modifiers.first().map(|chars| *chars as usize) },
            3614 => Self::Words,
            _ => match types.get(type_id).map(|entry| &entry.kind) {
                Some(TypeKind::Enum { labels }) => {
                    Self::Label(labels.iter().map(|label| (**label).to_owned()).collect())
                }
                Some(TypeKind::Array { element, .. }) => {
                    Self::Array(Box::new(Self::of(types, *element, type_name)))
                }
                _ => Self::Sampled,
            },
        }
    }

    /// A value's text, `None` for null.
    pub fn text(&self, random: &mut u64, samples: &[String]) -> Option<String> {
        let sample =
            |random: &mut u64| Some(samples.get(below(random, samples.len() as u64) as usize)?.clone());
        if !samples.is_empty() && below(random, 3) == 0 {
            return sample(random);
        }
        Some(match self {
            Self::Whole { max } => below(random, (*max as u64).min(3000)).to_string(),
            Self::Real => format!("{}.{:02}", below(random, 9999), 1 + below(random, 99)),
            Self::Numeric { whole, scale } => {
                let whole = below(random, 10_u64.pow((*whole).min(9)));
                match scale {
                    0 => whole.to_string(),
                    _ => {
                        let part = below(random, 10_u64.pow(*scale));
                        format!("{whole}.{part:0digits$}", digits = *scale as usize)
                    }
                }
            }
            Self::Text { chars_max } => text(random, *chars_max),
            Self::Bool => (below(random, 2) == 0).to_string(),
            Self::Bytes => {
                let digits = below(random, 40) as usize;
                format!("\\x{}", hex(random, digits))
            }
            Self::Date => format!("2022-{:02}-{:02}", 1 + below(random, 7), 1 + below(random, 28)),
            Self::Moment => format!(
                "2022-{:02}-{:02} {:02}:{:02}:{:02}.{:06}+00",
                1 + below(random, 7),
                1 + below(random, 28),
                below(random, 24),
                below(random, 60),
                below(random, 60),
                below(random, 2) * below(random, 1_000_000)
            ),
            Self::Uuid => hex(random, 32),
            Self::Json => format!("{{\"n\": {}, \"list\": [1, null, \"x|y\"]}}", below(random, 1000)),
            Self::Label(labels) => labels[below(random, labels.len() as u64) as usize].clone(),
            Self::Words => format!("cat fat{} rat", below(random, 100)),
            Self::Array(element) => {
                let elements: Vec<String> = (0..below(random, 4))
                    .filter_map(|_| element.text(random, &[]))
                    .map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
                    .collect();
                format!("{{{}}}", elements.join(","))
            }
            Self::Sampled => return sample(random),
        })
    }

    /// The text of a key: one that some row had or has, or one of a few.
    pub fn key_text(&self, random: &mut u64, samples: &[String]) -> Option<String> {
        if samples.is_empty() || below(random, 3) > 0 {
            match self {
                Self::Whole { max } => {
                    let first = samples.iter().filter_map(|text| text.parse::<i64>().ok()).max().unwrap_or(0);
                    return Some((first + 1 + below(random, 400) as i64).min(*max).to_string());
                }
                Self::Numeric { .. } => {
                    return Some(format!(
                        "{}.{}",
                        below(random, 20),
                        ["00", "50"][below(random, 2) as usize]
                    ));
                }
                Self::Text { chars_max } => {
                    let chars = 1 + below(random, chars_max.unwrap_or(4).min(4) as u64);
                    return Some((0..chars).map(|_| LETTERS[below(random, 7) as usize]).collect());
                }
                Self::Uuid => return Some(format!("{:032x}", below(random, 400))),
                _ => {}
            }
        }
        self.text(random, samples)
    }
}

fn text(random: &mut u64, chars_max: Option<usize>) -> String {
    let text = match below(random, 40) {
        0..20 => TEXTS[below(random, TEXTS.len() as u64) as usize].to_owned(),
        // Beyond 2 kB that cannot be compressed, values are stored outside of their row.
        20 if chars_max.is_none() => hex(random, 9000),
        _ => format!("text {}", below(random, 5000)),
    };
    text.chars().take(chars_max.unwrap_or(usize::MAX)).collect()
}

fn hex(random: &mut u64, digits: usize) -> String {
    let mut text = String::with_capacity(digits + 16);
    while text.len() < digits & !1 {
        text.push_str(&format!("{:016x}", below(random, u64::MAX)));
    }
    text.truncate(digits & !1);
    text
}

/// A literal of the type that SQL calls `sql_type`.
pub fn literal(text: Option<&str>, sql_type: &str) -> String {
    match text {
        Some(text) => format!("'{}'::{sql_type}", text.replace('\'', "''")),
        None => format!("NULL::{sql_type}"),
    }
}
