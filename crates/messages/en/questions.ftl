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
asked-rule-denies = The rule `{$rule}` denies something that this call may do. aime cannot tell before it runs whether it will.
asked-rule-asks = The rule `{$rule}` requires your consent.

# Questions of a run about its plan.
escalation-question = {$reason}. Open problems:
escalation-reason = - {$reason}
escalation-answers = Answer `continue` to allow more changes of the plan, `stop` to end the run, or say what to do.
escalation-so-far = The run so far:
criterion-question-project = A success criterion of the project seems to be wrong:
    - {$from}
    Evidence: {$evidence}
    Answer `yes` to replace it with the text below, `no` to keep it, or say what to do.
    - {$to}
criterion-question-person = A success criterion that a person set seems to be wrong:
    - {$from}
    Evidence: {$evidence}
    Answer `yes` to replace it with the text below, `no` to keep it, or say what to do.
    - {$to}
question-needs = needs: {$needs}
