//! Notes that need no file: date, platform and working folder, and the texts of `[context.static]`.

use std::path::PathBuf;

use async_trait::async_trait;

use super::ContextProvider;

/// The date, the platform and the working folder. There is no time of day, so that the note changes
/// only once a day.
#[derive(Debug, Clone)]
pub struct EnvironmentNote {
    cwd: PathBuf,
}

/// A fixed text from `[context.static]` in the configuration.
#[derive(Debug, Clone)]
pub struct StaticText {
    name: String,
    text: String,
}

impl EnvironmentNote {
    /// The note for work in `cwd`.
    pub fn new(cwd: PathBuf) -> Self {
        Self { cwd }
    }
}

impl StaticText {
    /// The note `name` with this text.
    pub fn new(name: String, text: String) -> Self {
        Self { name, text }
    }
}

#[async_trait]
impl ContextProvider for EnvironmentNote {
    fn name(&self) -> &str {
        "environment"
    }

    async fn collect(&self) -> Option<String> {
        let today = chrono::Local::now().date_naive();
        let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
        let folder = self.cwd.to_string_lossy().replace('\n', " ");
        Some(format!("date: {today}\nplatform: {system} {machine}\nworking folder: {folder}"))
    }
}

#[async_trait]
impl ContextProvider for StaticText {
    fn name(&self) -> &str {
        &self.name
    }

    async fn collect(&self) -> Option<String> {
        Some(self.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_environment_is_three_lines_without_a_time() {
        let text = EnvironmentNote::new(PathBuf::from("/w")).collect().await.unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let date = lines[0].strip_prefix("date: ").unwrap();
        assert!(date.parse::<chrono::NaiveDate>().is_ok(), "{date}");
        assert_eq!(lines[2], "working folder: /w");
    }
}
