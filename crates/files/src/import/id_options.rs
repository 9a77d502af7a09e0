//! Id options: the options in braces after `:ID`, `:START_ID` and `:END_ID` in a header.
//!
//! ```text
//! :START_ID(Person){id-type:long,key:number,on-unknown:create}
//! ```

use crate::import::id_type::IdType;

/// What `on-unknown` of one end of edges can be.
pub const ON_UNKNOWN_CREATE: &str = "create";

/// What a column of ids says in braces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdOptions {
    /// The type of the ids.
    pub id_type: Option<IdType>,
    /// The key that they are of the database's vertices.
    pub key: Option<String>,
    /// Whether a vertex that isn't there is created.
    pub creates: bool,
}

/// Whose ids a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdRole {
    /// Those of the vertices of a file.
    Vertex,
    /// Those of the vertices where edges begin or end: only these have a key, and may be unknown.
    End,
}

/// The options of a column whose ids are those of `role`.
///
/// # Errors
/// What is unknown, and what is known.
pub fn parse_id_options(options: &[(String, String)], role: IdRole) -> Result<IdOptions, String> {
    let mut found = IdOptions::default();
    for (option, value) in options {
        match option.as_str() {
            "id-type" => found.id_type = Some(IdType::parse(value)?),
            "key" if role == IdRole::End => found.key = Some(value.clone()),
            "on-unknown" if role == IdRole::End => {
                if !value.eq_ignore_ascii_case(ON_UNKNOWN_CREATE) {
                    return Err(format!("unknown on-unknown {value:?}; known is {ON_UNKNOWN_CREATE}"));
                }
                found.creates = true;
            }
            _ => {
                let known = match role {
                    IdRole::Vertex => "known is id-type",
                    IdRole::End => "known are id-type, key and on-unknown",
                };
                return Err(format!("unknown option {option:?}; {known}"));
            }
        }
    }
    Ok(found)
}
