# 计划和计划修改的错误，以及修正了什么。均按英文原句识别。

# 错误在哪里，是什么，怎样解决。
said-fault = {$word-place}：{$known}
said-fault-hint = {$word-place}：{$known}（{$reason-mend}）
said-fault-task = {$word-place}（任务 {$quoted-task}）：{$known}
said-fault-task-hint = {$word-place}（任务 {$quoted-task}）：{$known}（{$reason-mend}）
plan-faults = {$plan} 有 {$faults}：
plan-of-file = 计划 {$file}
plan-of-person = 计划
goal-of-file = 目标文件 {$file}

# 那里写的是什么。
said-kind-null = null
said-kind-truth = true 或 false
said-kind-number = 数字
said-kind-text = 文本
said-kind-list = 列表
said-kind-object = 对象
said-found-list = 列表
said-found-table = 表
said-type-boolean = 布尔值
said-type-string = 字符串
said-type-array = 数组
said-type-integer = 整数

# 读不懂的计划和计划修改。
said-read-json = 请回答一个 JSON 对象
said-read-cut = 没有写完，缺少内容
said-read-shorter = 请重新写全，写得短些
said-read-object = 必须是对象，现在是{$reason-kind}
said-read-list = 必须是列表，现在是{$reason-kind}
said-read-list-of-tasks = 必须是任务列表，现在是{$reason-kind}
said-read-task = 必须是任务，现在是{$reason-kind}
said-read-change = 必须是一处修改，现在是{$reason-kind}
said-read-text = 必须是文本，现在是{$reason-kind}
said-read-no-tasks = 没有任务
said-read-plan-form = 计划的形式是 {$json}
said-read-one-task = 请至少写一个有 id 和 description 的任务
said-read-too-many = 有 {$number} 个任务；最多读 {$number-most} 个
said-read-schema = 这是 {$quoted-schema}
said-read-patch-schema = 计划修改是 {$quoted-schema}
said-read-edge = 没有指出任务
said-read-edge-form = 边的形式是 {$json}
said-read-edge-kind = 没有 {$quoted-kind} 这种边
said-read-there-are = 有：{$names}
said-read-there-are-none = 一个也没有
said-read-near = 是不是 {$quoted-name}？
said-read-parameters-form = 请写出每个参数：{$json}
said-read-no-changes = 没有修改
said-read-keep = 要保持计划不变，请回答 "changes": {$json}
said-read-no-op = 没有写 `op`
said-read-no-such-op = 没有 {$quoted-op} 这种修改
said-read-no-successor = 缺少代替它们的任务
said-read-nested = 新任务里含有任务
said-read-nested-mend = 请用单独的修改逐个添加，并写 `parent`
said-read-nothing-to-do = 任务 `{$word-task}` 没有说明要做什么
said-read-nothing-changed = 没有改动任何内容

# 工具、角色，以及各方式允许的范围。
said-check-no-tool-named = 工具任务 `{$word-task}` 没有写工具
said-check-of-actors = {$quoted-tool} 只能由执行者在工作中调用
said-check-of-actors-mend = 请去掉工具，改为描述任务
said-check-no-tool = 没有工具 {$quoted-tool}
said-check-no-profile = 没有角色 {$quoted-profile}
said-check-no-bundle = 没有工具组 {$quoted-bundle}
said-check-parameters = 参数：{$parameters}
said-check-call = 对 `{$word-tool}` 的调用{$known}
said-check-too-many = 有 {$number} 个任务，最多可以计划 {$number-most} 个
said-check-too-many-goals = 有 {$number} 个子目标，最多可以计划 {$number-most} 个
said-check-too-many-actions = 子目标 `{$word-goal}` 有 {$number} 个动作，最多可以计划 {$number-most} 个
said-check-merge = 请合并其中一些
said-check-only-groups = 只有分组，没有要做的事
said-check-only-groups-mend = 请添加写有 `parent` 的动作

# 任务之间的规则。
said-rule-schema = schema 是 {$quoted-found}；这里按 {$quoted-expected} 读取
said-rule-no-tasks = 计划至少要有一个任务
said-rule-taken = id {$quoted-id} 已被使用，请另选一个
said-rule-unknown = 未知的任务 {$quoted-task}
said-rule-unknown-near = 未知的任务 {$quoted-task}；是不是 {$quoted-near}？
said-rule-itself = 任务依赖于自己
said-rule-cycle = 循环：{$path}；请去掉其中一个依赖
said-rule-parent = 上级 {$quoted-id} 不是分组；请把它的 kind 设为 "group"，或去掉 parent
said-rule-parent-cycle = 分组互相包含：{$path}
said-rule-empty-group = 分组里没有任务；请把它写作一些任务的 parent，或把 kind 设为 "actor" 并写 description
said-rule-no-tool = 工具任务要写出工具
said-rule-no-description = 执行者任务要有 description，说明要做什么
said-rule-no-condition = 条件边要有条件，例如 {$example}
said-rule-reference = `{$text}` 不是引用：请写 {$forms}
said-rule-reference-to-group = `{$reference}`：{$quoted-group} 是分组，没有结果；请引用其中的任务
said-rule-merge = 合并至少需要两个任务
said-rule-no-edge = 没有从 {$quoted-from} 到 {$quoted-to} 的边
said-rule-id = {$quoted-text} 不是标识符：请用 1 到 {$number} 个 A-Z a-z 0-9 _ - .
said-rule-again = 任务 {$quoted-task} 代替 {$quoted-failed}，做的却是同一件事：{$mend}
said-rule-unblock-again = 对 {$quoted-task} 的 unblock_task 只会把失败的事再做一遍：请在 `description` 中写明另一种做法（modify_task），用更小的任务代替它，或让它依赖一个为它做准备的新任务

# 不合要求的参数。
said-fit-lacks = 缺少 {$quoted-name}
said-fit-type = 是 {$value}，必须是{$known}
said-fit-one = 是 {$value}，必须是 {$wanted}
said-fit-one-of = 是 {$value}，必须是其中之一：{$wanted}
said-fit-either = {$known}或{$known-other}
said-fit-extra = 有不该有的内容：{$names}
said-fit-few = 有 {$number} 项，至少要 {$number-limit} 项
said-fit-many = 有 {$number} 项，最多 {$number-limit} 项
said-fit-short = 是 {$value}，至少要 {$number-limit} 个字符
said-fit-long = 有 {$number} 个字符，最多 {$number-limit} 个
said-fit-least = 是 {$value}，至少要 {$limit}
said-fit-most = 是 {$value}，最多 {$limit}
said-fit-more = 是 {$value}，必须大于 {$limit}
said-fit-less = 是 {$value}，必须小于 {$limit}
said-fit-pattern = 是 {$value}，必须符合 {$quoted-pattern}
said-fit-twice = 有重复的项
said-fit-not-there = 不该有

# 计划中修正了什么，以及是哪个计划。
said-mended-of = `{$word-task}` 的参数：{$known}
said-mended-list = 计划只是一个列表，已读作任务
said-mended-member = 计划的成员 `{$word-key}` 未知，已略去
said-mended-task-member = 任务的成员 `{$word-key}` 未知，已略去
said-mended-content = 已取出 `{$word-key}` 的内容
said-mended-inside = `{$word-task}` 不必依赖 `{$word-other}`：一个在另一个里面
said-mended-name = `{$word-task}` 的名称也用作描述
said-mended-parent = `{$word-task}` 的上级 {$quoted-parent} 不是任务，已略去
said-mended-not-tool = `{$word-task}` 不作为工具运行；已略去工具 `{$word-tool}`
said-mended-group = `{$word-task}` 里面有任务，是分组
said-mended-empty-group = 分组 `{$word-task}` 没有任务，由执行者来做
said-mended-no-tool = `{$word-task}` 没有写工具，由执行者来做
said-mended-key = 已把 `{$word-key}` 读作 `{$word-name}`
said-mended-no-id = 第 {$number} 个任务没有 id，现在是 `{$word-id}`
said-mended-id = id {$quoted-id} 现在是 `{$word-id}`
said-mended-mention = {$quoted-mention} 已读作任务 `{$word-id}`
said-mended-keys = `{$word-place}` 是对象；其键已读作 id
said-mended-lines = `{$word-place}` 是文本；每行已读作一个任务
said-mended-text = 任务只是一段文本，已读作描述
said-mended-children = 任务的 `{$word-key}` 里的任务已读作有上级的任务
said-mended-null = `{$word-place}` 是 null，已略去
said-mended-inner = 已取出 `{$word-key}` 里的任务
said-mended-numbers = 数字的 id 已读作文本
said-mended-kind = {$word-place}：未知的 kind {$quoted-kind}；已由其他成员推出
said-mended-criteria = 完成标准是一段文本，已读作只有一项的列表
said-mended-dependencies = 依赖不是 id 列表，已读作列表
said-mended-call = 工具调用是对象，已读作工具和参数
said-mended-parameters = {$word-place}：参数是文本，已读作对象
said-mended-profile = `{$word-task}` 的角色 {$quoted-name} 已读作 `{$word-same}`
said-mended-no-profile = `{$word-task}` 的角色 {$quoted-name} 不存在；由运行时选择
said-mended-profile-out = `{$word-task}` 的角色 {$quoted-name} 不存在，已略去
said-mended-bundle = `{$word-task}` 的工具组 {$quoted-name} 不存在，已略去
said-mended-phase = `{$word-task}` 的阶段 {$quoted-name} 不在计划中，已略去
said-mended-row = 没有任务写出依赖，所以每个任务等待前一个
said-mended-tool = `{$word-task}` 的工具 {$quoted-name} 已读作 `{$word-tool}`
said-mended-read-only = `{$word-task}` 的角色 {$quoted-name} 只能读取，而任务要写入；由运行时选择能写的
said-simplified = 已简化：没有可用的完整计划；最后的错误是：{$reason}
said-by-category = 按类别：没有可用的计划，所以由一个执行者完成整个目标；最后的错误是：{$reason}
said-no-usable-plan = {$model} 的计划都不可用；最后一个被拒绝，因为：{$reason}
said-no-answer-of-planner = 规划所用的模型 {$model} 没有回答
said-earlier-plan = 这个目标以前的计划不再适用，已略去：{$reason}
