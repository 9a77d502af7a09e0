//! Results: one entry a figure and peer, as `results.json` has them.
//!
//! Scripts in `compare/` add entries of the same form to the same file, so that one table shows all.

use crate::engine::kind::Kind;
use crate::engine::power_cut::PowerCut;
use crate::engine::store::Commit;
use crate::goals::goal;
use crate::race::{Race, Runs};
use crate::stopwatch::Spent;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::{Unit, median_and_spread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The median of several runs, and their range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Median {
    /// The middle.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Median {
    /// Of `samples`, at least one.
    #[must_use]
    pub fn of(samples: &[f64]) -> Self {
        let (median, spread) = median_and_spread(samples);
        Self { median, low: spread.low, high: spread.high }
    }
}

/// One figure of ours, alone or beside one peer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its name for programs: stable, with dots between its parts.
    pub name: String,
    /// Under which heading it stands.
    pub section: String,
    /// What it is, for people.
    pub title: String,
    /// What both values count.
    pub unit: Unit,
    /// Ours.
    pub ours: Median,
    /// Beside whom.
    pub peer: Option<String>,
    /// Theirs.
    pub theirs: Option<Median>,
    /// Ours divided by theirs, round by round.
    pub ratio: Option<Median>,
    /// What the goal of ours alone allows beyond its bound: see [`Heading::allowing`].
    #[serde(default)]
    pub allowance: f64,
    /// What the ratio should be, or ours if there is no peer; as people read it.
    pub goal: Option<String>,
    /// Whether the median is.
    pub met: Option<bool>,
    /// What somebody else claims for the like.
    pub claim: Option<String>,
    /// How many runs each had.
    pub runs: usize,
    /// What each of our runs took, whole: a figure may be of one of its thousand operations. Empty for what
    /// isn't timed, and where a script doesn't know.
    #[serde(default)]
    pub ours_spent: Vec<Spent>,
    /// Theirs.
    #[serde(default)]
    pub theirs_spent: Vec<Spent>,
    /// Runs of both that were disturbed and repeated.
    #[serde(default)]
    pub repeated: usize,
    /// What a power cut costs of our commits, where commits are measured.
    #[serde(default)]
    pub ours_lost: Option<String>,
    /// What it costs of theirs.
    #[serde(default)]
    pub theirs_lost: Option<String>,
    /// Under which settings.
    pub settings: BTreeMap<String, String>,
}

/// What was measured where, and every figure.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// The processor, its cores, the load before and after: as text.
    pub machine: BTreeMap<String, String>,
    /// How much was measured.
    pub plan: BTreeMap<String, String>,
    /// How each engine was set up.
    pub engines: BTreeMap<String, BTreeMap<String, String>>,
    /// What one must know to read a section, by its heading.
    pub notes: BTreeMap<String, Vec<String>>,
    /// The figures, in the order in which they were measured.
    pub entries: Vec<Entry>,
}

/// Names of figures with what they are.
#[derive(Clone, Debug)]
pub struct Heading {
    /// See [`Entry::name`].
    pub name: String,
    /// See [`Entry::title`].
    pub title: String,
    /// See [`Entry::unit`].
    pub unit: Unit,
    /// When each commit is acknowledged, where commits are measured.
    pub commit: Option<Commit>,
    /// See [`Entry::allowance`].
    pub allowance: f64,
    /// See [`Entry::settings`].
    pub settings: BTreeMap<String, String>,
}

impl Heading {
    /// A heading without settings.
    #[must_use]
    pub fn new(name: impl Into<String>, title: impl Into<String>, unit: Unit) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { name, title, unit, commit: None, allowance: 0.0, settings: BTreeMap::new() }
    }

    /// The same, of something so large that the goal of ours alone allows `more` beyond its bound, in the figure's unit.
    #[must_use]
    pub fn allowing(self, more: f64) -> Self {
        Self { allowance: more, ..self }
    }

    /// The same, of commits that are acknowledged so.
    #[must_use]
    pub fn of_commits(self, commit: Commit) -> Self {
        Self { commit: Some(commit), ..self }
    }

    /// What a power cut costs of the commits of `engine`, where commits are measured.
    fn lost(&self, engine: &str) -> Option<String> {
        Some(PowerCut::of(Kind::named(engine)?, self.commit?).text().to_owned())
    }

    /// The same, with a setting.
    #[must_use]
    pub fn with(mut self, setting: &str, value: impl ToString) -> Self {
        self.settings.insert(setting.to_owned(), value.to_string());
        self
    }
}

impl Results {
    /// Adds our figure alone, of `samples` that were not timed.
    pub fn add(&mut self, section: &str, heading: &Heading, samples: &[f64]) {
        let runs = Runs { values: samples.to_vec(), ..Runs::default() };
        self.entries.push(Entry::of(section, heading, &runs).judged());
    }

    /// Adds an entry for each peer of `race`; one of ours alone if there is none, or a goal for that.
    pub fn add_race(&mut self, section: &str, heading: &Heading, race: &Race) {
        if race.peers().next().is_none() || goal(&heading.name, None).is_some() {
            self.entries.push(Entry::of(section, heading, race.ours()).judged());
        }
        for (peer, theirs, ratios) in race.peers() {
            let entry = Entry {
                peer: Some(peer.to_owned()),
                theirs: Some(Median::of(&theirs.values)),
                ratio: Some(Median::of(&ratios)),
                theirs_spent: theirs.spent.clone(),
                theirs_lost: heading.lost(peer),
                repeated: race.ours().repeated + theirs.repeated,
                ..Entry::of(section, heading, race.ours())
            };
            self.entries.push(entry.judged());
        }
    }

    /// Holds every entry against its goal: those too that a script added, which knows none.
    pub fn judge(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        self.entries = entries.into_iter().map(Entry::judged).collect();
    }

    /// Adds what one must know to read a section.
    pub fn note(&mut self, section: &str, note: impl Into<String>) {
        self.notes.entry(section.to_owned()).or_default().push(note.into());
    }

    /// Writes them to `path`.
    ///
    /// # Errors
    /// `io`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(path, &error))?;
        fs::write(path, text + "\n").map_err(|error| failed(path, &error))
    }

    /// Reads them from `path`.
    ///
    /// # Errors
    /// `io` if it can't be read, or isn't what [`Results::write`] writes.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| failed(path, &error))?;
        serde_json::from_str(&text).map_err(|error| failed(path, &error))
    }
}

impl Entry {
    /// Ours alone, not yet held against a goal.
    fn of(section: &str, heading: &Heading, runs: &Runs) -> Self {
        Self {
            name: heading.name.clone(),
            section: section.to_owned(),
            title: heading.title.clone(),
            unit: heading.unit,
            ours: Median::of(&runs.values),
            peer: None,
            theirs: None,
            ratio: None,
            allowance: heading.allowance,
            goal: None,
            met: None,
            claim: None,
            runs: runs.values.len(),
            ours_spent: runs.spent.clone(),
            theirs_spent: Vec::new(),
            repeated: runs.repeated,
            ours_lost: heading.lost(Kind::Evergraph.name()),
            theirs_lost: None,
            settings: heading.settings.clone(),
        }
    }

    /// The value that a goal is about: the ratio, or ours where there is no peer.
    #[must_use]
    pub fn judged_value(&self) -> (Unit, f64) {
        self.ratio.map_or((self.unit, self.ours.median), |ratio| (Unit::Times, ratio.median))
    }

    fn judged(self) -> Self {
        let found = goal(&self.name, self.peer.as_deref());
        let (unit, value) = self.judged_value();
        let allowance = if self.ratio.is_none() { self.allowance } else { 0.0 };
        let bound = found.map(|goal| goal.bound.widened(allowance));
        Self {
            met: bound.map(|bound| bound.is_met(value)),
            goal: bound.map(|bound| bound.text(|bound| unit.show(bound))),
            claim: found.and_then(|goal| goal.claim).map(str::to_owned),
            ..self
        }
    }
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("results in {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::Sample;

    fn results() -> Results {
        let mut race = Race::new(["evergraph", "lmdb", "redb"]);
        race.note(&[900.0, 300.0, 100.0]);
        race.note(&[500.0, 400.0, 100.0]);
        race.note(&[800.0, 200.0, 100.0]);
        let mut results = Results::default();
        let heading = Heading::new("insert.one.skewed", "one edge", Unit::PerSecond).with("order", "skewed");
        results.add_race("Inserts", &heading, &race);
        results
    }

    #[test]
    fn a_race_is_an_entry_a_peer_with_its_ratio_and_goal() {
        let results = results();
        let [alone, lmdb, redb] = results.entries.as_slice() else { panic!("a goal of ours, two peers") };
        assert_eq!((alone.peer.as_deref(), alone.goal.as_deref()), (None, Some("at least 1,000,000/s")));
        assert_eq!(lmdb.ratio, Some(Median { median: 3.0, low: 1.25, high: 4.0 }), "round by round");
        assert_eq!((lmdb.ours.median, lmdb.theirs.unwrap().median), (800.0, 300.0));
        assert_eq!((lmdb.met, lmdb.goal.as_deref()), (Some(true), Some("at least 2.00 x")));
        assert_eq!((redb.met, redb.runs), (None, 3));
    }

    #[test]
    fn each_run_keeps_what_it_took_and_older_entries_know_nothing_of_it() {
        let mut race = Race::new(["evergraph", "lmdb"]);
        let spent = [Spent { wall: 2.0, cpu: 2.0 }, Spent { wall: 3.0, cpu: 4.5 }];
        race.note_samples(&spent.map(|spent| Sample::timed(spent.wall, spent)), 1);
        let mut results = Results::default();
        results.add_race("Reads", &Heading::new("scan", "a scan", Unit::Seconds), &race);
        let entry = &results.entries[0];
        assert_eq!((entry.ours_spent[0], entry.theirs_spent[0], entry.repeated), (spent[0], spent[1], 2));
        let mut json = serde_json::to_value(entry).unwrap();
        for field in ["ours_spent", "theirs_spent", "repeated", "ours_lost", "theirs_lost", "allowance"] {
            assert!(json.as_object_mut().unwrap().remove(field).is_some());
        }
        let older: Entry = serde_json::from_value(json).unwrap();
        assert_eq!((older.ours_spent.len(), older.repeated), (0, 0));
    }

    #[test]
    fn what_a_script_added_is_held_against_its_goal() {
        let mut results = results();
        let mut entry = results.entries[1].clone();
        entry.name = "import.csv".to_owned();
        entry.peer = Some("duckdb".to_owned());
        results.entries = vec![entry];
        results.judge();
        assert_eq!(results.entries[0].goal.as_deref(), Some("at most 1.43 x"));
        assert_eq!(results.entries[0].met, Some(false));
    }

    #[test]
    fn a_goal_of_ours_alone_allows_more_for_what_is_large() {
        let mut results = Results::default();
        let small = Heading::new("mapped_engine.open.id.loads_1", "an opening", Unit::Seconds);
        for heading in [small.clone(), small.allowing(0.2)] {
            results.add("Openings", &heading, &[1.1]);
        }
        // Once more, as of results that were read.
        results.judge();
        let goals = results.entries.iter().map(|entry| (entry.goal.as_deref(), entry.met));
        let expected = [(Some("at most 1.00 s"), Some(false)), (Some("at most 1.20 s"), Some(true))];
        assert!(goals.eq(expected));
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        let results = results();
        results.write(&path).unwrap();
        assert_eq!(Results::read(&path).unwrap(), results);
        fs::write(&path, "[]").unwrap();
        assert!(Results::read(&path).unwrap_err().to_string().contains("results.json"));
    }
}
