//! Scenario of a run: its inputs and its faults.

use aime_dynamic_planner::{Adaptive, GrowthSettings};
use aime_orchestrator::{Bounds, Isolation, PlanRoute, Reflect, RunSettings};
use aime_progress_management::{Plan, PlanMode};
use aime_tools::Approval;
use fastrand::Rng;

use crate::{chance::Chances, patches};

/// Probabilities of faults, per 1,000 cases.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultRates {
    /// A tool fails.
    pub(crate) tool_fails: u32,
    /// A tool hangs until its time limit.
    pub(crate) tool_hangs: u32,
    /// A model call returns an error.
    pub(crate) model_fails: u32,
    /// An answer of the model is unusable.
    pub(crate) nonsense: u32,
    /// An actor gives up.
    pub(crate) gives_up: u32,
    /// An actor repeats the same call.
    pub(crate) stuck: u32,
    /// An actor asks a person.
    pub(crate) asks: u32,
    /// An actor delegates work.
    pub(crate) delegates: u32,
    /// Criteria are not met.
    pub(crate) unmet: u32,
    /// The process dies, at each possible moment.
    pub(crate) deaths: u32,
    /// A write fails, and the process notices.
    pub(crate) disk_fails: u32,
}

/// An external event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExternalEvent {
    /// The process is asked to stop.
    Stop,
    /// A person pauses the run from another process.
    Pause,
    /// A person cancels the run.
    Cancel,
    /// A person cancels one of its tasks.
    CancelTask,
    /// A person sends a message.
    Say,
    /// The clock is moved by this number of seconds, forward or back.
    Clock(i64),
}

/// Inputs and faults of one run, derived from a seed.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Seed of the scenario.
    pub seed: u64,
    /// True if there are no random faults: the end of such a run does not depend on cuts.
    pub calm: bool,
    pub(crate) plan: Option<Plan>,
    pub(crate) settings: RunSettings,
    pub(crate) odds: FaultRates,
    /// Events with their times in milliseconds since the beginning.
    pub(crate) external_events: Vec<(u64, ExternalEvent)>,
    /// True if a person answers at once.
    pub(crate) attended: bool,
}

impl Scenario {
    /// Returns a scenario with all kinds of faults.
    #[must_use]
    pub fn wild(seed: u64) -> Self {
        let mut rng = Chances(seed).of("scenario");
        let mode = rng
            .choice([None, None, Some(PlanMode::Direct), Some(PlanMode::Simple), Some(PlanMode::Complex), Some(PlanMode::Emergent)])
            .flatten();
        let given = mode.is_none() && rng.bool();
        let mut often = |most: u32| if rng.bool() { rng.u32(0..=most) } else { 0 };
        let odds = FaultRates {
            tool_fails: often(400),
            tool_hangs: often(60),
            model_fails: often(60),
            nonsense: often(250),
            gives_up: often(200),
            stuck: often(150),
            asks: often(120),
            delegates: often(200),
            unmet: often(300),
            deaths: often(40),
            disk_fails: often(20),
        };
        let external_events = (0..rng.usize(0..3)).map(|_| (rng.u64(0..40_000), external_event(&mut rng))).collect();
        let settings = settings(&mut rng, mode);
        let plan = if given { patches::plan(&mut rng, "p", 5, &odds) } else { None };
        Self { seed, calm: false, plan, settings, odds, external_events, attended: rng.bool() }
    }

    /// Returns a scenario without faults, unless the process is cut.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        let mut rng = Chances(seed).of("scenario");
        let odds = FaultRates { delegates: 150, ..FaultRates::default() };
        let settings = RunSettings {
            route: PlanRoute::Rules,
            isolation: Isolation::Shared,
            approval: Approval::All,
            max_parallel: rng.u32(1..=3),
            ..RunSettings::default()
        };
        let plan = patches::plan(&mut rng, "p", 4, &odds);
        Self { seed, calm: true, plan, settings, odds, external_events: Vec::new(), attended: true }
    }
}

fn external_event(rng: &mut Rng) -> ExternalEvent {
    match rng.u32(0..8) {
        0 => ExternalEvent::Stop,
        1 => ExternalEvent::Pause,
        2 => ExternalEvent::Cancel,
        3 | 4 => ExternalEvent::CancelTask,
        5 | 6 => ExternalEvent::Say,
        _ => ExternalEvent::Clock(rng.i64(-7_200..7_200)),
    }
}

fn settings(rng: &mut Rng, mode: Option<PlanMode>) -> RunSettings {
    let mut settings = RunSettings {
        route: PlanRoute::Rules,
        // A private copy is made by git, which runs in real time.
        isolation: Isolation::Shared,
        mode,
        max_parallel: rng.u32(1..=4),
        approval: rng.choice([Approval::All, Approval::All, Approval::Edits, Approval::Ask, Approval::ReadOnly]).unwrap_or_default(),
        adaptive: rng.choice([Adaptive::Never, Adaptive::Evidence, Adaptive::Always]).unwrap_or_default(),
        reflect: rng.choice([Reflect::Never, Reflect::Criteria, Reflect::Always]).unwrap_or_default(),
        growth: GrowthSettings {
            update_every: rng.u32(1..4),
            max_failures: rng.u32(1..4),
            stagnant_rounds: rng.u32(0..4),
            ..GrowthSettings::default()
        },
        plan_approved: rng.bool(),
        unattended: rng.u32(0..4) == 0,
        ..RunSettings::default()
    };
    settings.triggers.max_retries = rng.u32(0..3);
    settings.frequency.max_replans_per_plan = rng.u32(0..5);
    settings.frequency.cooldown_seconds = rng.u64(0..90);
    let mut rarely = |bound: u64| if rng.u32(0..4) == 0 { Some(bound) } else { None };
    let (tokens, seconds, calls, actors) = (rarely(20_000), rarely(60), rarely(6), rarely(4));
    settings.bounds = Bounds {
        max_tokens: tokens,
        max_seconds: seconds,
        max_steps: Some(rng.u32(2..25)),
        max_tool_calls: calls.unwrap_or(200),
        max_actors: u32::try_from(actors.unwrap_or(40)).unwrap_or(40),
        ..Bounds::default()
    };
    settings
}
