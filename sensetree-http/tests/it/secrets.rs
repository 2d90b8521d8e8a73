use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use sensetree_core::Error;
use sensetree_http::{ApiKey, HttpClient};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use super::support::{client, cutting_server, server};

const KEY: &str = "sk-T0p/secret+key==";

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn keyed(base: &str) -> HttpClient {
    client(base).with_key(ApiKey::new(KEY).expect("a key"))
}

/// Everything that a person or a log may see of an error.
fn everything(error: Error) -> String {
    format!("{error:?} {error} {error:#?} {}", error.chain())
}

#[tokio::test]
async fn the_key_is_in_no_error_and_no_log() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // With one subscriber, `tracing` asks that of whatever thread comes to a callsite first, which in other tests has none.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);

    let echo = |status: u16, body: fn(&str) -> String| async move {
        let server = MockServer::start().await;
        let answer = move |request: &Request| {
            let header = request.headers.get("authorization").expect("the key was sent").to_str().expect("ASCII");
            assert!(header.contains(KEY), "the server does see the key");
            ResponseTemplate::new(status)
                .set_body_string(body(header.trim_start_matches("Bearer ")))
                .insert_header("location", header)
        };
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let error = keyed(&server.uri()).post::<Vec<f32>>("ask", "v1", &json!({})).await.expect_err("not a list");
        assert!(error.to_string().contains("[key]"), "the echo is shown without the key: {error}");
        everything(error)
    };
    let bodies: [fn(&str) -> String; 6] = [
        |key| format!("wrong key {key}"),
        |key| json!({"error": {"message": format!("Incorrect API key provided: {key}.")}}).to_string(),
        |key| json!({"detail": [{"input": key}]}).to_string(),
        |key| format!("{{\"message\": \"{}\"}}", key.replace('/', "\\/").replace('+', "\\u002b")),
        |key| json!(key).to_string(),
        |key| json!([key, key]).to_string(),
    ];
    let mut seen = String::new();
    for body in bodies {
        for status in [200, 307, 401, 429, 500] {
            seen += &echo(status, body).await;
        }
    }
    let (cutting, _) = cutting_server("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").await;
    seen += &everything(keyed(&cutting).post::<Value>("ask", "v1", &json!({})).await.expect_err("cut"));
    let client = keyed(&server([]).await.uri());
    client.post::<Value>("ask", "v1", &json!({})).await.expect("a plain answer");
    seen += &format!("{client:?} {client:#?}");

    let log = String::from_utf8(captured.0.lock().expect("no writer panics").clone()).expect("logs are text");
    assert!(log.contains("trying again"), "the retries are logged: {log}");
    for text in [&seen, &log] {
        assert!(!text.contains(KEY) && !text.contains("T0p"), "the key is shown");
    }
}
