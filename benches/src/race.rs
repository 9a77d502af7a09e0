//! Race: contenders that take turns, so that a machine that is slow for a while is slow for all.
//!
//! ```text
//! round 1   evergraph  lmdb  redb       ratio of a round: evergraph / lmdb, of that round alone
//! round 2   lmdb  redb  evergraph       the figure: the median of the rounds' ratios, with their range
//! round 3   redb  evergraph  lmdb
//! ```

use crate::stopwatch::{Spent, Stopwatch, steady};
use evergraph_graph::error::Result;

/// Who took part, and what each did in each round.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    names: Vec<&'static str>,
    runs: Vec<Runs>,
    /// Whether a disturbed run is repeated.
    undisturbed: bool,
}

/// The runs of one contender, one a round.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Runs {
    /// The figure of each.
    pub values: Vec<f64>,
    /// What each took; empty for what isn't timed, such as bytes.
    pub spent: Vec<Spent>,
    /// How many were disturbed and repeated.
    pub repeated: usize,
}

/// The figure of one run, with what it took.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    value: f64,
    time: Time,
}

/// Who knows what a run took.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Time {
    /// The run, which is a part of what the race sees.
    Own(Spent),
    /// The race: the run is all that it sees.
    Race,
    /// Nobody.
    Unknown,
}

impl Sample {
    /// A figure of a run that took `spent`.
    #[must_use]
    pub fn timed(value: f64, spent: Spent) -> Self {
        Self { value, time: Time::Own(spent) }
    }

    /// A figure of a run in another process, which doesn't say what CPU time it took.
    #[must_use]
    pub fn elsewhere(value: f64) -> Self {
        Self { value, time: Time::Unknown }
    }
}

/// A figure of a run that has no part but what is measured: the race measures what it takes.
impl From<f64> for Sample {
    fn from(value: f64) -> Self {
        Self { value, time: Time::Race }
    }
}

/// Places of so many contenders, as they take turns in a round.
pub fn order(round: usize, contenders: usize) -> impl Iterator<Item = usize> {
    (0..contenders).map(move |turn| (round + turn) % contenders)
}

impl Race {
    /// A race of `names`, ours first.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        Self { runs: vec![Runs::default(); names.len()], names, undisturbed: false }
    }

    /// The same, of runs that have one thread, wait for nothing and leave nothing to do in the background: one
    /// whose wall and CPU times differ is repeated (see [`steady`]).
    #[must_use]
    pub fn undisturbed(self) -> Self {
        Self { undisturbed: true, ..self }
    }

    /// Lets each contender, by its place, run once; another begins in each round.
    ///
    /// # Errors
    /// The first of `run`.
    pub fn round<S: Into<Sample>>(
        &mut self,
        round: usize,
        mut run: impl FnMut(usize) -> Result<S>,
    ) -> Result<()> {
        for place in order(round, self.names.len()) {
            let timed = || {
                let watch = Stopwatch::start();
                let sample: Sample = run(place)?.into();
                let whole = watch.stop();
                let spent = match sample.time {
                    Time::Own(spent) => Some(spent),
                    Time::Race => Some(whole),
                    Time::Unknown => None,
                };
                Ok((sample.value, spent))
            };
            let undisturbed = self.undisturbed;
            let gap =
                |(_, spent): &(f64, Option<Spent>)| spent.filter(|_| undisturbed).map_or(0.0, Spent::gap);
            let ((value, spent), repeated) = steady(timed, gap)?;
            self.runs[place].add(value, spent, repeated);
        }
        Ok(())
    }

    /// Notes a figure of each contender of one round, however they took turns; nothing was timed.
    pub fn note(&mut self, values: &[f64]) {
        self.note_samples(&values.iter().copied().map(Sample::from).collect::<Vec<_>>(), 0);
    }

    /// The same with what each took, after so many repeats of all.
    pub fn note_samples(&mut self, samples: &[Sample], repeated: usize) {
        assert_eq!(samples.len(), self.names.len(), "a sample of each contender");
        for (runs, sample) in self.runs.iter_mut().zip(samples) {
            let spent = if let Time::Own(spent) = sample.time { Some(spent) } else { None };
            runs.add(sample.value, spent, repeated);
        }
    }

    /// The same with every value changed by `change`.
    #[must_use]
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        let changed = |runs: &Runs| Runs {
            values: runs.values.iter().map(|value| change(*value)).collect(),
            ..runs.clone()
        };
        Self { runs: self.runs.iter().map(changed).collect(), ..self.clone() }
    }

    /// What each value has beyond that of the same contender and round in `other`.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let less = |(one, other): (&Runs, &Runs)| Runs {
            values: one.values.iter().zip(&other.values).map(|(one, other)| one - other).collect(),
            ..one.clone()
        };
        Self { runs: self.runs.iter().zip(&other.runs).map(less).collect(), ..self.clone() }
    }

    /// Our runs.
    #[must_use]
    pub fn ours(&self) -> &Runs {
        &self.runs[0]
    }

    /// Name, runs and our ratios to them, round by round, of everyone else.
    pub fn peers(&self) -> impl Iterator<Item = (&'static str, &Runs, Vec<f64>)> {
        self.names.iter().zip(&self.runs).skip(1).map(|(name, runs)| {
            let ratios = self.ours().values.iter().zip(&runs.values).map(|(ours, theirs)| ours / theirs);
            (*name, runs, ratios.collect())
        })
    }
}

impl Runs {
    fn add(&mut self, value: f64, spent: Option<Spent>, repeated: usize) {
        self.values.push(value);
        self.spent.extend(spent);
        self.repeated += repeated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_begins_in_each_round_and_ratios_are_of_one_round() {
        let mut race = Race::new(["a", "b", "c"]);
        let mut order = Vec::new();
        for round in 0..3 {
            let run = |place| {
                order.push(place);
                Ok(((place + 1) * (round + 1)) as f64)
            };
            race.round(round, run).unwrap();
        }
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(race.ours().values, [1.0, 2.0, 3.0]);
        let (name, theirs, ratios) = race.peers().last().unwrap();
        assert_eq!((name, &theirs.values, ratios), ("c", &vec![3.0, 6.0, 9.0], vec![1.0 / 3.0; 3]));
        assert_eq!((theirs.spent.len(), theirs.repeated), (3, 0), "a race times what it runs");
    }

    #[test]
    fn values_are_changed_and_compared_in_their_places() {
        let (mut all, mut first) = (Race::new(["a", "b"]), Race::new(["a", "b"]));
        all.note(&[5.0, 7.0]);
        first.note(&[1.0, 2.0]);
        let further = all.less(&first).map(|seconds| seconds / 2.0);
        assert_eq!(further.ours().values, [2.0]);
        assert_eq!(further.peers().next().unwrap().1.values, [2.5]);
        assert_eq!(further.ours().spent, [], "nobody timed what was noted");
    }

    #[test]
    fn a_disturbed_run_is_repeated_if_the_race_says_so() {
        let waited = |value| Sample::timed(value, Spent { wall: 1.0, cpu: 0.5 });
        let quiet = |value| Sample::timed(value, Spent { wall: 1.0, cpu: 1.0 });
        let mut runs = [waited(7.0), waited(8.0), quiet(9.0)].into_iter();
        let mut race = Race::new(["a"]);
        race.round(0, |_| Ok(runs.next().unwrap())).unwrap();
        let mut race = race.undisturbed();
        race.round(1, |_| Ok(runs.next().unwrap())).unwrap();
        assert_eq!((race.ours().values.as_slice(), race.ours().repeated), ([7.0, 9.0].as_slice(), 1));
        assert_eq!(race.ours().spent[1], Spent { wall: 1.0, cpu: 1.0 });
    }

    #[test]
    fn an_error_ends_a_round() {
        let failing = |_| Result::<f64>::Err(evergraph_graph::error::Error::invalid("no"));
        assert!(Race::new(["a"]).round(0, failing).is_err());
    }
}
