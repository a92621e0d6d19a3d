//! Code that several test files share.

pub mod answer_streams;
pub mod certificates;
pub mod connect_proxy;
pub mod model_server;
pub mod pdf;
pub mod process_host;
pub mod skip;
pub mod terminal;
pub mod test_env;
