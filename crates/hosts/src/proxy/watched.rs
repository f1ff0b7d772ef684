//! TCP stream that reports inactivity.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::sleep,
};

/// Counts the bytes that pass, to detect an idle connection.
#[derive(Debug)]
pub(super) struct IdleTrackedStream {
    stream: TcpStream,
    passed: Arc<AtomicU64>,
}

impl IdleTrackedStream {
    /// Wraps the stream. Also returns a future that ends when no byte has passed for `patience`, or for up to twice
    /// as long.
    pub(super) fn new(stream: TcpStream, patience: Duration) -> (Self, impl Future<Output = ()>) {
        let passed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&passed);
        let quiet = async move {
            loop {
                let before = counted.load(Ordering::Relaxed);
                sleep(patience).await;
                if counted.load(Ordering::Relaxed) == before {
                    break;
                }
            }
        };
        (Self { stream, passed }, quiet)
    }

    fn pass(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }
}

impl AsyncRead for IdleTrackedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.pass();
        Poll::Ready(read)
    }
}

impl AsyncWrite for IdleTrackedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.pass();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
