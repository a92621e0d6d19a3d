//! What a child is started from: the setup of its parent, narrowed by its type.

use std::collections::HashSet;
use std::sync::Arc;

use super::fork_limits::ForkLimits;
use super::race::RACE;
use crate::agent::permission_state::{ModeCeiling, PermissionState};
use crate::agent::setup::{AgentParent, AgentSetup, ModelPin};
use crate::agent::tool_gate::Interactivity;
use crate::context;
use crate::domain::{AgentBudgets, ModelName, SpawnOrigin};
use crate::platform::watch::FolderWatcher;
use crate::subagents::{SubagentType, SubagentTypes, ToolSelection};
use crate::tools::{AGENT_TOOL, ToolRegistry, is_for_user};

/// What is the same for all children of a turn.
#[derive(Clone)]
pub(in crate::agent) struct ChildTemplate {
    pub(in crate::agent) setup: Arc<AgentSetup>,
    pub(in crate::agent) permissions: Arc<PermissionState>,
    pub(in crate::agent) watch: Arc<FolderWatcher>,
}

/// What every child is told behind the instructions of its type.
const COMMON: &str = "You were started by another agent, which has given you the task below and reads \
    nothing but your last message. Nobody answers questions: decide yourself and name your assumptions. \
    End with a report of what you did or found, short and complete.";

impl ChildTemplate {
    pub(super) fn types(&self) -> &SubagentTypes {
        &self.setup.subagents
    }

    /// The setup of a side of a race: that of a fork, with its own model, and nobody who is asked.
    ///
    /// # Errors
    ///
    /// When there is no provider of this name; the error is for the user.
    pub(super) fn race_side(
        &self,
        origin: SpawnOrigin,
        name: &ModelName,
    ) -> Result<AgentSetup, String> {
        let mut setup = self.fork(origin, (RACE, ForkLimits::Race));
        if !setup.providers.choose(&name.provider) {
            return Err(format!("There is no provider `{}`. /connect adds one.", name.provider));
        }
        if self.setup.providers.current().name != name.provider {
            setup.effort = None;
        }
        setup.model = Some(name.model.clone());
        // Another model's answer would stand under this one's name.
        setup.fallback_model = None;
        setup.interactivity = Interactivity::Headless;
        Ok(setup)
    }

    /// The setup of a fork: what its requests begin with is the same as its parent's, byte for byte. `kind`
    /// is the type that lists show.
    pub(super) fn fork(
        &self,
        origin: SpawnOrigin,
        (kind, limits): (&str, ForkLimits),
    ) -> AgentSetup {
        let permissions = Arc::new(self.permissions.for_child(ModeCeiling::Open));
        let watch = self.watch.clone();
        AgentSetup {
            // The same array; what its rules deny is its own.
            registry: Arc::new(self.setup.registry.narrowed(|_| true)),
            parent: Some(AgentParent {
                kind: kind.to_owned(),
                origin,
                permissions,
                watch,
                fork: Some(limits),
            }),
            model_pin: ModelPin::Explicit,
            last_models: None,
            budgets: AgentBudgets::default(),
            model_titles: false,
            notices: Vec::new(),
            ..self.setup.as_ref().clone()
        }
    }

    /// The setup of a child of this type.
    ///
    /// # Errors
    ///
    /// When its type leaves it no tool, and when the call names a model of another provider than the
    /// parent's; the error is for the model.
    pub(super) fn child(
        &self,
        kind: &SubagentType,
        model: Option<&str>,
        origin: SpawnOrigin,
    ) -> Result<AgentSetup, String> {
        let ceiling = if kind.is_read_only { ModeCeiling::Plan } else { ModeCeiling::Open };
        let permissions = Arc::new(self.permissions.for_child(ceiling));
        let registry = Arc::new(registry(&self.setup.registry, kind)?);
        let parent = AgentParent {
            kind: kind.name.clone(),
            origin,
            permissions,
            watch: self.watch.clone(),
            fork: None,
        };
        let mut setup = AgentSetup {
            registry,
            parent: Some(parent),
            model_pin: ModelPin::Explicit,
            last_models: None,
            max_tool_rounds: Some(kind.rounds.min(self.setup.max_tool_rounds.unwrap_or(u32::MAX))),
            budgets: AgentBudgets { session: kind.budget, ..AgentBudgets::default() },
            model_titles: false,
            notices: Vec::new(),
            ..self.setup.as_ref().clone()
        };
        setup.effort = kind.effort.or(setup.effort);
        if let Some(text) = model.or(kind.model.as_deref()) {
            let name = setup.providers.resolve_model(text, std::iter::empty());
            let own = &setup.providers.current().name;
            // Who gets the conversation is the user's choice, who has written or trusted the type's file.
            if model.is_some() && name.provider != *own {
                return Err(format!(
                    "`model` names a model of the provider {:?}, and only the user chooses another \
                     provider than {own:?}. Name one of its models, as NAME or {own}/NAME, or leave \
                     `model` out.",
                    name.provider
                ));
            }
            setup.providers.choose(&name.provider);
            setup.model = Some(name.model);
        }
        let own = match kind.instructions.as_str() {
            "" => context::own_prompt(self.setup.system_prompt.as_deref()),
            instructions => instructions,
        };
        setup.system_prompt = Some(format!("{}\n\n{COMMON}", own.trim_end()));
        Ok(setup)
    }
}

/// The tools of a child: those of its type, without those that are for the user or start agents.
fn registry(parent: &ToolRegistry, kind: &SubagentType) -> Result<ToolRegistry, String> {
    let ToolSelection { only, without } = &kind.tools;
    let only = only.as_ref().map(|listed| named(parent, listed));
    let without = named(parent, without);
    let has = |name: &str| {
        name != AGENT_TOOL
            && !is_for_user(name)
            && only.as_ref().is_none_or(|only| only.contains(name))
            && !without.contains(name)
    };
    let left: Vec<String> = parent.names().into_iter().filter(|name| has(name)).collect();
    if left.is_empty() {
        return Err(format!(
            "The agent type {} names no tool that there is. Do not retry; tell the user to correct its list \
             of tools.",
            kind.name
        ));
    }
    // What is not in the tools array is reached through these two.
    let listed: HashSet<String> = parent.specs().iter().map(|spec| spec.name.clone()).collect();
    let has_deferred = left.iter().any(|name| !listed.contains(name));
    Ok(parent.narrowed(|name| {
        left.iter().any(|left| left == name)
            || has_deferred && !without.contains(name) && crate::tools::reaches_deferred(name)
    }))
}

/// The tools that a list means; `*` at the end stands for any rest.
fn named(registry: &ToolRegistry, list: &[String]) -> HashSet<String> {
    let mut found = HashSet::new();
    for name in list {
        match name.strip_suffix('*') {
            Some(start) => {
                found.extend(registry.names().into_iter().filter(|it| it.starts_with(start)));
            }
            None => {
                found.extend(registry.get(name).ok().map(|it| it.descriptor().name.to_string()));
            }
        }
    }
    found
}
