//! `aime acp`: aime as an agent of an editor, by the Agent Client Protocol.
//!
//! Standard output carries only the protocol. Runs belong to the folders that the editor opens, with their settings, rights and journals.

use aime_runs::Setup;

use crate::failure::Failure;

#[cfg(not(feature = "acp"))]
pub(super) async fn acp(_: Setup) -> Result<u8, Failure> {
    Err(Failure::usage("this aime was built without the Agent Client Protocol").hint("build it with the feature `acp`"))
}

/// Serves one editor until it closes its end of the pipe, or this process gets Ctrl-C or TERM.
#[cfg(feature = "acp")]
pub(super) async fn acp(setup: Setup) -> Result<u8, Failure> {
    use std::sync::Arc;

    use aime_acp::{FolderService, Folders, Introduction};

    use crate::{failure::code, output, signals::interrupted};

    output::note("serving the Agent Client Protocol on standard input and output; it ends when the input is closed");
    let folders = Arc::new(Folders::new(setup.opener().clone(), setup.folder.clone()));
    let introduction = Introduction { version: env!("CARGO_PKG_VERSION").to_owned(), setup: vec!["--init".to_owned()] };
    let served = aime_acp::serve(Arc::clone(&folders) as Arc<dyn FolderService>, introduction, tokio::io::stdin(), tokio::io::stdout());
    let served = tokio::select! {
        served = served => served,
        () = interrupted() => Ok(()),
    };
    folders.end().await;
    served.map(|()| 0).map_err(|error| Failure::caused(code::USAGE, &error).hint("its client speaks ACP, one JSON object on each line"))
}
