# Single words, and numbers of things.

row-separator = {"; "}

count-task = { $number ->
    [one] {$number} task
   *[other] {$number} tasks
}
count-request = { $number ->
    [one] {$number} request
   *[other] {$number} requests
}
count-run = { $number ->
    [one] {$number} run
   *[other] {$number} runs
}
count-replan = { $number ->
    [one] {$number} replan
   *[other] {$number} replans
}
count-fault = { $number ->
    [one] {$number} fault
   *[other] {$number} faults
}
count-path = { $number ->
    [one] {$number} path
   *[other] {$number} paths
}
count-change = { $number ->
    [one] {$number} change
   *[other] {$number} changes
}
count-line = { $number ->
    [one] {$number} line
   *[other] {$number} lines
}
count-file = { $number ->
    [one] {$number} file
   *[other] {$number} files
}
count-plan = { $number ->
    [one] {$number} plan
   *[other] {$number} plans
}
count-memory = { $number ->
    [one] {$number} memory
   *[other] {$number} memories
}
count-time = { $number ->
    [one] {$number} time
   *[other] {$number} times
}
count-trial = { $number ->
    [one] {$number} trial
   *[other] {$number} trials
}
count-way = { $number ->
    [one] {$number} way
   *[other] {$number} ways
}
count-check = { $number ->
    [one] {$number} check
   *[other] {$number} checks
}
count-event = { $number ->
    [one] {$number} event
   *[other] {$number} events
}
count-actor = { $number ->
    [one] {$number} actor
   *[other] {$number} actors
}
count-tool = { $number ->
    [one] {$number} tool
   *[other] {$number} tools
}
count-page = { $number ->
    [one] {$number} page
   *[other] {$number} pages
}
count-piece = { $number ->
    [one] {$number} piece
   *[other] {$number} pieces
}

attempt = (attempt {$number})

# Statuses of runs and tasks.
status-planning = planning
status-executing = executing
status-replanning = replanning
status-waiting-for-human = waiting_for_human
status-completed = completed
status-failed = failed
status-cancelled = cancelled
status-interrupted = interrupted
status-pending = pending
status-ready = ready
status-running = running
status-blocked = blocked
status-skipped = skipped
status-rolled-back = rolled_back

owner-person = person
owner-project = project
owner-lead = lead
owner-actor = actor
checked-executed = checked by aime
checked-audited = judged by a model
checked-unchecked = not checked
conflict-text = text
conflict-binary = binary
conflict-symlink = symbolic link
conflict-delete-edit = deleted and changed
conflict-place = file and folder

# How a run ended, in its last line.
ended-completed = completed
ended-cancelled = cancelled
ended-interrupted = interrupted
ended-goal-not-reached = goal not reached
ended-model-unavailable = model unavailable
ended-bound-reached = bound reached
ended-waiting-for-human = waiting for human
ended-internal = stopped by a fault in aime

# The same where a run is shown.
code-cancelled = cancelled
code-interrupted = interrupted
code-goal-not-reached = goal_not_reached
code-model-unavailable = model_unavailable
code-bound-reached = bound_reached
code-waiting-for-human = waiting_for_human
code-internal = internal

# How a goal is worked on, and who said so.
mode-direct = direct
mode-simple = simple
mode-complex = complex
mode-emergent = emergent
by-rules = rules
by-bypass = bypass
by-lead = lead
by-strategy = strategy
by-model = model
by-flag = flag
by-plan-file = plan_file

# Purposes of requests to models.
purpose-plan = a plan
purpose-patch = a patch
purpose-replan = a replan
purpose-update = an update

# Results of calls.
outcome-ended = ended
outcome-failed = failed
outcome-was-stopped = was stopped
outcome-is-in-doubt = is in doubt

# Changes of files; effects of hooks.
did-created = created
did-changed = changed
did-deleted = deleted
did-put-back = put back as it was
did-not-put-back = not approved, and not put back
did-not-watched = not watched as a whole
did-blocked = blocked
did-failed = failed

# Kinds of questions, and answers.
kind-approval = approval
kind-question = question
kind-escalation = escalation
kind-blocked = blocked
answer-yes = yes
answer-always = always
answer-no = no

# Bounds.
bound-tokens = tokens
bound-money = money
bound-time = time
bound-tool-calls = tool_calls
bound-actors = actors
