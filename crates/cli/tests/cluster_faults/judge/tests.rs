//! The judge finds what was made wrong, one thing at a time.

use super::{Ended, Judge};
use crate::caller::{Attempt, Effect, Outcome};
use crate::list_history::Operation;
use crate::observed::Observed;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Isolation;
use evergraph_graph::unknown_commit::UnknownCommit;
use std::collections::{BTreeMap, HashMap};

const NAMED: UnknownCommit =
    UnknownCommit { node: 1, incarnation: 0, number: 7, since: Timestamp(3), proof: 9 };

/// Some transactions, and the graph that is right after them.
fn right() -> (Vec<Attempt>, Observed) {
    let acknowledged = |mark, effect| Attempt { mark, outcome: Outcome::Acknowledged, effect: Some(effect) };
    let append = |process, list, item, before: &[i64]| {
        let operations = vec![Operation::Read(list, before.to_vec()), Operation::Append(list, item)];
        Effect::Lists { process, operations }
    };
    let attempts = vec![
        acknowledged(1, Effect::Transfer { from: 0, to: 1, amount: 5 }),
        acknowledged(2, Effect::Claim { value: 100 }),
        acknowledged(3, Effect::AddEdge { from: 0, to: 1 }),
        acknowledged(4, append(2, 4, 50, &[])),
        acknowledged(5, append(3, 4, 51, &[50])),
        Attempt { mark: 6, outcome: Outcome::Refused("conflict".to_owned()), effect: None },
        Attempt { mark: 7, outcome: Outcome::Lost, effect: Some(Effect::Claim { value: 100 }) },
        Attempt {
            mark: 8,
            outcome: Outcome::Unknown(NAMED),
            effect: Some(Effect::Transfer { from: 2, to: 3, amount: 1 }),
        },
    ];
    let mut accounts: Vec<(i64, i64)> = (0..8).map(|account| (account, 100)).collect();
    for (account, more) in [(0, -5), (1, 5), (2, -1), (3, 1)] {
        accounts[account].1 += more;
    }
    let graph = Observed {
        marks: vec![1, 2, 3, 4, 5, 8],
        accounts,
        lists: BTreeMap::from([(-1, String::new()), (4, " 50 51".to_owned())]),
        lists_count: 2,
        claims: vec![(-1, -1), (100, 2)],
        people: (0..12).collect(),
        outgoing: vec![(0, 3, 1)],
        incoming: vec![(0, 3, 1)],
        outgoing_keys: vec![3],
        incoming_keys: vec![3],
    };
    (attempts, graph)
}

fn judged(judge: &mut Judge, attempts: &[Attempt], graph: &Observed) -> Vec<String> {
    let settled = HashMap::from([(NAMED, true)]);
    judge.judge(&Ended { cycle: 1, attempts, settled: &settled, lists: Isolation::Serializable }, graph)
}

#[test]
fn what_is_right_is_found_right_and_counted() {
    let (attempts, graph) = right();
    let mut judge = Judge::default();
    assert_eq!(judged(&mut judge, &attempts, &graph), [""; 0]);
    assert_eq!(judged(&mut judge, &[], &graph), [""; 0], "nothing has changed since");
    let counts = judge.counts;
    assert_eq!((counts.acknowledged, counts.found, counts.refused), (5, 5, 1));
    assert_eq!((counts.lost, counts.lost_found, counts.settled, counts.settled_found), (1, 0, 1, 1));
}

#[test]
fn whatever_is_made_wrong_is_found() {
    type Spoil = fn(&mut Observed);
    let spoils: [(&str, Spoil); 16] = [
        ("1 was acknowledged and is not there", |graph| _ = graph.marks.remove(0)),
        ("6 is there, and was refused", |graph| graph.marks.insert(5, 6)),
        ("is there twice", |graph| graph.marks.insert(0, 1)),
        ("9 is there now", |graph| graph.marks.push(9)),
        ("both have the value 100", |graph| graph.marks.insert(5, 7)),
        ("and its transaction 8 is there (false)", |graph| _ = graph.marks.pop()),
        ("accounts are", |graph| graph.accounts[5].1 -= 1),
        ("claims are", |graph| graph.claims[1].1 = 7),
        ("where they end", |graph| graph.incoming.clear()),
        ("no other end", |graph| graph.outgoing_keys.push(4)),
        ("people are", |graph| _ = graph.people.pop()),
        ("is gone, and nobody dropped", |graph| {
            (graph.outgoing, graph.incoming) = Default::default();
            (graph.outgoing_keys, graph.incoming_keys) = Default::default();
        }),
        ("nobody has added it", |graph| {
            (graph.outgoing, graph.incoming) = (vec![(0, 2, 1), (0, 3, 1)], vec![(0, 2, 1), (0, 3, 1)]);
            (graph.outgoing_keys, graph.incoming_keys) = (vec![2, 3], vec![2, 3]);
        }),
        ("and not both", |graph| graph.lists.get_mut(&4).unwrap().truncate(3)),
        ("in a list twice", |graph| graph.lists.get_mut(&4).unwrap().push_str(" 51")),
        ("two lists have the same key", |graph| graph.lists_count += 1),
    ];
    for (said, spoil) in spoils {
        let (attempts, mut graph) = right();
        spoil(&mut graph);
        let wrong = judged(&mut Judge::default(), &attempts, &graph);
        assert!(wrong.iter().any(|wrong| wrong.contains(said)), "{said}: {wrong:?}");
    }
}

#[test]
fn what_was_right_before_has_to_stay() {
    type Spoil = fn(&mut Observed);
    let spoils: [(&str, Spoil); 3] = [
        ("2 of a cycle before is gone", |graph| _ = graph.marks.remove(1)),
        ("list 4 was", |graph| graph.lists.get_mut(&4).unwrap().push_str(" 52")),
        ("7 is there now", |graph| graph.marks.insert(5, 7)),
    ];
    for (said, spoil) in spoils {
        let (attempts, mut graph) = right();
        let mut judge = Judge::default();
        assert_eq!(judged(&mut judge, &attempts, &graph), [""; 0]);
        spoil(&mut graph);
        let wrong = judged(&mut judge, &[], &graph);
        assert!(wrong.iter().any(|wrong| wrong.contains(said)), "{said}: {wrong:?}");
    }
}

#[test]
fn a_read_that_no_order_explains_is_an_anomaly() {
    let (mut attempts, graph) = right();
    // It saw nothing of what is before its own item.
    let Some(Effect::Lists { operations, .. }) = &mut attempts[4].effect else { panic!("it appends") };
    operations[0] = Operation::Read(4, Vec::new());
    let wrong = judged(&mut Judge::default(), &attempts, &graph);
    assert!(wrong.iter().any(|wrong| wrong.contains("is not serializable")), "{wrong:?}");
}
