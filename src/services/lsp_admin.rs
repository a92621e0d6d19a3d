//! What a front end asks of the language servers.

use std::path::PathBuf;

/// A request to the language servers, with the name of one and the folder that it works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LspAdminRequest {
    /// End the server if it runs, and start it anew.
    Restart { name: String, root: PathBuf },
    /// End the server until it is restarted.
    Stop { name: String, root: PathBuf },
}
