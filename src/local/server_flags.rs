//! Which flags a `llama-server` gets. They differ from build to build, so only those are used that its
//! `--help` lists, and a build without a private way in is refused.
//!
//! Nothing here makes a server fetch anything or run tools, and no argument of the user's may.

use std::path::Path;

/// What a server is started with.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerWish<'a> {
    pub(super) model: &'a Path,
    pub(super) name: &'a str,
    pub(super) socket: &'a Path,
    /// The file with the API key.
    pub(super) key_file: &'a Path,
    /// In tokens.
    pub(super) window: u64,
    /// The most memory for prompts that the server remembers, in megabytes.
    pub(super) cache_megabytes: u64,
    /// The user's own arguments, which come last.
    pub(super) own: &'a [String],
}

/// Flags that would fetch something, give the model tools, or change what slug depends on.
const REFUSED: [&str; 26] = [
    "-m",
    "--model",
    "-hf",
    "-hfr",
    "--hf-repo",
    "-hff",
    "--hf-file",
    "-hfv",
    "--hf-repo-v",
    "-hfd",
    "--hf-repo-draft",
    "-mu",
    "--model-url",
    "-mmu",
    "--mmproj-url",
    "-dr",
    "--docker-repo",
    "--models-dir",
    "--tools",
    "--agent",
    "--host",
    "--port",
    "--api-key",
    "--api-key-file",
    "--mcp-servers-config",
    "--mcp-servers-json",
];

/// The arguments for a server whose `--help` says `help`.
///
/// # Errors
///
/// When the build cannot listen on a Unix socket or take a key from a file, and when the user's own
/// arguments are refused. The error is a sentence with a remedy.
pub(super) fn arguments(help: &str, wish: ServerWish<'_>) -> Result<Vec<String>, String> {
    if !help.contains(".sock") || !lists(help, "--api-key-file") {
        return Err(
            "This llama-server is too old for slug to start it: it cannot listen on a private \
             socket with a key. Update llama.cpp, or start it yourself and use `slug -e URL`."
                .to_owned(),
        );
    }
    check_own(wish.own)?;
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut arguments = vec!["-m".to_owned(), path(wish.model)];
    let mut add = |names: &[&str], value: Option<String>| {
        if let Some(name) = names.iter().find(|name| lists(help, name)) {
            arguments.push((*name).to_owned());
            arguments.extend(value);
        }
    };
    add(&["--host"], Some(path(wish.socket)));
    add(&["--api-key-file"], Some(path(wish.key_file)));
    add(&["--alias"], Some(wish.name.to_owned()));
    add(&["--ctx-size"], Some(wish.window.to_string()));
    // With more slots, the window is divided among them.
    add(&["--parallel"], Some("1".to_owned()));
    // With one slot, this is what keeps a conversation while a side request runs.
    add(&["--cache-ram"], Some(wish.cache_megabytes.to_string()));
    // How often it says how far it has read a prompt; a card computes no more at once by default.
    add(&["--batch-size"], Some("512".to_owned()));
    add(&["--offline"], None);
    add(&["--no-ui", "--no-webui"], None);
    add(&["--cors-origins"], Some("localhost".to_owned()));
    add(&["--jinja"], None);
    add(&["--slots"], None);
    add(&["--metrics"], None);
    arguments.extend(wish.own.iter().cloned());
    Ok(arguments)
}

/// Whether a help text has a flag, and not only a longer one.
fn lists(help: &str, flag: &str) -> bool {
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    help.match_indices(flag).any(|(at, _)| {
        let before = help[..at].chars().next_back().is_none_or(is_end);
        before && help[at + flag.len()..].chars().next().is_none_or(is_end)
    })
}

fn check_own(own: &[String]) -> Result<(), String> {
    for argument in own {
        let flag = argument.split('=').next().unwrap_or_default();
        if REFUSED.contains(&flag) || flag.starts_with("--") && flag.ends_with("-default") {
            return Err(format!(
                "slug does not start a server with `{}`: it sets the model and the address \
                 itself, and a server that it starts fetches nothing and runs no tools. Remove it \
                 from `local.args`.",
                flag.escape_debug()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "-m, --model FNAME\n--host HOST  ip address, or a UNIX socket if the address \
        ends with .sock\n--api-key-file FNAME\n-a,    --alias STRING\n-c,    --ctx-size N\n\
        --cache-ram N\n--ui, --webui, --no-ui, --no-webui\n--offline\n--parallel-x";

    fn wish(own: &[String]) -> ServerWish<'_> {
        ServerWish {
            model: Path::new("/m/a b.gguf"),
            name: "a-b",
            socket: Path::new("/s/llama.sock"),
            key_file: Path::new("/s/key"),
            window: 32_768,
            cache_megabytes: 512,
            own,
        }
    }

    #[test]
    fn only_flags_that_the_help_lists_are_used() {
        let own = ["--threads".to_owned(), "1".to_owned()];
        let arguments = arguments(HELP, wish(&own)).unwrap().join(" ");
        assert_eq!(
            arguments,
            "-m /m/a b.gguf --host /s/llama.sock --api-key-file /s/key --alias a-b --ctx-size 32768 \
             --cache-ram 512 --offline --no-ui --threads 1"
        );
    }

    #[test]
    fn a_build_without_a_private_way_in_is_refused() {
        for help in ["", "--host HOST --api-key-file F", "--host x.sock --api-key KEY"] {
            assert!(arguments(help, wish(&[])).unwrap_err().contains("Update llama.cpp"), "{help}");
        }
    }

    #[test]
    fn arguments_that_fetch_run_or_open_are_refused() {
        for own in ["-hf", "--hf-repo=x/y", "--tools", "--host", "--gpt-oss-20b-default", "-mu"] {
            let own = [own.to_owned()];
            assert!(arguments(HELP, wish(&own)).unwrap_err().contains("local.args"), "{own:?}");
        }
        let fine = ["--n-gpu-layers=20".to_owned(), "default".to_owned()];
        arguments(HELP, wish(&fine)).unwrap();
    }
}
