//! Estimates with confidence intervals.

/// A proportion with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Proportion from 0 to 1.
    pub share: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Two-sided 95% quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// Returns the proportion of `reached` among `tried` with its Wilson score interval (E. B. Wilson, 1927), which is valid for few trials and
/// for the proportions 0 and 1. Without trials the interval is 0 to 1.
#[must_use]
pub fn wilson(reached: u32, tried: u32) -> Interval {
    if tried == 0 {
        return Interval { share: 0.0, low: 0.0, high: 1.0 };
    }
    let (reached, tried) = (f64::from(reached.min(tried)), f64::from(tried));
    let share = reached / tried;
    let spread = Z * Z / tried;
    let middle = (share + spread / 2.0) / (1.0 + spread);
    let half = Z / (1.0 + spread) * (share * (1.0 - share) / tried + spread / (4.0 * tried)).sqrt();
    Interval { share, low: (middle - half).clamp(0.0, share), high: (middle + half).clamp(share, 1.0) }
}

/// Returns the median; the lower one of two in the middle. `None` for an empty list.
pub(crate) fn median(mut numbers: Vec<u64>) -> Option<u64> {
    numbers.sort_unstable();
    numbers.get(numbers.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 81 of 263 is the example of R. G. Newcombe (1998); for ten trials the bounds follow from the formula by hand.
    // Requirement: 17.4
    #[test]
    fn known_intervals_come_out() {
        for (reached, tried, low, high) in [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)]
        {
            let found = wilson(reached, tried);
            assert!((found.low - low).abs() < 1e-4 && (found.high - high).abs() < 1e-4, "{reached} of {tried}: {found:?}");
        }
        assert_eq!(wilson(0, 0), Interval { share: 0.0, low: 0.0, high: 1.0 });
    }

    #[test]
    fn the_middle_is_found() {
        assert_eq!([vec![], vec![7], vec![9, 1], vec![3, 1, 2]].map(median), [None, Some(7), Some(1), Some(2)]);
    }

    proptest! {
        // Requirement: 17.4
        #[test]
        fn the_share_lies_within_and_more_trials_tell_more(reached in 0_u32..50, more in 0_u32..50) {
            let tried = reached + more + 1;
            let (few, many) = (wilson(reached, tried), wilson(reached * 10, tried * 10));
            prop_assert!(0.0 <= few.low && few.low <= few.share && few.share <= few.high && few.high <= 1.0);
            prop_assert!(many.high - many.low < few.high - few.low);
        }
    }
}
