//! Scripts that hold a conversation with slug, over a pipe or over the socket of `slug serve`, as the clients in
//! `docs/examples` do.

use serde_json::Value;

mod example_clients;
mod pipe;
mod serve;
mod stream_client;

fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}
