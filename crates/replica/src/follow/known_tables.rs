//! Known tables: what of a source's catalogue a replica builds on, and what a change of it means.
//!
//! | changed | then |
//! |---|---|
//! | a mapped column is gone, renamed, of another type | pause: such a change rewrites rows, of which the stream says nothing |
//! | a table is gone, renamed, made again | pause |
//! | a column is new | nothing yet: it counts from the first row that has it, see [`new_columns`](crate::follow::new_columns) |
//! | the same, and rows from before may have values in it, or it was computed | pause, if a rule takes it |
//! | an enum has new labels | known from here on |
//! | a label of a mapped enum is gone | pause: it was renamed |
//! | a key that identifies rows for a rule is no unique key | pause: rows may share it |
//! | the collation of a column is another one | known from here on; pause, if it is no longer compared here as there |
//! | a table inherits from one | pause: its rows are the other's in a query, and its own in the stream |
//! | a partition is gone, or was attached | pause: its rows went or came without a word |
//! | a partition was made as one | known from here on |
//! | a foreign key is gone, or not validated | known from here on; pause, if edges may have to wait for their ends now |
//! | the publication lacks something | pause |
//!
//! What leaves names and types as they were, [`mark_changes`](crate::follow::mark_changes) tells.
//!
//! Columns stay at their places, those that are dropped too, and new ones come last: a mapping may number them.

use crate::follow::following_note::KnownChildren;
use crate::follow::mark_changes::types_within;
use crate::follow::new_columns::{NewColumns, added_columns};
use crate::follow::pause::Pause;
use crate::mapping::check::disinherit_sql;
use crate::mapping::key::KeyPlan;
use crate::mapping::plan::{EdgeIdentity, Plan, TablePlan};
use crate::mapping::scope::{partitions_of, root_of};
use crate::mapping::sql_name::display_name;
use crate::pgoutput::relation::Oid;
use crate::source::catalogue::{Catalogue, Column, ForeignKey, Publication, Table, TableRights, TypeKind};
use crate::source::catalogue_marks::CatalogueMarks;
use crate::source::postgres::publication::{PublicationProblem, problems};
use crate::translate::binding::are_texts;
use crate::translate::pause::RESYNC;
use std::collections::BTreeSet;

/// Smaller numbers are those of PostgreSQL's own types (`FirstNormalObjectId`).
const FIRST_USER_OID: Oid = 16_384;

/// The part of `catalogue` that `plan` and the publication `publication` build on.
#[must_use]
pub fn known_part(catalogue: &Catalogue, plan: &Plan, publication: &str) -> Catalogue {
    let mut kept: BTreeSet<Oid> = BTreeSet::new();
    for planned in &plan.tables {
        let Some(table) = catalogue.table_of(planned.table) else { continue };
        kept.insert(table.id);
        kept.extend(partitions_of(catalogue, table).map(|part| part.id));
    }
    // Where foreign keys lead to, and the roots of that.
    let targets: Vec<Oid> = catalogue
        .tables
        .iter()
        .filter(|table| kept.contains(&table.id))
        .flat_map(|table| table.foreign_keys.iter().map(|key| key.target))
        .collect();
    for target in targets {
        let Some(table) = catalogue.table_of(target) else { continue };
        let root = root_of(catalogue, table);
        kept.extend([table.id, root.id]);
        kept.extend(partitions_of(catalogue, root).map(|part| part.id));
    }
    let tables = catalogue.tables.iter().filter(|table| kept.contains(&table.id));
    let tables = tables.map(known_table);
    let publications = catalogue.publication(publication).map(|found| {
        let is_planned = |schema: &str, name: &str| {
            plan.tables.iter().any(|table| (&*table.schema, &*table.name) == (schema, name))
        };
        let tables = found.tables.iter().filter(|table| is_planned(&table.schema, &table.table));
        Publication { tables: tables.cloned().collect(), ..found.clone() }
    });
    Catalogue {
        tables: tables.collect(),
        types: catalogue.types.clone(),
        publications: publications.into_iter().collect(),
        marks: CatalogueMarks::default(),
    }
}

/// What of a table is known from one look to the next.
fn known_table(table: &Table) -> Table {
    let (rights, child_tables) = (TableRights::default(), Vec::new());
    Table { rows_estimate: None, rights, child_tables, ..table.clone() }
}

/// What a catalogue that was read now means for a replica.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Why following cannot go on.
    pub pauses: Vec<Pause>,
    /// What is known from here on, if that is something else.
    pub known: Option<Catalogue>,
    /// Partitions that are new: whether they were attached is for the source to say.
    pub new_partitions: Vec<NewPartition>,
    /// Published columns that are new: whether rows from before have values in them is for the source to say.
    pub new_columns: Vec<NewColumns>,
}

/// A partition that was not there before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewPartition {
    /// The partition.
    pub id: Oid,
    /// Its name, and that of the table that it is a part of, for people.
    pub name: String,
    /// The root.
    pub root: String,
}

impl NewPartition {
    /// The pause if it was attached.
    #[must_use]
    pub fn attached(&self) -> Pause {
        Pause::resync(format!(
            "the partition {} was attached to {}: of the rows that it brought the stream says nothing",
            self.name, self.root
        ))
    }

    /// What to tell while nobody knows whether it was.
    #[must_use]
    pub fn unknown(&self) -> String {
        format!(
            "the source does not say at present whether the partition {} had rows when it was attached to {}: it is locked, or the \
             role may not read it, or reading it takes too long. Changes of it are applied, and the source is asked again",
            self.name, self.root
        )
    }
}

/// Compares what was known with the catalogue `live`, which was read now.
#[must_use]
pub fn compare(known: &Catalogue, live: &Catalogue, plan: &Plan, publication: &str) -> Comparison {
    let mut comparison = Comparison::default();
    let mut newer = known.clone();
    for planned in &plan.tables {
        let Some(table) = known.table_of(planned.table) else { continue };
        let Some(now) = live.table_of(planned.table) else {
            let name = display_name(table);
            let cause = match live.table(&table.schema, &table.name) {
                Some(_) => format!("the table {name} was dropped and made again"),
                None => format!(
                    "the table {name} was dropped, or is UNLOGGED now, so that its changes are in no log"
                ),
            };
            comparison.pauses.push(Pause::resync(cause));
            continue;
        };
        of_table(planned, table, now, &mut comparison.pauses);
        of_labels(planned, known, live, &mut comparison.pauses);
        comparison.new_columns.extend(added_columns(table, now, live, publication));
        of_partitions(known, live, table, &mut comparison);
        take_collations(&mut newer, now);
        weaken_foreign_keys(&mut newer, live, table.id);
        for part in partitions_of(known, table) {
            weaken_foreign_keys(&mut newer, live, part.id);
        }
    }
    of_publication(live, plan, publication, &mut comparison.pauses);
    add_labels(&mut newer, live);
    comparison.known = (newer != *known).then_some(newer);
    comparison
}

/// `known` with the new partitions of `live`, none of which was attached.
#[must_use]
pub fn known_with_partitions(known: &Catalogue, live: &Catalogue, new: &[NewPartition]) -> Catalogue {
    let mut known = known.clone();
    for partition in new {
        if let Some(table) = live.table_of(partition.id) {
            known.tables.push(known_table(table));
        }
    }
    // As a catalogue lists them.
    known.tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    known
}

fn of_table(planned: &TablePlan, known: &Table, now: &Table, pauses: &mut Vec<Pause>) {
    let name = display_name(known);
    if (&now.schema, &now.name) != (&known.schema, &known.name) {
        let cause = format!("the table {name} was renamed to {}", display_name(now));
        let cause = format!("{cause}: the mapping names the old one");
        pauses.push(Pause::missed(cause).after("write the new name into the mapping"));
        return;
    }
    for used in &planned.columns {
        let Some(column) = known.column(&used.name) else { continue };
        match now.column(&column.name) {
            None => pauses.push(Pause::resync(format!(
                "the column {} of {name} was dropped or renamed, and the mapping uses it",
                column.name
            ))),
            Some(now) if has_other_values(column, now) => pauses.push(Pause::resync(format!(
                "the column {} of {name} was {}, and is {} now: the stream says nothing of the rows that this rewrote",
                column.name, column.type_name, now.type_name
            ))),
            Some(_) => {}
        }
    }
    pauses.extend(planned_keys(planned).find_map(|(key, title)| key_pause(planned, key, title, known, now)));
}

/// The keys by which rules identify rows that have one, and what the rules make: a label or a type.
fn planned_keys(planned: &TablePlan) -> impl Iterator<Item = (&KeyPlan, &str)> {
    let vertices = planned.vertices.iter().map(|vertex| (&vertex.key, &*vertex.label));
    let edges = planned.edges.iter().filter_map(|edge| match &edge.identity {
        EdgeIdentity::Key(key) => Some((key, &*edge.edge_type)),
        EdgeIdentity::Ends => None,
    });
    vertices.chain(edges)
}

/// The pause if rows may share the key `key` now.
fn key_pause(planned: &TablePlan, key: &KeyPlan, title: &str, known: &Table, now: &Table) -> Option<Pause> {
    let columns: Vec<&str> = key.columns.iter().map(|column| &*planned.columns[column.column].name).collect();
    if !is_unique(known, &columns) || is_unique(now, &columns) {
        return None;
    }
    let columns = columns.join(", ");
    let cause = format!(
        "the key ({columns}) of {} is no primary key or unique key any more, so that rows may share it, and {title} is identified by \
         it",
        display_name(now)
    );
    Some(Pause::new(
        cause,
        format!("where the mapping has an `id` for {title}, let it name another key; then {RESYNC}"),
    ))
}

/// Whether no two rows of `table` have the same values in `columns`.
fn is_unique(table: &Table, columns: &[&str]) -> bool {
    let mut keys = table.primary_key.iter().chain(&table.unique_keys);
    keys.any(|key| key.columns.iter().all(|name| columns.contains(&&**name)))
}

/// The pause if tables inherit from `now`.
#[must_use]
pub fn inherited_pause(now: &Table, children: KnownChildren) -> Option<Pause> {
    let remedy = disinherit_sql(now)?;
    let cause = format!(
        "{} inherits from {} now: its rows are rows of both in a query, and the stream sends them as its own",
        now.child_tables.join(", "),
        display_name(now)
    );
    let then = match children {
        KnownChildren::None => "start the replica again",
        // They may have been copied as rows of the parent.
        KnownChildren::Unknown => RESYNC,
    };
    Some(Pause::new(cause, format!("{remedy}; then {then}")))
}

/// Whether the texts of a column may have become others by a change of its type.
fn has_other_values(known: &Column, now: &Column) -> bool {
    let is_same_type = known.type_id == now.type_id
        && type_modifier(known.type_id, &known.type_name) == type_modifier(now.type_id, &now.type_name);
    known.is_generated != now.is_generated || !(is_same_type || are_texts(known.type_id, now.type_id))
}

/// What `type_name` says beside the name of the type `type_id`: a type of users may get another name or schema.
fn type_modifier(type_id: Oid, type_name: &str) -> &str {
    match type_id {
        FIRST_USER_OID.. => type_name.find('(').map_or("", |at| &type_name[at..]),
        _ => type_name,
    }
}

fn of_partitions(known: &Catalogue, live: &Catalogue, root: &Table, comparison: &mut Comparison) {
    let name = display_name(root);
    let Some(now) = live.table_of(root.id) else { return };
    let before: BTreeSet<Oid> = partitions_of(known, root).map(|part| part.id).collect();
    let after: BTreeSet<Oid> = partitions_of(live, now).map(|part| part.id).collect();
    for part in partitions_of(known, root).filter(|part| !after.contains(&part.id)) {
        let went = if live.table_of(part.id).is_some() { "detached from" } else { "dropped from" };
        comparison.pauses.push(Pause::resync(format!(
            "the partition {} was {went} {name}: of the rows that went with it the stream says nothing",
            display_name(part)
        )));
    }
    for part in partitions_of(live, now).filter(|part| !before.contains(&part.id)) {
        comparison.new_partitions.push(NewPartition {
            id: part.id,
            name: display_name(part),
            root: name.clone(),
        });
    }
}

/// Takes over how `now` compares its columns: whether rules can go by that is seen when they are bound anew.
fn take_collations(newer: &mut Catalogue, now: &Table) {
    let Some(table) = newer.tables.iter_mut().find(|table| table.id == now.id) else { return };
    for column in &mut table.columns {
        if let Some(now) = now.column(&column.name) {
            column.is_nondeterministic = now.is_nondeterministic;
        }
    }
}

/// Takes back what foreign keys of the table `id` promised, where `live` does not promise it any more.
fn weaken_foreign_keys(newer: &mut Catalogue, live: &Catalogue, id: Oid) {
    let Some(now) = live.table_of(id) else { return };
    let Some(table) = newer.tables.iter_mut().find(|table| table.id == id) else { return };
    for key in table.foreign_keys.iter_mut().filter(|key| key.is_validated) {
        let leads_there = |other: &&ForeignKey| {
            (&other.columns, other.target, &other.target_columns)
                == (&key.columns, key.target, &key.target_columns)
        };
        key.is_validated = now.foreign_keys.iter().filter(leads_there).any(|other| other.is_validated);
    }
}

fn of_publication(live: &Catalogue, plan: &Plan, publication: &str, pauses: &mut Vec<Pause>) {
    let tables: Vec<_> =
        plan.tables.iter().map(|table| (table.schema.to_string(), table.name.to_string())).collect();
    for problem in problems(live, publication, &tables) {
        match &problem {
            // Said above.
            PublicationProblem::NoTable { .. } => {}
            PublicationProblem::NoIdentity { .. } => {
                let remedy = problem.remedy().unwrap_or_default();
                pauses.push(Pause::new(problem.cause(), format!("{remedy}; then start the replica again")));
            }
            // Changes of the meantime are not in the stream.
            _ => pauses.push(Pause::resync(format!("{problem}; changes since then are missing"))),
        }
    }
}

/// A label that is gone was renamed: PostgreSQL drops none.
fn of_labels(planned: &TablePlan, known: &Catalogue, live: &Catalogue, pauses: &mut Vec<Pause>) {
    for column in &planned.columns {
        for id in types_within(known, column.type_id) {
            let kinds = (known.types.get(id), live.types.get(id));
            let (Some(before), Some(now)) = kinds else { continue };
            let (TypeKind::Enum { labels: before }, TypeKind::Enum { labels: now }) =
                (&before.kind, &now.kind)
            else {
                continue;
            };
            if let Some(label) = before.iter().find(|label| !now.contains(label)) {
                pauses.push(Pause::resync(format!(
                    "the label {label:?} of the enum of column {} of {} was renamed: the stream says nothing of the rows that \
                     showed it",
                    column.name, planned.name
                )));
            }
        }
    }
}

/// Takes over the labels that enums have in `live`: a condition may compare them.
fn add_labels(newer: &mut Catalogue, live: &Catalogue) {
    let is_enum = |kind: &TypeKind| matches!(kind, TypeKind::Enum { .. });
    let enums = live.types.iter().filter(|(_, entry)| is_enum(&entry.kind));
    for (oid, entry) in enums {
        if newer.types.get(oid).is_some_and(|known| is_enum(&known.kind) && known.kind != entry.kind) {
            newer.types.insert(oid, entry.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::new_columns::{TakesColumns, known_with_all_columns, known_with_columns, new_columns};
    use crate::follow::shop_catalogue::{catalogue, column, find, plan};
    use crate::pgoutput::relation::{Relation, RelationColumn, RelationIdentity};
    use crate::source::catalogue::TypeEntry;

    /// What a change of the catalogue means, of a replica that knew it before.
    fn after(change: impl FnOnce(&mut Catalogue)) -> Comparison {
        let mut live = catalogue();
        let plan = plan(&live);
        let known = known_part(&live, &plan, "p");
        change(&mut live);
        compare(&known, &live, &plan, "p")
    }

    fn causes(comparison: &Comparison) -> Vec<&str> {
        comparison.pauses.iter().map(|pause| &*pause.cause).collect()
    }

    #[test]
    fn what_is_known_is_enough_for_the_plan_and_no_more() {
        let all = catalogue();
        let known = known_part(&all, &plan(&all), "p");
        let names: Vec<&str> = known.tables.iter().map(|table| &*table.name).collect();
        assert_eq!(names, ["item", "item_1", "owner"]);
        assert_eq!(known.publications[0].tables.len(), 2);
        let (of_all, of_known) = (format!("{:?}", plan(&all)), format!("{:?}", plan(&known)));
        assert_eq!(of_known, of_all);
        assert_eq!(after(|_| {}), Comparison::default());
    }

    #[test]
    fn changes_of_which_the_stream_says_nothing_are_pauses() {
        type Change = fn(&mut Catalogue);
        let changes: [(Change, &str); 11] = [
            (|live| live.tables.retain(|table| &*table.name != "owner"), "the table owner was dropped"),
            (|live| find(live, "owner").id = 9, "the table owner was dropped and made again"),
            (|live| find(live, "owner").name = "holder".into(), "the table owner was renamed to holder"),
            (
                |live| find(live, "item").columns[2].name = "title".into(),
                "the column name of item was dropped or renamed",
            ),
            (
                |live| find(live, "item").columns[3].type_name = "numeric(12,4)".into(),
                "price of item was numeric(10,2)",
            ),
            (|live| find(live, "item").columns[1].type_id = 20, "owner_id of item was integer"),
            (|live| live.tables.retain(|table| &*table.name != "item_1"), "item_1 was dropped from item"),
            (|live| find(live, "item_1").partition_of = None, "item_1 was detached from item"),
            (|live| live.publications.clear(), "there is no publication"),
            (|live| find(live, "owner").identity_columns.clear(), "no replica identity"),
            (
                |live| find(live, "item").primary_key.as_mut().unwrap().columns.push("name".into()),
                "the key (id) of item is no primary key or unique key any more",
            ),
        ];
        for (change, cause) in changes {
            let comparison = after(change);
            let found = causes(&comparison);
            assert!(found.iter().any(|found| found.contains(cause)), "{cause:?} is not in {found:?}");
            assert!(comparison.pauses.iter().all(|pause| !pause.remedy.is_empty()));
        }
        // A copy by the old mapping would fail; and to be renamed back is no way out.
        let pauses = after(|live| find(live, "owner").name = "holder".into()).pauses;
        let renamed = pauses.into_iter().find(|pause| pause.cause.contains("was renamed to")).unwrap();
        let remedy = format!("write the new name into the mapping, then {RESYNC}");
        assert_eq!((renamed.remedy, renamed.is_lasting), (remedy, true));
    }

    #[test]
    fn a_table_that_inherits_is_a_pause_with_a_copy_where_its_rows_may_have_been_copied() {
        let mut live = catalogue();
        assert_eq!(inherited_pause(find(&mut live, "owner"), KnownChildren::Unknown), None);
        find(&mut live, "owner").child_tables = vec!["public.child".into()];
        let owner = find(&mut live, "owner");
        let none = inherited_pause(owner, KnownChildren::None).unwrap();
        assert!(none.cause.starts_with("public.child inherits from owner now"), "{none}");
        assert_eq!(
            none.remedy,
            "ALTER TABLE public.child NO INHERIT public.owner; then start the replica again"
        );
        assert!(inherited_pause(owner, KnownChildren::Unknown).unwrap().remedy.ends_with(RESYNC));
    }

    #[test]
    fn a_type_with_another_name_is_the_same_and_one_with_another_modifier_is_not() {
        let is_other = |type_id, before: &str, now: &str| {
            has_other_values(&column("c", type_id, before), &column("c", type_id, now))
        };
        assert!(!is_other(90_000, "mood", "elsewhere.feeling"));
        assert!(!is_other(90_000, "geometry(Point,4326)", "gis.geometry(Point,4326)"));
        assert!(is_other(90_000, "geometry(Point,4326)", "geometry(Point,3857)"));
        assert!(
            is_other(1186, "interval", "interval day to second") && is_other(1700, "numeric", "numeric(8,2)")
        );
    }

    #[test]
    fn labels_that_an_enum_got_are_known_from_then_on() {
        let mut live = catalogue();
        let mood = |labels: &[&str]| TypeEntry {
            name: "mood".into(),
            kind: TypeKind::Enum { labels: labels.iter().map(|label| (*label).into()).collect() },
        };
        live.types.insert(90_000, mood(&["sad"]));
        let plan = plan(&live);
        let known = known_part(&live, &plan, "p");
        live.types.insert(90_000, mood(&["sad", "ok"]));
        live.types.insert(90_001, mood(&["of another table"]));
        let newer = compare(&known, &live, &plan, "p").known.unwrap();
        assert_eq!(newer.types.get(90_000), live.types.get(90_000));
        assert_eq!(newer.types.get(90_001), None);
    }

    #[test]
    fn changes_that_take_nothing_away_go_on() {
        let longer = |live: &mut Catalogue| {
            find(live, "item").columns[2] = column("name", 25, "text");
            find(live, "unused").columns.clear();
            // Nobody sends this one.
            find(live, "item").columns.push(column("unpublished", 25, "text"));
        };
        assert_eq!(after(longer), Comparison::default());
        let another_key = |live: &mut Catalogue| {
            let owner = find(live, "owner");
            owner.unique_keys.extend(owner.primary_key.take());
        };
        assert_eq!(after(another_key), Comparison::default());
        let weaker = after(|live| find(live, "item_1").foreign_keys.clear());
        assert!(weaker.pauses.is_empty());
        let known = weaker.known.unwrap();
        assert!(!known.table_of(2).unwrap().foreign_keys[0].is_validated);
        let part = |live: &mut Catalogue| {
            let part = Table { id: 5, name: "item_0".into(), ..find(live, "item_1").clone() };
            live.tables.push(part);
        };
        let new = after(part).new_partitions;
        assert_eq!(
            new.iter().map(|new| (new.id, &*new.name, &*new.root)).collect::<Vec<_>>(),
            [(5, "item_0", "item")]
        );
        let mut live = catalogue();
        let known = known_part(&live, &plan(&live), "p");
        part(&mut live);
        let known = known_with_partitions(&known, &live, &new);
        assert_eq!(compare(&known, &live, &plan(&live), "p"), Comparison::default());
        assert_eq!(known.tables.iter().map(|table| table.id).collect::<Vec<_>>(), [1, 5, 2, 3]);
    }

    /// How the stream describes items that have these columns.
    fn relation(names: &[&str]) -> Relation {
        let column = |name: &&str| RelationColumn {
            name: (*name).into(),
            type_id: 25,
            type_modifier: -1,
            is_key: false,
        };
        Relation {
            id: 1,
            schema: "public".into(),
            name: "item".into(),
            identity: RelationIdentity::PrimaryKey,
            columns: names.iter().map(column).collect(),
        }
    }

    /// `publish_generated_columns = stored`, as of PostgreSQL 18: every row from before has a value in a column that is computed,
    /// for which a replica paused, though no rule takes it.
    #[test]
    fn a_new_column_that_is_computed_is_known_from_its_first_row_on_and_no_pause() {
        let mut live = catalogue();
        let known = known_part(&live, &plan(&live), "p");
        find(&mut live, "item").columns.push(Column { is_generated: true, ..column("note", 25, "text") });
        let now = relation(&["id", "owner_id", "name", "price", "note"]);
        let filled = ["note".to_owned()];
        let newer = known_with_columns(&known, &live, &now, &filled, TakesColumns::All).unwrap();
        assert!(new_columns(&newer, &now).is_empty());
        assert!(newer.table_of(1).unwrap().column("note").unwrap().is_generated);
        // It is a property no more than any other that is computed.
        assert_eq!(compare(&newer, &live, &plan(&newer), "p"), Comparison::default());
    }

    #[test]
    fn a_new_column_is_known_from_its_first_row_on_unless_rows_from_before_have_values_in_it() {
        let mut live = catalogue();
        let known = known_part(&live, &plan(&live), "p");
        find(&mut live, "item").columns.push(column("note", 25, "text"));
        let before = relation(&["id", "owner_id", "name", "price"]);
        assert!(new_columns(&known, &before).is_empty());
        let now = relation(&["id", "owner_id", "name", "price", "note"]);
        assert_eq!(new_columns(&known, &now), ["note".into()]);
        let learn = |filled: &[String], takes| known_with_columns(&known, &live, &now, filled, takes);
        let newer = learn(&[], TakesColumns::All).unwrap();
        assert_eq!(newer.table_of(1).unwrap().columns, live.table_of(1).unwrap().columns);
        assert!(new_columns(&newer, &now).is_empty());
        let filled = ["note".to_owned()];
        let pause = learn(&filled, TakesColumns::All).unwrap_err();
        assert!(pause.cause.contains("the column note of item was added with a default"), "{pause}");
        assert!(learn(&filled, TakesColumns::Named).is_ok(), "no rule takes it");
        // The catalogue alone says as much, before the first row.
        let looked = compare(&known, &live, &plan(&live), "p").new_columns;
        assert_eq!(looked.iter().map(|new| (new.table, new.columns.len())).collect::<Vec<_>>(), [(1, 1)]);
        assert_eq!((looked[0].pause(&[]), looked[0].pause(&filled)), (None, Some(pause)));
        find(&mut live, "item").columns[4].is_generated = true;
        assert!(compare(&known, &live, &plan(&live), "p").new_columns.is_empty(), "it is never sent");
        // Until PostgreSQL does not compute it any more, and then every row has a value.
        let known_computed = known_part(&live, &plan(&live), "p");
        find(&mut live, "item").columns[4].is_generated = false;
        let looked = compare(&known_computed, &live, &plan(&live), "p").new_columns;
        let pause = looked[0].computed_pause().unwrap();
        assert!(pause.cause.contains("computed the column note of item"), "{pause}");
        assert_eq!(compare(&known, &live, &plan(&live), "p").new_columns[0].computed_pause(), None);
        find(&mut live, "item").columns[4].is_generated = false;
        // One that was dropped keeps its place, by which a mapping may number columns.
        find(&mut live, "item").columns.remove(2);
        let newer = known_with_columns(&known, &live, &now, &[], TakesColumns::All).unwrap();
        let names: Vec<&str> =
            newer.table_of(1).unwrap().columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["id", "owner_id", "name", "price", "note"]);
        assert_eq!(known_with_all_columns(&known, &live).table_of(1), newer.table_of(1));
        let gone = relation(&["id", "gone"]);
        let pause = known_with_columns(&known, &live, &gone, &[], TakesColumns::All).unwrap_err();
        assert!(pause.cause.contains("is gone again"), "{pause}");
    }
}
