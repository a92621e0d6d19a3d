//! Doc comments earn their line: what is public outside its module has one, it says more than the
//! name does, and a function that can fail says when.

use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::visit::{self, Visit};

use super::source_tree::{is_for_tests, rust_files};

/// Words that add nothing to a name.
const EMPTY_WORDS: &[&str] = &[
    "a", "all", "an", "and", "are", "as", "at", "for", "from", "has", "have", "how", "in", "is",
    "it", "its", "of", "on", "one", "or", "own", "that", "the", "their", "there", "these", "this",
    "those", "to", "was", "what", "where", "which", "who", "whom", "whose", "with",
];

#[test]
fn public_items_have_doc_comments() {
    assert_none(&found(|comments| &comments.missing), "public items without a doc comment");
}

#[test]
fn doc_comments_say_more_than_the_name() {
    assert_none(&found(|comments| &comments.empty), "doc comments that repeat the name");
}

#[test]
fn public_functions_that_can_fail_say_when() {
    assert_none(
        &found(|comments| &comments.without_errors),
        "public functions that return a `Result` without a section `# Errors`",
    );
}

/// The human has one name in code, comments and docs.
#[test]
fn the_user_is_called_the_user() {
    let other_name = ["per", "son"].concat();
    let pages = ignore::Walk::new("docs").map(|entry| entry.unwrap().into_path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let sources = ["src", "tests"].map(|folder| rust_files(Path::new(folder))).concat();
    let mut found = Vec::new();
    for path in sources.into_iter().chain(pages) {
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric());
            if words.any(|word| word.trim_end_matches('s') == other_name) {
                found.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert_none(&found, "lines that do not call the user the user");
}

fn assert_none(found: &[String], what: &str) {
    assert!(found.is_empty(), "{} {what}:\n{}", found.len(), found.join("\n"));
}

fn found(list: impl Fn(&DocComments) -> &Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    for path in rust_files(Path::new("src")) {
        if is_test_file(&path) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut comments = DocComments { path: path.display().to_string(), ..Default::default() };
        comments.visit_file(&file);
        all.extend(list(&comments).iter().cloned());
    }
    all
}

fn is_test_file(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name == "tests"
        || name.ends_with("_tests")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// What is wrong with the doc comments of one file, each as `path:line: name`.
#[derive(Default)]
struct DocComments {
    path: String,
    owner: String,
    missing: Vec<String>,
    empty: Vec<String>,
    without_errors: Vec<String>,
}

impl DocComments {
    fn check(&mut self, name: &syn::Ident, attributes: &[syn::Attribute], must_exist: bool) {
        let text = doc_text(attributes);
        let place = format!("{}:{}: {name}", self.path, name.span().start().line);
        if text.is_empty() {
            if must_exist {
                self.missing.push(place);
            }
        } else if says_nothing(&text, &[&self.owner, &name.to_string()]) {
            self.empty.push(format!("{place}: {text}"));
        }
    }

    fn check_function(
        &mut self,
        signature: &syn::Signature,
        attributes: &[syn::Attribute],
        is_public: bool,
    ) {
        self.check(&signature.ident, attributes, is_public);
        let syn::ReturnType::Type(_, returned) = &signature.output else { return };
        let syn::Type::Path(returned) = &**returned else { return };
        let fails = returned.path.segments.last().is_some_and(|it| it.ident == "Result");
        if is_public && fails && !doc_text(attributes).contains("# Errors") {
            let line = signature.ident.span().start().line;
            self.without_errors.push(format!("{}:{line}: {}", self.path, signature.ident));
        }
    }

    fn within(&mut self, owner: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

impl<'ast> Visit<'ast> for DocComments {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if is_of_command_line(&item.attrs) {
            return;
        }
        self.check(&item.ident, &item.attrs, is_public(&item.vis));
        self.within(item.ident.to_string(), |it| visit::visit_item_struct(it, item));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if is_of_command_line(&item.attrs) {
            return;
        }
        self.check(&item.ident, &item.attrs, is_public(&item.vis));
        self.within(item.ident.to_string(), |it| visit::visit_item_enum(it, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.check(&item.ident, &item.attrs, is_public(&item.vis));
        let is_public = is_public(&item.vis);
        self.within(item.ident.to_string(), |it| {
            for function in &item.items {
                if let syn::TraitItem::Fn(function) = function {
                    it.check_function(&function.sig, &function.attrs, is_public);
                }
            }
        });
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        if block.trait_.is_none() && !is_for_tests(&block.attrs) {
            let owner = block.self_ty.to_token_stream().to_string();
            self.within(owner, |it| visit::visit_item_impl(it, block));
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            self.check_function(&function.sig, &function.attrs, is_public(&function.vis));
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_for_tests(&function.attrs) {
            self.check_function(&function.sig, &function.attrs, is_public(&function.vis));
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.check(&item.ident, &item.attrs, is_public(&item.vis));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.check(&item.ident, &item.attrs, is_public(&item.vis));
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.check(&item.ident, &item.attrs, is_public(&item.vis));
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.check(name, &field.attrs, false);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.check(&variant.ident, &variant.attrs, false);
        visit::visit_variant(self, variant);
    }
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// Whether clap makes the text of `--help` from the doc comments.
fn is_of_command_line(attributes: &[syn::Attribute]) -> bool {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derives.map(|it| it.to_token_stream().to_string()).any(|derived| {
        ["Parser", "Subcommand", "Args", "ValueEnum"].iter().any(|it| derived.contains(it))
    })
}

fn doc_text(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Whether a comment has no word that is not in one of the names.
fn says_nothing(text: &str, names: &[&str]) -> bool {
    let known: Vec<String> = names.iter().flat_map(|name| name_words(name)).collect();
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| !EMPTY_WORDS.contains(&word.as_str()))
        .all(|word| known.iter().any(|it| is_same_word(it, &word)))
}

fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    for letter in name.chars() {
        if letter.is_uppercase() || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Equal but for an ending such as that of a plural.
fn is_same_word(a: &str, b: &str) -> bool {
    let stem = |word: &str| word.trim_end_matches("es").trim_end_matches('s').to_owned();
    stem(a) == stem(b)
}

#[test]
fn a_comment_that_repeats_its_name_is_found() {
    assert!(says_nothing("The turn.", &["Event", "turn"]));
    assert!(says_nothing("Its tool calls", &["tool_call"]));
    assert!(says_nothing("Which one.", &["SteerId", "id"]));
    assert!(!says_nothing("The turn, counted from 1.", &["Event", "turn"]));
    assert!(!says_nothing("Bytes on the disk.", &["size"]));
}
