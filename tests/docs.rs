//! What the documentation says of slug is so: links lead somewhere, files, tests, keys, commands and
//! flags exist, examples compile, parse and are decided as they are said to be.

mod context;
mod provider;
mod test_index;
mod tool;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use futures_util::StreamExt;
use serde_json::{Value, json};
use slug_code::agent::CANCELLED_TOOL_GRACE;
use slug_code::cli::Cli;
use slug_code::commands::CommandRegistry;
use slug_code::config::SETTINGS;
use slug_code::config::services::SERVICES;
use slug_code::config::{
    ConfigEnvironment, ConfigFlags, ConfigText, ConfigTexts, KeyPreset, resolve,
};
use slug_code::context::ContextProvider;
use slug_code::domain::{
    ChatDialect, Message, PermissionMode, ProviderProtocol, StopReason, ToolAccess, ToolCapability,
    ToolListing,
};
use slug_code::permissions::{PermissionQuery, RuleSet, Workspace, decide};
use slug_code::providers::{EncodedImages, Provider, ProviderRequest, StreamEvent, ToolChoice};
use slug_code::session::{LogEntry, load};
use slug_code::tools::{Tool, ToolPart, ToolRegistry, WorkingDirectory};
use slug_code::tui::app::keymap::{self, KeyContext, Keymap};
use slug_code::tui::layout::MAX_LAYOUT_BYTES;
use slug_code::tui::theme::library::UserTheme;
use slug_code::tui::theme::{ColorDepth, ThemeLibrary, roles};
use tokio_util::sync::CancellationToken;

/// All pages, each with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = ["README.md", "SLUG.md", "tests/README.md"].map(PathBuf::from).to_vec();
    let docs = ["docs", "docs/adr"].iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let docs = docs.map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    pages.into_iter().map(|path| (path.clone(), page(&path))).collect()
}

fn page(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{:?}: {error}", path.as_ref()))
}

/// What stands between backquotes, outside of code blocks.
fn quoted(text: &str) -> Vec<&str> {
    prose(text).flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

fn prose(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(str::lines)
}

/// The code blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

/// The section under a heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("{heading}\n")).expect(heading);
    rest.split("\n## ").next().unwrap()
}

/// The rows of the tables in a text, without heads, as cells.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    let mut in_body = false;
    for line in text.lines() {
        match line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) {
            Some(line) if line.starts_with("---") => in_body = true,
            Some(line) if in_body => rows.push(line.split(" | ").collect()),
            Some(_) => {}
            None => in_body = false,
        }
    }
    rows
}

#[test]
fn links_lead_to_files() {
    for (path, text) in pages() {
        for line in prose(&text) {
            let links = line.split("](").skip(1);
            for link in links.filter_map(|link| link.split(')').next()) {
                let file = link.split('#').next().unwrap();
                if file.is_empty() || file.contains("://") {
                    continue;
                }
                let target = path.parent().unwrap().join(file);
                assert!(target.exists(), "{}: {link}", path.display());
            }
        }
    }
}

#[test]
fn files_that_are_named_exist() {
    let places = ["src/", "tests/", "docs/", "assets/"];
    // Examples of files in somebody's project, or of one to be written.
    let invented = ["src/main.rs", "src/providers/NAME.rs", "src/tools/line_count.rs"];
    for (path, text) in pages() {
        for name in quoted(&text) {
            let is_path = places.iter().any(|place| name.starts_with(place))
                && !name.contains([' ', '*', '(', '{']);
            if is_path && !invented.contains(&name) {
                assert!(Path::new(name).exists(), "{} names {name}", path.display());
            }
        }
    }
}

#[test]
fn each_invariant_has_its_test() {
    let text = page("docs/architecture.md");
    let rows = rows(section(&text, "## What holds, and the test that notices"));
    assert!(rows.len() > 20, "{} rows", rows.len());
    for row in rows {
        for pair in row[1].split(", ") {
            let names = quoted(pair);
            let source = page(names[0]);
            if let Some(test) = names.get(1) {
                assert!(source.contains(&format!("fn {test}(")), "{}: no {test}", names[0]);
            }
        }
    }
}

/// Names of several words and paths of modules: a type, function, module or variant that was renamed is
/// found here.
#[test]
fn items_that_are_named_exist() {
    let defined = defined_names();
    let mut missing = Vec::new();
    for (path, text) in pages() {
        if path.ends_with("CHANGELOG.md") {
            continue;
        }
        for name in quoted(&text) {
            let item = name.split('(').next().unwrap();
            let item = item.trim_end_matches("::").trim_start_matches("crate");
            let is_code = item.chars().all(|it| it.is_alphanumeric() || it == '_' || it == ':');
            let humps = item
                .as_bytes()
                .windows(2)
                .filter(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
            let is_type = item.starts_with(|it: char| it.is_ascii_uppercase()) && humps.count() > 0;
            if is_code && (is_type || item.contains("::")) && !FOREIGN_NAMES.contains(&item) {
                let unknown = item.split("::").find(|part| !defined.contains(*part));
                missing.extend(unknown.map(|part| format!("{}: {name}: {part}", path.display())));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Names in the pages that are not slug's, or of an example.
const FOREIGN_NAMES: &[&str] = &["CancellationToken", "LineCount"];

/// The names of all items and variants of the crate.
fn defined_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in ["src", "tests"].iter().flat_map(ignore::Walk::new).map(Result::unwrap) {
        if entry.path().extension().is_none_or(|end| end != "rs") {
            continue;
        }
        for line in page(entry.path()).lines() {
            let words: Vec<&str> =
                line.split(|it: char| !it.is_alphanumeric() && it != '_').collect();
            let keywords = ["fn", "struct", "enum", "trait", "type", "mod", "const", "static"];
            let after = words.windows(2).filter(|pair| keywords.contains(&pair[0]));
            names.extend(after.map(|pair| pair[1].to_owned()));
            let first = line.trim_start().split(['(', ',', ' ', '{']).next().unwrap_or_default();
            if first.starts_with(|it: char| it.is_ascii_uppercase()) {
                names.insert(first.to_owned());
            }
        }
    }
    let registry = ToolRegistry::from_parts(vec![ToolPart::built_in()]).unwrap();
    names.extend(registry.tools().map(|tool| tool.descriptor().name.to_string()));
    names
}

#[test]
fn limits_in_the_pages_are_those_of_the_code() {
    let grace = format!("{} ms", CANCELLED_TOOL_GRACE.as_millis());
    let layouts = format!("{} MB", MAX_LAYOUT_BYTES >> 20);
    for (name, sentence) in [
        ("docs/architecture.md", format!("running tools get {grace} to report")),
        ("docs/adding-a-tool.md", format!("slug stops waiting for a tool after {grace}")),
        ("docs/architecture.md", format!("width and fold, at most {layouts} of them")),
        (
            "docs/performance.md",
            format!("the layout of a block is kept: {layouts} of lines in all"),
        ),
    ] {
        let text = page(name).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "{name} does not say: {sentence}");
    }
}

#[test]
fn tests_that_the_walk_throughs_name_exist() {
    let sources: String =
        ["src/tools/registry.rs", "src/context/provider.rs", "src/context/prompt.rs"]
            .map(page)
            .concat();
    for guide in ["docs/adding-a-tool.md", "docs/adding-a-context-provider.md"] {
        let text = page(guide);
        let tests = quoted(&text).into_iter().filter(|name| name.matches('_').count() > 2);
        let missing: Vec<&str> =
            tests.filter(|test| !sources.contains(&format!("fn {test}("))).collect();
        assert!(missing.is_empty(), "{guide}: {missing:?}");
    }
}

#[test]
fn the_readme_names_only_keys_that_there_are() {
    let map = Keymap::default();
    let rows_of_all = KeyContext::ALL.into_iter().flat_map(|context| map.rows(context));
    let known: BTreeSet<String> =
        rows_of_all.flat_map(|row| &row.keys).map(ToString::to_string).collect();
    let text = page("README.md");
    let rows = rows(section(&text, "## Keys"));
    assert!(rows.len() > 10, "{} rows", rows.len());
    for row in rows {
        for key in quoted(row[0]) {
            assert!(known.contains(key), "no key is called {key}; there are {known:?}");
        }
    }
}

#[test]
fn the_dialogs_keys_are_those_of_the_page() {
    let keys: BTreeSet<String> =
        keymap::APPROVAL.iter().flat_map(|row| row.keys).map(ToString::to_string).collect();
    let text = page("docs/permissions.md");
    let rows = rows(section(&text, "## The dialog"));
    assert_eq!(rows.len(), 15);
    for row in rows {
        assert!(quoted(row[0]).iter().all(|key| keys.contains(*key)), "{row:?}");
    }
}

#[test]
fn the_readme_names_every_command_of_the_chat() {
    let text = page("README.md");
    let (_, list) = section(&text, "## Keys").split_once("Commands:").unwrap();
    let named: BTreeSet<&str> =
        quoted(list).into_iter().filter_map(|name| name.strip_prefix('/')).collect();
    let registry = CommandRegistry::built_in();
    let known: BTreeSet<&str> = registry.all().map(|command| command.name.as_str()).collect();
    assert_eq!(named, known);
}

#[test]
fn the_configuration_page_has_every_flag_and_no_other() {
    let text = page("docs/configuration.md");
    let text = section(&text, "## Flags");
    let command = Cli::command();
    let mut known: BTreeSet<String> = command
        .get_arguments()
        .flat_map(|flag| {
            let aliases = flag.get_visible_aliases().unwrap_or_default();
            flag.get_long().into_iter().chain(aliases).map(|name| format!("--{name}"))
        })
        .collect();
    known.extend(["--help".to_owned(), "--version".to_owned()]);
    let named: BTreeSet<String> = rows(text)
        .iter()
        .flat_map(|row| quoted(row[0]))
        .filter_map(|flag| flag.split(' ').next())
        .filter(|flag| flag.starts_with("--"))
        .map(str::to_owned)
        .collect();
    assert_eq!(named, known);
}

#[test]
fn the_configuration_page_has_every_setting_and_no_other() {
    let text = page("docs/configuration.md");
    let rows = rows(section(&text, "## config.toml"));
    let known: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
    // A named provider has a row for each of its keys.
    let of_provider = |key: &str| key.starts_with("providers.NAME.");
    let named: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| quoted(row[0]).first().copied())
        .map(|key| if of_provider(key) { "providers.NAME" } else { key })
        .collect();
    assert_eq!(named, known);
}

/// What terminals set, and nobody by hand.
const OF_TERMINALS: [&str; 4] = ["COLORTERM", "TERM", "CLICOLOR_FORCE", "COLORFGBG"];

#[test]
fn the_variables_of_the_page_are_those_of_the_code_and_of_the_example() {
    let text = page("docs/configuration.md");
    let own = section(&text, "## Environment").split("\n### ").next().unwrap();
    let rows = rows(own);
    let told: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    let example = page(".env.example");
    let lines = example.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> =
        lines.filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let shown: BTreeSet<&str> = names.iter().copied().chain(OF_TERMINALS).collect();
    assert_eq!(told, shown);
    assert_eq!(names.len() + OF_TERMINALS.len(), shown.len(), "one twice in {names:?}");
    for service in &SERVICES {
        let others = service.model_variable.into_iter().chain(service.limit_variable);
        for name in others.chain([service.key_variable]) {
            assert!(told.contains(name), "{name} is not told");
        }
    }
}

#[test]
fn the_help_names_every_protocol_and_every_mode() {
    let help = |command: &clap::Command, flag: &str| {
        let flag = command.get_arguments().find(|it| it.get_long() == Some(flag)).expect(flag);
        flag.get_help().unwrap().to_string()
    };
    let command = Cli::command();
    let provider = help(&command, "provider");
    for protocol in ProviderProtocol::ALL {
        assert!(provider.contains(&format!("`{}`", protocol.name())), "{provider}");
    }
    let permissions = command.find_subcommand("permissions").unwrap();
    let mode = help(permissions.find_subcommand("test").unwrap(), "mode");
    for name in PermissionMode::ALL {
        let words: Vec<&str> = mode.split([' ', ',', ':']).collect();
        assert!(words.contains(&name.name()), "{mode}");
    }
}

#[test]
fn the_page_on_themes_has_every_role_and_theme() {
    let text = page("docs/themes.md");
    let roles: Vec<String> =
        roles::ROLES.iter().map(|row| format!("`{}` {}", row.name, row.what)).collect();
    let told: Vec<String> =
        rows(section(&text, "## Roles")).iter().map(|row| row.join(" ")).collect();
    assert_eq!(told, roles);
    let shipped = rows(section(&text, "## Those that slug brings"));
    let named: Vec<&str> = shipped.iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(named, ThemeLibrary::default().names());
}

#[test]
fn the_example_of_a_theme_is_understood() {
    let text = page("docs/themes.md");
    let example = blocks(section(&text, "## Your own"), "toml")[0].to_owned();
    let path = PathBuf::from("mine.toml");
    let library = ThemeLibrary::new(vec![UserTheme { name: "mine".into(), path, text: example }]);
    assert_eq!(library.find("mine", ColorDepth::TrueColor).unwrap().remarks, [""; 0]);
}

#[test]
fn every_entry_of_a_log_has_an_example_that_is_read() {
    let text = page("docs/sessions.md");
    let lines = blocks(&text, "json").concat();
    let loaded = load(lines.as_bytes());
    assert_eq!(loaded.notices, []);
    let seen: BTreeSet<&str> = loaded.records.iter().map(|record| name_of(&record.entry)).collect();
    assert_eq!(seen.len(), ENTRIES, "{seen:?}");
    for name in seen {
        assert!(text.contains(&format!("`{name}`")), "{name} has no words");
    }
}

/// How many kinds [`name_of`] knows.
const ENTRIES: usize = 16;

fn name_of(entry: &LogEntry) -> &'static str {
    match entry {
        LogEntry::Session(_) => "session",
        LogEntry::Message(_) => "message",
        LogEntry::ToolStarted { .. } => "tool_started",
        LogEntry::Permission(_) => "permission",
        LogEntry::FileChange(_) => "file_change",
        LogEntry::NotCovered(_) => "not_covered",
        LogEntry::Rewind(_) => "rewind",
        LogEntry::Compaction(_) => "compaction",
        LogEntry::Interrupted => "interrupted",
        LogEntry::TurnEnd(_) => "turn_end",
        LogEntry::Title { .. } => "title",
        LogEntry::Todo { .. } => "todo",
        LogEntry::Tasks(_) => "tasks",
        LogEntry::Model { .. } => "model",
        LogEntry::ContextEdit(_) => "context_edit",
        LogEntry::Mode { .. } => "mode",
    }
}

#[test]
fn commands_are_decided_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    for part in [".git", "src"] {
        fs::create_dir_all(root.join(part)).unwrap();
    }
    let workspace = Workspace::new(&root, Vec::new(), None, folder.path().join("slug"));
    let text = page("docs/permissions.md");
    let mut rules = RuleSet::new();
    rules.add_settings(blocks(&text, "json")[0], Path::new("settings.json"), &workspace);
    assert_eq!(rules.warnings(), []);
    let examples = rows(section(&text, "With the rules above, in mode `ask`:"));
    let examples: Vec<_> = examples.iter().filter(|row| row.len() == 2).collect();
    assert!(examples.len() > 10, "{examples:?}");
    for row in examples {
        let (command, answer) = (quoted(row[0])[0].to_owned(), row[1]);
        let run = ToolAccess::foreground(command.clone(), root.clone());
        let query = PermissionQuery::resolve("Bash", &[run], &workspace);
        let outcome = decide(&query, &rules, PermissionMode::Ask, &workspace).outcome();
        assert_eq!(json!(outcome), Value::from(answer), "{command}");
    }
}

#[test]
fn the_examples_of_servers_hold_and_every_dialect_is_told() {
    let text = page("docs/providers.md");
    let examples = blocks(&text, "toml");
    assert!(examples.len() > 5);
    for block in examples {
        let user = Some(ConfigText { path: "c.toml".into(), text: block.to_owned() });
        let texts = ConfigTexts { user, ..ConfigTexts::default() };
        let found = resolve(&texts, &ConfigEnvironment::default(), &ConfigFlags::default());
        let config = found.unwrap_or_else(|errors| panic!("{errors:?} in {block}"));
        assert_eq!(config.warnings, [""; 0], "{block}");
    }
    let rows = rows(section(&text, "## Dialects"));
    let told: Vec<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    for dialect in ChatDialect::ALL {
        assert!(told.contains(&dialect.name()), "{dialect} has no row");
    }
    assert_eq!(told.len(), ChatDialect::ALL.len());
}

#[test]
fn the_examples_are_those_that_are_compiled_here() {
    for (guide, source) in [
        ("docs/adding-a-tool.md", "tests/docs/tool.rs"),
        ("docs/providers.md", "tests/docs/provider.rs"),
        ("docs/adding-a-context-provider.md", "tests/docs/context.rs"),
    ] {
        let code = page(source);
        let example = &code[code.find("\n/// ").unwrap() + 1..];
        assert_eq!(blocks(&page(guide), "rust"), [example], "{guide}");
    }
}

#[test]
fn the_example_of_a_tool_says_what_it_touches() {
    let place = WorkingDirectory { cwd: "/w".into(), home: None };
    let access = tool::LineCount.access(&json!({"file_path": "a/b.rs"}), &place);
    assert_eq!(access, Ok(vec![ToolAccess::Read("/w/a/b.rs".into())]));
    assert!(tool::LineCount.access(&json!({}), &place).unwrap_err().0.contains("file_path"));
}

#[tokio::test]
async fn the_example_of_a_provider_answers_and_ends() {
    let request = ProviderRequest {
        model: "echo".into(),
        system: String::new(),
        messages: vec![Message::user("hello")],
        images: EncodedImages::default(),
        tools: [].into(),
        max_tokens: Some(1),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        effort: None,
    };
    let events = provider::Echo.stream(request.clone(), CancellationToken::new());
    let events: Vec<_> = events.map(Result::unwrap).collect().await;
    assert_eq!(events[1], StreamEvent::Text("hello".into()));
    assert_eq!(events[2], StreamEvent::Finished(StopReason::EndTurn));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(provider::Echo.stream(request, cancelled).count().await, 0);
}

#[tokio::test]
async fn the_example_of_a_context_provider_tells_the_language() {
    let told = |lang: &str| context::Locale::new(Some(lang.to_owned()));
    assert_eq!(told("de_DE.UTF-8").collect().await.as_deref(), Some("language: de_DE"));
    assert_eq!(told("C.UTF-8").collect().await, None);
}

/// `SLUG_WRITE_DOCS=1 cargo test --test integration docs::` writes the list anew.
#[test]
fn the_page_of_keys_lists_every_action_with_its_keys() {
    let path = "docs/keys.md";
    let text = page(path);
    let (head, _) = text.split_once("## Actions\n").unwrap();
    let wanted = format!("{head}## Actions\n{}", actions());
    if std::env::var_os("SLUG_WRITE_DOCS").is_some() {
        fs::write(path, &wanted).unwrap();
    }
    let advice =
        "docs/keys.md is not up to date: SLUG_WRITE_DOCS=1 cargo test --test integration docs::";
    assert!(page(path) == wanted, "{advice}");
}

/// A table for each context.
fn actions() -> String {
    let map = Keymap::default();
    let mut text = String::new();
    for context in KeyContext::ALL {
        text.push_str(&format!("\n### {}: `[{}]`\n\n", context.title(), context.name()));
        text.push_str("| action | keys | what it does |\n| --- | --- | --- |\n");
        for row in map.rows(context) {
            let keys: Vec<String> = row.keys.iter().map(|keys| format!("`{keys}`")).collect();
            text.push_str(&format!("| `{}` | {} | {} |\n", row.name, keys.join(", "), row.help));
        }
    }
    text
}

#[test]
fn the_examples_of_keys_are_read() {
    let text = page("docs/keys.md");
    for block in blocks(&text, "toml") {
        let own = ConfigText { path: "keys.toml".into(), text: block.to_owned() };
        let (map, said) = Keymap::resolve(KeyPreset::Default, Some(&own));
        assert_eq!(said, [""; 0]);
        assert_eq!(map.key(keymap::ChatKey::Sessions), "f2");
    }
}

/// `SLUG_WRITE_DOCS=1 cargo test --test integration docs::` writes the table anew.
#[test]
fn the_page_of_tools_lists_every_tool() {
    let path = "docs/tools.md";
    let text = page(path);
    let (head, rest) = text.split_once("## All tools\n").unwrap();
    let (_, tail) = rest.split_once("\n## ").unwrap();
    let wanted = format!("{head}## All tools\n{}\n## {tail}", tools());
    if std::env::var_os("SLUG_WRITE_DOCS").is_some() {
        fs::write(path, &wanted).unwrap();
    }
    let advice =
        "docs/tools.md is not up to date: SLUG_WRITE_DOCS=1 cargo test --test integration docs::";
    assert!(page(path) == wanted, "{advice}");
}

/// A row for each tool.
fn tools() -> String {
    let registry = ToolRegistry::from_parts(vec![ToolPart::built_in()]).unwrap();
    let mut text = "\nWhat a tool may touch is the most that its calls can; the gate holds them to it. An argument in \
                    brackets may be left out.\n\n| tool | arguments | may touch | listed |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for tool in registry.tools() {
        let (spec, own) = (tool.spec(), tool.descriptor());
        let schema = &spec.input_schema;
        let is_required = |name: &str| {
            schema["required"].as_array().is_some_and(|it| it.iter().any(|it| it == name))
        };
        let names = schema["properties"].as_object().unwrap().keys();
        let names: Vec<String> = names
            .map(|name| if is_required(name) { format!("`{name}`") } else { format!("[`{name}`]") })
            .collect();
        let touched = match own.capability {
            ToolCapability::Conversation => "nothing outside the conversation",
            ToolCapability::ReadFiles => "files, to read them",
            ToolCapability::WriteFiles => "files",
            ToolCapability::RunCommands => "whatever a command can",
            ToolCapability::Network => "addresses on the web",
            ToolCapability::External => "whatever its program can",
        };
        let listed = match own.listing {
            ToolListing::Always => "always",
            ToolListing::Deferred => "by ToolSearch",
        };
        let (name, names) = (&spec.name, names.join(", "));
        text.push_str(&format!("| {name} | {names} | {touched} | {listed} |\n"));
    }
    text
}
