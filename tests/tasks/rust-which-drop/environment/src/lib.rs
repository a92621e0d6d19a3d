mod game;
mod store;

pub use game::Game;
pub use store::Store;
