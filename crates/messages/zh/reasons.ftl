# 日志中的原因，以及关于模型的说明。

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
route-grew = 运行增加了任务

# 为什么修改计划，或不修改。
trigger-failed = { $number ->
    [1] 任务 {$task} 失败 1 次：{$reason}
   *[other] 任务 {$task} 失败 {$number} 次：{$reason}
}
trigger-failed-again = 任务 {$task} 再次失败：{$reason}
trigger-evidence = 新发现：{$text}
trigger-blocked = 任务 {$task} 受阻：{$reason}
trigger-nothing-ready = 没有任务在运行，也没有任务能开始
trigger-tokens = {$limit} 个 token 只剩 {$left} 个
trigger-stalled = {$seconds} 秒没有进展
trigger-person = 用户说：{$text}
trigger-cancelled = 用户取消了 {$task}
trigger-criterion = 用户同意改用另一条标准
no-reason = 没有说明原因
criteria-fail = 成功标准不成立：{$reason}
criterion-unmet = {$criterion}：{$reason}
criterion-of-task = {$criterion}（任务 `{$task}`）：{$reason}
escalation = 计划已修改 {$number} 次（最多 {$limit} 次），但仍然存在：{$reason}
replan-later = 上次修改计划是在 {$ago} 秒前；{$wait} 秒后才能再次修改
growth-failed = 对 {$tasks} 的尝试失败
growth-completed = 自上次查看以来完成了 {$number} 个 TODO
growth-lost = 上次查看没有结果
growth-settled = 所有 TODO 都已了结：目标达到了吗？
growth-stuck = 没有可以开始的任务，{$tasks} 无法开始
growth-task = 完成了一个任务：计划的其余部分仍然合适吗？
growth-learnt = 有了新的发现：计划的其余部分仍然合适吗？
lead-no-plan = 主导者没有提交计划：{$text}
lead-rules-plan = 从现在起按规则规划
plan-unchanged = 计划保持不变
plan-change-refused = 对计划的修改被拒绝
evidence-run-ended = 运行已结束
none-for-actors = 没有为执行者配置模型
task-held-by-lead = 被主导者搁置
task-released = 被主导者放行
task-criterion-asked = 正在就一条标准询问用户
task-continued = 用户让它继续
plan-stays = 计划保持不变：{$reason}
no-patch = 没有可用的计划修改：{$reason}
plan-moved-on = 修改到达之前，计划已经变化：{$faults}
stagnation = 停滞：连续 {$number} 次查看计划，没有发现已完成的 TODO

# 任务为什么处于这种状态。
given-up = 放弃：{$reason}
task-blocked = 它受阻
task-condition = 条件 `{$condition}` 不成立
task-needs = 它需要“{$task}”的结果，而该任务被跳过
task-depends = 它只依赖于“{$task}”，而该任务被跳过
task-no-undo = 没有要回滚的：“{$task}”没有失败
task-waits = 等待得不到的结果：{$reason}
task-has-status = “{$task}”{$status}
task-missing = “{$task}”不存在
task-new-dependency = 等待新的依赖
task-unblocked = 受阻的原因已经消失
task-undone = 它所做的已被回滚
task-replaced = 被 {$tasks} 取代
task-cancelled = 被计划取消
task-cancelled-why = 已取消：{$reason}
task-removed = 被计划移除
task-removed-why = 已移除：{$reason}
task-held = 被计划搁置
task-answered = 已答复
task-again = 将再试一次
group-skipped = 它的所有任务都被跳过
group-failed = 它的任务没有一个完成
failed-first = 失败：{$error}
failed-often = 失败 {$number} 次：{$error}
call-refused = 用户拒绝了调用
call-in-doubt = {$tool} 已经开始（{$id}），但在结束前中断，结果未知
tool-unknown = 没有这个工具：{$tool}
reported-done = 报告已完成，但是 {$reason}
reported-done-unmerged = 报告已完成，但是 {$reason}；其更改不在工作文件夹中，而是保存在 {$folder}
criterion-fails = “{$criterion}”不成立：{$reason}
criterion-unchecked = “{$criterion}”没有检查：{$reason}

# 检查标准的依据。
check-exit = 退出码 {$code}
check-flaky = 无法判定（不稳定）：先不成立，后来又成立
    {$first}
    之后
    {$evidence}
check-not-again = 不成立，而且无法再运行一次（{$reason}）
    {$evidence}
check-not-run = 未运行：{$reason}
check-no-bash = 未运行：这里没有 `bash`
check-not-allowed = 未运行：没有人允许过这条命令（可用 permissions.allow 中的规则允许）
check-not-made = 未检查：{$reason}
check-more-changes = 另外还改动了 {$number} 个文件
check-no-file = 与文件无关
check-outside = {$path} 不是工作文件夹内的路径
check-unchanged = {$path} 与运行开始时相同
check-changed = {$path} 与运行开始时不同
check-unread = 无法读取任务文件夹中的改动：{$error}
check-path-unrecorded = 没有记录 {$path} 的改动（{$reason}）
check-unrecorded = 这次运行没有记录文件的改动
check-exists = {$path} 存在
check-absent = {$path} 不存在
check-matches = {$path} 匹配 /{$pattern}/
check-matches-not = {$path} 不匹配 /{$pattern}/
check-contains = {$path} 含有 {$part}
check-contains-not = {$path} 不含 {$part}
check-outdated = {$evidence}（判断之后，{$tasks} 改动了 {$paths}）
check-after = 无法判定：任务结束时成立，而计划中排在其后的 {$tasks} 执行之后不成立：{$evidence}
check-beside = 任务结束时成立，{$tasks} 改动文件之后不成立：{$evidence}

# 执行者为什么失败。
actor-needs = {$summary}（需要：{$needs}）
actor-steps = 已达 max_steps（{$number}）
actor-stuck = 没有进展：`{$tool}` 以相同的参数调用了 {$number} 次，结果都相同
actor-withheld = 服务商扣留了回答（内容过滤）
actor-cut = 模型的回答因长度限制被截断
actor-empty = 模型两次给出空的回答
actor-unreadable = 模型把工具调用写成了无法读懂的文本：{$text}
actor-last-call = {$error}（最后一次失败的调用：`{$tool}`：{$why}）

# 运行怎样结束。
stopped-by-person = 被用户停止
paused-by-person = 被用户暂停
cancelled-by-person = 被用户取消
ended-by-person = 用户结束了运行
run-cut-off = 运行已中断
task-failed = {$task} 失败：{$reason}
task-was = {$task}：{$reason}
no-task-done = 没有完成任何任务
plan-invalid = 计划无效：{$faults}
bound-reached = 已达上限（{$bound}）：{$reason}
limit-seconds = 允许 {$number} 秒
limit-calls = 允许 {$number} 次工具调用
limit-calls-made = 已进行 {$number} 次工具调用，上限 {$limit} 次
limit-calls-used = 允许 {$number} 次工具调用，已全部用完
limit-actors = 已使用 {$number} 个执行者，上限 {$limit} 个
limit-actors-used = 允许 {$number} 个执行者，已全部用完
limit-tokens = {$limit} 个 token 中已使用或预留 {$used} 个，下一个请求大约需要 {$wanted} 个
limit-money = {$limit} 美元中已花费或预留 {$used} 美元，下一个请求大约需要 {$wanted} 美元
quota-back = 它将在 {$time} 恢复应答

nobody-there = 不允许：没有人可以回答 “{$question}”。请改用其他办法，并在结果中说明
withdrawn-ended = （已撤回：提问的工作已经结束）
withdrawn-allowed = （已撤回：这类调用已获允许）

# 解决办法。
hint-resume = 用 `aime resume {$run}` 继续
hint-bound = 提高上限：`aime resume {$run} {$flag}`
hint-plan-bound = 提高上限后重新规划：`{$flag}`
hint-quota = 等到那时再用 `aime resume {$run}`，或指定备用模型
hint-plan-quota = 等到那时再重新规划，或指定备用模型
hint-setting = 在 [run] 中提高 {$setting}，然后 `aime resume {$run}`
hint-plan-setting = 在 [run] 中提高 {$setting}，然后重新规划
hint-steps = 在 [run] 中提高 max_steps，执行者的角色允许得更少时也在那里提高，或让目标分成更小的任务（--mode complex）
hint-approve = 用 `aime answer {$run} yes` 允许，或用 `aime answer {$run} no` 拒绝，然后 `aime resume {$run}`
hint-answer = 用 `aime answer {$run} TEXT` 回答，然后 `aime resume {$run}`
hint-supply = 补齐所缺的内容后，用 `aime resume {$run}` 继续；如要先作说明，用 `aime answer {$run} TEXT`
hint-fork = `aime runs fork {$run} --at {$version}` 新建一个从那里继续的运行
hint-doctor = 请用 `aime doctor` 检查服务器和模型名称
hint-then-resume = {$advice}；然后 `aime resume {$run}`
hint-then-plan = {$advice}；然后重新规划
hint-report = 这是 aime 的错误，请报告

# 模型的错误及解决办法。
model-unreachable = 无法连接 {$url}：{$reason}
model-late = {$model} 在 {$span} 内没有回应
model-cut = {$model} 的回答被截断
model-limited = {$model} 暂时拒绝更多请求：{$reason}
model-key = {$url} 拒绝了密钥（{$status}）：{$reason}
model-unknown = {$url} 没有模型“{$model}”：{$reason}
model-overflow = 请求超出了 {$model} 的上下文窗口：{$reason}
model-refused = {$model} 拒绝了请求（{$status}）：{$reason}
model-server = {$model} 的服务器出错（{$status}）：{$reason}
model-unreadable = 无法读懂 {$model} 的回答：{$reason}
model-unloadable = 无法加载 {$model}：{$reason}
model-no-answer = {$model} 没有回答：{$reason}
model-not-recorded = 对 {$model} 的这个请求没有录制的回答：{$reason}
model-gave-up = {$error}（尝试 {$attempts} 次后放弃）
model-all-failed = 没有模型回答：{$errors}
model-numbered = （{$number}）{$error}
model-hint-tls = 请检查 {$url} 是否真的使用 TLS，以及本机是否信任其证书颁发机构
model-hint-plain = {$url} 处的服务不使用 TLS：请把 https:// 改为 http://
model-hint-dns = 请检查 {$url} 中的主机名和网络
model-hint-server = 请检查 {$url} 上是否有模型服务器在运行；这个地址由 {$setting} 设置
model-hint-network = 请检查网络：服务商的地址 {$url} 没有应答
model-hint-timeout = 若模型较慢，请提高它的 `timeout_seconds`，或换用更快的模型
model-hint-limited = 稍等片刻、减少并行任务数，或指定备用模型
model-hint-balance = 请检查账户的余额和限额
model-hint-forbidden = 请检查该密钥的账户是否可以使用这个模型，或指定另一个模型
model-hint-key = 请把 {$url} 的密钥放进该模型 api_key_env 所指的环境变量
model-hint-unknown = 请指定 {$url}/models 列出的某个模型
model-hint-overflow = 请换用上下文窗口更大的模型，或把 context_tokens 设为服务器实际支持的值
model-hint-later = 稍后再试，或指定备用模型
check-model = 请检查服务器和模型名称

# Why the runtime did not carry out work.
effect-stopped = 已停止
effect-of-actor = 执行者有自己的状态机，由另一个进程驱动
lead-rests = 运行的主导者正在休息，等待运行唤醒
no-lead = 这个运行没有主导者
no-lead-composed = 工作进程没有创建主导者
no-agent = 没有为角色 `{$profile}` 配置外部智能体
agent-is-local = 角色 `{$profile}` 是外部智能体，只能用于本地运行：请给任务换一个角色
actor-step = 状态为 {$status} 的执行者不能执行步骤 {$step}
private-not-made = 无法创建任务的私有文件夹：{$reason}
private-in-turn = 任务在工作文件夹中轮流执行，因为无法为它们复制该文件夹：{$reason}
private-ignored = 私有文件夹中被忽略的文件没有合并：{$paths}
private-ignored-more = 私有文件夹中被忽略的文件没有合并：{$paths} 等，另有 {$more} 个
private-versions-kept = 不在工作文件夹中的版本保存在 {$folder}
private-folders-stay = 运行的私有文件夹留在 {$folder}：{$reason}
private-not-merged = 无法把任务的更改合并到工作文件夹：{$reason}
words-unused = 没有改变计划：{$text}
words-unread = 任务 {$task} 的执行者没有读到：{$text}
words-done = 主导者表示已经处理
hook-failed-after-end = {$point} 处的钩子 {$hook} 失败：{$reason}
hook-blocks-after-end = {$point} 处的钩子 {$hook} 调用得太晚，无法阻止：{$reason}

# Runs on an engine.
host-lost = 它的主机已失联：队列 {$queue} 的工作进程都没有及时领取它
worker-late = 队列 {$queue} 的工作进程没有及时完成它：它的主机可能已失联
call-lost = 调用已经开始（{$id}），结果未知：{$reason}
actor-not-begun = 无法启动执行者的工作流：{$reason}
actor-broken-off = 执行者的工作流失败：{$reason}
work-not-handed-back = 它对文件的更改无法交回，因此不予采用：{$reason}
work-not-merged = 它对文件的更改无法合并，因此不予采用：{$reason}
work-conflicts = 它对文件的更改与其他任务同时所做的更改冲突，因此不予采用：{$named}。重试时将以那些更改为起点；更改相同文件的任务应依次进行
conflict-kept = {$path}（它的版本保存在 {$place}）
conflict-more = {$named} 等，另有 {$more} 个
never-driven = 还没有人继续它
workflow-cancelled = 它的工作流已被取消
end-not-done = 运行的收尾步骤（快照、计划、钩子）没有执行：{$reason}
tree-not-own = 这项工作没有自己的文件夹状态
undo-cut-off = 一次撤销被中断
undo-stopped = 此后的改动无法撤销：{$reason}
undo-no-space = 磁盘只剩 {$megabytes} MB 可用空间
undo-damaged = {$path} 已损坏
undo-newer = {$path} 的格式 {$schema} 是此版本的 aime 不认识的；请使用更新的版本
undo-task-running = 任务 {$task} 正在运行；结束后才能撤销
undo-not-recorded = 没有记录文件的改动
undo-pruned = 为给后来的运行腾出空间，它的记录已删除：所有记录合计不超过 undo.store_mb
content-damaged = {$place} 已损坏：内容与名称不符
content-name = {$name} 不是内容的名称
file-failed = 无法{ $action ->
    [opened] 打开
    [found] 找到
    [read] 读取
    [listed] 列出
    [written] 写入
    [made] 创建
    [removed] 删除
    [changed] 更改
    [locked] 锁定
   *[used] 使用
} `{$path}`：{$error}
file-unusable = 无法使用 {$path}：{$error}
file-path-empty = 路径为空；`.` 表示工作文件夹
file-path-nul = 路径 {$path} 含有 NUL 字节
file-outside = `{$path}` 在工作文件夹 {$folder} 之外；请使用其中的路径
file-home = `{$path}` 在主文件夹中，而文件工具只在工作文件夹内操作；请使用相对于工作文件夹的路径，若文件确实叫这个名字，请写 `./~`
file-drive = `{$path}` 写的是 Windows 的盘符，这里没有；请使用相对于工作文件夹的路径，以 `/` 分隔
file-link-outside = `{$path}` 通过链接指向工作文件夹之外；请使用其中的路径
file-dangling-link = `{$path}` 是一个链接，而它的目标不存在
file-reserved = `{$path}` 在 {$folder} 中，那里不能写入其他内容；请写到别处
file-protected = `{$path}` 指向 `{$place}`，那里的文件以后会自动运行；请直接写出那个路径
file-not-found = `{$path}` 不存在
file-is-folder = `{$path}` 是文件夹，不是文件
file-is-special = `{$path}` 是设备、管道或套接字，不是普通文件
file-not-a-folder = `{$path}` 不是文件夹，或路径中有一部分不是文件夹
file-too-large = `{$path}` 太大，无法一次读取或写入（字节数：{$size}，上限：{$limit}）
file-read-only = `{$path}` 是只读的；请先设为可写（`chmod u+w`），或写到另一个文件
commits-branch = 成果在分支 {$branch} 上，共 {$commits} 个提交
commits-branch-mixed = 成果在分支 {$branch} 上，共 {$commits} 个提交；第一个包含同一批文件在运行之前尚未提交的改动
commits-none = 没有提交：运行没有改动仓库保存的文件
commits-failed = 成果没有提交：{$reason}
commits-omitted = 不在提交中：{$paths}（{$reason}）
commits-omitted-more = 不在提交中：{$paths} 等，另有 {$more} 个（{$reason}）
commits-ignored = git 忽略它
commits-submodule = 在子模块中
commits-too-large = 超过 100 MB：请交给 Git LFS
commits-filter = 它的过滤器 `{$filter}` 是一个程序，aime 不运行它
commits-no-undo = 没有记录文件的改动（`undo.enabled`）
commits-not-recorded = 文件的改动没有记录
commits-no-repository = 该文件夹不在任何 git 仓库中
git-too-old = 已安装 git {$found}，但需要 git {$needed} 或更新的版本
git-missing = 在 PATH 中没有找到 git，而需要 git {$needed} 或更新的版本
git-failed = `git {$command}` 失败：{$error}
git-exit-code = `git {$command}` 失败，退出码 {$code}
git-slow = `git {$command}` 用时过长，已被终止
git-killed = `git {$command}` 被强制终止
git-output = `git {$command}` 的输出太多（字节数：{$bytes}）
git-changes-too-large = 改动太大，无法一次移交（字节数：{$bytes}，上限：{$most}）；请在 .gitignore 中排除不必移交的文件
git-folder-not-empty = {$folder} 不是空的，检出会替换其中的内容；请指定一个空文件夹
git-folder-in-use = 另一个进程正在使用 {$folder} 的状态；请等它结束，或换一个文件夹
git-in-the-way = {$paths} 会被覆盖，而它们的内容不在任何状态里；请先移走
git-not-taken = {$commit} 含有 {$path}，它只属于一台主机，因此不接收
git-incomplete = 仓库不完整：{$error}
git-no-commit = 捆绑包中没有 {$commit}
tree-form = 数据块 {$bundle} 中没有此版本能读取的文件夹状态
tree-none = 该运行用 git 移交文件夹，而这个工作进程启动时没有启用它
tree-not-kept = 无法保留此前的内容：{$reason}
tree-broken = 文件夹不是工作结束时的状态：{$reason}
blob-unread = {$reason}；所有工作进程和客户端必须共用同一个数据块存储
blob-sealed = 无法使用 {$name}：{$reason}
blob-given-up = 对它的处理已放弃：{$reason}
bucket-address = {$address} 不是存储桶的地址：{$reason}；请写 s3://BUCKET 或 s3://BUCKET/PREFIX
bucket-scheme = 它不以 {$scheme} 开头
bucket-no-name = 其中没有存储桶的名称
bucket-endpoint = 端点 {$url}：{$reason}
bucket-client = 无法连接存储桶：{$reason}
key-unusable = {$source}：{$reason}
key-invalid = 第 {$line} 行不是密钥：密钥是 64 个十六进制数字，可用 `openssl rand -hex 32` 生成
key-empty = 没有密钥：请写 64 个十六进制数字，可用 `openssl rand -hex 32` 生成
seal-other-key = 它是用密钥 {$id} 加密的，而这个密钥没有给出
seal-without-key = 它已加密，而没有给出密钥
seal-changed = 它在加密后被更改过，或不完整
no-random-numbers = 操作系统不提供随机数
engine-address = {$text} 不是引擎的地址：{$reason}；请写 temporal://主机:端口 或 temporal://主机:端口/命名空间
engine-address-scheme = 未知的协议 {$scheme}：请用 temporal:// 或 temporals://
engine-address-port = 缺少端口
engine-address-namespace = 命名空间中不能有 `/`
engine-unusable = 无法使用 {$url} 上的引擎：{$reason}
engine-no-tls = {$what}需要 TLS：请写 temporals://主机:端口，或去掉它
engine-tls-key = 密钥
engine-tls-certificate = 证书
engine-no-client = 无法为这个命名空间创建客户端：{$reason}
engine-run-exists = 已经有名为 {$run} 的运行
engine-no-run = 没有名为 {$run} 的运行
engine-refused = 引擎无法{$what}：{$reason}
engine-to-start = 启动运行
engine-to-read = 读取运行
engine-to-signal = 通知运行
engine-to-find = 查找运行
engine-to-list = 列出运行
engine-to-delete = 删除运行
engine-not-begun = 它还没有开始
worker-cannot = 工作进程无法{$what}：{$reason}
worker-to-begin = 启动
worker-to-drive = 驱动运行
worker-to-act = 做驱动运行以外的事
worker-to-go-on = 继续
worker-no-parts = 没有配置模型和工具
worker-serves-nothing = 没有指定能力
