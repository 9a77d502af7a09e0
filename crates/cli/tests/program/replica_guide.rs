//! What docs/guide/replica.md says of pauses and metrics, beside the code and a replica.

use crate::replicas::{ended, following, get_until, start_replica};
use crate::shop::Shop;
use crate::support::Folder;
use std::collections::BTreeSet;

const GUIDE: &str = include_str!("../../../../docs/guide/replica.md");

/// What the code of the replica says, without the ends of its lines.
fn said() -> String {
    let sources = [
        include_str!("../../../replica/src/apply/attempt.rs"),
        include_str!("../../../replica/src/apply/bulk_load.rs"),
        include_str!("../../../replica/src/apply/error.rs"),
        include_str!("../../../replica/src/apply/fold.rs"),
        include_str!("../../../replica/src/apply/kept_rows.rs"),
        include_str!("../../../replica/src/apply/rule_fold.rs"),
        include_str!("../../../replica/src/apply/write_estimate.rs"),
        include_str!("../../../replica/src/follow/column_order.rs"),
        include_str!("../../../replica/src/follow/connect.rs"),
        include_str!("../../../replica/src/follow/known_tables.rs"),
        include_str!("../../../replica/src/follow/known_translator.rs"),
        include_str!("../../../replica/src/follow/mark_changes.rs"),
        include_str!("../../../replica/src/follow/new_columns.rs"),
        include_str!("../../../replica/src/follow/replica.rs"),
        include_str!("../../../replica/src/source/postgres/publication.rs"),
        include_str!("../../../replica/src/source/slot_state.rs"),
        include_str!("../../../replica/src/translate/binding.rs"),
        include_str!("../../../replica/src/translate/pause.rs"),
        include_str!("../../../replica/src/translate/row_reader.rs"),
        include_str!("../../../replica/src/translate/translator.rs"),
        include_str!("../../../replica/src/value/unfit.rs"),
    ];
    let code: String = sources.iter().filter_map(|source| source.split("#[cfg(test)]").next()).collect();
    let lines = code.split("\\\n").enumerate();
    lines.map(|(at, part)| if at == 0 { part } else { part.trim_start() }).collect()
}

#[test]
fn the_guide_lists_pauses_in_the_words_of_the_code() {
    let (_, table) = GUIDE.split_once("| the status says |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let said = said().replace("\\\"", "\"");
    let mut phrases_count = 0;
    for row in table.lines().skip(2).filter(|row| !row.contains("own words")) {
        let cell = row.split('|').nth(1).unwrap().trim();
        for phrase in cell.split(['…', ';']).map(|part| part.trim_matches([' ', ',', ':'])) {
            let phrase = phrase.trim_end_matches(", and others of this kind");
            if phrase.len() < 12 {
                continue;
            }
            assert!(said.contains(phrase), "no pause says {phrase:?}");
            phrases_count += 1;
        }
    }
    assert!(phrases_count > 20, "{phrases_count}");
}

/// The first text behind each of `marks` in `sources`.
fn texts_behind<'a>(sources: &'a str, marks: &[&str]) -> Vec<&'a str> {
    let mut texts = Vec::new();
    for mark in marks {
        for (at, _) in sources.match_indices(mark) {
            let rest = sources[at + mark.len()..].trim_start();
            let rest = rest.strip_prefix("format!(").unwrap_or(rest).trim_start();
            let Some(rest) = rest.strip_prefix('"') else { continue };
            let is_end = |(at, _): &(usize, &str)| !rest[..*at].ends_with('\\');
            let (end, _) = rest.match_indices('"').find(is_end).unwrap();
            texts.push(&rest[..end]);
        }
    }
    texts
}

#[test]
fn every_pause_of_the_code_is_in_the_guide() {
    let said = said();
    let marks = [
        "Pause::resync(",
        "Pause::missed(",
        "Pause::new(",
        "let cause =",
        "cause: ",
        "halt(",
        "check_count(rule, count, ",
    ];
    let texts = texts_behind(&said, &marks);
    assert!(texts.len() > 25, "{}", texts.len());
    let is_told = |text: &&str| {
        let text = text.replace("\\\"", "\"");
        let holes = text.split('{').enumerate();
        let parts = holes.map(|(at, part)| if at == 0 { part } else { part.split_once('}').unwrap().1 });
        let phrases = parts.flat_map(|part| part.split(';')).map(|part| part.trim_matches([' ', ',', ':']));
        let mut long = phrases.filter(|phrase| phrase.len() >= 12).peekable();
        long.peek().is_none() || long.any(|phrase| GUIDE.contains(phrase))
    };
    let untold: Vec<&str> = texts.into_iter().filter(|text| !is_told(text)).collect();
    assert!(untold.is_empty(), "not in docs/guide/replica.md: {untold:#?}");
}

/// The names of metrics in the guide's table.
fn metrics_of_guide() -> BTreeSet<&'static str> {
    let (_, table) = GUIDE.split_once("| metric | |\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

/// And none that the guide leaves out.
#[test]
fn every_metric_of_the_guide_is_told() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let following = following(&shop, &folder, &url);
    // What is left out is told by rule and cause once there is such a row.
    let (edge_type, condition) = ("type = \"ORDER_ITEM\"\n", "where = \"pieces > 1\"\n");
    let mapping = folder.read("shop.toml").replace(edge_type, &format!("{edge_type}{condition}"));
    folder.write("shop.toml", mapping);
    let replica = start_replica(&shop, &folder, &following);
    get_until(&replica.address, "evergraph_replica_state{database=\"shop\",state=\"following\"} 1.0\n");
    shop.query("INSERT INTO order_item VALUES (2, 2, 1); INSERT INTO customer VALUES (3, 'Cem', true)");
    get_until(&replica.address, "evergraph_replica_freshness_seconds_count{database=\"shop\"} 1\n");
    let losses = "evergraph_replica_losses{database=\"shop\",rule=\"ORDER_ITEM\",cause=\"condition\"} 2.0\n";
    get_until(&replica.address, losses);
    // The source is asked for this every ten seconds.
    let metrics = get_until(&replica.address, "evergraph_replica_retained_bytes{database=\"shop\"} ");
    let series = metrics.lines().filter_map(|line| line.split_once('{')).map(|(series, _)| series);
    let names = series.filter(|series| series.starts_with("evergraph_")).map(|series| {
        // A histogram has three.
        let parts = ["_bucket", "_sum", "_count"];
        parts.into_iter().find_map(|part| series.strip_suffix(part)).unwrap_or(series)
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), metrics_of_guide(), "{metrics}");
    folder.run(&["replica", "stop", "shop.eg"]).succeeded();
    ended(replica).succeeded();
}
