//! Modes and configuration options: what the user can choose in the editor, and what is current.
//!
//! Modes are told twice, as modes and as an option, since clients read the one or the other.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption, SessionMode, SessionModeState,
};

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ModelName, PermissionMode, ReasoningEffort};

const MODE: &str = "mode";
const MODEL: &str = "model";
const EFFORT: &str = "effort";

/// The value that leaves the effort to the provider.
const DEFAULT_EFFORT: &str = "default";
/// The current value while no model is chosen.
const NO_MODEL: &str = "none";

/// What can be chosen in a session, and what is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionSettings {
    pub(super) mode: PermissionMode,
    pub(super) has_sandbox: bool,
    pub(super) model: Option<ModelName>,
    pub(super) effort: Option<ReasoningEffort>,
    /// What the servers list, as far as they have answered.
    pub(super) models: Vec<ModelName>,
}

impl SessionSettings {
    /// The modes that slug can be in here.
    fn modes(&self) -> impl Iterator<Item = PermissionMode> {
        let has_sandbox = self.has_sandbox || self.mode == PermissionMode::Sandbox;
        PermissionMode::ALL.into_iter().filter(move |mode| match mode {
            PermissionMode::Sandbox => has_sandbox,
            PermissionMode::Ask
            | PermissionMode::AllowEdits
            | PermissionMode::Plan
            | PermissionMode::Yolo => true,
        })
    }

    /// Takes what an event says of them; whether anything has changed.
    pub(super) fn take(&mut self, event: &AgentEvent) -> bool {
        let before = self.clone();
        if let AgentEvent::ModeChanged(mode) = event {
            self.mode = *mode;
        } else if let AgentEvent::ModelChanged { model, effort, .. } = event {
            (self.model, self.effort) = (Some(model.clone()), *effort);
        } else if let AgentEvent::ModelNeeded { provider, models } = event
            && self.models.is_empty()
        {
            let name = |id: &str| ModelName::new(provider.as_str(), id);
            self.models = models.iter().map(|model| name(&model.id)).collect();
        }
        *self != before
    }

    /// For a client that reads modes.
    pub(super) fn mode_state(&self) -> SessionModeState {
        let modes = self.modes().map(|mode| {
            SessionMode::new(mode.name(), mode.name()).description(mode.meaning().to_owned())
        });
        SessionModeState::new(self.mode.name(), modes.collect())
    }

    /// All options, the most important first.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let option = |value: &str, name: &str| {
            SessionConfigSelectOption::new(value.to_owned(), name.to_owned())
        };
        let modes: Vec<_> = self
            .modes()
            .map(|mode| option(mode.name(), mode.name()).description(mode.meaning().to_owned()))
            .collect();
        let mode = SessionConfigOption::select(MODE, "Mode", self.mode.name(), modes)
            .description("What runs without a question".to_owned())
            .category(SessionConfigOptionCategory::Mode);
        let chosen = self.model.as_ref().map(ToString::to_string);
        let mut names: Vec<String> = self.models.iter().map(ToString::to_string).collect();
        if let Some(chosen) = chosen.as_ref().filter(|chosen| !names.contains(chosen)) {
            names.insert(0, chosen.clone());
        }
        let mut models: Vec<_> = names.iter().map(|name| option(name, name)).collect();
        if chosen.is_none() {
            models.insert(0, option(NO_MODEL, "Choose a model"));
        }
        let current = chosen.unwrap_or_else(|| NO_MODEL.to_owned());
        let model = SessionConfigOption::select(MODEL, "Model", current, models)
            .category(SessionConfigOptionCategory::Model);
        let efforts = std::iter::once(option(DEFAULT_EFFORT, "provider default"));
        let efforts =
            efforts.chain(ReasoningEffort::ALL.into_iter().map(|it| option(it.name(), it.name())));
        let current = self.effort.map_or(DEFAULT_EFFORT, ReasoningEffort::name);
        let effort =
            SessionConfigOption::select(EFFORT, "Effort", current, efforts.collect::<Vec<_>>())
                .description("How hard the model thinks".to_owned())
                .category(SessionConfigOptionCategory::ThoughtLevel);
        vec![mode, model, effort]
    }

    /// Takes a mode by its id, and returns the command that makes it so; `None` where there is none of
    /// this id.
    pub(super) fn choose_mode(&mut self, id: &str) -> Option<AgentCommand> {
        let mode = self.modes().find(|mode| mode.name() == id)?;
        self.mode = mode;
        Some(AgentCommand::SetMode(mode))
    }

    /// Takes the value of an option, and returns the command that makes it so. What the agent says later
    /// counts more.
    ///
    /// # Errors
    ///
    /// When there is no such option or value; a sentence.
    pub(super) fn choose(
        &mut self,
        option: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<Option<AgentCommand>, String> {
        let SessionConfigOptionValue::ValueId { value } = value else {
            return Err(format!("The option `{option}` is not a boolean."));
        };
        let value: &str = &value.0;
        let unknown = || format!("The option `{option}` has no value `{value}`.");
        match option {
            MODE => self.choose_mode(value).map(Some).ok_or_else(unknown),
            MODEL => {
                if self.model.as_ref().is_some_and(|model| model.to_string() == value)
                    || self.model.is_none() && value == NO_MODEL
                {
                    return Ok(None);
                }
                let listed = self.models.iter().find(|model| model.to_string() == value);
                let model = listed.cloned().ok_or_else(unknown)?;
                self.model = Some(model.clone());
                Ok(Some(AgentCommand::UseModel(model)))
            }
            EFFORT => {
                let effort = match value {
                    DEFAULT_EFFORT => None,
                    name => Some(ReasoningEffort::parse(name).ok_or_else(unknown)?),
                };
                self.effort = effort;
                Ok(Some(AgentCommand::SetEffort(effort)))
            }
            _ => Err(format!("There is no option `{option}`.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings() -> SessionSettings {
        SessionSettings {
            mode: PermissionMode::Ask,
            has_sandbox: false,
            model: None,
            effort: None,
            models: vec![ModelName::new("p", "a"), ModelName::new("p", "b")],
        }
    }

    fn value(id: &str) -> SessionConfigOptionValue {
        SessionConfigOptionValue::ValueId { value: id.to_owned().into() }
    }

    #[test]
    fn each_current_value_is_among_the_options() {
        let mut settings = settings();
        for model in [None, Some(ModelName::new("p", "a")), Some(ModelName::new("q", "c"))] {
            settings.model = model;
            for option in serde_json::to_value(settings.options()).unwrap().as_array().unwrap() {
                let options = option["options"].as_array().unwrap();
                let is_current = |it: &&serde_json::Value| it["value"] == option["currentValue"];
                assert_eq!(options.iter().filter(is_current).count(), 1, "{option}");
            }
        }
        let state = serde_json::to_value(settings.mode_state()).unwrap();
        assert_eq!(state["currentModeId"], "ask");
        assert!(!state.to_string().contains("sandbox"), "none is there");
    }

    #[test]
    fn a_choice_becomes_a_command_and_anything_else_an_error() {
        let mut it = settings();
        assert_eq!(
            it.choose("mode", &value("plan")),
            Ok(Some(AgentCommand::SetMode(PermissionMode::Plan)))
        );
        assert_eq!(
            it.choose("model", &value("p/b")),
            Ok(Some(AgentCommand::UseModel(ModelName::new("p", "b"))))
        );
        assert_eq!(it.choose("model", &value("p/b")), Ok(None));
        assert_eq!(
            it.choose("effort", &value("high")),
            Ok(Some(AgentCommand::SetEffort(Some(ReasoningEffort::High))))
        );
        let wrong = [("mode", "sandbox"), ("model", "p/c"), ("effort", "huge"), ("size", "big")];
        for (option, id) in wrong {
            assert!(it.choose(option, &value(id)).is_err(), "{option} {id}");
        }
        assert!(it.choose("mode", &SessionConfigOptionValue::Boolean { value: true }).is_err());
        assert_eq!(json!(it.mode), json!("plan"));
    }
}
