//! Figures of the source: how many names are shared, how large the circles of imports are, how much
//! takes the whole screen's state. `cargo test --test architecture figures -- --nocapture` prints them;
//! none may grow past the limit that stands beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};

use super::source_tree::{ModulePath, NamedPath, SourceFile, parse_crate, rust_files};

/// The state of the whole screen, which only its shell is to take as `&mut`.
const WHOLE_SCREEN: &str = "ScreenModel";
/// Rooms whose modules are to import each other in small circles only.
const CIRCLE_ROOMS: &[&[&str]] = &[&["agent"], &["permissions"], &["tui"], &["tui", "app"]];
/// A file longer than this does more than one thing.
const LONG_FILE: usize = 600;
/// So many equal lines in two places are a duplicate.
const DUPLICATE_LINES: usize = 6;

/// A figure and the most that it may be.
struct SourceFigure {
    name: String,
    found: usize,
    limit: usize,
    of: Option<usize>,
}

#[test]
fn figures_of_the_source_do_not_get_worse() {
    let files = parse_crate();
    let types = type_names(&files);
    let mut by_name: BTreeMap<&str, Vec<&TypeName>> = BTreeMap::new();
    for it in &types {
        by_name.entry(&it.name).or_default().push(it);
    }
    let is_shared = |it: &&TypeName| by_name[it.name.as_str()].len() > 1;
    let is_shared_in_public = |it: &&TypeName| {
        it.is_public && by_name[it.name.as_str()].iter().filter(|it| it.is_public).count() > 1
    };
    let shared = types.iter().filter(is_shared).count();
    let shared_in_public = types.iter().filter(is_shared_in_public).count();
    let one_word = types.iter().filter(|it| words(&it.name) == 1).count();
    let public = types.iter().filter(|it| it.is_public).count();
    let mut figures = vec![
        figure("public types that share their name", shared_in_public, 0, Some(public)),
        figure("types that share their name", shared, 2, Some(types.len())),
        figure("types of one word", one_word, 31, Some(types.len())),
        figure("functions with &mut of the whole screen", takes_the_screen(&files), 19, None),
    ];
    for (room, limit) in CIRCLE_ROOMS.iter().zip([6, 5, 6, 4]) {
        let circle = largest_circle(&files, room);
        let name = format!("modules in the largest circle of {}", room.join("::"));
        figures.push(figure(&name, circle.len(), limit, None));
    }
    let sources: Vec<PathBuf> =
        ["src", "tests"].iter().flat_map(|folder| rust_files(Path::new(folder))).collect();
    let texts: Vec<(PathBuf, String)> =
        sources.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
    let long = texts.iter().filter(|(_, text)| text.lines().count() > LONG_FILE).count();
    figures.push(figure("files over 600 lines", long, 0, None));
    figures.push(figure("pairs of duplicates", duplicates(&texts), 85, None));
    let all: usize = texts.iter().map(|(_, text)| text.lines().count()).sum();
    let code: usize = files.iter().map(SourceFile::code_lines).sum();
    println!("{:>9}  lines of code\n{:>9}  lines of tests", code, all - code);
    for it in &figures {
        let share = it.of.map(|of| format!(" of {of}, {} %", it.found * 100 / of.max(1)));
        println!(
            "{:>9}  {}{} (at most {})",
            it.found,
            it.name,
            share.unwrap_or_default(),
            it.limit
        );
    }
    let worse: Vec<&str> =
        figures.iter().filter(|it| it.found > it.limit).map(|it| it.name.as_str()).collect();
    assert!(worse.is_empty(), "worse than it was: {worse:?}");
}

/// A name says what a type is without its module, so it exists once.
#[test]
fn public_type_names_are_unique() {
    let files = parse_crate();
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for it in type_names(&files).into_iter().filter(|it| it.is_public) {
        by_name.entry(it.name).or_default().push(it.module.join("::"));
    }
    by_name.retain(|_, modules| modules.len() > 1);
    assert!(by_name.is_empty(), "{by_name:#?}");
}

/// `SLUG_LIST=1 cargo test --test architecture the_names -- --nocapture` lists the names themselves.
#[test]
fn the_names_that_are_shared_can_be_listed() {
    if std::env::var_os("SLUG_LIST").is_none() {
        return;
    }
    let files = parse_crate();
    let types = type_names(&files);
    let mut by_name: BTreeMap<&str, Vec<&TypeName>> = BTreeMap::new();
    for it in &types {
        by_name.entry(&it.name).or_default().push(it);
    }
    for (name, places) in &by_name {
        let mark = |it: &&TypeName| {
            format!("{}{}", if it.is_public { "" } else { "-" }, it.module.join("::"))
        };
        println!(
            "{} {name}: {}",
            places.len(),
            places.iter().map(mark).collect::<Vec<_>>().join(" ")
        );
    }
    for room in CIRCLE_ROOMS {
        println!("circle of {}: {:?}", room.join("::"), largest_circle(&files, room));
    }
}

fn figure(name: &str, found: usize, limit: usize, of: Option<usize>) -> SourceFigure {
    SourceFigure { name: name.to_owned(), found, limit, of }
}

struct TypeName {
    name: String,
    module: ModulePath,
    is_public: bool,
}

fn type_names(files: &[SourceFile]) -> Vec<TypeName> {
    let mut found = Vec::new();
    for file in files {
        collect_types(&file.syntax.items, &file.module, &mut found);
    }
    found
}

fn collect_types(items: &[syn::Item], module: &ModulePath, found: &mut Vec<TypeName>) {
    for item in items {
        let (name, visibility) = match item {
            syn::Item::Struct(it) => (&it.ident, &it.vis),
            syn::Item::Enum(it) => (&it.ident, &it.vis),
            syn::Item::Union(it) => (&it.ident, &it.vis),
            syn::Item::Trait(it) => (&it.ident, &it.vis),
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => {
                collect_types(items, module, found);
                continue;
            }
            _ => continue,
        };
        found.push(TypeName {
            name: name.to_string(),
            module: module.clone(),
            is_public: matches!(visibility, syn::Visibility::Public(_)),
        });
    }
}

/// The words of a name in camel case.
fn words(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: usize| {
        letters[at].is_uppercase()
            && (at == 0
                || !letters[at - 1].is_uppercase()
                || letters.get(at + 1).is_some_and(|next| next.is_lowercase()))
    };
    (0..letters.len()).filter(|at| begins(*at)).count()
}

/// Functions with a parameter `&mut Model`, and methods of the model with `&mut self`.
fn takes_the_screen(files: &[SourceFile]) -> usize {
    struct SignatureCounter {
        in_screen: bool,
        found: usize,
    }
    impl VisitMut for SignatureCounter {
        fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
            let name = block.self_ty.to_token_stream().to_string();
            let outer = std::mem::replace(&mut self.in_screen, name == WHOLE_SCREEN);
            visit_mut::visit_item_impl_mut(self, block);
            self.in_screen = outer;
        }

        fn visit_signature_mut(&mut self, signature: &mut syn::Signature) {
            let takes = signature.inputs.iter().any(|input| match input {
                syn::FnArg::Receiver(it) => {
                    self.in_screen && it.to_token_stream().to_string() == "& mut self"
                }
                syn::FnArg::Typed(it) => {
                    it.ty.to_token_stream().to_string() == format!("& mut {WHOLE_SCREEN}")
                }
            });
            self.found += usize::from(takes);
            visit_mut::visit_signature_mut(self, signature);
        }
    }
    let mut signatures = SignatureCounter { in_screen: false, found: 0 };
    for file in files.iter().filter(|file| file.room() == Some("tui")) {
        signatures.visit_file_mut(&mut file.syntax.clone());
    }
    signatures.found
}

/// The most modules below `room` that all import each other, directly or through one another.
fn largest_circle(files: &[SourceFile], room: &[&str]) -> Vec<String> {
    let modules: BTreeSet<&ModulePath> = files.iter().map(|file| &file.module).collect();
    let aliases = aliases(files, &modules);
    let inside = |module: &[String]| {
        module.iter().map(String::as_str).take(room.len()).eq(room.iter().copied())
    };
    let mut edges: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
    for file in files.iter().filter(|file| inside(&file.module)) {
        let targets = edges.entry(file.module.clone()).or_default();
        for path in file.crate_paths() {
            let target = defining_module(&path.segments, &modules, &aliases);
            if inside(&target) && target != file.module {
                targets.insert(target);
            }
        }
    }
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        edges.keys().map(|module| (module, reachable(module, &edges))).collect();
    let circle = |module: &ModulePath| {
        let back =
            |other: &&&ModulePath| reach.get(**other).is_some_and(|far| far.contains(module));
        reach[module].iter().filter(back).map(|it| it.join("::")).collect::<Vec<String>>()
    };
    edges.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
}

fn reachable<'a>(
    from: &'a ModulePath,
    edges: &'a BTreeMap<ModulePath, BTreeSet<ModulePath>>,
) -> BTreeSet<&'a ModulePath> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if seen.insert(next) {
                left.push(next);
            }
        }
    }
    seen
}

/// What each module imports or hands on, by the name it has there.
type ModuleAliases = HashMap<ModulePath, ModulePath>;

fn aliases(files: &[SourceFile], modules: &BTreeSet<&ModulePath>) -> ModuleAliases {
    let mut found = ModuleAliases::new();
    for file in files {
        for item in &file.syntax.items {
            let syn::Item::Use(item) = item else { continue };
            for NamedPath { segments, .. } in file.paths_in(item.to_token_stream()) {
                let Some(name) = segments.last() else { continue };
                let alias: ModulePath = file.module.iter().cloned().chain([name.clone()]).collect();
                if !modules.contains(&alias) && alias != segments {
                    found.insert(alias, segments);
                }
            }
        }
    }
    found
}

/// The module in which the item at a path is written, past those that only hand it on.
fn defining_module(
    path: &[String],
    modules: &BTreeSet<&ModulePath>,
    aliases: &ModuleAliases,
) -> ModulePath {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let known = (0..=path.len())
            .rev()
            .find(|len| modules.contains(&path[..*len].to_vec()))
            .unwrap_or(0);
        let Some(target) = path.get(..=known).and_then(|alias| aliases.get(alias)) else {
            path.truncate(known);
            break;
        };
        path = target.iter().chain(&path[known + 1..]).cloned().collect();
    }
    let known = (0..=path.len()).rev().find(|len| modules.contains(&path[..*len].to_vec()));
    path[..known.unwrap_or(0)].to_vec()
}

/// Places with the same lines, each pair counted once however long it is.
fn duplicates(texts: &[(PathBuf, String)]) -> usize {
    let mut lines: Vec<(usize, &str)> = Vec::new();
    for (file, (_, text)) in texts.iter().enumerate() {
        let is_code =
            |line: &&str| line.len() > 3 && !line.starts_with("use ") && !line.starts_with("//");
        lines.extend(text.lines().map(str::trim).filter(is_code).map(|line| (file, line)));
    }
    let mut places: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
    for at in 0..lines.len().saturating_sub(DUPLICATE_LINES) {
        let window = &lines[at..at + DUPLICATE_LINES];
        if window.iter().all(|(file, _)| *file == window[0].0) {
            places.entry(window.iter().map(|(_, line)| *line).collect()).or_default().push(at);
        }
    }
    let pairs: BTreeSet<(usize, usize)> = places
        .values()
        .flat_map(|found| {
            found.iter().enumerate().flat_map(|(nth, a)| found[nth + 1..].iter().map(|b| (*a, *b)))
        })
        .collect();
    // A longer duplicate is a row of pairs, each one line on.
    pairs.iter().filter(|(a, b)| *a == 0 || !pairs.contains(&(a - 1, b - 1))).count()
}
