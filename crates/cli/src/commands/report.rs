//! `aime runs report`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use aime_durable::run_folder;
use aime_messages::{Message, message};
use aime_progress_management::RunId;
use aime_report::ReportView;
use aime_runs::{Setup, write_whole};
use serde_json::json;

use crate::{
    args::Output,
    failure::{Failure, code},
    output,
};

/// Name of the file in the folder of the run.
const FILE: &str = "report.html";

/// Writes the report of a run. With `-` the page is the result; otherwise its path is.
pub(super) fn report(run: &RunId, page: &ReportView, to: Option<&Path>, form: Output, setup: &Setup) -> Result<(), Failure> {
    let page = page.html();
    if to == Some(Path::new("-")) {
        output::result(page.trim_end());
        return Ok(());
    }
    let path = match to {
        Some(path) => path.to_owned(),
        None => default_path(run, setup)?,
    };
    let unwritable = |error| {
        Failure::usage(message!("report-not-written", file = path.display(), reason = Message::text(error))).hint(message!("report-hint"))
    };
    write_whole(&path, &page, true).map_err(unwritable)?;
    match form {
        Output::Text => output::result(&path.display().to_string()),
        Output::Json | Output::Jsonl => output::json(&json!({"run_id": run, "report": path.display().to_string()}), form == Output::Json)?,
    }
    Ok(())
}

/// Returns the default path of a report.
fn default_path(run: &RunId, setup: &Setup) -> Result<PathBuf, Failure> {
    let folder = run_folder(&setup.data_folder(), run.as_str());
    let made = fs::create_dir_all(&folder);
    made.map_err(|error| Failure::caused(code::USAGE, &error).hint(message!("name-report")))?;
    Ok(folder.join(FILE))
}
