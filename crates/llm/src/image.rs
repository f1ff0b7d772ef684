//! Images beside the text of a message.

use std::{fmt, sync::Arc};

use aime_messages::{Describe, Message, message};
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use imagesize::ImageType;
use serde::{Deserialize, Serialize};

/// The most bytes of one image: the smallest bound among the providers is Anthropic's, 5 MB in base64.
pub const MAX_IMAGE_BYTES: usize = 3_750_000;

/// The longest side of an image in pixels: Anthropic refuses longer ones.
pub(crate) const MAX_IMAGE_SIDE: usize = 8_000;

/// Reads base64 with or without padding.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&base64::alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// Format of an image: the four that all providers accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl ImageFormat {
    /// Returns the media type, such as `image/png`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Recognizes the format by the first bytes of a file. `None` for anything else, also for other formats of images.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match imagesize::image_type(bytes).ok()? {
            ImageType::Png => Some(Self::Png),
            ImageType::Jpeg => Some(Self::Jpeg),
            ImageType::Gif => Some(Self::Gif),
            ImageType::Webp => Some(Self::Webp),
            _ => None,
        }
    }
}

/// An image that goes to the model beside the text of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Name for people, such as its path.
    pub name: String,
    /// Format of the image.
    pub format: ImageFormat,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The bytes of the file, in base64.
    pub data: Arc<str>,
}

/// Reason why a file cannot be sent to a model as an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageError {
    /// The bytes are no image of a known format.
    Format {
        /// The image's name.
        name: String,
    },
    /// The text is no base64.
    Base64 {
        /// The image's name.
        name: String,
    },
    /// The file has too many bytes.
    TooLarge {
        /// The image's name.
        name: String,
        /// Size of the file.
        bytes: usize,
    },
    /// A side is too long.
    TooManyPixels {
        /// The image's name.
        name: String,
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
    },
}

impl Describe for ImageError {
    fn describe(&self) -> Message {
        match self {
            Self::Format { name } => message!("image-format", image = name),
            Self::Base64 { name } => message!("image-base64", image = name),
            Self::TooLarge { name, bytes } => message!("image-bytes", image = name, bytes, most = MAX_IMAGE_BYTES),
            Self::TooManyPixels { name, width, height } => {
                message!("image-pixels", image = name, size = format!("{width}x{height}"), most = MAX_IMAGE_SIDE.to_string())
            }
        }
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl std::error::Error for ImageError {}

impl Image {
    /// Reads an image from the bytes of a file.
    ///
    /// # Errors
    /// The bytes are no image of a known format, or too many bytes or pixels.
    pub fn new(name: impl Into<String>, bytes: &[u8]) -> Result<Self, ImageError> {
        let name = name.into();
        let (Some(format), Ok(size)) = (ImageFormat::of(bytes), imagesize::blob_size(bytes)) else {
            return Err(ImageError::Format { name });
        };
        if bytes.len() > MAX_IMAGE_BYTES {
            return Err(ImageError::TooLarge { name, bytes: bytes.len() });
        }
        let (width, height) = (size.width, size.height);
        if width.max(height) > MAX_IMAGE_SIDE {
            return Err(ImageError::TooManyPixels { name, width, height });
        }
        let pixels = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
        Ok(Self { name, format, width: pixels(width), height: pixels(height), data: STANDARD.encode(bytes).into() })
    }

    /// Reads an image from base64, with or without padding and line breaks.
    ///
    /// # Errors
    /// The text is no base64, and what [`Image::new`] refuses.
    pub fn from_base64(name: impl Into<String>, data: &str) -> Result<Self, ImageError> {
        let name = name.into();
        let most = MAX_IMAGE_BYTES / 3 * 4;
        if data.len() > most * 2 {
            return Err(ImageError::TooLarge { name, bytes: data.len() / 4 * 3 });
        }
        let compact: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        match LENIENT.decode(compact) {
            Ok(bytes) => Self::new(name, &bytes),
            Err(_) => Err(ImageError::Base64 { name }),
        }
    }

    /// Describes the image in words: `shot.png (image/png, 640x480 pixels)`.
    #[must_use]
    pub fn described(&self) -> String {
        format!("{} ({}, {}x{} pixels)", self.name, self.format.media_type(), self.width, self.height)
    }

    /// Returns the words for a model that does not get the image.
    #[must_use]
    pub fn omission_note(&self) -> String {
        format!("[The image {} was left out: the model cannot see images.]", self.described())
    }

    /// Returns the words for a request that already holds as many images as the server takes.
    #[cfg(feature = "openai")]
    pub(crate) fn surplus_note(&self) -> String {
        format!("[The image {} was left out: the conversation has too many images.]", self.described())
    }

    /// Returns the image as a `data:` URL.
    #[must_use]
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.format.media_type(), self.data)
    }

    /// Estimates the tokens that the image takes: one for each 750 pixels as Anthropic counts them, 85 at least and 1,600 at most.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        (u64::from(self.width) * u64::from(self.height) / 750).clamp(85, 1_600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a PNG's signature and header; its pixels are not looked at.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn bytes_become_an_image_or_a_reason() {
        let cases: [(&[u8], &str); 4] = [
            (&png(640, 480), "a (image/png, 640x480 pixels)"),
            (b"GIF89a\x05\0\x03\0\0\0\0", "a (image/gif, 5x3 pixels)"),
            (b"%PDF-1.7", "a is not a PNG, JPEG, GIF or WebP image"),
            (&png(9_000, 10), "the image a has 9000x10 pixels, and models take at most 8000 a side: make it smaller first"),
        ];
        for (bytes, expected) in cases {
            let found = Image::new("a", bytes).map_or_else(|error| error.to_string(), |image| image.described());
            assert_eq!(found, expected);
        }
        let mut large = png(10, 10);
        large.resize(MAX_IMAGE_BYTES + 1, 0);
        assert!(matches!(Image::new("a", &large), Err(ImageError::TooLarge { bytes, .. }) if bytes == large.len()));
    }

    #[test]
    fn base64_of_others_is_read() {
        let image = Image::new("a", &png(640, 480)).expect("an image");
        let broken_into_lines = format!("{}\n{}\n", &image.data[..20], &image.data[20..]);
        for data in [&*image.data, image.data.trim_end_matches('='), &broken_into_lines] {
            assert_eq!(Image::from_base64("a", data).as_ref(), Ok(&image), "{data}");
        }
        assert_eq!(Image::from_base64("a", "no base64!"), Err(ImageError::Base64 { name: "a".to_owned() }));
        assert_eq!(Image::from_base64("a", "AAAA"), Err(ImageError::Format { name: "a".to_owned() }));
    }

    #[test]
    fn tokens_follow_the_pixels() {
        let tokens = |width, height| Image::new("a", &png(width, height)).expect("an image").estimated_tokens();
        assert_eq!((tokens(8, 8), tokens(600, 500), tokens(4_000, 4_000)), (85, 400, 1_600));
    }

    #[test]
    fn words_say_what_was_left_out() {
        let image = Image::new("shot.png", &png(640, 480)).expect("an image");
        assert_eq!(image.omission_note(), "[The image shot.png (image/png, 640x480 pixels) was left out: the model cannot see images.]");
        assert!(image.data_url().starts_with("data:image/png;base64,iVBORw0KGgo"), "{}", image.data_url());
    }
}
