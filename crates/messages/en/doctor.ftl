# Output of `aime doctor`.

doctor-works = works
doctor-broken = broken
doctor-absent = absent
doctor-hint = fix: {$hint}
doctor-permissions = {$mode}; rules: {$deny} deny, {$ask} ask, {$allow} allow; {$remembered} remembered for this folder
doctor-as-above = {$model} {$place}, as above

# Things that are looked at.
thing-configuration = configuration
thing-own-files = own files
thing-skills = skills
thing-hook = hook
thing-permissions = permissions
thing-journal = journal
thing-memory = memory
thing-knowledge = knowledge
thing-sandbox = sandbox
thing-tool = tool
thing-server = MCP server
thing-model = model
thing-file = file
thing-process-groups = process groups
thing-clean-environment = clean environment
thing-confined-files = confined files
thing-bounded-output = bounded output
thing-detached-processes = detached processes
thing-kernel-confinement = kernel confinement
thing-network-per-host = network per host

# Findings. These are recognised by the English sentence.
journal-none = none yet; runs will be kept in {$folder}
doctor-memory-none = none yet; what runs learn will be kept in {$file}
memory-kept = { $number ->
    [one] {$number} memory
   *[other] {$number} memories
} in {$file}
agent-broken = correct [profiles.{$name}], or remove it
memory-off = turned off
memory-on = set memory.enabled = true, if runs are to be remembered
memory-broken = move the file away; runs go on without it meanwhile
journal-broken = move the file away, or choose another working folder with -C
own-files-broken = correct the file, or move it away
program-absent = there is no {$program} on the PATH
program-install = install {$program}
server-hint = correct its settings, or set enabled = false; `aime mcp list` lists the servers
see-models = see `aime models list`
model-answers-as = {$model} answers as {$name}
model-answers = {$model} answers
model-silent = {$model} said nothing within {$seconds} s
model-busy = is the server busy? A smaller model answers sooner
file-fetched-later = none needed: it is fetched when it is first used; `aime models pull {$model}` does it now
knowledge-unreadable = memory.knowledge names {$folder}, which cannot be read: {$reason}
knowledge-hint = make the folder, or take it out of the configuration
folder-unwritable = cannot write to {$folder}: {$reason}
folder-hint = fix the permissions of the folder, or choose another working folder

said-process-groups = a command and all it started in its group end at its time limit, when it is cancelled, and with the run
said-clean-environment = commands see listed variables only, and none that looks like a secret
said-confined-files = file tools cannot leave the working folder, by `..`, by absolute paths or by links
said-bounded-output = what a command prints is kept up to a limit and counted beyond it
said-detached = what leaves its group, as by `setsid`, ends with its command too, and when aime is killed; one that overwrites its environment and loses its parents is not found
said-detached-not = there is no /proc here: what leaves its group, as by `setsid`, outlives its command, and what runs when aime is killed goes on
said-kernel-all = {$means} can keep commands to their folder, off the network, and away from keys and other processes
said-kernel-some = {$means} is all there is: {$reason}
said-hosts-yes = commands can be kept to single hosts: they reach a proxy, in a network of their own, and nothing else
said-hosts-refused = commands that are to reach single hosts are refused: {$reason}; the user can go without by name: sandbox.allow_missing = ["network-namespace"]
said-hosts-none = commands reach all of the network or nothing: single hosts need Linux 6.7 with Landlock and seccomp, and are refused

# How commands are confined.
said-sandbox-off = off: commands may do what you may
said-sandbox-refused = none: {$reason}
said-sandbox = {$means}: commands write in the working folder and a temp folder, {$reason}
said-sandbox-places = {$reason}, and {$number} places that you named
said-network-none = no network
said-network-all = the whole network
said-network-hosts = of the network only {$hosts}
said-without = without {$guarantee}: {$reason}
said-without-files = commands may read and write every file that you may
said-without-truncation = commands may empty files outside of the working folder
said-without-signals = commands may send signals to processes outside, and so end them
said-without-calls = commands may use the network and trace processes
said-without-keys = commands may read keys and passwords that lie in the folders they work in
said-without-namespace = commands that may reach single hosts may reach any machine that listens at the port of their proxy
said-unconfined = commands cannot be confined here, so none is run; unconfined, {$reason}. {$hint}, or go without by name: sandbox.allow_missing = [{$names}]
doctor-local = {$model} {$place}
doctor-model = {$model} {$place} over {$protocol}, window {$number}
doctor-model-as = {$model} as {$name}
doctor-model-works = {$model}: calls a tool, reads its result, keeps to a form
doctor-no-calls = no tool call: {$why}
doctor-no-calls-hint = choose a model that calls tools for [models.{$name}], or start its server with support for tools
doctor-no-results = no answer to a tool's result: {$why}
doctor-no-results-hint = set protocol in [models.{$name}], or choose another model
doctor-no-form = no answer in a given form: {$why}
doctor-no-form-hint = nothing, for actors; a planner needs another model
doctor-why-cut = the answer was cut after { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
}
doctor-why-withheld = the provider withheld the answer
doctor-why-empty = the answer was empty
doctor-why-text = it said “{$text}”
doctor-why-other = it called {$tool}
doctor-why-again = it called {$tool} again
doctor-why-arguments = it called with {$arguments}
doctor-why-form = {$faults}; it said “{$text}”
