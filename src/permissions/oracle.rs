//! Tests against real bash: the text that slug runs for a static command has exactly the words that
//! the decision was made on.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::shell::{AnalysisKind, SimpleCommand, analyse};
use super::words::quote;

/// Runs `script` with nothing but `show` on the path, and gives the arguments of each call.
fn argv(script: &str, folder: &Path) -> Vec<Vec<String>> {
    let mut run = Command::new(bash());
    run.args(["--noprofile", "--norc", "-c"])
        .arg(script)
        .env_clear()
        .env("PATH", folder)
        .current_dir(folder);
    // A test beside this one that starts a program may hold the new file open briefly.
    let output = loop {
        let output = run.output().unwrap();
        if !String::from_utf8_lossy(&output.stderr).contains("Text file busy") {
            break output;
        }
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let calls = text.split('\u{1}').skip(1);
    calls.map(|call| call.split_terminator('\u{2}').map(str::to_owned).collect()).collect()
}

fn bash() -> &'static str {
    ["/usr/bin/bash", "/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap()
}

/// A folder with a program `show` that prints its arguments.
fn stub() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("#!{}\nprintf '\\1'\nfor word; do printf '%s\\2' \"$word\"; done\n", bash());
    let path = folder.path().join("show");
    std::fs::write(&path, script).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The arguments that the decision was made on, and the text that runs.
fn decided(command: &str) -> Option<(Vec<Vec<String>>, String)> {
    let analysis = analyse(command);
    let AnalysisKind::Static { canonical } = analysis.kind else { return None };
    // A redirection that opens a file may fail, and then nothing runs; other programs print
    // nothing.
    let odd =
        |command: &SimpleCommand| !command.redirects.is_empty() || command.words[0].text != "show";
    if analysis.commands.iter().any(odd) {
        return None;
    }
    let words = analysis
        .commands
        .iter()
        .map(|command| command.words[1..].iter().map(|word| word.text.clone()).collect::<Vec<_>>());
    Some((words.collect(), canonical))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn s27_any_word_survives_quoting(words in prop::collection::vec("[^\u{0}\u{1}\u{2}]{1,12}", 1..4)) {
        let folder = stub();
        let script: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let seen = argv(&format!("show {}", script.join(" ")), folder.path());
        prop_assert_eq!(seen, vec![words]);
    }

    #[test]
    fn s27_no_redirection_of_a_static_command_runs_anything(
        operator in prop::sample::select(vec![
            ">", ">>", ">|", "<>", "&>", "&>>", ">&", "1>&", "2>&", "2>", "<", "<&", "0<&",
        ]),
        word in prop::sample::select(vec![
            "'$(show run)'", "'`show run`'", "\\$\\(show run\\)", "\"\\$(show run)\"", "'a$(show run)b'",
            "'${x:-$(show run)}'", "'$((a[$(show run)]))'", "'<(show run)'", "'{fd}$(show run)'", "plain",
        ]),
    ) {
        let command = format!("show x {operator}{word}");
        if let AnalysisKind::Static { canonical } = analyse(&command).kind {
            let folder = stub();
            for text in [&command, &canonical] {
                let calls = argv(text, folder.path());
                prop_assert!(!calls.contains(&vec!["run".to_owned()]), "{}", text);
            }
            let written = std::fs::read_dir(folder.path()).unwrap().filter_map(Result::ok);
            for entry in written.filter(|entry| entry.file_name() != "show") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                prop_assert!(!text.contains("run\u{2}"), "{}", command);
            }
        }
    }

    #[test]
    fn s27_bash_runs_the_words_that_were_decided(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "a", "'b c'", "\"d e\"", "\\'", "\\ ", "\\\n", " ", "#", "~", "=", "*", "$x", "{a,b}", "\"\\$\"",
                "$'\\n'", "!", "2>&1", ">/dev/null", "é", "''", "a=b", ":", "-n", "[", "]", "{}", "\t", "^", "%",
            ]),
            1..10,
        ),
        operator in prop::sample::select(vec![" && ", "; ", "\n", " || "]),
    ) {
        let line = format!("show {}", pieces.concat());
        let command = format!("{line}{operator}show end");
        let Some((decided, canonical)) = decided(&command) else { return Ok(()) };
        let folder = stub();
        // A discarded call prints nothing, and `||` does not run the second.
        let printed = |all: Vec<Vec<String>>| -> Vec<Vec<String>> {
            let skip_first = canonical.contains(">/dev/null");
            let take = if operator == " || " && all.len() > 1 { all.len() - 1 } else { all.len() };
            all.into_iter().take(take).skip(usize::from(skip_first)).collect()
        };
        prop_assert_eq!(argv(&canonical, folder.path()), printed(decided.clone()), "{}", canonical);
        prop_assert_eq!(argv(&command, folder.path()), printed(decided), "{}", command);
    }
}
