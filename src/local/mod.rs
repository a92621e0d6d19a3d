//! Models on this machine whose server slug runs itself: finding their files, saying what fits the
//! memory, and a `llama-server` that is started, watched and ended.
//!
//! Nothing here is fetched from anywhere. How a server is spoken with is in `providers`; which one is
//! used, and with what, is put together in `launch`.

mod gguf;
mod log_words;
mod model_files;
mod provider;
mod server;
mod server_flags;
#[cfg(test)]
mod testing;
mod window;

pub use gguf::GgufFacts;
pub use model_files::{ModelFile, find};
pub use provider::{LocalProvider, too_small};
pub use server::{LocalServer, LocalServerError, LocalServerFolder, LocalServerPlan};
pub use window::{
    LEAST_ROOM, MemoryFit, SMALL_WINDOW, USUAL_WINDOW, fit, memory_words, usual_window,
};
