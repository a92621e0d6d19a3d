//! A yes to some of the changes that a call would make.
//!
//! What was taken becomes a call of its own, with arguments that say exactly that; these are what
//! is approved, goes on record and runs.

use serde_json::Value;

use crate::domain::{ExcludedHunks, FileDiff};
use crate::tools::{Tool, ToolContext, ToolError};

/// What the person took of a change.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PartialApproval {
    pub(super) accepted: usize,
    pub(super) total: usize,
    /// The text of the rest.
    pub(super) excluded: String,
}

/// The arguments that do what was taken of `shown`, and what there is to tell of the rest.
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
    let of = shown.change_count();
    let taken = of.saturating_sub(left_out.count());
    let part = tool.narrow_input(context, input, shown, left_out).await?;
    Ok((
        part,
        PartialApproval { accepted: taken, total: of, excluded: shown.excluded_text(left_out) },
    ))
}
