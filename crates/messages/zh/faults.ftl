# 命令出错时的说明、解决办法和附注。

with-cause = {$message}
    {"  "}起因：{$cause}

own-fault = 这是 aime 自身的故障
own-fault-hint = 运行可用 `aime resume` 继续；请把上面的信息报告给我们

# 目标和计划。
no-goal = 没有目标
no-goal-hint = aime {$command} "在这里写目标"
goal-is-file = 目标只是一个文件名：{$file}
goal-is-file-hint = `aime run --plan {$file}` 执行其中的计划，`aime run --goal-file {$file}` 从中读取目标
empty-goal = 目标为空
empty-goal-hint = 请写目标：aime run "…"
image-base64 = {$image} 不是 base64 编码
image-format-hint = 请转换成这些格式之一，或检查文件是否正确
image-format = {$image} 不是 PNG、JPEG、GIF 或 WebP 图像
image-bytes = 图像 {$image} 有 {$bytes} 字节，模型最多接受 {$most} 字节：请先缩小它
image-pixels = 图像 {$image} 为 {$size} 像素，模型每边最多接受 {$most} 像素：请先缩小它
many-images = 给出了 {$count} 张图像；一个目标最多接受 {$most} 张
not-text = {$what} 不是 UTF-8 文本
not-text-hint = 是不是选错了文件？
not-there = {$what} 不存在
not-there-hint = 请检查路径：它相对于当前文件夹，而不是 -C 指定的文件夹
unreadable = 无法读取 {$what}：{$reason}
plan-hint = `aime schema plan` 给出计划的格式；`aime check FILE` 只检查计划而不运行
plan-repaired = 已修复计划：{$reason}
cost-bound = 无法遵守 --max-cost，因为不知道 {$models} 的价格：请设 {$settings}，或用 --max-tokens
review-again = 再编辑一次？

# 运行。
no-runs = 这个文件夹里还没有运行
no-run = {$folder} 中没有运行 {$run}
no-run-name = 运行的名称是空的
no-run-yet = 这个文件夹里还没有运行：用 `aime run "…"` 开始一个，或用 -C 指定另一个文件夹
no-run-hint = `aime runs` 列出这个文件夹的运行
run-unclear = {$text} 可能指 {$runs}
run-unclear-hint = 请多写几个字符
no-run-last = 运行不能叫 `last`：它指最新的运行
run-secret = 运行的名称里有被视为机密的内容，机密不会被写到任何地方
other-id = 请换一个 --run-id
run-taken = 已有名为 {$run} 的运行
other-id-or-resume = 请换一个 --run-id，或用 `aime resume` 继续它
no-follow-up = 不能接着做运行 {$run}：{$reason}
follow-up-failed = 它因错误停下，工作还没有做完
follow-up-unfinished = 它还没有结束
follow-up-cancelled = 它已被取消
follow-up-no-model = 它没有可用于规划的模型
follow-up-no-plan = 它从来没有计划
no-follow-up-hint = 用 `aime resume {$run}` 把被停止的运行做完，之后才能接着做；否则请开始新的运行
no-temporary-folder = 规划没有可用的临时文件夹
no-temporary-folder-hint = 让 TMPDIR 指定的文件夹（或 /tmp）可写
empty-answer = 回答是空的，而这个问题需要文字
cannot-commit = 无法提交工作成果：{$reason}
cannot-commit-hint = 用 `git init` 建立仓库，或者不用 --commit 运行
cannot-isolate = run.isolation 是 "worktree"，但任务无法拥有私有文件夹：{$reason}
cannot-isolate-hint = 安装 git 2.38 或更新的版本，或设置 run.isolation = "auto"：没有 git 时，会写文件的任务在工作文件夹中轮流执行
cannot-isolate-begun-hint = 安装 git 2.38 或更新的版本：运行保持开始时的隔离方式
unreplayable = 运行 {$run} 无法重放：{$reason}
port-taken = 无法监听 127.0.0.1:{$port}：{$error}
port-taken-hint = 用 --port 指定另一个端口，或省略 --port 使用空闲端口
lock-held = 进程 {$process} 正在处理这个运行（它占用 {$file}）
lock-held-unknown = 另一个进程正在处理这个运行（它占用 {$file}）
lock-unusable = 无法锁定 {$file}：请检查是否可以写它所在的文件夹
locked-hint = 等它结束，或用 `aime pause RUN` 停止它
recorded-hint = 之前的记录是安全的：排除原因后，用 `aime resume` 继续
no-beginning = 运行 {$run} 的开头已损坏（{$reason}）：请开始新的运行
no-beginning-hint = `aime runs check {$run}` 说明还有什么损坏，`aime runs delete {$run}` 可以删除它
stopped-at-once = 已立即停止；用 `aime resume {$run}` 继续
run-only = 只在这次运行中允许：{$reason}
no-own-folder = 工作文件夹之外没有你自己的文件夹可以保存它：请设置 XDG_STATE_HOME
no-plan = 运行 {$run} 没有计划
no-such-run = 没有运行 {$run}
no-version = 运行 {$run} 的计划没有第 {$version} 版；最新的是第 {$latest} 版
not-a-journal = {$file} 不是 aime 的日志
not-a-journal-hint = 请移走这个文件：下一个运行会开始新的日志
damaged-journal = 日志 {$file} 已损坏
damaged-journal-hint = `sqlite3 {$file} .recover` 会打印残留的内容；没有这个文件时，下一个运行会开始新的日志
journal-damaged = 运行 {$run} 的日志已损坏：{$damage}；从最后一条完好的记录继续
journal-folder = 无法为日志创建文件夹 {$folder}：请检查它的权限
journal-unopened = 无法打开日志 {$file}：请检查它是不是文件，以及是否可以读写它和它所在的文件夹
journal-newer = 日志 {$file} 的格式版本是 {$found}，而这个版本最多读到 {$known}：请使用写下它的较新版本
journal-full = 没有空间写日志 {$file}：请腾出磁盘空间，然后继续
journal-read-only = 日志 {$file} 是只读的：请让它和它所在的文件夹可写
journal-busy = 另一个进程锁定了日志 {$file}：请等它结束，或停止它
journal-fenced = 另一个进程正在继续运行 {$run}：请交给它，或停止它再继续
journal-other-version = 运行 {$run} 的格式是 {$found}，这个版本的 aime 读取格式 {$known}：请用开始它的版本继续
journal-unreadable = 这个版本读不懂运行 {$run} 的记录 {$record}：请用写下它的版本继续
journal-diverged = 运行 {$run} 无法重放：{$reason}。请用开始它的 aime 版本继续，或检查它是否损坏
journal-encode = 运行 {$run} 的一条记录不能写成 JSON：这是程序的错误
journal-closed = 日志 {$file} 已关闭：请重新打开
show-run = `aime runs show {$run}` 显示它的状态、任务和计划的各个版本
run-no-task = 运行 {$run} 没有任务 {$task}
run-asks-nothing = 运行 {$run} 没有提问
run-asks-no-more = 运行 {$run} 没有别的提问了
run-ended = 运行 {$run} 已结束
run-driven = 运行 {$run} 正在执行
run-driven-hint = 请等它结束，或暂停它
task-stays = {$task} 留在计划中：{$reason}
task-stays-hint = 请先取消需要它的任务
run-cancelled = 运行 {$run} 已取消
run-anew = 请用这个目标开始新的运行
run-nobody = 没有进程在执行运行 {$run}
run-stops = 运行正在停止；用 `aime resume {$run}` 继续
run-takes-up = 运行现在会处理它
run-takes-up-if = 正在执行该运行的进程会读取回答；若没有这样的进程，用 `aime resume`
answered = 已回答：{$question}
sent = 已发送：{$text}
run-deleted = 已删除 {$run}
stop-first = 请先停止运行
put-back = 恢复这些吗？
say-yes = 请加 --yes

# 模型。
none-configured = 没有配置模型
none-configured-hint = 请设置某个服务商的密钥（{$keys}），或把 OPENAI_BASE_URL 设为支持 OpenAI 协议的服务器（llama.cpp、Ollama、vLLM 等）；也可以在 aime.toml 中写 [models.default]（`aime config init`）
no-key = models.{$name} 没有密钥：{$variable} 未设置
no-key-or-local = {$hint}；{$model} 不是本地模型；本地模型有 {$names}
no-key-hint = 请 export {$variable}=…，或把 {$address} 设为不需要密钥的服务器
no-key-other = 已设置 {$key}：要使用它，请在 [models.{$name}] 中写 provider = "{$provider}"；或 export {$variable}=…
fallback = models.{$name}.fallback 指定的 {$other} 没有配置
fallback-hint = 请添加 [models.{$other}]，或去掉这个名字
model-section = 请修正 [models.{$name}]
base-url-hint = 请修正 {$variable}
no-local = 这个版本没有内置本地模型
no-local-hint = 请用特性 `local-model` 构建 aime，或使用服务器：provider = "openai" 并设 base_url
no-local-model = 没有本地模型 {$name}
model-not-here = {$model} 不在本机：缺少 {$file}
model-kept = 已下载的部分会保留：再次运行同一命令即可继续

# 配置。
unknown-key = 未知的键 `{$key}`
near-key = 是不是 `{$key}`？这里的键有 {$keys}
keys = 这里的键有 {$keys}
unknown-value = 未知的值 `{$value}`
near-value = 是不是 `{$value}`？这里的值有 {$values}
values = 请写其中之一：{$values}
wanted = 这里应为{$kind}，而不是{$found}
no-table = 里面没有键的表
config-init = `aime config init` 写出一个起始文件
is-there = {$file} 已经存在
never-overwritten = 不会覆盖它：请先移走，或查看 `aime config show`
wrote = 已写入 {$file}
own-configuration = {$file} 中的 [{$section}] 已略去，因为项目不能决定这些：请写进你自己的配置，或在那里信任这个文件夹（permissions.trusted_folders）
not-written = 无法写入 {$file}：{$reason}
not-written-hint = 用 -C 选择另一个文件夹，修正其权限，或腾出磁盘空间
not-a-folder = {$folder} 不是文件夹
folder-unusable = 无法使用工作文件夹 {$folder}：{$reason}
name-folder = 请指定一个存在的文件夹
keep-hint = 选择另一个工作文件夹，修正其权限，或腾出磁盘空间
keep-closed = 无法查看 {$folder}：{$reason}
keep-taken = {$folder} 不是文件夹，而运行要保存在这个名字的文件夹里
keep-taken-hint = 请把它移走，或选择另一个工作文件夹

# 工具、角色及其他。
no-tool = 没有工具“{$tool}”
tools-near = 是不是“{$near}”？`aime tools list` 列出所有工具
tools-list = `aime tools list` 列出它们
mcp-list = `aime mcp list` 列出它们
memory-list = `aime memory list` 列出它们
no-profile = 没有角色 {$name}
no-memory = 没有记忆 {$name}
report-not-written = 无法把报告写入 {$file}：{$reason}
report-hint = 请指定一个存在的文件夹里的文件：-o F.html
no-editor = 没有可用来审阅计划的编辑器，也没有终端
no-editor-hint = 请设 EDITOR，或用 `aime plan GOAL -o plan.json --format json`，编辑后 `aime run --plan plan.json`
no-editor-program = 找不到编辑器 `{$editor}`
no-editor-program-hint = 请把 EDITOR 设为存在的程序
process-nul = {$place} 含有 NUL 字节，不能交给程序；请去掉它
process-no-program = 没有找到程序 `{$program}`；请安装它，或把它所在的文件夹加入 PATH
process-no-folder = 工作文件夹 {$folder} 不是可以进入的文件夹
process-not-started = 无法启动程序 `{$program}`：{$error}
process-hidden = 没有运行 `{$program}`：命令不能读取 {$folder}；用户可以允许：sandbox.read = ["{$folder}"]
process-no-temp = 没有运行 `{$program}`：无法在 {$folder} 中建立存放临时文件的文件夹：{$error}；请把 TMPDIR 设为一个存在且有空间的文件夹
process-unconfined = 没有运行 `{$program}`：{$reason}
process-no-end = 无法得知 `{$program}` 如何结束：{$error}
