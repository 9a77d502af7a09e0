//! Gherkin: the part of the language that TinkerPop's features are written in.
//!
//! ```text
//! @StepClassMap @StepAddE                         tags, of the feature or of the scenario below
//! Feature: Step - addE()
//!   Scenario: g_VX1X_as_a                         a name, which stands for the traversal
//!     Given the empty graph                       steps; And repeats what the step before was
//!     And the traversal of
//!       """                                       a text, without the margin of its quotes
//!       g.V()
//!       """
//!     Then the result should be unordered
//!       | result |                                a table; \| \\ \n are escapes
//!       | v[marko] |
//! ```
//!
//! Everything else of Gherkin (outlines, backgrounds, rules, other languages) is refused.

/// A file of scenarios.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    /// Its title.
    pub title: String,
    /// Its scenarios; each has the feature's tags as well.
    pub scenarios: Vec<Scenario>,
}

/// One test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// Its tags and the feature's, without `@`.
    pub tags: Vec<String>,
    /// What is given, done and expected, in order.
    pub steps: Vec<Step>,
}

/// A line of a scenario with what belongs to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The line without its first word.
    pub text: String,
    /// The text between triple quotes below it.
    pub document: Option<String>,
    /// The table below it, its heading first.
    pub table: Vec<Vec<String>>,
}

/// Reads a feature.
///
/// # Errors
/// The line that is none of Gherkin, or of the part that is read here.
pub fn parse(text: &str) -> Result<Feature, String> {
    let mut feature = Feature { title: String::new(), scenarios: Vec::new() };
    let (mut own_tags, mut tags): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut has_title = false;
    let mut lines = text.lines().enumerate();
    while let Some((at, whole)) = lines.next() {
        let wrong = |why: &str| Err(format!("line {}: {why}: {}", at + 1, whole.trim()));
        let line = whole.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('@') {
            tags.extend(line.split_whitespace().map(|tag| tag.trim_start_matches('@').to_owned()));
        } else if let Some(title) = line.strip_prefix("Feature:") {
            title.trim().clone_into(&mut feature.title);
            own_tags = std::mem::take(&mut tags);
            has_title = true;
        } else if let Some(name) = line.strip_prefix("Scenario:") {
            if !has_title {
                return wrong("a scenario of no feature");
            }
            let all = own_tags.iter().cloned().chain(tags.drain(..)).collect();
            feature.scenarios.push(Scenario { name: name.trim().to_owned(), tags: all, steps: Vec::new() });
        } else if let Some(scenario) = feature.scenarios.last_mut() {
            if line == "\"\"\"" {
                let margin = whole.len() - whole.trim_start().len();
                let Some(step) = scenario.steps.last_mut() else { return wrong("a text of no step") };
                let Some(document) = document(&mut lines, margin) else { return wrong("a text without end") };
                step.document = Some(document);
            } else if line.starts_with('|') {
                let Some(step) = scenario.steps.last_mut() else { return wrong("a table of no step") };
                let Some(row) = row(line) else { return wrong("a row that doesn't end with |") };
                step.table.push(row);
            } else {
                let keyword = ["Given ", "When ", "Then ", "And ", "But "];
                let Some(text) = keyword.iter().find_map(|keyword| line.strip_prefix(keyword)) else {
                    return wrong("this is no step");
                };
                scenario.steps.push(Step { text: text.trim().to_owned(), document: None, table: Vec::new() });
            }
        } else {
            return wrong("this is outside of any scenario");
        }
    }
    if has_title { Ok(feature) } else { Err("the file has no feature".to_owned()) }
}

/// The lines up to the closing quotes, without `margin` blanks at their start.
fn document<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, margin: usize) -> Option<String> {
    let mut kept = Vec::new();
    for (_, line) in lines {
        if line.trim() == "\"\"\"" {
            return Some(kept.join("\n"));
        }
        let blanks = line.len() - line.trim_start().len();
        kept.push(&line[blanks.min(margin)..]);
    }
    None
}

/// The cells of `| a | b |`.
fn row(line: &str) -> Option<Vec<String>> {
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let mut characters = line.strip_prefix('|')?.chars();
    let mut is_open = true;
    while let Some(character) = characters.next() {
        is_open = character != '|';
        match character {
            '|' => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            '\\' => match characters.next() {
                Some('n') => cell.push('\n'),
                Some(escaped @ ('|' | '\\')) => cell.push(escaped),
                other => {
                    cell.push('\\');
                    cell.extend(other);
                }
            },
            other => cell.push(other),
        }
    }
    (!is_open).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# licence\n@A @B\nFeature: Step - V()\n\n  @C\n  Scenario: one\n    Given the modern graph\n    \
        And the traversal of\n      \"\"\"\n      g.V().\n        out()\n      \"\"\"\n    # a remark\n    \
        Then the result should be unordered\n      | result |\n      | a\\|b\\\\\" | # no remark |\n\n  \
        Scenario: two\n    Given an unsupported test\n";

    #[test]
    fn scenarios_have_tags_texts_and_tables() {
        let feature = parse(TEXT).unwrap();
        assert_eq!(feature.title, "Step - V()");
        let [one, two] = feature.scenarios.as_slice() else { panic!("two scenarios: {feature:?}") };
        assert_eq!(
            (one.name.as_str(), one.tags.as_slice()),
            ("one", &["A", "B", "C"].map(str::to_owned)[..])
        );
        let texts: Vec<_> = one.steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!(texts, ["the modern graph", "the traversal of", "the result should be unordered"]);
        assert_eq!(one.steps[1].document.as_deref(), Some("g.V().\n  out()"));
        assert_eq!(one.steps[2].table, [vec!["result"], vec!["a|b\\\"", "# no remark"]]);
        assert_eq!(two.tags, ["A", "B"], "a tag is of the scenario below it alone");
    }

    #[test]
    fn what_is_not_read_is_refused_by_its_line() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert_eq!(refused("Scenario: one"), "line 1: a scenario of no feature: Scenario: one");
        assert_eq!(
            refused("Feature: f\nBackground:"),
            "line 2: this is outside of any scenario: Background:"
        );
        let outline = "Feature: f\nScenario: s\nExamples:";
        assert_eq!(refused(outline), "line 3: this is no step: Examples:");
        let open = "Feature: f\nScenario: s\nGiven a\n\"\"\"\ntext";
        assert_eq!(refused(open), "line 4: a text without end: \"\"\"");
        assert_eq!(
            refused("Feature: f\nScenario: s\nGiven a\n| b"),
            "line 4: a row that doesn't end with |: | b"
        );
        assert_eq!(refused("# nothing"), "the file has no feature");
    }
}
