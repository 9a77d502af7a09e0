//! Race: contenders that take turns, so that a machine that is slow for a while is slow for all.
//!
//! ```text
//! round 1   evergraph  lmdb  redb       ratio of a round: evergraph / lmdb, of that round alone
//! round 2   lmdb  redb  evergraph       the figure: the median of the rounds' ratios, with their range
//! round 3   redb  evergraph  lmdb
//! ```

use evergraph_graph::error::Result;

/// Who took part, and a value of each for each round.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    names: Vec<&'static str>,
    values: Vec<Vec<f64>>,
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
        Self { values: vec![Vec::new(); names.len()], names }
    }

    /// Lets each contender, by its place, run once; another begins in each round.
    ///
    /// # Errors
    /// The first of `run`.
    pub fn round(&mut self, round: usize, mut run: impl FnMut(usize) -> Result<f64>) -> Result<()> {
        for place in order(round, self.names.len()) {
            self.values[place].push(run(place)?);
        }
        Ok(())
    }

    /// Notes what `run` said of all contenders in one round, however they took turns.
    pub fn note(&mut self, values: &[f64]) {
        assert_eq!(values.len(), self.names.len(), "a value for each contender");
        self.values.iter_mut().zip(values).for_each(|(all, value)| all.push(*value));
    }

    /// The same with every value changed by `change`.
    #[must_use]
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        let values = self.values.iter().map(|values| values.iter().map(|value| change(*value)).collect());
        Self { names: self.names.clone(), values: values.collect() }
    }

    /// What each value has beyond that of the same contender and round in `other`.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let less = |(one, other): (&Vec<f64>, &Vec<f64>)| {
            one.iter().zip(other).map(|(one, other)| one - other).collect::<Vec<f64>>()
        };
        Self { names: self.names.clone(), values: self.values.iter().zip(&other.values).map(less).collect() }
    }

    /// Our values, one a round.
    #[must_use]
    pub fn ours(&self) -> &[f64] {
        &self.values[0]
    }

    /// Name, values and our ratios to them, of everyone else.
    pub fn peers(&self) -> impl Iterator<Item = (&'static str, &[f64], Vec<f64>)> {
        self.names.iter().zip(&self.values).skip(1).map(|(name, values)| {
            let ratios = self.ours().iter().zip(values).map(|(ours, theirs)| ours / theirs);
            (*name, values.as_slice(), ratios.collect())
        })
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
        assert_eq!(race.ours(), [1.0, 2.0, 3.0]);
        let peers: Vec<_> = race.peers().collect();
        assert_eq!(peers[1], ("c", [3.0, 6.0, 9.0].as_slice(), vec![1.0 / 3.0; 3]));
    }

    #[test]
    fn values_are_changed_and_compared_in_their_places() {
        let (mut all, mut first) = (Race::new(["a", "b"]), Race::new(["a", "b"]));
        all.note(&[5.0, 7.0]);
        first.note(&[1.0, 2.0]);
        let further = all.less(&first).map(|seconds| seconds / 2.0);
        assert_eq!(further.ours(), [2.0]);
        assert_eq!(further.peers().next().unwrap().1, [2.5]);
    }

    #[test]
    fn an_error_ends_a_round() {
        let failing = |_| Err(evergraph_graph::error::Error::invalid("no"));
        assert!(Race::new(["a"]).round(0, failing).is_err());
    }
}
