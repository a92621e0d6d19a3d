//! The agent from its commands to its events, with the real tools, gate and session store, and a
//! scripted model.

mod addresses;
mod answers;
mod ask_user;
mod calls;
mod commands;
mod compaction;
mod compaction_windows;
mod context_notes;
mod fakes;
mod faults;
mod hooks;
mod images;
mod inner_calls;
mod interrupt;
mod job_tools;
mod jobs;
mod ledger;
mod long_answers;
mod models;
mod modes;
mod one_screen;
mod places;
mod prefix;
mod review;
mod rewind;
mod rules;
mod sandbox_escalation;
mod server_content;
mod sessions;
mod spending;
mod task_tools;
mod test_agent;
mod turns;
mod web_pages;
mod windowed_model;
