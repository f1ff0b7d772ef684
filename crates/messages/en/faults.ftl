# Messages of commands that failed, their hints, and notes.

with-cause = {$message}
    {"  "}caused by: {$cause}

own-fault = this is a fault in aime itself
own-fault-hint = a run goes on with `aime resume`; please report the messages above

# Goals and plans.
no-goal = no goal
no-goal-hint = aime {$command} "write the goal here"
goal-is-file = the goal is only the name of a file: {$file}
goal-is-file-hint = `aime run --plan {$file}` runs the plan in it, `aime run --goal-file {$file}` reads the goal from it
empty-goal = the goal is empty
empty-goal-hint = write the goal: aime run "…"
image-base64 = {$image} is not written in base64
image-format = {$image} is not a PNG, JPEG, GIF or WebP image
image-format-hint = convert it to one of these formats, or check that it is the right file
image-bytes = the image {$image} has { $bytes ->
    [one] {$bytes} byte
   *[other] {$bytes} bytes
}, and models take at most {$most}: make it smaller first
image-pixels = the image {$image} has {$size} pixels, and models take at most {$most} a side: make it smaller first
many-images = { $count ->
    [one] {$count} image was given
   *[other] {$count} images were given
}; a goal takes at most {$most}
not-text = {$what} is not text in UTF-8
not-text-hint = is it the right file?
not-there = {$what} was not found
not-there-hint = check the path: it is relative to the current folder, not to -C
unreadable = {$what} cannot be read: {$reason}
plan-hint = `aime schema plan` prints the format of plans, and `aime check FILE` checks a plan without running it
plan-repaired = repaired in the plan: {$reason}
cost-bound = --max-cost cannot be kept, because no prices are known for {$models}: set {$settings}, or use --max-tokens
review-again = edit it again?

# Runs.
no-runs = no runs in this folder yet
no-run = there is no run {$run} in {$folder}
no-run-name = the name of the run is empty
no-run-yet = this folder has no runs yet: start one with `aime run "…"`, or name another folder with -C
no-run-hint = `aime runs` lists the runs of this folder
run-unclear = {$text} may mean {$runs}
run-unclear-hint = write more of its name
no-run-last = no run can be named `last`: that is the newest run
run-secret = the name of the run contains what looks like a secret, and secrets are never written
other-id = choose another --run-id
run-taken = a run named {$run} exists already
other-id-or-resume = choose another --run-id, or `aime resume` it
no-follow-up = run {$run} cannot be continued: {$reason}
follow-up-failed = it stopped with an error before its work was done
follow-up-unfinished = it has not ended
follow-up-cancelled = it was cancelled
follow-up-no-model = it has no model to plan with
follow-up-no-plan = it never had a plan
no-follow-up-hint = `aime resume {$run}` finishes a stopped run, which can be continued then; otherwise start a new run
no-temporary-folder = planning has no temporary folder
no-temporary-folder-hint = make the folder in TMPDIR, or /tmp, writable
empty-answer = the answer is empty, and this question needs words
cannot-commit = the work cannot be committed: {$reason}
cannot-commit-hint = begin a repository with `git init`, or run without --commit
cannot-isolate = run.isolation is "worktree", but tasks cannot have private folders: {$reason}
cannot-isolate-hint = install git 2.38 or later, or set run.isolation = "auto": without git, tasks that may write take turns in the working folder
cannot-isolate-begun-hint = install git 2.38 or later: a run keeps the isolation with which it began
unreplayable = run {$run} cannot be replayed: {$reason}
port-taken = nothing can listen on 127.0.0.1:{$port}: {$error}
port-taken-hint = choose another port with --port, or leave --port out to get a free one
lock-held = process {$process} works on this run (it holds {$file})
lock-held-unknown = another process works on this run (it holds {$file})
lock-unusable = cannot lock {$file}: check that you may write its folder
locked-hint = wait until it ends, or stop it with `aime pause RUN`
recorded-hint = what was recorded before is safe: fix the cause, then `aime resume` the run
no-beginning = the beginning of run {$run} is damaged ({$reason}): start a new run
no-beginning-hint = `aime runs check {$run}` lists all damage, and `aime runs delete {$run}` deletes the run
stopped-at-once = stopped at once; go on with `aime resume {$run}`
run-only = allowed for this run only: {$reason}
no-own-folder = there is no folder of your own outside of the working folder to keep it in: set XDG_STATE_HOME to one
no-plan = run {$run} has no plan
no-such-run = there is no run {$run}
no-version = the plan of run {$run} has no version {$version}; its latest is {$latest}
not-a-journal = {$file} is not a journal of aime
not-a-journal-hint = move the file away: the next run begins a new journal
damaged-journal = the journal {$file} is damaged
damaged-journal-hint = `sqlite3 {$file} .recover` prints what is left; without the file the next run begins a new journal
journal-damaged = the journal of {$run} was damaged: {$damage}; going on from the last good record
journal-folder = cannot create the folder {$folder} for the journal: check its permissions
journal-unopened = cannot open the journal {$file}: check that it is a file and that you may read and write it and its folder
journal-newer = the journal {$file} has schema {$found}, and this version reads up to {$known}: use the newer version that wrote it
journal-full = no room left to write the journal {$file}: free some disk space and resume
journal-read-only = the journal {$file} may only be read: make it and its folder writable
journal-busy = another process keeps the journal {$file} locked: wait for it or stop it
journal-fenced = another process continues run {$run}: leave it to that one, or stop it and resume
journal-other-version = run {$run} has format {$found}, and this version of aime reads format {$known}: resume it with the version that began it
journal-unreadable = record {$record} of run {$run} cannot be read by this version: resume it with the version that wrote it
journal-diverged = run {$run} cannot be replayed: {$reason}. Resume it with the version of aime that began it, or check it for damage
journal-encode = a record of run {$run} cannot be written as JSON: this is a fault in the program
journal-closed = the journal {$file} is closed: open it again
show-run = `aime runs show {$run}` shows its state, tasks and plan versions
run-no-task = run {$run} has no task {$task}
run-asks-nothing = run {$run} asks nothing
run-asks-no-more = run {$run} asks nothing more
run-ended = run {$run} has ended
run-driven = run {$run} is being carried out
run-driven-hint = wait for it, or pause it
task-stays = {$task} stays in the plan: {$reason}
task-stays-hint = cancel what needs it first
run-cancelled = run {$run} was cancelled
run-anew = start a new run
run-nobody = no process works on run {$run}
run-stops = the run stops; go on with `aime resume {$run}`
run-takes-up = the run takes it up now
run-takes-up-if = the process that works on the run reads the answer; if there is none, use `aime resume`
answered = answered: {$question}
sent = sent: {$text}
run-deleted = deleted {$run}
stop-first = stop the run first
put-back = Put these back?
say-yes = add --yes

# Models.
none-configured = no model is configured
none-configured-hint = set the key of a provider ({$keys}), or OPENAI_BASE_URL to a server that speaks one of OpenAI's protocols (llama.cpp, Ollama, vLLM, …), or write [models.default] into aime.toml (`aime config init`)
no-key = no key for models.{$name}: {$variable} is not set
no-key-or-local = {$hint}; {$model} is not a local model: those are {$names}
no-key-hint = export {$variable}=…, or set {$address} to a server that needs no key
no-key-other = {$key} is set: write provider = "{$provider}" into [models.{$name}] to use it, or export {$variable}=…
fallback = models.{$name}.fallback names {$other}, which is not configured
fallback-hint = add [models.{$other}], or take the name out
model-section = correct [models.{$name}]
base-url-hint = correct {$variable}
no-local = this build has no local models
no-local-hint = build aime with its feature local-model, or use a server: provider = "openai" with a base_url
no-local-model = there is no local model {$name}
model-not-here = {$model} is not here: {$file} is missing
model-kept = the part that was downloaded is kept: the same command continues from there

# Configuration.
unknown-key = unknown key `{$key}`
near-key = did you mean `{$key}`? The keys here are {$keys}
keys = the keys here are {$keys}
unknown-value = unknown value `{$value}`
near-value = did you mean `{$value}`? The values here are {$values}
values = write one of {$values}
wanted = expected {$kind}, found {$found}
no-table = contains no table of keys
config-init = `aime config init` writes a file to begin with
is-there = {$file} is there already
never-overwritten = it is never overwritten: move it away first, or look at `aime config show`
wrote = wrote {$file}
own-configuration = [{$section}] in {$file} is left out, because a project may not decide that: put it into your own configuration, or trust the folder there (permissions.trusted_folders)
not-written = {$file} cannot be written: {$reason}
not-written-hint = choose another folder with -C, fix its permissions, or free disk space
not-a-folder = {$folder} is not a folder
folder-unusable = the working folder {$folder} cannot be used: {$reason}
name-folder = name an existing folder
keep-hint = choose another working folder, fix its permissions, or free disk space
keep-closed = cannot look into {$folder}: {$reason}
keep-taken = {$folder} is not a folder, and runs are kept in a folder of that name
keep-taken-hint = move it away, or choose another working folder

# Tools, profiles and the rest.
no-tool = there is no tool "{$tool}"
tools-near = did you mean "{$near}"? `aime tools list` lists all tools
tools-list = `aime tools list` lists them
mcp-list = `aime mcp list` lists them
memory-list = `aime memory list` lists them
no-profile = there is no profile {$name}
no-memory = there is no memory {$name}
report-not-written = the report cannot be written to {$file}: {$reason}
report-hint = name a file in an existing folder: -o F.html
no-editor = there is no editor to review the plan in, and no terminal
no-editor-hint = set EDITOR, or use `aime plan GOAL -o plan.json --format json`, edit it, and `aime run --plan plan.json`
no-editor-program = the editor `{$editor}` was not found
no-editor-program-hint = set EDITOR to a program that exists
process-nul = {$place} contains a NUL byte, which cannot be given to a program; leave it out
process-no-program = the program `{$program}` was not found; install it, or put its folder on PATH
process-no-folder = the working folder {$folder} is not a folder that can be entered
process-not-started = the program `{$program}` could not be started: {$error}
process-hidden = `{$program}` was not run: commands may not read {$folder}; the user can allow it: sandbox.read = ["{$folder}"]
process-no-temp = `{$program}` was not run: no folder for its temporary files can be made in {$folder}: {$error}; set TMPDIR to a folder that is there and has room
process-unconfined = `{$program}` was not run: {$reason}
process-no-end = the end of `{$program}` could not be learnt: {$error}
