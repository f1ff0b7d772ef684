//! Decodes answers that a server compresses with gzip although the request did not ask for it.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

/// First bytes of gzip data (RFC 1952 section 2.3.1).
const MAGIC: [u8; 2] = [0x1f, 0x8b];

type Pieces = BoxStream<'static, io::Result<Vec<u8>>>;

/// Unpacks a body that begins as gzip does, and passes on any other unchanged. It ignores the header, because proxies may lose it.
pub(super) fn unpacked(body: Pieces) -> Pieces {
    stream::unfold(Unpacking { body, head: Vec::new(), decoder: None, over: false }, |mut unpacking| async move {
        unpacking.next().await.map(|piece| (piece, unpacking))
    })
    .boxed()
}

struct Unpacking {
    body: Pieces,
    /// First bytes, until there are enough to decide.
    head: Vec<u8>,
    decoder: Option<Option<MultiGzDecoder<Vec<u8>>>>,
    over: bool,
}

impl Unpacking {
    async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        loop {
            if self.over {
                return None;
            }
            let piece = match self.body.next().await {
                Some(Ok(piece)) => piece,
                Some(Err(reason)) => {
                    self.over = true;
                    return Some(Err(reason));
                }
                None => {
                    self.over = true;
                    return match self.decoder.take() {
                        Some(Some(decoder)) => {
                            Some(decoder.finish().map_err(|error| io::Error::other(format!("the gzip data ends too early: {error}"))))
                        }
                        Some(None) => None,
                        None => Some(Ok(std::mem::take(&mut self.head))),
                    };
                }
            };
            let piece = match &self.decoder {
                Some(_) => piece,
                None => {
                    self.head.extend(piece);
                    if self.head.len() < MAGIC.len() {
                        continue;
                    }
                    let packed = self.head.starts_with(&MAGIC);
                    self.decoder = Some(packed.then(|| MultiGzDecoder::new(Vec::new())));
                    std::mem::take(&mut self.head)
                }
            };
            let Some(Some(decoder)) = &mut self.decoder else { return Some(Ok(piece)) };
            if let Err(error) = decoder.write_all(&piece).and_then(|()| decoder.flush()) {
                self.over = true;
                return Some(Err(io::Error::other(format!("the gzip data is damaged: {error}"))));
            }
            let out = std::mem::take(decoder.get_mut());
            if !out.is_empty() {
                return Some(Ok(out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], size: usize) -> Option<Vec<u8>> {
        let pieces: Vec<_> = bytes.chunks(size.max(1)).map(|piece| Ok(piece.to_vec())).collect();
        let pieces: Vec<io::Result<Vec<u8>>> = unpacked(stream::iter(pieces).boxed()).collect().await;
        pieces.into_iter().collect::<io::Result<Vec<_>>>().ok().map(|pieces| pieces.concat())
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[tokio::test]
    async fn packed_bodies_are_unpacked_and_others_stay() {
        let text = b"data: {\"choices\": []}\n\n".repeat(50);
        for size in [1, 2, 7, 10_000] {
            assert_eq!(read(&packed(&text), size).await, Some(text.clone()), "{size}");
            assert_eq!(read(&text, size).await, Some(text.clone()), "{size}");
            assert_eq!(read(b"", size).await, Some(Vec::new()));
            assert_eq!(read(b"\x1f", size).await, Some(vec![0x1f]));
        }
        let whole = packed(&text);
        assert!(read(&whole[..whole.len() - 9], 5).await.is_none(), "a cut body is no whole one");
    }
}
