//! Access to the machine: paths, files, processes, the sandbox, the terminal, the clipboard, logs.

pub mod clipboard;
pub mod debug_log;
pub mod editor;
pub mod environment;
pub mod files;
pub mod graphics;
pub mod hangup;
pub mod hyperlinks;
pub mod image;
pub mod key_command;
pub mod local_socket;
pub mod logging;
pub mod memory;
pub mod paths;
pub mod poppler;
pub mod process;
pub mod process_privacy;
pub mod reader_process;
pub mod redact;
pub mod restore;
pub mod sandbox;
pub mod scratch;
pub mod server_folder;
pub mod server_program;
pub mod signals;
pub mod status_command;
pub mod supervisor;
pub mod terminal;
pub mod terminal_background;
pub mod terminal_kind;
pub mod terminal_notifier;
pub mod user_command;
pub mod watch;
pub mod which;

#[cfg(target_os = "linux")]
mod descendants;
mod handles;
