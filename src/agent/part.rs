//! A yes to some of the changes that a call would make.
//!
//! What was taken becomes a call of its own, with arguments that say exactly that; these are what
//! is approved, goes on record and runs.

use serde_json::Value;

use crate::domain::{Diff, LeftOut};
use crate::tools::{Tool, ToolContext, ToolError};

/// What the person took of a change.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) taken: usize,
    pub(super) of: usize,
    /// The text of the rest.
    pub(super) left_out: String,
}

/// The arguments that do what was taken of `shown`, and what there is to tell of the rest.
pub(super) async fn in_part(
    context: &ToolContext,
    tool: &dyn Tool,
    input: &Value,
    shown: Option<&Diff>,
    left_out: &LeftOut,
) -> Result<(Value, Taken), ToolError> {
    let Some(shown) = shown else {
        return Err(ToolError("Nothing was shown that could be taken in part.".into()));
    };
    let of = shown.change_count();
    let taken = of.saturating_sub(left_out.count());
    let part = tool.narrow_input(context, input, shown, left_out).await?;
    Ok((part, Taken { taken, of, left_out: shown.left_out_text(left_out) }))
}
