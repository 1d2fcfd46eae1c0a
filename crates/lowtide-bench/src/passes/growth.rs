//! The crossover of n^b and n log n (paper 5, Section 4).

/// Return the natural logarithms of the smallest and the largest n for which n^b is less than n log n, with
/// the logarithm to this base. `None` if there are none. If b is at most 1, the largest one is infinite.
///
/// With L = ln n, the condition is (b - 1) L < ln(L / ln base). The difference of both sides is convex, with
/// its least value at L = 1 / (b - 1).
pub(super) fn crossings(b: f64, base: f64) -> Option<[f64; 2]> {
    let rate = b - 1.0;
    let excess = |l: f64| rate * l - (l / base.ln()).ln();
    if rate <= 0.0 {
        // log n is 1 at n = base, and n^(b-1) is at most 1 from there on.
        return Some([base.ln(), f64::INFINITY]);
    }
    let least = 1.0 / rate;
    if excess(least) >= 0.0 {
        return None;
    }
    let mut most = 2.0 * least;
    while excess(most) < 0.0 {
        most *= 2.0;
    }
    let root = |mut inside: f64, mut outside: f64| {
        for _ in 0..200 {
            let middle = f64::midpoint(inside, outside);
            match excess(middle) < 0.0 {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    };
    Some([root(least, 1e-9), root(least, most)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_limit_is_that_of_the_decimal_logarithm() {
        let [from, to] = crossings(1.14966, 10.0).expect("they cross");
        assert!((to.exp() - 12_053.0).abs() < 5.0, "{}", to.exp());
        assert!((90.0..110.0).contains(&from.exp()), "{}", from.exp());
        for (b, base) in [(1.14966, std::f64::consts::E), (1.14966, 2.0), (1.02, 10.0)] {
            let ends = crossings(b, base).expect("they cross");
            for end in ends {
                let (power, log) = ((b - 1.0) * end, (end / base.ln()).ln());
                assert!((power - log).abs() < 1e-6, "{b} {base}: {power} {log}");
            }
        }
        assert_eq!(crossings(2.0, 10.0), None);
        assert_eq!(crossings(1.0, 10.0).map(|ends| ends[1]), Some(f64::INFINITY));
    }
}
