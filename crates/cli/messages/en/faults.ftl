# Messages of commands that failed, their hints, and notes. All are recognised by the English sentence.

said-caused = caused by: {$reason}

said-own-fault = this is a fault in aime itself
said-own-fault-hint = a run goes on with `aime resume`; please report the messages above

# Goals and plans.
said-no-goal = no goal
said-no-goal-hint = aime run "write the goal here"
said-empty-goal = the goal is empty
said-empty-goal-hint = write the goal: aime run "…"
said-no-image = {$image} is no PNG, JPEG, GIF or WebP image
said-image-bytes = the image {$image} has {$bytes} bytes, and models take at most {$most}: make it smaller first
said-image-pixels = the image {$image} has {$size} pixels, and models take at most {$most} a side: make it smaller first
said-many-images = {$count} images were given; a goal takes at most {$most}
said-not-text = {$what} is not text in UTF-8
said-not-text-hint = is it the right file?
said-not-there = {$what} was not found
said-not-there-hint = check the path: it is relative to the current folder, not to -C
said-unreadable = {$what} cannot be read: {$reason}
said-plan-hint = `aime check` gives the same list; `aime schema plan` the format
said-plan-repaired = repaired in the plan: {$reason}
said-cost-bound = the bound on cost cannot hold: no prices are known for {$models}; set {$settings}, or bound --max-tokens
said-review-again = edit it again?

# Runs.
said-no-runs = no runs in this folder yet
said-no-run = there is no run {$run} in {$folder}
said-no-run-name = the name of the run is empty
said-no-run-yet = nothing has run there yet: `aime run "…"` does, and -C names another folder
said-no-run-hint = `aime runs` lists the runs of this folder
said-run-unclear = {$text} may mean {$runs}
said-run-unclear-hint = write more of its name
said-no-run-last = no run can be named `last`: that is the newest run
said-run-secret = the name of the run holds what is taken for a secret, which is written nowhere
said-other-id = choose another --run-id
said-run-taken = a run named {$word-run} exists already
said-other-id-or-resume = choose another --run-id, or `aime resume` it
said-no-follow-up = run {$run} cannot be continued: {$reason}
said-no-follow-up-hint = `aime resume {$run}` goes on with a stopped run; otherwise start a new run
said-versions = `aime runs show {$run}` shows each version and its reason
said-locked-hint = wait for it, or stop it with Ctrl-C there
said-recorded-hint = what was recorded before is safe: fix it, then `aime resume` the run
said-no-beginning = the beginning of run {$run} (stream {$stream}) is damaged ({$reason}): start a new run
said-no-beginning-hint = `aime runs check {$run}` lists all damage, and `aime runs delete {$run-again}` deletes the run
said-stopped-at-once = stopped at once; go on with `aime resume {$run}`
said-run-only = allowed for this run only: {$reason}
said-no-plan = run {$run} has no plan
said-no-plan-hint = `aime runs show {$run}` shows how far it came
said-no-version = the plan of run {$run} has no version {$number}; its latest is {$number-latest}
said-no-version-hint = `aime runs show {$run}` shows each version and its reason
said-not-a-journal = {$file} is not a journal of aime
said-not-a-journal-hint = move the file away: the next run begins a new journal
said-damaged-journal = the journal {$file} is damaged
said-damaged-journal-hint = `sqlite3 {$file} .recover` prints what is left; without the file the next run begins a new journal
said-journal-damaged = the journal of {$run} was damaged: {$damage}; going on from the last good record
said-run-stands = `aime runs show {$run}` shows its state
said-run-tasks = `aime runs show {$run}` lists the tasks
said-run-no-task = run {$run} has no task {$task}
said-run-asks-nothing = run {$run} asks nothing
said-run-asks-no-more = run {$run} asks nothing more
said-run-ended = run {$run} has ended
said-run-cancelled = run {$run} was cancelled
said-run-anew = start a new run
said-run-fork = `aime runs fork {$run} --at {$version}` makes one that goes on from its plan
said-run-nobody = no process works on run {$run}
said-run-stops = the run stops; go on with `aime resume {$run}`
said-run-takes-up = the run takes it up now
said-run-takes-up-if = the run takes it up if it is under way
said-answered = answered: {$question}
said-told = told: {$text}
said-run-deleted = deleted {$run}
said-stop-first = stop the run first
said-put-back = Put these back?
said-say-yes = add --yes

# Models.
said-none-configured = no model is configured
said-none-configured-hint = set the key of a provider ({$keys}), or OPENAI_BASE_URL to a server that speaks one of OpenAI's protocols (llama.cpp, Ollama, vLLM, …), or write [models.default] into aime.toml (`aime config init`)
said-no-key = no key for models.{$name}: {$variable} is not set
said-no-key-local = {$model} is no local model: those are {$names}
said-no-key-hint = export {$variable}=…, or set {$word-address} to a server that needs no key
said-no-key-other = {$word-key} is set: write provider = "{$provider}" into [models.{$name}] to use it, or export {$variable}=…
said-fallback = models.{$name}.fallback names {$other}, which is not configured
said-fallback-hint = add [models.{$other}], or take the name out
said-model-section = correct [models.{$name}]
said-base-url-hint = correct {$word-variable}
said-no-local = this build has no local models
said-no-local-hint = build aime with its feature local-model, or use a server: provider = "openai" with a base_url
said-no-local-model = there is no local model {$name}
said-model-not-here = {$model} is not here: {$file} is missing
said-model-kept = what came is kept: the same command goes on with it

# Configuration.
said-unknown-key = {$place}: unknown key `{$key}`
said-near-key = did you mean `{$key}`? The keys here are {$keys}
said-keys = the keys here are {$keys}
said-unknown-value = {$place}: unknown value `{$value}`
said-near-value = did you mean `{$value}`? The values here are {$values}
said-values = write one of {$values}
said-wanted = {$place}: expected {$reason-kind}, found {$reason-found}
said-no-table = holds no table of keys
said-init = `aime config init` writes a file to begin with
said-is-there = {$file} is there already
said-never-overwritten = it is never overwritten: move it away first, or look at `aime config show`
said-wrote = wrote {$file}
said-own-configuration = [{$section}] in {$file} is left out, because a project may not decide that: put it into your own configuration, or trust the folder there (permissions.trusted_folders)
said-not-written = {$file} cannot be written: {$reason}
said-not-written-hint = choose another folder with -C, fix its permissions, or free disk space
said-not-a-folder = {$folder} is not a folder
said-folder-unusable = the working folder {$folder} cannot be used: {$reason}
said-name-folder = name an existing folder with -C
said-keep-hint = choose another working folder with -C, fix its permissions, or free disk space
said-keep-closed = cannot look into {$folder}: {$reason}
said-keep-taken = {$folder} is not a folder, and runs are kept in a folder of that name
said-keep-taken-hint = move it away, or choose another working folder with -C

# Tools, profiles and the rest.
said-tools-list = `aime tools list` lists them
said-mcp-list = `aime mcp list` lists them
said-memory-list = `aime memory list` lists them
said-no-profile = there is no profile {$name}
said-no-memory = there is no memory {$name}
said-report-not-written = the report cannot be written to {$file}: {$reason}
said-report-hint = name a file in an existing folder: -o F.html
said-no-editor = there is no editor to review the plan in, and no terminal
said-no-editor-hint = set EDITOR, or use `aime plan GOAL -o plan.json --format json`, edit it, and `aime run --plan plan.json`
