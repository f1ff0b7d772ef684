use super::*;

/// The table of the specification, row by row: `x` for a legal transition. Columns as in `TaskStatus::ALL`.
const TABLE: [(TaskStatus, &str); 8] = [
    //                          P R U B C F S O
    (TaskStatus::Pending, /**/ "- x - x - - x -"),
    (TaskStatus::Ready, /*  */ "x - x x - - x -"),
    (TaskStatus::Running, /**/ "x - - x x x x -"),
    (TaskStatus::Blocked, /**/ "x - - - - x x -"),
    (TaskStatus::Completed, "- - - - - - - -"),
    (TaskStatus::Failed, /* */ "x - - - - - x x"),
    (TaskStatus::Skipped, /**/ "- - - - - - - -"),
    (TaskStatus::RolledBack, "- - - - - - - -"),
];

// Requirement: 3.20
#[test]
fn every_transition_is_as_the_table_says() {
    for (from, row) in TABLE {
        let cells: Vec<bool> = row.split(' ').map(|cell| cell == "x").collect();
        assert_eq!(cells.len(), 8);
        for (to, legal) in TaskStatus::ALL.into_iter().zip(cells) {
            assert_eq!(from.can_become(to), legal, "{from} to {to}");
            assert_eq!(from.become_checked(to).is_ok(), legal, "{from} to {to}");
        }
    }
}

#[test]
fn settled_means_that_nothing_can_follow() {
    for status in TaskStatus::ALL {
        assert_eq!(status.is_settled(), TaskStatus::ALL.into_iter().all(|to| !status.can_become(to)), "{status}");
        assert!(!(status.is_settled() && status.is_open()), "{status}");
    }
}

// Requirement: 7.1
#[test]
fn words_are_those_of_the_documents() {
    for status in TaskStatus::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.to_string());
    }
    for status in [
        RunStatus::Planning,
        RunStatus::Executing,
        RunStatus::Replanning,
        RunStatus::WaitingForHuman,
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ] {
        assert_eq!(serde_json::to_value(status).unwrap(), status.to_string());
    }
    for mode in [PlanMode::Direct, PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent] {
        assert_eq!(serde_json::to_value(mode).unwrap(), mode.to_string());
    }
}

// Requirement: 3.20
#[test]
fn the_error_says_what_is_possible() {
    let error = TaskStatus::Blocked.become_checked(TaskStatus::Running).unwrap_err();
    assert_eq!(error.to_string(), "a task cannot go from blocked to running: from blocked it can become pending, failed, skipped");
    let error = TaskStatus::Completed.become_checked(TaskStatus::Pending).unwrap_err();
    assert_eq!(error.to_string(), "a task cannot go from completed to pending: from completed it can become nothing else");
}
