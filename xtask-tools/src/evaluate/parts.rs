//! Parts of the evaluation, from which the tables of the docs are made.

/// Comparison: one call of `aime eval`, and one table of the docs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its name, also that of its trials in the docs.
    pub(crate) name: &'static str,
    /// Arguments of `aime eval`, separated by spaces.
    pub(crate) arguments: &'static str,
    /// True if the small model gets only the tasks that it may reach ([`SMALL_REACHES`](super::SMALL_REACHES)).
    pub(crate) within_reach: bool,
    /// True if peers are tried beside aime.
    pub(crate) peers: bool,
    /// True if it is tried with all triggers of replanning, with none, and with each alone.
    pub(crate) each_trigger: bool,
}

/// Defaults of a part.
const WITHIN_REACH: Part = Part { name: "", arguments: "", within_reach: true, peers: false, each_trigger: false };

/// All parts, the most informative first. Two concurrent trials keep a local model busy while tools run.
pub(crate) const PARTS: [Part; 15] = [
    Part {
        name: "modes",
        arguments: "core --sample 6 --jobs 2 --mode direct --mode simple --mode complex --mode emergent --mode auto",
        peers: true,
        ..WITHIN_REACH
    },
    // Repeats the tasks whose results varied most between rounds.
    Part { name: "modes-again", arguments: "core --sample 6 --jobs 2 --mode complex", ..WITHIN_REACH },
    Part { name: "tuned", arguments: "core --tuned --jobs 2 --mode direct", within_reach: false, ..WITHIN_REACH },
    Part {
        name: "held-out",
        arguments: "core --held-out --jobs 2 --mode direct --mode simple --mode complex --mode emergent --mode auto",
        ..WITHIN_REACH
    },
    Part {
        name: "held-out-hard",
        arguments: "core --held-out --jobs 2 --mode direct --mode auto --level 3 --level 4 --level 5",
        within_reach: false,
        ..WITHIN_REACH
    },
    Part { name: "wrong-plan", arguments: "core --jobs 2 --mode complex --fault wrong-plan", each_trigger: true, ..WITHIN_REACH },
    Part {
        name: "wrong-tasks",
        arguments: "core --jobs 2 --mode complex --fault wrong-tasks --replanning on --replanning off",
        ..WITHIN_REACH
    },
    Part {
        name: "late-information",
        arguments: "core --jobs 2 --mode complex --fault late-information",
        each_trigger: true,
        ..WITHIN_REACH
    },
    Part {
        name: "flaky-tools",
        // These are the tasks within reach on which the other faults are tried.
        arguments: "core --jobs 2 --mode complex --fault flaky-tools --level 1 --level 2 --task setting \
            --task count --task sum --task sort",
        each_trigger: true,
        ..WITHIN_REACH
    },
    Part {
        name: "settings",
        arguments: "core --tuned --sample 6 --jobs 2 --mode simple --settings usual= --settings three-tasks=SETTINGS/three-tasks.toml \
            --settings two-examples=SETTINGS/two-examples.toml --settings no-examples=SETTINGS/no-examples.toml",
        ..WITHIN_REACH
    },
    Part {
        name: "settings-confirmed",
        arguments: "core --held-out --jobs 2 --mode simple --settings usual= --settings three-tasks=SETTINGS/three-tasks.toml \
            --settings two-examples=SETTINGS/two-examples.toml",
        ..WITHIN_REACH
    },
    Part {
        name: "prompts",
        arguments: "core --tuned --sample 6 --jobs 2 --mode direct --settings usual= --settings as-large=SETTINGS/as-large.toml",
        ..WITHIN_REACH
    },
    Part {
        name: "prompts-confirmed",
        arguments: "core --held-out --jobs 2 --mode direct --settings usual= --settings as-large=SETTINGS/as-large.toml",
        ..WITHIN_REACH
    },
    // These are the tuned tasks within reach that the rules route differently. The names match no other task of that level.
    Part {
        name: "routing",
        arguments: "core --tuned --jobs 2 --mode auto --settings usual= --settings no-length=SETTINGS/no-length.toml --task numbers \
            --task count --task find --task sum --task upper --task folder --task sort --task readme --task which-release",
        ..WITHIN_REACH
    },
    Part {
        name: "routing-confirmed",
        arguments: "core --held-out --jobs 2 --mode auto --settings usual= --settings no-length=SETTINGS/no-length.toml",
        ..WITHIN_REACH
    },
];

/// Returns the part with this name.
pub(crate) fn named(name: &str) -> Result<&'static Part, String> {
    let names = || PARTS.iter().map(|part| part.name).collect::<Vec<_>>().join(", ");
    PARTS.iter().find(|part| part.name == name).ok_or_else(|| format!("there are: {}", names()))
}
