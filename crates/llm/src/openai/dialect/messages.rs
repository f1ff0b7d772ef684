//! Lessons from refusals of messages: their order, their ids, their reasoning and their images.

use super::learn::{RefusedRequest, SentImages, has_word};
use super::{Dialect, EmptyContent, IdForm, ImagesForm, ReasoningForm};
use crate::Protocol;
use crate::openai::fault::Refusal;

impl Dialect {
    /// `No endpoints found that support image input`, `Invalid content type. image_url is only supported by certain models`, `"input[2].output":
    /// expected a string`, `messages.content: invalid type: sequence, expected a string`,
    /// `image dimensions exceed max allowed size for many-image requests: 2000 pixels`.
    pub(super) fn learn_images(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let Some(sent) = sent.images else { return false };
        let lower = refusal.lower.as_str();
        // Claude takes large images only in a request with few of them.
        if lower.contains("many-image") {
            return !std::mem::replace(&mut self.form.few_images, true);
        }
        let about_images = ["image", "vision", "multimodal", "multi-modal", "modality", "inlinedata", "inline_data", "mmproj"];
        let about_form = ["expected a string", "expected string", "must be a string", "valid string", "be of type string"];
        let about_size = ["too large", "too many images", "exceed", "could not process image", "invalid image", "pixels"];
        let refused = about_images.iter().chain(&about_form).any(|words| lower.contains(words))
            && !about_size.iter().any(|words| lower.contains(words));
        let next = match (self.form.images, sent) {
            (ImagesForm::Anywhere, SentImages::InResults) if !self.form.alternate => ImagesForm::InUserTurns,
            _ => ImagesForm::InWords,
        };
        let learned = refused && next > self.form.images;
        if learned {
            self.form.images = next;
        }
        learned
    }

    pub(super) fn learn_messages(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let lower = refusal.lower.as_str();
        let form = &mut self.form;
        let roles = ["roles must alternate", "unexpected role", "expected last role", "conversation roles", "order of roles"];
        if !form.alternate && (roles.iter().any(|words| lower.contains(words)) || refusal.codes.contains("3230")) {
            form.alternate = true;
            return true;
        }
        let about_id = lower.contains("tool call id was")
            || lower.contains("tool_use.id")
            || lower.contains("tool_use_id")
            || ((refusal.param.contains("call_id") || refusal.param.ends_with(".id") || lower.contains("tool_calls[0].id"))
                && (lower.contains("too long") || lower.contains("pattern") || lower.contains("length")));
        if about_id {
            let wanted = if lower.contains("length of 9") { IdForm::Nine } else { form.ids.max(IdForm::Forty) };
            if wanted > form.ids {
                form.ids = wanted;
                return true;
            }
        }
        if self.protocol == Protocol::Gemini && form.ids_in_calls && lower.contains("unknown name \"id\"") {
            form.ids_in_calls = false;
            return true;
        }
        if lower.contains("thought_signature") && lower.contains("missing") && !form.skip_signature {
            form.skip_signature = true;
            return true;
        }
        let reasoning =
            ["reasoning_content", "reasoning_details"].iter().any(|name| refusal.names(name)) || names_reasoning_of_turns(refusal, sent);
        if reasoning && form.reasoning != ReasoningForm::Refused {
            let refused = ["unsupported", "not supported", "not permitted", "not allowed"].iter().any(|word| lower.contains(word));
            let demanded = !refused && ["missing", "must be", "required", "need"].iter().any(|word| lower.contains(word));
            let wanted = match form.reasoning {
                ReasoningForm::Returned if demanded => ReasoningForm::Demanded,
                _ if !demanded => ReasoningForm::Refused,
                unchanged => unchanged,
            };
            if wanted != form.reasoning {
                form.reasoning = wanted;
                return true;
            }
        }
        let null = ["null", "none", "undefined", "nil", "required", "empty"].iter().any(|word| lower.contains(word));
        if sent.wordless && ((lower.contains("content") && null) || lower.contains("nonetype") || lower.contains("not callable: null")) {
            let next = match form.empty_content {
                EmptyContent::Null => Some(EmptyContent::Empty),
                EmptyContent::Empty => Some(EmptyContent::Absent),
                EmptyContent::Absent => None,
            };
            if let Some(next) = next {
                form.empty_content = next;
                return true;
            }
        }
        false
    }
}

/// Returns true if a refusal is about the member `reasoning` of earlier turns, and not about the parameter of the request:
/// `('messages.2' : property 'reasoning' is unsupported)`, or `reasoning: Extra inputs are not permitted` to a request
/// without the parameter.
pub(super) fn names_reasoning_of_turns(refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
    let numbered = |rest: &str| rest.strip_prefix(['.', '[']).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let path = refusal.lower.match_indices("messages").any(|(at, found)| refusal.lower.get(at + found.len()..).is_some_and(numbered));
    let about_turns = ["messages", "assistant"].iter().any(|word| has_word(&refusal.lower, word));
    let about_members = about_turns || refusal.lower.contains("extra inputs are not permitted");
    sent.native
        && refusal.names("reasoning")
        && (refusal.param.starts_with("messages") || path || (about_members && !sent.settings.contains_key("reasoning")))
}
