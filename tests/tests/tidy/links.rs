//! Links: relative links between pages, the headings that they name, and that a reader can reach every page.

use std::collections::BTreeSet;

use crate::tree::Finding;

/// Pages where readers start.
const ENTRANCES: &[&str] = &["README.md", "ARCHITECTURE.md"];
/// The folder whose pages a reader must be able to reach.
const DOCUMENTATION: &str = "docs/";

/// Every relative link of a page points to a file or folder of the project.
pub fn broken(path: &str, text: &str, paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in relative_links(text) {
        let known = resolve(path, target).is_some_and(|target| {
            let folder = if target.is_empty() { target.clone() } else { format!("{target}/") };
            paths.contains(&target)
                || paths.range(folder.clone()..).next().is_some_and(|path| path.starts_with(&folder))
        });
        if !known {
            findings.push(Finding::new(path, line, format!("the link `{target}` points to nothing")));
        }
    }
    findings
}

/// Every page of the documentation is linked from an entrance, or from a page that is. Pages are
/// paths and texts; a link to a folder leads to its `README.md`.
pub fn unreachable(pages: &[(&str, &str)]) -> Vec<Finding> {
    let text_of = |wanted: &str| pages.iter().find(|(path, _)| *path == wanted);
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = ENTRANCES.iter().map(|&page| page.to_owned()).collect();
    while let Some(path) = open.pop() {
        let Some((path, text)) = text_of(&path).or_else(|| text_of(&format!("{path}/README.md"))) else {
            continue;
        };
        if reached.insert(*path) {
            open.extend(relative_links(text).into_iter().filter_map(|(_, target)| resolve(path, target)));
        }
    }
    let lost = pages.iter().filter(|(path, _)| path.starts_with(DOCUMENTATION) && !reached.contains(path));
    lost.map(|(path, _)| Finding::new(path, 1, format!("no link leads here from {}", ENTRANCES.join(" or "))))
        .collect()
}

/// Every anchor of a link is that of a heading of the page that the link leads to. Pages are paths and texts.
pub fn without_heading(pages: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for &(path, text) in pages {
        for (line, target) in targets(text) {
            let Some((page, anchor)) = target.split_once('#') else { continue };
            let page = if page.is_empty() { Some(path.to_owned()) } else { resolve(path, page) };
            let of = pages.iter().find(|(other, _)| page.as_deref() == Some(other));
            if of.is_some_and(|(_, text)| !anchors(text).contains(anchor)) {
                findings.push(Finding::new(path, line, format!("`{target}` names no heading of its page")));
            }
        }
    }
    findings
}

/// The anchors of a page's headings, as forges make them: repeated ones are numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|&letter| letter.is_alphanumeric() || " -_".contains(letter));
        let anchor: String = kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let repeated = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(repeated).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

/// The lines of a page outside of its fenced code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if fence.is_some() || mark.is_some() {
            fence = if fence.is_none() { mark } else { fence.filter(|_| mark != fence) };
            return None;
        }
        Some((index + 1, line))
    })
}

/// Line and target of every link to a page or file of the project: `[a](b)`, `![a](b)`, `[a]: b`.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let definition = line
            .trim_start()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            .map(|(_, target)| target);
        let inline = line.match_indices("](").filter(|(at, _)| line[..*at].matches('`').count() % 2 == 0);
        let inline = inline.filter_map(|(at, mark)| line[at + mark.len()..].split(')').next());
        for target in inline.chain(definition) {
            // What follows a space is the link's title.
            let target = target.split(' ').next().unwrap_or("").trim_matches(['<', '>']);
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                links.push((number, target));
            }
        }
    }
    links
}

/// The same without anchors, and without links to the page itself.
fn relative_links(text: &str) -> Vec<(usize, &str)> {
    let files =
        targets(text).into_iter().map(|(line, target)| (line, target.split('#').next().unwrap_or("")));
    files.filter(|(_, file)| !file.is_empty()).collect()
}

/// `target` as the page `from` means it, from the project's root; `None` if it leaves the project.
fn resolve(from: &str, target: &str) -> Option<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let start = if target.starts_with('/') { "" } else { folder };
    let mut parts = Vec::new();
    for part in start.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found() {
        let paths = ["README.md", "docs/a.md", "docs/b/c.md"].map(str::to_owned).into();
        let lines =
            |text| broken("docs/a.md", text, &paths).into_iter().map(|found| found.line).collect::<Vec<_>>();
        let good = "[r](../README.md#top) [c](b/c.md \"title\") [b](b/) [here](#x) [w](https://x.org/y)\n[c]: b/c.md\n[d](/docs)\n";
        assert_eq!(lines(good), []);
        assert_eq!(lines("x\n[z](z.md) ![z](../docs/z.png)\n[z]: z.md\n"), [2, 2, 3]);
        assert_eq!(lines("[out](../../README.md)\n"), [1]);
        assert_eq!(lines("[b](bb)\n[pre](b/c)\n"), [1, 2]);
    }

    #[test]
    fn code_holds_no_links() {
        let paths = BTreeSet::from(["a.md".to_owned()]);
        assert_eq!(broken("a.md", "```text\n[z](z.md)\n```\nsee `[z](z.md)`\n", &paths), []);
        assert_eq!(broken("a.md", "```\n~~~\n```\n[z](z.md)\n", &paths)[0].line, 4);
    }

    #[test]
    fn an_anchor_without_its_heading_is_found() {
        let other = "# Title\n## The `lock` order\n## Same\n## Same\n```sh\n# no heading\n```\n";
        let lines = |text| {
            let pages = [("docs/a.md", text), ("docs/b.md", other)];
            without_heading(&pages).into_iter().map(|found| found.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("# Top\n[o](b.md#the-lock-order) [s](b.md#same-1) [t](#top) [c](c.rs#L1)\n"), []);
        assert_eq!(lines("[o](b.md#lock)\n[n](b.md#no-heading)\n[t](#top)\n"), [1, 2, 3]);
    }

    #[test]
    fn a_page_that_nothing_links_is_found() {
        let mut pages = vec![
            ("README.md", "[index](docs/decisions)"),
            ("docs/decisions/README.md", "[one](1.md)"),
            ("docs/decisions/1.md", ""),
            ("crates/graph/notes.md", ""),
        ];
        assert_eq!(unreachable(&pages), []);
        pages.push(("docs/lost.md", "[me](lost.md)"));
        assert_eq!(unreachable(&pages)[0].path, "docs/lost.md");
    }
}
