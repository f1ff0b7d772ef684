# 单独出现的词，以及数量。

row-separator = ；

count-task = {$number} 个任务
count-request = {$number} 次请求
count-run = {$number} 次运行
count-replan = {$number} 次重新规划
count-fault = {$number} 处错误
count-path = {$number} 个路径
count-change = {$number} 处改动
count-line = {$number} 行
count-file = {$number} 个文件
count-plan = {$number} 个计划
count-memory = {$number} 条记忆
count-time = {$number} 次
count-trial = {$number} 次试验
count-way = {$number} 种方式
count-check = {$number} 项检查
count-event = {$number} 个事件
count-actor = {$number} 个执行者
count-tool = {$number} 个工具
count-page = {$number} 页
count-piece = {$number} 条

attempt = （第 {$number} 次尝试）

# 运行或任务的状态。
status-planning = 规划中
status-executing = 执行中
status-replanning = 重新规划中
status-waiting-for-human = 等待答复
status-completed = 已完成
status-failed = 失败
status-cancelled = 已取消
status-interrupted = 已中断
status-pending = 等待中
status-ready = 就绪
status-running = 进行中
status-blocked = 受阻
status-skipped = 已跳过
status-rolled-back = 已回滚

owner-person = 用户
owner-project = 项目
owner-lead = 主导
owner-actor = 执行者
checked-executed = 由 aime 检查
checked-audited = 由模型判断
checked-unchecked = 未检查
conflict-text = 文本
conflict-binary = 二进制文件
conflict-symlink = 符号链接
conflict-delete-edit = 一方删除，另一方更改
conflict-place = 一方为文件，另一方为文件夹

# 运行结束时，最后一行里的说法。
ended-completed = 已完成
ended-cancelled = 已取消
ended-interrupted = 已中断
ended-goal-not-reached = 未达到目标
ended-model-unavailable = 模型不可用
ended-bound-reached = 已达上限
ended-waiting-for-human = 等待答复
ended-internal = 因 aime 自身的故障停止

# 查看运行时的说法。
code-cancelled = 已取消
code-interrupted = 已中断
code-goal-not-reached = 未达到目标
code-model-unavailable = 模型不可用
code-bound-reached = 已达上限
code-waiting-for-human = 等待答复
code-internal = 内部错误

# 目标的处理方式，以及由谁决定。
mode-direct = 直接
mode-simple = 简单
mode-complex = 复杂
mode-emergent = 涌现
by-rules = 规则
by-bypass = 快速通道
by-lead = 主导
by-strategy = 策略
by-model = 模型
by-flag = 命令行
by-plan-file = 计划文件

# 向模型要的是什么。
purpose-plan = 计划
purpose-patch = 计划修改
purpose-replan = 新的计划
purpose-update = 计划更新

# 调用的结果。
outcome-ended = 已结束
outcome-failed = 失败
outcome-was-stopped = 被停止
outcome-is-in-doubt = 结果不明

# 对文件做了什么；钩子做了什么。
did-created = 新建
did-changed = 修改
did-deleted = 删除
did-put-back = 已恢复原状
did-not-put-back = 未获批准，且无法恢复
did-not-watched = 未能全部监视
did-blocked = 阻止
did-failed = 失败

# 问题的种类，以及回答。
kind-approval = 请批准
kind-question = 提问
kind-escalation = 请决定
kind-blocked = 受阻
answer-yes = 是
answer-always = 总是
answer-no = 否

# 可能用完的东西。
bound-tokens = token 数
bound-money = 费用
bound-time = 时间
bound-tool-calls = 工具调用次数
bound-actors = 执行者数
