//! Publications: which tables are in a stream. Made, looked at, dropped.
//!
//! A published table whose rows cannot be told apart makes UPDATE and DELETE **fail at the source**. [`problems`] finds it.

use std::fmt;

use postgres_protocol::escape::escape_identifier;

use crate::pgoutput::relation::RelationIdentity;
use crate::source::catalogue::{Catalogue, Publication, Table};
use crate::source::error::SourceResult;
use crate::source::postgres::connection::Connection;

/// What a publication lacks, or would break.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublicationProblem {
    /// There is no such publication.
    Missing {
        /// Its name.
        publication: String,
        /// The tables that it needs.
        tables: Vec<(String, String)>,
    },
    /// It leaves some kinds of changes out.
    Operations {
        /// Its name.
        publication: String,
    },
    /// It names partitions in place of the table that they are parts of.
    NotByRoot {
        /// Its name.
        publication: String,
    },
    /// It lacks a table.
    Unpublished {
        /// Its name.
        publication: String,
        /// The table's schema and name.
        table: (String, String),
    },
    /// It leaves rows out: those that leave the filter are not sent as deletes where the filter has other columns than the key.
    RowFilter {
        /// Its name.
        publication: String,
        /// The table's schema and name.
        table: (String, String),
        /// The condition.
        filter: String,
    },
    /// UPDATE and DELETE of the table fail at the source once it is published.
    NoIdentity {
        /// The table's schema and name.
        table: (String, String),
        /// A unique key without nulls that could stand in, if there is one.
        index: Option<String>,
    },
    /// The source has no such table.
    NoTable {
        /// The table's schema and name.
        table: (String, String),
    },
}

impl PublicationProblem {
    /// What is wrong, without the SQL that mends it.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Missing { publication, .. } => format!("there is no publication {publication:?}"),
            Self::Operations { publication } => {
                format!("the publication {publication:?} leaves out inserts, updates, deletes or truncates")
            }
            Self::NotByRoot { publication } => format!(
                "the publication {publication:?} sends changes of partitions under the partitions' names"
            ),
            Self::Unpublished { publication, table } => {
                format!("the publication {publication:?} does not have the table {}", qualified(table))
            }
            Self::RowFilter { publication, table, filter } => format!(
                "the publication {publication:?} sends only rows of {} with {filter}: filter in the mapping, which sees \
                 rows leave",
                qualified(table)
            ),
            Self::NoIdentity { table, .. } => format!(
                "{} has no replica identity (a primary key that is deferrable does not count): once it is published, UPDATE \
                 and DELETE fail at the source",
                qualified(table)
            ),
            Self::NoTable { table } => format!("there is no table {}", qualified(table)),
        }
    }

    /// The SQL that mends it; `None` where that is for a person to decide.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Missing { publication, tables } => create_sql(publication, tables),
            Self::Operations { publication } => format!(
                "ALTER PUBLICATION {} SET (publish = 'insert, update, delete, truncate')",
                escape_identifier(publication)
            ),
            Self::NotByRoot { publication } => {
                format!(
                    "ALTER PUBLICATION {} SET (publish_via_partition_root = true)",
                    escape_identifier(publication)
                )
            }
            Self::Unpublished { publication, table } => {
                format!("ALTER PUBLICATION {} ADD TABLE {}", escape_identifier(publication), qualified(table))
            }
            Self::NoIdentity { table, index: Some(index) } => format!(
                "ALTER TABLE {} REPLICA IDENTITY USING INDEX {}",
                qualified(table),
                escape_identifier(index)
            ),
            Self::NoIdentity { table, index: None } => {
                format!("ALTER TABLE {} REPLICA IDENTITY FULL", qualified(table))
            }
            Self::RowFilter { .. } | Self::NoTable { .. } => return None,
        })
    }
}

impl fmt::Display for PublicationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remedy() {
            Some(remedy) => write!(f, "{}; {remedy}", self.cause()),
            None => f.write_str(&self.cause()),
        }
    }
}

/// What is wrong with publishing `tables`, given as schema and name, by the publication `name`.
#[must_use]
pub fn problems(catalogue: &Catalogue, name: &str, tables: &[(String, String)]) -> Vec<PublicationProblem> {
    let mut problems = Vec::new();
    let publication = catalogue.publication(name);
    match publication {
        None => {
            let (publication, tables) = (name.to_owned(), tables.to_vec());
            problems.push(PublicationProblem::Missing { publication, tables });
        }
        Some(found) => of_publication(catalogue, found, tables, &mut problems),
    }
    for key in tables {
        match catalogue.table(&key.0, &key.1) {
            None => problems.push(PublicationProblem::NoTable { table: key.clone() }),
            Some(table) if !table.has_identity() => {
                problems.push(PublicationProblem::NoIdentity { table: key.clone(), index: stand_in(table) });
            }
            Some(_) => {}
        }
    }
    problems
}

fn of_publication(
    catalogue: &Catalogue,
    found: &Publication,
    tables: &[(String, String)],
    problems: &mut Vec<PublicationProblem>,
) {
    let publication = || found.name.to_string();
    let operations = found.operations;
    if !(operations.inserts && operations.updates && operations.deletes && operations.truncates) {
        problems.push(PublicationProblem::Operations { publication: publication() });
    }
    let is_partitioned = |(schema, name): &(String, String)| {
        catalogue
            .table(schema, name)
            .is_some_and(|table| catalogue.tables.iter().any(|part| part.partition_of == Some(table.id)))
    };
    let by_root = found.is_by_root || !tables.iter().any(is_partitioned);
    if !by_root {
        problems.push(PublicationProblem::NotByRoot { publication: publication() });
    }
    for table in tables {
        match found.tables.iter().find(|known| (&*known.schema, &*known.table) == (&*table.0, &*table.1)) {
            // Its partitions are listed in its place.
            None if !by_root && is_partitioned(table) => {}
            None => problems
                .push(PublicationProblem::Unpublished { publication: publication(), table: table.clone() }),
            Some(known) => {
                if let Some(filter) = &known.row_filter {
                    problems.push(PublicationProblem::RowFilter {
                        publication: publication(),
                        table: table.clone(),
                        filter: filter.to_string(),
                    });
                }
            }
        }
    }
}

/// A unique key that may become the identity: none of its columns is ever null, and it is not deferrable.
#[must_use]
pub fn stand_in(table: &Table) -> Option<String> {
    if table.identity == RelationIdentity::Nothing
        && table.primary_key.as_ref().is_some_and(|key| !key.is_deferrable)
    {
        return table.primary_key.as_ref().map(|key| key.name.to_string());
    }
    let is_never_null = |name: &str| table.column(name).is_some_and(|column| !column.is_nullable);
    let usable = table
        .unique_keys
        .iter()
        .find(|key| !key.is_deferrable && key.columns.iter().all(|name| is_never_null(name)));
    usable.map(|key| key.name.to_string())
}

/// The statement that makes a publication of `tables`, given as schema and name.
#[must_use]
pub fn create_sql(name: &str, tables: &[(String, String)]) -> String {
    let name = escape_identifier(name);
    let tables: Vec<_> = tables.iter().map(qualified).collect();
    let tables = if tables.is_empty() { String::new() } else { format!(" FOR TABLE {}", tables.join(", ")) };
    format!("CREATE PUBLICATION {name}{tables} WITH (publish_via_partition_root = true)")
}

/// Makes a publication of `tables`, given as schema and name.
///
/// # Errors
/// If there is one of this name (42710), or the role does not own the tables (42501).
pub fn create(connection: &mut Connection, name: &str, tables: &[(String, String)]) -> SourceResult<()> {
    connection.query(&format!("make the publication {name:?} at"), &create_sql(name, tables))?;
    Ok(())
}

/// Drops a publication.
///
/// # Errors
/// If there is none (42704), or it belongs to another role (42501).
pub fn drop(connection: &mut Connection, name: &str) -> SourceResult<()> {
    connection.query(
        &format!("drop the publication {name:?} of"),
        &format!("DROP PUBLICATION {}", escape_identifier(name)),
    )?;
    Ok(())
}

fn qualified((schema, name): &(String, String)) -> String {
    format!("{}.{}", escape_identifier(schema), escape_identifier(name))
}
