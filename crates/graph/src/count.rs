//! Count: a number of things as people read it, with grouped thousands.
//!
//! ```text
//! 999   1,234,567
//! ```

use std::fmt;

/// A number of things; its text has a comma before every third digit from the right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Count(pub u64);

/// A count and what is counted, which is `one` or `many`: `1 row`, `2,000 rows`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", Count(number), if number == 1 { one } else { many })
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let texts =
            [0, 999, 1000, 12_345, 123_456, 1_234_567, u64::MAX].map(|number| Count(number).to_string());
        assert_eq!(
            texts,
            ["0", "999", "1,000", "12,345", "123,456", "1,234,567", "18,446,744,073,709,551,615"]
        );
        assert_eq!(format!("{:>7}", Count(1000)), "  1,000");
    }
}
