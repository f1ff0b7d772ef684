//! The programs of this machine, as runs have found them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use aime_progress_management::RunId;
use aime_tools::Programs;
use tokio::sync::OnceCell;

/// Number of runs whose programs are remembered.
const RUNS: usize = 32;

type RunPrograms = (RunId, Arc<OnceCell<Programs>>);

/// The programs that each of the last runs has found. A run looks for them once, even if each of its effects is carried out separately.
#[derive(Debug, Default)]
pub(crate) struct FoundPrograms {
    /// The newest first.
    by_run: Mutex<VecDeque<RunPrograms>>,
}

impl FoundPrograms {
    /// Returns the cell for the programs of a run. It is filled when the first actor needs them.
    pub(crate) fn of(&self, run: &RunId) -> Arc<OnceCell<Programs>> {
        let mut by_run = self.by_run.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, programs)) = by_run.iter().find(|(known, _)| known == run) {
            return Arc::clone(programs);
        }
        let programs = Arc::default();
        by_run.truncate(RUNS - 1);
        by_run.push_front((run.clone(), Arc::clone(&programs)));
        programs
    }

    /// Makes a run look again: before it begins or goes on, programs may have been installed and removed.
    pub(crate) fn forget(&self, run: &RunId) {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_looks_for_programs_once_until_it_is_taken_up() {
        let (programs, run) = (FoundPrograms::default(), |number: usize| RunId::new(format!("run-{number}")).unwrap());
        let first = programs.of(&run(0));
        assert!(Arc::ptr_eq(&first, &programs.of(&run(0))) && !Arc::ptr_eq(&first, &programs.of(&run(1))));
        programs.forget(&run(1));
        assert!(Arc::ptr_eq(&first, &programs.of(&run(0))), "what another run has found stays");
        programs.forget(&run(0));
        assert!(!Arc::ptr_eq(&first, &programs.of(&run(0))));
        (0..RUNS * 2).for_each(|number| drop(programs.of(&run(number))));
        assert_eq!(programs.by_run.lock().unwrap().len(), RUNS);
    }
}
