//! A refusal of one request holds for all requests to the same server with the same key.

use super::*;

/// Sends a request on a task of its own.
fn send(
    http: &Arc<HttpClient>,
    server: &ModelServer,
    key: &str,
) -> tokio::task::JoinHandle<CollectedResponse> {
    let key = Some(SecretString::from(key.to_owned()));
    let provider = chat(ConnectionConfig::new(Arc::clone(http), endpoint(server), key));
    tokio::spawn(async move { ask(&provider, vec![Message::user("hi")]).await })
}

/// The first event of a request, and the rest of them.
async fn first(
    http: &Arc<HttpClient>,
    server: &ModelServer,
    key: &str,
) -> (StreamEvent, futures_util::stream::BoxStream<'static, Result<StreamEvent, ProviderError>>) {
    let key = Some(SecretString::from(key.to_owned()));
    let provider = chat(ConnectionConfig::new(Arc::clone(http), endpoint(server), key));
    let mut stream = provider.stream(request(vec![Message::user("hi")]), CancellationToken::new());
    (stream.next().await.unwrap().unwrap(), stream)
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_server_wants_to_be_left_alone_nothing_reaches_it() {
    for status in [429, 503, 529] {
        let (http, server) = (Arc::new(HttpClient::new()), ModelServer::start());
        server.reply(ServerReply::error(status, "slow down").with_header("retry-after", "3000"));
        send(&http, &server, "sk-1").await.unwrap().error();
        let mut waiting = Vec::new();
        for _ in 0..5 {
            let (event, stream) = first(&http, &server, "sk-1").await;
            let StreamEvent::RateLimited(limit) = event else { panic!("{event:?}") };
            assert!(limit.wait <= Duration::from_secs(60), "what is asked for is capped");
            assert!(limit.reason.contains("slow down"), "{}", limit.reason);
            waiting.push(stream);
        }
        assert_eq!(server.model_requests().len(), 1, "{status}");
        // Another key is another account, and another server has its own limits.
        server.reply(ServerReply::text("x"));
        assert_eq!(first(&http, &server, "sk-2").await.0, StreamEvent::Started);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_time_is_over_all_go_on() {
    let (http, server) = (Arc::new(HttpClient::new()), ModelServer::start());
    server.reply(ServerReply::error(429, "slow down").with_header("retry-after-ms", "80"));
    send(&http, &server, "sk-1").await.unwrap().error();
    (0..4).for_each(|_| server.reply(ServerReply::text("Here I am.")));
    let sent: Vec<_> = (0..4).map(|_| send(&http, &server, "sk-1")).collect();
    for response in sent {
        assert_eq!(response.await.unwrap().text, "Here I am.");
    }
    assert_eq!(server.model_requests().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_eight_requests_at_once_and_a_stopped_one_makes_room() {
    let (http, server, gate) =
        (Arc::new(HttpClient::new()), ModelServer::start(), ReplyGate::closed());
    (0..11).for_each(|_| server.reply(ServerReply::text("Done.").gated(&gate)));
    let mut under_way = Vec::new();
    for _ in 0..8 {
        let (event, stream) = first(&http, &server, "sk-1").await;
        assert_eq!(event, StreamEvent::Started);
        under_way.push(stream);
    }
    let (ninth, tenth) = (send(&http, &server, "sk-1"), send(&http, &server, "sk-1"));
    // As many requests as allowed have arrived; a request of another account shows that the others
    // had time to.
    assert_eq!(first(&http, &server, "sk-2").await.0, StreamEvent::Started);
    assert_eq!(server.model_requests().len(), 9);
    under_way.truncate(6);
    server.wait_for_requests(11);
    gate.open();
    for response in [ninth, tenth] {
        assert_eq!(response.await.unwrap().text, "Done.");
    }
}
