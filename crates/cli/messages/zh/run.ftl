# 运行过程中，以及查看运行时所说的话。

# 行首的词，最多七列宽。
head-goal = 目标
head-images = 图像
head-route = 方式
head-mode = 方式
head-plan = 计划
head-replan = 改计划
head-refused = 不采用
head-memory = 记忆
head-recall = 想起
head-known = 已知
head-start = 开始
head-done = 完成
head-failed = 失败
head-blocked = 受阻
head-skipped = 跳过
head-undone = 回滚
head-undo = 撤销
head-evidence = 发现
head-lead = 主导
head-no-replan = 不重新规划
head-answer = 回答
head-told = 已告知
head-cancel = 取消
head-always = 总是
head-asks = 提问
head-decided = 决定
head-actor = 执行者
head-holds = 成立
head-fails = 不成立
head-unknown = 不明
head-bound = 上限
head-stopped = 停止
head-resumed = 继续
head-run = 运行
head-hook = 钩子
head-model = 模型
head-sandbox = 沙箱

model-none = 无 {$because}
model-not-needed = 这个计划不需要模型

line-route = {$mode}（由{$by}决定：{$reasons}）
line-route-category = {$mode}（由{$by}决定，类别 {$category}：{$reasons}）
line-asking = 正在向模型要{$what} …
line-refused = 第 {$attempt} 次：{$faults}
line-reused = 沿用同一目标以前的计划
line-reused-of = 沿用运行 {$run} 为同一目标所做的计划
line-mended = 已修正：{$repair}
line-fallback = 退而求其次：{$why}
line-because = 因为：{$why}
line-lowered = 失败的部分：{$what}
line-dropped-change = 已不适用：{$change}（{$why}）
line-actor = 执行者 {$profile}，模型 {$model}
line-call = {$what}，用时 {$span}：{$output}
line-compacted = 对话记录从 {$before} 缩短到 {$after} 个 token
line-stuck = 在重复同样的做法；已要求换一种
line-told = 已听到你说的话
line-not-cancelled = 未取消：{$why}
line-left-out = 还有 {$number} 条在提示词里放不下
line-hook = {$hook} {$did}（{$point}）
line-for-good = {$task} 不再重试

change-replaced = {$task} 取代 {$replaced}：{$title}
change-changed = 修改 {$task}
change-merged = {$merged} 合并为 {$task}
change-held = {$task} 暂停：{$reason}
change-released = {$task} 可以继续
change-cancelled = 取消 {$task}：{$reason}
change-edge = {$from} 先于 {$to}
change-strategy = 策略已修改
change-criterion = 标准 {$number} 改为“{$criterion}”：{$evidence}

tree-after = 在 {$tasks} 之后
tree-more = … 还有 {$number} 个
tree-progress = 计划 v{$version} · {$tasks}已完成 {$done} 个

run-stopping = 正在停止 …（再按一次立即停止）
run-summary = 运行 {$run} {$ended}：{$tasks}完成 {$done} 个，{$replans}，用时 {$span}，{$requests}共 {$tokens} 个 token
run-cached = 其中 {$tokens} 个来自缓存
spent-by = {$who}：{$requests}共 {$tokens} 个 token
spent-lead = 主导
spent-actors = 执行者
spent-checks = 检查
run-first = 这是这个文件夹里的第一次运行；接下来可以：
run-first-report = 把它所做的一切做成一个网页
run-first-undo = 撤回它所作的改动
run-first-serve = 在浏览器里实时查看这个文件夹的所有运行
run-took = 用时 {$span}，{$requests}共 {$tokens} 个 token
run-actor = {$task}：{$profile}，模型 {$model}，{$tools}，最多 {$steps} 步
run-actor-skills = 技能 {$skills}
run-decided = v{$version} 因为 {$why}：{$reasoning}
run-more-changes = … 还有{$changes}，见 `aime runs events`
diff-nothing = 从 v{$from} 到 v{$to} 没有变化

prompt-approval = 是 [y]，否 [N] >{" "}
prompt-approval-always = 是 [y]，总是 [a]，否 [N] >{" "}
prompt-no = [y/N]
prompt-yes = [Y/n]

failure-label = 错误
question-label = 问题
stopped-label = 已停止
failure-error = {$label}：{$message}
hint-label = 提示
failure-hint = {$label}：{$hint}
