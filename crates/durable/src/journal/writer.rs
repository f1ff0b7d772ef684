//! The thread that writes and commits all waiting work together.

use std::{
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::JournalError;

/// Maximum number of jobs in one transaction, so that the first need not wait forever.
const GROUP: usize = 1_024;

/// A piece of writing: first done, then, once the transaction is durable, answered.
pub(super) trait Job: Send {
    /// Writes, within a transaction. Done once more where another one of its group fails, after what it wrote was rolled back.
    fn work(&mut self, connection: &Connection) -> Result<(), JournalError>;
    /// Sends the outcome to the waiting caller.
    fn answer(self: Box<Self>, outcome: Result<(), JournalError>);
}

/// Writes by a function and answers with what it gave.
struct Write<F, T> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, JournalError>>,
}

impl<F, T> Job for Write<F, T>
where
    F: FnMut(&Connection) -> Result<T, JournalError> + Send,
    T: Send,
{
    fn work(&mut self, connection: &Connection) -> Result<(), JournalError> {
        self.done = Some((self.work)(connection)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), JournalError>) {
        let answer = match (outcome, self.done) {
            (Ok(()), Some(done)) => Ok(done),
            (Err(error), _) => Err(error),
            // Unreachable, because work that succeeded has set its result. The receiver then reads "closed".
            (Ok(()), None) => return,
        };
        // The caller may have stopped waiting; the write is done all the same.
        drop(self.reply.send(answer));
    }
}

/// Sends work to the thread. Dropping it lets the thread finish the queued work, and waits for that.
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<thread::JoinHandle<()>>,
    commits: watch::Receiver<u64>,
    path: PathBuf,
    /// Simulated disk, which decides the fate of each write; used instead of a thread.
    #[cfg(any(test, feature = "simulation"))]
    simulated: Option<super::simulated::Simulated>,
}

impl Writer {
    /// Starts the thread. It calls `open` when there is something to write.
    pub(super) fn start(
        open: impl FnOnce() -> Result<Connection, JournalError> + Send + 'static,
        path: &Path,
    ) -> Result<Self, JournalError> {
        let (queue, waiting) = mpsc::channel();
        let (fire, commits) = watch::channel(0);
        let place = path.to_owned();
        let thread = thread::Builder::new()
            .name("aime-journal".to_owned())
            .spawn(move || serve(open, &waiting, &fire, &place))
            .map_err(|_| JournalError::Closed { path: path.to_owned() })?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
            commits,
            path: path.to_owned(),
            #[cfg(any(test, feature = "simulation"))]
            simulated: None,
        })
    }

    /// Writes at once, where it is asked to, on a disk that may fail.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn simulated(simulated: super::simulated::Simulated, path: &Path) -> Self {
        let commits = simulated.commits();
        Self { queue: None, thread: None, commits, path: path.to_owned(), simulated: Some(simulated) }
    }

    /// Returns the simulated disk, which executes reads too, because it has no other connection.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) const fn simulation(&self) -> Option<&super::simulated::Simulated> {
        self.simulated.as_ref()
    }

    pub(super) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.clone()
    }

    /// Queues a piece of writing at once. The future it gives completes when that is durable; if it is dropped, the writing is done all the same.
    pub(super) fn write<T, F>(&self, work: F) -> impl Future<Output = Result<T, JournalError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, JournalError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let closed = JournalError::Closed { path: self.path.clone() };
        #[cfg(any(test, feature = "simulation"))]
        if let Some(simulated) = &self.simulated {
            simulated.write(Box::new(Write { work, done: None, reply }), &self.path);
            return answered(answer, closed);
        }
        if let Some(queue) = &self.queue {
            // If the thread has ended, the reply is dropped with the job, and the answer is "closed".
            drop(queue.send(Box::new(Write { work, done: None, reply })));
        }
        answered(answer, closed)
    }
}

async fn answered<T>(answer: oneshot::Receiver<Result<T, JournalError>>, closed: JournalError) -> Result<T, JournalError> {
    answer.await.unwrap_or(Err(closed))
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been answered already: all who waited got "closed".
            drop(thread.join());
        }
    }
}

fn serve(
    open: impl FnOnce() -> Result<Connection, JournalError>,
    waiting: &mpsc::Receiver<Box<dyn Job>>,
    fire: &watch::Sender<u64>,
    path: &Path,
) {
    let mut next = waiting.recv().ok();
    if next.is_none() {
        return;
    }
    let connection = match open() {
        Ok(connection) => connection,
        Err(error) => return next.into_iter().chain(waiting).for_each(|job| job.answer(Err(error.clone()))),
    };
    while let Some(first) = next {
        let mut jobs = vec![first];
        while jobs.len() < GROUP
            && let Ok(job) = waiting.try_recv()
        {
            jobs.push(job);
        }
        let outcomes = commit(&connection, &mut jobs, path);
        if outcomes.iter().any(Result::is_ok) {
            fire.send_modify(|commits| *commits += 1);
        }
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            job.answer(outcome);
        }
        next = waiting.recv().ok();
    }
}

/// Does all the jobs in one transaction. One that fails is undone alone; if the transaction itself fails, all of them fail.
pub(super) fn commit(connection: &Connection, jobs: &mut [Box<dyn Job>], path: &Path) -> Vec<Result<(), JournalError>> {
    match try_commit(connection, jobs, path) {
        Ok(outcomes) => outcomes,
        Err(error) => {
            if !connection.is_autocommit()
                && let Err(error) = connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, path = %path.display(), "the journal cannot be rolled back");
            }
            jobs.iter().map(|_| Err(error.clone())).collect()
        }
    }
}

fn try_commit(connection: &Connection, jobs: &mut [Box<dyn Job>], path: &Path) -> Result<Vec<Result<(), JournalError>>, JournalError> {
    let run = |sql: &str| -> Result<(), JournalError> {
        connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map(|_| ())
            .map_err(|error| JournalError::from_sqlite(path, error))
    };
    run("BEGIN IMMEDIATE")?;
    // A savepoint keeps a copy of every page that is written after it: jobs are given one only where one of them fails, which is rare.
    let outcomes = match jobs.iter_mut().try_for_each(|job| job.work(connection)) {
        Ok(()) => jobs.iter().map(|_| Ok(())).collect(),
        Err(error) if connection.is_autocommit() => return Err(error),
        Err(_) => {
            run("ROLLBACK")?;
            run("BEGIN IMMEDIATE")?;
            each_alone(connection, jobs, &run)?
        }
    };
    run("COMMIT")?;
    Ok(outcomes)
}

/// Executes each job in a savepoint of its own, so that a failed job is undone alone.
fn each_alone(
    connection: &Connection,
    jobs: &mut [Box<dyn Job>],
    run: &dyn Fn(&str) -> Result<(), JournalError>,
) -> Result<Vec<Result<(), JournalError>>, JournalError> {
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        run("SAVEPOINT job")?;
        let outcome = job.work(connection);
        if let Err(error) = &outcome {
            // Some faults, such as a full disk, make SQLite roll the whole transaction back.
            if connection.is_autocommit() {
                return Err(error.clone());
            }
            run("ROLLBACK TO job")?;
        }
        run("RELEASE job")?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests;
