//! Check: what stands in the way of following a database by a mapping, and the SQL that mends it.
//!
//! | found | then, if it is left so |
//! |---|---|
//! | a rule that doesn't fit the catalogue | nothing begins |
//! | a table without a replica identity | **UPDATE and DELETE of it fail at the source** as soon as a publication has it |
//! | an identity without the columns that a rule finds its rows by | rows that are deleted could not be found |
//! | a `where`, and values that may be stored outside the row | a row that enters the filter may come without them: a pause |
//! | a foreign key that isn't validated | its edges may have to wait for their ends |
//! | child tables, which inherit from a table and are no partitions | the copy would have their rows, and the stream sends them as the children's |
//! | row-level security that may hide rows of a table from the role | the graph would lack them |
//! | columns that the role may not read | nothing begins |
//! | the encoding SQL_ASCII, which takes any bytes | a text that is not UTF-8 is a pause |
//! | tables that belong to other roles, and no publication of them | nothing begins: only their owner can make it |
//! | rights, settings and publications that lack something | nothing begins, or changes are missing |
//! | a slot of a replica that nobody reads | the server keeps its log for it, until the disk is full |
//!
//! What publishes tables comes last: whoever does all of it from top to bottom has the identities before that.

use crate::mapping::plan::{EdgeIdentity, EndPlan, Plan, PropertyPlan, TablePlan};
use crate::mapping::problem::MappingProblems;
use crate::mapping::resolve::resolve;
use crate::mapping::scope::partitions_of;
use crate::mapping::server_state::ServerState;
use crate::mapping::sql_name::{display_name, sql_identifier, sql_name};
use crate::pgoutput::relation::RelationIdentity;
use crate::source::catalogue::{Catalogue, Table};
use crate::source::postgres::publication::{PublicationProblem, problems as publication_problems, stand_in};
use crate::source::slot_state::is_named_for;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::byte_size::ByteSize;
use postgres_protocol::escape::escape_literal;
use std::collections::BTreeSet;
use std::fmt;

/// The oldest server that streams transactions in progress.
const VERSION_MIN: u32 = 140_000;
/// The oldest standby that decodes its log.
pub const STANDBY_VERSION_MIN: u32 = 160_000;

/// WAL senders that a copy takes at once: one keeps the snapshot, or streams, while another one says where the log ends.
const SENDERS_NEEDED: u32 = 2;

/// Something that stands in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong: line and key of the mapping, if it is about a rule, and the cause.
    pub cause: String,
    /// The SQL that mends it, if there is one to choose.
    pub remedy: Option<String>,
}

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Nothing may begin before it is mended.
    Error,
    /// All works, but may have to wait or to pause later.
    Warning,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", self.cause)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  {remedy}"),
            None => Ok(()),
        }
    }
}

impl Finding {
    fn error(cause: impl Into<String>, remedy: Option<String>) -> Self {
        Self { severity: Severity::Error, cause: cause.into(), remedy }
    }

    fn warning(cause: impl Into<String>, remedy: Option<String>) -> Self {
        Self { severity: Severity::Warning, cause: cause.into(), remedy }
    }
}

/// What stands in the way of following the database of `catalogue` by `rules` and the publication that is called
/// `publication`: what is wrong with the server first, then by table in the order of the rules, and with the publication last.
///
/// Cost: as [`resolve`], and one visit to each partition.
#[must_use]
pub fn check(
    rules: &[TableRule],
    catalogue: &Catalogue,
    server: &ServerState,
    publication: &str,
) -> Vec<Finding> {
    let mut findings = of_server(server);
    let plan = match resolve(rules, catalogue) {
        Ok(plan) => plan,
        Err(MappingProblems(problems)) => {
            findings.extend(problems.into_iter().map(|problem| Finding::error(problem, None)));
            return findings;
        }
    };
    for planned in &plan.tables {
        let Some(table) = catalogue.table_of(planned.table) else { continue };
        let rule = first_rule(planned, rules);
        if let Some(missing) = missing_right(planned, table, &server.role) {
            findings.push(Finding::error(rule.blame("table", missing.cause), Some(missing.remedy)));
        }
        if let Some(remedy) = disinherit_sql(table) {
            let cause = format!(
                "{} has child tables (INHERITS): {}. A query of it shows their rows, and the stream sends these as rows of the \
                 children. Let them inherit no more, each with a rule of its own, or make them partitions",
                display_name(table),
                table.child_tables.join(", ")
            );
            findings.push(Finding::error(rule.blame("table", cause), Some(remedy)));
        }
        for part in rows_of(catalogue, table) {
            of_identity(planned, rules, part, &mut findings);
        }
        of_foreign_keys(planned, rules, catalogue, table, &mut findings);
    }
    // As soon as a table is published, it needs what was found of it.
    of_publication(&plan, rules, catalogue, server, publication, &mut findings);
    findings
}

fn of_server(server: &ServerState) -> Vec<Finding> {
    let mut findings = Vec::new();
    let restart = |setting: &str, value: &str| {
        Some(format!("ALTER SYSTEM SET {setting} = {value}; then restart the server"))
    };
    if server.version < VERSION_MIN {
        let version = server.version / 10_000;
        findings
            .push(Finding::error(format!("the server is PostgreSQL {version}; 14 or newer is needed"), None));
    }
    if server.is_standby && server.version < STANDBY_VERSION_MIN {
        findings.push(Finding::error(
            "the server is a standby, which can be followed from PostgreSQL 16 on",
            None,
        ));
    }
    if server.wal_level != "logical" {
        let cause = format!("wal_level is {}: the log has no changes of rows", server.wal_level);
        findings.push(Finding::error(cause, restart("wal_level", "logical")));
    }
    if server.slots_used >= server.slots_max {
        let cause = format!("max_replication_slots is {}, and all are in use", server.slots_max);
        findings.push(Finding::error(
            cause,
            restart("max_replication_slots", &(server.slots_max + 4).to_string()),
        ));
    }
    let senders_free = server.senders_max.saturating_sub(server.senders_used);
    if senders_free < SENDERS_NEEDED {
        let cause = format!(
            "max_wal_senders is {}, and {} are in use: a copy and a comparison take {SENDERS_NEEDED}",
            server.senders_max, server.senders_used
        );
        findings
            .push(Finding::error(cause, restart("max_wal_senders", &(server.senders_max + 4).to_string())));
    }
    if !server.may_replicate {
        let cause = format!("the role {} may not read the log", server.role);
        let role = sql_identifier(&server.role);
        let remedy = match server.has_rds_role {
            true => format!("GRANT rds_replication TO {role}"),
            false => format!("ALTER ROLE {role} REPLICATION"),
        };
        findings.push(Finding::error(cause, Some(remedy)));
    }
    if server.encoding == "SQL_ASCII" {
        let cause = format!(
            "the encoding of {} is SQL_ASCII, which takes any bytes: a text that is not UTF-8 pauses the replica, and the tables \
             have to be copied anew when it is mended",
            server.database
        );
        findings.push(Finding::warning(cause, None));
    }
    for slot in server.idle_slots.iter().filter(|slot| is_named_for(&slot.name, &server.database)) {
        let cause = format!(
            "nobody reads the replication slot {:?}, for which the server keeps {} of log and more to come: it is that of a \
             replica that does not run, or whose folder is gone. If that is not to go on, drop it",
            slot.name,
            ByteSize(slot.kept_bytes)
        );
        let remedy = format!("SELECT pg_drop_replication_slot({})", escape_literal(&slot.name));
        findings.push(Finding::warning(cause, Some(remedy)));
    }
    findings
}

fn of_publication(
    plan: &Plan,
    rules: &[TableRule],
    catalogue: &Catalogue,
    server: &ServerState,
    publication: &str,
    findings: &mut Vec<Finding>,
) {
    let tables: Vec<(String, String)> =
        plan.tables.iter().map(|table| (table.schema.to_string(), table.name.to_string())).collect();
    let planned = |key: &(String, String)| {
        plan.tables.iter().find(|table| *table.schema == *key.0 && *table.name == *key.1)
    };
    for problem in publication_problems(catalogue, publication, &tables) {
        let (cause, remedy) = (problem.cause(), problem.remedy());
        let finding = match &problem {
            PublicationProblem::Missing { .. } => {
                let owned_by_others: Vec<String> = plan
                    .tables
                    .iter()
                    .filter_map(|planned| catalogue.table_of(planned.table))
                    .filter(|table| !table.rights.may_publish)
                    .map(display_name)
                    .collect();
                if !owned_by_others.is_empty() {
                    let cause = format!(
                        "{cause}, and {} may not make it: it does not own {}, so that their owner or a superuser must",
                        server.role,
                        owned_by_others.join(", ")
                    );
                    findings.push(Finding::error(cause, remedy));
                    continue;
                }
                if !server.may_create {
                    let (database, role) = (sql_identifier(&server.database), sql_identifier(&server.role));
                    let cause =
                        format!("the role {} may not make a publication in {}", server.role, server.database);
                    let remedy = format!("GRANT CREATE ON DATABASE {database} TO {role}");
                    findings.push(Finding::error(cause, Some(remedy)));
                }
                if server.is_read_only {
                    let (database, role) = (sql_identifier(&server.database), sql_identifier(&server.role));
                    let cause = format!(
                        "default_transaction_read_only is on, so that the role {} may not make a publication in {}",
                        server.role, server.database
                    );
                    // What is set for a role in a database goes before all that is set elsewhere.
                    let remedy = format!(
                        "ALTER ROLE {role} IN DATABASE {database} SET default_transaction_read_only = off"
                    );
                    findings.push(Finding::error(cause, Some(remedy)));
                }
                Finding::warning(cause, remedy)
            }
            PublicationProblem::Unpublished { table, .. } => match planned(table) {
                Some(planned) => Finding::error(first_rule(planned, rules).blame("table", cause), remedy),
                None => Finding::error(cause, remedy),
            },
            PublicationProblem::RowFilter { table, .. } => {
                let remedy = planned(table).map(|planned| publish_anew(publication, planned));
                Finding::error(cause, remedy)
            }
            // Said of each table and partition, with its rules.
            PublicationProblem::NoIdentity { .. } | PublicationProblem::NoTable { .. } => continue,
            _ => Finding::error(cause, remedy),
        };
        findings.push(finding);
    }
    let Some(found) = catalogue.publication(publication) else { return };
    for planned in &plan.tables {
        let known =
            found.tables.iter().find(|known| known.schema == planned.schema && known.table == planned.name);
        let Some(known) = known else { continue };
        let lacks: Vec<&str> = planned
            .columns
            .iter()
            .map(|column| &*column.name)
            .filter(|name| !contains(&known.columns, name))
            .collect();
        if !lacks.is_empty() {
            let lacks = lacks.join(", ");
            let cause =
                format!("the publication {publication:?} leaves out columns that the rules need: {lacks}");
            let cause = first_rule(planned, rules).blame("table", cause);
            findings.push(Finding::error(cause, Some(publish_anew(publication, planned))));
        }
    }
}

/// A right that a role lacks to read all that the rules need of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingRight {
    /// What it may not do.
    pub cause: String,
    /// The SQL that gives it the right.
    pub remedy: String,
}

/// What keeps `role`, by which `catalogue` was read, from reading all rows of the tables of `plan`, a right for each table.
pub fn missing_rights<'a>(
    plan: &'a Plan,
    catalogue: &'a Catalogue,
    role: &'a str,
) -> impl Iterator<Item = MissingRight> + 'a {
    plan.tables
        .iter()
        .filter_map(move |planned| missing_right(planned, catalogue.table_of(planned.table)?, role))
}

fn missing_right(planned: &TablePlan, table: &Table, role: &str) -> Option<MissingRight> {
    let (quoted, name) = (sql_identifier(role), sql_name(table));
    if !table.rights.may_read {
        let schema = sql_identifier(&table.schema);
        return Some(MissingRight {
            cause: format!("{role} may not read {}", display_name(table)),
            remedy: format!("GRANT USAGE ON SCHEMA {schema} TO {quoted}; GRANT SELECT ON {name} TO {quoted}"),
        });
    }
    let unreadable = |name: &&str| contains(&table.rights.unreadable_columns, name);
    let columns: Vec<&str> = planned.columns.iter().map(|column| &*column.name).filter(unreadable).collect();
    if !columns.is_empty() {
        let grants: Vec<String> = columns.iter().map(|column| sql_identifier(column)).collect();
        return Some(MissingRight {
            cause: format!(
                "{role} may not read {} of {}: grant it, or leave what becomes a property out by `ignore`",
                columns.join(", "),
                display_name(table)
            ),
            remedy: format!("GRANT SELECT ({}) ON {name} TO {quoted}", grants.join(", ")),
        });
    }
    table.rights.hides_rows.then(|| MissingRight {
        cause: format!("row-level security of {} may hide rows from {role}", display_name(table)),
        remedy: match table.rights.may_publish {
            // An owner sees all rows, unless it is forced to see them as others do.
            true => format!("ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY"),
            false => format!("ALTER ROLE {quoted} BYPASSRLS"),
        },
    })
}

/// The SQL after which `table` has no child tables any more; `None` if it has none.
#[must_use]
pub fn disinherit_sql(table: &Table) -> Option<String> {
    let parent = sql_name(table);
    let statements: Vec<String> =
        table.child_tables.iter().map(|child| format!("ALTER TABLE {child} NO INHERIT {parent}")).collect();
    (!statements.is_empty()).then(|| statements.join("; "))
}

/// The SQL that publishes a table with all rows and columns.
fn publish_anew(publication: &str, planned: &TablePlan) -> String {
    let publication = sql_identifier(publication);
    let table = format!("{}.{}", sql_identifier(&planned.schema), sql_identifier(&planned.name));
    format!(
        "ALTER PUBLICATION {publication} DROP TABLE {table}; ALTER PUBLICATION {publication} ADD TABLE {table}"
    )
}

/// The tables that have the rows of `table`: itself, or the partitions without partitions.
fn rows_of<'a>(catalogue: &'a Catalogue, table: &'a Table) -> Vec<&'a Table> {
    let parts: Vec<&Table> = partitions_of(catalogue, table)
        .filter(|part| partitions_below(catalogue, part).next().is_none())
        .collect();
    if parts.is_empty() { vec![table] } else { parts }
}

/// The partitions whose parent is `table`.
fn partitions_below<'a>(catalogue: &'a Catalogue, table: &Table) -> impl Iterator<Item = &'a Table> {
    let id = table.id;
    catalogue.tables.iter().filter(move |part| part.partition_of == Some(id))
}

/// Whether UPDATE and DELETE of `table` work once it is published, and say enough for the rules.
fn of_identity(planned: &TablePlan, rules: &[TableRule], table: &Table, findings: &mut Vec<Finding>) {
    let name = display_name(table);
    if !table.has_identity() {
        let cause = match &table.primary_key {
            _ if table.identity == RelationIdentity::Nothing => "its replica identity is NOTHING",
            Some(key) if key.is_deferrable => "its primary key is deferrable, which is no replica identity",
            Some(_) => "the index of its replica identity is gone",
            None => "it has no primary key",
        };
        let cause = format!(
            "{name} has no replica identity: {cause}. As soon as a publication has the table, every UPDATE and DELETE of it \
             FAILS AT THE SOURCE"
        );
        let cause = first_rule(planned, rules).blame("table", cause);
        findings.push(Finding::error(cause, Some(identity_sql(table, &[]))));
        return;
    }
    for (rule, key, columns) in located_by(planned, rules) {
        let lacks: Vec<&str> =
            columns.iter().copied().filter(|name| !contains(&table.identity_columns, name)).collect();
        if !lacks.is_empty() {
            let cause = format!(
                "the replica identity of {name} is ({}): a DELETE does not say {}, which this rule finds the row by",
                table.identity_columns.join(", "),
                lacks.join(", ")
            );
            findings.push(Finding::error(rule.blame(key, cause), Some(identity_sql(table, &columns))));
        }
    }
    for (rule, key, needed_by, columns) in hidden_columns(planned, rules, table) {
        let hidden: Vec<&str> =
            columns.into_iter().filter(|name| !contains(&table.identity_columns, name)).collect();
        if !hidden.is_empty() {
            let cause = format!(
                "an UPDATE of {name} may leave out the values of {} (TOAST), which {needed_by}",
                hidden.join(", ")
            );
            let remedy = format!("ALTER TABLE {} REPLICA IDENTITY FULL", sql_name(table));
            findings.push(Finding::warning(rule.blame(key, cause), Some(remedy)));
        }
    }
}

/// The SQL that gives `table` an identity with `columns`.
fn identity_sql(table: &Table, columns: &[&str]) -> String {
    let qualified = (table.schema.to_string(), table.name.to_string());
    let is_default = table.identity == RelationIdentity::Nothing || table.identity == RelationIdentity::Index;
    let primary = table.primary_key.as_ref().filter(|key| !key.is_deferrable);
    if is_default && primary.is_some_and(|key| columns.iter().all(|name| contains(&key.columns, name))) {
        return format!("ALTER TABLE {} REPLICA IDENTITY DEFAULT", sql_name(table));
    }
    let index = if columns.is_empty() {
        stand_in(table)
    } else {
        let is_never_null = |name: &str| table.column(name).is_some_and(|column| !column.is_nullable);
        let usable = table.unique_keys.iter().find(|key| {
            !key.is_deferrable
                && key.columns.iter().all(|name| is_never_null(name))
                && columns.iter().all(|name| contains(&key.columns, name))
        });
        usable.map(|key| key.name.to_string())
    };
    let problem = PublicationProblem::NoIdentity { table: qualified, index };
    problem.remedy().expect("a missing identity has a remedy")
}

/// The rules of a table with the columns by which they find what a deleted row was, and the key that says so.
fn located_by<'a>(
    planned: &'a TablePlan,
    rules: &'a [TableRule],
) -> Vec<(&'a TableRule, &'static str, Vec<&'a str>)> {
    let names = |columns: &mut dyn Iterator<Item = usize>| -> Vec<&'a str> {
        let columns: BTreeSet<usize> = columns.collect();
        columns.into_iter().map(|column| &*planned.columns[column].name).collect()
    };
    let vertices = planned.vertices.iter().map(|vertex| {
        (&rules[vertex.rule], "id", names(&mut vertex.key.columns.iter().map(|key| key.column)))
    });
    let edges = planned.edges.iter().map(|edge| match &edge.identity {
        EdgeIdentity::Key(key) => {
            (&rules[edge.rule], "id", names(&mut key.columns.iter().map(|key| key.column)))
        }
        EdgeIdentity::Ends => {
            let ends = edge.start.key.columns.iter().chain(&edge.end.key.columns);
            (&rules[edge.rule], "start", names(&mut ends.map(|key| key.column)))
        }
    });
    vertices.chain(edges).collect()
}

/// The rules whose rows may become a vertex or an edge by an update, the key that says so, and what needs those columns that the
/// update may leave out.
fn hidden_columns<'a>(
    planned: &'a TablePlan,
    rules: &'a [TableRule],
    table: &Table,
) -> Vec<(&'a TableRule, &'static str, &'static str, Vec<&'a str>)> {
    const ENTERS: &str = "a row needs that enters this filter";
    const REFERS: &str = "an edge needs whose end was null before";
    let of_properties =
        |properties: &[PropertyPlan]| properties.iter().map(|one| one.column).collect::<Vec<_>>();
    let is_nullable = |end: &EndPlan| {
        end.key.columns.iter().any(|key| {
            let column = table.column(&planned.columns[key.column].name);
            column.is_none_or(|column| column.is_nullable)
        })
    };
    let mut found = Vec::new();
    for vertex in &planned.vertices {
        let rule = &rules[vertex.rule];
        if let Some(condition) = &vertex.condition {
            let mut columns = condition.columns();
            columns.extend(of_properties(&vertex.properties));
            for edge in &vertex.edges {
                columns.extend(edge.end.key.columns.iter().map(|key| key.column));
                columns.extend(of_properties(&edge.properties));
            }
            found.push((rule, "where", ENTERS, columns));
            continue;
        }
        // What the vertex has as well is found there.
        let own = of_properties(&vertex.properties);
        let mut columns = BTreeSet::new();
        for edge in vertex.edges.iter().filter(|edge| is_nullable(&edge.end)) {
            columns
                .extend(of_properties(&edge.properties).into_iter().filter(|column| !own.contains(column)));
        }
        found.push((rule, "edge", REFERS, columns));
    }
    for edge in &planned.edges {
        let rule = &rules[edge.rule];
        let mut columns: BTreeSet<usize> = of_properties(&edge.properties).into_iter().collect();
        columns.extend(edge.start.key.columns.iter().chain(&edge.end.key.columns).map(|key| key.column));
        if let Some(condition) = &edge.condition {
            columns.extend(condition.columns());
            found.push((rule, "where", ENTERS, columns));
        } else if is_nullable(&edge.start) || is_nullable(&edge.end) {
            found.push((rule, "type", REFERS, columns));
        }
    }
    let hidden = |columns: BTreeSet<usize>| {
        let columns = columns.into_iter().map(|column| &planned.columns[column]);
        columns.filter(|column| column.may_be_unchanged).map(|column| &*column.name).collect()
    };
    found.into_iter().map(|(rule, key, needed_by, columns)| (rule, key, needed_by, hidden(columns))).collect()
}

fn of_foreign_keys(
    planned: &TablePlan,
    rules: &[TableRule],
    catalogue: &Catalogue,
    table: &Table,
    findings: &mut Vec<Finding>,
) {
    let ends = planned.vertices.iter().flat_map(|vertex| &vertex.edges).map(|edge| &edge.end);
    let ends = ends.chain(planned.edges.iter().flat_map(|edge| [&edge.start, &edge.end]));
    let named: Vec<BTreeSet<&str>> = ends
        .map(|end| end.key.columns.iter().map(|key| &*planned.columns[key.column].name).collect())
        .collect();
    for part in std::iter::once(table).chain(partitions_of(catalogue, table)) {
        for key in part.foreign_keys.iter().filter(|key| !key.is_validated) {
            let columns: BTreeSet<&str> = key.columns.iter().map(|name| &**name).collect();
            if named.contains(&columns) {
                let cause = format!(
                    "the foreign key {} of {} is not validated: edges of rows that refer to nothing wait",
                    key.name,
                    display_name(part)
                );
                let cause = first_rule(planned, rules).blame("table", cause);
                let key = sql_identifier(&key.name);
                let remedy = format!("ALTER TABLE {} VALIDATE CONSTRAINT {key}", sql_name(part));
                findings.push(Finding::warning(cause, Some(remedy)));
            }
        }
    }
}

fn first_rule<'a>(planned: &TablePlan, rules: &'a [TableRule]) -> &'a TableRule {
    let of_vertices = planned.vertices.iter().map(|vertex| vertex.rule);
    let of_edges = planned.edges.iter().map(|edge| edge.rule);
    &rules[of_vertices.chain(of_edges).min().expect("a table is planned for a rule")]
}

fn contains(names: &[Box<str>], name: &str) -> bool {
    names.iter().any(|known| **known == *name)
}
