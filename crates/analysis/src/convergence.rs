//! Convergence: how near an algorithm that repeats itself came to an end, measured as its tolerance is.
//!
//! ```text
//! 20 rounds; in the last one scores changed by 8.913e-7 on average, below the tolerance of 1e-6
//! ```
//!
//! A tolerance is about the mean of a vertex, so that it means the same on graphs of any size; kernels sum.

use evergraph_graph::count::counted;

/// What a `change` in sum is for each of `vertices` on average.
#[must_use]
pub fn mean_change(change: f64, vertices: u64) -> f64 {
    change / vertices.max(1) as f64
}

/// What to tell of the last of `rounds`, which changed scores by `change` `on_average` or `in_all`, and of whether
/// that is below `tolerance`, if one was wanted.
#[must_use]
pub fn last_round(rounds: u32, change: f64, measure: &str, tolerance: Option<f64>) -> String {
    let text = if change == 0.0 { "0".to_owned() } else { format!("{change:.3e}") };
    let text = format!(
        "{}; in the last one scores changed by {text} {measure}",
        counted(u64::from(rounds), "round", "rounds")
    );
    match tolerance {
        None => text,
        Some(tolerance) if change < tolerance => format!("{text}, below the tolerance of {tolerance:?}"),
        Some(tolerance) => format!(
            "{text}\nnot converged: that is not below the tolerance of {tolerance:?}; allow more iterations or a \
             larger tolerance"
        ),
    }
}
