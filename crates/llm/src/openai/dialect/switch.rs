//! The change to another protocol after a refusal, and back if the other one is missing.

use super::Dialect;
use crate::Protocol;
use crate::openai::fault::Refusal;

impl Dialect {
    /// Learns from `… Please use /v1/responses or set reasoning_effort to 'none'`, `This model is only supported in v1/responses`, and from
    /// the 404 or 405 of a gateway that lacks a path.
    ///
    /// If the server lacks Responses after such a refusal, the dialect goes back. The request is then sent again as at first, so that another
    /// lesson of the first refusal applies, or the first refusal is reported.
    pub(super) fn learn_protocol(&mut self, model: &str, refusal: &Refusal) -> bool {
        let lacks_path = matches!(refusal.status, 404 | 405) && !refusal.lower.contains("item with id");
        if lacks_path && let Some(before) = self.before_switch.take() {
            *self = *before;
            return true;
        }
        if !self.may_switch {
            return false;
        }
        // Only once, so that a server with neither is not asked forever.
        match self.protocol {
            Protocol::Chat if refusal.message.contains("v1/responses") => {
                self.may_switch = false;
                self.before_switch = Some(Box::new(self.clone()));
                self.speak(Protocol::Responses, model);
            }
            Protocol::Responses if lacks_path => {
                self.may_switch = false;
                self.speak(Protocol::Chat, model);
            }
            _ => return false,
        }
        true
    }
}
