//! Tests of the settings of a run.

use super::*;

// Requirement: 2.1, 2.2
#[test]
fn strategy_mode_and_route_choose_the_policy_of_the_lead() {
    let led = |must_plan, mode| Some(LeadPolicy { must_plan, mode });
    let cases = [
        (Strategy::Adaptive, None, led(false, None)),
        (Strategy::Always, None, led(true, None)),
        (Strategy::Never, None, None),
        (Strategy::Adaptive, Some(PlanMode::Direct), None),
        (Strategy::Always, Some(PlanMode::Direct), None),
        (Strategy::Adaptive, Some(PlanMode::Simple), led(true, Some(PlanMode::Simple))),
        (Strategy::Never, Some(PlanMode::Complex), led(true, Some(PlanMode::Complex))),
        (Strategy::Always, Some(PlanMode::Emergent), led(true, Some(PlanMode::Emergent))),
    ];
    for (strategy, mode, expected) in cases {
        let settings = RunSettings { strategy, mode, ..RunSettings::default() };
        assert_eq!(LeadPolicy::of(&settings), expected, "{strategy:?} {mode:?}");
        let by_rules = RunSettings { route: PlanRoute::Rules, ..settings };
        assert_eq!(LeadPolicy::of(&by_rules), None, "{strategy:?} {mode:?} by rules");
    }
}
