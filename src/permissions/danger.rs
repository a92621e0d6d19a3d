//! Which commands are hard to take back, for the question about them. Pure.
//!
//! Nothing is decided by it: a command that is not known here is asked about like any other. It goes
//! by names and options, so it knows the usual ways to do something, and not every way.

use crate::domain::CallDanger;

use super::shell::{CommandOrder, ShellWord, SimpleCommand, WrappedCommands};
use super::wrappers::{base_name, is_shell};

/// The worst danger of a simple command and of what it runs; `all` are the commands of the text.
/// Where a pipeline runs a script from the network, the download has the danger.
pub(super) fn danger_of(command: &SimpleCommand, all: &[SimpleCommand]) -> Option<CallDanger> {
    let pipeline: Vec<&SimpleCommand> =
        all.iter().filter(|it| it.pipeline == command.pipeline).collect();
    let is_script = downloads(command) && runs_network_script(&pipeline);
    let own = command.flatten().into_iter().filter_map(danger_of_one).max();
    own.max(is_script.then_some(CallDanger::RunsNetworkScript))
}

/// Whether a command only sets the shell up for the others, or prints a text.
pub(super) fn only_prepares(command: &SimpleCommand) -> bool {
    let prepares = ["set", "cd", "export", "shopt", "echo", "printf", "true", ":", "test"];
    name(command).is_none_or(|name| prepares.contains(&name))
}

/// Whether a pipeline gives what it gets from the network to an interpreter: `curl … | sh`.
/// `pipeline` holds its commands in their order, without what they wrap.
fn runs_network_script(pipeline: &[&SimpleCommand]) -> bool {
    let mut all = pipeline.iter().flat_map(|command| command.flatten());
    let runs = |command: &SimpleCommand| name(command).is_some_and(is_interpreter);
    let is_inside = |it: &&&SimpleCommand| it.order == CommandOrder::Nested && downloads(it);
    if pipeline.iter().any(|it| runs(it)) && pipeline.iter().any(|it| is_inside(&it)) {
        return true;
    }
    let has_download = all.any(|command| name(command).is_some_and(is_downloader));
    has_download && all.any(runs)
}

/// Whether a command downloads something.
fn downloads(command: &SimpleCommand) -> bool {
    command.flatten().into_iter().any(|one| name(one).is_some_and(is_downloader))
}

fn danger_of_one(command: &SimpleCommand) -> Option<CallDanger> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let (_, arguments) = words.split_first()?;
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(word));
    let has_letter = |letter: char| {
        let is_cluster = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
        arguments.iter().filter(is_cluster).any(|word| word.contains(letter))
    };
    let name = name(command)?;
    match name {
        "rm" | "rmdir" | "unlink" | "shred" | "srm" | "trash" => Some(CallDanger::DeletesFiles),
        "find" | "fd" if has(&["-delete"]) => Some(CallDanger::DeletesFiles),
        "truncate" => Some(CallDanger::DeletesFiles),
        "rsync" if arguments.iter().any(|word| word.starts_with("--delete")) => {
            Some(CallDanger::DeletesFiles)
        }
        "git" => git(arguments),
        "sudo" | "doas" | "su" | "pkexec" | "run0" => Some(CallDanger::RunsAsRoot),
        "dd" if arguments.iter().any(|word| word.starts_with("of=/dev/")) => {
            Some(CallDanger::OverwritesDisk)
        }
        "fdisk" | "sfdisk" | "parted" | "wipefs" | "blkdiscard" | "mkswap" => {
            Some(CallDanger::OverwritesDisk)
        }
        _ if name.starts_with("mkfs") => Some(CallDanger::OverwritesDisk),
        "chmod" | "chown" | "chgrp" if has(&["--recursive"]) || has_letter('R') => {
            Some(CallDanger::ChangesAccess)
        }
        "kill" | "pkill" | "killall" | "shutdown" | "reboot" | "halt" | "poweroff" => {
            Some(CallDanger::EndsPrograms)
        }
        "npm" | "pnpm" | "yarn" | "cargo" | "poetry" | "uv" | "bun"
            if arguments.first() == Some(&"publish") =>
        {
            Some(CallDanger::Publishes)
        }
        "docker" | "podman" if arguments.first() == Some(&"push") => Some(CallDanger::Publishes),
        "twine" if has(&["upload"]) => Some(CallDanger::Publishes),
        "gh" if arguments.starts_with(&["release", "create"]) => Some(CallDanger::Publishes),
        _ if is_shell(name) && reads_from_network(command) => Some(CallDanger::RunsNetworkScript),
        _ => None,
    }
}

/// The danger of a git command, whose words follow the name.
fn git(arguments: &[&str]) -> Option<CallDanger> {
    // Options before the subcommand, of which two have a value behind them.
    let mut rest = arguments;
    loop {
        rest = match rest {
            ["-C" | "-c", _, more @ ..] => more,
            [option, more @ ..] if option.starts_with('-') => more,
            _ => break,
        };
    }
    let (subcommand, rest) = rest.split_first()?;
    let has = |wanted: &[&str]| rest.iter().any(|word| wanted.contains(word));
    let has_letter = |letter: char| {
        rest.iter().any(|it| it.starts_with('-') && !it.starts_with("--") && it.contains(letter))
    };
    match *subcommand {
        "push" => {
            let rewrites = rest.iter().any(|word| {
                word.starts_with("--force") || word.starts_with('+') || word.starts_with(':')
            });
            Some(
                if rewrites
                    || has(&["--mirror", "--delete", "--prune"])
                    || has_letter('f')
                    || has_letter('d')
                {
                    CallDanger::RewritesRemoteBranch
                } else {
                    CallDanger::PushesCommits
                },
            )
        }
        "clean" if !has(&["--dry-run"]) && !has_letter('n') => Some(CallDanger::DeletesFiles),
        "rm" if !has(&["--cached"]) => Some(CallDanger::DeletesFiles),
        "reset" if has(&["--hard", "--merge", "--keep"]) => Some(CallDanger::DiscardsChanges),
        "restore" if !has(&["--staged"]) && !has_letter('S') => Some(CallDanger::DiscardsChanges),
        "checkout" if has(&["--", ".", "-f", "--force"]) => Some(CallDanger::DiscardsChanges),
        "switch" if has(&["-f", "--force", "--discard-changes"]) => {
            Some(CallDanger::DiscardsChanges)
        }
        "stash" if has(&["drop", "clear"]) => Some(CallDanger::DiscardsChanges),
        "branch" if has_letter('D') => Some(CallDanger::DiscardsChanges),
        _ => None,
    }
}

/// Whether a shell gets a script that another program downloads, as in `sh -c "$(curl …)"` and
/// `bash <(curl …)`.
fn reads_from_network(command: &SimpleCommand) -> bool {
    let is_download = |word: &ShellWord| {
        let mut words = word.text.split(|c: char| !c.is_ascii_alphanumeric());
        word.known().is_none() && words.any(is_downloader)
    };
    let inner = match &command.inner {
        WrappedCommands::Nothing => [].as_slice(),
        WrappedCommands::Known(inner) | WrappedCommands::Unknown(inner) => inner,
    };
    let expanded = |it: &SimpleCommand| {
        it.words.first().is_some_and(is_download)
            || name(it) == Some("eval") && it.words.iter().any(is_download)
    };
    command.words.iter().any(is_download) || inner.iter().any(expanded)
}

fn name(command: &SimpleCommand) -> Option<&str> {
    command.words.first().and_then(ShellWord::known).map(base_name)
}

fn is_downloader(name: &str) -> bool {
    matches!(name, "curl" | "wget" | "fetch" | "aria2c" | "http" | "https")
}

fn is_interpreter(name: &str) -> bool {
    is_shell(name)
        || name.starts_with("python")
        || matches!(name, "perl" | "ruby" | "node" | "php" | "deno" | "bun" | "source" | ".")
}
