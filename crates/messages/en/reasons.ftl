# Reasons in journals, and errors of models.

# Places of models, and reasons for their use.
place-process = in this process
place-server = at {$url}
because-none = no other is configured
because-request = the request
because-named = {$source} names [models.{$name}]
because-both = {$source} names it, {$place} says where
because-both-first = {$source} names it, {$variable} says where, and comes before {$variables}
because-set = {$variable} is set
two-variables = {$first} and {$second}
because-sets = {$variables} are set
because-sets-first = {$variables} are set, and come before {$later}
because-set-first = {$variable} is set, and comes before {$variables}

# Why a goal is worked on as it is.
route-no-model = there is no model to ask
route-no-answer = the model gave no usable answer, so the goal counts as complex
request-too-long = the request was too long
route-points = {$reason} ({$points})
route-length = length {$length}
route-steps = several steps: {$words}
route-condition = a condition: {$words}
route-parallel = parallel work: {$words}
route-no-verb = no action verb
route-one = one action: {$words}
route-two = two actions: {$words}
route-many = many actions: {$words}
route-open = an open end: {$words}
route-short = short: length {$length} of at most {$limit}
route-file = works on a single file: {$files}
route-clearly = clearly {$category}: {$words}
route-never = the strategy is never to plan
route-mode = the mode was set
route-handed = a plan was given
route-grew = the run got more tasks

# Why a plan is changed, or is not.
trigger-failed = { $number ->
    [1] task {$task} failed once: {$reason}
   *[other] task {$task} failed {$number} times: {$reason}
}
trigger-failed-again = task {$task} failed again: {$reason}
trigger-evidence = new evidence: {$text}
trigger-blocked = task {$task} is blocked: {$reason}
trigger-nothing-ready = nothing runs, and no task can start
trigger-tokens = {$left} of {$limit} { $limit ->
    [one] token is
   *[other] tokens are
} left
trigger-stalled = no progress for {$seconds} s
trigger-person = a person says: {$text}
trigger-cancelled = a person cancelled {$task}
trigger-criterion = a person agreed to another criterion
no-reason = no reason given
criteria-fail = success criteria do not hold: {$reason}
criterion-unmet = {$criterion}: {$reason}
criterion-of-task = {$criterion} of the task `{$task}`: {$reason}
escalation = { $number ->
    [1] the plan was changed once, {$limit} allowed, and there is still: {$reason}
   *[other] the plan was changed {$number} times, {$limit} allowed, and there is still: {$reason}
}
replan-later = the last replan was {$ago} s ago; the next is allowed in {$wait} s
growth-failed = an attempt at {$tasks} failed
growth-completed = { $number ->
    [one] {$number} TODO was completed since the last look
   *[other] {$number} TODOs were completed since the last look
}
growth-lost = the last look came to nothing
growth-settled = every TODO is settled: is the goal reached?
growth-stuck = nothing is ready, and {$tasks} cannot start
growth-task = a task was completed: does the rest of the plan still fit?
growth-learnt = something was learnt: does the rest of the plan still fit?
lead-no-plan = the lead submitted no plan: {$text}
lead-rules-plan = rules plan from here on
plan-unchanged = the plan stays as it is
plan-change-refused = the change of the plan was refused
evidence-run-ended = the run ended
none-for-actors = no model is configured for actors
task-held-by-lead = held by the lead
task-released = released by the lead
task-criterion-asked = a person is asked about a criterion
task-continued = a person goes on
plan-stays = the plan stays as it is: {$reason}
no-patch = no usable patch: {$reason}
plan-moved-on = the plan moved on before the patch came: {$faults}
stagnation = stagnation: { $number ->
    [one] {$number} look at the plan found no completed TODO
   *[other] {$number} looks at the plan in a row found no completed TODO
}

# Why a task has its status.
given-up = given up: {$reason}
task-blocked = it is blocked
task-condition = the condition `{$condition}` does not hold
task-needs = it needs the result of "{$task}", which was skipped
task-depends = it depends only on "{$task}", which was skipped
task-no-undo = there is nothing to undo: "{$task}" did not fail
task-waits = waits for what cannot be had: {$reason}
task-has-status = "{$task}" is {$status}
task-missing = "{$task}" is missing
task-new-dependency = it waits for a new dependency
task-unblocked = what blocked it is gone
task-undone = its work was undone
task-replaced = replaced by {$tasks}
task-cancelled = cancelled by the plan
task-cancelled-why = cancelled: {$reason}
task-removed = removed by the plan
task-removed-why = removed: {$reason}
task-held = held back by the plan
task-answered = answered
task-again = to be tried again
group-skipped = all its tasks were skipped
group-failed = none of its tasks was completed
failed-first = failed: {$error}
failed-often = failed { $number ->
    [one] {$number} time
   *[other] {$number} times
}: {$error}
call-refused = a person refused the call
call-in-doubt = {$tool} was begun ({$id}) and cut off before its end, and its outcome is unknown
tool-unknown = Unknown tool: {$tool}
reported-done = reported as done, but {$reason}
reported-done-unmerged = reported as done, but {$reason}; its changes are not in the working folder, but kept in {$folder}
criterion-fails = "{$criterion}" does not hold: {$reason}
criterion-unchecked = "{$criterion}" was not checked: {$reason}

# Evidence of checks of criteria.
check-exit = exit code {$code}
check-flaky = cannot tell (flaky): it failed, and then held
    {$first}
    then
    {$evidence}
check-not-again = it failed, and could not be run once more ({$reason})
    {$evidence}
check-not-run = not run: {$reason}
check-no-bash = not run: there is no `bash` here
check-not-allowed = not run: nobody has allowed this command (a rule in permissions.allow does)
check-not-made = not checked: {$reason}
check-more-changes = { $number ->
    [one] and it changed {$number} more file
   *[other] and it changed {$number} more files
}
check-no-file = not about a file
check-outside = {$path} is no path within the working folder
check-unchanged = {$path} is as it was when the run began
check-changed = {$path} is not as it was when the run began
check-unread = the changes in the folder of the task cannot be read: {$error}
check-path-unrecorded = changes of {$path} are not recorded ({$reason})
check-unrecorded = changes of files are not recorded in this run
check-exists = {$path} exists
check-absent = {$path} does not exist
check-matches = {$path} matches /{$pattern}/
check-matches-not = {$path} does not match /{$pattern}/
check-contains = {$path} contains {$part}
check-contains-not = {$path} does not contain {$part}
check-outdated = {$evidence} (judged before {$tasks} changed {$paths})
check-after = cannot tell: it held when the task ended, but no longer holds after {$tasks}, which the plan runs later: {$evidence}
check-beside = it held when the task ended, but no longer holds after {$tasks} changed files: {$evidence}

# Why an actor failed.
actor-needs = {$summary} (needs: {$needs})
actor-steps = reached max_steps ({$number})
actor-stuck = { $number ->
    [one] stuck: `{$tool}` was called {$number} time with the same arguments and the same result
   *[other] stuck: `{$tool}` was called {$number} times with the same arguments and the same result
}
actor-withheld = the provider withheld the answer (content filter)
actor-cut = the answers of the model are cut by the length limit
actor-empty = the model gave an empty answer twice
actor-unreadable = the model writes tool calls as text that cannot be read: {$text}
actor-last-call = {$error} (the last call that failed: `{$tool}`: {$why})

# How runs end.
stopped-by-person = stopped by a person
paused-by-person = paused by a person
cancelled-by-person = cancelled by a person
ended-by-person = a person ended the run
run-cut-off = the run was cut off
task-failed = {$task} failed: {$reason}
task-was = {$task} was {$reason}
no-task-done = no task was completed
plan-invalid = the plan is not valid: {$faults}
bound-reached = the bound on {$bound} was reached: {$reason}
limit-seconds = { $number ->
    [one] {$number} second was allowed
   *[other] {$number} seconds were allowed
}
limit-calls = { $number ->
    [one] {$number} tool call was allowed
   *[other] {$number} tool calls were allowed
}
limit-calls-made = {$number} of {$limit} { $limit ->
    [one] tool call was
   *[other] tool calls were
} made
limit-calls-used = { $number ->
    [one] {$number} tool call is allowed, and it is used
   *[other] {$number} tool calls are allowed, and all are used
}
limit-actors = {$number} of {$limit} { $limit ->
    [one] actor was
   *[other] actors were
} used
limit-actors-used = { $number ->
    [one] {$number} actor is allowed, and it is used
   *[other] {$number} actors are allowed, and all are used
}
limit-tokens = {$used} of {$limit} { $limit ->
    [one] token is
   *[other] tokens are
} used or reserved, and the next request needs about {$wanted}
limit-money = {$used} of {$limit} USD are spent or reserved, and the next request costs about {$wanted}
quota-back = it answers again at {$time}

nobody-there = not allowed: nobody is there to answer "{$question}". Take a way that needs no consent, and say so in your result
withdrawn-ended = (withdrawn: the work that asked has come to an end)
withdrawn-allowed = (withdrawn: such calls were allowed meanwhile)

# Their hints.
hint-resume = go on with `aime resume {$run}`
hint-bound = raise the bound: `aime resume {$run} {$flag}`
hint-plan-bound = plan it again with a higher bound: `{$flag}`
hint-quota = wait until then and use `aime resume {$run}`, or name a fallback model
hint-plan-quota = wait until then and plan it again, or name a fallback model
hint-setting = raise {$setting} in [run], then `aime resume {$run}`
hint-plan-setting = raise {$setting} in [run], then plan again
hint-steps = raise max_steps in [run], and in the actor's profile where that allows fewer, or let the goal be planned in smaller tasks (--mode complex)
hint-approve = allow it with `aime answer {$run} yes`, refuse it with `aime answer {$run} no`, then `aime resume {$run}`
hint-answer = answer with `aime answer {$run} TEXT`, then `aime resume {$run}`
hint-supply = provide what is missing, then `aime resume {$run}`; to add an explanation first, use `aime answer {$run} TEXT`
hint-fork = `aime runs fork {$run} --at {$version}` makes a run that goes on from there
hint-doctor = check the server and the model's name with `aime doctor`
hint-then-resume = {$advice}; then `aime resume {$run}`
hint-then-plan = {$advice}; then plan again
hint-report = this is a fault in aime: please report it

# Errors of models, and their hints.
model-unreachable = cannot reach {$url}: {$reason}
model-late = {$model} did not answer within {$span}
model-cut = the answer of {$model} was cut off
model-limited = {$model} refuses more requests for now: {$reason}
model-key = {$url} refused the key ({$status}): {$reason}
model-unknown = {$url} has no model "{$model}": {$reason}
model-overflow = the request does not fit the context window of {$model}: {$reason}
model-refused = {$model} refused the request ({$status}): {$reason}
model-server = the server of {$model} failed ({$status}): {$reason}
model-unreadable = cannot read the answer of {$model}: {$reason}
model-unloadable = cannot load {$model}: {$reason}
model-no-answer = no answer of {$model}: {$reason}
model-not-recorded = no recorded answer for this request to {$model}: {$reason}
model-gave-up = {$error} (gave up after { $attempts ->
    [one] {$attempts} attempt
   *[other] {$attempts} attempts
})
model-all-failed = no model answered: {$errors}
model-numbered = ({$number}) {$error}
model-hint-tls = check that {$url} really speaks TLS and that its certificate authority is known to this machine
model-hint-plain = what answers at {$url} does not speak TLS: write http:// in place of https://
model-hint-dns = check the host name in {$url} and the network
model-hint-server = check that a model server listens at {$url}, which {$setting} sets
model-hint-network = check the network: nothing answers at {$url}, the address of the provider
model-hint-timeout = raise `timeout_seconds` of the model if it is slow, or use a faster model
model-hint-limited = wait a while, lower the number of parallel tasks, or name a fallback model
model-hint-balance = check the balance and the limits of the account
model-hint-forbidden = check that the account of the key may use the model, or name another model
model-hint-key = set the key for {$url} in the environment variable that the model's api_key_env names
model-hint-unknown = name one of the models that {$url}/models lists
model-hint-overflow = use a model with a larger context window, or set its context_tokens to what the server holds
model-hint-later = try again later, or name a fallback model
check-model = check the server and the model's name

# Why the runtime did not carry out work.
effect-stopped = stopped
effect-of-actor = an actor has a machine of its own, which another process drives
lead-rests = the lead of the run rests until the run wakes it
no-lead = the run has no lead
no-lead-composed = the worker composed no lead
no-agent = no agent is configured for the profile `{$profile}`
agent-is-local = profile `{$profile}` is an external agent, which works in local runs only: give the task another profile
actor-step = an actor that is {$status} cannot take the step {$step}
private-not-made = the private folder of the task cannot be made: {$reason}
private-in-turn = tasks took turns in the working folder, because it cannot be copied for them: {$reason}
private-ignored = ignored files in private folders were not merged: {$paths}
private-ignored-more = ignored files in private folders were not merged: {$paths} and {$more} more
private-versions-kept = versions that are not in the working folder are kept in {$folder}
private-folders-stay = the private folders of the run stay in {$folder}: {$reason}
private-not-merged = the changes of the task cannot be merged with the working folder: {$reason}
words-unused = changed nothing in the plan: {$text}
words-unread = not read by the actor of the task {$task}: {$text}
words-done = dealt with, as the lead says
hook-failed-after-end = the hook {$hook} at {$point} failed: {$reason}
hook-blocks-after-end = the hook {$hook} at {$point} could not block, because it was called too late: {$reason}

# Runs on an engine.
host-lost = its host is lost: no worker of the queue {$queue} took it up in time
worker-late = no worker of the queue {$queue} finished it in time: its host may be lost
call-lost = the call was begun ({$id}) and its outcome is unknown: {$reason}
actor-not-begun = the workflow of the actor could not be started: {$reason}
actor-broken-off = the workflow of the actor failed: {$reason}
work-not-handed-back = its file changes are left out, because they could not be handed back: {$reason}
work-not-merged = its file changes are left out, because they could not be merged: {$reason}
work-conflicts = its file changes are left out, because they conflict with changes that others made meanwhile: {$named}. Another attempt begins from those changes; let tasks that change the same files run one after the other
conflict-kept = {$path} (its version is kept in {$place})
conflict-more = {$named} and {$more} more
never-driven = nobody has resumed it yet
workflow-cancelled = its workflow was cancelled
end-not-done = the last steps of the run (snapshot, plan, hooks) were not carried out: {$reason}
tree-not-own = the work had no folder state of its own
undo-cut-off = an undo was cut off
undo-stopped = changes from here on cannot be undone: {$reason}
undo-no-space = only {$megabytes} MB are free on the disk
undo-damaged = {$path} is damaged
undo-newer = {$path} has the form {$schema}, which this aime does not know; use a newer one
undo-task-running = the task {$task} is running; it can be undone when it has ended
undo-not-recorded = changes of files are not recorded
undo-pruned = its record was removed to make room for later runs: all records together take at most undo.store_mb
content-damaged = {$place} is damaged: its content does not match its name
content-name = {$name} is not the name of a content
file-failed = `{$path}` could not be {$action}: {$error}
file-unusable = {$path} cannot be used: {$error}
file-path-empty = the path is empty; `.` is the working folder
file-path-nul = the path {$path} contains a NUL byte
file-outside = `{$path}` is outside of the working folder {$folder}; use a path inside it
file-home = `{$path}` is in the home folder, and file tools stay in the working folder; use a path relative to that, or `./~` for a file of this name
file-drive = `{$path}` names a drive of Windows, and there are none here; use a path relative to the working folder, with `/`
file-link-outside = `{$path}` leads out of the working folder through a link; use a path inside it
file-dangling-link = `{$path}` is a link whose target does not exist
file-reserved = `{$path}` is in {$folder}, where nothing else may be written; write elsewhere
file-protected = `{$path}` leads to `{$place}`, whose files run later on their own; name that path itself
file-not-found = `{$path}` does not exist
file-is-folder = `{$path}` is a folder, not a file
file-is-special = `{$path}` is a device, a pipe or a socket, not a regular file
file-not-a-folder = `{$path}` is not a folder, or a part of that path is not
file-too-large = `{$path}` is too large to be read or written at once (size in bytes: {$size}, limit: {$limit})
file-read-only = `{$path}` is read-only; make it writable first (`chmod u+w`), or write to another file
commits-branch = the work is on the branch {$branch}, in { $commits ->
    [one] {$commits} commit
   *[other] {$commits} commits
}
commits-branch-mixed = the work is on the branch {$branch}, in { $commits ->
    [one] {$commits} commit
   *[other] {$commits} commits
}; the first has changes of the same files that were not committed before the run
commits-none = nothing is committed: the run changed no file that the repository keeps
commits-failed = the work is not committed: {$reason}
commits-omitted = not in the commits: {$paths} ({$reason})
commits-omitted-more = not in the commits: {$paths} and {$more} more ({$reason})
commits-ignored = git ignores it
commits-submodule = in a submodule
commits-too-large = over 100 MB: give it to Git LFS
commits-filter = its filter `{$filter}` is a program, which aime does not run
commits-no-undo = the changes of files are not recorded (`undo.enabled`)
commits-not-recorded = the changes of files were not recorded
commits-no-repository = the folder is in no git repository
git-too-old = git {$found} is installed, and git {$needed} or later is needed
git-missing = no git is found on PATH, and git {$needed} or later is needed
git-failed = `git {$command}` failed: {$error}
git-exit-code = `git {$command}` failed with exit code {$code}
git-slow = `git {$command}` took too long and was ended
git-killed = `git {$command}` was killed
git-output = `git {$command}` printed too much (size in bytes: {$bytes})
git-changes-too-large = the changes are too large to be handed over at once (size in bytes: {$bytes}, limit: {$most}); exclude files that need not be handed over in .gitignore
git-folder-not-empty = {$folder} is not empty, and a checkout would replace what is in it; name an empty folder
git-folder-in-use = another process works with the states of {$folder}; let it end, or take another folder
git-in-the-way = {$paths} would be overwritten, and no recorded state has their content; move them away
git-not-taken = {$commit} contains {$path}, which belongs to one host only and is not imported
git-incomplete = the repository is incomplete: {$error}
git-no-commit = the bundle does not hold {$commit}
tree-form = the blob {$bundle} holds no folder state that this version can read
tree-none = the run moves its folder by git, and this worker was started without that
tree-not-kept = the earlier content could not be kept: {$reason}
tree-broken = the folder is not in the state in which the work left it: {$reason}
blob-unread = {$reason}; every worker and client must share the store of the blobs
blob-sealed = {$name} cannot be used: {$reason}
blob-given-up = the work on it was abandoned: {$reason}
bucket-address = {$address} is not the address of a bucket: {$reason}; write s3://BUCKET or s3://BUCKET/PREFIX
bucket-scheme = it does not begin with {$scheme}
bucket-no-name = it names no bucket
bucket-endpoint = the endpoint {$url}: {$reason}
bucket-client = no connection to a bucket can be made: {$reason}
key-unusable = {$source}: {$reason}
key-invalid = line {$line} is not a key: a key is 64 hexadecimal digits, as `openssl rand -hex 32` prints them
key-empty = there is no key: write 64 hexadecimal digits, as `openssl rand -hex 32` prints them
seal-other-key = it was encrypted with the key {$id}, which was not given
seal-without-key = it is encrypted, and no key was given
seal-changed = it was changed after it was encrypted, or is cut off
no-random-numbers = the operating system gives no random numbers
engine-address = {$text} is not the address of an engine: {$reason}; write temporal://HOST:PORT, or temporal://HOST:PORT/NAMESPACE
engine-address-scheme = the scheme {$scheme} is unknown: use temporal:// or temporals://
engine-address-port = it has no port
engine-address-namespace = a namespace has no `/`
engine-unusable = the engine at {$url} cannot be used: {$reason}
engine-no-tls = {$what} needs TLS: write temporals://HOST:PORT, or omit it
engine-tls-key = a key
engine-tls-certificate = a certificate
engine-no-client = no client for this namespace: {$reason}
engine-run-exists = there is a run {$run} already
engine-no-run = there is no run {$run}
engine-refused = the engine could not {$what}: {$reason}
engine-to-start = start the run
engine-to-read = read the run
engine-to-signal = signal the run
engine-to-find = look for the run
engine-to-list = list the runs
engine-to-delete = delete the run
engine-not-begun = it has not begun
worker-cannot = the worker cannot {$what}: {$reason}
worker-to-begin = begin
worker-to-drive = drive runs
worker-to-act = do anything but drive runs
worker-to-go-on = go on
worker-no-parts = no models or tools are configured
worker-serves-nothing = no capability was given
