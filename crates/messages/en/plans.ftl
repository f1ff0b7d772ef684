# Faults of plans and patches, and what was repaired in them. All are recognised by the English sentence.

# Places of faults, the faults, and their repairs.
said-fault = {$word-place}: {$known}
said-fault-hint = {$word-place}: {$known} ({$reason-hint})
said-fault-task = {$word-place} (task {$quoted-task}): {$known}
said-fault-task-hint = {$word-place} (task {$quoted-task}): {$known} ({$reason-hint})
plan-faults = {$plan} has {$faults}:
plan-of-file = the plan {$file}
plan-of-person = the plan
image-of-file = the image {$file}
goal-of-file = the goal file {$file}

# Wrong values.
said-kind-null = null
said-kind-truth = true or false
said-kind-number = a number
said-kind-text = a text
said-kind-list = a list
said-kind-object = an object
said-found-list = sequence
said-found-table = map
said-type-boolean = a boolean
said-type-string = a string
said-type-array = an array
said-type-integer = an integer

# Plans and patches that cannot be read.
said-read-json = answer with one JSON object
said-read-syntax = line {$number}, column {$number-column}: {$reason}
said-read-syntax-hint = write one JSON object of the form aime.plan/v1
said-read-cut = it ends before its end, so something is missing
said-read-shorter = write the whole again, shorter
said-read-object = must be an object and is {$reason-kind}
said-read-list = must be a list and is {$reason-kind}
said-read-list-of-tasks = must be a list of tasks and is {$reason-kind}
said-read-task = must be a task and is {$reason-kind}
said-read-change = must be a change and is {$reason-kind}
said-read-text = must be a text and is {$reason-kind}
said-read-no-tasks = there are no tasks
said-read-plan-form = a plan is {$json}
said-read-one-task = name at least one task with an id and a description
said-read-too-many = there are {$number} tasks; at most {$number-most} are read
said-read-schema = this is {$quoted-schema}
said-read-patch-schema = a patch is {$quoted-schema}
said-read-edge = no task is named
said-read-edge-form = an edge is {$json}
said-read-edge-kind = {$quoted-kind} is no kind of edge
said-read-there-are = there are: {$names}
said-read-there-are-none = there are none
said-read-near = did you mean {$quoted-name}?
said-read-parameters-form = name each parameter: {$json}
said-read-no-changes = there are no changes
said-read-keep = to keep the plan, answer with "changes": {$json}
said-read-no-op = it names no `op`
said-read-no-such-op = there is no change {$quoted-op}
said-read-no-successor = the task that takes their place is missing
said-read-nested = a new task holds tasks
said-read-nested-hint = add each of them by a change of its own, with `parent`
said-read-nothing-to-do = the task `{$word-task}` does not say what is to be done
said-read-nothing-changed = nothing is changed

# Tools, profiles, and what a mode allows.
said-check-no-tool-named = the tool task `{$word-task}` names no tool
said-check-of-actors = {$quoted-tool} can only be called by an actor in the middle of its work
said-check-of-actors-hint = leave the tool out and describe the task
said-check-no-tool = there is no tool {$quoted-tool}
said-check-no-profile = there is no profile {$quoted-profile}
said-check-no-model = there is no model {$quoted-model}
said-check-no-effort = there is no effort {$quoted-effort}
said-check-no-bundle = there is no tool bundle {$quoted-bundle}
said-check-parameters = parameters: {$parameters}
said-check-call = the call of `{$word-tool}` {$known}
said-check-too-many = there are {$number} tasks, and at most {$number-most} may be planned
said-check-too-many-goals = there are {$number} sub-goals, and at most {$number-most} may be planned
said-check-too-many-actions = the sub-goal `{$word-goal}` has {$number} actions, and at most {$number-most} may be planned
said-check-merge = merge some of them
said-check-only-groups = there are only groups, and nothing to do
said-check-only-groups-hint = add actions with `parent`

# Rules between tasks.
said-rule-schema = the schema is {$quoted-found}; this is read as {$quoted-expected}
said-rule-no-tasks = a plan has at least one task
said-rule-taken = the id {$quoted-id} is taken; choose another
said-rule-unknown = unknown task {$quoted-task}
said-rule-unknown-near = unknown task {$quoted-task}; did you mean {$quoted-near}?
said-rule-itself = the task depends on itself
said-rule-cycle = a cycle: {$path}; take one of these dependencies away
said-rule-parent = the parent {$quoted-id} is not a group; give it kind "group" or leave parent out
said-rule-parent-cycle = groups hold one another: {$path}
said-rule-empty-group = the group has no tasks; name it as parent of some, or give it kind "actor" and a description
said-rule-no-tool = a tool task names its tool
said-rule-no-description = an actor task has a description of what is to be done
said-rule-no-condition = a conditional edge has a condition, for example {$example}
said-rule-reference = `{$text}` is not a reference: write {$forms}
said-rule-reference-to-group = `{$reference}`: {$quoted-group} is a group and has no result; refer to one of its tasks
said-rule-merge = merging takes at least two tasks
said-rule-no-edge = there is no edge from {$quoted-from} to {$quoted-to}
said-rule-id = {$quoted-text} is not an identifier: use 1 to {$number} of A-Z a-z 0-9 _ - .
said-rule-again = task {$quoted-task} takes the place of {$quoted-failed} and does the same as it: {$hint}
said-rule-unblock-again = unblock_task of {$quoted-task} would only do again what failed: tell another way in `description` (modify_task), put smaller tasks in its place, or let it depend on a new task that prepares it

# Parameters that do not fit.
said-fit-lacks = lacks {$quoted-name}
said-fit-type = is {$value}, must be {$known}
said-fit-one = is {$value}, must be {$wanted}
said-fit-one-of = is {$value}, must be one of {$wanted}
said-fit-either = {$known} or {$known-other}
said-fit-extra = has what it must not have: {$names}
said-fit-few = has {$number} items, must have at least {$number-limit}
said-fit-many = has {$number} items, must have at most {$number-limit}
said-fit-short = is {$value}, must have at least {$number-limit} characters
said-fit-long = has {$number} characters, must have at most {$number-limit}
said-fit-least = is {$value}, must be at least {$limit}
said-fit-most = is {$value}, must be at most {$limit}
said-fit-more = is {$value}, must be more than {$limit}
said-fit-less = is {$value}, must be less than {$limit}
said-fit-pattern = is {$value}, must match {$quoted-pattern}
said-fit-twice = has an item twice
said-fit-not-there = must not be there

# Repairs of a plan, and names of plans.
said-repaired-of = parameters of `{$word-task}`: {$known}
said-repaired-list = a plan that was only a list was read as its tasks
said-repaired-member = the member `{$word-key}` of the plan is not known and was left out
said-repaired-task-member = the member `{$word-key}` of a task is not known and was left out
said-repaired-content = the content of `{$word-key}` was taken out
said-repaired-inside = `{$word-task}` needs no dependency on `{$word-other}`: one is inside the other
said-repaired-name = the name of `{$word-task}` is also its description
said-repaired-parent = the parent {$quoted-parent} of `{$word-task}` is no task and was left out
said-repaired-not-tool = `{$word-task}` is not run as a tool; its tool `{$word-tool}` was left out
said-repaired-group = `{$word-task}` has tasks inside it and is a group
said-repaired-empty-group = the group `{$word-task}` has no tasks and is done by an actor
said-repaired-no-tool = `{$word-task}` names no tool and is done by an actor
said-repaired-key = read `{$word-key}` as `{$word-name}`
said-repaired-no-id = task {$number} had no id and is now `{$word-id}`
said-repaired-id = the id {$quoted-id} is now `{$word-id}`
said-repaired-mention = {$quoted-mention} was read as the task `{$word-id}`
said-repaired-keys = `{$word-place}` was an object; its keys were read as ids
said-repaired-lines = `{$word-place}` was a text; each line was read as a task
said-repaired-text = a task that was only a text was read as its description
said-repaired-children = tasks inside `{$word-key}` of a task were read as tasks with a parent
said-repaired-null = `{$word-place}` was null and was left out
said-repaired-inner = the task inside `{$word-key}` was taken out
said-repaired-numbers = ids that were numbers were read as text
said-repaired-kind = {$word-place}: the kind {$quoted-kind} is not known; it follows from the other members
said-repaired-criteria = criteria that were one text were read as a list of one
said-repaired-dependencies = dependencies that were no list of ids were read as one
said-repaired-call = a tool call that was an object was read as tool and parameters
said-repaired-parameters = {$word-place}: parameters that were a text were read as an object
said-repaired-profile = the profile {$quoted-name} of `{$word-task}` was read as `{$word-same}`
said-repaired-no-profile = the profile {$quoted-name} of `{$word-task}` does not exist; the runtime chooses one
said-repaired-profile-out = the profile {$quoted-name} of `{$word-task}` does not exist and was left out
said-repaired-model = the model {$quoted-name} of `{$word-task}` is not configured and was left out
said-repaired-effort = {$word-place}: there is no effort {$quoted-effort}; it was left out
said-repaired-bundle = the bundle {$quoted-name} of `{$word-task}` does not exist and was left out
said-repaired-phase = the phase {$quoted-name} of `{$word-task}` is none of the plan's and was left out
said-repaired-row = no task named a dependency, so each waits for the one before it
said-repaired-tool = the tool {$quoted-name} of `{$word-task}` was read as `{$word-tool}`
said-simplified = simplified: no full plan could be used; the last fault was: {$reason}
said-by-category = category: no plan could be used, so one actor does the whole goal; the last fault was: {$reason}
said-no-usable-plan = no plan of {$model} could be used; the last was refused because: {$reason}
said-no-answer-of-planner = the planner's model {$model} gave no answer
said-earlier-plan = an earlier plan of this goal does not fit any more and was left out: {$reason}
forecast = forecast: about {$requests}, { $tokens ->
    [one] {$tokens} token
   *[other] {$tokens} tokens
}{$cost} ({$basis})
forecast-runs = median of {$runs} in this folder, for each task of an actor
forecast-capable = a rule of thumb for capable models: there are too few completed runs here
forecast-small = a rule of thumb for small models: there are too few completed runs here
review-how = Save and close to run this plan, changed as you like. Empty the file to run nothing.
review-comment = A line that begins with > is a comment: the plan is made again with it, and shown again.
