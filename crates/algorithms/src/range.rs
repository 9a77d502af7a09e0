//! Range: which numbers a parameter takes, and the words that refuse others, for kernels and for whoever describes them.

use evergraph_graph::error::{Error, Result};

/// Which whole numbers are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WholeRange {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// Which real numbers are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RealRange {
    /// All, infinite ones too.
    Any,
    /// Zero and more, infinite too.
    FromZero,
    /// Zero and more, but finite.
    FiniteFromZero,
    /// Above zero, and finite.
    FiniteAboveZero,
    /// From 0 to 1.
    UpToOne,
    /// Above 0, at most 1.
    AboveZeroUpToOne,
}

impl WholeRange {
    /// From 1 on.
    pub const FROM_ONE: Self = Self { least: 1, most: u64::MAX };

    /// What a number of the range is, if `number` isn't one: `at least 1`, `at most 100`.
    #[must_use]
    pub fn rule(self, number: i128) -> Option<String> {
        let Self { least, most } = self;
        if number < i128::from(least) {
            Some(format!("at least {least}"))
        } else if number > i128::from(most) {
            Some(format!("at most {most}"))
        } else {
            None
        }
    }

    /// The `number` of the parameter `name`, if it is in range.
    ///
    /// # Errors
    /// `invalid`, with the name, the number and the rule that it breaks.
    pub fn check(self, name: &str, number: i128) -> Result<u64> {
        match self.rule(number) {
            None => Ok(u64::try_from(number).unwrap_or(self.most)),
            Some(rule) => Err(Error::invalid(format!("{name} is {number}, but must be {rule}"))),
        }
    }

    /// Checks that the parameters `length_min` and `length_max` are in range, and the second not below the first.
    ///
    /// # Errors
    /// As [`WholeRange::check`].
    pub fn check_lengths(self, length_min: u64, length_max: u64) -> Result<()> {
        let least = self.check("length_min", length_min.into())?;
        self.check("length_max", length_max.into())?;
        Self { least, ..self }.check("length_max", length_max.into()).map(drop)
    }
}

impl RealRange {
    /// Checks the `value` of the parameter `name`.
    ///
    /// # Errors
    /// `invalid`, with the name, the value and the rule that it breaks.
    pub fn check(self, name: &str, value: f64) -> Result<()> {
        let (holds, rule) = match self {
            Self::Any => (true, ""),
            Self::FromZero => (value >= 0.0, "at least 0"),
            Self::FiniteFromZero => (value >= 0.0 && value.is_finite(), "finite and not negative"),
            Self::FiniteAboveZero => (value > 0.0 && value.is_finite(), "finite and above 0"),
            Self::UpToOne => ((0.0..=1.0).contains(&value), "from 0 to 1"),
            Self::AboveZeroUpToOne => (value > 0.0 && value <= 1.0, "above 0, at most 1"),
        };
        if holds { Ok(()) } else { Err(Error::invalid(format!("{name} is {value}, but must be {rule}"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_named_with_the_rule() {
        let text = |number| WholeRange::FROM_ONE.check("limit", number).unwrap_err().to_string();
        assert_eq!(text(0), "limit is 0, but must be at least 1");
        assert_eq!(text(-3), "limit is -3, but must be at least 1");
        assert!(text(1 << 70).ends_with(", but must be at most 18446744073709551615"));
        assert_eq!(WholeRange::FROM_ONE.check("limit", 1).unwrap(), 1);
        let text = |value| RealRange::UpToOne.check("damping", value).unwrap_err().to_string();
        assert_eq!(text(2.0), "damping is 2, but must be from 0 to 1");
        assert_eq!(text(f64::NAN), "damping is NaN, but must be from 0 to 1");
    }

    #[test]
    fn lengths_are_in_range_and_in_order() {
        let range = WholeRange { least: 2, most: 16 };
        let text = |least, most| range.check_lengths(least, most).unwrap_err().to_string();
        assert!(range.check_lengths(2, 16).is_ok() && range.check_lengths(5, 5).is_ok());
        assert_eq!(text(1, 3), "length_min is 1, but must be at least 2");
        assert_eq!(text(2, 17), "length_max is 17, but must be at most 16");
        assert_eq!(text(4, 3), "length_max is 3, but must be at least 4");
        assert_eq!(text(99, 16), "length_min is 99, but must be at most 16");
    }
}
