//! Program that embeds aime: it runs a goal as the folder is configured, watches, answers and resumes.

use aime_runs::{Drive, Environment, RunUpdate, Runs, Setup};
use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use serde_json::json;

async fn program(folder: &std::path::Path) -> Result<String, Box<dyn std::error::Error>> {
    let runs = Runs::new(Setup::builder(Environment::default()).open(Some(folder))?);
    let mut run = runs.start(runs.request("Paint the wall"), Drive::default()).await?;
    let mut seen = Vec::new();
    while let Some(update) = run.next().await {
        if let RunUpdate::Event(event) = update {
            seen.push(event.event.name());
        }
    }
    let (id, result) = (run.id().clone(), run.result().await?);
    assert!(seen.contains(&"question_asked") && result.answer.is_empty(), "{seen:?}");

    let answered = runs.answer(&id, None, "blue, since you ask".to_owned()).await?;
    assert!(answered.was_left && !runs.is_driven(&id));
    let result = runs.resume(&id, None, Drive::default()).await?.result().await?;
    runs.end().await;
    Ok(result.answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_runs_watches_answers_and_resumes() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(When::tools().and_contains("blue, since you ask"), [Reply::text("painted blue")]);
    let server = ScriptedServer::start(script).await;
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("[planning]\nmode = \"direct\"\n[models.default]\nmodel = \"m\"\nbase_url = \"{}\"\n", server.url());
    std::fs::write(folder.path().join("aime.toml"), settings).unwrap();
    let answer = program(folder.path()).await.unwrap_or_else(|error| panic!("{error}: {:?}", server.requests()));
    assert_eq!(answer, "painted blue");
}
