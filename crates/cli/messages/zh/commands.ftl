# 较少用的命令所说的话：`aime runs undo`、`aime runs stats`、`aime memory`、`aime tools`、`aime eval`。

undo-run = 运行 {$run}
undo-task = 运行 {$run} 的 {$task}
undo-last = 运行 {$run} 的上一次撤销
undo-listing = {$what}：{$paths}
undo-more = … 还有 {$number} 个
undo-more-paths = 还有 {$number} 个
undo-put-back = 已恢复
undo-left = 保留
undo-path = {$path}：{$why}
undo-nothing-for = {$what}没有要恢复的内容
undo-nothing-changed = 没有任何改动
undo-lost = 从某一时刻起，这个运行的改动没有保存下来
undo-not-covered = 不在撤销范围内：{$what}
undo-bounds = {$covered}；范围由 undo.file_mb 和 undo.folder_mb 决定
undo-force = 加上 `--force` 也会恢复这些；现有的内容会为 `aime runs redo` 保存
said-undo-none = 运行 {$run} 没有可以恢复的撤销
said-undo-nobody = 将要恢复{$paths}，但没有人在场同意

# 对路径做什么，最多八列宽。
deed-delete = 删除
deed-recreate = 重建
deed-restore = 恢复

# 为什么保留，或不在范围内。
said-left-since = 此后被你或别的运行改动过
said-left-between = 其间被别人改动过
said-left-also = 后来或同时被 {$tasks} 改动过
said-left-not-empty = 里面还有要保留的东西
said-left-not-kept = 原来的内容没有保存（{$reason}）
said-left-stays = 它随运行产生，没有保存（{$reason}），所以不删除
said-kept-too-large = 太大
said-kept-no-room = 文件夹太大
said-kept-repository = 版本控制
said-kept-cache = 缓存
said-kept-special = 设备、管道或套接字
said-kept-mount = 另一个文件系统
said-kept-unreadable = 不允许读取

stats-runs = 运行
stats-planning = 规划
stats-again = 沿用
stats-execution = 执行
stats-made = {$plans}中按要求做成 {$made} 个{$percent}
stats-mean = {$made}，平均用时 {$span}
stats-reused = 沿用{$plans}
stats-reached = 已结束的{$plans}中达到目标 {$succeeded} 个{$percent}
stats-not-counted = 未计入：{$what}

memory-none = 这个文件夹里还没有记忆
memory-not-found = 没有记忆含有这些词
memory-forgotten = 已忘记：{$what}
memory-recalled = 想起 {$times}
memory-learnt = 记下
memory-how-often = 想起
said-memory-many = 有 {$number} 条记忆的名称以 {$name} 开头
said-memory-more = 请把名称写得更长些

# 工具对外界做什么，最多九列宽。
tool-of-actors = 执行者用
tool-reads = 读取
tool-runs = 运行
tool-connects = 联网
tool-changes = 修改
said-tool-parameters = 参数不是 JSON 对象：{$error}
said-tool-show = `aime tools show {$tool}` 说明参数

eval-begins = {$ways}，{$trials}；其中 {$done} 次已完成，在 {$folder}
eval-stopping = 正在停止；用同一条命令可以继续
eval-tables = 表格和图：{$file}
eval-trial = {$task}，{$variant}：{$how}
eval-cost = {$seconds} 秒，{$tokens} 个 token
eval-reached = 达到目标
eval-false-claim = 声称达到而没有达到
eval-given-up = 已放弃
eval-bound = 超出上限
eval-waiting = 等待人的答复
eval-model = 没有模型
eval-usage = 用法错误
eval-fault = 程序故障
eval-passes-undone = 什么都没做，检查却通过了
eval-fails-solved = 解答之后检查失败
eval-no-solution = 什么都没做时检查失败；没有解答
eval-good = 正确
eval-hold = {$checks}中 {$good} 个正确
said-eval-none = 没有要求这个套件里的任何任务
said-eval-none-mend = 请看 --task、--held-out 和 --tuned
said-eval-no-folder = 没有文件夹 {$name}，也没有以此命名的内置套件

check-valid = 有效
check-fault = 错误

cancel-done = 已取消 {$run}
said-cancel-stopping = 已通知运行 {$run}，它还在停止
said-cancel-task = 将取消：{$task}

said-permissions-forgotten = 已忘记：{$rule}
said-permissions-nothing = 这个文件夹没有记住的许可
said-permissions-no-place = 这里不记住许可：工作文件夹之外没有你自己的文件夹可以存放
said-permissions-none = 这个文件夹没有记住的许可；记住的会写在 {$file}
said-permissions-number = 没有这个编号
said-permissions-list = `aime permissions list` 给出编号
