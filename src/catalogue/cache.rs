//! Reads the model catalogue on first use: the bundled one, with the user's own file laid over it.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::ModelCatalogue;

/// The largest user file that is read. The catalogue that slug itself writes has some hundred
/// kilobytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Loads the catalogue when it is first asked for, and keeps it.
#[derive(Debug)]
pub struct CatalogueCache {
    user_file: PathBuf,
    read: OnceLock<LoadedCatalogue>,
}

#[derive(Debug)]
struct LoadedCatalogue {
    catalogue: ModelCatalogue,
    complaint: Option<String>,
}

impl CatalogueCache {
    /// A cache over the bundled catalogue and the file `own`, which need not exist. Reads nothing
    /// yet.
    pub fn new(own: PathBuf) -> Self {
        Self { user_file: own, read: OnceLock::new() }
    }

    /// The catalogue. The first call reads files, which takes some milliseconds.
    pub fn catalogue(&self) -> &ModelCatalogue {
        &self.read().catalogue
    }

    /// What is wrong with the user's own file, in a sentence; `None` if the file is fine or
    /// missing.
    pub fn complaint(&self) -> Option<&str> {
        self.read().complaint.as_deref()
    }

    fn read(&self) -> &LoadedCatalogue {
        self.read.get_or_init(|| {
            let mut catalogue = ModelCatalogue::bundled().unwrap_or_else(|error| {
                tracing::error!(%error, "the bundled catalogue cannot be read");
                ModelCatalogue::default()
            });
            let complaint = match self.read_user_file() {
                // A file that is older than the bundled catalogue has nothing to add.
                Ok(Some(own)) if own.date >= catalogue.date => {
                    catalogue.lay_over(own);
                    None
                }
                Ok(Some(_) | None) => None,
                Err(problem) => {
                    tracing::warn!(problem, "the catalogue of the user's own is left out");
                    Some(problem)
                }
            };
            LoadedCatalogue { catalogue, complaint }
        })
    }

    fn read_user_file(&self) -> Result<Option<ModelCatalogue>, String> {
        let unusable = |problem: String| {
            let path = self.user_file.display();
            format!("{path} cannot be used: {problem}. `slug models refresh` rebuilds it.")
        };
        let length = match std::fs::metadata(&self.user_file) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(error.to_string())),
        };
        if length > MAX_FILE_BYTES {
            return Err(unusable("it is too large".to_owned()));
        }
        let text =
            std::fs::read_to_string(&self.user_file).map_err(|it| unusable(it.to_string()))?;
        ModelCatalogue::parse(&text).map(Some).map_err(|it| unusable(it.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(own: Option<&str>) -> (Option<u64>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalogue.json");
        if let Some(own) = own {
            std::fs::write(&path, own).unwrap();
        }
        let cache = CatalogueCache::new(path);
        let found = cache.catalogue().find("api.openai.com", "gpt-5");
        (found.map(|facts| facts.window), cache.complaint().is_some())
    }

    fn dated(date: &str) -> String {
        let row = r#"{"gpt-5":{"released":"2025-08-07","window":7}}"#;
        format!(r#"{{"date":"{date}","providers":{{"openai":{row}}}}}"#)
    }

    #[test]
    fn a_newer_user_file_overrides_the_bundled_catalogue() {
        let bundled = window(None);
        assert!(bundled.0.is_some_and(|window| window > 7) && !bundled.1);
        assert_eq!(window(Some(&dated("2999-01-01"))), (Some(7), false));
        assert_eq!(window(Some(&dated("2025-01-01"))), bundled);
    }

    #[test]
    fn an_unreadable_user_file_is_reported_and_ignored() {
        assert_eq!(window(Some("{")), (window(None).0, true));
    }
}
