//! The crate's own source, parsed: every module that is built without tests, its items without
//! those that only tests have, and the paths that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};

/// A path to a module, without `crate`: `["tui", "app"]`.
pub type ModulePath = Vec<String>;

/// One file of the crate, as it is built without `cfg(test)`.
pub struct SourceFile {
    pub path: PathBuf,
    pub module: ModulePath,
    pub syntax: syn::File,
    /// Modules declared here, whether in a file of their own or not.
    pub children: Vec<String>,
}

/// A path as the source names it, such as `std::fs::read` or `crate::domain::Mode`, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    pub line: usize,
    pub segments: Vec<String>,
}

impl NamedPath {
    /// Whether the path begins or ends with another, such as `Instant::now`.
    pub fn names(&self, other: &str) -> bool {
        let text = self.segments.join("::");
        text.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            || text.strip_suffix(other).is_some_and(|rest| rest.ends_with("::"))
    }
}

impl SourceFile {
    /// The first part of the path of a file below `src`, none for `lib.rs` and `main.rs`.
    pub fn room(&self) -> Option<&str> {
        self.module.first().map(String::as_str)
    }

    /// The code as tokens with a space between each two.
    pub fn tokens(&self) -> String {
        self.syntax.to_token_stream().to_string()
    }

    /// Every path with its segments joined, imports and macro arguments included.
    pub fn named_paths(&self) -> Vec<NamedPath> {
        let mut found = Vec::new();
        collect_paths(self.syntax.to_token_stream(), &[], &mut found);
        found
    }

    /// The paths that lead into this crate, from its root.
    pub fn crate_paths(&self) -> Vec<NamedPath> {
        self.paths_in(self.syntax.to_token_stream())
    }

    /// The same of a part of the file.
    pub fn paths_in(&self, part: TokenStream) -> Vec<NamedPath> {
        let mut found = Vec::new();
        collect_paths(part, &[], &mut found);
        found.into_iter().filter_map(|path| self.absolute(path)).collect()
    }

    /// What stands between quotation marks.
    pub fn texts(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect_texts(self.syntax.to_token_stream(), &mut found);
        found
    }

    /// Lines of the file that are neither of tests, nor comments, nor empty.
    pub fn code_lines(&self) -> usize {
        let mut lines = BTreeSet::new();
        collect_lines(self.syntax.to_token_stream(), &mut lines);
        lines.len()
    }

    fn absolute(&self, path: NamedPath) -> Option<NamedPath> {
        let NamedPath { line, segments } = path;
        let (base, rest) = match segments.first()?.as_str() {
            "crate" => (Vec::new(), &segments[1..]),
            "self" if segments.len() > 1 => (self.module.clone(), &segments[1..]),
            "super" => {
                let levels = segments.iter().take_while(|segment| *segment == "super").count();
                let keep = self.module.len().checked_sub(levels)?;
                (self.module[..keep].to_vec(), &segments[levels..])
            }
            first if segments.len() > 1 && self.children.iter().any(|child| child == first) => {
                (self.module.clone(), &segments[..])
            }
            _ => return None,
        };
        let rest = rest.iter().filter(|segment| *segment != "self").cloned();
        Some(NamedPath { line, segments: base.into_iter().chain(rest).collect() })
    }
}

/// All files that `src/lib.rs` and `src/main.rs` lead to, tests left out.
pub fn parse_crate() -> Vec<SourceFile> {
    let mut files = Vec::new();
    parse_file(Path::new("src/lib.rs"), &[], &mut files);
    parse_file(Path::new("src/main.rs"), &[], &mut files);
    files
}

fn parse_file(path: &Path, module: &[String], files: &mut Vec<SourceFile>) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    TestRemover.visit_file_mut(&mut syntax);
    let declared: Vec<(String, bool)> = syntax
        .items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Mod(module) => Some((module.ident.to_string(), module.content.is_none())),
            _ => None,
        })
        .collect();
    let children = declared.iter().map(|(name, _)| name.clone()).collect();
    files.push(SourceFile { path: path.to_owned(), module: module.to_vec(), syntax, children });
    let below = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => path.with_file_name(""),
        _ => path.with_extension(""),
    };
    for (name, is_file) in declared {
        if is_file {
            let flat = below.join(format!("{name}.rs"));
            let nested = below.join(&name).join("mod.rs");
            let child = if flat.exists() { flat } else { nested };
            parse_file(&child, &[module, &[name]].concat(), files);
        }
    }
}

/// Every Rust file below a folder, tests included. The tasks are left out: they are repositories of
/// their own.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ignore::Walk::new(folder)
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| !path.starts_with("tests/tasks"))
        .collect();
    files.sort();
    files
}

/// Takes out whatever is built for tests only, and comments with it.
struct TestRemover;

impl VisitMut for TestRemover {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.attrs.clear();
        file.items.retain(|item| !is_for_tests(item_attributes(item)));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_for_tests(item_attributes(item)));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|item| match item {
            syn::ImplItem::Fn(function) => !is_for_tests(&function.attrs),
            syn::ImplItem::Const(constant) => !is_for_tests(&constant.attrs),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| match statement {
            syn::Stmt::Local(local) => !is_for_tests(&local.attrs),
            syn::Stmt::Item(item) => !is_for_tests(item_attributes(item)),
            syn::Stmt::Macro(call) => !is_for_tests(&call.attrs),
            syn::Stmt::Expr(..) => true,
        });
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_attributes_mut(&mut self, attributes: &mut Vec<syn::Attribute>) {
        attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    }
}

/// Whether an item is built for tests only.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Path>()
                    .is_ok_and(|condition| condition.is_ident("test"))
    })
}

fn item_attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(it) => &it.attrs,
        syn::Item::Enum(it) => &it.attrs,
        syn::Item::ExternCrate(it) => &it.attrs,
        syn::Item::Fn(it) => &it.attrs,
        syn::Item::ForeignMod(it) => &it.attrs,
        syn::Item::Impl(it) => &it.attrs,
        syn::Item::Macro(it) => &it.attrs,
        syn::Item::Mod(it) => &it.attrs,
        syn::Item::Static(it) => &it.attrs,
        syn::Item::Struct(it) => &it.attrs,
        syn::Item::Trait(it) => &it.attrs,
        syn::Item::Type(it) => &it.attrs,
        syn::Item::Union(it) => &it.attrs,
        syn::Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Reads `a::b::{c, d::e}` as `a::b::c` and `a::b::d::e`, anywhere in the tokens, and what follows a
/// dot as no path. Generic arguments and groups are read for paths of their own.
fn collect_paths(tokens: TokenStream, base: &[String], found: &mut Vec<NamedPath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == ':');
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            // `pub(super)` names no import.
            TokenTree::Ident(word) if word == "pub" => {
                let is_limited = matches!(tokens.get(at + 1), Some(TokenTree::Group(group))
                    if group.delimiter() == Delimiter::Parenthesis);
                at += if is_limited { 2 } else { 1 };
            }
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let mut segments = base.to_vec();
                segments.push(first.to_string());
                // What stands before braces names nothing but what is between them.
                let mut is_prefix = false;
                at += 1;
                while is_colon(at) && is_colon(at + 1) {
                    match tokens.get(at + 2) {
                        Some(TokenTree::Ident(next)) => {
                            segments.push(next.to_string());
                            at += 3;
                        }
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            collect_paths(group.stream(), &segments, found);
                            is_prefix = true;
                            at += 3;
                        }
                        _ => {
                            at += 2;
                            break;
                        }
                    }
                }
                if !is_prefix {
                    found.push(NamedPath { line, segments });
                }
            }
            TokenTree::Group(group) => {
                collect_paths(group.stream(), &[], found);
                at += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
        }
    }
}

fn collect_texts(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect_texts(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                found.extend(text.ok().map(|text| text.value()));
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

fn collect_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    for token in tokens {
        let span = token.span();
        if let TokenTree::Group(group) = &token {
            collect_lines(group.stream(), lines);
            lines.extend([span.start().line, span.end().line]);
        } else {
            lines.extend(span.start().line..=span.end().line);
        }
    }
}
