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
