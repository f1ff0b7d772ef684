//! The loop of asking, judging and asking again.

use std::sync::Arc;

use aime_messages::Message as Described;
use serde_json::Value;

use crate::{
    ChatModel, ChatRequest, ChatResponse, FinishReason, Model, ModelError, NativeTurn, ReadJson, SchemaChecker, UnreadableJson,
    coerce_to_schema, read_json_where,
};

use super::{
    InvalidAnswer, Structured, StructuredError, StructuredRequest, StructuredUsage, Tier, Tiers,
    prompt::{cut, format, messages},
    tiers::{is_of_fallback, refuses_format},
};

/// Asks a model for JSON of a given form.
///
/// The request demands the schema, else JSON, else text, according to the abilities of the server in `tiers`. New
/// findings are recorded there, and finding out costs no attempt. The answer is read leniently
/// ([`crate::read_json`]), harmless differences of type are corrected, and the answer is checked against the schema.
/// Then `judge` makes the value or lists every fault. A refused answer is sent back with all its faults, until the
/// attempts are used up. Dropping the future cancels the request.
///
/// ```
/// # use std::sync::Arc;
/// use aime_llm::{Message, StructuredRequest, Tiers, ask, scripted::{Reply, ScriptedModel, When}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new("m").on(When::schema("answer"), [Reply::text("{'n': 0}"), Reply::text(r#"{"n": 7}"#)]);
/// let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
/// let question = Arc::new(Message::user("A lucky number?"));
/// let answer = ask(&model.built(), &Tiers::new(), StructuredRequest::new("answer", schema, vec![question]), |value| {
///     value["n"].as_u64().filter(|n| *n > 0).ok_or_else(|| vec!["n must be more than 0".into()])
/// })
/// .await
/// .unwrap();
/// assert_eq!((answer.value, answer.refused.len()), (7, 1));
/// # }
/// ```
///
/// # Errors
/// [`StructuredError`]: the model failed, every answer was refused, or the schema is invalid. The error reports the usage in every case.
pub async fn ask<T>(
    model: &Model,
    tiers: &Tiers,
    request: StructuredRequest,
    judge: impl Fn(Value) -> Result<T, Vec<Described>>,
) -> Result<Structured<T>, StructuredError> {
    let checker = SchemaChecker::new(&request.schema).map_err(|source| StructuredError::Schema { name: request.name.clone(), source })?;
    let mut spent = StructuredUsage::default();
    let mut refused: Vec<InvalidAnswer> = Vec::new();
    let mut natives: Vec<Option<Arc<NativeTurn>>> = Vec::new();
    let mut unreadable = Unreadable::default();
    let key = Tiers::key(model);
    for attempt in 1..=request.tries.max(1) {
        let (tier, response) = match answer(model, (tiers, &key), unreadable.below, (&request, &refused, &natives)).await {
            Ok(answer) => answer,
            Err(source) => return Err(StructuredError::Model { name: request.name, source, refused, spent }),
        };
        spent.add(&response);
        let faults = match read(&response, &checker) {
            Ok(mut read) => {
                unreadable.read(tiers, &key, tier);
                match accept(&mut read, &request, &checker, &judge) {
                    Ok(value) => return Ok(Structured { value, repairs: read.repairs, refused, spent }),
                    Err(faults) => faults,
                }
            }
            Err(unread) => {
                if unread.counts {
                    unreadable.not_read(tier);
                }
                vec![unread.fault.into()]
            }
        };
        refused.push(InvalidAnswer { attempt, faults, answer: cut(&response.content) });
        natives.push(response.native);
    }
    Err(StructuredError::Refused { name: request.name, refused, spent })
}

/// Count of unreadable answers to one question. Two in a row lower the tier of the question. The model's tier is
/// lowered only if the lower tier helped, because a model may fail at one question and not at others.
#[derive(Default)]
struct Unreadable {
    in_row: u32,
    below: Option<Tier>,
}

impl Unreadable {
    /// Number of successive unreadable answers after which another tier is tried.
    const MAX_UNREADABLE: u32 = 2;

    fn not_read(&mut self, tier: Tier) {
        self.in_row += 1;
        if self.in_row >= Self::MAX_UNREADABLE
            && let Some(lower) = tier.lower()
        {
            *self = Self { in_row: 0, below: Some(lower) };
        }
    }

    fn read(&mut self, tiers: &Tiers, key: &str, tier: Tier) {
        self.in_row = 0;
        if self.below.take() == Some(tier) {
            tiers.set(key, tier);
        }
    }
}

/// Returns one answer, at the highest tier that the server accepts, or at `below`.
async fn answer(
    model: &Model,
    (tiers, key): (&Tiers, &str),
    below: Option<Tier>,
    (request, refused, natives): (&StructuredRequest, &[InvalidAnswer], &[Option<Arc<NativeTurn>>]),
) -> Result<(Tier, ChatResponse), ModelError> {
    let mut tier = below.unwrap_or_default().max(tiers.of(key));
    loop {
        let chat = ChatRequest {
            messages: messages(request, tier, refused, natives),
            format: format(request, tier),
            temperature: request.temperature,
            max_output_tokens: request.max_output_tokens,
            ..ChatRequest::default()
        };
        match model.complete(chat).await {
            Ok(response) => return Ok((tier, response)),
            Err(error) if refuses_format(&error) => {
                let lower = if is_of_fallback(&error, model) { tier.lower() } else { tiers.refused(key, tier) };
                let Some(lower) = lower else { return Err(error) };
                tracing::debug!(model = model.name(), ?tier, ?lower, %error, "the server cannot hold to this form");
                tier = lower;
            }
            Err(error) => return Err(error),
        }
    }
}

/// An answer that holds nothing to judge.
struct EmptyAnswer {
    fault: String,
    /// True if the answer counts against the tier.
    counts: bool,
}

fn read(response: &ChatResponse, checker: &SchemaChecker) -> Result<ReadJson, EmptyAnswer> {
    match response.finish {
        FinishReason::Length => {
            let fault = "it was cut off because it was too long: be shorter".to_owned();
            return Err(EmptyAnswer { fault, counts: false });
        }
        FinishReason::ContentFilter => {
            return Err(EmptyAnswer { fault: "the provider withheld it".to_owned(), counts: false });
        }
        _ => {}
    }
    match read_json_where(&response.content, |value| checker.fits(value)) {
        Ok(read) if read.cut => Err(EmptyAnswer { fault: "it is incomplete: write out everything, to its end".to_owned(), counts: false }),
        Ok(read) => Ok(read),
        Err(UnreadableJson::Empty) => match from_reasoning(&response.reasoning) {
            Some(read) => Ok(read),
            None => Err(EmptyAnswer { fault: "it is empty".to_owned(), counts: true }),
        },
        Err(error) => Err(EmptyAnswer { fault: error.to_string(), counts: true }),
    }
}

/// Some servers file a constrained answer under reasoning. It counts if the reasoning is JSON and nothing else.
fn from_reasoning(reasoning: &str) -> Option<ReadJson> {
    let value: Value = serde_json::from_str(reasoning.trim()).ok()?;
    let repairs = vec!["took the answer from the reasoning".to_owned()];
    value.is_object().then_some(ReadJson { value, repairs, cut: false })
}

fn accept<T>(
    read: &mut ReadJson,
    request: &StructuredRequest,
    checker: &SchemaChecker,
    judge: &impl Fn(Value) -> Result<T, Vec<Described>>,
) -> Result<T, Vec<Described>> {
    if !checker.fits(&read.value) {
        let mut evened = read.value.clone();
        let mut repairs = Vec::new();
        coerce_to_schema(&mut evened, &request.schema, &mut repairs);
        if !repairs.is_empty() {
            read.value = evened;
            read.repairs.append(&mut repairs);
        }
    }
    if request.must_fit
        && let Err(faults) = checker.check(&read.value)
    {
        return Err(faults.iter().map(|fault| fault.to_string().into()).collect());
    }
    judge(read.value.clone())
}
