//! Values of PostgreSQL, from their text to Evergraph's values.
//!
//! ```text
//! bool                         bool          date                        date
//! int2 int4 int8               short int long timestamp timestamptz      datetime, in UTC
//! oid                          long          interval                    duration
//! float4 float8                float double  uuid                        uuid
//! numeric                      decimal       bytea                       bytes
//! domain                       its base      array of any of these       list; of lists if it has several dimensions
//! text varchar bpchar name "char" xml json jsonb enum time timetz, and all others        string, as PostgreSQL writes it
//! ```
//!
//! The texts are those of a session with pinned settings ([`crate::wire::startup::PINNED`]). A value that has no counterpart
//! here (`NaN` in a numeric, an infinite date, a null in an array) is an error with its cause, and the mapping decides.

pub mod array;
pub mod column_type;
pub mod moment;
pub mod read;
pub mod unfit;
