//! Medians, exponents of power laws, and rank correlation.

use std::cmp::Ordering;

/// Return the mean. It is 0 without numbers.
pub(crate) fn mean_of(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// Return the median.
pub(crate) fn median(numbers: &mut [f64]) -> Option<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    Some(if numbers.len().is_multiple_of(2) { f64::midpoint(numbers[middle - 1], upper) } else { upper })
}

/// Fit the exponent of a power law to pairs of a size and its seconds, by least squares in logarithms. Fewer
/// than `least` points give none, nor do sizes whose logarithms have a sum of squared deviations of at most
/// `least_spread`.
pub(crate) fn exponent(points: &[(f64, f64)], least: usize, least_spread: f64) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, time)| (n.ln(), time.max(1e-9).ln())).collect();
    let count = logs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| logs.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (logs.len() >= least && spread > least_spread).then(|| common / spread)
}

/// Pairs of positions in two lists, by their order in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pairs {
    /// Both lists order the pair alike.
    pub(crate) concordant: u64,
    /// They order it differently.
    pub(crate) discordant: u64,
    /// Equal in the first list only, in the second only, and in both.
    pub(crate) tied_left: u64,
    pub(crate) tied_right: u64,
    pub(crate) tied_both: u64,
}

impl Pairs {
    /// Count the pairs of two lists of the same length.
    pub(crate) fn of(left: &[f64], right: &[f64]) -> Self {
        assert_eq!(left.len(), right.len(), "a ranking has two lists of the same length");
        let mut pairs = Pairs::default();
        for b in 0..left.len() {
            for a in 0..b {
                let order = (left[a].total_cmp(&left[b]), right[a].total_cmp(&right[b]));
                let count = match order {
                    (Ordering::Equal, Ordering::Equal) => &mut pairs.tied_both,
                    (Ordering::Equal, _) => &mut pairs.tied_left,
                    (_, Ordering::Equal) => &mut pairs.tied_right,
                    (left, right) if left == right => &mut pairs.concordant,
                    _ => &mut pairs.discordant,
                };
                *count += 1;
            }
        }
        pairs
    }

    /// Add the pairs of other lists.
    pub(crate) fn add(&mut self, other: Pairs) {
        self.concordant += other.concordant;
        self.discordant += other.discordant;
        self.tied_left += other.tied_left;
        self.tied_right += other.tied_right;
        self.tied_both += other.tied_both;
    }

    fn difference(&self) -> f64 {
        self.concordant as f64 - self.discordant as f64
    }

    /// Return the correlation over pairs without ties (Goodman and Kruskal's gamma), if there are any.
    pub(crate) fn without_ties(&self) -> Option<f64> {
        let all = self.concordant + self.discordant;
        (all > 0).then(|| self.difference() / all as f64)
    }
}

/// Return Kendall's tau-b: 1 if both lists have the same ranking, -1 if one is the reverse of the other. Ties
/// lower it towards 0. A list without two different numbers has no ranking.
pub(crate) fn kendall_tau(left: &[f64], right: &[f64]) -> Option<f64> {
    let pairs = Pairs::of(left, right);
    let ranked = pairs.concordant + pairs.discordant;
    let (by_left, by_right) = (ranked + pairs.tied_right, ranked + pairs.tied_left);
    (by_left > 0 && by_right > 0).then(|| pairs.difference() / (by_left as f64 * by_right as f64).sqrt())
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
    fn kendalls_tau_compares_rankings() {
        let tau = |left: &[f64], right: &[f64]| kendall_tau(left, right);
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]), Some(1.0));
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        // One of six pairs is swapped.
        assert!((tau(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap() - 4.0 / 6.0).abs() < 1e-12);
        // One tie in one list: five pairs alike, and 5 / sqrt(5 x 6).
        assert!(
            (tau(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap() - 5.0 / 30f64.sqrt()).abs() < 1e-12
        );
        assert_eq!(tau(&[1.0, 1.0], &[1.0, 2.0]), None, "a list of equal numbers has no ranking");
        assert_eq!(tau(&[], &[]), None);
        let pairs = Pairs::of(&[1.0, 1.0, 2.0], &[1.0, 1.0, 1.0]);
        assert_eq!((pairs.tied_both, pairs.tied_right, pairs.without_ties()), (1, 2, None));
    }

    #[test]
    fn exponents_are_fitted() {
        let times: Vec<(f64, f64)> =
            (1..50).map(|n| (f64::from(n), 3e-6 * f64::from(n).powf(1.25))).collect();
        assert!((exponent(&times, 10, 0.1).unwrap() - 1.25).abs() < 1e-9);
        assert_eq!(exponent(&times[..5], 10, 0.1), None, "too few points");
    }
}
