//! Settings: the options of an import by name, as data, for whoever is told them by name: a server, Python.
//!
//! Paths are none of them (the files, the mapping, the report, the temporary folder): each caller has rules of its own
//! about these.

use crate::import::faults::OnBadRow;
use crate::import::id_type::IdType;
use crate::import::mapping::rule::FileFormat;
use crate::import::options::{FirstLine, HeaderPlace, ImportOptions};
use crate::import::policy::{OnDuplicate, OnUnknown};
use crate::import::role::Role;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::nearest::did_you_mean;

/// The value of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingValue {
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// A whole number.
    Whole(u64),
    /// Whole numbers from one, without the other.
    Range(i64, i64),
}

/// An option of an import.
pub struct Setting {
    /// Its name, with underscores: `edge_type`.
    pub name: &'static str,
    set: fn(&mut ImportOptions, SettingValue) -> std::result::Result<(), String>,
}

/// All of them, by name.
pub const SETTINGS: [Setting; 21] = [
    Setting {
        name: "array_delimiter",
        set: |options, value| byte(value).map(|byte| options.csv.array_delimiter = byte),
    },
    Setting {
        name: "bad_rows_max",
        set: |options, value| {
            options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: Some(whole(value)?) };
            Ok(())
        },
    },
    Setting {
        name: "delimiter",
        set: |options, value| byte(value).map(|byte| options.csv.delimiter = Some(byte)),
    },
    Setting {
        name: "edge_columns",
        set: |options, value| text(value).map(|text| options.lists.edge_columns = Some(text)),
    },
    Setting {
        name: "edge_id",
        set: |options, value| text(value).map(|text| options.ids.edge_key = Some(text)),
    },
    Setting {
        name: "edge_type",
        set: |options, value| text(value).map(|text| options.lists.edge_type = text),
    },
    Setting { name: "escape", set: |options, value| byte(value).map(|byte| options.csv.escape = Some(byte)) },
    Setting {
        name: "first_line",
        set: |options, value| {
            let choices = [("header", FirstLine::Header), ("data", FirstLine::Data)];
            choice(value, choices).map(|first| options.csv.first_line = Some(first))
        },
    },
    Setting {
        name: "formats",
        set: |options, value| {
            let known =
                |name: String| FileFormat::ALL.into_iter().find(|format| format.name() == name).ok_or(name);
            let formats = texts(value)?.into_iter().map(known).collect::<std::result::Result<Vec<_>, _>>();
            options.formats = formats.map_err(|name| {
                format!(
                    "there is no format {name:?}; there are {}",
                    FileFormat::ALL.map(FileFormat::name).join(", ")
                )
            })?;
            Ok(())
        },
    },
    Setting { name: "header", set: |options, value| header(options, HeaderPlace::Given(text(value)?)) },
    Setting {
        name: "id_type",
        set: |options, value| {
            options.ids.id_type = IdType::parse(&text(value)?)?;
            Ok(())
        },
    },
    Setting { name: "null", set: |options, value| text(value).map(|text| options.csv.null = Some(text)) },
    Setting {
        name: "on_bad_row",
        set: |options, value| {
            let skips = choice(value, [("stop", false), ("skip", true)])?;
            // A number that may be bad says so already.
            if skips && options.bad_rows.on_bad_row == OnBadRow::Stop {
                options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
            }
            Ok(())
        },
    },
    Setting {
        name: "on_duplicate",
        set: |options, value| {
            let choices =
                [("fail", OnDuplicate::Fail), ("first", OnDuplicate::First), ("last", OnDuplicate::Last)];
            choice(value, choices).map(|chosen| options.ids.on_duplicate = chosen)
        },
    },
    Setting {
        name: "on_unknown",
        set: |options, value| {
            let choices =
                [("fail", OnUnknown::Fail), ("skip", OnUnknown::Skip), ("create", OnUnknown::Create)];
            choice(value, choices).map(|chosen| options.ids.on_unknown = chosen)
        },
    },
    Setting {
        name: "quote",
        set: |options, value| {
            // An empty text: there are no quotes.
            let is_none = value == SettingValue::Text(String::new());
            options.csv.quote = if is_none { None } else { Some(byte(value)?) };
            Ok(())
        },
    },
    Setting {
        name: "replace_header",
        set: |options, value| header(options, HeaderPlace::Replaced(text(value)?)),
    },
    Setting {
        name: "vertex_columns",
        set: |options, value| text(value).map(|text| options.lists.vertex_columns = Some(text)),
    },
    Setting {
        name: "vertex_id",
        set: |options, value| text(value).map(|text| options.ids.vertex_key = Some(text)),
    },
    Setting {
        name: "vertex_ids",
        set: |options, value| {
            options.lists.vertices = match value {
                SettingValue::Range(from, to) if from <= to => Some(from..to),
                _ => return Err("expected two whole numbers, such as 0 and 1000 for 0 to 999".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "vertex_label",
        set: |options, value| text(value).map(|text| options.lists.vertex_label = text),
    },
];

impl ImportOptions {
    /// Sets the option called `name`. A header is one of all files that there are.
    ///
    /// # Errors
    /// `invalid` for a name or a value that there isn't, and for two headers.
    pub fn set(&mut self, name: &str, value: SettingValue) -> Result<()> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            let names = SETTINGS.iter().map(|setting| setting.name);
            let guess = did_you_mean(name, names.clone());
            let all = names.collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(format!("an import has no option {name:?}{guess}; there are {all}")));
        };
        (setting.set)(self, value).map_err(|why| Error::invalid(format!("{name}: {why}")))
    }
}

/// What a file can hold by name.
const ROLES: [(&str, Role); 6] = [
    ("vertices", Role::Nodes),
    ("edges", Role::Edges),
    ("vertex-list", Role::VertexList),
    ("edge-list", Role::EdgeList),
    ("graphson", Role::GraphSon),
    ("graphml", Role::GraphMl),
];

impl Role {
    /// What [`Role::from_name`] calls it; `None` if that has no name for it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        ROLES.into_iter().find(|(_, role)| *role == self).map(|(name, _)| name)
    }

    /// What a file holds that is told to hold `name`.
    ///
    /// # Errors
    /// `invalid`, with what there is.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = ROLES.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, role)| role).ok_or_else(|| {
            let known = ROLES.map(|(name, _)| name).join(", ");
            Error::invalid(format!("a file holds one of {known}, not {name:?}"))
        })
    }
}

fn header(options: &mut ImportOptions, place: HeaderPlace) -> std::result::Result<(), String> {
    for file in &mut options.files {
        if file.header != HeaderPlace::FirstLine {
            return Err("header and replace_header: give one of the two".to_owned());
        }
        file.header = place.clone();
    }
    Ok(())
}

fn text(value: SettingValue) -> std::result::Result<String, String> {
    match value {
        SettingValue::Text(text) => Ok(text),
        _ => Err("expected a text".to_owned()),
    }
}

fn texts(value: SettingValue) -> std::result::Result<Vec<String>, String> {
    match value {
        SettingValue::Text(text) => Ok(vec![text]),
        SettingValue::Texts(texts) => Ok(texts),
        _ => Err("expected texts".to_owned()),
    }
}

fn whole(value: SettingValue) -> std::result::Result<u64, String> {
    match value {
        SettingValue::Whole(number) => Ok(number),
        _ => Err("expected a whole number, not negative".to_owned()),
    }
}

/// One ASCII character.
fn byte(value: SettingValue) -> std::result::Result<u8, String> {
    let text = text(value)?;
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(format!("expected one ASCII character, not {text:?}")),
    }
}

fn choice<T, const N: usize>(value: SettingValue, choices: [(&str, T); N]) -> std::result::Result<T, String> {
    let names = choices.each_ref().map(|(name, _)| *name).join(", ");
    let text = text(value)?;
    let found = choices.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, choice)| choice).ok_or_else(|| format!("expected one of {names}, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::options::InputFile;

    #[test]
    fn each_option_is_set_by_its_name_and_what_is_wrong_is_named() {
        let mut options = ImportOptions::new([InputFile::new("a.csv"), InputFile::new("b.csv")]);
        let text = |text: &str| SettingValue::Text(text.to_owned());
        for (name, value) in [
            ("delimiter", text("|")),
            ("quote", text("")),
            ("null", text("NULL")),
            ("first_line", text("data")),
            ("header", text("id:ID,name")),
            ("id_type", text("integer")),
            ("formats", SettingValue::Texts(vec!["csv".to_owned()])),
            ("bad_rows_max", SettingValue::Whole(3)),
            ("on_bad_row", text("skip")),
            ("on_duplicate", text("last")),
            ("on_unknown", text("create")),
            ("vertex_ids", SettingValue::Range(0, 9)),
            ("edge_type", text("KNOWS")),
        ] {
            options.set(name, value).unwrap();
        }
        assert_eq!((options.csv.delimiter, options.csv.quote), (Some(b'|'), None));
        assert!(options.files.iter().all(|file| file.header == HeaderPlace::Given("id:ID,name".to_owned())));
        assert_eq!(options.bad_rows.on_bad_row, OnBadRow::Skip { at_most: Some(3) });
        assert_eq!(
            (options.ids.on_duplicate, options.ids.on_unknown),
            (OnDuplicate::Last, OnUnknown::Create)
        );
        assert_eq!((options.lists.vertices, options.lists.edge_type.as_str()), (Some(0..9), "KNOWS"));
        let mut options = ImportOptions::new([InputFile::new("a.csv")]);
        for (name, value, said) in [
            ("delimter", text("|"), "delimiter"),
            ("delimiter", text("||"), "one ASCII character"),
            ("on_duplicate", text("maybe"), "fail, first, last"),
            ("bad_rows_max", text("many"), "whole number"),
            ("formats", text("docx"), "csv"),
            ("id_type", text("colour"), "string"),
            ("vertex_ids", SettingValue::Range(5, 4), "two whole numbers"),
        ] {
            let error = options.set(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(said), "{error}");
        }
        options.set("header", text("a:ID")).unwrap();
        assert!(options.set("replace_header", text("b:ID")).is_err());
        assert!(SETTINGS.is_sorted_by_key(|setting| setting.name));
        assert_eq!(Role::from_name("edges").unwrap(), Role::Edges);
        assert!(Role::from_name("edge").unwrap_err().to_string().contains("edge-list"));
    }
}
