//! What can be typed, and what is said of what cannot.

use clap::{CommandFactory, Parser};

use super::*;

#[test]
fn the_commands_are_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_and_option_says_what_it_is() {
    fn check(command: &clap::Command) {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
        command.get_subcommands().for_each(check);
    }
    check(&Cli::command());
}

#[test]
fn the_book_tells_every_command_and_option() {
    let book = include_str!("../../../../docs/src/reference/commands.md");
    let told = |words: &str| assert!(book.contains(words), "docs/src/reference/commands.md does not tell {words}");
    let command = Cli::command();
    for argument in command.get_arguments() {
        argument.get_long().iter().for_each(|long| told(&format!("--{long}")));
        argument.get_short().iter().for_each(|short| told(&format!("`-{short}")));
    }
    for command in command.get_subcommands() {
        let name = command.get_name();
        told(&format!("aime {name}"));
        let shown = book.split(&format!("aime {name} ")).nth(1).unwrap_or(book).split("aime ").next().unwrap_or_default();
        for argument in command.get_arguments() {
            argument.get_long().iter().for_each(|long| assert!(shown.contains(&format!("--{long}")), "aime {name} --{long} is not told"));
        }
        command
            .get_subcommands()
            .for_each(|inner| assert!(shown.contains(inner.get_name()), "aime {name} {} is not told", inner.get_name()));
    }
}

#[test]
fn times_are_read_as_people_write_them() {
    for (text, seconds) in
        [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3_600), ("1h30m", 5_400), ("1h 30m", 5_400), (" 5m ", 300), ("2 hours", 7_200)]
    {
        assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
    }
    for text in ["", "0", "0s", "-5m", "-5", "abc", "5x", "1month", "1.5.2h", "∞"] {
        assert!(parse_duration(text).unwrap_err().contains("10m"), "{text}");
    }
}

#[test]
fn money_is_above_nothing() {
    for (text, cost) in [("1", 1.0), ("0.5", 0.5), ("$2", 2.0), ("1e-3", 0.001)] {
        assert_eq!(parse_cost(text), Ok(cost), "{text}");
    }
    for text in ["", "0", "-1", "nan", "inf", "1,5", "many"] {
        assert!(parse_cost(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_wrong_names_the_option() {
    let cases: [&[&str]; 8] = [
        &["run", "g", "--timeout", "-5m"],
        &["run", "g", "--timeout", "abc"],
        &["run", "g", "--max-cost", "-1"],
        &["run", "g", "--max-cost", "nan"],
        &["run", "g", "--max-tokens", "0"],
        &["run", "g", "--max-tokens", "-5"],
        &["run", "g", "--max-parallel", "0"],
        &["run", "g", "--max-parallel", "-1"],
    ];
    for arguments in cases {
        let error = Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err().to_string();
        assert!(error.contains(arguments[2]) && error.contains(arguments[3]), "{error}");
    }
}

#[test]
fn who_names_no_run_or_no_command_is_told_what_to_type() {
    let told = |arguments: &[&str]| with_tip(Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err()).to_string();
    for arguments in [&["resume"][..], &["runs", "report"], &["runs", "show"], &["answer"]] {
        assert!(told(arguments).contains("tip: `last` is the newest run"), "{}", told(arguments));
    }
    let goal = told(&["list the TODO comments"]);
    assert!(goal.contains("tip: a goal stands behind `run`") && !goal.contains("similar"), "{goal}");
    assert!(told(&["rum"]).contains("'run'"), "what is nearly a command is named");
    assert!(!told(&["tools", "show"]).contains("newest run"));
}
