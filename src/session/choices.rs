//! What the user chose last: the model in each folder, the favourite models, and how the list of
//! sessions is grouped.
//!
//! Each choice is kept in a small file of its own in slug's home. A file that cannot be read counts
//! as missing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::{ModelName, ReasoningEffort};

use super::files::{self, Durability};

/// So many folders are remembered. The one that was not worked in for the longest time is forgotten
/// first.
const FOLDERS: usize = 500;

/// The model that was used last in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastModel {
    #[serde(flatten)]
    pub name: ModelName,
    /// The reasoning effort, where the user chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Grows with each choice, so that the oldest one can be found.
    #[serde(default)]
    order: u64,
}

/// The model that was used last in each folder, by the folder's path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastModels(BTreeMap<String, LastModel>);

/// The models that the user marked as favourites, in the order in which they were marked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FavouriteModels(pub Vec<ModelName>);

/// How the list of sessions is grouped on the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionGrouping {
    /// By project, the sessions of the current one by date; forks below their parents.
    #[default]
    Project,
    /// By date, each session by itself.
    Date,
    /// Only sessions that were forked, with their forks and the message at which each fork parts.
    Forks,
}

impl SessionGrouping {
    /// Reads the grouping from its file; the default where that is missing or damaged.
    pub fn load(path: &Path) -> Self {
        read(path)
    }

    /// Writes the grouping to its file.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn keep(self, path: &Path) -> std::io::Result<()> {
        write(path, &self)
    }

    /// The grouping that comes after this one, round and round.
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

    /// The model that was used last in this folder.
    pub fn of(&self, folder: &Path) -> Option<&LastModel> {
        self.0.get(&*folder.to_string_lossy())
    }

    /// Writes the model of a folder into the file at `path`, and forgets the oldest folder where
    /// there are too many.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
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

    /// Adds a model to the favourites in the file, or removes it from them.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
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
    fn a_favourite_is_marked_and_unmarked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("favourites.json");
        let [one, two] = ["one", "two"].map(|model| ModelName::new("p", model));
        for name in [&one, &two, &one] {
            FavouriteModels::toggle(&file, name).unwrap();
        }
        assert_eq!(FavouriteModels::load(&file), FavouriteModels(vec![two]));
    }

    #[test]
    fn a_damaged_file_counts_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("favourites.json");
        std::fs::write(&file, "{]").unwrap();
        assert_eq!(FavouriteModels::load(&file), FavouriteModels::default());
    }
}
