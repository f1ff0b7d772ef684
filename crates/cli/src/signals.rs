//! Signals to this process.

use aime_messages::message;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, code};

/// Interruption of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// Ctrl-C, which all programs on the terminal get.
    Keys,
    /// TERM, which only this process gets.
    Termination,
}

/// Interruptions, one for each Ctrl-C or TERM.
pub(crate) type Interruptions = mpsc::UnboundedReceiver<Interruption>;

/// Waits for Ctrl-C or TERM.
pub(crate) async fn interrupted() {
    Signals::listen().next().await;
}

/// Reports each Ctrl-C and TERM from now on, so that none is missed during other work. From then on a signal no longer ends the process, so
/// a blocking read of standard input must come before.
pub(crate) fn interruptions() -> Interruptions {
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut signals = Signals::listen();
    tokio::spawn(async move { while sender.send(signals.next().await).is_ok() {} });
    receiver
}

/// Signals since the call of [`Signals::listen`].
struct Signals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self { interrupt: signal(SignalKind::interrupt()).ok(), terminate: signal(SignalKind::terminate()).ok() }
    }

    async fn next(&mut self) -> Interruption {
        async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = received(&mut self.interrupt) => Interruption::Keys,
            () = received(&mut self.terminate) => Interruption::Termination,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    const fn listen() -> Self {
        Self {}
    }

    async fn next(&mut self) -> Interruption {
        drop(tokio::signal::ctrl_c().await);
        Interruption::Keys
    }
}

/// Returns the failure of work that a person interrupts.
pub(crate) fn interrupted_failure() -> Failure {
    Failure::new(code::INTERRUPTED, message!("stopped-by-person"))
}

/// Cancels `stop` at the first interruption, and returns at the second one.
pub(crate) async fn stop_on_interruptions(interruptions: &mut Interruptions, stop: &CancellationToken) {
    for _ in 0..2 {
        if interruptions.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        stop.cancel();
    }
}

/// Waits for TERM. Drops each Ctrl-C before it, which is for the program on the terminal.
pub(crate) async fn terminated(interruptions: &mut Interruptions) {
    loop {
        match interruptions.recv().await {
            Some(Interruption::Termination) => return,
            Some(Interruption::Keys) => {}
            None => std::future::pending().await,
        }
    }
}

/// Returns the result of `work`, or a failure if a person interrupts it. Work that notices the same interruption has its own failure.
pub(crate) async fn unless_interrupted<T, E: Into<Failure>>(
    interruptions: &mut Interruptions,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = work => done.map_err(Into::into),
        Some(_) = interruptions.recv() => Err(interrupted_failure()),
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
        sender.send(Interruption::Keys).unwrap();
        let endless = std::future::pending::<Result<u8, Failure>>();
        assert_eq!(unless_interrupted(&mut interruptions, endless).await.unwrap_err().code, code::INTERRUPTED);
        sender.send(Interruption::Keys).unwrap();
        let failed = async { Err::<u8, _>(Failure::usage("its own")) };
        assert_eq!(unless_interrupted(&mut interruptions, failed).await.unwrap_err().code, code::USAGE);
    }

    #[tokio::test]
    async fn the_second_interruption_ends_the_wait_for_the_first() {
        let (sender, mut interruptions) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        sender.send(Interruption::Keys).unwrap();
        let first = stop_on_interruptions(&mut interruptions, &stop);
        tokio::select! {
            biased;
            () = first => panic!("one interruption only stops"),
            () = stop.cancelled() => {}
        }
        let stop = CancellationToken::new();
        sender.send(Interruption::Keys).unwrap();
        sender.send(Interruption::Termination).unwrap();
        stop_on_interruptions(&mut interruptions, &stop).await;
        assert!(stop.is_cancelled());
    }

    #[tokio::test]
    async fn ctrl_c_is_for_the_program_on_the_terminal() {
        let (sender, mut interruptions) = mpsc::unbounded_channel();
        sender.send(Interruption::Keys).unwrap();
        let waits = tokio::time::timeout(std::time::Duration::from_millis(20), terminated(&mut interruptions));
        assert!(waits.await.is_err());
        sender.send(Interruption::Termination).unwrap();
        terminated(&mut interruptions).await;
    }
}
