mod places;

use proptest::prelude::*;

use super::*;

/// Formats the simple commands, one per line: `$` marks unknown parts, `!` a command that sets variables, `~` one that only runs another.
fn commands(text: &str) -> String {
    let script = Script::read(text);
    let mut lines: Vec<String> = script
        .commands
        .iter()
        .map(|command| {
            let marks = [(command.sets, '!'), (command.transparent, '~')];
            let marks: String = marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect();
            marks + &shown(&command.text(false))
        })
        .collect();
    lines.sort();
    let mut files: Vec<String> = script
        .redirects
        .iter()
        .map(|redirect| {
            let sign = match (redirect.reads, redirect.writes) {
                (true, true) => "<>",
                (true, false) => "<",
                _ => ">",
            };
            format!("{sign}{}", shown(&redirect.path))
        })
        .collect();
    files.sort();
    lines.extend(files);
    lines.extend(script.unknown.then(|| "unknown".to_owned()));
    lines.join(" | ")
}

fn shown(signs: &[Sign]) -> String {
    signs
        .iter()
        .map(|sign| match sign {
            Sign::Char(character) => *character,
            Sign::Gap => '_',
            Sign::Any => '$',
            Sign::Glob => '*',
        })
        .collect()
}

// Requirement: 13.3
#[test]
fn every_simple_command_is_found() {
    let table = [
        ("cargo test", "cargo_test"),
        ("a; b && c || d | e & f\ng", "a | b | c | d | e | f | g"),
        ("(a; (b)) && { c; }", "a | b | c"),
        ("a $(b \"$(c)\") `d` <(e) >(f)", "a_$_$_$_$ | b_$ | c | d | e | f"),
        ("echo \"x $(rm y) z\"", "echo_x $ z | rm_y"),
        ("echo '$(rm y)'", "echo_$(rm y) | unknown"),
        ("for i in $(a); do b $i; done", "a | b_$"),
        ("while a; do b; done; until c; do d; done", "a | b | c | d"),
        ("if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"),
        ("case $(a) in x) b;; *) c;; esac", "a | b | c"),
        ("f() { rm x; }; f", "f | rm_x"),
        ("function f { rm x; }", "rm_x"),
        ("! a", "a"),
        ("[[ -f $(a) ]] && [ -n \"$(b)\" ]", "a | b"),
        ("(( x = $(a) ))", "a"),
        ("x=$(a) b", "!b | a"),
        ("x=1", ""),
        ("PATH=/evil; a", "! | a"),
        ("PATH=/evil a", "!a"),
        ("RUST_LOG=debug a", "a"),
        ("export A=1 && b", "!export_A=1 | b"),
        ("export LANG=C", "export_LANG=C"),
        ("unset PATH", "!unset_PATH"),
        ("cat <<EOF\nx $(a)\nEOF\nb", "a | b | cat"),
        ("cat <<'EOF' | sort\n$(a)\nEOF\n", "cat | sort"),
        ("cat <<< $(a)", "a | cat"),
        ("a # b; c", "a"),
        ("a 'b c' d\\ e", "a_b c_d e"),
        ("\\rm x", "rm_x"),
        ("r\\\nm x", "unknown"),
        ("rm \\\n  x", "rm_x"),
        ("'r'\"m\" x", "rm_x"),
        ("$x y", "$_y"),
        ("r$x y", "r$_y"),
        ("/bin/r? y", "/bin/r*_y"),
        ("{rm,-rf,x}", "unknown"),
        ("a{b,c} d", "$_d"),
        ("$'\\x72m' y", "$_y"),
        ("ls ~ *.rs", "ls_$_*.rs"),
        ("time a", "a | ~time_a"),
        ("", ""),
        ("# nothing", ""),
    ];
    for (text, expected) in table {
        assert_eq!(commands(text), expected, "{text}");
    }
}

// Requirement: 13.3
#[test]
fn what_runs_others_is_looked_through() {
    let table = [
        ("eval 'rm x'", "rm_x | ~eval_rm x"),
        ("eval rm x", "rm_x | ~eval_rm_x"),
        ("eval $x", "~eval_$ | unknown"),
        ("sh -c 'rm x; a'", "a | rm_x | ~sh_-c_rm x; a"),
        ("bash -euo pipefail -c 'rm x'", "rm_x | ~bash_-euo_pipefail_-c_rm x"),
        ("bash -c \"rm $x\"", "bash_-c_rm $ | unknown"),
        ("bash -c \"sh -c 'rm x'\"", "rm_x | ~bash_-c_sh -c 'rm x' | ~sh_-c_rm x"),
        ("a | sh", "a | sh | unknown"),
        ("sh -s x", "sh_-s_x | unknown"),
        ("sh x.sh", "sh_x.sh"),
        ("bash --version", "bash_--version"),
        ("timeout -k 3 5 rm x", "rm_x | ~timeout_-k_3_5_rm_x"),
        ("timeout --odd 5 rm x", "timeout_--odd_5_rm_x | unknown"),
        ("/tmp/timeout 5 rm x", "/tmp/timeout_5_rm_x | rm_x"),
        ("nice -n 5 nohup rm x", "rm_x | ~nice_-n_5_nohup_rm_x | ~nohup_rm_x"),
        ("nice -10 rm x", "rm_x | ~nice_-10_rm_x"),
        ("env A=1 rm x", "!rm_x | ~env_A=1_rm_x"),
        ("env -i LANG=C rm x", "rm_x | ~env_-i_LANG=C_rm_x"),
        ("env -S 'rm x'", "env_-S_rm x | unknown"),
        ("sudo -u root rm x", "rm_x | sudo_-u_root_rm_x"),
        ("command rm x", "rm_x | ~command_rm_x"),
        ("command -v rm", "command_-v_rm"),
        ("ls | xargs rm -f", "ls | rm_-f_$ | ~xargs_rm_-f"),
        ("xargs -I{} mv {} y", "mv_$_y | ~xargs_-I{}_mv_{}_y"),
        ("xargs -n 1 -P4 rm", "rm_$ | ~xargs_-n_1_-P4_rm"),
        ("find . -name x -exec rm {} \\; -print", "find_._-name_x_-exec_rm_{}_;_-print | rm_$"),
        ("find . -exec sh -c 'rm x' \\;", "find_._-exec_sh_-c_rm x_; | rm_x | ~sh_-c_rm x"),
        ("find . $x", "find_._$ | unknown"),
        ("trap 'rm x' EXIT", "rm_x | trap_rm x_EXIT"),
        ("watch rm x", "unknown | watch_rm_x"),
        ("parallel rm ::: x", "parallel_rm_:::_x | unknown"),
        ("alias l=rm", "alias_l=rm | unknown"),
        ("su -c 'rm x'", "su_-c_rm x | unknown"),
        ("fd -x rm", "fd_-x_rm | unknown"),
        ("env", "env"),
    ];
    for (text, expected) in table {
        let got: Vec<String> = {
            let mut parts: Vec<String> = commands(text).split(" | ").map(str::to_owned).collect();
            parts.sort();
            parts
        };
        let mut wanted: Vec<&str> = expected.split(" | ").collect();
        wanted.sort_unstable();
        assert_eq!(got, wanted, "{text}");
    }
}

#[test]
fn files_of_redirections_are_found() {
    let table = [
        ("echo x > .env", "echo_x | >.env"),
        ("echo x >> a 2> b", "echo_x | >a | >b"),
        ("a &> b", "a | >b"),
        ("a >| b", "a | >b"),
        ("a < b", "a | <b"),
        ("a <> b", "unknown"),
        ("a 2>&1 >/dev/null", "a"),
        ("a >&b", "a | >b"),
        ("a > $x", "a | >$"),
        ("a > \"b c\"", "a | >b c"),
        ("> b", ">b"),
        ("x=$(< b)", "<b"),
        ("{ a; b; } > c", "a | b | >c"),
        ("for i in 1; do a; done > c", "a | >c"),
        ("cat <<EOF > .env\nx\nEOF\n", "cat | >.env"),
        ("a > >(b)", "a | b | >$"),
    ];
    for (text, expected) in table {
        assert_eq!(commands(text), expected, "{text}");
    }
}

// Requirement: 13.4
#[test]
fn what_cannot_be_read_is_unknown() {
    let long = "a ".repeat(MAX_BYTES);
    let nested = format!("{}ls{}", "$(".repeat(5_000), ")".repeat(5_000));
    let evals = "eval ".repeat(20) + "rm x";
    let table: Vec<&str> = vec![
        "a (",
        "if",
        "a 'b",
        "a \"b",
        "$(a",
        "a\r\nb",
        "a\u{3000}b",
        "a\u{a0}b",
        "a \u{1b}[2K",
        "a \0 b",
        "${x:=rm}",
        "${x@P}",
        "${!x}",
        "cat <<EOF\nEOF\nrm x\nEOF\n",
        "x='a[$(rm x)]'; [[ $x -eq 1 ]]",
        "for PATH in /evil; do a; done",
        &long,
        &nested,
        &evals,
    ];
    for text in table {
        let read = Script::read(text);
        // The shell ends the text at its first `EOF`; the rest must then be parsed as commands.
        let seen = read.commands.iter().any(|command| command.program().as_deref() == Some("rm"));
        assert!(read.unknown || (text.starts_with("cat") && seen), "{} {read:?}", text.chars().take(80).collect::<String>());
    }
}

// Requirement: 13.4
#[test]
fn deep_texts_end_soon() {
    let many = [
        "(",
        "$(",
        "`",
        "\"$(",
        "{ ",
        "if ",
        "while true; do ",
        "$((",
        "${a:-",
        "<<A ",
        "case x in x) ",
        "f() ",
        "! ",
        "[[ (",
        "((",
        "a=(",
        "<(",
        "a|",
        "sh -c '",
    ];
    for piece in many {
        for count in [30, 500, 2_000] {
            drop(Script::read(&piece.repeat(count)));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_unknown(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        drop(Script::read(&String::from_utf8_lossy(&bytes)));
    }

    // Requirement: 13.4
    #[test]
    fn any_pieces_of_a_shell_are_read_or_unknown(
        pieces in proptest::collection::vec(
            prop::sample::select(vec!["$(", "`", "\"", "'", "(", ")", "{", "}", ";", "\n", "<<EOF", "|", "&&", "a", " ", "if ", "then ", "fi ", "$", "[[ ", " ]]",
                "case ", "esac", "((", "))", "#", "\\", "EOF\n", "${", "<(", "!", "> ", "rm x", "eval ", "sh -c ", "xargs ", "é", "=", "~", "*"]),
            0..200,
        ),
    ) {
        drop(Script::read(&pieces.concat()));
    }

    /// The analysis finds a command at any place of a line that it can parse.
    #[test]
    fn a_command_does_not_hide(
        before in prop::sample::select(vec!["", "a; ", "a && ", "a | ", "(", "{ ", "$(", "`", "if a; then ", "a & ", "a\n", "! ", "while ", "sh -c '", "eval '", "timeout 3 ", "x=$(", "echo \"$(", "cat <(", "for i in 1; do "]),
        after in prop::sample::select(vec!["", "; b", " && b", " | b", ")", "; }", ")", "`", "; fi", " &", "\nb", "; do b; done", "'", "; done", ")\"", " > f", " # x"]),
    ) {
        let text = format!("{before}rm x{after}");
        let read = Script::read(&text);
        let seen = read.commands.iter().any(|command| command.program().as_deref() == Some("rm"));
        prop_assert!(seen || read.unknown, "{text}: {read:?}");
    }
}

#[test]
fn files_that_output_goes_to_are_found() {
    let cases: [(&str, &[&str]); 12] = [
        ("ls", &[]),
        ("ls > a.txt", &["a.txt"]),
        ("(echo a; echo b)>>out/b.txt; wc -l<c", &["out/b.txt"]),
        ("sort x >'two words.txt' && cat y >| z", &["two words.txt", "z"]),
        ("make 2>errors.txt", &[]),
        ("make 2>&1", &[]),
        ("make &> all.txt", &["all.txt"]),
        ("echo 'a > b' \"c > d\" \\> e", &[]),
        ("for f in *; do cat $f > $f.new; done", &[]),
        ("cat a > b; cat c >> b", &["b"]),
        ("awk '$1 > 2' x > y", &["y"]),
        ("echo x >", &[]),
    ];
    for (command, expected) in cases {
        assert_eq!(written_files(command), expected, "{command}");
    }
}

#[test]
fn what_is_emptied_before_it_is_read_is_found() {
    let found = |text| crate::permission::emptied_before_read(text).map(|(file, program)| format!("{program} {file}"));
    let cases = [
        ("tail -n +2 log.txt > log.txt", Some("tail log.txt")),
        ("cat log.txt | sort -u > 'log.txt'", Some("cat log.txt")),
        ("cd sub && sort a > a; ls", Some("sort a")),
        ("if true; then grep x a >| a; fi", Some("grep a")),
        ("/usr/bin/uniq a > a", Some("uniq a")),
        ("sort a > b; sort b > a", None),
        ("sort a > b && cat b", None),
        ("cat a >> a", None),
        ("echo a > a", None),
        ("sort -o a a", None),
        ("cat <<'END' > a\na\nEND", None),
        ("cat \"$f\" > \"$f\"", None),
        ("cat $(ls a) > a", None),
        // The first operand of these is a pattern or a script.
        ("grep errors app.log > errors", None),
        ("grep -i -A 3 errors app.log > errors", None),
        ("grep errors errors > errors", Some("grep errors")),
        ("grep app.log -e errors > app.log", Some("grep app.log")),
        ("grep -e errors app.log > errors", None),
        ("grep --regexp errors app.log > errors", None),
        ("grep --regexp=x errors > errors", Some("grep errors")),
        ("grep -f errors app.log > errors", Some("grep errors")),
        ("grep --file errors app.log > errors", Some("grep errors")),
        ("grep -- errors app.log > errors", None),
        ("grep -- -x a > a", Some("grep a")),
        ("grep \"$pattern\" a > a", Some("grep a")),
        ("grep -rn errors . > errors", None),
        ("egrep a b > a; fgrep a b > a", None),
        ("/usr/bin/rg -t rust main > main", None),
        ("rg --files a > a", Some("rg a")),
        ("sed p a > p", None),
        ("sed -n p a > a", Some("sed a")),
        ("sed -i.bake p a > p", None),
        ("sed -ne p a > a", Some("sed a")),
        ("sed --expression p a > p", None),
        ("sed -f p a > p", Some("sed p")),
        ("awk -F , total a > total", None),
        ("awk -v x=1 -f total a > total", Some("awk total")),
        ("cat a | jq . > a", Some("cat a")),
        ("jq --arg a b keys in.json > keys", None),
        ("jq -e keys in.json > in.json", Some("jq in.json")),
        ("sort keys > keys", Some("sort keys")),
    ];
    for (text, expected) in cases {
        assert_eq!(found(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn changes_of_the_repository_are_found() {
    for (text, expected) in [
        ("git stash && cargo test; git stash pop", Some("git stash")),
        ("if true; then bash -c 'git checkout -b x'; fi", Some("git checkout")),
        ("env A=b git commit -am x", Some("git commit")),
        ("cd sub && git add .", Some("git add")),
        ("cd /elsewhere && git commit -m x", None),
        ("cd $(mktemp -d) && git init && git commit -m x", None),
        ("git status --short; git diff | head", None),
        ("echo git stash", None),
    ] {
        assert_eq!(crate::changes_repository(text).as_deref(), expected, "{text}");
    }
}
