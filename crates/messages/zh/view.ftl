# 运行占用整个终端时，画面自己说的话。

view-comma = ，
view-beginning = 正在开始
view-planning = 规划中
view-working = 执行中
view-replanning = 正在改计划
view-waiting = 等待你答复
view-not-under-way = 没有在执行
view-run-done = 已完成
view-run-failed = 失败
view-run-cancelled = 已取消
view-no-plan-yet = 还没有计划
view-version = 计划 v{$version}
view-done = {$tasks}已完成 {$done} 个
view-failures = {$number} 个失败
view-of = {$used} / {$most}
view-tokens = {$number} 个 token
view-tokens-of = {$used} / {$most} 个 token

view-title-plan = 计划
view-title-at-work = 正在进行
view-title-log = 经过
view-title-graph = 先后关系
view-title-task = 任务
view-title-keys = 按键
view-more-below = 下面还有 {$number} 行
view-more = 还有 {$number} 个
view-above = 上面 {$above} 个
view-below = 下面 {$below} 个
view-around = 上面 {$above} 个，下面 {$below} 个
view-first-of = 共 {$number} 个，这是第 1 个
view-more-to-read = 还有 {$lines} 行：PgDn
view-lines-left-out = … 还有 {$number} 行
view-lines-before = … 更早的{$lines}见 `aime runs events`

view-none-yet = 还没有
view-no-plan-to-draw = 还没有计划
view-attempt = 第 {$number} 次尝试
view-for-good = 不再重试
view-waits-for-you = 等你答复
view-thinking = 思考中
view-said = 说：{$status}：{$message}
view-came-to = 结果：{$text}
view-tool = 工具 {$tool} {$parameters}
view-actor = 执行者 {$profile}，模型 {$model}：{$requests} 次请求，{$tokens} 个 token

# 调用的结果，最多八列宽。
view-call-runs = ...
view-call-ok = 成功
view-call-failed = 失败
view-call-stopped = 被停止
view-call-in-doubt = 结果不明

view-approve = y 是 · n 否
view-approve-always = y 是 · a 总是 · n 否
view-answers = Enter 回答
view-sure-pause = 停止运行吗？之后可以继续。
view-sure-cancel = 取消任务 {$task} 吗？
view-sure-end = 彻底结束运行吗？
view-tell-run = 对运行说
view-tell-task = 对 {$task} 说
view-answer = 回答

view-has-ended = 运行已经结束
view-nobody-carries = 没有进程在执行这个运行；用 aime resume {$run} 继续
view-nothing-to-tell = 还没有任务；按 t 对运行说话
view-nothing-to-cancel = 还没有任务；按 X 结束运行
view-nobody-hears = {$task} 没有执行者能听到；按 t 对运行说话
view-has-settled = {$task} {$status}
view-is-the-run = 这个运行只有 {$task} 一个任务；按 X 结束运行
view-held = 这个键刚按过：请先松开，再按一次
view-lost = 画面已无法显示；以下逐行说明经过
view-not-done = 没有做成：{$error}

# 底部的按键。
key-sends = Enter 发送
key-gives-up = Esc 放弃
key-empties = Ctrl-U 清空
key-yes = y 是
key-no = 其他键 否
key-back = Esc 返回
key-scroll = Up Down 滚动
key-scroll-page = PgDn 滚动
key-other-task = Up Down 换任务
key-help = ? 帮助
key-tell = t 说话
key-tell-it = T 对它说
key-task = Enter 任务
key-graph = g 先后
key-pause = p 暂停
key-cancel = x 取消
key-cancel-it = x 取消它
key-leave = q 离开
key-stop = Ctrl-C 停止

# 每个按键的作用。
help-tell = 对运行说话
help-tell-it = 对所指任务的执行者说话
help-approve = 答复请求：是、否、总是
help-answer = 回答问题
help-cancel = 取消所指的任务；会先确认
help-end = 彻底结束运行；会先确认
help-pause = 暂停：停止运行，之后可继续；会先确认
help-stop = 停止运行，之后可以继续；再按一次立即停止
help-leave = 关闭画面，运行照常进行；q 也可以
help-move = 移动指针；k 和 j 也可以
help-task = 所指任务的全部情况，再按返回
help-graph = 任务的先后关系，再按返回
help-log = 经过
help-next = 以上三者的下一个
help-scroll = 滚动
help-back = 返回；指针重新跟随进展
help-redraw = 重画。Ctrl-Z：转到后台
help-help = 本页，再按返回
help-marks = [ ] 等待  [>] 进行  [x] 完成  [!] 失败  [?] 受阻  [-] 跳过  [<] 回滚

# 清单的底部。
live-foot = {$elapsed} · {$requests}共 {$tokens} 个 token{$cost} · Ctrl-C 停止 · 运行 {$run}
