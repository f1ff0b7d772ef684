//! Subcommands for tools, servers, profiles, models, memory and settings.

use clap::Subcommand;

const SERVE_EXAMPLE: &str = "\
In the settings of another agent:
  {\"mcpServers\": {\"aime\": {\"command\": \"aime\", \"args\": [\"-C\", \"FOLDER\", \"mcp\", \"serve\"]}}}

It ends when its standard input is closed. Runs that are under way then are stopped and can be resumed.";

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List all tools
    List,
    /// Show one tool and its parameters
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
    /// List the configured servers and what is known of them
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
    /// Delete the login of a server
    Logout {
        /// The server
        name: String,
    },
    /// Serve aime over standard input and output, so that other agents can plan, run, inspect and answer
    #[command(after_help = SERVE_EXAMPLE)]
    Serve,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// List all profiles
    List,
    /// Show one profile
    Show {
        /// The profile
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the configured models and those that can be downloaded
    List,
    /// Download a local model, or verify one that is here
    Pull {
        /// The model, such as qwen2.5-coder-1.5b or 1.5b
        name: String,
    },
    /// Print the path of a local model
    Path {
        /// The model, such as qwen2.5-coder-1.5b or 1.5b
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List all memories, the latest first
    List,
    /// Search the memories for words, the best match first
    Search {
        /// The words
        #[arg(required = true, num_args = 1..)]
        text: Vec<String>,
    },
    /// Show one memory
    Show {
        /// Its name, or the beginning of it
        id: String,
    },
    /// Delete one memory or all of them
    Forget {
        /// Its name, or the beginning of it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Delete every memory
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the settings in force and where they come from
    Show,
    /// Check every configuration file
    Check,
    /// Write a commented `aime.toml` into the working folder, with a model that is served on this machine, if there is one
    Init,
}
