//! `aime serve`: the runs of folders in a browser.

use std::{path::PathBuf, pin::pin, sync::Arc};

use aime_dashboard::{Dashboard, Folders, Runs};
use aime_messages::message;
use aime_orchestrator::FailureCode;
use aime_runs::Setup;
use futures::FutureExt;

use crate::{
    failure::{Failure, code},
    output,
    signals::interrupted,
};

/// Serves until Ctrl-C or TERM, then stops the runs it started so that they can be resumed. `more` are folders beside the
/// working folder.
pub(super) async fn serve(port: u16, more: &[PathBuf], setup: Setup) -> Result<u8, Failure> {
    let others: Vec<Setup> = more.iter().map(|folder| setup.opener().open(Some(folder))).collect::<Result<_, _>>()?;
    others.iter().for_each(Setup::report_notes);
    let taken =
        |error: std::io::Error| Failure::usage(message!("port-taken", port = port.to_string(), error)).hint(message!("port-taken-hint"));
    let dashboard = Dashboard::bind(port).await.map_err(taken)?;
    // The token has 244 random bits.
    let token = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|id| id.simple().to_string()).concat();
    let served: Vec<String> = std::iter::once(&setup).chain(&others).map(|setup| setup.folder.display().to_string()).collect();
    output::note(&format!(
        "the runs of {}, for this machine alone; Ctrl-C ends it, and stops the runs that it carries out",
        served.join(", ")
    ));
    // A reader of the address may end this process immediately, so the signal handler is installed before.
    let mut stop = pin!(interrupted());
    if stop.as_mut().now_or_never().is_some() {
        return Ok(0);
    }
    output::result(&dashboard.address(&token));
    let folders = Arc::new(Folders::new(std::iter::once(setup).chain(others)));
    let mut serving = pin!(dashboard.serve(Arc::clone(&folders) as Arc<dyn Runs>, token));
    let served = tokio::select! {
        served = &mut serving => served.map(|()| 0).map_err(|error| Failure::caused(code::USAGE, &error)),
        () = stop => Ok(0),
    };
    tokio::select! {
        () = folders.end() => served,
        () = interrupted() => {
            output::note("stopped at once; `aime resume` goes on with what was under way");
            Ok(FailureCode::Interrupted.exit_code())
        }
    }
}
