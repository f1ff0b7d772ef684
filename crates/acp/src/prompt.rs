//! The text of a prompt.

use std::path::Path;

use agent_client_protocol::v1::schema::ContentBlock;
use url::Url;

use crate::Refusal;

/// The longest prompt, in bytes.
const LONGEST: usize = 100_000;

/// What a prompt says. A file that it points to is named by its path below the folder; actors read it with their tools.
pub(crate) fn text_of(prompt: &[ContentBlock], folder: &Path) -> Result<String, Refusal> {
    let mut text = String::new();
    for block in prompt {
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            ContentBlock::ResourceLink(link) => text.push_str(&named(&link.uri, folder)),
            // What stands in a file is nobody's word: an actor reads it there, and knows where it comes from.
            ContentBlock::Resource(_) => return Err(Refusal::Invalid("attached texts cannot be read: link to the file".to_owned())),
            ContentBlock::Image(_) | ContentBlock::Audio(_) => {
                return Err(Refusal::Invalid("a prompt is text: images and sound cannot be read".to_owned()));
            }
            _ => return Err(Refusal::Invalid("a part of the prompt is of a kind that is not known".to_owned())),
        }
    }
    match text.trim() {
        "" => Err(Refusal::Invalid("the prompt is empty".to_owned())),
        _ if text.len() > LONGEST => Err(Refusal::Invalid(format!("the prompt is longer than {LONGEST} bytes"))),
        trimmed => Ok(trimmed.to_owned()),
    }
}

/// A file by its path, anything else by its address.
fn named(uri: &str, folder: &Path) -> String {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file");
    let Some((url, path)) = url.and_then(|url| url.to_file_path().ok().map(|path| (url, path))) else { return uri.to_owned() };
    let path = path.strip_prefix(folder).unwrap_or(&path).display();
    // A link may name a place in the file.
    url.fragment().map_or_else(|| format!("`{path}`"), |place| format!("`{path}` ({place})"))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{ImageContent, ResourceLink, TextContent};

    use super::*;

    fn link(uri: &str) -> ContentBlock {
        ContentBlock::ResourceLink(ResourceLink::new("a", uri))
    }

    #[test]
    fn files_are_named_by_their_paths() {
        let folder = Path::new("/project");
        let say = |text: &str| ContentBlock::Text(TextContent::new(text));
        for (prompt, expected) in [
            (vec![say(" mend it ")], Ok("mend it")),
            (vec![say("mend "), link("file:///project/src/a%20b.rs")], Ok("mend `src/a b.rs`")),
            (vec![say("mend "), link("file:///project/a.rs#L3:7")], Ok("mend `a.rs` (L3:7)")),
            (vec![say("see "), link("file:///etc/100%")], Ok("see `/etc/100%`")),
            (vec![say("see "), link("https://example.org/a")], Ok("see https://example.org/a")),
            (vec![say(" ")], Err("empty")),
            (vec![], Err("empty")),
            (vec![say(&"x".repeat(LONGEST + 1))], Err("longer")),
            (vec![say("what is"), ContentBlock::Image(ImageContent::new("aGk=", "image/png"))], Err("images")),
        ] {
            match (text_of(&prompt, folder), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(Refusal::Invalid(why)), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, expected) => panic!("{found:?} is not {expected:?}"),
            }
        }
    }
}
