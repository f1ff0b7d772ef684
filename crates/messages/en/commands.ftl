# Output of rarer commands: `aime runs undo`, `aime runs stats`, `aime memory`, `aime tools`, `aime eval`.

undo-run = run {$run}
undo-task = {$task} of run {$run}
undo-last = the last undo of run {$run}
undo-listing = {$what}: {$paths}
undo-more = … {$number} more
undo-more-paths = {$number} more
undo-put-back = put back
undo-left = left
undo-path = {$path}: {$why}
undo-nothing-for = nothing to put back for {$what}
undo-nothing-changed = nothing was changed
undo-lost = from some moment on the changes of this run were not kept
undo-not-covered = not covered: {$what}
undo-bounds = {$covered}; undo.file_mb and undo.folder_mb say how much is
undo-force = `--force` puts these back too; what stands there now is kept for `aime runs redo`
undo-none = run {$run} has no undo that could be put back
undo-nobody = {$paths} would be put back, and nobody is here to agree

# Changes of a path: eight columns at most.
deed-delete = delete
deed-recreate = recreate
deed-restore = restore

# Why a path is left, or is not covered.
said-left-since = it was changed since, by you or by another run
said-left-between = somebody else changed it in between
said-left-also = changed later, or at the same time, by {$tasks}
said-left-not-empty = something in it stays
said-left-not-kept = how it was is not kept ({$reason})
said-left-stays = it came with the run and is not kept ({$reason}), so it is not removed
said-kept-too-large = too large
said-kept-no-room = the folder is too large
said-kept-repository = version control
said-kept-cache = a cache
said-kept-special = a device, a pipe or a socket
said-kept-mount = another file system
said-kept-unreadable = it may not be read

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
stats-not-counted = not counted: {$what}

memory-none = nothing is remembered in this folder yet
memory-not-found = no memory has any of these words
memory-forgotten = forgotten: {$what}
memory-recalled = recalled {$times}
memory-learnt = learnt
memory-how-often = recalled
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
said-tool-show = `aime tools show {$tool}` shows the parameters

eval-begins = {$trials} in {$ways}; {$done} are done of them in {$folder}
eval-stopping = stopping; the same command goes on
eval-without-model = {$trials} could not use the model and do not count; the same command makes them again
eval-wrong-use = {$trials} could not begin and do not count; the same command makes them again
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
cancel-stopping = run {$run} was told, and is still stopping
cancel-task = to be cancelled: {$task}

permissions-forgotten = forgotten: {$rule}
permissions-nothing = nothing was remembered for this folder
permissions-no-place = nothing is remembered here: there is no folder of your own outside of the working folder to keep it in
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
said-table-way = way
said-table-success = success (95%)
said-table-claimed = claimed, not reached
said-table-tokens = tokens (median)
said-table-tokens-in-all = tokens (in all)
said-table-seconds = seconds (median)
said-table-cost = cost, $ (in all)
said-table-replans = replans (in all)
said-table-questions = questions (in all)
said-table-category = category
said-table-level = level
said-table-reached = reached
said-failure-claimed = claimed and not reached
said-failure-given-up = given up
said-failure-bounds = out of bounds
said-failure-waits = waits for a person
said-failure-model = no model
said-failure-use = wrong use
said-failure-fault = fault of the program
said-table-tasks = {$number} tasks
said-table-held-out = On the tasks that were held out:
said-table-once = {$number} of {$number-all} tasks were reached at least once, in one way or another.
said-table-auto = `{$name}` reached {$number-reached} of {$number} tasks, at {$number-tokens} tokens in the middle.
said-table-best = `{$name}`, the best mode by hand for all of them, reached {$number-reached} of {$number} tasks, at {$number-tokens} tokens in the middle.
said-table-by-hand = {$number-reached} of these {$number} were reached at least once by a mode chosen by hand: more than anyone could choose beforehand, for luck is among it.
eval-foreign = {$folder} was there before and is no evaluation's
eval-foreign-hint = name another folder with -o
eval-config = `aime eval` writes a --config file of its own for each trial
eval-config-hint = put these settings into your own config.toml, or into AIME__SECTION__KEY variables
eval-unusable = cannot use {$folder}: {$error}
eval-no-fault = no task of this suite has what these faults need
eval-no-fault-hint = late files (`late`) or a wrong plan (`wrong_plan`)
eval-line = correct or remove that line, or begin anew with --fresh
eval-name = name `core`, or a folder with a `suite.toml` of `[[task]]` tables
said-suite-empty = {$folder} holds no tasks: write a `suite.toml` with `[[task]]` tables, or name a folder of terminal-bench, harbor or exercism tasks
said-suite-faults = the suite {$folder} has faults:
said-suite-image = {$word-task} wants an image, which is not made: {$lines}
said-suite-no-test = there is no tests/test.sh
said-suite-runner = how tests of `{$word-ending}` files are run is not known here: copy the task with a check of your own
said-suite-twice = two tasks are named {$quoted-name}
said-suite-place = {$file}: task {$number} ({$reason-name}): {$known}
said-suite-unnamed = without a name
said-suite-late = the file {$quoted-file} is to come late and is none of the task's files
said-suite-no-goal = there is no goal: write {$example}
said-suite-no-check = there is no check: write {$example}, a command that ends with 0 where the goal was reached
said-suite-level = the level is {$number}: write 1 to 5
said-suite-json = wrong_plan is not JSON: {$error}
said-suite-no-name = there is no name: write {$example}
said-suite-name = the name {$quoted-name} is no name: write letters, digits, {$marks}, at most 80

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
place-blob = blob
place-undo = undo
place-folder = folder
check-repairs = `aime runs check {$run} --repair` repairs it

# Other commands.
standard-input = standard input
run-ended-as = run {$run} has ended as {$status}
run-all = {$task} is all that run {$run} does
run-all-hint = `aime cancel {$run}` ends the run
task-no-actor = task {$task} has no actor who could hear it
task-no-actor-hint = `aime tell {$run} TEXT` sends it to the run
task-is = task {$task} is {$status}
said-status-completed = completed
said-status-cancelled = cancelled
said-status-pending = pending
said-status-ready = ready
said-status-running = running
said-status-blocked = blocked
run-asked = run {$run} no longer asks that
run-asked-hint = look again: it was answered, or its task has come to an end
said-tool-form = write them as {$json}
undo-tasks = its tasks are {$names}
said-near = did you mean {$quoted-name}? {$known}
profiles-list = `aime profiles` lists them
pages-not-written = the pages cannot be written to {$folder}: {$error}
pages-hint = name a folder that can be written
wrote-pages = wrote {$pages} to {$folder}
plan-not-written = the plan cannot be written to {$file}
plan-not-written-why = the plan cannot be written to {$file}: {$error}
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
files-not-removed = what was kept of files could not be removed: {$error}
not-whole = standard output could not be written: {$error}
no-web-search = without web_search: {$reason}
no-web = without the web: {$why}
skill-taken = the skill `{$name}` is that of {$place}; the one of {$other} is not used
project-long = AGENTS.md is long: {$number} of its lines are left out of prompts (run.project_chars)
no-project = without AGENTS.md: {$reason}
no-skill = without a skill: {$why}
no-agent-profile = without the profile {$name}: {$reason}
no-skills = without the skills in {$folder}: {$error}
long-skill = {$file} has { $size ->
    [one] {$size} byte
   *[other] {$size} bytes
}, and at most {$most} are read: move long parts into files beside it
telemetry-lost = {$pieces} of telemetry could not be sent; -v says why
engine-serves = worker  serves {$what} in {$folder}
engine-told = {$then}: {$run}
engine-answered = answered: it goes on by itself
engine-cancelled = to be cancelled
engine-not-yet = this command does not work on an engine yet
engine-not-yet-hint = run, resume, answer, tell, pause, cancel and runs do; leave --engine out for what is in this folder
engine-no-key = there is no key for {$place}
engine-no-key-hint = set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
said-engine-at-work = an actor was at work on {$task} when the plan of {$word-run} came to version {$number}, and the engine has removed its history
engine-at-work-hint = take a version that came when none was, or keep histories longer (retention)
said-engine-not-ended = the run {$word-run} has not ended
engine-not-ended-hint = `aime cancel` with the same --engine ends it
engine-under-way = run {$run} is under way on its engine
engine-kept-elsewhere = this folder keeps nothing of run {$run}: it changed no file, or did so elsewhere
engine-kept-elsewhere-hint = undo it in the folder of its workers, or, with --git-handoff, in the one where it began
engine-as-one = of some of what run {$run} did to files it is not known which of its tasks did it
engine-as-one-hint = leave the task out: the run is undone as a whole
engine-hint = nothing is repaired on an engine: its records follow from its history
engine-hint-hint = omit --repair
engine-none = no runs on this engine yet
said-engine-no-certificate = {$file} holds no certificate as PEM
engine-key-within = the key {$file} is in the working folder, where runs can read it
engine-key-within-hint = move it out of the folder
engine-without = {$option} is for runs on an engine
engine-without-hint = name the engine by --engine, or leave it out
engine-model = workers have models of their own, so --model says nothing here
engine-model-hint = name it to `aime worker`
engine-profile-hint = give the task another profile, or leave --engine out
engine-conflict = nothing was changed here: {$paths} changed here and in the run; `git --git-dir={$place} show {$commit}:PATH` prints a file as the run left it
engine-elsewhere = the run began in another folder: what it did to files is not brought into this one
said-engine-goes-on = it goes on by itself
engine-left = not watched any more; `aime resume {$run}` with the same --engine goes on
engine-stopping = stopping … (again to stop watching)
engine-untold = no worker tells of the run now; it is looked for: {$error}
engine-server = is the server there? `cargo xtask services` starts one for trials
engine-list = `aime runs` with the same --engine lists them
engine-worker = is a worker there? `aime worker --temporal ADDRESS` is one

# Findings of `aime runs check`, and their repairs.
said-find-published = {$number} events are published, and only {$number-follow} follow from the facts
said-find-published-state = the published state differs from the state that the facts give
said-find-other-state = the events give another state than the facts
said-find-no-state = the events give no state: {$error}
said-find-event = event {$number} does not follow from the facts; the facts count
said-find-later-snapshot = {$damage}; a later snapshot is whole, and the run goes on from it
said-find-cut-journal = cut it there, and rewrite the {$number} events that follow from the rest
said-find-cut-actor = cut it there: the actor goes on from its last good record
said-find-snapshot = in the journal, after fact {$number}: {$why}
said-find-drop-snapshot = remove it: a resume replays the facts instead
said-find-recover = {$fault}; copy what is left with `sqlite3 FILE .recover`
said-find-missing = {$word-hash} is missing
said-find-content = {$word-hash} is not as it was written
said-find-unused = no run uses {$number} of them
said-find-remove = remove them
said-find-no-undo = nothing of the run can be undone: {$why}
said-find-undo-line = its log ends in a line that was cut
said-find-remove-line = remove the line
said-find-no-way-back = {$what}: files that had it cannot be put back
said-find-merge = the merge of a task's work was cut off
said-find-finish = finish it
said-find-private = {$number} private folders that no task uses any more
said-find-remove-private = remove those whose changes are in the working folder
said-find-private-unreadable = its private folders: {$error}
said-find-half-written = {$number} files that were being written when a process died
said-find-not-removed = {$known}; and they cannot be removed: {$error}
said-find-differs = it differs from the state that the journal gives
said-find-unreadable = it cannot be read: {$error}
said-find-damaged = it is damaged: {$why}
said-find-rewrite = rewrite it from the journal
said-find-list = the list says {$word-status}, the journal {$word-journal}
said-find-list-as = list it as {$word-status}
