# Output of runs under way, and of commands that show runs.

# The words that lines begin with: seven columns at most.
head-goal = goal
head-images = images
head-route = route
head-mode = mode
head-plan = plan
plan-effort = { $span } of work expected
plan-confidence = confidence { $share }
head-replan = replan
head-refused = refused
head-memory = memory
head-recall = recall
head-known = known
head-start = start
head-done = done
head-failed = failed
head-blocked = blocked
head-skipped = skipped
head-undone = undone
head-undo = undo
head-evidence = evidence
head-lead = lead
head-no-replan = no replan
head-answer = answer
head-sent = sent
head-cancel = cancel
head-always = always
head-asks = asks
head-decided = decided
head-actor = actor
head-holds = holds
head-fails = fails
head-conflict = conflict
head-merged = merged
head-unknown = unknown
head-bound = bound
head-resumed = resumed
head-follow-up = then
head-run = run
head-hook = hook
head-model = model
head-sandbox = sandbox

model-none = none {$because}
model-not-needed = the plan needs none

line-route = {$mode} (by {$by}: {$reasons})
line-route-category = {$mode} (by {$by}, {$category}: {$reasons})
line-asking = asking for {$what} …
line-refused = try {$attempt}: {$faults}
line-reused = used again: the plan for the same goal
line-reused-of = used again: the plan of run {$run} for the same goal
line-repaired = repaired: {$repair}
line-fallback = fallback: {$why}
line-because = because: {$why}
line-lowered = what failed: {$what}
handled-split = {$task} is split into {$number} smaller tasks: {$into}
handled-another-way = {$task} is replaced by another approach: {$into}
handled-changed = {$task} is retried with a change
handled-again = {$task} is retried
handled-removed = {$task} is removed
handled-left = {$task} stays failed
line-dropped-change = no longer fits: {$change} ({$why})
line-actor = actor {$profile} on {$model}
line-call = {$what} after {$span}: {$output}
line-compacted = history shortened from {$before} to {$after} tokens
line-stuck = repeats itself; told to try another way
line-message-delivered = has your message
line-lead-gave-up = the lead makes no plan that can be used: rules plan from here on
line-folder-awaited = waits until no other task writes in the working folder
line-merged = {$task}: {$files}
line-more = … +{$lines}
line-task-failed = {$tasks} failed
line-task-blocked = {$tasks} blocked
line-conflict-open = {$task} and others changed {$path} ({$kind}); it is as the others left it
line-conflict-resolved = {$task} and others changed {$path} ({$kind}); the actor of {$task} resolved it
line-conflict-kept = the version of the task is kept in {$kept}
line-not-cancelled = is not cancelled: {$why}
line-left-out = {$number} more found no room in the prompt
line-hook = {$hook} {$did} at {$point}
line-for-good = {$task} for good

change-replaced = {$task} in place of {$replaced}: {$title}
change-changed = {$task} is changed
change-merged = {$merged} become {$task}
change-held = {$task} is held back: {$reason}
change-released = {$task} may run again
change-cancelled = {$task} is cancelled: {$reason}
change-edge = {$from} before {$to}
change-strategy = the strategy is changed
change-criterion = criterion {$number} becomes “{$criterion}”: {$evidence}

tree-after = after {$tasks}
tree-more = … and {$number} more
tree-progress = plan v{$version} · {$done} of {$tasks} done

stopped-unrecorded = stopped before anything was recorded
run-not-reached = the goal was not reached
run-stopping = stopping … (again to stop at once)
run-summary = run {$run} {$ended}: {$parts}
run-done = {$done} of {$tasks}
run-span = {$span}
run-tokens = { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
} in {$requests}
run-checks-passed = {$checks} passed
run-checks-judged = {$number} of them judged by a model
run-checks-failed = {$checks} failed
run-checks-open = {$checks} without a result
run-checks-amended = {$checks} reworded
run-unchecked = not checked: {$criterion} ({$reason})
run-undecided = not decided: {$criterion} ({$reason})
run-amended = reworded: {$from} is now {$to} ({$evidence})
run-held-before = held already before the work, so it proves nothing about the work: {$criterion}
held-before = held already before the work
run-cached = {$tokens} from the cache
spent-by = {$who} { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
} in {$requests}
spent-lead = lead
spent-actors = actors
spent-checks = checks
run-first = the first run in this folder; what can be done with it:
run-first-report = what it did, as one page for a browser
run-first-undo = take back what it changed
run-first-serve = every run of this folder in a browser, live
run-took = {$span}, { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
} in {$requests}
run-actor = {$task}: {$profile} on {$model}, {$tools}, at most {$steps} steps
run-actor-skills = skills {$skills}
run-decided = v{$version} because {$why}: {$reasoning}
run-more-changes = … {$changes} more in `aime runs events`
diff-nothing = nothing changed from v{$from} to v{$to}

prompt-approval = [y]es, [N]o >{" "}
prompt-approval-always = [y]es, [a]lways, [N]o >{" "}
prompt-no = [y/N]
prompt-yes = [Y/n]

failure-label = error
question-label = question
stopped-label = stopped
failure-error = {$label}: {$message}
hint-label = hint
failure-hint = {$label}: {$hint}
