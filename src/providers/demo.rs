//! A provider that plays a script instead of asking a model.
//!
//! It needs no server and no key. Its answers depend on the conversation alone, so that a demo can
//! be stopped and resumed; it only remembers which scripted failures it has played, because each is
//! played once. `script` describes the format. The built-in script and its scratch repository are
//! compiled in from `assets/demo/`.

mod play;
mod script;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio_util::sync::CancellationToken;

use self::play::DemoScriptPart;
use super::{ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent, cancel};

pub use script::{DemoScript, DemoScriptError};

/// The context window that the demo reports, in tokens.
const WINDOW: u64 = 32_768;

/// The built-in script.
const BUILT_IN: &str = include_str!("../../assets/demo/script.toml");

/// The files of the scratch repository.
const REPO: &[(&str, &str)] = &[
    ("README.md", include_str!("../../assets/demo/repo/README.md")),
    ("parcel.sh", include_str!("../../assets/demo/repo/parcel.sh")),
    ("lib/money.sh", include_str!("../../assets/demo/repo/lib/money.sh")),
    ("lib/rates.sh", include_str!("../../assets/demo/repo/lib/rates.sh")),
    ("test.sh", include_str!("../../assets/demo/repo/test.sh")),
];

/// The length of the script's pauses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DemoSpeed {
    /// As the script says.
    AsWritten,
    /// No pauses.
    Instant,
}

/// A provider that plays a script.
#[derive(Debug)]
pub struct DemoProvider {
    script: Arc<DemoScript>,
    tempo: DemoSpeed,
    /// The parts that have been requested; their failures are not played again.
    played: Mutex<HashSet<DemoScriptPart>>,
}

impl DemoProvider {
    /// A provider that plays `script`.
    pub fn new(script: DemoScript, tempo: DemoSpeed) -> Self {
        Self { script: Arc::new(script), tempo, played: Mutex::default() }
    }
}

/// The built-in script, for the repository that [`materialise_repo`] creates.
///
/// # Errors
///
/// Fails if the bundled script is invalid, which a test excludes.
pub fn built_in() -> Result<DemoScript, DemoScriptError> {
    DemoScript::parse(BUILT_IN, Path::new("assets/demo/script.toml"))
}

/// Writes the scratch repository into the folder `at`, which is created if needed.
///
/// # Errors
///
/// Fails if a file of the repository already exists, because nothing is overwritten, and if the
/// disk does.
pub fn materialise_repo(at: &Path) -> io::Result<()> {
    for (name, content) in REPO {
        let path = at.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(content.as_bytes())?;
    }
    Ok(())
}

#[async_trait]
impl Provider for DemoProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let part = self.script.part_for(&request.messages);
        let first_time = self.played.lock().unwrap_or_else(PoisonError::into_inner).insert(part);
        let beats = self.script.timed_events(part, &request, first_time);
        let tempo = self.tempo;
        let events = stream::iter(beats).then(move |beat| async move {
            let pause = match tempo {
                DemoSpeed::AsWritten => beat.pause,
                DemoSpeed::Instant => Duration::ZERO,
            };
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            beat.event
        });
        cancel::until_over(events.boxed(), cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        Ok(vec![ModelInfo {
            id: self.script.model.clone(),
            context_window: Some(WINDOW),
            ..ModelInfo::default()
        }])
    }

    fn is_local(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
