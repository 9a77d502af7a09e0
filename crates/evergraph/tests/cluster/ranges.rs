//! Ranges: where the first vertices of a query lie in the range of an index, one node looks them up, unless they are so many that a
//! scan reads less: then every node scans its own.

use crate::cluster::databases::{Databases, travelling};
use crate::cluster::nodes::{ClusterSetup, PATIENCE, waiting};
use crate::{count, fresh};
use evergraph::{Database, IndexOptions, Item, VertexId};

/// More than an index hands out at once.
const PEOPLE: i64 = 5000;

/// Rows that all nodes were sent for the first stage, of a query that two hops follow.
fn first_rows(db: &Database, from: &str) -> u64 {
    let profile = db.gremlin(&format!("{from}.out().out().count()")).transaction(fresh()).profile().unwrap();
    assert_eq!(profile.notes.len(), 3, "it travels: {:?}", profile.notes);
    let rows_of = |note: &String| {
        let (_, stage) = note.split_once("stage 0 ").unwrap();
        let (_, of) = stage.split_once(" of ").unwrap();
        of.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    profile.notes.iter().map(rows_of).sum()
}

#[test]
fn a_range_that_holds_much_is_scanned_by_every_node_and_a_narrow_one_is_looked_up() {
    let setup = ClusterSetup {
        seed: 40,
        coordinator: waiting(PATIENCE),
        stages: travelling(),
        ..ClusterSetup::default()
    };
    let databases = Databases::start(&setup);
    let [first, second, _] = databases.all();
    first.create_index(&IndexOptions::on_label("Person", "born").ordered()).unwrap();
    let mut last: Option<VertexId> = None;
    for part in 0..10 {
        last = first
            .transact(|tx| {
                let mut before = last;
                for born in part * PEOPLE / 10..(part + 1) * PEOPLE / 10 {
                    let person = tx.add_vertex("Person", &[("born", born.into())])?;
                    if let Some(before) = before.replace(person) {
                        tx.add_edge(before, "KNOWS", person, &[])?;
                    }
                }
                Ok(before)
            })
            .unwrap();
    }
    let (wide, narrow) = ("g.V().has('Person', 'born', gte(0L))", "g.V().has('Person', 'born', lt(100L))");
    assert_eq!((first_rows(second, wide), first_rows(second, narrow)), (0, 100));
    for (from, found) in [(wide, PEOPLE - 2), (narrow, 100)] {
        let (travelling, remote) = (from.to_owned(), from.replacen('g', "g.with('travel', false)", 1));
        for from in [travelling, remote] {
            assert_eq!(count(second, &format!("{from}.out().out().count()")), found, "{from}");
            let of_one_hop = count(second, &format!("{from}.out().count()"));
            assert_eq!(of_one_hop, found + i64::from(found > 100), "{from}");
        }
    }
    let explained = second.gremlin(&format!("{wide}.out().out().count()")).explain().unwrap();
    let index = explained.lines.iter().find_map(|line| line.index.clone());
    assert_eq!(index.as_deref(), Some("Person.born, a range"));
    // Asked for in the text, as of a server.
    let told = second.gremlin(&format!("{narrow}.out().out().count().profile()")).items().unwrap();
    let [Item::Map(profile)] = &told[..] else { panic!("{told:?}") };
    let Some(Item::List(notes)) = profile.get_text("notes") else { panic!("{told:?}") };
    let of_nodes = notes.iter().filter(|note| note.as_str().is_some_and(|note| note.starts_with("node ")));
    assert_eq!((of_nodes.count(), notes.len()), (3, 3), "{notes:?}");
}
