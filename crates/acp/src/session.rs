//! One session: a folder, what was chosen, and its runs.

use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::{
    Client, Error, ErrorCode,
    v1::{
        ConnectionTo,
        schema::{
            ContentBlock, Cost, PromptResponse, SessionConfigOptionValue, SessionId, SessionNotification, SessionUpdate, StopReason,
            UsageUpdate,
        },
    },
};
use aime_orchestrator::{PublishedEvent, RunView};
use aime_progress_management::RunId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    EarlierRun, Folder, Next, Refusal, SessionChoices, Turn, UpdateSink, Updates, next,
    person::ClientChannel,
    prompt::Prompt,
    turn::{Ending, ending, next_run_name, runs_of},
    updates::{ContextUse, agent_message},
};

/// Maximum number of earlier runs that a run is given as context.
const REMEMBERED: usize = 5;

/// A session.
pub(crate) struct Session {
    name: RunId,
    folder: Arc<dyn Folder>,
    client: ConnectionTo<Client>,
    chosen: Mutex<SessionChoices>,
    /// Names of its runs, the oldest first.
    runs: Mutex<Vec<RunId>>,
    /// Token that stops the last turn.
    stop: Mutex<CancellationToken>,
    /// Held during a turn.
    turn_lock: Arc<AsyncMutex<()>>,
    /// True if the client shows forms.
    shows_forms: bool,
}

impl Session {
    pub(crate) fn new(name: RunId, folder: Arc<dyn Folder>, (client, shows_forms): (ConnectionTo<Client>, bool)) -> Self {
        let chosen = Mutex::new(folder.choices());
        let (runs, stop, turn_lock) = (Mutex::default(), Mutex::default(), Arc::default());
        Self { name, folder, client, chosen, runs, stop, turn_lock, shows_forms }
    }

    /// Returns an earlier session with its runs and what was chosen for the last of them; `None` if the folder has no run of it.
    pub(crate) fn open_known(name: RunId, folder: Arc<dyn Folder>, client: (ConnectionTo<Client>, bool)) -> Result<Option<Self>, Refusal> {
        let runs = runs_of(&name, &folder.runs()?);
        if runs.is_empty() {
            return Ok(None);
        }
        let session = Self { runs: Mutex::new(runs), ..Self::new(name, folder, client) };
        // With the choices of the settings, the next prompt might start a run in place of going on with the last one.
        if let Some((_, last)) = session.last()? {
            let settings = last.settings();
            *locked(&session.chosen) = SessionChoices { approval: settings.approval, mode: settings.mode };
        }
        Ok(Some(session))
    }

    pub(crate) fn id(&self) -> SessionId {
        SessionId::new(self.name.as_str())
    }

    pub(crate) fn folder(&self) -> &Arc<dyn Folder> {
        &self.folder
    }

    pub(crate) fn choices(&self) -> SessionChoices {
        *locked(&self.chosen)
    }

    /// Chooses another approval mode, from the next run on.
    pub(crate) fn choose_mode(&self, mode: &str) -> Result<SessionChoices, Refusal> {
        let mut chosen = locked(&self.chosen);
        *chosen = chosen.with_mode(mode)?;
        Ok(*chosen)
    }

    /// Chooses another value of a setting, from the next run on.
    pub(crate) fn choose(&self, option: &str, value: &SessionConfigOptionValue) -> Result<SessionChoices, Refusal> {
        let mut chosen = locked(&self.chosen);
        *chosen = chosen.with_option(option, value)?;
        Ok(*chosen)
    }

    /// Stops the turn in progress.
    pub(crate) fn cancel(&self) {
        locked(&self.stop).cancel();
    }

    /// Stops the turn in progress, and waits for its end.
    pub(crate) async fn end(&self) {
        self.cancel();
        drop(self.turn_lock.lock().await);
    }

    /// Shows all that its runs have shown, and the last use of the context window.
    pub(crate) async fn replay(&self) -> Result<(), Refusal> {
        let (mut last, mut cost) = (None, 0.0);
        for run in locked(&self.runs).clone() {
            let Some(seen) = self.folder.view(&run)? else { continue };
            let mut updates = Updates::new(self.folder.path(), UpdateSink::Replay, None);
            for event in &seen.events {
                updates.observe(event).into_iter().for_each(|update| self.show(update));
                last = updates.context_use(&event.event).map(|used| (used, cost)).or(last);
            }
            cost += seen.state.spent.cost_usd;
        }
        if let Some((used, before)) = last {
            self.show_use(used, before).await;
        }
        Ok(())
    }

    /// Takes the next turn. From then on [`Self::cancel`] and [`Self::end`] stop it.
    pub(crate) fn take_turn(self: Arc<Self>) -> Result<SessionTurn, Error> {
        let Ok(turn_lock) = Arc::clone(&self.turn_lock).try_lock_owned() else {
            return Err(Error::new(ErrorCode::INVALID_REQUEST, "a turn of this session is under way: cancel it, or wait for its end"));
        };
        let stop = CancellationToken::new();
        *locked(&self.stop) = stop.clone();
        Ok(SessionTurn { session: self, stop, _turn_lock: turn_lock })
    }

    async fn work(&self, prompt: Prompt, stop: CancellationToken) -> Result<StopReason, Error> {
        let last = self.last().map_err(refused)?;
        let next = match next(last.as_ref().map(|(_, seen)| seen), self.choices()) {
            // A follow-up has no images.
            Next::Continue if !prompt.images.is_empty() => Next::Start,
            next => next,
        };
        let (run, state) = match (&next, last) {
            (Next::Start, _) | (_, None) => (self.begin().map_err(refused)?, None),
            (_, Some((run, seen))) => (run, Some(seen.state)),
        };
        let updates = Arc::new(Mutex::new(Updates::new(self.folder.path(), UpdateSink::Live, state)));
        let (events, watched) = mpsc::unbounded_channel();
        let human = ClientChannel {
            client: self.client.clone(),
            session: self.id(),
            updates: Arc::clone(&updates),
            shows_forms: self.shows_forms,
            one_at_a_time: AsyncMutex::default(),
        };
        let cost_before = self.cost_before(&run).map_err(refused)?;
        let turn = Turn {
            earlier: self.earlier(&run).map_err(refused)?,
            run,
            work: next.with(prompt, self.choices()).map_err(refused)?,
            human: Arc::new(human),
            events,
            stop,
        };
        let (result, ()) = tokio::join!(self.folder.run_turn(turn), self.follow(watched, &updates, cost_before));
        let result = result.map_err(refused)?;
        let updates = locked(&updates);
        match ending(&result) {
            Ending::Fault(message) => Err(Error::new(ErrorCode::INTERNAL_ERROR, message)),
            Ending::Stop(reason, message) => {
                for text in message.into_iter().chain(updates.open_approvals().filter(|_| reason == StopReason::EndTurn)) {
                    self.show(agent_message(&text));
                }
                Ok(reason)
            }
        }
    }

    /// Shows what happens until the run is over or suspended. Earlier runs of the session have cost `before` US dollars.
    async fn follow(&self, mut events: mpsc::UnboundedReceiver<PublishedEvent>, updates: &Mutex<Updates>, before: f64) {
        while let Some(event) = events.recv().await {
            let (shown, used) = {
                let mut updates = locked(updates);
                (updates.observe(&event), updates.context_use(&event.event))
            };
            shown.into_iter().for_each(|update| self.show(update));
            if let Some(used) = used {
                self.show_use(used, before).await;
            }
        }
    }

    /// Shows the use of the context window and the cost of the session, if the window is known.
    async fn show_use(&self, ContextUse { model, used, cost_usd }: ContextUse, before: f64) {
        let Some(size) = self.folder.window(&model).await else { return };
        let cost = before + cost_usd;
        let cost = (cost > 0.0).then(|| Cost::new(cost, "USD"));
        self.show(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost)));
    }

    /// Returns the cost of the session's runs before a run, in US dollars.
    fn cost_before(&self, run: &RunId) -> Result<f64, Refusal> {
        let runs: Vec<RunId> = locked(&self.runs).iter().take_while(|known| *known != run).cloned().collect();
        let seen = runs.iter().map(|run| self.folder.view(run)).collect::<Result<Vec<_>, _>>()?;
        Ok(seen.into_iter().flatten().map(|seen| seen.state.spent.cost_usd).sum())
    }

    fn show(&self, update: SessionUpdate) {
        // The client may have disconnected. Its runs are stopped at the end of the connection.
        drop(self.client.send_notification(SessionNotification::new(self.id(), update)));
    }

    /// Returns the last run of which something was recorded, and forgets later ones: they were stopped before they began.
    fn last(&self) -> Result<Option<(RunId, RunView)>, Refusal> {
        let mut runs = locked(&self.runs);
        while let Some(run) = runs.last() {
            if let Some(seen) = self.folder.view(run)? {
                return Ok(Some((run.clone(), seen)));
            }
            runs.pop();
        }
        Ok(None)
    }

    /// Starts a new run and returns its name.
    fn begin(&self) -> Result<RunId, Refusal> {
        let mut runs = locked(&self.runs);
        let name = next_run_name(&self.name, &runs);
        let name = name.ok_or_else(|| Refusal::Invalid("the name of this session is too long for another run".to_owned()))?;
        runs.push(name.clone());
        Ok(name)
    }

    /// Returns the exchanges in the session before a run.
    fn earlier(&self, run: &RunId) -> Result<Vec<EarlierRun>, Refusal> {
        let runs: Vec<RunId> = locked(&self.runs).iter().take_while(|known| *known != run).cloned().collect();
        let latest = runs.iter().skip(runs.len().saturating_sub(REMEMBERED));
        let seen = latest.map(|run| self.folder.view(run)).collect::<Result<Vec<_>, _>>()?;
        let earlier = seen.into_iter().flatten();
        Ok(earlier.map(|seen| EarlierRun { goal: seen.state.goal, answered: seen.state.answer.unwrap_or_default() }).collect())
    }
}

/// Turn of a session for one prompt.
pub(crate) struct SessionTurn {
    session: Arc<Session>,
    stop: CancellationToken,
    /// Released after the session, so that [`Session::end`] finds no other user of its folder.
    _turn_lock: OwnedMutexGuard<()>,
}

impl SessionTurn {
    /// Answers a prompt: a run of it, to its end or until it waits or is stopped.
    pub(crate) async fn answer(self, prompt: &[ContentBlock]) -> Result<PromptResponse, Error> {
        let prompt = Prompt::of(prompt, self.session.folder.path()).map_err(refused)?;
        let ended = self.session.work(prompt, self.stop.clone()).await;
        match ended {
            // A prompt that the client has cancelled ends as cancelled, even after an error.
            Ok(_) | Err(_) if self.stop.is_cancelled() => Ok(PromptResponse::new(StopReason::Cancelled)),
            ended => ended.map(PromptResponse::new),
        }
    }
}

/// Converts a refusal to an error of the protocol.
pub(crate) fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Invalid(message) => Error::new(ErrorCode::INVALID_PARAMS, message),
        Refusal::Failed(message) => Error::new(ErrorCode::INTERNAL_ERROR, message),
    }
}

/// Locks a value. The lock is only held briefly, and poisoning is ignored.
pub(crate) fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
