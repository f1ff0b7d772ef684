# 工具提问的各行。按英文原句识别，英文原句在 crates/tools 中。

asked-command = 运行这条命令吗？
asked-page = 读取这个网页吗？
asked-python = 运行这段 Python 代码吗？
asked-write = 写入文件 {$path}（{$lines} 行）吗？
asked-change = 修改文件 {$path} 吗？
asked-from = 原文：
asked-to = 改为：
asked-tool = 使用工具 {$tool} 吗？
asked-tool-with = 用这些参数使用工具 {$tool} 吗？
asked-always = “总是”会在这里允许：{$rules}
asked-rule-denies = 规则 `{$rule}` 禁止这个调用可能做的某些操作。运行之前，aime 无法知道它会不会做。
asked-rule-asks = 规则 `{$rule}` 要求你的许可。

# 关于计划的问题。
escalation-question = {$reason}。尚未解决的问题：
escalation-reason = - {$reason}
escalation-answers = 回答 `continue` 允许再修改计划，回答 `stop` 结束运行，或者说明该怎么做。
escalation-so-far = 目前的运行情况：
criterion-question-project = 项目的一条成功标准似乎有误：
    - {$from}
    依据：{$evidence}
    回答 `yes` 换成下面这一条，回答 `no` 保留原标准，或者说明该怎么做。
    - {$to}
criterion-question-person = 用户设定的一条成功标准似乎有误：
    - {$from}
    依据：{$evidence}
    回答 `yes` 换成下面这一条，回答 `no` 保留原标准，或者说明该怎么做。
    - {$to}
question-needs = 需要：{$needs}
