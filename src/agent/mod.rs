//! The agent: takes [`AgentCommand`]s, tells [`AgentEvent`]s, and knows nothing of any screen.
//!
//! `turn` decides what happens next in a turn and is pure; `turn_runner` is its async half;
//! `pipeline` is the only way to a tool; `agent_loop` takes the commands between turns.

mod active_session;
mod agent_loop;
mod approvals;
mod authorise;
mod batch;
mod blocking;
mod budget;
mod call_hooks;
mod call_mode;
mod call_plan;
mod call_questions;
mod change_tracker;
mod command;
mod command_inbox;
mod compaction;
mod danger_facts;
mod debug_events;
mod edit_diagnostics;
mod event;
mod event_queue;
mod hooks;
mod images;
mod job_follower;
mod job_notes;
mod jobs;
mod journal;
mod late_findings;
mod ledger;
mod lost_jobs;
mod mentions;
mod mode_note;
mod model_limits;
mod model_loading;
mod models;
mod normalise;
mod partial_approval;
mod permission_state;
mod pipeline;
mod prefix;
mod prompt_commands;
#[cfg(test)]
mod protocol_schema_tests;
#[cfg(test)]
mod protocol_tests;
mod provider_set;
mod redacting_processes;
mod repeated_failures;
mod repeated_text;
mod repeats;
mod request;
mod response;
mod restored_files;
mod review;
mod review_plan;
mod rewind;
mod rewind_note;
mod rewind_plan;
mod rule_request;
mod rules;
mod run;
mod sandbox_escalation;
mod sandbox_in_force;
mod server_content;
mod session_hooks;
mod session_skills;
mod session_tasks;
mod session_titles;
mod sessions;
mod setup;
mod shell;
mod single;
mod spending;
mod thinking_signatures;
mod tool_event_recorder;
mod tool_events;
mod tool_gate;
mod tool_messages;
mod turn;
mod turn_gate;
mod turn_notes;
mod turn_runner;

pub use agent_loop::{AgentHandle, InitialSession, spawn, spawn_into};
pub use command::{AddressedCommand, AgentCommand, CommandRefusal, ForkPosition, SteerId};
pub use command_inbox::StopHandle;
pub use event::{AddressedEvent, AgentEvent};
pub use event_queue::{AgentEventReceiver, AgentEventSender, event_queue};
pub use ledger::{
    ContextEditError, ContextLedger, ContextReply, ContextRequest, ContextSource, LedgerItem,
    LedgerItemState, LedgerSource,
};
pub use models::ANY_MODEL;
pub use normalise::normalise;
pub use provider_set::{AgentProvider, AgentProviderSet};
pub use repeated_text::RepeatedText;
pub use review_plan::{ReviewPlan, ReviewScope};
pub use rewind_plan::{RewindDestination, RewindError, RewindPlan};
pub use rule_request::{RuleChangeError, RuleReply, RuleRequest, RuleTestError};
pub use rules::accesses_of;
pub use run::CANCELLED_TOOL_GRACE;
pub use sandbox_in_force::SandboxInForce;
pub use setup::{AgentSetup, ModelPin};
pub use single::run_call;
pub use tool_gate::Interactivity;
