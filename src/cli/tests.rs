//! The command line as users and scripts write it.

use clap::CommandFactory;

use super::*;

fn try_parse(arguments: &[&str]) -> Result<Cli, clap::Error> {
    parse(["slug"].iter().chain(arguments).map(OsString::from))
}

fn parsed(arguments: &[&str]) -> Cli {
    try_parse(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

fn refusal(arguments: &[&str]) -> String {
    let error = try_parse(arguments).expect_err("a wrong command line was accepted");
    assert_eq!(error.exit_code(), 2, "{arguments:?}");
    error.to_string()
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn nothing_opens_the_chat() {
    let cli = parsed(&[]);
    assert!(cli.command.is_none() && cli.prompt.is_none() && cli.demo.is_none());
    assert!(cli.flags().mode.is_none());
}

#[test]
fn every_flag_is_read() {
    let id = "0190a1b2-0000-7000-8000-000000000001";
    let cli = parsed(&[
        "-e",
        "http://h/v1",
        "-k",
        "CANARY",
        "-m",
        "m",
        "--provider",
        "p",
        "-c",
        "f",
        "--system-prompt",
        "s",
        "--allow-edits",
        "--trust-workspace",
        "--resume",
        id,
        "--directory",
        "d",
        "--add-dir",
        "a",
        "--add-dir",
        "b",
        "--debug-log",
        "-p",
        "text",
        "--output-format",
        "stream-json",
        "--max-rounds",
        "7",
        "--timeout",
        "2m",
    ]);
    let flags = cli.flags();
    assert_eq!(flags.endpoint.as_deref(), Some("http://h/v1"));
    assert_eq!(flags.model.as_deref(), Some("m"));
    assert_eq!(flags.provider.as_deref(), Some("p"));
    assert_eq!(flags.system_prompt.as_deref(), Some("s"));
    assert_eq!(flags.mode, Some((ModeChoice::Mode(PermissionMode::AllowEdits), "--allow-edits")));
    assert_eq!(cli.config, Some("f".into()));
    assert_eq!(cli.directory, Some("d".into()));
    assert_eq!(cli.add_dir, [PathBuf::from("a"), PathBuf::from("b")]);
    assert_eq!(cli.resume.as_deref(), Some(id));
    assert_eq!(cli.prompt, Some(Some("text".to_owned())));
    assert_eq!(cli.output_format, OutputFormat::StreamJson);
    assert_eq!((flags.max_tool_rounds, cli.timeout), (Some(7), Some(Duration::from_secs(120))));
    assert!(cli.trust_workspace && cli.debug_log);
    assert!(!format!("{cli:?} {flags:?}").contains("CANARY"));
}

#[test]
fn a_time_limit_is_seconds_minutes_or_hours() {
    for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200)] {
        let cli = parsed(&["-p", "hello", "--timeout", text]);
        assert_eq!(cli.timeout, Some(Duration::from_secs(seconds)), "{text}");
    }
}

#[test]
fn session_is_another_name_for_resume() {
    let id = "0190a1b2-0000-7000-8000-000000000001";
    assert_eq!(parsed(&["--session", id]).resume, parsed(&["--resume", id]).resume);
}

#[test]
fn each_mode_has_its_flag() {
    for (flag, mode) in [
        ("--yolo", PermissionMode::Yolo),
        ("--plan", PermissionMode::Plan),
        ("--allow-edits", PermissionMode::AllowEdits),
    ] {
        assert_eq!(parsed(&[flag]).flags().mode, Some((ModeChoice::Mode(mode), flag)));
    }
    let sandbox = parsed(&["--sandbox", "dir"]).flags().mode;
    assert_eq!(sandbox, Some((ModeChoice::Sandbox(Some("dir".into())), "--sandbox")));
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    let id = "0190a1b2-0000-7000-8000-000000000001";
    for arguments in [
        vec!["--yolo", "--plan"],
        vec!["--allow-edits", "--sandbox", "d"],
        vec!["--continue", "--resume", id],
        vec!["--resume", id, "--fork-session", id],
        vec!["--demo", "--endpoint", "http://h/v1"],
        vec!["--reset-tty", "--plan"],
        vec!["--output-format", "json"],
        vec!["--budget", "much"],
        vec!["--timeout", "9"],
        vec!["-p", "hello", "--timeout", "0"],
        vec!["-p", "hello", "--timeout", "m"],
        vec!["-p", "hello", "--timeout", "-3"],
        vec!["--max-rounds", "0"],
        vec!["--linear", "-p", "hello"],
        vec!["-p", "hello", "there"],
        vec!["sesions"],
    ] {
        refusal(&arguments);
    }
}

#[test]
fn a_prompt_is_a_text_and_never_a_flag() {
    assert_eq!(parsed(&["-p"]).prompt, Some(None));
    assert_eq!(parsed(&["--output-format", "json", "-p"]).prompt, Some(None));
    for text in ["--settings=/tmp/e.json", "-", "- a list", "--no-such-flag", "sessions"] {
        assert_eq!(parsed(&["-p", text]).prompt, Some(Some(text.to_owned())));
    }
    for text in ["--yolo", "--config=/tmp/e.toml", "-k", "--session", "--help"] {
        let message = refusal(&["-p", text]);
        assert!(message.contains("--prompt takes the next argument as its text"), "{message}");
    }
    let message = refusal(&["-p", "--output-format", "json"]);
    assert!(message.contains("--prompt takes the next argument as its text"), "{message}");
}

#[test]
fn a_text_without_a_command_is_the_first_message() {
    for (arguments, message) in [
        (vec!["fix the tests"], "fix the tests"),
        (vec!["fix", "the", "tests"], "fix the tests"),
        (vec!["--plan", "why are sessions slow?"], "why are sessions slow?"),
        (vec!["explain", "sessions", "--linear"], "explain sessions"),
        (vec!["hello"], "hello"),
        (vec!["sesions list"], "sesions list"),
        (vec!["--", "--yolo"], "--yolo"),
    ] {
        let cli = parsed(&arguments);
        let first = cli.first_message().map(|message| message.text);
        assert_eq!(first.as_deref(), Some(message), "{arguments:?}");
        assert!(cli.command.is_none() && !cli.yolo, "{arguments:?}");
    }
    assert_eq!(parsed(&[""]).first_message(), None);
    assert_eq!(parsed(&[]).first_message(), None);
}

#[test]
fn a_mistyped_command_is_no_message() {
    for (written, meant) in
        [("sesions", "sessions"), ("docter", "doctor"), ("permision", "permissions")]
    {
        let refused = refusal(&[written]);
        assert!(refused.contains(&format!("Did you mean `slug {meant}`?")), "{refused}");
    }
}

#[test]
fn commands_are_read_after_the_flags() {
    let cli = parsed(&["--plan", "permissions", "test", "--mode", "yolo", "--json", "rm x"]);
    let Some(CliCommand::Permissions(PermissionsArguments {
        command: Some(PermissionsCommand::Test(test)),
    })) = cli.command
    else {
        panic!("{:?}", cli.command);
    };
    assert_eq!(
        (test.mode, test.tool.as_str(), test.input.as_str()),
        (Some(PermissionMode::Yolo), "Bash", "rm x")
    );
    assert!(test.format.json);
    let unknown = refusal(&["permissions", "test", "--mode", "auto", "x"]);
    assert!(unknown.contains("use ask, allow-edits, plan, sandbox or yolo"), "{unknown}");

    let cli = parsed(&["tools", "run", "Read", "--input", r#"{"file_path":"a"}"#]);
    let Some(CliCommand::Tools(ToolsCommand::Run { name, input, .. })) = cli.command else {
        panic!("{:?}", cli.command);
    };
    assert_eq!((name.as_str(), input["file_path"].as_str()), ("Read", Some("a")));
    assert!(refusal(&["tools", "run", "Read", "--input", "[]"]).contains("a JSON object"));
    assert!(refusal(&["tools", "run", "Read"]).contains("--input"));
}

#[test]
fn every_command_that_prints_data_has_json() {
    let id = "0190a1b2-0000-7000-8000-000000000001";
    for arguments in [
        vec!["config", "--json"],
        vec!["tools", "list", "--json"],
        vec!["tools", "run", "Read", "--input", "{}", "--json"],
        vec!["sessions", "list", "--json"],
        vec!["sessions", "show", id, "--json"],
        vec!["permissions", "list", "--json"],
        vec!["permissions", "test", "ls", "--json"],
        vec!["prompt", "--json"],
        vec!["doctor", "--json"],
    ] {
        assert!(parsed(&arguments).command.is_some(), "{arguments:?}");
    }
}

#[test]
fn the_help_says_what_there_is() {
    let help = try_parse(&["--help"]).unwrap_err().to_string();
    for words in [
        "Without a command, slug opens a full-screen chat",
        "Model:",
        "Scripts:",
        "Permissions:",
        "Sessions:",
        "Workspace:",
        "-e, --endpoint <URL>",
        "--resume <ID>",
        "SLUG_API_KEY",
        "git diff | slug -p",
        "78  a sandbox was requested",
        "completions",
    ] {
        assert!(help.contains(words), "no {words:?} in\n{help}");
    }
    let widest = help.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}\n{help}");
    assert_eq!(try_parse(&["--help"]).unwrap_err().exit_code(), 0);
    assert_eq!(try_parse(&["--version"]).unwrap_err().exit_code(), 0);
}

#[test]
fn completions_and_the_manual_come_from_the_parser() {
    for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish]
    {
        let mut out = Vec::new();
        completions(shell, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("allow-edits"), "{shell}");
    }
    let mut page = Vec::new();
    man(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains(".TH slug 1") && page.contains("fork\\-session"), "{page}");
}

#[test]
fn statuses_are_the_documented_numbers() {
    let numbers = [
        CliExitStatus::Answered,
        CliExitStatus::Failed,
        CliExitStatus::Usage,
        CliExitStatus::Refused,
        CliExitStatus::NoSandbox,
    ];
    assert_eq!(numbers.map(CliExitStatus::code), [0, 1, 2, 4, 78]);
}

#[test]
fn the_documentation_names_every_flag_and_command() {
    let page = include_str!("../../docs/configuration.md");
    let command = Cli::command();
    for flag in command.get_arguments().filter_map(|argument| argument.get_long()) {
        assert!(page.contains(&format!("`--{flag}")), "--{flag} is not documented");
    }
    for subcommand in command.get_subcommands() {
        assert!(page.contains(&format!("`{}", subcommand.get_name())), "{}", subcommand.get_name());
    }
}
