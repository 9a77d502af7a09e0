//! Amounts that are written with a unit: sizes of memory (`4GiB`) and stretches of time (`50ms`).

use std::time::Duration;

/// Units of sizes: those of disks' makers, and those of memory.
const SIZES: [(&str, u64); 9] = [
    ("", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
/// Units of time, in nanoseconds.
const TIMES: [(&str, u64); 4] =
    [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];

/// The bytes of a size: `1048576`, `512MiB`, `1.5 GB`; units in any case.
///
/// # Errors
/// What is wanted instead, if it isn't such a text or more than 2^64 bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    amount(text, &SIZES).ok_or_else(|| "a size is wanted: a number and KiB, MiB, GiB or TiB".to_owned())
}

/// A stretch of time: `500us`, `50ms`, `2s`, `1min`.
///
/// # Errors
/// What is wanted instead, if it isn't such a text, or more than some centuries.
pub fn time(text: &str) -> Result<Duration, String> {
    let nanoseconds = amount(text, &TIMES);
    nanoseconds
        .map(Duration::from_nanos)
        .ok_or_else(|| "a time is wanted: a number and us, ms, s or min".to_owned())
}

/// A number times the unit behind it.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*factor);
    }
    let amount = number.parse::<f64>().ok()? * *factor as f64;
    // 2^64 itself is the first that doesn't fit.
    (amount < u64::MAX as f64).then_some(amount as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        let sizes = ["0", "1048576", "512MiB", "4 gib", "1.5GB", "2KB"].map(|text| bytes(text).unwrap());
        assert_eq!(sizes, [0, 1 << 20, 512 << 20, 4 << 30, 1_500_000_000, 2_000]);
        for bad in ["", "GiB", "4 XB", "-1", "1e3", "4GiB5", "1.2.3", "99999999TiB", "18446744073709551616"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        let times = ["500us", "50ms", "1.5s", "2 min"].map(|text| time(text).unwrap().as_micros());
        assert_eq!(times, [500, 50_000, 1_500_000, 120_000_000]);
        assert!(time("50").is_err() && time("").is_err() && time("1h").is_err());
    }
}
