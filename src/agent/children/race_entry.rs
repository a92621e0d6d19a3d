//! What the user types behind `/race`: one model or two, then the message. Names mean what they mean to
//! `/model`.

use crate::agent::agent_loop::Agent;
use crate::domain::{ModelName, UserInput, nearest};

/// What is missing where no message follows the models.
const NO_MESSAGE: &str =
    "Type the message after the models: /race MODEL TEXT, or /race MODEL MODEL TEXT.";
/// Why a model cannot race that of the session.
const NO_MODEL: &str = "No model is chosen yet. Choose one with /model, or name two after /race.";

impl Agent {
    /// The two models, the first of them for the left pane, and the message. The second word is a model
    /// if slug knows it as one; otherwise the message begins with it, and the session's model races the
    /// first.
    ///
    /// # Errors
    ///
    /// What is wrong, as a sentence for the user.
    pub(super) fn race_entry(&self, typed: &str) -> Result<([ModelName; 2], UserInput), String> {
        let (first, rest) = first_word(typed);
        let (second, message) = first_word(rest);
        let one = self.race_model(first).ok_or_else(|| self.no_such_model(first))?;
        let (models, text) = match self.race_model(second).filter(|_| self.is_known(second)) {
            Some(other) => ([one, other], message),
            None => {
                let own = self.model.clone().ok_or(NO_MODEL)?;
                ([ModelName::new(self.current_provider().name.as_str(), own), one], rest)
            }
        };
        if text.is_empty() { Err(NO_MESSAGE.to_owned()) } else { Ok((models, text.into())) }
    }

    /// The model of this name; `None` where a server has said what it offers, and not this.
    fn race_model(&self, word: &str) -> Option<ModelName> {
        let resolved = self.resolved_model(word);
        (!word.is_empty() && (!self.models.is_listed() || self.is_known(word))).then_some(resolved)
    }

    /// Whether a word is a model for sure: listed, in use, configured, or named with its provider.
    fn is_known(&self, word: &str) -> bool {
        let own = [self.model.as_deref(), self.current_provider().model.as_deref()];
        self.models.has(word)
            || own.contains(&Some(word))
            || self.resolved_model(word).model.len() < word.len()
    }

    fn no_such_model(&self, word: &str) -> String {
        if word.is_empty() {
            return NO_MESSAGE.to_owned();
        }
        let guess = nearest(word, self.models.ids());
        let guess = guess.map(|id| format!(" Did you mean `{id}`?")).unwrap_or_default();
        format!(
            "The server does not list a model `{word}`.{guess} /race begins with a model: /race MODEL TEXT, or \
             PROVIDER/MODEL for one of another provider."
        )
    }
}

/// The first word of a text, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}
