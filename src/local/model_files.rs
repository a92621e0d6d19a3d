//! Finds model files where people and programs keep them. Nothing is fetched.
//!
//! A file whose head is no model's is left out, and so are the later parts of a model in several files,
//! whose sizes count with the first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::gguf::{self, GgufFacts};

/// Where to look below the home folder.
const PLACES: [&str; 7] = [
    "models",
    "Models",
    ".cache/llama.cpp",
    ".cache/huggingface/hub",
    ".lmstudio/models",
    ".cache/lm-studio/models",
    ".local/share/models",
];

/// How deep folders are looked into: Hugging Face's cache is five deep.
const MAX_DEPTH: usize = 6;

/// How many entries are looked at in all, so that a large folder does not take long.
const MAX_ENTRIES: usize = 20_000;

/// The kinds of files that only help another model.
const HELPERS: [&str; 2] = ["clip", "mmproj"];

/// A model in one file, or in several of which this is the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    pub path: PathBuf,
    /// The bytes of all its files.
    pub size: u64,
    pub facts: GgufFacts,
}

impl ModelFile {
    /// Reads what a file says of itself.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it is no model. The error is a sentence with a remedy.
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let data = fs::metadata(path).map_err(|error| {
            format!("Cannot open the model {shown}: {error}. `slug models local` lists those here.")
        })?;
        if !data.is_file() {
            return Err(format!("{shown} is not a file. Name a model file that ends in .gguf."));
        }
        let facts = gguf::read_facts(path).map_err(|error| {
            format!("{shown} is not a model that slug can start ({error}). It takes GGUF files.")
        })?;
        if HELPERS.contains(&facts.architecture.as_str()) {
            return Err(format!(
                "{shown} is not a model: it only adds image input to one (mmproj). Name the file \
                 of the model."
            ));
        }
        let size = parts(path).iter().filter_map(|part| Some(fs::metadata(part).ok()?.len())).sum();
        Ok(Self { path: path.to_owned(), size, facts })
    }

    /// The model's name for the server and on screen: the file's, without its ending.
    pub fn name(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_alphanumeric() || "-_.:+".contains(c) { c } else { '-' };
        // A comma would make two names of it.
        stem.chars().map(plain).collect()
    }
}

/// The models in the usual folders of a home and in `more`, by path; each once, whatever leads there.
pub fn find(home: Option<&Path>, more: &[PathBuf]) -> Vec<ModelFile> {
    let usual = home.into_iter().flat_map(|home| PLACES.iter().map(move |place| home.join(place)));
    let mut found = BTreeMap::new();
    let mut left = MAX_ENTRIES;
    for folder in more.iter().cloned().chain(usual) {
        search(&folder, MAX_DEPTH, &mut left, &mut found);
    }
    let mut models: Vec<ModelFile> = found.into_values().collect();
    models.sort_by(|one, other| one.path.cmp(&other.path));
    models
}

fn search(folder: &Path, depth: usize, left: &mut usize, found: &mut BTreeMap<PathBuf, ModelFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 1 {
            search(&path, depth - 1, left, found);
        } else if !kind.is_dir()
            && is_first_part(&path)
            && let Ok(real) = path.canonicalize()
            && let Ok(model) = ModelFile::open(&path)
        {
            found.entry(real).or_insert(model);
        }
    }
}

fn is_first_part(path: &Path) -> bool {
    let is_model = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    is_model && part_of(path).is_none_or(|(_, number, _)| number == 1)
}

/// All files of a model, this one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    match part_of(path) {
        Some((base, 1, count)) => (1..=count)
            .map(|number| path.with_file_name(format!("{base}-{number:05}-of-{count:05}.gguf")))
            .collect(),
        Some(_) | None => vec![path.to_owned()],
    }
}

/// The name, the number and the count in `NAME-00001-of-00003.gguf`.
fn part_of(path: &Path) -> Option<(String, u32, u32)> {
    let stem = path.file_stem()?.to_str()?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (base, number) = rest.rsplit_once('-')?;
    let five = |text: &str| (text.len() == 5).then(|| text.parse().ok())?;
    let (number, count): (u32, u32) = (five(number)?, five(count)?);
    (number <= count).then(|| (base.to_owned(), number, count))
}

#[cfg(test)]
mod tests {
    use super::super::testing::GgufText;
    use super::*;

    fn write(path: &Path, kind: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, GgufText::new(kind).number(&format!("{kind}.context_length"), 7).bytes())
            .unwrap();
    }

    #[test]
    fn models_are_found_where_programs_keep_them_and_helpers_are_not() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        write(&at("models/a.gguf"), "llama");
        write(&at(".cache/huggingface/hub/models--x/blobs/0123"), "llama");
        let snapshot = at(".cache/huggingface/hub/models--x/snapshots/1");
        fs::create_dir_all(&snapshot).unwrap();
        std::os::unix::fs::symlink("../../blobs/0123", snapshot.join("b.gguf")).unwrap();
        write(&at("models/mmproj-a.gguf"), "clip");
        fs::write(at("models/broken.gguf"), "not a model").unwrap();
        write(&at("models/c-00001-of-00002.gguf"), "llama");
        write(&at("models/c-00002-of-00002.gguf"), "llama");
        write(&at("elsewhere/d.gguf"), "llama");
        let found = find(Some(home.path()), &[at("models"), at("elsewhere")]);
        let names: Vec<String> = found.iter().map(ModelFile::name).collect();
        assert_eq!(names, ["b", "d", "a", "c-00001-of-00002"]);
        let one = fs::metadata(at("models/a.gguf")).unwrap().len();
        assert_eq!((found[2].size, found[3].size), (one, 2 * one));
    }

    #[test]
    fn what_cannot_be_started_is_said_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("text.gguf"), "some text that is no model at all").unwrap();
        write(&at("eyes.gguf"), "clip");
        for (path, said) in [
            (at("none.gguf"), "slug models local"),
            (folder.path().to_owned(), "is not a file"),
            (at("text.gguf"), "takes GGUF files"),
            (at("eyes.gguf"), "only adds image input"),
        ] {
            let error = ModelFile::open(&path).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_name_is_one_name_for_the_server() {
        let model =
            |path: &str| ModelFile { path: path.into(), size: 0, facts: GgufFacts::default() };
        assert_eq!(model("/m/Qwen3 4B, new\u{1b}.gguf").name(), "Qwen3-4B--new-");
    }
}
