//! Tests of messages in both languages.

use std::cell::Cell;

use aime_messages::{Language, Message};
use aime_runs::Environment;

use super::{LanguageChoice, counted, msg, plain_message, print_question, word_name};

thread_local! {
    static LANGUAGE: Cell<Option<Language>> = const { Cell::new(None) };
}

pub(super) fn language_of_this_thread() -> Option<Language> {
    LANGUAGE.get()
}

/// Runs `work` in a language, on this thread alone.
pub(crate) fn in_language<T>(language: Language, work: impl FnOnce() -> T) -> T {
    LANGUAGE.set(Some(language));
    let done = work();
    LANGUAGE.set(None);
    done
}

// Requirement: 19.2
#[test]
fn the_flag_comes_first_then_the_settings_then_the_locale() {
    use Language::{Chinese, English};
    use LanguageChoice::{Auto, En, Zh};
    for (flag, configured, variables, language) in [
        (None, Auto, &[][..], English),
        (None, Auto, &[("LANG", "zh_CN.UTF-8")], Chinese),
        (None, Auto, &[("LANG", "zh")], Chinese),
        (None, Auto, &[("LANG", "zh-Hans")], Chinese),
        (None, Auto, &[("LANG", "zh_TW.UTF-8")], Chinese),
        (None, Auto, &[("LANG", "zha_CN")], English),
        (None, Auto, &[("LANG", "de_DE.UTF-8")], English),
        (None, Auto, &[("LANG", "zh_CN.UTF-8"), ("LC_MESSAGES", "en_US.UTF-8")], English),
        (None, Auto, &[("LANG", "en_US.UTF-8"), ("LC_MESSAGES", "zh_CN.UTF-8")], Chinese),
        (None, Auto, &[("LC_ALL", "C"), ("LC_MESSAGES", "zh_CN"), ("LANG", "zh_CN")], English),
        (None, Auto, &[("LC_ALL", ""), ("LANG", "zh_CN")], Chinese),
        (None, Zh, &[("LC_ALL", "en_US.UTF-8")], Chinese),
        (None, En, &[("LC_ALL", "zh_CN.UTF-8")], English),
        (Some(En), Zh, &[("LC_ALL", "zh_CN.UTF-8")], English),
        (Some(Zh), En, &[], Chinese),
        (Some(Auto), Zh, &[("LC_ALL", "en_US.UTF-8")], English),
    ] {
        let environment = Environment::of(variables.iter().copied());
        assert_eq!(LanguageChoice::language(flag, configured, &environment), language, "{flag:?} {configured:?} {variables:?}");
    }
}

#[test]
fn messages_hold_their_values() {
    assert_eq!(msg!("tree-after", tasks = "find, count"), "after find, count");
    assert_eq!([0, 1, 2].map(|number| counted(number, "task")), ["0 tasks", "1 task", "2 tasks"]);
    assert_eq!(counted(1_234_567, "request"), "1234567 requests", "a number is not grouped");
    assert_eq!(counted(2, "thing that no catalogue has"), "2 thing that no catalogue hass");
    assert_eq!(word_name("status", "waiting_for_human"), "waiting_for_human");
    in_language(Language::Chinese, || {
        assert_eq!(msg!("tree-after", tasks = "find, count"), "在 find, count 之后");
        assert_eq!([1, 2].map(|number| counted(number, "task")), ["1 个任务", "2 个任务"]);
        assert_eq!(word_name("status", "waiting_for_human"), "等待答复");
        assert_eq!(word_name("status", "half way there"), "half way there");
        assert_eq!(plain_message("no-such-message"), "no-such-message");
    });
}

/// The person must see what the question asks about unchanged.
// Requirement: 19.5
#[test]
fn what_a_question_asks_about_is_never_touched() {
    let table = [
        (
            "Run this command?\n    Run this command?\n    rm -r x\nAlways allows here: `bash(rm -r x)`",
            "运行这条命令吗？\n    Run this command?\n    rm -r x\n“总是”会在这里允许：`bash(rm -r x)`",
        ),
        ("Write the file a.txt (3 lines)?", "写入文件 a.txt（3 行）吗？"),
        // An ambiguous question is not translated.
        ("Write the file a (9 lines)?.txt (3 lines)?", "Write the file a (9 lines)?.txt (3 lines)?"),
        // The quoted command is not touched even if it looks like the end of a sentence.
        ("Run this command?\n    Use the tool x?", "运行这条命令吗？\n    Use the tool x?"),
        ("Which colour?", "Which colour?"),
    ];
    for (english, chinese) in table {
        assert_eq!(print_question(&Message::text(english)), english);
        in_language(Language::Chinese, || assert_eq!(print_question(&Message::text(english)), chinese));
    }
}

// Requirement: 19.5
#[test]
fn answers_in_chinese_are_understood() {
    for (typed, word) in [
        ("是", "yes"),
        ("好的。", "yes"),
        ("总是", "always"),
        ("否", "no"),
        ("不要！", "no"),
        ("y", "yes"),
        ("Okay.", "yes"),
        ("是的，但是慢点", "是的，但是慢点"),
    ] {
        assert_eq!(aime_tools::Consent::recorded(typed.to_owned()), word, "{typed}");
    }
}
