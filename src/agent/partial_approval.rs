//! The user's approval of some of the changes that a call would make.
//!
//! The accepted part becomes a call with narrower arguments. Those arguments are what is approved,
//! logged and run.

use serde_json::Value;

use crate::domain::{ExcludedHunks, FileDiff};
use crate::tools::{Tool, ToolContext, ToolError};

/// How many of the changes in a call the user accepted, and what was left out.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PartialApproval {
    pub(super) accepted: usize,
    pub(super) total: usize,
    /// The excluded changes as text, for the model.
    pub(super) excluded: String,
}

/// The arguments that make the changes of `shown` except `left_out`, and what to tell the model
/// about the rest.
pub(super) async fn narrow_to_part(
    context: &ToolContext,
    tool: &dyn Tool,
    input: &Value,
    shown: Option<&FileDiff>,
    left_out: &ExcludedHunks,
) -> Result<(Value, PartialApproval), ToolError> {
    let Some(shown) = shown else {
        return Err(ToolError("Nothing was shown that could be taken in part.".into()));
    };
    let total = shown.change_count();
    let accepted = total.saturating_sub(left_out.count());
    let part = tool.narrow_input(context, input, shown, left_out).await?;
    Ok((part, PartialApproval { accepted, total, excluded: shown.excluded_text(left_out) }))
}
