//! `bash`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::command::{self, Command};
use crate::{Tool, ToolContext, ToolError, ToolOutput, Touches, TypedTool};

/// What a failure says where a program has ended with code 1 and said nothing, as grep does.
const NOTHING_FOUND: &str = "exit code 1";
/// What is said of a command that has ended well without a word, as `grep -q` does.
const SILENT: &str = "(nothing printed, exit code 0)";
/// Characters of a written file that are shown.
const SHOWN: usize = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// Command to run
    command: String,
    /// Seconds
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
}

pub(super) fn tool(time_limit: Duration) -> impl Tool {
    let description = "Run a shell command in the working folder. It cannot be typed to; what it leaves in the background ends with it.";
    TypedTool::new("bash", description, move |parameters: Bash, context: ToolContext| async move {
        let text = parameters.command;
        let command = Command {
            program: "bash",
            arguments: vec!["-c".into(), text.clone().into()],
            input: Vec::new(),
            time_limit: parameters.timeout_seconds.map_or(time_limit, Duration::from_secs),
            what: "the command",
        };
        match command::call(command, &context).await {
            Ok(output) if output.text.is_empty() => Ok(ToolOutput { text: written(&text, &context), ..output }),
            Err(ToolError::Failed(failure)) if failure == NOTHING_FOUND && text.contains("grep") => {
                Err(ToolError::Failed(format!("{failure}, and nothing was printed: grep has found nothing")))
            }
            called => called,
        }
    })
    .touches(Touches::Processes)
    .time_limit(time_limit)
    .time_limit_chosen_in("timeout_seconds")
    .describes("timeout_seconds", &format!("{} by default", time_limit.as_secs()))
    .alternatives(&["python"])
}

/// What a command that printed nothing has written: the beginnings of the files that its output went to, as far as they are text in the working
/// folder. A model that sees nothing at all makes the call again, or invents what came of it.
fn written(command: &str, context: &ToolContext) -> String {
    let files = redirected(command);
    let told = files.iter().filter_map(|file| {
        let text = String::from_utf8(context.folder.read(file).ok()?).ok()?;
        let shown: String = text.chars().take(SHOWN).collect();
        let rest = if shown.len() < text.len() { "…" } else { "" };
        Some(if shown.is_empty() { format!("`{file}` is empty now.") } else { format!("`{file}` is now:\n{shown}{rest}") })
    });
    let told = told.collect::<Vec<_>>().join("\n");
    if told.is_empty() { SILENT.to_owned() } else { told }
}

/// The files that the output of a command goes to: what stands behind `>` and `>>` outside of quotes, each once. Names that the shell makes out of
/// others are left out.
fn redirected(command: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let (mut quote, mut before) = (None, ' ');
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '\\') => drop(letters.next()),
            (None, '>') if !matches!(before, '2' | '&' | '<' | '-' | '=') => {
                while letters.next_if(|next| matches!(next, '>' | ' ' | '|')).is_some() {}
                let open = letters.next_if(|next| matches!(next, '\'' | '"'));
                let ends = |next: &char| open.map_or_else(|| next.is_whitespace() || ";|&<>()".contains(*next), |open| *next == open);
                let mut file = String::new();
                while let Some(next) = letters.next_if(|next| !ends(next)) {
                    file.push(next);
                }
                open.and_then(|_| letters.next());
                if !file.is_empty() && !file.contains(['$', '*', '?', '`', '~', '{', '\\']) && !files.contains(&file) {
                    files.push(file);
                }
            }
            _ => {}
        }
        before = letter;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_output_goes_to_are_found() {
        let cases: [(&str, &[&str]); 12] = [
            ("ls", &[]),
            ("ls > a.txt", &["a.txt"]),
            ("(echo a; echo b)>>out/b.txt; wc -l<c", &["out/b.txt"]),
            ("sort x >'two words.txt' && cat y >| z", &["two words.txt", "z"]),
            ("make 2>errors.txt", &[]),
            ("make 2>&1", &[]),
            ("make &> all.txt", &[]),
            ("echo 'a > b' \"c > d\" \\> e", &[]),
            ("for f in *; do cat $f > $f.new; done", &[]),
            ("cat a > b; cat c >> b", &["b"]),
            ("awk '$1 > 2' x > y", &["y"]),
            ("echo x >", &[]),
        ];
        for (command, expected) in cases {
            assert_eq!(redirected(command), expected, "{command}");
        }
    }
}
