# Lines of the questions of tools. They are recognised by the English sentence, which crates/tools writes.

asked-command = Run this command?
asked-page = Read this page?
asked-python = Run this Python code?
asked-write = Write the file {$path} ({$lines} lines)?
asked-change = Change the file {$path}?
asked-from = From:
asked-to = To:
asked-tool = Use the tool {$tool}?
asked-tool-with = Use the tool {$tool} with these parameters?
asked-always = Always allows here: {$rules}
asked-rule-denies = The rule `{$rule}` denies some of what it may do, and nobody can tell before it runs whether it does.
asked-rule-asks = The rule `{$rule}` wants this asked.

# Questions of a run about its plan.
escalation-question = {$reason}. Open problems:
escalation-reason = - {$reason}
escalation-answers = Answer `continue` to allow more changes of the plan, `stop` to end the run, or say what to do.
escalation-so-far = The run so far:
criterion-question-project = A success criterion of the project seems to be wrong:
    - {$from}
    Evidence: {$evidence}
    Answer `yes` to replace it by the next one, `no` to keep it, or say what to do.
    - {$to}
criterion-question-person = A success criterion that a person set seems to be wrong:
    - {$from}
    Evidence: {$evidence}
    Answer `yes` to replace it by the next one, `no` to keep it, or say what to do.
    - {$to}
question-needs = needs: {$needs}
