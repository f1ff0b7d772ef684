//! Order of tasks as a tree.

use std::collections::{HashMap, HashSet};

use aime_progress_management::{TaskId, TaskSpec};

/// Returns the tasks in plan order, each followed by its children, with their depth from 0. A missing parent counts as none. Each task
/// appears at most once, and tasks that are their own ancestors do not appear.
#[must_use]
pub fn tree_order<'a>(specs: &[&'a TaskSpec]) -> Vec<(usize, &'a TaskSpec)> {
    let known: HashSet<&TaskId> = specs.iter().map(|spec| &spec.id).collect();
    let mut below: HashMap<Option<&TaskId>, Vec<&'a TaskSpec>> = HashMap::new();
    for spec in specs {
        below.entry(spec.parent.as_ref().filter(|parent| known.contains(parent))).or_default().push(spec);
    }
    let mut found = Vec::with_capacity(specs.len());
    let mut waiting: Vec<(usize, &'a TaskSpec)> = below.remove(&None).into_iter().flatten().rev().map(|spec| (0, spec)).collect();
    while let Some((depth, spec)) = waiting.pop() {
        found.push((depth, spec));
        waiting.extend(below.remove(&Some(&spec.id)).into_iter().flatten().rev().map(|child| (depth + 1, child)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(id: &str, parent: Option<&str>) -> TaskSpec {
        let mut spec = TaskSpec::actor(TaskId::new(id).unwrap(), "x");
        spec.parent = parent.map(|parent| TaskId::new(parent).unwrap());
        spec
    }

    #[test]
    fn children_follow_their_parents() {
        let specs = [
            spec("deep", Some("inner")),
            spec("group", None),
            spec("alone", Some("nobody")),
            spec("inner", Some("group")),
            spec("second", Some("group")),
            spec("self", Some("self")),
            spec("one", Some("other")),
            spec("other", Some("one")),
        ];
        let order: Vec<String> =
            tree_order(&specs.iter().collect::<Vec<_>>()).iter().map(|(depth, spec)| format!("{depth} {}", spec.id)).collect();
        assert_eq!(order, ["0 group", "1 inner", "2 deep", "1 second", "0 alone"]);
        assert!(tree_order(&[]).is_empty());
    }

    #[test]
    fn a_name_that_comes_twice_does_not_multiply_what_is_below() {
        let level = |at: u32| {
            let parent = at.checked_sub(1).map(|above| format!("t{above}"));
            [0, 1].map(|_| spec(&format!("t{at}"), parent.as_deref()))
        };
        let specs: Vec<TaskSpec> = (0..40).flat_map(level).collect();
        assert_eq!(tree_order(&specs.iter().collect::<Vec<_>>()).len(), 80);
    }
}
