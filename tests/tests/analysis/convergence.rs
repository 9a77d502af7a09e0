//! Convergence: what is told of the last round.

use evergraph_analysis::convergence::{last_round, mean_change};

#[test]
fn the_last_round_is_measured_as_the_tolerance_is() {
    let change = mean_change(8.9e-2, 100_000);
    assert_eq!(
        last_round(40, change, "on average", Some(1e-6)),
        "40 rounds; in the last one scores changed by 8.900e-7 on average, below the tolerance of 1e-6"
    );
    assert_eq!(
        last_round(1, mean_change(0.0, 0), "in all", None),
        "1 round; in the last one scores changed by 0 in all"
    );
    let text = last_round(100, mean_change(13.2, 1000), "on average", Some(1e-6));
    assert!(
        text.contains("\nnot converged: ") && text.ends_with("allow more iterations or a larger tolerance"),
        "{text}"
    );
}
