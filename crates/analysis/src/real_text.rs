//! Real text: real numbers as people read them, with six digits that count.

/// Real numbers that stand below each other: the largest has six digits that count, and the others as
/// many places behind the point. Where all are zero, there are none.
#[must_use]
pub fn reals(numbers: &[f64]) -> Vec<String> {
    let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    let exponent = if largest == 0.0 { 0 } else { largest.log10().floor() as i32 };
    let places = usize::try_from(5 - exponent).unwrap_or(0);
    let plain = (-6..12).contains(&exponent);
    if largest == 0.0 {
        return vec!["0".to_owned(); numbers.len()];
    }
    let text = |number: &f64| if plain { format!("{number:.places$}") } else { format!("{number:.5e}") };
    numbers.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_numbers_stand_below_each_other() {
        assert_eq!(reals(&[0.000_128_602_4, 0.000_091_924_6]), ["0.000128602", "0.000091925"]);
        assert_eq!(reals(&[1234.5, -0.25, 0.0]), ["1234.50", "-0.25", "0.00"]);
        assert_eq!(reals(&[12_345_678.4]), ["12345678"]);
        assert_eq!(reals(&[3.1e-17, 0.0]), ["3.10000e-17", "0.00000e0"]);
        assert_eq!(reals(&[f64::INFINITY]), ["inf"]);
        assert_eq!(reals(&[0.0, -0.0]), ["0", "0"]);
        assert!(reals(&[]).is_empty());
    }
}
