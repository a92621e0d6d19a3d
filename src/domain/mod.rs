//! The words that every room speaks: ids, messages, tools, permissions, usage.
//!
//! Plain values only: no I/O, no clock, no async, and no import from any other room.

mod align;
mod approval;
mod budget;
mod bytes;
mod dialect;
mod diff;
#[cfg(test)]
pub mod faults;
mod fold;
mod hosts;
mod ids;
mod image;
pub mod jsonc;
pub mod lenient;
pub mod lookalike;
pub mod mention;
mod message;
mod mode;
mod model_name;
mod money;
mod nearest;
mod no_proxy;
mod notice;
mod partial;
mod paths;
mod price;
mod protocol;
mod sandbox;
pub mod sanitize;
pub mod secrets;
mod source;
#[cfg(test)]
pub mod testing;
mod this_machine;
mod todo;
mod tool;
mod usage;

pub use align::align;
pub use approval::{
    Answer, ApprovalId, ApprovalRequest, Matter, Outcome, Part, RuleFile, RuleKind, RuleSource,
};
pub use budget::{Budget, Budgets, NoBudget};
pub use bytes::bytes;
pub use dialect::Dialect;
pub use diff::{Around, Diff, DiffLine, Hunk, LineEnd, LineTag, ModeChange};
pub use fold::Fold;
pub use hosts::{Host, HostRule, NoHost, Reach, authority, reach};
pub use ids::{CallId, ContentHash, EntryId, JsonHasher, SessionId, TurnId};
pub use image::{Attached, Image, MediaType, Typed};
pub use message::{Block, CallInput, Message, Role, StopReason, ToolCall};
pub use mode::{Mode, UnknownMode};
pub use model_name::ModelName;
pub use money::{Money, NoMoney};
pub use nearest::nearest;
pub use no_proxy::is_exempt_from_proxy;
pub use notice::{NoticeLevel, Window};
pub use partial::LeftOut;
pub use paths::clean_path;
pub use price::{Price, Rate, Rates};
pub use protocol::{Effort, Protocol};
pub use sandbox::{Boundary, Extent, Method, Network, Spot, SpotKind, View};
pub use source::Source;
pub use this_machine::is_this_machine;
pub use todo::{Todo, TodoStatus};
pub use tool::{Access, Display, ToolOutput, ToolSpec, ToolStatus};
pub use usage::Usage;
