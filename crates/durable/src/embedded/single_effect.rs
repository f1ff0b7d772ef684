//! Execution of a single effect, for hosts that execute each one where its tools are.

use std::{pin::pin, sync::Arc};

use crate::{EffectRunner, EmbeddedHost, FailedEffect, Host as _, Issue, Machine, MemoryStream, Reason};

/// Carries out one effect in this process and gives the fact that answers it. The machine is elsewhere.
///
/// Facts that the effect sends go to `on_fact`, in order and before the answer. When `cancelled` is ready the effect is
/// revoked: it has 10 s to end by itself and is then aborted. A panic is answered by the runner's
/// [`failed`](EffectRunner::failed). Must be awaited within a tokio runtime; dropping it aborts the effect.
pub async fn execute_effect<M, R>(
    runner: Arc<R>,
    issue: Issue<M::Effect>,
    cancelled: impl Future<Output = ()> + Send,
    mut on_fact: impl FnMut(M::Fact) + Send,
) -> M::Fact
where
    M: Machine,
    R: EffectRunner<M>,
{
    let (id, kind) = (issue.id.clone(), M::kind(&issue.effect));
    let failing = Arc::clone(&runner);
    let mut host = EmbeddedHost::new(runner, MemoryStream::<M>::new());
    host.issue(issue);
    let mut cancelled = pin!(cancelled);
    let mut revoked = false;
    loop {
        let facts = tokio::select! {
            biased;
            facts = host.next() => facts,
            () = &mut cancelled, if !revoked => {
                revoked = true;
                host.revoke(&id, Reason::Cancelled);
                continue;
            }
        };
        // Writes to memory do not fail, and an effect is in progress until its answer arrives.
        let Ok(facts) = facts else { return failing.failed(FailedEffect { id: &id, kind, message: "its facts were lost" }) };
        if facts.is_empty() {
            return failing.failed(FailedEffect { id: &id, kind, message: "it ended without an answer" });
        }
        for recorded in facts {
            if M::answers(&recorded.fact) == Some(&id) {
                return recorded.fact;
            }
            on_fact(recorded.fact);
        }
    }
}

#[cfg(test)]
mod tests;
