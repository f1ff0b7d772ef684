# Lines of the questions that a run asks. They are recognised: the English is what crates/tools and crates/orchestrator say.

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
asked-escalation = {$reason}. What stands in the way:
asked-reason = - {$reason}
asked-escalation-answers = Answer `continue` to allow more changes of the plan, `stop` to end the run, or say what to do.
