//! Scenes: what happens on the screen, from messages to effects and frames.

mod approving;
mod carets;
mod changes;
mod chat;
mod completing;
mod folding;
mod folds;
mod hooks;
mod images;
mod keys;
mod looks;
mod moving;
mod pager;
mod picking;
mod reading;
mod resting;
mod rules;
mod scrolling;
mod searching;
mod selecting;
mod sessions;
mod sizes;
mod spending;
mod themes;
mod typing;
mod vi;
