//! Each class of attack that slug has to withstand, tried against what its documentation promises:
//! tables of many cases, and combinations that a program generates.

mod commands;
mod exports;
mod folders;
mod hook_files;
mod keys;
mod place_commands;
mod places;
mod programs;
mod questions;
mod resources;
mod run_for_real;
mod sessions;
mod settings;
mod special_files;
mod test_project;
