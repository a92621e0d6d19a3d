//! What several test files share.

pub mod desk;
pub mod model_server;
pub mod papers;
pub mod skip;
pub mod terminal;
pub mod tunnel;
pub mod turns;
