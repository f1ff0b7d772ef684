//! Permission rules by tool, command and path, and their verdict on a call. Pure.

mod act;
mod operands;
mod path;
mod protected;
mod remember;
mod rule;
mod rules;
mod sets_up;
mod shell;
#[cfg_attr(not(feature = "shell"), expect(dead_code, reason = "only the grammar finds patterns of file names"))]
mod sign;

#[cfg(test)]
mod tests;

pub use self::{
    act::changes_repository,
    rule::{PermissionRule, RuleError, nearest_tool, runtime_tool_names, tool_names},
    rules::{PermissionRules, RuleLists, RulesFolderError},
};
pub(crate) use self::{act::emptied_before_read, protected::Granted, rules::RuleMatch, shell::CommandText, shell::written_files};
