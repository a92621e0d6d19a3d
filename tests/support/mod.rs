//! What several test files share.

pub mod desk;
pub mod model_server;
pub mod terminal;
pub mod turns;
