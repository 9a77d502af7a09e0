//! Filter: the conditions of `where`, which say of each row whether a rule is for it.
//!
//! ```text
//! text ──token, parse──> expression ──bind, with the table's columns──> condition ──evaluate, with a row──> yes or no
//! ```
//!
//! ```text
//! condition   := conjunction { OR conjunction }
//! conjunction := negation { AND negation }
//! negation    := NOT negation | predicate
//! predicate   := operand ( = | <> | != | < | <= | > | >= ) operand
//!              | operand [NOT] IN ( literal {, literal} )
//!              | operand IS [NOT] NULL
//!              | column of booleans | TRUE | FALSE | ( condition )
//! operand     := column | literal
//! column      := name | "Name"                        names without quotes are folded to lower case, as in SQL
//! literal     := 'text' | [+|-] number | TRUE | FALSE
//! ```
//!
//! The meaning is PostgreSQL's: truth has three values, and a row whose condition is unknown is left out. A text in quotes
//! has the type of what it is compared with. What PostgreSQL decides by rules that are unknown here is an error when the
//! mapping is read: the order of texts (a collation's), and values of types that are kept as text (json, inet, ranges).
//!
//! Conditions are evaluated here, for copied and for streamed rows alike. A filter of a publication would make updates
//! fail at the source unless all of its columns belonged to the replica identity.

pub mod bind;
pub mod condition;
pub mod expression;
pub mod operand;
pub mod parse;
mod token;
