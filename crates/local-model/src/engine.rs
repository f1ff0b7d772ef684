//! Thread that owns the weights and answers requests.
//!
//! It computes prompts one after another, in pieces, so that a later prompt can reuse a prefix that it shares with an earlier one. Up to
//! [`MAX_CONCURRENT`] answers are generated together: a pass over the weights, which dominates the cost of a token, adds one token (or the
//! tokens that a schema forces) to each of them. A dropped request ends before the next pass.

mod load;
mod turn;
mod writing;

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

use aime_llm::{ChatRequest, ModelError, StreamPart};
use tokio::sync::mpsc::UnboundedSender;

pub(crate) use load::Opened;

use crate::grammar::Grammars;
use crate::network::{Network, Part};
use crate::prompt_cache::Store;
use crate::template::Template;
use crate::vocabulary::Vocabulary;
use turn::{Turn, TurnState};

/// Number of answers that are generated together.
const MAX_CONCURRENT: usize = 4;
/// Number of prompt tokens in one pass: enough to use the processor, few enough to stop soon.
const PIECE: usize = 128;

/// Request, with the receiver of its answer.
pub(crate) struct Job {
    pub(crate) request: ChatRequest,
    pub(crate) answer: UnboundedSender<Result<StreamPart, ModelError>>,
}

/// Loaded model.
pub(crate) struct Engine {
    pub(crate) name: String,
    pub(crate) network: Network,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) template: Template,
    /// Created when first needed.
    pub(crate) grammars: Option<Grammars>,
    pub(crate) sampling: Sampling,
    pub(crate) context_tokens: usize,
    pub(crate) most_output_tokens: usize,
    /// Memory for the keys and values of running and cached sequences, in bytes.
    pub(crate) kept_bytes: usize,
    pub(crate) pool: rayon::ThreadPool,
}

/// Default sampling parameters of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) temperature: f32,
    pub(crate) top_p: f32,
    pub(crate) top_k: usize,
    pub(crate) repetition_penalty: f32,
}

impl Engine {
    /// Answers requests until all senders are gone.
    pub(crate) fn run(mut self, jobs: &Receiver<Job>, first: Job) {
        let mut waiting = VecDeque::from([first]);
        let mut running: Vec<Turn> = Vec::new();
        let mut store = Store::default();
        loop {
            loop {
                let job = if waiting.is_empty() && running.is_empty() {
                    jobs.recv().map_err(|_| TryRecvError::Disconnected)
                } else {
                    jobs.try_recv()
                };
                match job {
                    Ok(job) => waiting.push_back(job),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) if waiting.is_empty() && running.is_empty() => return,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            waiting.retain(|job| !job.answer.is_closed());
            running.retain_mut(|turn| {
                let wanted = !turn.answer.is_closed();
                if !wanted {
                    store.put(std::mem::take(&mut turn.sequence));
                }
                wanted
            });
            self.admit(&mut waiting, &mut running, &mut store);
            self.step(&mut running, &mut store);
        }
    }

    /// Starts the first waiting request, unless a prompt is still being computed or there is no room.
    fn admit(&mut self, waiting: &mut VecDeque<Job>, running: &mut Vec<Turn>, store: &mut Store) {
        while running.len() < MAX_CONCURRENT && !running.iter().any(Turn::reads_prompt) {
            let Some(job) = waiting.pop_front() else { return };
            let prepared = match self.prepare(&job.request) {
                Ok(prepared) => prepared,
                Err(error) => {
                    let _ = job.answer.send(Err(error));
                    continue;
                }
            };
            let per_token = self.network.shape().bytes_per_token();
            let needed = prepared.most_tokens() * per_token;
            let taken: usize = running.iter().map(|turn| turn.most_tokens * per_token).sum();
            if !running.is_empty() && taken + needed > self.kept_bytes {
                waiting.push_front(job);
                return;
            }
            let layers = self.network.shape().layers;
            let sequence = store.take(&prepared.prompt, layers, running.iter().map(|turn| &turn.sequence));
            store.shrink(self.kept_bytes.saturating_sub(taken + needed));
            running.push(Turn::begin(prepared, sequence, job, &self.vocabulary));
        }
    }

    /// Makes one pass over the weights for all running requests.
    fn step(&mut self, running: &mut Vec<Turn>, store: &mut Store) {
        if running.is_empty() {
            return;
        }
        let (network, pool) = (&self.network, &self.pool);
        let mut pieces: Vec<Vec<u32>> = running.iter_mut().map(|turn| turn.next_piece(PIECE)).collect();
        let mut parts: Vec<Part<'_>> = running
            .iter_mut()
            .zip(&mut pieces)
            .map(|(turn, piece)| Part { scores: !turn.has_pending(), sequence: &mut turn.sequence, tokens: piece })
            .collect();
        let scores = pool.install(|| network.forward(&mut parts));
        let mut scores = scores.into_iter();
        let mut going_on = Vec::with_capacity(running.len());
        for mut turn in running.drain(..) {
            let begun = if turn.has_pending() { Ok(TurnState::GoesOn) } else { turn.advance(&scores.next().unwrap_or_default(), self) };
            match begun {
                Ok(TurnState::GoesOn) => going_on.push(turn),
                Ok(TurnState::Ended(finish)) => store.put(turn.finish(finish, self)),
                Err(error) => {
                    let _ = turn.answer.send(Err(error));
                    store.put(turn.sequence);
                }
            }
        }
        *running = going_on;
        let taken: usize = running.iter().map(|turn| turn.sequence.bytes()).sum();
        store.shrink(self.kept_bytes.saturating_sub(taken));
    }
}
