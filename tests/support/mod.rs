//! What several test files share.

pub mod model_server;
