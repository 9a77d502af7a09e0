//! Real numbers in a table.

use evergraph_analysis::real_text::reals;

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
