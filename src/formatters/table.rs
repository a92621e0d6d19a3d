//! The formatters that slug knows by itself. None is installed by slug.

use super::definition::{ConfigurationSign, FormatterDefinition};

/// A row: name, endings of names, command, and what in a folder shows that the project uses it.
type FormatterRow = (&'static str, &'static str, &'static str, &'static str);

/// Words are separated by blanks. In a command `{file}` is the file's path, and `{edition}` the edition
/// of Rust that its package names. A sign is the name of a file, or `FILE:TEXT` for a file with that text
/// in it; with `~` it shows only the language, and counts where the file was formatted before. The first
/// formatter that has a sign in the nearest folder is used.
const FORMATTERS: &[FormatterRow] = &[
    ("rustfmt", "rs", "rustfmt {edition} --emit stdout", "rustfmt.toml .rustfmt.toml ~Cargo.toml"),
    ("gofmt", "go", "gofmt", "~go.mod ~go.work"),
    (
        "biome",
        "js jsx mjs cjs ts tsx mts cts json jsonc css graphql",
        "biome format --stdin-file-path={file}",
        "biome.json biome.jsonc",
    ),
    (
        "prettier",
        "js jsx mjs cjs ts tsx mts cts json jsonc json5 css scss less html vue md mdx yaml yml graphql",
        "prettier --stdin-filepath {file}",
        ".prettierrc .prettierrc.json .prettierrc.json5 .prettierrc.yaml .prettierrc.yml .prettierrc.toml \
         .prettierrc.js .prettierrc.cjs .prettierrc.mjs .prettierrc.ts prettier.config.js \
         prettier.config.cjs prettier.config.mjs prettier.config.ts package.json:\"prettier\"",
    ),
    ("black", "py pyi", "black -q --stdin-filename {file} -", "pyproject.toml:[tool.black]"),
    (
        "ruff",
        "py pyi",
        "ruff format --no-cache --stdin-filename {file} -",
        "pyproject.toml:[tool.ruff.format] ruff.toml:[format] .ruff.toml:[format] ~ruff.toml ~.ruff.toml \
         ~pyproject.toml:[tool.ruff",
    ),
    (
        "clang-format",
        "c h cc cpp cxx hpp hh m mm",
        "clang-format --assume-filename={file}",
        ".clang-format _clang-format",
    ),
    ("shfmt", "sh bash", "shfmt -filename {file}", "~.editorconfig"),
    ("taplo", "toml", "taplo fmt -", "taplo.toml .taplo.toml"),
    ("stylua", "lua", "stylua --stdin-filepath {file} -", "stylua.toml .stylua.toml"),
    ("zig", "zig", "zig fmt --stdin", "~build.zig"),
];

/// The formatters of the table, in its order.
pub(super) fn built_in_formatters() -> Vec<FormatterDefinition> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let definition = |(name, extensions, command, signs): &FormatterRow| FormatterDefinition {
        name: (*name).to_owned(),
        command: words(command),
        extensions: words(extensions),
        signs: signs.split_whitespace().map(ConfigurationSign::parse).collect(),
        is_disabled: false,
    };
    FORMATTERS.iter().map(definition).collect()
}
