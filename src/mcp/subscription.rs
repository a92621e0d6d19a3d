//! Changes of lists, as servers of revision 2026-07-28 tell them: on a stream that the client opens, and
//! opens again where it ends.

use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{ProtocolVersion, ServerNotification, SubscriptionFilter};
use rmcp::service::{RoleClient, ServiceError};

use super::connection::McpListChanges;

/// The pauses before a stream is opened again: some servers end them on a timer.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Follows the lists of a server until the connection ends; at once over for a server of another revision,
/// which tells of changes by itself, and for one that knows no such stream.
pub(super) async fn follow(peer: Peer<RoleClient>, changes: McpListChanges) {
    let is_new = |version: &ProtocolVersion| *version >= ProtocolVersion::V_2026_07_28;
    if !peer.peer_info().is_some_and(|info| is_new(&info.protocol_version)) {
        return;
    }
    let mut pause = FIRST_PAUSE;
    while !peer.is_transport_closed() {
        let filter = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed()
            .resources_list_changed()
            .build();
        match peer.listen(filter).await {
            Ok(mut stream) => {
                pause = FIRST_PAUSE;
                // Whatever changed while no stream was open was told to nobody.
                changes.tools.notify_one();
                changes.offers.notify_one();
                while let Ok(Some(told)) = stream.next().await {
                    match told {
                        ServerNotification::ToolListChangedNotification(_) => {
                            changes.tools.notify_one();
                        }
                        ServerNotification::ResourceListChangedNotification(_)
                        | ServerNotification::PromptListChangedNotification(_) => {
                            changes.offers.notify_one();
                        }
                        _ => {}
                    }
                }
            }
            Err(ServiceError::McpError(error)) => {
                return tracing::debug!(%error, "an MCP server has no stream of changes");
            }
            Err(error) => tracing::debug!(%error, "a stream of changes was not opened"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
