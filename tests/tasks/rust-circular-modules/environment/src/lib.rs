pub mod message;
pub mod old;
pub mod queue;
mod wire;

pub use old::message::Priority;
pub use message::Priority;
