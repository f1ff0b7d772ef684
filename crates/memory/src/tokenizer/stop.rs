//! Stop words, which occur in every text and do not distinguish any. They are indexed nevertheless; only questions
//! omit them.

/// English, sorted.
const ENGLISH: &[&str] = &[
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "let", "me", "my", "no", "not", "of", "on",
    "or", "our", "please", "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Chinese, in the pairs that they become.
const CHINESE: &[&str] = &[
    "一个", "一下", "一些", "什么", "怎么", "如何", "为何", "这个", "那个", "这些", "那些", "我们", "你们", "他们", "可以", "以及", "或者",
    "但是", "因为", "所以", "如果", "并且", "然后", "帮我", "请帮", "请你", "的是", "是的", "的", "了", "是", "在", "和", "与", "请",
];

/// Returns true if a token of a question is a stop word.
pub(super) fn is_stop_word(token: &str) -> bool {
    ENGLISH.binary_search(&token).is_ok() || CHINESE.contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_hits() {
        assert!(ENGLISH.is_sorted());
        assert!(is_stop_word("the") && is_stop_word("什么") && !is_stop_word("crate") && !is_stop_word("部署"));
    }
}
