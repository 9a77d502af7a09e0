//! Tally: how often something happened in a simulation, or in several.

/// What has counts with names.
pub trait Counted {
    /// Names of the counts, and whether each is more than nothing.
    fn counts(&self) -> Vec<(&'static str, bool)>;

    /// What never happened, of the counts whose names are not in `rare`.
    ///
    /// # Panics
    /// If there is no count with a name in `rare`.
    fn missing(&self, rare: &[&str]) -> Vec<&'static str> {
        let counts = self.counts();
        for name in rare {
            assert!(counts.iter().any(|(count, _)| count == name), "nothing is counted as {name}");
        }
        let never = counts.into_iter().filter(|(name, has_happened)| !has_happened && !rare.contains(name));
        never.map(|(name, _)| name).collect()
    }
}

/// A struct of counts, which are 0 at first and are added up one by one.
macro_rules! tally {
    (
        $(#[$about:meta])*
        $seen:vis struct $name:ident {
            $($(#[$about_count:meta])* $count_seen:vis $count:ident: $kind:ty,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        $seen struct $name {
            $($(#[$about_count])* $count_seen $count: $kind,)+
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$count += other.$count;)+
            }
        }

        impl $crate::simulation::tally::Counted for $name {
            fn counts(&self) -> Vec<(&'static str, bool)> {
                vec![$((stringify!($count), self.$count != <$kind>::default()),)+]
            }
        }
    };
}
pub(crate) use tally;

#[cfg(test)]
mod tests {
    use super::*;

    tally! {
        /// Of one name each.
        struct Pair {
            one: u64,
            other: u32,
        }
    }

    #[test]
    fn counts_add_up_and_what_never_happened_is_named() {
        let mut sum = Pair::default();
        assert_eq!(sum.missing(&[]), ["one", "other"]);
        sum += Pair { one: 2, other: 0 };
        sum += Pair { one: 3, other: 0 };
        assert_eq!(sum, Pair { one: 5, other: 0 });
        assert_eq!(sum.missing(&[]), ["other"]);
        assert_eq!(sum.missing(&["other"]), [""; 0]);
        sum += Pair { one: 0, other: 1 };
        assert_eq!((sum, sum.missing(&[])), (Pair { one: 5, other: 1 }, Vec::new()));
    }

    #[test]
    #[should_panic(expected = "nothing is counted as another")]
    fn nothing_is_rare_that_is_not_counted() {
        Pair::default().missing(&["another"]);
    }
}
