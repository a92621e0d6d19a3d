//! Scenes: what happens on the screen, from messages to effects and frames.

mod approving;
mod chat;
mod folding;
mod scrolling;
mod sessions;
mod typing;
