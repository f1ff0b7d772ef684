# 日志中的原因，以及关于模型的说明。均按英文原句识别。

# 模型在哪里，为什么用它。
place-process = 在本进程中
place-server = 位于 {$url}
because-none = 没有配置其他模型
because-request = 请求
because-named = {$source} 指定了 [models.{$name}]
because-both = {$source} 指定模型，{$place} 指定位置
because-both-first = {$source} 指定模型，{$variable} 指定位置，并优先于 {$variables}
because-set = 已设置 {$variable}
two-variables = {$first} 和 {$second}
because-sets = 已设置 {$variables}
because-sets-first = 已设置 {$variables}，它们优先于 {$later}
because-set-first = 已设置 {$variable}，它优先于 {$variables}

# 为什么这样处理目标。
route-no-model = 没有可询问的模型
route-no-answer = 模型没有给出可用的回答，因此按复杂目标处理
request-too-long = 请求太长
route-points = {$reason}（{$points}）
route-length = 长度 {$length}
route-steps = 多个步骤：{$words}
route-condition = 有条件：{$words}
route-parallel = 并行工作：{$words}
route-no-verb = 没有动作词
route-one = 一个动作：{$words}
route-two = 两个动作：{$words}
route-many = 多个动作：{$words}
route-open = 范围不定：{$words}
route-short = 简短：长度 {$length}，上限 {$limit}
route-file = 只涉及一个文件：{$files}
route-clearly = 明显属于 {$category}：{$words}
route-never = 策略为从不规划
route-mode = 已指定方式
route-handed = 计划由用户给出

# 为什么修改计划，或不修改。
said-once = 1 次
said-again = 多次
said-times = {$number} 次
said-trigger-failed = 任务 {$task} 失败 {$reason-times}：{$reason}
said-trigger-evidence = 新发现：{$what}
said-trigger-blocked = 任务 {$task} 受阻：{$reason}
said-trigger-tokens = {$limit} 个 token 只剩 {$left} 个
said-trigger-stalled = {$seconds} 秒没有进展
said-trigger-person = 有人说：{$what}
said-no-reason = 没有说明原因
said-criteria = 成功标准不成立：{$what}
said-escalation = 计划已修改 {$reason-times}（最多 {$limit} 次），但仍然存在：{$reason}
said-plan-stays = 计划保持不变：{$why}
said-no-patch = 没有可用的计划修改：{$why}

# 任务为什么处于这种状态。
said-given-up = 放弃：{$reason}
said-condition = 条件 `{$condition}` 不成立
said-needs = 它需要 {$task} 的结果，而该任务被跳过
said-hangs = 它只依赖于 {$task}，而该任务被跳过
said-nothing-to-undo = 没有要回滚的：{$task} 没有失败
said-waits = 等待得不到的结果：{$reason}
said-is = “{$task}”{$reason-status}
said-failed = 失败
said-skipped = 被跳过
said-rolled-back = 已回滚
said-missing = 不存在
said-call-refused = 调用被人拒绝
said-nobody-there = 不允许：没有人可以回答 {$question}。请改用其他办法，并在结果中说明
said-withdrawn-ended = （已撤回：提问的工作已经结束）
said-withdrawn-allowed = （已撤回：这类调用已获允许）
said-unknown-tool = 没有这个工具：{$tool}
said-again = 将再试一次
said-reported-done = 报告已完成，但是 {$reason}
said-unmet = {$criterion} 不成立：{$reason}

# 运行怎样结束。
said-stopped = 被人停止
said-by-person = 由人停止
said-paused = 被人暂停
said-cancelled = 被人取消
said-cancelled-task = 有人取消了 {$task}
said-ended = 有人结束了运行
said-cut-off = 运行已中断
said-task-failed = {$task} 失败：{$reason}
said-no-task-done = 没有完成任何任务
said-invalid-plan = 计划无效：{$faults}
said-bound = 已达上限（{$bound}）：{$reason}
said-bound-seconds = 允许 {$number} 秒
said-bound-calls = 允许 {$number} 次工具调用
said-bound-calls-made = 已进行 {$number} 次工具调用，上限 {$limit} 次
said-bound-calls-used = 允许 {$number} 次工具调用，已全部用完
said-bound-actors = 已使用 {$number} 个执行者，上限 {$limit} 个
said-bound-actors-used = 允许 {$number} 个执行者，已全部用完
said-quota-back = 它将在 {$time} 恢复应答

# 解决办法。
hint-resume = 用 `aime resume {$run}` 继续
hint-bound = 提高上限：`aime resume {$run} {$flag}`
hint-plan-bound = 提高上限后重新计划：`{$flag}`
hint-quota = 等到那时再用 `aime resume {$run}`，或指定备用模型
hint-plan-quota = 等到那时再重新计划，或指定备用模型
hint-setting = 在 [run] 中提高 {$setting}，然后 `aime resume {$run}`
hint-plan-setting = 在 [run] 中提高 {$setting}，然后重新规划
hint-steps = 在 [run] 中提高 max_steps，执行者的配置（profile）允许得更少时也在那里提高，或让目标分成更小的任务（--mode complex）
hint-approve = 用 `aime answer {$run} yes` 允许，或用 `aime answer {$run} no` 拒绝，然后 `aime resume {$run}`
hint-answer = 用 `aime answer {$run} TEXT` 回答，然后 `aime resume {$run}`
hint-supply = 具备之后，用 `aime resume {$run}` 继续；在此之前可用 `aime answer {$run} TEXT` 补充说明
hint-fork = `aime runs fork {$run} --at {$version}` 新建一个从那里继续的运行
hint-doctor = 请用 `aime doctor` 检查服务器和模型名称
hint-then-resume = {$advice}；然后 `aime resume {$run}`
hint-then-plan = {$advice}；然后重新规划
hint-report = 这是 aime 的错误，请报告

# 模型的错误及解决办法。
said-model-unreachable = 无法连接 {$url}：{$why}
said-model-late = {$model} 在 {$span} 内没有回应
said-model-cut = {$model} 的回答被截断
said-model-limited = {$model} 暂时拒绝更多请求：{$why}
said-model-key = {$url} 拒绝了密钥（{$status}）：{$why}
said-model-unknown = {$url} 没有模型 {$model}：{$why}
said-model-overflow = 请求超出了 {$model} 的上下文窗口：{$why}
said-model-refused = {$model} 拒绝了请求（{$status}）：{$why}
said-model-server = {$model} 的服务器出错（{$status}）：{$why}
said-model-unreadable = 无法读懂 {$model} 的回答：{$why}
said-model-unloadable = 无法加载 {$model}：{$why}
said-hint-tls = 请检查 {$url} 是否真的使用 TLS，以及本机是否信任其证书颁发机构
said-hint-plain = {$url} 处的服务不使用 TLS：请把 https:// 改为 http://
said-hint-dns = 请检查 {$url} 中的主机名和网络
said-hint-server = 请检查模型服务器是否在运行，以及 base_url 是否正确（{$url}）
said-hint-timeout = 若模型较慢，请提高其空闲超时，或换用更快的模型
said-hint-limited = 稍等片刻、减少并行任务数，或指定后备模型
said-hint-balance = 请检查账户的余额和限额
said-hint-forbidden = 请检查该密钥的账户是否可以使用这个模型，或指定另一个模型
said-hint-key = 请把 {$url} 的密钥放进该模型 api_key_env 所指的环境变量
said-no-such-model-hint = 请指定 {$url}/models 列出的某个模型
said-hint-overflow = 请换用上下文窗口更大的模型，或把 context_tokens 设为服务器实际支持的值
said-hint-later = 稍后再试，或指定后备模型
