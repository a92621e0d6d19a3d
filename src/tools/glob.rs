//! Glob: finds files and folders by name. The newest come first; those of the same second are in the
//! order of their names, so that the files of a fresh checkout are.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use globset::GlobMatcher;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::ports::lock;
use super::walk::{
    self, FileWalk, SearchRoot, SkippedEntries, VisitedFolders, hidden_note, system_note,
};
use super::{
    Files, Tool, ToolContext, ToolError, WorkingDirectory, off_thread, stopped_output, titles,
    truncation,
};
use crate::domain::{
    ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec, parse_glob,
};

/// Lists files and folders by name, the newest first.
pub(super) struct GlobTool;

/// The advice about a folder that a pattern begins with and that is not there.
const ANY_FOLDER: &str = "A pattern without / finds files in any folder.";

const SHAPE: InputShape = InputShape {
    tool: "Glob",
    example: r#"{"pattern": "path/to/folder/**/*.extension"}"#,
    arguments: &[("pattern", &["glob", "glob_pattern"]), ("path", &["directory", "dir", "folder"])],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Search, ToolCapability::ReadFiles);

/// The most names that are listed.
const MOST: usize = 100;
/// The most levels of folders that are searched.
const LEVELS: usize = 20;

struct GlobArguments {
    /// The folder in which the walk starts.
    root: PathBuf,
    /// Matched against paths relative to `root`.
    pattern: String,
}

#[async_trait]
impl Tool for GlobTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description:
                "Finds files and folders by name, newest first. Skips what .gitignore names.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "like src/**/*.rs; without /, in any folder"},
                    "path": {"type": "string"},
                },
                "required": ["pattern"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, cwd: &Path) -> String {
        titles::join(&[
            titles::text(input, "pattern"),
            &titles::shown_path(titles::text(input, "path"), cwd),
        ])
    }

    fn access(
        &self,
        input: &Value,
        place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Read(parse_arguments(input, place)?.root)])
    }

    fn can_start_early(&self) -> bool {
        true
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let GlobArguments { root, pattern } = parse_arguments(&input, &context.place)?;
        let matcher = matcher(&pattern)?;
        let advice = match input.get("path") {
            None | Some(Value::Null) => ANY_FOLDER,
            Some(_) => walk::SEARCH_ALL,
        };
        match walk::root(context, &root, advice).await? {
            Some(SearchRoot::Folder) => {}
            Some(SearchRoot::File) => {
                let shown = context.place.show(&root);
                return Err(ToolError(format!(
                    "{shown} is a file. Use Read, or Grep to search it."
                )));
            }
            None => return Ok(stopped_output()),
        }
        let mut walk = FileWalk::new(context, root.clone());
        walk.levels = Some(LEVELS);
        walk.folders = VisitedFolders::All;
        let (wanted, base) = (matcher.clone(), root.clone());
        walk.is_wanted = Arc::new(move |path| matches(&wanted, &base, path));
        let files = context.files.clone();
        let work = move || collect_matches(walk, &root, &matcher, &*files);
        match off_thread(&context.cancel, work).await? {
            Some(found) => Ok(format_result(found, &pattern, context)),
            None => Ok(stopped_output()),
        }
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }
}

/// The result of a walk.
struct GlobMatches {
    /// In the order in which they are shown.
    found: Vec<FoundPath>,
    passed: SkippedEntries,
}

/// A file or folder that matches.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoundPath {
    /// In seconds since 1970; the newest sorts first.
    modified: Reverse<u64>,
    path: PathBuf,
    is_folder: bool,
}

fn parse_arguments(input: &Value, place: &WorkingDirectory) -> Result<GlobArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let pattern = input.text("pattern")?;
    input.usable_path(&pattern)?;
    let folder = input.optional_path("path", place)?;
    let folder = folder.unwrap_or_else(|| place.cwd.clone());
    if !pattern.contains('/') {
        if pattern.is_empty() {
            return Err(input.wrong("`pattern` is empty"));
        }
        return Ok(GlobArguments { root: folder, pattern: format!("**/{pattern}") });
    }
    // The folders at the start of a pattern need no search, and may lie outside the folder.
    let fixed = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let (start, rest) = match pattern[..fixed].rfind('/') {
        Some(slash) => pattern.split_at(slash + 1),
        None => ("", pattern.as_str()),
    };
    let base = WorkingDirectory { cwd: folder, home: place.home.clone() };
    let root = if start.is_empty() { base.cwd } else { base.resolve(start) };
    let pattern = if rest.is_empty() { "**" } else { rest };
    Ok(GlobArguments { root, pattern: pattern.to_owned() })
}

fn matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let glob = parse_glob(pattern).map_err(|error| {
        ToolError(format!(
            "Glob: `pattern`: {error}. Write [[] for a literal bracket. Send for example {}",
            SHAPE.example
        ))
    })?;
    Ok(glob.compile_matcher())
}

fn matches(matcher: &GlobMatcher, root: &Path, path: &Path) -> bool {
    matcher.is_match(path.strip_prefix(root).unwrap_or(path))
}

/// Collects the matching files and folders. A file without a time of change is left out: it is gone, or was
/// never there, since the walk follows a folder that is swapped for a link meanwhile.
fn collect_matches(
    walk: FileWalk,
    root: &Path,
    matcher: &GlobMatcher,
    disk: &dyn Files,
) -> GlobMatches {
    let found = Mutex::new(Vec::new());
    let passed = walk.each(|entry| {
        if matches(matcher, root, entry.path())
            && let Some(modified) = disk.modified(entry.path())
        {
            let seconds = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let modified = Reverse(seconds.as_secs());
            lock(&found).push(FoundPath { modified, path: entry.into_path(), is_folder });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    GlobMatches { found, passed }
}

fn format_result(matches: GlobMatches, pattern: &str, context: &ToolContext) -> ToolOutput {
    let GlobMatches { found, passed } = matches;
    let count = found.len();
    let name = |it: &FoundPath| {
        let mark = if it.is_folder { "/" } else { "" };
        format!("{}{mark}", context.place.show(&it.path))
    };
    let shown: Vec<String> = found.iter().take(MOST).map(name).collect();
    let mut text = shown.join("\n");
    if count == 0 {
        text = format!("Nothing matches {pattern}.");
    } else if count > MOST {
        text.push_str(&format!("\n[{} more; narrow the pattern]", count - MOST));
    }
    let SkippedEntries { unreadable, hidden, ignored_folders, ignored_files, too_deep, of_system } =
        passed;
    let counted = |count: u64, what: &str| {
        (count > 0).then(|| truncation::pluralise(count, what)).into_iter()
    };
    let ignored: Vec<String> =
        counted(ignored_files, "matching file").chain(counted(ignored_folders, "folder")).collect();
    if !ignored.is_empty() {
        text.push_str(&format!("\n[.gitignore leaves out {}]", ignored.join(" and ")));
    }
    if too_deep > 0 {
        let folders = truncation::pluralise(too_deep, "folder");
        text.push_str(&format!("\n[{folders} below {LEVELS} levels: name one in `path`]"));
    }
    if unreadable > 0 {
        let places = truncation::pluralise(unreadable, "place");
        text.push_str(&format!("\n[{places} could not be looked into]"));
    }
    for note in hidden_note(hidden).into_iter().chain(system_note(of_system)) {
        text.push_str(&format!("\n{note}"));
    }
    let folders = found.iter().filter(|it| it.is_folder).count() as u64;
    let files = truncation::pluralise(count as u64 - folders, "file");
    let summary = match folders {
        0 => files,
        folders => format!("{files}, {}", truncation::pluralise(folders, "folder")),
    };
    ToolOutput::text(text)
        .with_output(json!({
            "files": shown, "total": count, "hidden": hidden,
            "ignored_files": ignored_files, "ignored_folders": ignored_folders,
        }))
        .with_summary(summary)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;
    use crate::domain::ToolStatus;
    use crate::tools::testing::ToolTestEnv;

    async fn glob(env: &ToolTestEnv, input: Value) -> Vec<String> {
        let output = env.run(&GlobTool, input).await.unwrap();
        let files = output.output["files"].as_array().unwrap().iter();
        let mut files: Vec<String> = files.map(|file| file.as_str().unwrap().into()).collect();
        files.sort();
        files
    }

    fn tree() -> ToolTestEnv {
        let env = ToolTestEnv::new();
        for name in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.txt", ".hidden/e.rs", ".git/f.rs"]
        {
            env.put(name, "");
        }
        env
    }

    #[tokio::test]
    async fn patterns_match_as_models_expect() {
        let env = tree();
        let absolute = format!("{}/src/*.rs", env.path("").display()).replace("//", "/");
        let cases = [
            (json!({"pattern": "*.rs"}), vec![".hidden/e.rs", "a.rs", "src/b.rs", "src/deep/c.rs"]),
            (json!({"pattern": "**/*.txt"}), vec!["src/d.txt"]),
            (json!({"pattern": "src/*.rs"}), vec!["src/b.rs"]),
            (
                json!({"pattern": "./src/**/*.{rs,txt}"}),
                vec!["src/b.rs", "src/d.txt", "src/deep/c.rs"],
            ),
            (json!({"pattern": "*.rs", "path": "src/deep"}), vec!["src/deep/c.rs"]),
            (json!({"pattern": "../src/*.txt", "path": "src"}), vec!["src/d.txt"]),
            (json!({"pattern": absolute}), vec!["src/b.rs"]),
            (json!({"pattern": "src/b.rs"}), vec!["src/b.rs"]),
            (json!({"pattern": "src/deep/", "path": null}), vec!["src/deep/c.rs"]),
        ];
        for (input, expected) in cases {
            assert_eq!(glob(&env, input.clone()).await, expected, "{input}");
        }
    }

    #[tokio::test]
    async fn access_is_where_the_search_starts() {
        let place = WorkingDirectory { cwd: "/w".into(), home: Some("/home/u".into()) };
        let cases = [
            ("*.rs", "/w"),
            ("src/**", "/w/src"),
            ("../x/*", "/x"),
            ("/etc/*.conf", "/etc"),
            ("~/x/*", "/home/u/x"),
        ];
        for (pattern, root) in cases {
            let access = GlobTool.access(&json!({"pattern": pattern}), &place);
            assert_eq!(access, Ok(vec![ToolAccess::Read(root.into())]), "{pattern}");
        }
    }

    #[tokio::test]
    async fn ignored_and_denied_files_are_left_out() {
        let env = tree();
        env.put(".gitignore", "target/\n*.log\n");
        env.put("target/x.rs", "");
        env.put("y.log", "");
        env.put("secret.rs", "");
        env.put("secrets/z.rs", "");
        let found = glob(&env, json!({"pattern": "**"})).await;
        assert_eq!(
            found,
            [
                ".gitignore",
                ".hidden/",
                ".hidden/e.rs",
                "a.rs",
                "src/",
                "src/b.rs",
                "src/d.txt",
                "src/deep/",
                "src/deep/c.rs"
            ]
        );
        let named = glob(&env, json!({"pattern": "target/*.rs"})).await;
        assert_eq!(named, ["target/x.rs"], "a folder that is named is searched");
        assert_eq!(glob(&env, json!({"pattern": "secrets/*"})).await, [] as [&str; 0], "S49");
        for (pattern, hidden) in [("**", 2), ("secrets/*", 1), ("src/*", 0)] {
            let output = env.run(&GlobTool, json!({"pattern": pattern})).await.unwrap();
            assert_eq!(output.output["hidden"], hidden, "{pattern}");
            let note = output.observation.lines().last().unwrap().to_owned();
            assert_eq!(note.starts_with(&format!("[{hidden} file")), hidden > 0, "{note}");
        }
    }

    #[tokio::test]
    async fn folders_are_marked_and_what_is_ignored_is_counted() {
        let env = tree();
        env.put(".gitignore", "target/\n*.log\n");
        env.put("target/x.log", "");
        env.put("one.log", "");
        env.put("src/two.log", "");
        let output = env.run(&GlobTool, json!({"pattern": "src/*"})).await.unwrap();
        let (names, note) = output.observation.rsplit_once('\n').unwrap();
        let mut names: Vec<&str> = names.lines().collect();
        names.sort_unstable();
        assert_eq!(names, ["src/b.rs", "src/d.txt", "src/deep/"]);
        assert_eq!(note, "[.gitignore leaves out 1 matching file]");
        assert_eq!(output.summary.as_deref(), Some("2 files, 1 folder"));
        let output = env.run(&GlobTool, json!({"pattern": "*.log"})).await.unwrap();
        assert_eq!(
            output.observation,
            "Nothing matches **/*.log.\n[.gitignore leaves out 2 matching files and 1 folder]"
        );
    }

    #[tokio::test]
    async fn names_order_what_was_changed_in_the_same_second() {
        let env = ToolTestEnv::new();
        for (name, millis) in
            [("b", 1_100), ("c", 1_900), ("a", 1_500), ("old", 900), ("new", 2_100)]
        {
            env.put(name, "");
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            File::options().write(true).open(env.path(name)).unwrap().set_modified(time).unwrap();
        }
        let output = env.run(&GlobTool, json!({"pattern": "*"})).await.unwrap();
        assert_eq!(output.observation, "new\na\nb\nc\nold");
    }

    #[tokio::test]
    async fn links_are_listed_and_not_followed() {
        let env = tree();
        symlink(env.path("src"), env.path("link")).unwrap();
        assert_eq!(glob(&env, json!({"pattern": "b.rs"})).await, ["src/b.rs"]);
        assert_eq!(glob(&env, json!({"pattern": "link"})).await, ["link"]);
        assert_eq!(glob(&env, json!({"pattern": "link/*.rs"})).await, ["link/b.rs"]);
    }

    #[tokio::test]
    async fn the_newest_come_first_and_the_rest_is_counted() {
        let env = ToolTestEnv::new();
        for number in 0..120_u64 {
            let name = format!("{number:03}");
            env.put(&name, "");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + number);
            File::options().write(true).open(env.path(&name)).unwrap().set_modified(time).unwrap();
        }
        let output = env.run(&GlobTool, json!({"pattern": "*"})).await.unwrap();
        assert!(output.observation.starts_with("119\n118\n"), "{}", output.observation);
        assert!(output.observation.ends_with("\n020\n[20 more; narrow the pattern]"));
        assert_eq!(output.summary.as_deref(), Some("120 files"));
    }

    #[tokio::test]
    async fn twenty_levels_are_searched() {
        let env = ToolTestEnv::new();
        let folders = |count: usize| "d/".repeat(count);
        env.put(&format!("{}in", folders(LEVELS - 1)), "");
        env.put(&format!("{}out", folders(LEVELS)), "");
        assert_eq!(glob(&env, json!({"pattern": "in"})).await.len(), 1);
        assert_eq!(glob(&env, json!({"pattern": "out"})).await.len(), 0);
        let output = env.run(&GlobTool, json!({"pattern": "out"})).await.unwrap();
        assert!(
            output.observation.ends_with("[1 folder below 20 levels: name one in `path`]"),
            "{}",
            output.observation
        );
    }

    #[tokio::test]
    async fn unsearchable_places_are_reported() {
        let env = tree();
        env.fifo("pipe");
        fs::create_dir(env.path("lib")).unwrap();
        let cases = [
            (json!({"pattern": "[a"}), "Glob: `pattern`: unclosed character class"),
            (json!({"pattern": "{a,b}".repeat(2000)}), "Glob: `pattern`: the pattern is longer"),
            (json!({"pattern": ""}), "Glob: `pattern` is empty."),
            (json!({"path": "src"}), "Glob: `pattern` is missing."),
            (json!({"pattern": "*", "path": "scr"}), "There is no scr."),
            (json!({"pattern": "*", "path": "a.rs"}), "a.rs is a file."),
            (json!({"pattern": "*", "path": "pipe"}), "pipe is a FIFO"),
        ];
        for (input, expected) in cases {
            let error = env.run(&GlobTool, input).await.unwrap_err();
            assert!(error.0.starts_with(expected), "{error}");
        }
        let nowhere = json!({"pattern": "*", "path": "nothing-like-it"});
        let error = env.run(&GlobTool, nowhere).await.unwrap_err().0;
        assert!(error.ends_with("Leave `path` out to search the whole working folder."), "{error}");
        let in_pattern = json!({"pattern": "nothing-like-it/**/*.rs"});
        let error = env.run(&GlobTool, in_pattern).await.unwrap_err().0;
        assert!(error.ends_with("A pattern without / finds files in any folder."), "{error}");
        let none = env.run(&GlobTool, json!({"pattern": "*.zig"})).await.unwrap();
        assert!(none.observation.starts_with("Nothing matches **/*.zig"), "{}", none.observation);
    }

    #[tokio::test]
    async fn a_cancelled_search_ends() {
        let env = tree();
        env.context.cancel.cancel();
        let output = env.run(&GlobTool, json!({"pattern": "*"})).await.unwrap();
        assert_eq!(output.status, ToolStatus::Cancelled);
    }
}
