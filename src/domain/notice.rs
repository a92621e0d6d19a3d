//! What is told beside the conversation: notices, and how much a model can read.

/// How much a model can read at once, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextWindow {
    /// The server says so.
    Served(u64),
    /// The catalogue of models says so.
    Known(u64),
    /// The configuration says so, or nobody does.
    Assumed(u64),
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}
