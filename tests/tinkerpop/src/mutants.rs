//! Mutants: wrong forms of an expectation. What is met as well by one of them expects nothing.

use crate::gherkin::Step;

/// An expectation, changed so that it can't be met any more; nothing of a step that expects nothing.
#[must_use]
pub fn mutants(step: &Step) -> Vec<(&'static str, Step)> {
    let with_text = |text: String| Step { text, ..step.clone() };
    let text = step.text.as_str();
    let mut mutants = Vec::new();
    if text == "the result should be unordered" || text == "the result should be ordered" {
        let stranger = vec!["str[a stranger]".to_owned()];
        let mut longer = step.clone();
        longer.table.push(stranger.clone());
        mutants.push(("with a row more", longer));
        if step.table.len() > 1 {
            let (mut shorter, mut other) = (step.clone(), step.clone());
            shorter.table.pop();
            mutants.push(("with a row less", shorter));
            other.table[1] = stranger;
            mutants.push(("with another row", other));
        }
    } else if text == "the result should be of" {
        let mut nobody = step.clone();
        nobody.table.truncate(1);
        mutants.push(("of nobody", nobody));
    } else if text == "the result should be empty" {
        mutants.push(("with a result", with_text("the result should have a count of 1".to_owned())));
    } else if let Some(count) = text.strip_prefix("the result should have a count of ").and_then(next) {
        mutants.push(("with one more", with_text(format!("the result should have a count of {count}"))));
    } else if let Some((count, rest)) =
        text.strip_prefix("the graph should return ").and_then(|text| text.split_once(' '))
    {
        if let Some(count) = next(count) {
            mutants.push((
                "with one more in the graph",
                with_text(format!("the graph should return {count} {rest}")),
            ));
        }
    } else if text.starts_with("the traversal will raise an error") {
        mutants
            .push(("with a result in place of an error", with_text("the result should be empty".to_owned())));
        if let Some(text) = text.strip_suffix('"') {
            mutants.push(("with another error", with_text(format!("{text} or so it says\""))));
        }
    }
    mutants
}

/// The number after the one that `count` is.
fn next(count: &str) -> Option<usize> {
    count.parse::<usize>().ok()?.checked_add(1)
}
