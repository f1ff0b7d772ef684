# Output of rarer commands: `aime runs undo`, `aime runs stats`, `aime memory`, `aime tools`, `aime eval`.

undo-run = run {$run}
undo-task = {$task} of run {$run}
undo-last = the last undo of run {$run}
undo-listing = {$what}: {$paths}
undo-turn = turn {$number}: {$goal}
undo-more = … {$number} more
undo-more-paths = {$number} more
undo-put-back = put back
undo-left = left
undo-path = {$path}: {$why}
undo-nothing-for = nothing to put back for {$what}
undo-nothing-changed = nothing was changed
undo-lost = later changes of this run were not recorded
undo-not-covered = not covered: {$what}
undo-bounds = {$covered}; undo.file_mb and undo.folder_mb say how much is
undo-force = `--force` puts these back too; `aime runs redo` can bring back what is there now
undo-none = run {$run} has no undo to take back
undo-nobody = {$paths} would be put back, and there is no terminal to ask for your consent

# Changes of a path: eight columns at most.
undo-effect-delete = delete
undo-effect-recreate = recreate
undo-effect-restore = restore

# Why a path is left, or is not covered.
left-since = changed since then, by you or by another run
left-between = changed in between by somebody else
left-also = changed later, or at the same time, by {$tasks}
left-not-empty = the folder is not empty
left-not-kept = its former content was not recorded ({$reason})
left-stays = the run created it, but its content was not recorded ({$reason}), so it is not removed
kept-too-large = too large
kept-no-room = the folder is too large
kept-repository = version control
kept-cache = a cache
kept-special = a device, a pipe or a socket
kept-mount = another file system
kept-unreadable = not readable

stats-runs = runs
stats-planning = planning
stats-again = again
stats-execution = execution
stats-made = {$made} of {$plans} made as asked{$percent}
stats-mean = {$made}, in {$span} on average
stats-reused = {$plans} used again
stats-reached = {$succeeded} of {$plans} that ended reached the goal{$percent}
stats-time = time
stats-models = models
stats-tools = tools
stats-checks = checks
stats-merging = merging
stats-people = people
stats-aime = aime
stats-tokens = {$time}, { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
} in {$requests}
stats-event = event {$seq} of run {$run}: {$reason}
stats-run = run {$run}: {$reason}
stats-not-counted = not counted: {$what}

memory-none = nothing is remembered in this folder yet
memory-not-found = no memory has any of these words
memory-forgotten = forgotten: {$what}
memory-recalled = recalled {$times}
memory-learnt = learnt
memory-how-often = recalled
memory-origin = origin
memory-origin-unknown = unknown
memory-many = { $number ->
    [one] {$number} memory has a name that begins
   *[other] {$number} memories have names that begin
} with {$name}
memory-more = write more of it

# Scopes of tools: nine columns at most.
tool-of-actors = actor's
tool-reads = reads
tool-runs = runs
tool-connects = connects
tool-changes = changes
tool-parameters = the parameters are not a JSON object: {$error}
tool-other-json = this is another value
tool-show = `aime tools show {$tool}` shows the parameters

eval-begins = {$trials} in {$ways}; {$done} of them are already done in {$folder}
eval-stopping = stopping; the same command goes on
eval-without-model = {$trials} could not use the model and will not count; the same command repeats them
eval-skipped = {$trials} with the same model were skipped: check it with `aime doctor` first
eval-wrong-use = {$trials} could not begin and will not count; the same command repeats them
eval-project = {$file} does not count in trials; `--settings NAME={$file}` tries it, and your own config.toml counts always
eval-agents-without = agents are tried without faults, triggers and settings, which are aime's own
eval-tables = tables and plots: {$file}
eval-trial = {$task}, {$variant}: {$how}
eval-cost = {$seconds} s, { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
}
eval-reached = reached
eval-false-claim = claimed and not reached
eval-given-up = given up
eval-bound = out of bounds
eval-waiting = waits for a person
eval-model = no model
eval-usage = wrong use
eval-fault = fault of the program
eval-passes-undone = the check passes although nothing was done
eval-fails-solved = the check fails after the solution
eval-no-solution = the check fails after nothing; there is no solution
eval-good = good
eval-hold = {$good} of {$checks} hold
eval-none = no task of this suite is asked for
eval-none-hint = look at --task, --level, --held-out and --tuned
eval-no-folder = there is no folder {$name}, and no suite of that name is built in

check-valid = valid
check-fault = fault

cancel-done = cancelled {$run}
cancel-stopping = run {$run} has the request, and is still stopping
cancel-task = to be cancelled: {$task}

permissions-forgotten = forgotten: {$rule}
permissions-nothing = nothing was remembered for this folder
permissions-no-place = nothing is remembered here, because there is no folder of your own outside of the working folder to keep it in: set XDG_STATE_HOME to one
permissions-none = nothing is remembered for this folder; it would be in {$file}
permissions-number = nothing is remembered under this number
permissions-list = `aime permissions list` shows the numbers

# `aime permissions`: eleven columns at most.
permissions-mode = mode
permissions-deny = deny
permissions-ask = ask
permissions-allow = allow
permissions-remembered = remembered

# Suites, their tables, and what is wrong with them.
table-way = way
table-success = success (95%)
table-claimed = claimed, not reached
table-tokens = tokens (median)
table-tokens-in-all = tokens (in all)
table-seconds = seconds (median)
table-cost = cost, $ (in all)
table-replans = replans (in all)
table-questions = questions (in all)
table-category = category
table-level = level
table-reached = reached
table-held-out = On the held-out tasks:
table-once = {$reached} of {$tasks} tasks were reached in at least one trial.
table-auto = `{$name}` reached {$reached} of {$tasks} tasks; the median is {$median} tokens.
table-best = `{$name}`, the best single mode chosen by hand, reached {$reached} of {$tasks} tasks; the median is {$median} tokens.
table-by-hand = Modes chosen by hand reached {$reached} of these {$tasks} tasks at least once. No choice made beforehand could reach as many, because
    luck is included.
eval-foreign = {$folder} existed before and is not the folder of an evaluation
eval-foreign-hint = name another folder with -o
eval-config = `aime eval` writes a --config file of its own for each trial
eval-config-hint = put these settings into your own config.toml, or into AIME__SECTION__KEY variables
eval-unusable = cannot use {$folder}: {$error}
eval-no-fault = no task of this suite has what these faults need
eval-no-fault-hint = late files (`late`) or a wrong plan (`wrong_plan`)
eval-line = correct or remove that line, or begin anew with --fresh
eval-name = name `core`, or a folder with a `suite.toml` of `[[task]]` tables
table-fallbacks = Trials without a plan of the mode, in which the run used a fallback plan: {$counts}.
suite-file = {$file}: {$fault}
suite-left-out = left out: {$path}: {$fault}
suite-outside = the file {$file} is outside of the working folder: write a relative path
suite-needs = the tests of .{$ending} exercises need {$needs}
suite-empty = {$folder} has no tasks: write a `suite.toml` with `[[task]]` tables, or name a folder of terminal-bench, harbor or exercism tasks
suite-faults = the suite {$folder} has faults:{"\u000A  "}{$faults}
suite-image = {$task} needs a container image, and aime does not build images: {$lines}
suite-no-test = tests/test.sh is missing
suite-runner = aime does not know how to run the tests of `{$ending}` files: copy the task and write a check of your own
suite-twice = two tasks are named {$name}
suite-place = {$file}: task {$number} ({$name}): {$fault}
suite-unnamed = without a name
suite-late = the late file {$file} is not one of the task's files
suite-no-goal = the goal is missing: write `goal = "…"`
suite-no-check = the check is missing: write `check = "…"`, a command that exits with 0 if the goal was reached
suite-level = the level is {$level}: write 1 to 5
suite-json = wrong_plan is not JSON: {$error}
suite-no-name = the name is missing: write `name = "…"`
suite-name = the name {$name} is invalid: use at most 80 letters, digits, `-`, `_` and `.`

# Checking what is kept of a run.
checked-run = {$events}, {$actors}
checked-repaired = repaired
checked-repair = fix
checked-not-repairable = this command cannot repair it
checked-nothing-wrong = nothing is wrong
place-journal = journal
place-actor = actor
place-state = state
place-snapshot = snapshot
place-list = list
place-file = file
place-undo = undo
place-folder = folder
check-repairs = `aime runs check {$run} --repair` repairs it

# Other commands.
standard-input = standard input
run-ended-as = run {$run} has ended as {$status}
run-all = {$task} is all that run {$run} does
run-all-hint = `aime cancel {$run}` ends the run
task-no-actor = task {$task} has no actor that could receive a message
task-no-actor-hint = `aime tell {$run} TEXT` sends it to the run
task-is = task {$task} is {$status}
run-asked = run {$run} no longer asks that
run-asked-hint = look again: it was answered, or its task has ended
tool-form = write them as {$json}
undo-tasks = its tasks are {$names}
profiles-near = did you mean "{$near}"? `aime profiles` lists them
profiles-list = `aime profiles` lists them
pages-not-written = the pages cannot be written to {$folder}: {$error}
pages-hint = name a folder that can be written
wrote-pages = wrote {$pages} to {$folder}
plan-not-written = the plan cannot be written to {$file}: {$error}
plan-not-written-hint = name a file in an existing folder
name-report = name a file: -o F.html
from-beginning = {$reason}; the run is read from the beginning of its journal
no-editor-start = the editor cannot be started: {$error}
editor-ended = the editor `{$editor}` ended with {$how}
plan-emptied = the plan was emptied, so nothing was run
what-you-wrote = what you wrote is in {$file}; `aime run --plan {$again}` runs it
journal-is-damaged = the journal of {$run} is damaged: {$damage}; what follows ends at the last good record
state-contradicts = the state of {$run} contradicts itself: {$what}
forked = it begins with the state of {$run} at v{$number}; go on with `aime resume {$new}`
not-removed = not everything of {$run} could be removed: {$error}
memory-not-forgotten = what was learnt from {$run} could not be forgotten: {$error}
files-not-removed = the record of changed files could not be removed: {$error}
not-whole = standard output could not be written: {$error}
no-web-search = without web_search: {$reason}
no-web = without the web: {$why}
skill-taken = the skill `{$name}` is that of {$place}; the one of {$other} is not used
project-long = AGENTS.md is long: {$number} of its lines are left out of prompts (run.project_chars)
no-project = without AGENTS.md: {$reason}
no-skill = a skill is not used: {$why}
no-agent-profile = without the profile {$name}: {$reason}
no-skills = without the skills in {$folder}: {$error}
long-skill = {$file} has { $size ->
    [one] {$size} byte
   *[other] {$size} bytes
}, and at most {$most} are read: move long parts into files beside it
telemetry-lost = {$pieces} of telemetry could not be sent; -v says why
engine-serves = worker  serves {$what} in {$folder}
engine-sent = {$then}: {$run}
engine-answered = answered: it continues by itself
engine-cancelled = to be cancelled
engine-not-yet = this command does not work on an engine yet
engine-not-yet-hint = run, resume, answer, tell, pause, cancel and runs do; leave --engine out for what is in this folder
engine-no-key = there is no key for {$place}
engine-no-key-hint = set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
engine-at-work = an actor was at work on {$task} when the plan of {$run} came to version {$version}, and the engine has removed its history
engine-at-work-hint = fork from a version at which no actor was working, or raise the retention of the namespace
engine-not-ended = the run {$run} has not ended
engine-not-ended-hint = `aime cancel` with the same --engine ends it
engine-under-way = run {$run} is under way on its engine
engine-kept-elsewhere = this folder keeps nothing of run {$run}: it changed no file, or did so elsewhere
engine-kept-elsewhere-hint = undo it in the folder of its workers, or, with --git-handoff, in the one where it began
engine-as-one = aime does not know which task of run {$run} made some of its file changes
engine-as-one-hint = omit the task to undo the whole run
engine-no-repair = nothing is repaired on an engine: its records follow from its history
engine-no-repair-hint = check it without a repair
engine-none = no runs on this engine yet
engine-no-certificate = {$file} holds no certificate as PEM
engine-no-state-folder = there is no place outside of the working folder for its states
engine-no-state-folder-hint = set XDG_STATE_HOME to a folder of your own
engine-key-within = the key {$file} is in the working folder, where runs can read it
engine-key-within-hint = move it out of the folder
engine-not-named = a worker needs an engine
engine-not-named-hint = name it: `aime worker --engine HOST:PORT`
engine-without = {$option} is for runs on an engine
engine-without-hint = name the engine by --engine, or omit the option
engine-model = workers have models of their own, so --model says nothing here
engine-model-hint = name it to `aime worker`
engine-profile-hint = give the task another profile, or leave --engine out
engine-conflict = nothing was changed here: {$paths} changed here and in the run; `git --git-dir={$place} show {$commit}:PATH` prints a file as the run left it
engine-elsewhere = the run began in another folder: its changes of files are not brought into this one
engine-goes-on = it continues by itself
engine-left = stopped watching; `aime resume {$run}` with the same --engine watches it again
engine-stopping = stopping … (again to stop watching)
engine-silent = no worker reports on the run now; still looking for one: {$error}
engine-server = start the server, or correct the address; `temporal server start-dev` starts one for trials
engine-list = `aime runs` with the same --engine lists them
engine-worker = is a worker there? `aime worker --engine ADDRESS` is one

# Findings of `aime runs check`, and their repairs.
find-published = { $number ->
    [one] {$number} event is published
   *[other] {$number} events are published
}, and only {$follow} follow from the facts
find-published-state = the published state differs from the state that results from the facts
find-other-state = the events result in another state than the facts
find-no-state = the events result in no valid state: {$error}
find-event = event {$seq} does not follow from the facts; the facts count
find-later-snapshot = {$damage}; a later snapshot is intact, and the run continues from it
find-cut-journal = cut the journal there, and rewrite the { $number ->
    [one] {$number} event
   *[other] {$number} events
} that follow from the rest
find-cut-actor = cut the journal there: the actor continues from its last good record
find-snapshot = in the journal, after fact {$seq}: {$why}
find-drop-snapshot = remove it: a resume replays the facts instead
find-recover = {$fault}; copy what is left with `sqlite3 FILE .recover`
find-remove = remove them
find-no-undo = no change of the run can be undone: {$why}
find-undo-line = its log ends in a truncated line
find-remove-line = remove the line
find-no-way-back = {$what}: files with this content cannot be restored
find-merge = the merge of a task's work was interrupted
find-finish = finish the merge
find-private = { $number ->
    [one] {$number} private folder is left, and no task uses it
   *[other] {$number} private folders are left, and no task uses them
}
find-remove-private = remove those whose changes are in the working folder
find-private-unreadable = the private folders cannot be read: {$error}
find-half-written = { $number ->
    [one] {$number} temporary file is left of a process that ended while it wrote
   *[other] {$number} temporary files are left of a process that ended while it wrote
}
find-not-removed = {$fault}; and they cannot be removed: {$error}
find-differs = it differs from the state in the journal
find-unreadable = it cannot be read: {$error}
find-damaged = it is damaged: {$why}
find-and = {$fault}; and {$error}
find-rewrite = rewrite it from the journal
find-list = the list has {$status}, the journal {$journal}
find-list-as = list it as {$status}
