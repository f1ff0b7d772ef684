//! Tests of valid arguments, and of the messages on invalid ones.

use std::collections::BTreeSet;

use clap::{CommandFactory, Parser};

use super::{
    tips::with_tip,
    usage_error::{command, explained},
    *,
};
use aime_messages::Language;

use crate::i18n::in_language;

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
    check(&whole_command());
}

/// Returns the command with all arguments, also those that clap learns late.
fn whole_command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Returns the arguments of a command without those that clap adds.
fn defined_arguments(command: &clap::Command) -> impl Iterator<Item = &clap::Arg> {
    command.get_arguments().filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()))
}

#[test]
fn the_book_tells_every_command_and_option() {
    let book = include_str!("../../../../docs/src/reference/commands.md");
    let message = |words: &str| assert!(book.contains(words), "docs/src/reference/commands.md does not tell {words}");
    let command = whole_command();
    let globals: BTreeSet<_> = defined_arguments(&command).map(clap::Arg::get_id).collect();
    for argument in defined_arguments(&command) {
        argument.get_long().iter().for_each(|long| message(&format!("--{long}")));
        argument.get_short().iter().for_each(|short| message(&format!("`-{short}")));
    }
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = command.get_name();
        message(&format!("aime {name}"));
        let shown = book.split(&format!("aime {name} ")).nth(1).unwrap_or(book).split("aime ").next().unwrap_or_default();
        for argument in defined_arguments(command).filter(|argument| !globals.contains(argument.get_id())) {
            argument.get_long().iter().for_each(|long| assert!(shown.contains(&format!("--{long}")), "aime {name} --{long} is not told"));
        }
        command
            .get_subcommands()
            .filter(|inner| inner.get_name() != "help")
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
        assert!(parse_duration(text).unwrap_err().to_string().contains("10m"), "{text}");
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
    for (arguments, number) in [
        #[cfg(feature = "temporal")]
        (["--engine", "foo://x", "runs", "list"], "write temporal://HOST:PORT, or temporal://HOST:PORT/NAMESPACE"),
        #[cfg(feature = "temporal")]
        (["worker", "--engine", "h:1", "--serve=x"], "write some of runs, llm, planner, tools.files, tools.shell, tools.web, tools.mcp"),
        (["run", "g", "--max-tokens", "-5"], "write a whole number of at least 1"),
        (["run", "g", "--max-parallel", "1001"], "write a whole number from 1 to 1000"),
        (["serve", "--port", "99999", "--plain"], "write a whole number from 0 to 65535"),
        (["serve", "--port", "-1", "--plain"], "write a whole number from 0 to 65535"),
        (["runs", "fork", "r", "--at=x"], "write a whole number of at least 1"),
    ] {
        let error = Cli::try_parse_from(["aime"].iter().chain(&arguments)).unwrap_err().to_string();
        assert!(error.lines().next().unwrap_or_default().ends_with(number), "{error}");
    }
    for arguments in cases {
        let error = Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err().to_string();
        assert!(error.contains(arguments[2]) && error.contains(arguments[3]), "{error}");
    }
}

#[test]
fn a_text_may_begin_with_a_hyphen() {
    for arguments in [
        &["answer", "r", "-5"][..],
        &["answer", "r", "about", "-5"],
        &["tell", "r", "-0.5"],
        &["run", "-5"],
        &["plan", "-5"],
        &["continue", "r", "-5"],
        &["run", "--mode", "auto", "--", "- fix a"],
        &["answer", "r", "--", "--all"],
    ] {
        assert!(Cli::try_parse_from(["aime"].iter().chain(arguments)).is_ok(), "{arguments:?}");
    }
    for arguments in [&["run", "--bad-flag"][..], &["run", "-x"], &["answer", "r", "yes", "--bad-flag"]] {
        let error = Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err().to_string();
        assert!(error.contains(arguments.last().unwrap()), "{error}");
    }
}

/// Returns the fault in arguments, with its tip.
fn fault_in(arguments: &[&str]) -> clap::Error {
    with_tip(Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err(), arguments)
}

#[test]
fn a_text_that_begins_with_a_hyphen_gets_a_tip() {
    for arguments in [
        &["run", "- fix a"][..],
        &["run", "--mode", "auto", "- fix a"],
        &["run", "--all tests"],
        &["run", "--plan the work"],
        &["run", "-fix a bug"],
        &["plan", "- fix a"],
        &["continue", "r", "- fix b"],
        &["answer", "r", "- the second"],
        &["tell", "r", "--all of it"],
        &["tell", "r", "-fix all of it"],
        &["memory", "search", "- the second"],
    ] {
        let message = fault_in(arguments).to_string();
        let tip = "tip: write -- between the options and a text that begins with a hyphen: -- \"- …\"";
        assert!(message.contains(tip) && !message.contains("similar"), "{message}");
        let (text, options) = arguments.split_last().unwrap();
        assert!(Cli::try_parse_from(["aime"].iter().chain(options).chain(&["--", *text])).is_ok(), "{arguments:?}");
    }
    // Here -- is of no use, or the fault is in another argument.
    for arguments in [&["doctor", "- x"][..], &["- x"], &["resume", "r", "- x"], &["run", "-f", "--", "-fix a bug"]] {
        let message = fault_in(arguments).to_string();
        assert!(message.contains("unexpected argument") && !message.contains("begins with a hyphen"), "{message}");
    }
}

#[test]
fn missing_arguments_get_a_tip() {
    let message = |arguments: &[&str]| fault_in(arguments).to_string();
    for arguments in [&["resume"][..], &["runs", "report"], &["runs", "show"], &["answer"]] {
        assert!(message(arguments).contains("tip: `last` is the newest run"), "{}", message(arguments));
    }
    let goal = message(&["list the TODO comments"]);
    assert!(goal.contains("tip: write `run` before a goal") && !goal.contains("similar"), "{goal}");
    assert!(message(&["rum"]).contains("'run'"), "what is nearly a command is named");
    assert!(!message(&["tools", "show"]).contains("newest run"));
    assert!(message(&["delete", "last"]).contains("tip: write `runs` before it: aime runs delete"));
    let of_memory = message(&["memory", "delete", "x"]);
    assert!(!of_memory.contains("runs delete"), "another command's word is no command on runs");
    assert!(of_memory.contains("tip: the commands here are list, "), "{of_memory}");
    let far = message(&["cancel", "last", "--task", "a"]);
    assert!(!far.contains("--tls-key") && far.contains("'--task'"), "{far}");
    assert!(message(&["run", "--modle", "x", "hi"]).contains("'--model'"));
}

#[cfg(not(feature = "temporal"))]
#[test]
fn arguments_of_another_build_name_its_feature() {
    let (engine, place) = (["run", "g", "--engine", "temporal://h:1"], ["run", "g", "--workspace", "x"]);
    for arguments in [&["worker"][..], &engine, &place, &["run", "g", "--git-handoff"]] {
        let fault = fault_in(arguments);
        let message = fault.to_string();
        assert!(message.contains("tip: this aime was built without it: build it with the feature `temporal`"), "{message}");
        assert!(!message.contains("similar") && !message.contains("-- --"), "{message}");
        let message = in_language(Language::Chinese, || explained(&fault));
        assert!(message.contains("提示：这个 aime 构建时没有包含它：请用特性 `temporal` 重新构建"), "{message}");
    }
}

#[cfg(feature = "temporal")]
#[test]
fn all_options_of_the_feature_temporal_are_known_as_such() {
    let command = Cli::command();
    let of_engine = |argument: &&clap::Arg| argument.get_help_heading() == Some("Runs on an engine");
    let options = command.get_arguments().filter(of_engine).filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
    let names: Vec<String> = std::iter::once("worker".to_owned()).chain(options).collect();
    assert_eq!(tips::OF_TEMPORAL.split_whitespace().collect::<Vec<_>>(), names);
}

/// Returns the English lines of a text, without its indented examples.
fn english(text: &str) -> Vec<String> {
    let is_chinese = |line: &str| line.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("  ") && !is_chinese(line)).map(str::to_owned).collect()
}

// Requirement: 19.1
#[test]
fn all_help_is_translated() {
    fn check(command: &clap::Command, missing: &mut Vec<String>) {
        let mut look = |text: Option<String>| missing.extend(text.iter().flat_map(|text| english(text)));
        look(command.get_about().map(ToString::to_string));
        look(command.get_after_help().map(ToString::to_string));
        look(command.get_subcommand_help_heading().map(str::to_owned));
        for argument in command.get_arguments() {
            look(argument.get_help_heading().map(str::to_owned));
            look(argument.get_help().map(ToString::to_string));
            look(argument.get_long_help().map(ToString::to_string));
        }
        command.get_subcommands().for_each(|command| check(command, missing));
    }
    let mut missing = Vec::new();
    in_language(Language::Chinese, || check(&command(), &mut missing));
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "messages/en/help.ftl lacks {missing:#?}");
}

// Requirement: 19.1
#[test]
fn help_in_chinese_shows_what_the_english_one_shows() {
    fn names(help: &str) -> BTreeSet<String> {
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
        words.filter(|word| word.starts_with("--") && word.len() > 2).map(str::to_owned).collect()
    }
    for arguments in [&["--help"][..], &["run", "--help"], &["help", "runs", "report"], &["eval", "--help"], &["mcp", "serve", "-h"]] {
        let english = Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err();
        let chinese = in_language(Language::Chinese, || command().try_get_matches_from(["aime"].iter().chain(arguments)).unwrap_err());
        assert_eq!(chinese.kind(), english.kind());
        let (english, chinese) = (english.to_string(), chinese.to_string());
        assert_eq!(names(&chinese), names(&english), "{chinese}");
        assert!(chinese.contains("用法：") && !chinese.contains("Usage") && !chinese.contains("[default"), "{chinese}");
    }
    let run = in_language(Language::Chinese, || command().try_get_matches_from(["aime", "run", "-h"]).unwrap_err().to_string());
    for line in ["  [GOAL]", "上限:", "所有命令的选项:", "[默认：text] [可选：text, json, jsonl]", "  aime run --goal-file goal.md"]
    {
        assert!(run.contains(line), "{line}\n{run}");
    }
}

// Requirement: 19.1
#[test]
fn usage_errors_are_translated() {
    for (arguments, first, also) in [
        (&["rum"][..], "没有命令 'rum'", "提示：有几个相近的命令：'runs', 'run'"),
        (&["doctr"], "没有命令 'doctr'", "提示：有一个相近的命令：'doctor'"),
        (&["list the TODO comments"], "没有命令 'list the TODO comments'", "提示：目标写在 `run` 之后"),
        (&["run", "--foo"], "不认识参数 '--foo'", "提示：要把 '--foo' 作为值，请写 '-- --foo'"),
        (&["run", "--modle", "x"], "不认识参数 '--modle'", "提示：有一个相近的参数：'--model'"),
        (&["run", "- fix a"], "不认识参数 '- '", "提示：文字以连字符开头时，请在选项和它之间写 --"),
        (&["run", "g", "--mode", "fast"], "值 'fast' 对 '--mode <MODE>' 无效", "[可选：auto, direct, simple, complex, emergent]"),
        (&["run", "g", "--timeout", "abc"], "值 'abc' 对 '--timeout <TIME>' 无效：请写大于 0 的时间", "更多说明请用 '--help'。"),
        (&["run", "g", "--max-cost", "x"], "值 'x' 对 '--max-cost <USD>' 无效：请写大于 0 的美元数", ""),
        (&["run", "g", "--max-tokens", "many"], "值 'many' 对 '--max-tokens <N>' 无效：请写不小于 1 的整数", ""),
        (&["run", "g", "--max-parallel", "0"], "值 '0' 对 '--max-parallel <N>' 无效：请写 1 到 1000 的整数", ""),
        (&["run", "g", "--model"], "'--model <NAME>' 需要一个值，但没有给出", ""),
        (&["run", "g", "h"], "不认识参数 'h'", "用法：aime run [OPTIONS] [GOAL]"),
        (&["run", "g", "--goal-file", "f"], "'[GOAL]' 不能与 '--goal-file <F>' 同时使用", ""),
        (&["run", "g", "--mode", "auto", "--mode", "auto"], "'--mode <MODE>' 不能使用多次", ""),
        (&["resume"], "缺少必需的参数：", "提示：`last` 是最新的运行"),
        (&["--plain"], "'aime' 需要一个子命令，但没有给出", "[子命令：run, plan"),
        (&["eval", "--settings", "x"], "值 'x' 对 '--settings <SETTINGS>' 无效：请写 NAME=FILE", ""),
    ] {
        let fault = Cli::try_parse_from(["aime"].iter().chain(arguments)).unwrap_err();
        let message = in_language(Language::Chinese, || explained(&with_tip(fault, arguments)));
        assert!(message.starts_with(first) && message.contains(also), "{message}");
        let left: Vec<&str> = message.lines().filter(|line| line.starts_with("error") || line.contains("tip:")).collect();
        assert!(left.is_empty() && english(&message).is_empty(), "{message}");
    }
}

#[test]
fn the_language_is_found_where_the_rest_cannot_be_read() {
    use crate::i18n::LanguageChoice::{En, Zh};
    for (line, language) in [
        ("aime --lang zh rum", Some(Zh)),
        ("aime rum --lang=zh-CN", Some(Zh)),
        ("aime --lang EN", Some(En)),
        ("aime rum", None),
        ("aime --lang", None),
        ("aime --lang fr", None),
        ("aime run -- --lang zh", None),
    ] {
        assert_eq!(language_in(line.split(' ').map(str::to_owned)), language, "{line}");
    }
    for (line, color) in [
        ("aime --color never rum", Some(ColorChoice::Never)),
        ("aime rum --color=always", Some(ColorChoice::Always)),
        ("aime --colors never", None),
        ("aime --color", None),
    ] {
        assert_eq!(color_in(line.split(' ').map(str::to_owned)), color, "{line}");
    }
}
