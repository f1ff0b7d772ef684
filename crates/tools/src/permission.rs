//! Permissions: rules by tool, command and path, and what they say of a call. Pure.

mod act;
mod path;
#[cfg_attr(not(test), expect(dead_code, reason = "the comparison after commands, which comes next, uses the grants"))]
mod protected;
mod remember;
mod rule;
mod rules;
#[cfg_attr(not(test), expect(dead_code, reason = "the comparison after commands, which comes next, uses the grants"))]
mod sets_up;
mod shell;
mod sign;

#[cfg(test)]
mod tests;

pub(crate) use self::{act::emptied_before_read, rules::Verdict, shell::written_files};
pub use self::{
    rule::{PermissionRule, RuleError, nearest_tool, tool_names},
    rules::PermissionRules,
};
