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
thing-private-folders = private folders
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

# Findings.
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

protection-process-groups = at its time limit, on cancellation and at the end of the run, aime ends a command together with all processes of its group
protection-clean-environment = commands see only the listed environment variables, and none that looks like a secret
protection-confined-files = file tools cannot leave the working folder, by `..`, by absolute paths or by links
protection-bounded-output = aime keeps the output of a command up to a limit, and counts the rest
protection-detached = a process that leaves its group (`setsid`) ends with its command too, also if aime is killed; aime cannot find one that overwrites its environment and loses its parents
protection-detached-not = /proc is missing: a process that leaves its group (`setsid`) outlives its command, and commands continue if aime is killed
protection-kernel-all = {$means} can confine commands to their folder and keep them from the network, from keys and from other processes
protection-kernel-some = this machine has only {$means}: {$without}
protection-hosts-yes = aime can restrict commands to single hosts: they reach only a proxy, in a network namespace of their own
protection-hosts-refused = aime refuses commands that may reach single hosts: {$reason}; to run them without this guarantee, set sandbox.allow_missing = ["network-namespace"]
protection-hosts-none = commands reach the whole network or nothing: single hosts need Linux 6.7 with Landlock and seccomp, so aime refuses them

# How commands are confined.
confinement-off = off: commands have all your rights
confinement-refused = none: {$reason}
confinement-on = {$means}: commands write in the working folder and a temp folder, {$network}
confinement-places = { $number ->
    [one] {$number} more place
   *[other] {$number} more places
} that you named
confinement-network-none = no network
confinement-network-all = the whole network
confinement-network-hosts = only these hosts of the network: {$hosts}
confinement-missing = without {$guarantee}: {$rights}
without-files = commands may read and write every file that you may
without-truncation = commands may empty files outside of the working folder
without-signals = commands may send signals to outside processes, and so end them
without-calls = commands may use the network and trace processes
without-keys = commands may read keys and passwords in their working folders
without-namespace = commands that may reach single hosts may reach any machine that listens at the port of their proxy
unconfined-kernel = use Linux 6.12 or later with seccomp and Landlock (enabled by `lsm=` at boot)
unconfined-proc = mount /proc, which shows what the kernel can enforce
unconfined-windows = run aime on Linux, for example in WSL 2
unconfined-linux = run aime on Linux
unconfined-hosts = aime runs no command, because it cannot restrict commands to single hosts on this machine (this needs Linux 6.7 or later with Landlock and seccomp); for the network, write "none" or "all" instead of {$hosts}
unconfined-machines = aime runs no command, because commands that may reach {$hosts} could reach any machine that listens at the port of their proxy: {$reason}; allow network namespaces to programs (for example by kernel.unprivileged_userns_clone = 1), write "none" or "all" for the network, or accept this risk: sandbox.allow_missing = ["network-namespace"]
unconfined-exposed = commands in {$folder} could read {$secret}: choose another working folder, or accept this risk: sandbox.allow_missing = ["keys"]
protection-job = at its time limit, on cancellation and at the end of the run, aime ends a command together with all processes of its job object
protection-job-holds = a process that a command started cannot leave its job object: it ends with its command, and when aime is killed
protection-unbounded = on Windows aime does not limit the processes, the memory and the files of a command
unconfined = aime runs no command, because it cannot confine commands on this machine; without confinement, {$without}. {$hint}, or accept this risk: sandbox.allow_missing = [{$names}]
doctor-model = {$model} {$place} over {$protocol}, window {$number}
doctor-model-as = {$model} as {$name}
doctor-model-works = {$model}: calls a tool, reads its result, keeps to a form
doctor-no-calls = no tool call: {$why}
doctor-no-calls-hint = choose a model that calls tools for [models.{$name}], or start its server with support for tools
doctor-no-results = no answer to a tool's result: {$why}
doctor-no-results-hint = set protocol in [models.{$name}], or choose another model
doctor-no-form = no answer in a given form: {$why}
doctor-no-form-hint = choose another model for planning; this one can still serve actors
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
doctor-local = {$model} {$place}
