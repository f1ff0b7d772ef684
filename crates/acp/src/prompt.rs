//! The text and the images of a prompt.

use std::path::Path;

use agent_client_protocol::v1::schema::ContentBlock;
use aime_llm::Image;
use aime_orchestrator::MAX_GOAL_IMAGES;
use url::Url;

use crate::Refusal;

/// The longest prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 100_000;

/// A prompt as aime takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// Text of the prompt; may be empty.
    pub(crate) text: String,
    /// Images of the prompt.
    pub(crate) images: Vec<Image>,
}

impl Prompt {
    /// Reads the blocks of a prompt. A file that it points to is named by its path below the folder; actors read it with their tools.
    pub(crate) fn of(prompt: &[ContentBlock], folder: &Path) -> Result<Self, Refusal> {
        let (mut text, mut images) = (String::new(), Vec::new());
        for block in prompt {
            match block {
                ContentBlock::Text(block) => text.push_str(&block.text),
                ContentBlock::ResourceLink(link) => text.push_str(&display_name(&link.uri, folder)),
                // The text of an attached file is unverified. With a link, an actor reads the file itself, and its
                // source is recorded.
                ContentBlock::Resource(_) => return Err(Refusal::Invalid("attached texts cannot be read: link to the file".to_owned())),
                ContentBlock::Image(block) => {
                    let name = block.uri.as_ref().map_or_else(|| format!("no. {}", images.len() + 1), |uri| path_of(uri, folder));
                    images.push(Image::from_base64(name, &block.data).map_err(|error| Refusal::Invalid(error.to_string()))?);
                }
                ContentBlock::Audio(_) => return Err(Refusal::Invalid("a prompt is text and images: sound cannot be read".to_owned())),
                _ => return Err(Refusal::Invalid("a part of the prompt is of a kind that is not known".to_owned())),
            }
        }
        if images.len() > MAX_GOAL_IMAGES {
            return Err(Refusal::Invalid(format!("the prompt has {} images; a goal takes at most {MAX_GOAL_IMAGES}", images.len())));
        }
        if text.len() > MAX_PROMPT_BYTES {
            return Err(Refusal::Invalid(format!("the prompt is longer than {MAX_PROMPT_BYTES} bytes")));
        }
        Ok(Self { text: text.trim().to_owned(), images })
    }
}

/// Returns the path below the folder of an image that a file holds, and otherwise its address.
fn path_of(uri: &str, folder: &Path) -> String {
    let path = Url::parse(uri).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
    path.map_or_else(|| uri.to_owned(), |path| path.strip_prefix(folder).unwrap_or(&path).display().to_string())
}

/// Returns the path of a file, or the address of anything else.
fn display_name(uri: &str, folder: &Path) -> String {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file");
    let Some((url, path)) = url.and_then(|url| url.to_file_path().ok().map(|path| (url, path))) else { return uri.to_owned() };
    let path = path.strip_prefix(folder).unwrap_or(&path).display();
    // A link may name a place in the file.
    url.fragment().map_or_else(|| format!("`{path}`"), |place| format!("`{path}` ({place})"))
}

#[cfg(test)]
mod tests {
    use std::iter;

    use agent_client_protocol::v1::schema::{ImageContent, ResourceLink, TextContent};

    use super::*;

    fn link(uri: &str) -> ContentBlock {
        ContentBlock::ResourceLink(ResourceLink::new("a", uri))
    }

    /// A GIF's signature and header; nothing looks at its pixels.
    const GIF: &str = "R0lGODlhBQADAAAAAA==";

    fn image(data: &str) -> ContentBlock {
        ContentBlock::Image(ImageContent::new(data, "image/gif"))
    }

    #[test]
    fn images_of_a_prompt_are_taken() {
        let of_file = ContentBlock::Image(ImageContent::new(GIF, "image/gif").uri("file:///project/a%20b.gif".to_owned()));
        let words = ContentBlock::Text(TextContent::new("what is"));
        let Prompt { text, images } = Prompt::of(&[image(GIF), words, of_file], Path::new("/project")).unwrap();
        let images: Vec<_> = images.iter().map(|image| (image.name.as_str(), &*image.data)).collect();
        assert_eq!((text.as_str(), images), ("what is", vec![("no. 1", GIF), ("a b.gif", GIF)]));
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
            (vec![say(" ")], Ok("")),
            (vec![], Ok("")),
            (vec![say(&"x".repeat(MAX_PROMPT_BYTES + 1))], Err("longer")),
            (vec![say("what is"), image("aGk=")], Err("no. 1 is not a PNG, JPEG, GIF or WebP image")),
            (vec![say("what is"), image("?")], Err("no. 1 is not written in base64")),
            (iter::once(say("what is")).chain(iter::repeat_n(image(GIF), 21)).collect(), Err("has 21 images")),
        ] {
            match (Prompt::of(&prompt, folder), expected) {
                (Ok(prompt), Ok(expected)) => assert_eq!(prompt, Prompt { text: expected.to_owned(), images: Vec::new() }),
                (Err(Refusal::Invalid(why)), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, expected) => panic!("{found:?} is not {expected:?}"),
            }
        }
    }
}
