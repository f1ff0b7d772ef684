//! Tests with files that are missing, wrong, cut or corrupted.

use std::path::Path;

use aime_llm::ModelError;
use aime_local_model::{LocalModel, LocalModelError, LocalModelSettings};
use proptest::prelude::*;

use super::tiny::{Tiny, ask, asking, folder};

fn open(file: &Path) -> Result<LocalModel, LocalModelError> {
    LocalModel::open(LocalModelSettings { threads: Some(1), ..LocalModelSettings::new("tiny", file) })
}

/// Each wrong file causes one message that names the file, the fault, and a remedy.
#[test]
fn wrong_files_say_what_is_wrong_and_how_to_repair_it() {
    let folder = folder();
    let sound = Tiny::default().bytes();
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("empty", vec![], &["is not a GGUF file", "0 bytes", "give a model"]),
        ("page", b"<!DOCTYPE html><html>no such page</html>".to_vec(), &["is not a GGUF file", "begins with \"<!DO\""]),
        ("version", [&sound[..4], &99u32.to_le_bytes(), &sound[8..]].concat(), &["its version is 99"]),
        ("header", sound[..400].to_vec(), &["is damaged", "fetch it again"]),
        ("weights", sound[..sound.len() - 4000].to_vec(), &["is damaged", "not fetched whole", "fetch it again"]),
        ("claims", [&sound[..8], &u64::MAX.to_le_bytes(), &sound[16..]].concat(), &["is damaged", "18446744073709551615 tensors"]),
        ("architecture", Tiny { architecture: "gemma3", ..Tiny::default() }.bytes(), &["its architecture is gemma3", "qwen2"]),
        ("format", Tiny { format: 16, ..Tiny::default() }.bytes(), &["token_embd.weight is quantised as IQ2_XXS", "Q4_K_M"]),
        ("template", Tiny { template: None, ..Tiny::default() }.bytes(), &["no chat template", "instruct"]),
        ("broken template", Tiny { template: Some("{% for %}".to_owned()), ..Tiny::default() }.bytes(), &["chat template cannot be read"]),
        ("vocabulary", Tiny { tokenizer: None, ..Tiny::default() }.bytes(), &["no vocabulary"]),
    ];
    for (name, bytes, words) in cases {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let message = open(&file).unwrap_err().to_string();
        for word in words.iter().chain([&file.to_str().unwrap()]) {
            assert!(message.contains(word), "{name}: {message:?} does not say {word:?}");
        }
    }
    for file in [folder.path().join("nowhere"), folder.path().to_owned()] {
        let error = open(&file).unwrap_err();
        assert!(matches!(error, LocalModelError::Unreadable { .. }), "{error}");
    }
}

#[test]
fn a_model_that_exceeds_the_memory_granted_is_refused_with_numbers() {
    let folder = folder();
    let settings = LocalModelSettings { memory_bytes: Some(50_000), ..LocalModelSettings::new("tiny", Tiny::default().write(&folder)) };
    let error = LocalModel::open(settings).unwrap_err();
    assert!(matches!(error, LocalModelError::TooLarge { granted: 50_000, .. }), "{error}");
}

#[tokio::test]
async fn what_only_loading_finds_is_told_to_each_request() {
    let folder = folder();
    let file = Tiny { tokenizer: Some("bert"), ..Tiny::default() }.write(&folder);
    let model = open(&file).unwrap();
    for _ in 0..2 {
        let error = ask(&model, &asking("x")).await.unwrap_err();
        assert!(matches!(error, ModelError::Unloadable { .. }), "{error}");
        assert!(error.to_string().contains("of the kind bert"), "{error}");
        assert!(!error.is_retryable());
    }
    let file = Tiny::default().write(&folder);
    let model = open(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    assert!(matches!(ask(&model, &asking("x")).await, Err(ModelError::Unloadable { .. })), "it went away after it was opened");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    /// Any corruption causes an error or an answer, and never a panic (which would cut the answer).
    #[test]
    fn damage_gives_an_error_or_an_answer(
        cut in prop::option::of(0.0..1.0f64),
        flips in prop::collection::vec((0.0..1.0f64, any::<u8>(), any::<bool>()), 0..6),
    ) {
        let folder = folder();
        let mut bytes = Tiny { layers: 1, ..Tiny::default() }.bytes();
        let header = 9_000.0;
        let length = bytes.len() as f64;
        for (place, byte, anywhere) in flips {
            let at = (place * if anywhere { length } else { header }) as usize;
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate((cut * length) as usize);
        }
        let file = folder.path().join("tiny.gguf");
        std::fs::write(&file, bytes).unwrap();
        if let Ok(model) = open(&file) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut request = asking("x");
            request.max_output_tokens = Some(2);
            let answer = runtime.block_on(ask(&model, &request));
            prop_assert!(!matches!(answer, Err(ModelError::Cut { .. })), "{:?}", answer);
        }
    }
}
