//! Acknowledged: what a log said that it has is there, whatever happened meanwhile, and what it refused is not.

use crate::real_log::test_log::{TestLog, pass};
use evergraph_cluster::log::shared_log::{LogAnswer, LogError, SharedLog};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Appends 400 messages, 16 at a time, and calls `kill` while they are under way; then reads the log back.
pub fn check_survival<L: SharedLog>(log: &mut TestLog<L>, reader: &mut TestLog<L>, kill: impl FnOnce()) {
    let (mut acknowledged, mut kill) = (BTreeMap::new(), Some(kill));
    let (mut texts, mut unknown) = (BTreeMap::new(), BTreeSet::new());
    let mut under_way = 0;
    for number in 0..400 {
        while under_way >= 16 {
            let LogAnswer::Append { id, result } = log.answer() else { panic!("only appends") };
            under_way -= 1;
            let text: String = texts.remove(&id).expect("each is answered once");
            match result {
                Ok(position) => {
                    acknowledged.insert(position, text);
                }
                Err(LogError::UnknownOutcome) => {
                    unknown.insert(text);
                }
                // It is not in the log, and the test does not send it again. Meanwhile another leader is elected.
                Err(LogError::Unavailable { .. }) => pass(Duration::from_millis(20)),
                Err(other) => panic!("{other}"),
            }
        }
        if number == 100
            && let Some(kill) = kill.take()
        {
            kill();
        }
        let text = format!("message {number}");
        texts.insert(log.begin_append(&text), text);
        under_way += 1;
    }
    while under_way > 0 {
        if let LogAnswer::Append { id, result: Ok(position) } = log.answer() {
            acknowledged.insert(position, texts.remove(&id).expect("each is answered once"));
        }
        under_way -= 1;
    }
    let last = log.append_surely("last");
    let mut read = Vec::new();
    reader.read_on(&mut read, last);
    let found: BTreeMap<_, _> = read.into_iter().collect();
    for (position, text) in &acknowledged {
        assert_eq!(found.get(position), Some(text), "at {position}");
    }
    let expected: BTreeSet<&String> = acknowledged.values().chain(&unknown).chain(texts.values()).collect();
    let strange = found.values().filter(|text| *text != "last" && !expected.contains(text));
    assert_eq!(strange.collect::<Vec<_>>(), [""; 0], "what was refused is not in the log");
    assert!(acknowledged.len() >= 84, "{} of 400", acknowledged.len());
}
