//! The tools of one agent, as its loop calls them.

use aime_progress::Origin;

use crate::{
    Approval, ConsentedCall, OpenCall, Permission, PermissionRule, PermissionRules, Permissions, ToolContext, ToolError, ToolOutput,
    ToolRegistry, Trust,
};

/// The tools of one agent in one folder, under one mode and its rules: [`call`](Self::call) is the one way to call them. Nothing of what a call
/// needs can be left out: it is checked, decided on, asked about, remembered, made, and what it has read is kept in mind.
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
    /// Tools that work in the folder of the context, under its rules. The person of the context is asked for consent; where it has none, what
    /// needs consent is not done. Nobody vouches for the files of the folder.
    #[must_use]
    pub fn new(tools: ToolRegistry, context: ToolContext, approval: Approval) -> Self {
        let trust = Trust { files: false, commands_reach_network: context.confinement.reaches_network() };
        let rules = PermissionRules::clone(&context.rules);
        Self { tools, context, approval, rules, trust, origins: Vec::new(), consents: Vec::new() }
    }

    /// The same where the user vouches for the files of the folder, as for words of their own.
    #[must_use]
    pub const fn with_trusted_files(mut self) -> Self {
        self.trust.files = true;
        self
    }

    /// The tools.
    #[must_use]
    pub const fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// What the person has allowed for good since the session began: to be remembered for the folder.
    #[must_use]
    pub fn consents(&self) -> &[PermissionRule] {
        &self.consents
    }

    /// Where the texts come from that calls have given and that nobody vouches for.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// Makes one call as a model wrote it, or says why not. The text is for the model, also that of an error.
    ///
    /// # Errors
    /// [`ToolError`]; [`ToolError::Denied`] where a rule or the mode denies the call, or the person did not consent to it.
    pub async fn call(&mut self, name: &str, arguments: &str) -> Result<ToolOutput, ToolError> {
        let sheet = self.tools.sheet(name)?.clone();
        let checked = sheet.read(arguments)?;
        let (trust, origins) = (Some(self.trust), self.origins.as_slice());
        let permissions = Permissions { trust, origins, ..Permissions::new(self.approval, &self.rules) };
        let call = match permissions.decide(&sheet, checked) {
            Permission::Ask(open) => self.ask(open).await?,
            decided => decided.unasked()?,
        };
        let untrusted = self.trust.untrusted(&sheet, call.parameters());
        let result = self.tools.call(call, &self.context).await;
        // An error of a tool is a text of the same origin as its result.
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
