//! Mark changes: what came and went at a source between two looks at its catalogue, by its marks.
//!
//! | changed | then |
//! |---|---|
//! | the number of a mapped column | pause: the column is another one, whose values the stream did not say |
//! | the name of a label of a mapped enum | pause: PostgreSQL shows it in rows that the stream does not send |
//! | who attached a partition | pause: it was detached meanwhile, and its changes were not sent |
//! | the number of the publication, or of what it says of a mapped table; its options; how it has the table | pause, likewise |
//! | the name of a table that is published by its schema | pause, likewise |
//! | the attributes of a composite type | pause, as for labels |
//! | the name of a column that no rule used | pause, if a rule takes all columns: its values are older than its name |

use std::collections::BTreeSet;
use std::iter;

use crate::follow::column_order::another_column_pause;
use crate::follow::pause::Pause;
use crate::mapping::plan::{Plan, TablePlan};
use crate::mapping::scope::partitions_of;
use crate::mapping::sql_name::display_name;
use crate::pgoutput::relation::Oid;
use crate::source::catalogue::{Catalogue, Column, Table, TypeKind};
use crate::source::catalogue_marks::{CatalogueMarks, PublicationEntry, TableMarks};
use crate::source::replica_source::TableRewrite;

/// The marks of `live` that `plan` and the publication `publication` build on.
#[must_use]
pub fn planned_marks(live: &Catalogue, plan: &Plan, publication: &str) -> CatalogueMarks {
    let mut marks = CatalogueMarks::default();
    for planned in &plan.tables {
        let Some(table) = live.table_of(planned.table) else { continue };
        if let Some(of_table) = live.marks.tables.get(&table.id) {
            marks.tables.insert(table.id, TableMarks { last_number: 0, ..of_table.clone() });
        }
        for id in planned.columns.iter().flat_map(|column| types_within(live, column.type_id)) {
            if let Some(labels) = live.marks.enums.get(&id) {
                marks.enums.insert(id, labels.clone());
            }
            if let Some(attributes) = live.marks.composites.get(&id) {
                marks.composites.insert(id, attributes.clone());
            }
        }
        let is_planned = |name: &str| planned.columns.iter().any(|column| *column.name == *name);
        for part in partitions_of(live, table) {
            let Some(of_part) = live.marks.tables.get(&part.id) else { continue };
            let mut of_part = TableMarks { last_number: 0, ..of_part.clone() };
            of_part.columns.retain(|name, _| is_planned(name));
            marks.tables.insert(part.id, of_part);
        }
    }
    if let Some((name, of_publication)) = live.marks.publications.get_key_value(publication) {
        marks.publications.insert(name.clone(), of_publication.clone());
    }
    marks
}

/// Whether rows of the table `id` of `live` may have been written anew since somebody saw the marks `before`.
#[must_use]
pub fn rewrite_since(before: Option<&CatalogueMarks>, live: &Catalogue, id: Oid) -> TableRewrite {
    let (Some(before), Some(table)) = (before, live.table_of(id)) else { return TableRewrite::Unknown };
    let mut found = TableRewrite::None;
    for id in iter::once(table.id).chain(partitions_of(live, table).map(|part| part.id)) {
        let file = |marks: &CatalogueMarks| marks.tables.get(&id).map(|table| table.file);
        match (file(before), file(&live.marks)) {
            (Some(None), _) | (_, Some(None)) => return TableRewrite::Unknown,
            (before, now) if before == now => {}
            _ => found = TableRewrite::Possible,
        }
    }
    found
}

/// What marks say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkChanges {
    /// Why following cannot go on.
    pub pauses: Vec<Pause>,
    /// Columns that had other names.
    pub renamed: Vec<RenamedColumn>,
}

/// A column that had another name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenamedColumn {
    /// The table.
    pub table: Oid,
    /// Its name before.
    pub from: Box<str>,
    /// Its name.
    pub to: Box<str>,
}

impl MarkChanges {
    /// The pause for the first of `columns`, which are new in the table `known`, called `name`, that had another name by which it
    /// was known: rows from before have values in it.
    #[must_use]
    pub fn renamed_pause(&self, known: &Table, name: &str, columns: &[Column]) -> Option<Pause> {
        // One that was new itself is looked at as others that are new.
        let is_new = |renamed: &&RenamedColumn| {
            renamed.table == known.id
                && known.column(&renamed.from).is_some()
                && columns.iter().any(|column| column.name == renamed.to)
        };
        self.renamed.iter().find(is_new).map(|RenamedColumn { from, to, .. }| {
            Pause::resync(format!(
                "the column {from} of {name} was renamed to {to}, which becomes a property: the stream says nothing of the \
                 values that rows from before have in it"
            ))
        })
    }
}

/// What came and went between the marks `before` and `now`, which are those of `live`.
#[must_use]
pub fn mark_changes(
    before: &CatalogueMarks,
    now: &CatalogueMarks,
    live: &Catalogue,
    plan: &Plan,
    publication: &str,
) -> MarkChanges {
    let mut changes = MarkChanges::default();
    for planned in &plan.tables {
        let Some(table) = live.table_of(planned.table) else { continue };
        if let (Some(before), Some(now)) = (before.tables.get(&table.id), now.tables.get(&table.id)) {
            of_columns(planned, table, before, now, &mut changes);
        }
        for part in partitions_of(live, table) {
            let marks = (before.tables.get(&part.id), now.tables.get(&part.id));
            let (Some(before), Some(now)) = marks else { continue };
            if before.attached_by.is_some() && before.attached_by != now.attached_by {
                changes.pauses.push(Pause::resync(format!(
                    "the partition {} was detached from {} and attached again: of its changes meanwhile the stream says nothing",
                    display_name(part),
                    display_name(table)
                )));
            }
        }
        of_labels(planned, before, now, live, &mut changes.pauses);
        of_composites(planned, before, now, live, &mut changes.pauses);
        changes.pauses.extend(of_publication(planned, before, now, publication));
        changes.pauses.extend(of_name(planned, before, now, publication));
    }
    changes
}

fn of_columns(
    planned: &TablePlan,
    table: &Table,
    before: &TableMarks,
    now: &TableMarks,
    changes: &mut MarkChanges,
) {
    for column in &planned.columns {
        let numbers = (before.columns.get(&column.name), now.columns.get(&column.name));
        if let (Some(before), Some(now)) = numbers
            && before != now
        {
            changes.pauses.push(another_column_pause(&column.name, table));
        }
    }
    for (to, number) in &now.columns {
        let same = before.columns.iter().find(|(_, known)| *known == number);
        if let Some((from, _)) = same.filter(|(from, _)| *from != to) {
            changes.renamed.push(RenamedColumn { table: table.id, from: from.clone(), to: to.clone() });
        }
    }
}

fn of_labels(
    planned: &TablePlan,
    before: &CatalogueMarks,
    now: &CatalogueMarks,
    live: &Catalogue,
    pauses: &mut Vec<Pause>,
) {
    for column in &planned.columns {
        for id in types_within(live, column.type_id) {
            let (Some(before), Some(now)) = (before.enums.get(&id), now.enums.get(&id)) else { continue };
            let renamed = before.iter().filter_map(|(number, label)| Some((label, now.get(number)?)));
            for (label, now) in renamed.filter(|(before, now)| before != now) {
                pauses.push(Pause::resync(format!(
                    "the label {label:?} of the enum of column {} of {} was renamed to {now:?}: the stream says nothing of the \
                     rows that show it now",
                    column.name, planned.name
                )));
            }
        }
    }
}

fn of_composites(
    planned: &TablePlan,
    before: &CatalogueMarks,
    now: &CatalogueMarks,
    live: &Catalogue,
    pauses: &mut Vec<Pause>,
) {
    for column in &planned.columns {
        for id in types_within(live, column.type_id) {
            let both = before.composites.get(&id).zip(now.composites.get(&id));
            if both.is_some_and(|(before, now)| before != now) {
                pauses.push(Pause::resync(format!(
                    "the composite type of column {} of {} has other attributes now: the stream says nothing of the rows that \
                     show them",
                    column.name, planned.name
                )));
            }
        }
    }
}

/// The type `id`, and what it is made of.
#[must_use]
pub fn types_within(catalogue: &Catalogue, id: Oid) -> BTreeSet<Oid> {
    let mut found = BTreeSet::new();
    let mut next = Some(id);
    while let Some(id) = next.filter(|id| found.insert(*id)) {
        next = match catalogue.types.get(id).map(|entry| &entry.kind) {
            Some(TypeKind::Domain { base }) => Some(*base),
            Some(TypeKind::Array { element, .. }) => Some(*element),
            _ => None,
        };
    }
    found
}

fn of_publication(
    planned: &TablePlan,
    before: &CatalogueMarks,
    now: &CatalogueMarks,
    publication: &str,
) -> Option<Pause> {
    let (before, now) = (before.publications.get(publication)?, now.publications.get(publication)?);
    if before.id != now.id {
        return Some(Pause::resync(format!(
            "the publication {publication:?} was dropped and created again; changes in between are missing"
        )));
    }
    if now.set_by.is_another(before.set_by) {
        return Some(Pause::resync(format!(
            "the options of the publication {publication:?} were changed, if only for a moment; changes in between may be missing"
        )));
    }
    let is_of_table = |entry: &&PublicationEntry| {
        entry.schema == planned.schema && entry.table.as_ref().is_none_or(|table| *table == planned.name)
    };
    let known: Vec<&PublicationEntry> = before.entries.keys().filter(is_of_table).collect();
    let number = |entry: &PublicationEntry| now.entries.get(entry);
    if known.is_empty() || known.iter().any(|entry| number(entry) == before.entries.get(*entry)) {
        return None;
    }
    if known.iter().any(|entry| number(entry).is_some()) {
        return Some(Pause::resync(format!(
            "the table {} was taken out of the publication {publication:?} and put back; changes in between are missing",
            planned.name
        )));
    }
    // With other columns or another filter it was set anew, perhaps without a gap.
    let is_as_before = |entry: &PublicationEntry| known.iter().any(|known| known.table == entry.table);
    match now.entries.keys().filter(is_of_table).any(is_as_before) {
        true => None,
        false => Some(Pause::resync(format!(
            "the publication {publication:?} has the table {} in another way than before (by its name, by its schema); changes in \
             between may be missing",
            planned.name
        ))),
    }
}

/// The pause for a table that was called otherwise for a moment, if it is published by its schema.
fn of_name(
    planned: &TablePlan,
    before: &CatalogueMarks,
    now: &CatalogueMarks,
    publication: &str,
) -> Option<Pause> {
    let entries = &before.publications.get(publication)?.entries;
    let of_schema = entries.keys().filter(|entry| entry.schema == planned.schema);
    // One that is named stays in the publication under any name.
    let is_by_schema = of_schema.clone().any(|entry| entry.table.is_none())
        && !of_schema.clone().any(|entry| entry.table.as_ref() == Some(&planned.name));
    let (before, now) = (before.tables.get(&planned.table)?, now.tables.get(&planned.table)?);
    (is_by_schema && now.named_by.is_another(before.named_by)).then(|| {
        Pause::resync(format!(
            "the table {} was in another schema for a moment, or had another name, and the publication {publication:?} has \
             tables by their schemas; changes in between may be missing",
            planned.name
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::resolve::resolve;
    use crate::pgoutput::relation::RelationIdentity;
    use crate::source::catalogue::{Key, TableKind, TableRights, TypeEntry};
    use crate::source::catalogue_marks::{Change, PublicationMarks};
    use evergraph_files::import::mapping::document::Mapping;
    use std::path::Path;

    /// An enum, and an array of it.
    const MOOD: Oid = 90_000;
    const MOODS: Oid = 90_001;
    /// An enum that no column of the mapping has.
    const OTHER_MOOD: Oid = 90_002;

    /// Items in a partition, with marks.
    fn catalogue() -> Catalogue {
        let names = [("id", 23), ("name", 25), ("moods", MOODS), ("spare", 25)];
        let column = |(name, type_id): (&str, Oid)| Column {
            name: name.into(),
            type_id,
            type_name: "a type".into(),
            is_nullable: name != "id",
            is_generated: false,
            is_nondeterministic: false,
        };
        let item = Table {
            id: 1,
            schema: "public".into(),
            name: "item".into(),
            kind: TableKind::Partitioned,
            partition_of: None,
            child_tables: Vec::new(),
            columns: names.map(column).to_vec(),
            primary_key: Some(Key { name: "k".into(), columns: vec!["id".into()], is_deferrable: false }),
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
            identity: RelationIdentity::PrimaryKey,
            identity_columns: vec!["id".into()],
            rows_estimate: None,
            rights: TableRights::default(),
        };
        let kind = TableKind::Plain;
        let part = Table { id: 2, name: "item_1".into(), kind, partition_of: Some(1), ..item.clone() };
        let mut live = Catalogue { tables: vec![item, part], ..Catalogue::default() };
        live.types.insert(MOOD, TypeEntry { name: "mood".into(), kind: TypeKind::Enum { labels: vec![] } });
        let kind = TypeKind::Array { element: MOOD, delimiter: b',' };
        live.types.insert(MOODS, TypeEntry { name: "_mood".into(), kind });
        let numbers = (1..).zip(names);
        let columns = numbers.map(|(number, (name, _))| (name.into(), number));
        let named_by = Change { transaction: 3, owner: 10 };
        let columns = columns.collect();
        let root = TableMarks { attached_by: None, named_by, file: Some(1), columns, last_number: 4 };
        let part = TableMarks { attached_by: Some(8), file: Some(2), ..root.clone() };
        live.marks.tables = [(1, root), (2, part)].into();
        let of_another_table = [(7, "so".into())].into();
        live.marks.enums =
            [(MOOD, [(5, "sad".into()), (6, "ok".into())].into()), (OTHER_MOOD, of_another_table)].into();
        let entry =
            PublicationEntry { schema: "public".into(), table: Some("item".into()), form: "1".into() };
        let set_by = Change { transaction: 4, owner: 10 };
        let publication = PublicationMarks { id: 30, set_by, entries: [(entry, 31)].into() };
        live.marks.publications = [("p".into(), publication)].into();
        live
    }

    fn plan(live: &Catalogue) -> Plan {
        let mapping = "[[table]]\ntable = 'item'\nlabel = 'Item'\nproperties = ['name', 'moods']\n";
        let rules = Mapping::parse("m.toml", mapping, Path::new(".")).unwrap().tables;
        resolve(&rules, live).unwrap()
    }

    fn after(change: fn(&mut Catalogue)) -> MarkChanges {
        let mut live = catalogue();
        let plan = plan(&live);
        let before = planned_marks(&live, &plan, "p");
        change(&mut live);
        mark_changes(&before, &planned_marks(&live, &plan, "p"), &live, &plan, "p")
    }

    fn columns(live: &mut Catalogue, table: Oid) -> &mut std::collections::BTreeMap<Box<str>, u16> {
        &mut live.marks.tables.get_mut(&table).unwrap().columns
    }

    #[test]
    fn rows_that_may_have_been_written_anew_show_by_the_file_of_a_table_or_a_partition() {
        let live = catalogue();
        let since = |change: fn(&mut CatalogueMarks)| {
            let mut before = live.marks.clone();
            change(&mut before);
            rewrite_since(Some(&before), &live, 1)
        };
        fn of(marks: &mut CatalogueMarks, id: Oid) -> &mut TableMarks {
            marks.tables.get_mut(&id).unwrap()
        }
        assert_eq!(since(|_| {}), TableRewrite::None);
        assert_eq!(since(|before| of(before, 1).file = Some(7)), TableRewrite::Possible);
        assert_eq!(since(|before| of(before, 2).file = Some(7)), TableRewrite::Possible);
        assert_eq!(since(|before| drop(before.tables.remove(&2))), TableRewrite::Possible);
        assert_eq!(
            since(|before| of(before, 2).file = None),
            TableRewrite::Unknown,
            "an older program looked"
        );
        assert_eq!(rewrite_since(None, &live, 1), TableRewrite::Unknown);
    }

    #[test]
    fn marks_are_kept_of_what_the_plan_builds_on() {
        let live = catalogue();
        let marks = planned_marks(&live, &plan(&live), "p");
        assert_eq!(marks.enums.keys().collect::<Vec<_>>(), [&MOOD]);
        assert_eq!(
            marks.tables[&2].columns.keys().map(|name| &**name).collect::<Vec<_>>(),
            ["id", "moods", "name"]
        );
        assert_eq!(marks.publications, live.marks.publications);
        assert_eq!(planned_marks(&live, &plan(&live), "q").publications.len(), 0);
    }

    #[test]
    fn what_came_and_went_is_a_pause() {
        type CatalogueChange = fn(&mut Catalogue);
        let changes: [(CatalogueChange, &str); 8] = [
            (|live| *columns(live, 1).get_mut("name").unwrap() = 9, "the column name of item is another"),
            (
                |live| {
                    *live.marks.enums.get_mut(&MOOD).unwrap() = [(5, "low".into()), (6, "ok".into())].into()
                },
                "the label \"sad\" of the enum of column moods of item was renamed to \"low\"",
            ),
            (
                // A label that was renamed, and another one with its name.
                |live| {
                    *live.marks.enums.get_mut(&MOOD).unwrap() = [(5, "ok".into()), (6, "sad".into())].into()
                },
                "was renamed to \"ok\"",
            ),
            (
                |live| live.marks.tables.get_mut(&2).unwrap().attached_by = Some(50),
                "the partition item_1 was detached from item and attached again",
            ),
            (
                |live| live.marks.publications.get_mut("p").unwrap().id = 40,
                "the publication \"p\" was dropped and created again",
            ),
            (
                |live| {
                    let publication = live.marks.publications.get_mut("p").unwrap();
                    publication.entries.values_mut().for_each(|number| *number += 1);
                },
                "the table item was taken out of the publication \"p\" and put back",
            ),
            (
                |live| live.marks.publications.get_mut("p").unwrap().set_by.transaction = 9,
                "the options of the publication \"p\" were changed",
            ),
            (
                |live| {
                    let publication = live.marks.publications.get_mut("p").unwrap();
                    let (mut entry, number) = publication.entries.pop_first().unwrap();
                    (entry.table, entry.form) = (None, "".into());
                    publication.entries.insert(entry, number + 1);
                },
                "in another way than before",
            ),
        ];
        for (change, cause) in changes {
            let changes = after(change);
            assert!(changes.pauses[0].cause.contains(cause), "{cause:?} is not in {changes:?}");
        }
    }

    #[test]
    fn an_unused_column_under_another_name_is_a_pause_where_a_rule_takes_it() {
        let renamed = after(|live| {
            let spare = columns(live, 1).remove("spare").unwrap();
            columns(live, 1).insert("extra".into(), spare);
            columns(live, 1).insert("fresh".into(), 12);
        });
        assert_eq!(after(|_| {}), MarkChanges::default());
        assert!(renamed.pauses.is_empty(), "{renamed:?}");
        let mut columns = catalogue().tables[0].columns.clone();
        let mut known = catalogue().tables.remove(0);
        columns[3].name = "extra".into();
        let pause = renamed.renamed_pause(&known, "item", &columns[3..]).unwrap();
        assert!(pause.cause.starts_with("the column spare of item was renamed to extra"), "{pause}");
        columns[3].name = "fresh".into();
        assert_eq!(renamed.renamed_pause(&known, "item", &columns[3..]), None);
        columns[3].name = "extra".into();
        known.columns.retain(|column| &*column.name != "spare");
        assert_eq!(renamed.renamed_pause(&known, "item", &columns[3..]), None, "it was new itself");
    }

    #[test]
    fn a_publication_that_names_a_table_in_another_way_is_no_pause() {
        let other_form = after(|live| {
            let publication = live.marks.publications.get_mut("p").unwrap();
            let (mut entry, number) = publication.entries.pop_first().unwrap();
            entry.form = "1 2".into();
            publication.entries.insert(entry, number + 1);
        });
        assert_eq!(other_form, MarkChanges::default());
        let new_owner = after(|live| {
            live.marks.publications.get_mut("p").unwrap().set_by = Change { transaction: 9, owner: 11 };
            live.marks.tables.get_mut(&1).unwrap().named_by = Change { transaction: 9, owner: 10 };
        });
        assert_eq!(new_owner, MarkChanges::default());
    }
}
