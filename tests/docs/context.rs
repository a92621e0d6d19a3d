//! The example of docs/adding-a-context-provider.md.

use async_trait::async_trait;
use slug_code::context::ContextProvider;

/// The language of the user's system.
pub struct Locale {
    lang: Option<String>,
}

impl Locale {
    /// `lang` is the value of LANG.
    pub fn new(lang: Option<String>) -> Self {
        Self { lang }
    }
}

#[async_trait]
impl ContextProvider for Locale {
    fn name(&self) -> &str {
        "locale"
    }

    async fn collect(&self) -> Option<String> {
        let lang = self.lang.as_deref()?;
        let language = lang.split(['.', '@']).next()?;
        (!matches!(language, "" | "C" | "POSIX")).then(|| format!("language: {language}"))
    }
}
