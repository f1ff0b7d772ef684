# Reasons in journals, and errors of models. All are recognised by the English sentence.

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
route-handed = the plan was handed over

# Why a plan is changed, or is not.
said-once = once
said-again = again
said-times = {$number} times
said-trigger-failed = task {$task} failed {$reason-times}: {$reason}
said-trigger-evidence = new evidence: {$what}
said-trigger-blocked = task {$task} is blocked: {$reason}
said-trigger-tokens = {$left} of {$limit} tokens are left
said-trigger-stalled = no progress for {$seconds} s
said-trigger-person = a person says: {$what}
said-no-reason = no reason given
said-criteria = success criteria do not hold: {$what}
said-escalation = the plan was changed {$reason-times}, {$limit} allowed, and there is still: {$reason}
said-plan-stays = the plan stays as it is: {$why}
said-no-patch = no usable patch: {$why}

# Why a task is as it is.
said-given-up = given up: {$reason}
said-condition = the condition `{$condition}` does not hold
said-needs = it needs the result of {$task}, which was skipped
said-hangs = it hangs only on {$task}, which was skipped
said-nothing-to-undo = there is nothing to undo: {$task} did not fail
said-waits = waits for what cannot be had: {$reason}
said-is = "{$task}" is {$reason-status}
said-failed = failed
said-skipped = skipped
said-rolled-back = rolled_back
said-missing = missing
said-call-refused = a person refused the call
said-nobody-there = not allowed: nobody is there to answer {$question}. Take a way that needs no consent, and say so in your result
said-withdrawn-ended = (withdrawn: the work that asked has come to an end)
said-withdrawn-allowed = (withdrawn: such calls were allowed meanwhile)
said-unknown-tool = Unknown tool: {$tool}
said-again = to be tried again
said-reported-done = reported as done, but {$reason}
said-unmet = {$criterion} does not hold: {$reason}

# How runs end.
said-stopped = stopped by a person
said-by-person = by a person
said-paused = paused by a person
said-cancelled = cancelled by a person
said-cancelled-task = a person cancelled {$task}
said-ended = a person ended the run
said-cut-off = the run was cut off
said-task-failed = {$task} failed: {$reason}
said-no-task-done = no task was completed
said-invalid-plan = the plan is not valid: {$faults}
said-bound = the bound on {$bound} was reached: {$reason}
said-bound-seconds = {$number} seconds were allowed
said-bound-calls = {$number} tool calls were allowed
said-bound-calls-made = {$number} of {$limit} tool calls were made
said-bound-calls-used = {$number} tool calls are allowed, and all are used
said-bound-actors = {$number} of {$limit} actors were used
said-bound-actors-used = {$number} actors are allowed, and all are used
said-quota-back = it answers again at {$time}

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
hint-supply = once that is there, go on with `aime resume {$run}`; `aime answer {$run} TEXT` before it says more
hint-fork = `aime runs fork {$run} --at {$version}` makes a run that goes on from there
hint-doctor = check the server and the model's name with `aime doctor`
hint-then-resume = {$advice}; then `aime resume {$run}`
hint-then-plan = {$advice}; then plan again
hint-report = this is a fault in aime: please report it

# Errors of models, and their hints.
said-model-unreachable = cannot reach {$url}: {$why}
said-model-late = {$model} did not answer within {$span}
said-model-cut = the answer of {$model} was cut off
said-model-limited = {$model} refuses more requests for now: {$why}
said-model-key = {$url} refused the key ({$status}): {$why}
said-model-unknown = {$url} has no model {$model}: {$why}
said-model-overflow = the request does not fit the context window of {$model}: {$why}
said-model-refused = {$model} refused the request ({$status}): {$why}
said-model-server = the server of {$model} failed ({$status}): {$why}
said-model-unreadable = cannot read the answer of {$model}: {$why}
said-model-unloadable = cannot load {$model}: {$why}
said-hint-tls = check that {$url} really speaks TLS and that its certificate authority is known to this machine
said-hint-plain = what answers at {$url} does not speak TLS: write http:// in place of https://
said-hint-dns = check the host name in {$url} and the network
said-hint-server = check that the model server runs and that base_url is right ({$url})
said-hint-timeout = raise the model's idle timeout if it is slow, or use a faster model
said-hint-limited = wait a while, lower the number of parallel tasks, or name a fallback model
said-hint-balance = check the balance and the limits of the account
said-hint-forbidden = check that the account of the key may use the model, or name another model
said-hint-key = set the key for {$url} in the environment variable that the model's api_key_env names
said-no-such-model-hint = name one of the models that {$url}/models lists
said-hint-overflow = use a model with a larger context window, or set its context_tokens to what the server holds
said-hint-later = try again later, or name a fallback model
