# Texts of the whole screen of a run. The English ones are in crates/terminal too.

view-comma = {", "}
view-beginning = beginning
view-planning = planning
view-working = working
view-replanning = changing the plan
view-waiting = waiting for you
view-not-under-way = not under way
view-run-done = done
view-run-failed = failed
view-run-cancelled = cancelled
view-no-plan-yet = no plan yet
view-version = plan v{$version}
view-done = {$done} of {$tasks} done
view-failures = {$number} failed
view-of = {$used} of {$most}
view-tokens = { $number ->
    [one] {$number} token
   *[other] {$number} tokens
}
view-tokens-of = {$used} of { $most ->
    [one] {$most} token
   *[other] {$most} tokens
}

view-title-plan = Plan
view-title-at-work = At work
view-title-log = What happened
view-title-graph = What waits for what
view-title-task = Task
view-title-keys = Keys
view-more-below = {$number} more below
view-more = {$number} more
view-above = {$above} above
view-below = {$below} below
view-around = {$above} above, {$below} below
view-first-of = 1 of {$number}
view-more-to-read = {$lines} more lines: PgDn
view-lines-left-out = … {$number} more lines
view-lines-before = … {$lines} before these are in `aime runs events`

view-none-yet = there is none yet
view-no-plan-to-draw = there is no plan yet
view-attempt = attempt {$number}
view-for-good = for good
view-waits-for-you = waits for you
view-thinking = thinking
view-said = said: {$status}: {$message}
view-came-to = came to: {$text}
view-tool = tool {$tool} {$parameters}
view-actor = actor {$profile} on {$model}: { $requests ->
    [one] {$requests} request
   *[other] {$requests} requests
}, { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
}

# Outcomes of a call: eight columns at most.
view-call-runs = ...
view-call-ok = ok
view-call-failed = failed
view-call-stopped = stopped
view-call-in-doubt = in doubt

view-approve = y yes · n no
view-approve-always = y yes · a always · n no
view-answers = Enter answers
view-sure-pause = Stop the run? It can be resumed.
view-sure-cancel = Cancel the task {$task}?
view-sure-end = End the run for good?
view-tell-run = tell the run
view-tell-task = tell {$task}
view-answer = answer

view-has-ended = the run has ended
view-nobody-carries = no process works on the run; go on with aime resume {$run}
view-nothing-to-tell = there is no task yet; t sends a message to the run
view-nothing-to-cancel = there is no task yet; X ends the run
view-nobody-hears = {$task} has no actor that could receive a message; t sends one to the run
view-has-settled = {$task} is {$status}
view-is-the-run = {$task} is all that the run does; X ends the run
view-held = that key was just pressed: let go of it, and press it again
view-lost = the screen is gone; output continues in lines
view-not-done = not done: {$error}

# Keys at the foot.
key-sends = Enter sends
key-gives-up = Esc gives up
key-empties = Ctrl-U empties
key-yes = y yes
key-no = any other key no
key-back = Esc back
key-scroll = Up Down scroll
key-scroll-page = PgDn scroll
key-other-task = Up Down task
key-help = ? help
key-tell = t tell
key-tell-it = T tell it
key-task = Enter task
key-graph = g graph
key-pause = p pause
key-cancel = x cancel
key-cancel-it = x cancel it
key-leave = q leave
key-stop = Ctrl-C stop

# Effects of the keys.
help-tell = tell the run something
help-tell-it = tell the actor of the task at the pointer
help-approve = answer an approval: yes, no, always
help-answer = answer a question
help-cancel = cancel the task at the pointer; it asks first
help-end = end the run for good; it asks first
help-pause = pause: stop the run so that it can be resumed; it asks first
help-stop = stop the run so that it can be resumed; again to stop at once
help-leave = close this; the run goes on. Also q
help-move = move the pointer; also k and j
help-task = all about the task at the pointer, and back
help-graph = what waits for what, and back
help-log = what happened
help-next = the next of these three
help-scroll = scroll
help-back = back; the pointer follows what moves again
help-redraw = draw anew. Ctrl-Z: to the background
help-help = this, and back
help-marks = [ ] waits  [>] runs  [x] done  [!] failed  [?] blocked  [-] skipped  [<] undone

# The foot of the checklist.
live-foot = {$elapsed} · { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
} in {$requests}{$cost} · Ctrl-C stops · run {$run}
