//! Protected places under permission rules: the places that a call writes, and the rules and calls that allow it.

use std::path::Path;

use aime_sandbox::is_protected;
use serde_json::{Map, Value};

use super::{
    act::Act,
    path::CallPath,
    rule::PermissionRule,
    rules::PermissionRules,
    sets_up::{KnownWord, writes_work_tree},
    shell::{Script, SimpleCommand},
    sign::text_of,
};
use crate::Approval;

/// Programs that may accompany git commands in a line that only runs git, because they only print.
const PRINTING: [&str; 8] = ["cd", "echo", "printf", "pwd", "true", "ls", "cat", "head"];

/// Protected places that an allowed call may change: those that it names, and those that rules allow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Granted {
    /// Places that the call names, relative to the working folder; each includes everything below it.
    named: Vec<String>,
    /// True if the call writes files of commits to the work tree.
    work_tree: bool,
    /// Rules that name protected places.
    rules: Vec<PermissionRule>,
    folder: String,
}

impl Granted {
    /// Returns true if the call itself names a protected place.
    pub(crate) fn names_places(&self) -> bool {
        !self.named.is_empty()
    }

    /// Returns true if the call may change the place.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let below = |named: &String| path.strip_prefix(named.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let in_repository = path.split('/').any(|name| name.to_lowercase().ends_with(".git"));
        self.named.iter().any(below)
            || (self.work_tree && !in_repository)
            || self.rules.iter().any(|rule| rule.allows_write(&CallPath::new(&self.folder, path), "write_file"))
    }
}

impl PermissionRules {
    /// Returns the protected places that a call certainly writes and that no rule allows by name. A rule for a tool or for any path does
    /// not count.
    pub(crate) fn protected_writes(&self, tool: &str, parameters: &Map<String, Value>) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (path, place) in self.writes(tool, parameters) {
            let allowed = self.allowing().any(|rule| rule.allows_write(&path, tool));
            if !allowed && !found.contains(&place) {
                found.push(place);
            }
        }
        found
    }

    /// Returns the rules that would allow a call which writes these places from now on: one rule per place, and one for the call itself
    /// unless it is `free` anyway. Empty if no rule could.
    pub(crate) fn to_remember_places(
        &self,
        approval: Approval,
        (tool, parameters): (&str, &Map<String, Value>),
        places: &[String],
        free: bool,
    ) -> Vec<PermissionRule> {
        let of_tool = matches!(tool, "write_file" | "edit_file");
        let mut rules = match (free, of_tool) {
            // The rule for a place allows such a call.
            (true, _) | (_, true) => Vec::new(),
            (false, false) => {
                let rules = self.to_remember(approval, tool, parameters);
                if rules.is_empty() {
                    return rules;
                }
                rules
            }
        };
        for place in places {
            let rule = format!("{}({place})", if of_tool { tool } else { "write_file" });
            // The rule must allow exactly this, in spite of special characters in it.
            let fits = |rule: &PermissionRule| rule.allows_write(&CallPath::new(&self.folder, place), tool);
            match rule.parse::<PermissionRule>().ok().filter(fits).filter(|_| !place.contains(['*', '?'])) {
                Some(rule) if rules.contains(&rule) => {}
                Some(rule) => rules.push(rule),
                None => return Vec::new(),
            }
        }
        rules
    }

    /// Returns the protected places that an allowed call may change.
    pub(crate) fn granted(&self, tool: &str, parameters: &Map<String, Value>) -> Granted {
        let named = self.writes(tool, parameters).into_iter().map(|(_, place)| place).collect();
        let command = parameters.get("command").and_then(Value::as_str).filter(|_| tool == "bash");
        let rules = self.allowing().filter(|rule| rule.names_protected()).cloned().collect();
        Granted { named, work_tree: command.is_some_and(imports_commits), rules, folder: self.folder.clone() }
    }

    /// Returns the protected places that a call certainly writes.
    fn writes(&self, tool: &str, parameters: &Map<String, Value>) -> Vec<(CallPath, String)> {
        let of_act = |act: Act| match act {
            Act::Writes { path, certain: true, .. } => {
                let place = path.known_place()?;
                is_protected(Path::new(&place)).then_some((path, place))
            }
            _ => None,
        };
        self.acts(tool, parameters).into_iter().filter_map(of_act).collect()
    }
}

/// Returns true if a shell command only writes files of commits to the work tree.
fn imports_commits(command: &str) -> bool {
    let script = Script::read(command);
    let printing = |command: &SimpleCommand| command.program().is_some_and(|program| PRINTING.contains(&program.as_str()));
    let brings = |command: &SimpleCommand| writes_work_tree(&known_words(command));
    !script.unknown
        && !script.redirects.iter().any(|redirect| redirect.writes)
        && script.commands.iter().any(brings)
        && script.commands.iter().all(|command| !command.sets && (brings(command) || printing(command)))
}

/// Returns the words of a command, as far as they are known.
pub(super) fn known_words(command: &SimpleCommand) -> Vec<KnownWord> {
    command.words.iter().map(|word| text_of(word)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        Approval,
        permission::tests::{FOLDER, decision, parameters, rules, word},
    };

    /// Checks the decision of each mode on a call, optionally under a rule.
    fn check(tool: &str, given: serde_json::Value, rule: Option<&str>, expected: [&str; 4]) {
        let rules = rules(rule.as_slice(), &[], &[]);
        let modes = [Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly];
        let got = modes.map(|mode| word(&decision(mode, &rules, tool, given.clone())));
        assert_eq!(got, expected, "{tool} {given} {rule:?}");
    }

    // Requirement: 8.30
    #[test]
    fn writing_what_runs_later_is_asked_in_every_mode_that_asks() {
        let absolute = format!("{FOLDER}/.git/hooks/pre-commit");
        for path in
            [".git/hooks/pre-commit", "a/../.GIT/config", "sub/.git", ".envrc", ".vscode/tasks.json", ".bashrc", "aime.toml", &absolute]
        {
            let asks = ["ask", "ask", "allow", "deny"];
            check("write_file", json!({"path": path, "content": "x"}), None, asks);
            check("write_file", json!({"path": path, "content": "x"}), Some("write_file"), asks);
            check("write_file", json!({"path": path, "content": "x"}), Some("write_file(**)"), asks);
            check("write_file", json!({"path": path, "content": "x"}), Some("*"), asks);
            check("edit_file", json!({"path": path, "old_text": "x", "new_text": "y"}), Some("edit_file"), asks);
            for patch in [
                format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"),
                format!("*** Begin Patch\n*** Update File: a.txt\n*** Move to: {path}\n@@\n-x\n+y\n*** End Patch"),
                format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch"),
            ] {
                check("apply_patch", json!({"patch": patch}), Some("apply_patch"), asks);
            }
        }
        check("write_file", json!({"path": "a.txt", "content": "x"}), None, ["ask", "allow", "allow", "deny"]);
        check("read_file", json!({"path": ".git/config"}), None, ["allow"; 4]);
    }

    #[test]
    fn a_rule_that_names_the_place_allows_it() {
        let free = ["allow", "allow", "allow", "deny"];
        let hook = || json!({"path": ".git/hooks/pre-commit", "content": "x"});
        check("write_file", hook(), Some("write_file(.git/hooks/**)"), free);
        check("write_file", hook(), Some("write_file(.git/config)"), ["ask", "ask", "allow", "deny"]);
        check("write_file", json!({"path": ".vscode/tasks.json", "content": "x"}), Some("write_file(.vscode/*)"), free);
        check("edit_file", json!({"path": ".envrc", "old_text": "x", "new_text": "y"}), Some("edit_file(.envrc)"), free);
        check("write_file", json!({"path": ".envrc", "content": "x"}), Some("edit_file(.envrc)"), ["ask", "ask", "allow", "deny"]);
        let rules = rules(&["write_file(.git/hooks/**)"], &[], &["write_file(.git/hooks/update)"]);
        let of = |path: &str| word(&decision(Approval::Edits, &rules, "write_file", json!({"path": path, "content": "x"})));
        assert_eq!([of(".git/hooks/a"), of(".git/hooks/update")], ["allow", "deny"]);
    }

    #[test]
    fn commands_that_name_such_a_place_are_asked_in_spite_of_their_rule() {
        for (command, rule, expected) in [
            ("echo x > .git/hooks/pre-commit", "bash(echo *)", "ask"),
            ("echo x > a.txt", "bash(echo *)", "allow"),
            ("cp x .git/hooks/pre-commit", "bash(cp *)", "ask"),
            ("cd sub && tee .envrc", "bash(tee *)", "ask"),
            ("chmod +x .git/hooks/x", "bash", "ask"),
            ("git config core.hooksPath x", "bash(git *)", "ask"),
            ("git config user.name x", "bash(git *)", "allow"),
            ("git remote add a b", "bash(git *)", "allow"),
            ("git remote set-url origin b", "bash(git *)", "ask"),
            ("git add .envrc", "bash(git *)", "allow"),
            ("cat .git/config", "bash(cat *)", "allow"),
            ("ls .git/hooks", "bash(ls *)", "allow"),
            ("npx husky init", "bash(npx *)", "ask"),
        ] {
            let rules = rules(&[rule], &[], &[]);
            assert_eq!(word(&decision(Approval::Edits, &rules, "bash", json!({"command": command}))), expected, "{command}");
        }
    }

    #[test]
    fn the_question_names_the_place_and_always_allows_it_alone() {
        let rules = rules(&["bash(cp *)"], &[], &[]);
        for (tool, given, remembered) in [
            ("bash", json!({"command": "cp x .git/hooks/pre-commit"}), &["write_file(.git/hooks/pre-commit)"][..]),
            ("bash", json!({"command": "chmod +x .git/hooks/a"}), &["bash(chmod +x .git/hooks/a)", "write_file(.git/hooks/a)"]),
            ("edit_file", json!({"path": ".envrc", "old_text": "x", "new_text": "y"}), &["edit_file(.envrc)"]),
        ] {
            let crate::approval::PermissionDecision::Ask { question, always } = decision(Approval::Edits, &rules, tool, given.clone())
            else {
                panic!("{given}")
            };
            assert!(question.contains("such files run later on their own"), "{question}");
            assert_eq!(always.iter().map(super::PermissionRule::as_str).collect::<Vec<_>>(), remembered, "{given}");
            let after = rules.clone().with_remembered(&always);
            assert_eq!(word(&decision(Approval::Edits, &after, tool, given)), "allow");
        }
    }

    #[test]
    fn an_allowed_call_may_change_what_it_names() {
        for (command, path, expected) in [
            ("cp x .git/hooks/pre-commit", ".git/hooks/pre-commit", true),
            ("cp x .git/hooks/pre-commit", ".git/hooks/post-merge", false),
            ("cp x .git/hooks/", ".git/hooks/x", true),
            ("git config core.pager x", ".git/config", true),
            ("git -C sub config core.pager x", "sub/.git/config", true),
            ("git -C sub config core.pager x", ".git/config", false),
            ("npm test", ".git/hooks/x", false),
            ("git checkout main", ".vscode/tasks.json", true),
            ("git checkout main", ".git/config", false),
            ("git stash && git pull | cat", ".envrc", true),
            ("git checkout main && ./evil", ".envrc", false),
            ("git checkout main; echo x > .envrc", ".vscode/tasks.json", false),
            ("GIT_DIR=x git checkout main", ".envrc", false),
            ("ls", ".envrc", false),
        ] {
            let granted = rules(&[], &[], &[]).granted("bash", &parameters(json!({"command": command})));
            assert_eq!(granted.covers(path), expected, "{command} {path}");
        }
        let by_rule =
            rules(&["write_file(.git/hooks/**)", "write_file(**)"], &[], &[]).granted("python", &parameters(json!({"code": "x"})));
        assert!(by_rule.covers(".git/hooks/x") && !by_rule.covers(".envrc"));
    }
}
