//! Claims: what the five papers measured has its row in the page that puts ours beside it.
//!
//! ```text
//! goals.rs    claimed("GART (2023), table 2: 1.16x the time; LiveGraph (2020), table 10: 4.06x", ...)
//! papers.md   ## LiveGraph (2020)
//!             | table 10 | ... 4.06x Gemini's ... | ours | reached |
//! ```

use crate::rust_text::line_of;
use crate::tree::Finding;

/// Our goals; beside some stands what a paper claims for the like.
pub const GOALS: &str = "benches/src/goals.rs";
/// The page with a row for each claim, table and figure.
pub const PAGE: &str = "docs/benchmarks/papers.md";

/// A paper by the heading of its section, with the number of its tables and of its figures.
type Paper = (&'static str, usize, usize);

pub const PAPERS: &[Paper] = &[
    ("LiveGraph (2020)", 10, 8),
    ("LSMGraph (2024)", 3, 18),
    ("DGAP (2023)", 5, 9),
    ("GART (2023)", 3, 14),
    ("G-Tran (2022)", 6, 18),
];

/// Every claim beside a goal has a row under its paper, with all of the claim's numbers.
pub fn without_a_row(goals: &str, page: &str) -> Vec<Finding> {
    let claims = claims(goals);
    if claims.is_empty() {
        return vec![Finding::new(GOALS, 1, "no `claimed(...)` is found: mend tests/tests/tidy/claims.rs")];
    }
    let mut findings = Vec::new();
    for (line, claim) in claims {
        for part in claim.split("; ") {
            let source = part.split_once(": ").and_then(|(source, _)| source.split_once(", "));
            let message = match source {
                None => format!("`{part}` names no paper and place, as in `LiveGraph (2020), table 3: ...`"),
                Some((paper, place)) if !has_row(page, paper, place, part) => {
                    format!("no row `{place}` under `{paper}` in {PAGE} has the numbers of `{part}`")
                }
                Some(_) => continue,
            };
            findings.push(Finding::new(GOALS, line, message));
        }
    }
    findings
}

/// Every table and figure of a paper has a row in its section, or a mention outside of the section's table.
pub fn unnamed(page: &str, papers: &[Paper]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (paper, tables, figures) in papers {
        let named: Vec<_> = section(page, paper)
            .map(|line| if line.starts_with('|') { first_cell(line) } else { line })
            .flat_map(str::split_whitespace)
            .collect();
        let named = named.join(" ");
        let tables = (1..=*tables).map(|number| format!("table {number}"));
        for place in tables.chain((1..=*figures).map(|number| format!("figure {number}"))) {
            let mut mentions = named.match_indices(&place).map(|(at, _)| &named[at + place.len()..]);
            if !mentions.any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit())) {
                let message = format!("`{paper}` has neither a row for {place} nor a mention of it");
                findings.push(Finding::new(PAGE, 1, message));
            }
        }
    }
    findings
}

/// Line and text of every claim; a name stands for itself if no constant of that name is found.
fn claims(goals: &str) -> Vec<(usize, &str)> {
    const CALL: &str = "claimed(";
    let calls = goals.match_indices(CALL).filter(|(at, _)| !goals[..*at].ends_with("fn "));
    calls
        .map(|(at, _)| {
            let argument = goals[at + CALL.len()..].trim_start();
            let name = argument.split(',').next().unwrap_or("");
            let claim = quoted(argument).or_else(|| {
                let (_, value) = goals.split_once(&format!("const {name}: &str ="))?;
                quoted(value.trim_start())
            });
            (line_of(goals, at), claim.unwrap_or(name))
        })
        .collect()
}

/// The string literal that `text` begins with.
fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.split('"').next()
}

/// Whether a row of the paper's section begins with `place` and has every number of `claim` after it.
fn has_row(page: &str, paper: &str, place: &str, claim: &str) -> bool {
    let says = claim.split_once(": ").map_or("", |(_, says)| says);
    section(page, paper).filter(|line| line.starts_with('|')).any(|row| {
        let rest = first_cell(row).strip_prefix(place);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '.'))
            && numbers(says).all(|number| numbers(row).any(|shown| shown == number))
    })
}

/// The lines below the heading `## paper`.
fn section<'p>(page: &'p str, paper: &str) -> impl Iterator<Item = &'p str> {
    let heading = format!("## {paper}");
    let from_heading = page.lines().skip_while(move |line| *line != heading);
    from_heading.skip(1).take_while(|line| !line.starts_with("## "))
}

fn first_cell(row: &str) -> &str {
    row.trim_start_matches('|').split('|').next().unwrap_or("").trim()
}

/// Numbers as they are written: `1.71` of `1.71x`.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    runs.map(|run| run.trim_matches('.')).filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "\
# Papers
## A (2020)
| | claim | ours |
|---|---|---|
| table 1, in memory | 2.5 x B, 3 M requests/s; as in table 3 | 2.7 |
| figure 1a | 35 % less | 1.02 |
Without a measurement: figure
2 (layout).
## C (2021)
| table 1 | 7 x | |
";

    fn lines(goals: &str) -> Vec<usize> {
        without_a_row(goals, PAGE_TEXT).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_claim_without_a_row_is_found() {
        let good = "const fn claimed(claim: &str) {}\n\
                    const ONE: &str =\n    \"A (2020), table 1: 2.5x B; C (2021), table 1: 7x\";\n";
        assert_eq!(lines(&format!("{good}claimed(ONE, at_most(1.0)),\n")), []);
        assert_eq!(lines(&format!("{good}claimed(\n    \"A (2020), figure 1a: 35 % less\", f()),\n")), []);
        for bad in [
            "A (2020), table 1: 2.6x B",
            "A (2020), table 1: 25 x B",
            "A (2020), table 10: 2.5x B",
            "A (2020), figure 1: 35 % less",
            "A (2020), figure 2: as drawn",
            "C (2021), figure 1a: 35 % less",
            "D (2022), table 1: 7x",
            "A (2020), table 1: 2.5x B; C (2021), table 2: 7x",
            "seven times as fast",
        ] {
            assert_eq!(lines(&format!("{good}claimed(\"{bad}\", f()),\n")), [4], "{bad}");
        }
        assert_eq!(lines(&format!("{good}claimed(TWO, f()),\n")), [4]);
        assert_eq!(lines("const fn claimed(claim: &str) {}\n"), [1]);
    }

    #[test]
    fn a_table_or_figure_that_the_page_leaves_out_is_found() {
        assert_eq!(unnamed(PAGE_TEXT, &[("A (2020)", 1, 2), ("C (2021)", 1, 0)]), []);
        let found: Vec<_> = unnamed(PAGE_TEXT, &[("A (2020)", 3, 3), ("C (2021)", 1, 1), ("D (2022)", 1, 0)])
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        assert_eq!(found.len(), 5);
        for (message, place) in found.iter().zip(["table 2", "table 3", "figure 3", "C (2021)", "D (2022)"]) {
            assert!(message.contains(place), "{message}");
        }
    }
}
