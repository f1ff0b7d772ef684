//! Tests of progress, and of a server's questions to a person.

use std::sync::Mutex;

use aime_tools::{AskPerson, ProgressReporter};

use super::*;

/// Returns a person who gives these answers in order, and the questions that they got.
fn somebody(answers: &'static [&'static str]) -> (AskPerson, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let person = AskPerson::new(move |question| {
        let mut asked = kept.lock().unwrap();
        let answer = answers.get(asked.len()).map(|answer| (*answer).to_owned());
        asked.push(question);
        Box::pin(async move { answer })
    });
    (person, asked)
}

// Requirement: 8.9
#[tokio::test]
async fn a_server_asks_the_person_behind_the_call() {
    let http = Http::start(Path::new("/"), &[]).await;
    for transport in [stdio(&[]), http.transport(None)] {
        let mut world = World::of(McpSettings::new(vec![McpServerSettings::new("odd", transport)])).await;
        let (person, asked) = somebody(&["Ada", "many", "36"]);
        world.context = world.context.with_person(person);
        assert_eq!(world.text("mcp__odd__asks", json!({})).await, "You are {\"name\":\"Ada\",\"age\":36}");
        let asked = asked.lock().unwrap();
        assert!(asked[0].starts_with("The MCP server `odd` asks: Who are you?\nname: Your name\n"), "{}", asked[0]);
        assert!(asked[1].contains("\nage\nIt may be left empty.\n"), "{}", asked[1]);
        assert!(
            asked[2].ends_with("That does not fit: The parameters do not fit: `age` must be an integer, not \"many\"."),
            "{}",
            asked[2]
        );
    }
}

#[tokio::test]
async fn a_person_may_decline_and_nobody_is_no_yes() {
    let mut world = World::odd(|_| ()).await;
    assert_eq!(world.text("mcp__odd__asks", json!({})).await, "You do not say.");
    for answers in [&["decline"] as &'static [&'static str], &[], &["Ada", "many", "many"]] {
        let (person, _) = somebody(answers);
        world.context = world.context.with_person(person);
        assert_eq!(world.text("mcp__odd__asks", json!({})).await, "You do not say.", "{answers:?}");
    }
}

/// A server of the version 2025-11-25 refuses the call with the address of the page.
// Requirement: 8.9
#[tokio::test]
async fn a_page_is_opened_and_the_call_repeated() {
    for answers in [&["yes"] as &'static [&'static str], &["no"], &[]] {
        let mut world = World::odd(|_| ()).await;
        let (person, asked) = somebody(answers);
        world.context = world.context.with_person(person);
        let answered = world.call("mcp__odd__asks", json!({"page": true})).await;
        let asked = asked.lock().unwrap();
        assert!(asked.len() == 1 && asked[0].contains(": Confirm your account\nhttps://shop.example/confirm\n"), "{asked:?}");
        match answered {
            Ok(output) => assert_eq!((answers, output.text.as_str()), (&["yes"] as &[&str], "The page was opened.")),
            Err(error) => {
                let fault = error.to_string();
                assert!(answers != ["yes"] && fault.contains("says: confirm your account first\n"), "{answers:?}: {fault}");
                assert!(fault.contains("open a page first: Confirm your account\nhttps://shop.example/confirm"), "{fault}");
            }
        }
    }
    let fault = World::odd(|_| ()).await.fault("mcp__odd__asks", json!({"page": true})).await;
    assert!(fault.contains("https://shop.example/confirm"), "nobody is there: {fault}");
}

#[tokio::test]
async fn the_time_of_a_person_does_not_count() {
    let mut world = World::odd(|settings| settings.call_limit = Duration::from_secs(3)).await;
    world.context = world.context.with_person(AskPerson::new(|question| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Some(if question.contains("\nage") { String::new() } else { "Ada".to_owned() })
        })
    }));
    assert_eq!(world.text("mcp__odd__asks", json!({})).await, "You are {\"name\":\"Ada\"}");
}

#[tokio::test]
async fn progress_is_told_and_keeps_a_call_alive() {
    let mut world = World::odd(|settings| settings.call_limit = Duration::from_secs(5)).await;
    let news = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&news);
    world.context = world.context.with_progress(ProgressReporter::new(move |text| kept.lock().unwrap().push(text)));
    assert_eq!(world.text("mcp__odd__slow", json!({"beats": 300})).await, "done", "it took six seconds");
    let news = news.lock().unwrap();
    assert!(news.contains(&"150/300 beat".to_owned()) && news.len() > 270, "{news:?}");
}
