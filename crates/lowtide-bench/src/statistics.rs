//! Medians, and exponents of power laws.

/// Return the median.
pub(crate) fn median(numbers: &mut [f64]) -> Option<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    Some(if numbers.len().is_multiple_of(2) { f64::midpoint(numbers[middle - 1], upper) } else { upper })
}

/// Fit the exponent of a power law to pairs of a size and its seconds, by least squares in logarithms. Fewer than `least` points give
/// none, nor do sizes whose logarithms have a sum of squared deviations of at most `least_spread`.
pub(crate) fn exponent(points: &[(f64, f64)], least: usize, least_spread: f64) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, time)| (n.ln(), time.max(1e-9).ln())).collect();
    let count = logs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| logs.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (logs.len() >= least && spread > least_spread).then(|| common / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_even_counts_are_means() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn exponents_are_fitted() {
        let times: Vec<(f64, f64)> =
            (1..50).map(|n| (f64::from(n), 3e-6 * f64::from(n).powf(1.25))).collect();
        assert!((exponent(&times, 10, 0.1).unwrap() - 1.25).abs() < 1e-9);
        assert_eq!(exponent(&times[..5], 10, 0.1), None, "too few points");
    }
}
