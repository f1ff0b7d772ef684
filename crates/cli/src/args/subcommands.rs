//! Subcommands for tools, servers, profiles, models, memory and settings.

use clap::Subcommand;

const SERVE_EXAMPLE: &str = "\
In the settings of another agent:
  {\"mcpServers\": {\"aime\": {\"command\": \"aime\", \"args\": [\"-C\", \"FOLDER\", \"mcp\", \"serve\"]}}}

It ends when its standard input is closed. Runs that are under way then are stopped and can be resumed.";

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// All tools
    List,
    /// One tool and its parameters
    Show {
        /// The tool
        name: String,
    },
    /// Call a tool
    Call {
        /// The tool
        name: String,
        /// Its parameters: a JSON object
        parameters: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// All servers of the configuration, and what is known of them
    List,
    /// Start a server and ask what it offers
    Test {
        /// The server
        name: String,
    },
    /// Log in to a server that asks for it: prints an address, and waits until you have said yes there in your browser
    Login {
        /// The server
        name: String,
    },
    /// Forget the login at a server
    Logout {
        /// The server
        name: String,
    },
    /// Be a server over standard input and output: other agents plan, run, look and answer
    #[command(after_help = SERVE_EXAMPLE)]
    Serve,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// All profiles
    List,
    /// One profile
    Show {
        /// The profile
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// The models that are configured, and those that can be fetched
    List,
    /// Fetch a local model, or check one that is here
    Pull {
        /// The model, such as qwen2.5-coder-1.5b or 1.5b
        name: String,
    },
    /// Print where the file of a local model is
    Path {
        /// The model, such as qwen2.5-coder-1.5b or 1.5b
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// All memories, the latest first
    List,
    /// The memories that have some of these words, the best first
    Search {
        /// The words
        #[arg(required = true, num_args = 1..)]
        text: Vec<String>,
    },
    /// One memory, whole
    Show {
        /// Its name, or the beginning of it
        id: String,
    },
    /// Forget a memory, or all of them
    Forget {
        /// Its name, or the beginning of it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Forget every memory
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// The settings in force, and where they come from
    Show,
    /// Check every configuration file
    Check,
    /// Write a commented `aime.toml` into the working folder, with a model that is served on this machine, if there is one
    Init,
}
