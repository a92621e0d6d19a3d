//! What the person chose last: the model in each folder and favourites in all of them, and how the
//! list of sessions is grouped.
//!
//! Each in a small file of its own in slug's home. What cannot be read is as if it were not there.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::{ModelName, ReasoningEffort};

use super::files::{self, Durability};

/// As many folders are remembered; the one that was longest not worked in goes first.
const FOLDERS: usize = 500;

/// The model that was used last in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastModel {
    /// Which.
    #[serde(flatten)]
    pub name: ModelName,
    /// How hard it was to think, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Counts the choices, so that the oldest can be told.
    #[serde(default)]
    order: u64,
}

/// The last model of each folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastModels(BTreeMap<String, LastModel>);

/// The models that the person wants at hand, in the order in which they were marked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FavouriteModels(pub Vec<ModelName>);

/// How the list of sessions is grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionGrouping {
    /// By project, those of this one by date; forks below their parents.
    #[default]
    Project,
    /// By date, each session by itself.
    Date,
    /// Those that were forked, with their forks and where they part.
    Forks,
}

impl SessionGrouping {
    /// Reads it from its file.
    pub fn load(path: &Path) -> Self {
        read(path)
    }

    /// Keeps it in its file.
    pub fn keep(self, path: &Path) -> std::io::Result<()> {
        write(path, &self)
    }

    /// The next one.
    pub fn next(self) -> Self {
        match self {
            Self::Project => Self::Date,
            Self::Date => Self::Forks,
            Self::Forks => Self::Project,
        }
    }
}

impl LastModels {
    /// Reads them from their file.
    pub fn load(path: &Path) -> Self {
        read(path)
    }

    /// The one of a folder.
    pub fn of(&self, folder: &Path) -> Option<&LastModel> {
        self.0.get(&*folder.to_string_lossy())
    }

    /// Keeps the one of a folder in the file.
    pub fn keep(
        path: &Path,
        folder: &Path,
        name: ModelName,
        effort: Option<ReasoningEffort>,
    ) -> std::io::Result<()> {
        let mut all = Self::load(path);
        let order = all.0.values().map(|last| last.order).max().unwrap_or(0) + 1;
        all.0.insert(folder.to_string_lossy().into_owned(), LastModel { name, effort, order });
        while all.0.len() > FOLDERS {
            let oldest = all.0.iter().min_by_key(|(_, last)| last.order);
            let Some(oldest) = oldest.map(|(folder, _)| folder.clone()) else { break };
            all.0.remove(&oldest);
        }
        write(path, &all)
    }
}

impl FavouriteModels {
    /// Reads them from their file.
    pub fn load(path: &Path) -> Self {
        read(path)
    }

    /// Marks a model, or takes its mark off, in the file.
    pub fn toggle(path: &Path, name: &ModelName) -> std::io::Result<()> {
        let mut all = Self::load(path);
        match all.0.iter().position(|marked| marked == name) {
            Some(at) => {
                all.0.remove(at);
            }
            None => all.0.push(name.clone()),
        }
        write(path, &all)
    }
}

fn read<T: for<'de> Deserialize<'de> + Default>(path: &Path) -> T {
    let bytes = files::read_cache(path).unwrap_or_else(|error| {
        tracing::debug!(path = %path.display(), %error, "not readable");
        None
    });
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn write(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let bytes = serde_json::to_vec_pretty(value).map_err(std::io::Error::from)?;
    files::replace(path, &[&bytes, b"\n"], Durability::Cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_has_its_last_model() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.json");
        let (here, there) = (Path::new("/src/a"), Path::new("/src/b"));
        let keep = |folder, model: &str, effort| {
            LastModels::keep(&file, folder, ModelName::new("mine", model), effort).unwrap();
        };
        keep(here, "small", None);
        keep(there, "large", Some(ReasoningEffort::High));
        keep(here, "medium", None);
        let all = LastModels::load(&file);
        assert_eq!(all.of(here).unwrap().name, ModelName::new("mine", "medium"));
        assert_eq!(all.of(there).unwrap().effort, Some(ReasoningEffort::High));
        assert_eq!(all.of(Path::new("/src")), None);
    }

    #[test]
    fn the_folder_longest_not_worked_in_is_forgotten_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.json");
        let name = |at: usize| format!("/src/{at}");
        let full = (0..FOLDERS).map(|at| {
            let last = LastModel { name: ModelName::new("p", "m"), effort: None, order: at as u64 };
            (name(at), last)
        });
        write(&file, &LastModels(full.collect())).unwrap();
        LastModels::keep(&file, Path::new("/new"), ModelName::new("p", "m"), None).unwrap();
        let all = LastModels::load(&file);
        assert!(all.of(Path::new("/src/0")).is_none() && all.of(Path::new("/src/1")).is_some());
        assert!(all.of(Path::new("/new")).is_some());
    }

    #[test]
    fn a_mark_is_set_and_taken_off() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("favourites.json");
        let [one, two] = ["one", "two"].map(|model| ModelName::new("p", model));
        for name in [&one, &two, &one] {
            FavouriteModels::toggle(&file, name).unwrap();
        }
        assert_eq!(FavouriteModels::load(&file), FavouriteModels(vec![two]));
    }

    #[test]
    fn what_makes_no_sense_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("favourites.json");
        std::fs::write(&file, "{]").unwrap();
        assert_eq!(FavouriteModels::load(&file), FavouriteModels::default());
    }
}
