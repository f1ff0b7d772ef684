# What rarer commands say: `aime runs undo`, `aime runs stats`, `aime memory`, `aime tools`, `aime eval`.

undo-run = run {$run}
undo-task = {$task} of run {$run}
undo-last = the last undo of run {$run}
undo-listing = {$what}: {$paths}
undo-more = … {$number} more
undo-more-paths = {$number} more
undo-put-back = put back
undo-left = left
undo-path = {$path}: {$why}
undo-nothing-for = nothing is to be put back for {$what}
undo-nothing-changed = nothing was changed
undo-lost = from some moment on the changes of this run were not kept
undo-not-covered = not covered: {$what}
undo-bounds = {$covered}; undo.file_mb and undo.folder_mb say how much is
undo-force = `--force` puts these back too; what stands there now is kept for `aime runs redo`
said-undo-none = run {$run} has no undo that could be put back
said-undo-nobody = {$paths} would be put back, and nobody is here to agree

# What is done to a path: eight columns at most.
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
stats-not-counted = not counted: {$what}

memory-none = nothing is remembered in this folder yet
memory-not-found = no memory has any of these words
memory-forgotten = forgotten: {$what}
memory-recalled = recalled {$times}
memory-learnt = learnt
memory-how-often = recalled
said-memory-many = {$number} memories have names that begin with {$name}
said-memory-more = write more of it

# What a tool does to the world: nine columns at most.
tool-of-actors = actor's
tool-reads = reads
tool-runs = runs
tool-connects = connects
tool-changes = changes
said-tool-parameters = the parameters are not a JSON object: {$error}
said-tool-show = `aime tools show {$tool}` tells the parameters

eval-begins = {$trials} in {$ways}; {$done} are done of them in {$folder}
eval-stopping = stopping; the same command goes on
eval-tables = tables and plots: {$file}
eval-trial = {$task}, {$variant}: {$how}
eval-cost = {$seconds} s, {$tokens} tokens
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
said-eval-none = no task of this suite is asked for
said-eval-none-mend = look at --task, --held-out and --tuned
said-eval-no-folder = there is no folder {$name}, and no suite of that name is built in

check-valid = valid
check-fault = fault

cancel-done = cancelled {$run}
said-cancel-stopping = run {$run} was told, and is still stopping
said-cancel-task = to be cancelled: {$task}

said-permissions-forgotten = forgotten: {$rule}
said-permissions-nothing = nothing was remembered for this folder
said-permissions-no-place = nothing is remembered here: there is no folder of your own outside of the working folder to keep it in
said-permissions-none = nothing is remembered for this folder; it would stand in {$file}
said-permissions-number = there is no such number
said-permissions-list = `aime permissions list` gives them numbers
