use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sensetree_http::{HttpClient, Retry};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

/// Tries three times, without waiting long.
pub(crate) fn client(base: &str) -> HttpClient {
    HttpClient::new(base).expect("a plain URL").with_retry(Retry::default().with_first_delay(Duration::from_millis(1)))
}

/// A server that gives the answers one after the other, and `{"ok":true}` from then on.
pub(crate) async fn server(answers: impl IntoIterator<Item = ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    for answer in answers {
        Mock::given(any()).respond_with(answer).up_to_n_times(1).mount(&server).await;
    }
    Mock::given(any()).respond_with(ResponseTemplate::new(200).set_body_json(json!({"ok": true}))).mount(&server).await;
    server
}

pub(crate) async fn requests(server: &MockServer) -> usize {
    server.received_requests().await.expect("requests are recorded").len()
}

/// A server that reads a request, writes `answer` and cuts the connection; its address, and how often it was asked.
pub(crate) async fn cutting_server(answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("it listens"));
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|n| n > 0) {
                counter.fetch_add(1, Ordering::SeqCst);
                // The client may be gone; the next one is served.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        }
    });
    (base, asked)
}
