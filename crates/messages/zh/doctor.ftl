# `aime doctor` 的消息。

doctor-works = 正常
doctor-broken = 故障
doctor-absent = 缺少
doctor-hint = 解决办法：{$hint}
doctor-permissions = {$mode}；规则：{$deny} 条禁止，{$ask} 条询问，{$allow} 条允许；此文件夹记住了 {$remembered} 条
doctor-as-above = {$model} {$place}，同上

# 检查的对象。
thing-configuration = 配置
thing-own-files = 自己的文件
thing-skills = 技能
thing-hook = 钩子
thing-permissions = 权限
thing-journal = 日志
thing-memory = 记忆
thing-knowledge = 知识
thing-sandbox = 沙箱
thing-tool = 工具
thing-private-folders = 私有文件夹
thing-server = MCP 服务器
thing-model = 模型
thing-file = 文件
thing-process-groups = 进程组
thing-clean-environment = 干净的环境变量
thing-confined-files = 受限的文件
thing-bounded-output = 有限的输出
thing-detached-processes = 脱离的进程
thing-kernel-confinement = 内核限制
thing-network-per-host = 按主机的网络

# 检查结果。
journal-none = 尚无；运行将保存在 {$folder}
doctor-memory-none = 尚无；运行学到的东西将保存在 {$file}
memory-kept = {$number} 条记忆，在 {$file}
agent-broken = 请修正 [profiles.{$name}]，或将其删除
memory-off = 已关闭
memory-on = 若要记住运行，请设 memory.enabled = true
memory-broken = 把文件移走；在此期间运行照常进行，只是没有记忆
journal-broken = 把文件移走，或用 -C 选择另一个工作文件夹
own-files-broken = 修正文件，或把它移走
program-absent = PATH 中没有 {$program}
program-install = 请安装 {$program}
server-hint = 修正它的设置，或设 enabled = false；`aime mcp list` 列出这些服务器
see-models = 见 `aime models list`
model-answers-as = {$model} 有回应，自称 {$name}
model-answers = {$model} 有回应
model-silent = {$model} 在 {$seconds} 秒内没有回应
model-busy = 服务器是否繁忙？较小的模型回应更快
file-fetched-later = 不必处理：首次使用时会自动下载；`aime models pull {$model}` 可立即下载
knowledge-unreadable = memory.knowledge 指定的 {$folder} 无法读取：{$reason}
knowledge-hint = 建立这个文件夹，或从配置中去掉它
folder-unwritable = 无法写入 {$folder}：{$reason}
folder-hint = 修正文件夹的权限，或选择另一个工作文件夹

protection-process-groups = 命令及其进程组内的一切，在超时、取消和运行结束时一并结束
protection-clean-environment = 命令只看到列出的环境变量，看不到任何像密钥的变量
protection-confined-files = 文件工具无法离开工作文件夹，无论用 `..`、绝对路径还是链接
protection-bounded-output = 命令的输出保留到上限，超出的部分只计数
protection-detached = 脱离进程组的进程（如用 `setsid`）也随命令结束，aime 被杀时亦然；若它覆盖了自己的环境变量又失去了父进程，则找不到
protection-detached-not = 这里没有 /proc：脱离进程组的进程（如用 `setsid`）在命令结束后仍会存在，aime 被杀时正在运行的也会继续
protection-kernel-all = {$means} 可以把命令限制在其文件夹内，不让它接触网络、密钥和其他进程
protection-kernel-some = 只有 {$means}：{$without}
protection-hosts-yes = 可以只允许命令访问指定的主机：它们在自己的网络里只能到达一个代理
protection-hosts-refused = 只允许访问指定主机的命令会被拒绝：{$reason}；可以明确放弃这一保证：sandbox.allow_missing = ["network-namespace"]
protection-hosts-none = 命令要么能访问整个网络，要么完全不能：按主机限制需要 Linux 6.7 及 Landlock 和 seccomp，因此会被拒绝

# 命令受到怎样的限制。
confinement-off = 关闭：命令可以做你能做的一切
confinement-refused = 无：{$reason}
confinement-on = {$means}：命令只能写工作文件夹和一个临时文件夹，{$network}
confinement-places = 以及你指定的 {$number} 处
confinement-network-none = 不能联网
confinement-network-all = 可以访问整个网络
confinement-network-hosts = 只能访问 {$hosts}
confinement-missing = 不保证 {$guarantee}：{$rights}
without-files = 命令可以读写你能读写的所有文件
without-truncation = 命令可以清空工作文件夹以外的文件
without-signals = 命令可以向外部进程发信号，从而结束它们
without-calls = 命令可以使用网络并跟踪进程
without-keys = 命令可以读取其工作文件夹中的密钥和密码
without-namespace = 只允许访问指定主机的命令，可以到达任何在其代理端口上监听的机器
unconfined-kernel = 请使用 Linux 6.12 或更高版本，并启用 seccomp 和 Landlock（启动参数 `lsm=`）
unconfined-proc = 请挂载 /proc，它显示内核能保证什么
unconfined-windows = 请在 Linux 上运行 aime，例如 WSL 2
unconfined-linux = 请在 Linux 上运行 aime
unconfined-hosts = 这里无法把命令限制到指定的主机，因此不运行任何命令（需要 Linux 6.7 或更高版本及 Landlock 和 seccomp）；请把网络设置中的 {$hosts} 改为 "none" 或 "all"
unconfined-machines = 可以访问 {$hosts} 的命令能到达任何在其代理端口上监听的机器，因此不运行任何命令：{$reason}；请允许程序使用网络命名空间（例如 kernel.unprivileged_userns_clone = 1），把网络设为 "none" 或 "all"，或明确接受这一风险：sandbox.allow_missing = ["network-namespace"]
unconfined-exposed = {$folder} 中的命令可以读取 {$secret}：请选择另一个工作文件夹，或明确接受这一风险：sandbox.allow_missing = ["keys"]
protection-job = 命令及其作业对象内的所有进程，在超时、取消和运行结束时一并结束
protection-job-holds = 命令启动的进程无法离开其作业对象：随命令结束，aime 被杀时亦然
protection-unbounded = 在 Windows 上，aime 不限制命令的进程、内存和文件
unconfined = 这里无法限制命令，因此不运行任何命令；若不加限制，{$without}。{$hint}，或明确接受这一风险：sandbox.allow_missing = [{$names}]
doctor-model = {$model} {$place}，协议 {$protocol}，窗口 {$number}
doctor-model-as = {$model}（服务器称 {$name}）
doctor-model-works = {$model}：能调用工具、读取结果、按格式回答
doctor-no-calls = 没有工具调用：{$why}
doctor-no-calls-hint = 为 [models.{$name}] 选一个会调用工具的模型，或让其服务器启用工具支持
doctor-no-results = 没有回应工具结果：{$why}
doctor-no-results-hint = 在 [models.{$name}] 中设置 protocol，或换一个模型
doctor-no-form = 没有按给定格式回答：{$why}
doctor-no-form-hint = 请为规划换一个模型；这个模型仍可供执行者使用
doctor-why-cut = 回答在 {$tokens} 个 token 后被截断
doctor-why-withheld = 服务商未给出回答
doctor-why-empty = 回答为空
doctor-why-text = 它说“{$text}”
doctor-why-other = 它调用了 {$tool}
doctor-why-again = 它又调用了 {$tool}
doctor-why-arguments = 它用 {$arguments} 调用
doctor-why-form = {$faults}；它说“{$text}”
doctor-local = {$model} {$place}
