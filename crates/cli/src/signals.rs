//! Signals to this process.

use aime_messages::message;
use tokio::sync::mpsc;

use crate::failure::{Failure, code};

/// Interruptions by a person, one for each Ctrl-C or TERM.
pub(crate) type Interruptions = mpsc::UnboundedReceiver<()>;

/// Waits for Ctrl-C or TERM.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        if let Ok(mut terminate) = terminate {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
}

/// Reports each Ctrl-C and TERM from now on, so that none is missed during other work. From then on a signal no longer ends the process, so
/// a blocking read of standard input must come before.
pub(crate) fn interruptions() -> Interruptions {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            interrupted().await;
            if sender.send(()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Returns the result of `work`, or a failure if a person interrupts it. Work that notices the same interruption has its own failure.
pub(crate) async fn unless_interrupted<T, E: Into<Failure>>(
    interruptions: &mut Interruptions,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = work => done.map_err(Into::into),
        Some(()) = interruptions.recv() => Err(Failure::new(code::INTERRUPTED, message!("stopped-by-person"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_interruption_ends_work() {
        let (sender, mut interruptions) = mpsc::unbounded_channel();
        let done = async { Ok::<_, Failure>(7) };
        assert_eq!(unless_interrupted(&mut interruptions, done).await, Ok(7));
        sender.send(()).unwrap();
        let endless = std::future::pending::<Result<u8, Failure>>();
        assert_eq!(unless_interrupted(&mut interruptions, endless).await.unwrap_err().code, code::INTERRUPTED);
        sender.send(()).unwrap();
        let failed = async { Err::<u8, _>(Failure::usage("its own")) };
        assert_eq!(unless_interrupted(&mut interruptions, failed).await.unwrap_err().code, code::USAGE);
    }
}
