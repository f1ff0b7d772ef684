//! Word lists in English and Chinese by which the rules classify a goal, and their search.

/// Words that sequence steps.
pub(super) const MULTI_STEP: &[&str] = &[
    "then",
    "after that",
    "after this",
    "afterwards",
    "next,",
    "finally",
    "lastly",
    "first,",
    "firstly",
    "first of all",
    "second,",
    "secondly",
    "third,",
    "thirdly",
    "step by step",
    "step 1",
    "step one",
    "followed by",
    "once that is done",
    "once done",
    "然后",
    "接着",
    "首先",
    "其次",
    "最后",
    "步骤",
    "之后",
    "随后",
    "接下来",
    "第一步",
    "第二步",
    "第三步",
    "再然后",
];

/// Words that make a step conditional.
pub(super) const CONDITIONAL: &[&str] =
    &["if", "unless", "otherwise", "depending on", "in case", "如果", "否则", "假如", "除非", "的话", "若是", "一旦"];

/// Words that make steps parallel.
pub(super) const PARALLEL: &[&str] =
    &["in parallel", "simultaneously", "at the same time", "concurrently", "at once", "side by side", "同时", "并行", "一边"];

/// Words of an open-ended goal, whose tasks are only found on the way.
pub(super) const EXPLORATORY: &[&str] = &[
    "explore",
    "brainstorm",
    "investigate",
    "figure out",
    "look into",
    "dig into",
    "open-ended",
    "open ended",
    "be creative",
    "creative",
    "creatively",
    "imagine",
    "invent",
    "come up with",
    "experiment with",
    "see what you can",
    "what could",
    "ideas for",
    "surprise me",
    "探索",
    "头脑风暴",
    "创意",
    "发挥想象",
    "摸索",
    "深入研究",
    "看看有什么",
    "有哪些可能",
    "想一些",
    "想几个",
    "想出",
    "开放式",
    "自由发挥",
];

/// English verbs that name an action; they count at the beginning of a clause.
pub(super) const VERBS: &[&str] = &[
    "add",
    "analyse",
    "analyze",
    "answer",
    "append",
    "apply",
    "benchmark",
    "build",
    "calculate",
    "change",
    "check",
    "clean",
    "collect",
    "compare",
    "compile",
    "compute",
    "configure",
    "convert",
    "copy",
    "count",
    "create",
    "debug",
    "delete",
    "deploy",
    "describe",
    "design",
    "document",
    "download",
    "draft",
    "edit",
    "evaluate",
    "explain",
    "export",
    "extract",
    "fetch",
    "find",
    "fix",
    "format",
    "gather",
    "generate",
    "identify",
    "implement",
    "import",
    "improve",
    "insert",
    "install",
    "integrate",
    "list",
    "load",
    "make",
    "measure",
    "merge",
    "migrate",
    "move",
    "optimise",
    "optimize",
    "parse",
    "plot",
    "prepare",
    "print",
    "publish",
    "push",
    "read",
    "refactor",
    "release",
    "remove",
    "rename",
    "replace",
    "report",
    "research",
    "review",
    "rewrite",
    "run",
    "save",
    "search",
    "send",
    "show",
    "sort",
    "split",
    "store",
    "summarise",
    "summarize",
    "tell",
    "test",
    "train",
    "translate",
    "update",
    "upgrade",
    "upload",
    "validate",
    "verify",
    "write",
];

/// Words after which a verb begins a clause.
pub(super) const BEFORE_VERB: &[&str] = &[
    "and",
    "then",
    "to",
    "please",
    "or",
    "also",
    "you",
    "should",
    "must",
    "can",
    "could",
    "first",
    "second",
    "third",
    "finally",
    "next",
    "now",
    "me",
    "us",
    "i",
    "we",
    "will",
    "that",
    "afterwards",
    "lastly",
    "otherwise",
    "just",
    "either",
];

/// Chinese verbs that name an action; longer ones come before those that they contain.
pub(super) const VERBS_ZH: &[&str] = &[
    "创建",
    "新建",
    "编写",
    "撰写",
    "改写",
    "重写",
    "修改",
    "修复",
    "删除",
    "添加",
    "增加",
    "更新",
    "搜索",
    "查找",
    "寻找",
    "分析",
    "总结",
    "汇总",
    "翻译",
    "测试",
    "运行",
    "执行",
    "部署",
    "实现",
    "设计",
    "生成",
    "整理",
    "比较",
    "对比",
    "检查",
    "优化",
    "重构",
    "读取",
    "阅读",
    "下载",
    "上传",
    "安装",
    "统计",
    "列出",
    "转换",
    "合并",
    "收集",
    "调研",
    "评估",
    "验证",
    "发布",
    "提取",
    "保存",
    "输出",
    "计算",
    "迁移",
    "配置",
    "重命名",
    "打印",
    "写",
    "读",
    "找出",
];

/// Chinese compounds in which a verb is a noun.
pub(super) const NOUNS_ZH: &[&str] =
    &["单元测试", "测试用例", "分析报告", "设计文档", "统计数据", "测试报告", "更新日志", "配置文件", "总结报告", "执行结果"];

/// Words that indicate more than one file.
pub(super) const MANY_FILES: &[&str] = &[
    "files",
    "all",
    "every",
    "each",
    "folder",
    "folders",
    "directory",
    "directories",
    "repository",
    "repo",
    "project",
    "codebase",
    "所有",
    "每个",
    "目录",
    "文件夹",
    "项目",
    "仓库",
    "全部",
];

/// Names with a dot that are not files.
pub(super) const NOT_FILES: &[&str] =
    &["node.js", "next.js", "vue.js", "react.js", "three.js", "d3.js", "express.js", "asp.net", "e.g", "i.e", "e.g.", "i.e."];

/// Endings of host names.
pub(super) const HOST_ENDINGS: &[&str] = &["com", "org", "net", "io", "dev", "ai", "edu", "gov", "cn", "de", "uk"];

/// Returns true for a character of a dense script, in which one character carries as much as several Latin letters.
pub(super) fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

/// Phrases that sequence steps, or make them parallel, only at the beginning of a clause. Elsewhere they are other words: `the finally
/// block`, `最后一行`.
const AT_CLAUSE_START: &[&str] = &["then", "finally", "最后", "之后", "同时"];
/// Words between two clauses.
const CONJUNCTIONS: &[&str] = &["and", "but", "or", "so", "&"];

/// Returns the phrases of `list` that occur in `text`, which is in lower case. Latin phrases match whole words.
pub(super) fn matching_keywords<'a>(text: &str, list: &[&'a str]) -> Vec<&'a str> {
    let occurs = |phrase: &str| match phrase {
        "步骤" => places(text, phrase).any(|(_, after)| {
            let after = after.trim_start();
            after.starts_with(['：', ':', '一', '二', '三', '四', '五', '六', '七', '八', '九', '十']) || starts_with_digit(after)
        }),
        "then" => places(text, phrase).any(|(before, after)| starts_clause(before, after) || begins_with_verb(after)),
        "之后" => places(text, phrase).any(|(_, after)| !after.starts_with('的') && !starts_with_digit(after)),
        phrase if AT_CLAUSE_START.contains(&phrase) => places(text, phrase).any(|(before, after)| starts_clause(before, after)),
        phrase => contains(text, phrase),
    };
    list.iter().copied().filter(|phrase| occurs(phrase)).collect()
}

/// Returns true if a clause begins between these texts, and not with a number or a noun.
fn starts_clause(before: &str, after: &str) -> bool {
    let (before, after) = (before.trim_end_matches([' ', '\t']), after.trim_start());
    let last = before.chars().next_back();
    let is_start = last.is_none_or(|c| ",;:.!?(-*，。；：、！？（\n".contains(c))
        || before.split_whitespace().next_back().is_some_and(|word| CONJUNCTIONS.contains(&word))
        || before.ends_with(['并', '且']);
    is_start && !starts_with_digit(after) && !after.starts_with(['行', '个', '一', '的'])
}

/// Returns true if the first word of a text is an English verb that names an action.
fn begins_with_verb(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| VERBS.contains(&word))
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_numeric())
}

/// Returns true if `text` contains `phrase`, at word boundaries for a phrase in Latin script.
pub(super) fn contains(text: &str, phrase: &str) -> bool {
    places(text, phrase).next().is_some()
}

/// Returns the texts before and after each occurrence of `phrase`, at word boundaries for a phrase in Latin script.
fn places<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let found = text.match_indices(phrase).filter(move |_| !phrase.is_empty());
    found.filter_map(move |(at, hit)| {
        let (before, after) = (text.get(..at)?, text.get(at + hit.len()..)?);
        let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let open = word(hit.chars().next()) && word(before.chars().next_back());
        let close = word(hit.chars().next_back()) && word(after.chars().next());
        (!open && !close).then_some((before, after))
    })
}
