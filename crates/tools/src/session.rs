//! Tool session: the tools of one agent, for an agent loop outside of aime.

use aime_progress_management::Origin;

use crate::{
    Approval, ConsentedCall, OpenCall, Permission, PermissionRule, PermissionRules, Permissions, ToolContext, ToolError, ToolOutput,
    ToolRegistry, Trust, credential_files_in,
};

/// The tools of one agent in one folder, under one mode and its rules. [`call`](Self::call) is the only way to call them, so that no step
/// is skipped: it checks the call, decides on it, asks for consent, remembers consents, makes the call, and records the origins of its
/// result.
#[derive(Debug, Clone)]
pub struct ToolSession {
    tools: ToolRegistry,
    context: ToolContext,
    approval: Approval,
    rules: PermissionRules,
    trust: Trust,
    origins: Vec<Origin>,
    consents: Vec<PermissionRule>,
}

impl ToolSession {
    /// Creates a session that works in the folder of the context, under its rules. Calls that need consent ask the person of the context;
    /// without a person they are denied. The files of the folder count as untrusted.
    #[must_use]
    pub fn new(tools: ToolRegistry, context: ToolContext, approval: Approval) -> Self {
        let trust = Trust {
            files: false,
            commands_reach_network: context.confinement.reaches_network(),
            credential_files: credential_files_in(&context.folder),
        };
        let rules = PermissionRules::clone(&context.rules);
        Self { tools, context, approval, rules, trust, origins: Vec::new(), consents: Vec::new() }
    }

    /// Declares the files of the folder as trusted, like the user's own text.
    #[must_use]
    pub const fn with_trusted_files(mut self) -> Self {
        self.trust.files = true;
        self
    }

    /// Returns the tools.
    #[must_use]
    pub const fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// Returns the rules that the person has added since the session began, to be stored for the folder.
    #[must_use]
    pub fn consents(&self) -> &[PermissionRule] {
        &self.consents
    }

    /// Returns the untrusted origins of the texts that calls have returned.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// Makes one call as a model wrote it. The text is for the model, also that of an error.
    ///
    /// # Errors
    /// [`ToolError`]; [`ToolError::Denied`] if a rule or the mode denies the call, or the person did not consent to it.
    pub async fn call(&mut self, name: &str, arguments: &str) -> Result<ToolOutput, ToolError> {
        let spec = self.tools.spec(name)?.clone();
        let checked = spec.read(arguments)?;
        let (trust, origins) = (Some(&self.trust), self.origins.as_slice());
        let permissions = Permissions { trust, origins, ..Permissions::new(self.approval, &self.rules) };
        let call = match permissions.decide(&spec, checked) {
            Permission::Ask(open) => self.ask(open).await?,
            decided => decided.unasked()?,
        };
        let untrusted = self.trust.untrusted(&spec, call.parameters());
        let result = self.tools.call(call, &self.context).await;
        // The text of a tool's error has the same origin as its result.
        Origin::merge(&mut self.origins, &untrusted);
        result
    }

    async fn ask(&mut self, open: OpenCall) -> Result<crate::ValidatedCall, ToolError> {
        let person = self.context.person.as_ref().ok_or_else(|| open.unanswered())?;
        let answer = person.ask(open.question()).await.ok_or_else(|| open.unanswered())?;
        let ConsentedCall { call, remember } = open.answered(&answer)?;
        self.rules.remember(&remember);
        self.consents.extend(remember);
        Ok(call)
    }
}

#[cfg(test)]
mod tests;
