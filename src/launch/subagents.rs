//! Reads the types of agents that this run can start, and tells the model of those that files define.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::ContextProvider;
use crate::permissions::store::ProjectSettingsTrust;
use crate::subagents::{FoundSubagents, SubagentPlaces, SubagentTypes, read_subagents};

use super::run_context::RunContext;

/// The types of agents of this run. Those of the project count only where the user trusts it.
pub(super) fn subagents(run_context: &RunContext, project: ProjectSettingsTrust) -> FoundSubagents {
    let project = match project {
        ProjectSettingsTrust::Trusted => Some(run_context.cwd.clone()),
        ProjectSettingsTrust::Untrusted => None,
    };
    read_subagents(&SubagentPlaces {
        slug_home: run_context.home.root().to_owned(),
        user_home: run_context.user_home.clone(),
        project,
    })
}

/// The note on the types that files define. The tools array stays the same whatever they are.
pub(super) struct SubagentNote(pub(super) Arc<SubagentTypes>);

#[async_trait]
impl ContextProvider for SubagentNote {
    fn name(&self) -> &str {
        "agent_types"
    }

    async fn collect(&self) -> Option<String> {
        self.0.note()
    }
}
