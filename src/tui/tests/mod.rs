//! Scenes: what happens on the screen, from messages to effects and frames.

mod approving;
mod chat;
mod folding;
mod folds;
mod keys;
mod looks;
mod moving;
mod reading;
mod resting;
mod scrolling;
mod selecting;
mod sessions;
mod sizes;
mod themes;
mod typing;
