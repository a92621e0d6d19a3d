//! The web for the tools: pages with their redirects, types and encodings, read in a process of their own.
//!
//! A request is decided about by its host before it comes here. So a redirect to another host is handed
//! back instead of followed, and each step of those on the same host passes the checks of
//! `net::PageClient` anew.

mod article;
mod decoding;
mod fetch;
mod page_cache;
mod search;

pub use article::main as reader_main;
pub use fetch::WebClient;
pub use search::SearchEngine;
