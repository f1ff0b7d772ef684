//! The rule that tells a goal that names work from one that words can answer.

/// Verbs of work that needs a tool. A verb that words alone may satisfy, such as "write", "explain" or "count", is not among them.
const VERBS: &[&str] = &[
    "add",
    "append",
    "apply",
    "build",
    "change",
    "clean",
    "commit",
    "compile",
    "configure",
    "convert",
    "copy",
    "create",
    "debug",
    "delete",
    "deploy",
    "download",
    "edit",
    "fix",
    "format",
    "implement",
    "install",
    "merge",
    "migrate",
    "modify",
    "move",
    "port",
    "refactor",
    "remove",
    "rename",
    "replace",
    "run",
    "speed",
    "update",
    "upgrade",
    "upload",
];
/// Chinese verbs of such work.
const CHINESE_VERBS: &[&str] = &[
    "添加",
    "修复",
    "创建",
    "删除",
    "修改",
    "更新",
    "安装",
    "运行",
    "重构",
    "重命名",
    "替换",
    "部署",
    "编译",
    "下载",
    "上传",
    "移动",
    "实现",
    "升级",
];
/// Polite words before the verb.
const POLITE: &[&str] = &["please", "kindly", "now", "go", "and"];
const CHINESE_POLITE: &[&str] = &["请", "帮我", "麻烦"];

/// Returns true if a goal begins with a verb of work that only tools can do. A goal that asks a question does not: words may answer it.
pub(crate) fn names_work(goal: &str) -> bool {
    let goal = goal.trim();
    if goal.contains(['?', '？']) || goal.ends_with('吗') {
        return false;
    }
    let mut chinese = goal;
    while let Some(rest) = CHINESE_POLITE.iter().find_map(|polite| chinese.strip_prefix(polite)) {
        chinese = rest;
    }
    if CHINESE_VERBS.iter().any(|verb| chinese.starts_with(verb)) {
        return true;
    }
    let mut words = goal.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.find(|word| !POLITE.contains(&word.as_str())).is_some_and(|word| VERBS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_that_name_work_and_others() {
        for goal in [
            "Fix the failing test",
            "please add a --json flag",
            "Please, now rename `a` to `b`.",
            "run the tests and fix what fails",
            "修复登录错误",
            "请帮我删除旧文件",
        ] {
            assert!(names_work(goal), "{goal}");
        }
        for goal in [
            "",
            "What is 6 times 7?",
            "Fix or rewrite: what would you do?",
            "Can you fix it?",
            "Explain how to add a flag",
            "Write a haiku",
            "Say hello",
            "Count to three",
            "do the dishes",
            "additional words",
            "修复好了吗",
            "解释这个函数",
            "如何添加一个选项？",
        ] {
            assert!(!names_work(goal), "{goal}");
        }
    }
}
