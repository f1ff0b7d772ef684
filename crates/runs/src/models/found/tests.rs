use tokio::net::TcpListener;

use super::*;

/// Returns the server that is found at a port with this answer.
async fn found(answer: &'static str) -> Option<FoundServer> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = [0; 1_024];
        let read = stream.read(&mut asked).await.unwrap();
        assert!(asked[..read].starts_with(b"GET /v1/models HTTP/1.0\r\n"));
        stream.write_all(answer.as_bytes()).await.unwrap();
    };
    tokio::join!(ask("Ollama", port), served).0.map(|found| FoundServer { port: 1, ..found })
}

#[tokio::test]
async fn a_server_is_known_by_its_models() {
    for (answer, expected) in [
        (
            "HTTP/1.1 200 OK\r\nX: y\r\n\r\n{\"object\":\"list\",\"data\":[{\"id\":\"nomic-embed-text\"},{\"id\":\"qwen3:8b\",\"owned_by\":\"x\"}]}",
            Some("qwen3:8b"),
        ),
        ("HTTP/1.1 200 OK\r\n\r\n{\"data\":[]}", None),
        ("HTTP/1.1 200 OK\r\n\r\n<html>", None),
        ("HTTP/1.1 401 Unauthorized\r\n\r\n{\"data\":[{\"id\":\"a\"}]}", None),
        ("SSH-2.0-OpenSSH", None),
    ] {
        assert_eq!(found(answer).await.map(|found| found.model).as_deref(), expected, "{answer}");
    }
}

#[test]
fn what_is_written_is_read_as_it_was() {
    let found = FoundServer { software: "Ollama", port: 11434, model: "a \"model\"\n".to_owned() };
    let settings: toml::Table = found.settings().parse().unwrap();
    assert_eq!(settings["models"]["default"]["model"].as_str(), Some("a \"model\"\n"));
    assert_eq!(settings["models"]["default"]["base_url"].as_str(), Some("http://127.0.0.1:11434/v1"));
}

#[test]
fn keys_beside_the_chosen_one_are_offered() {
    let alone = Environment::of([("MISTRAL_API_KEY", "k"), ("OTHER_API_KEY", "k")]);
    assert!(other_keys(&alone).is_empty(), "the only one is used without any settings");
    let environment = Environment::of([("ANTHROPIC_API_KEY", "k"), ("MISTRAL_API_KEY", "k"), ("OTHER_API_KEY", "k")]);
    let [(variable, settings)] = other_keys(&environment).try_into().unwrap();
    let settings: toml::Table = settings.parse().unwrap();
    assert_eq!((variable, settings["models"]["mistral"]["provider"].as_str()), ("MISTRAL_API_KEY", Some("mistral")));
}
