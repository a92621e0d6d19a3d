//! What the questions before the chat are about and what they are answered with. Plain values, so that
//! effects, messages and front ends without a screen can all name them.

use std::path::PathBuf;

use crate::services::connect::ConnectTarget;

/// The answer to a question before the chat.
#[derive(Debug, Clone, PartialEq)]
pub enum StartupAnswer {
    /// Whether the folder is trusted.
    Trust(TrustAnswer),
    /// What the first run starts with.
    FirstRun(FirstRunAnswer),
}

/// The user's answer about the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    /// The folder is trusted from now on.
    Trust,
    /// slug starts without the folder's files.
    GoOnWithout,
    /// slug ends.
    Quit,
}

/// The user's choice of what to start with.
#[derive(Debug, Clone, PartialEq)]
pub enum FirstRunAnswer {
    Demo,
    /// Uses this server. For an unencrypted address of another host, the user has agreed.
    Use {
        target: ConnectTarget,
        /// The model that the user chose; `None` if there was no choice.
        model: Option<String>,
    },
    /// Starts a server for this model file.
    File(PathBuf),
    /// slug ends.
    Quit,
}
