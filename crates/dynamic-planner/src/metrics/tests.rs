//! Rates and means.

use super::*;

// Requirement: 3.51
#[test]
fn metrics_are_rates_and_means() {
    let mut metrics = PlanningMetrics::default();
    assert_eq!((metrics.planning_success_rate(), metrics.mean_planning_ms(), metrics.execution_success_rate()), (None, None, None));
    metrics.planned(true, 100);
    metrics.planned(false, 300);
    metrics.executed(true);
    assert_eq!((metrics.planning_success_rate(), metrics.mean_planning_ms()), (Some(0.5), Some(200.0)));
    assert_eq!(metrics.execution_success_rate(), Some(1.0));
    let mut sum = PlanningMetrics::default();
    sum.executed(false);
    sum.reused();
    sum.add(&metrics);
    assert_eq!(sum, PlanningMetrics { asked: 2, made: 1, planning_ms: 400, reused: 1, executed: 2, succeeded: 1 });
}
