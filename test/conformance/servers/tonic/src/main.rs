//! A server of the service test.Echo on tonic, whose counts the method Counts returns in JSON.
//! Arguments: the port, and the age of connections in ms.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::future::{pending, Future};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{http, Service};
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::transport::Server;
use tonic::{body::Body, Code, Request, Response, Status, Streaming};

const DETAILS: &[u8] = b"\x08\x08\x12\x04none\x1a\x28\x0a\x1dtype.googleapis.com/test.Text\x12\x07\x0a\x05quota";
const OK: &[u8] = b"\x0a\x02ok";

/// Octets is the codec of messages that are encoded already.
#[derive(Clone)]
struct Octets;

impl Codec for Octets {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Octets;
    type Decoder = Octets;
    fn encoder(&mut self) -> Octets {
        Octets
    }
    fn decoder(&mut self) -> Octets {
        Octets
    }
}

impl Encoder for Octets {
    type Item = Vec<u8>;
    type Error = Status;
    fn encode(&mut self, item: Vec<u8>, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        dst.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Octets {
    type Item = Vec<u8>;
    type Error = Status;
    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(src.copy_to_bytes(src.remaining()).to_vec()))
    }
}

/// Counts are the counts of all calls, by name.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Counts {
    fn add(&self, name: &'static str) {
        *self.0.lock().unwrap().entry(name).or_default() += 1;
    }

    fn json(&self) -> Vec<u8> {
        let fields: Vec<String> = self.0.lock().unwrap().iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
        format!("{{{}}}", fields.join(",")).into_bytes()
    }
}

/// Ended counts the end of a call that has no other end.
struct Ended(Counts);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.add("ended");
    }
}

/// Echo is the service.
#[derive(Clone)]
struct Echo {
    counts: Counts,
}

impl NamedService for Echo {
    const NAME: &'static str = "test.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let method = path.rsplit('/').next().unwrap_or_default().to_string();
        let compress = request.headers().get("do").is_some_and(|v| v == "compress");
        let call = Call { method, counts: self.counts.clone() };
        Box::pin(async move {
            let mut grpc = Grpc::new(Octets).accept_compressed(CompressionEncoding::Gzip);
            if compress {
                grpc = grpc.send_compressed(CompressionEncoding::Gzip);
            }
            Ok(grpc.streaming(call, request).await)
        })
    }
}

/// Call is a call of a method.
#[derive(Clone)]
struct Call {
    method: String,
    counts: Counts,
}

type Answers = ReceiverStream<Result<Vec<u8>, Status>>;

impl StreamingService<Vec<u8>> for Call {
    type Response = Vec<u8>;
    type ResponseStream = Answers;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answers>, Status>> + Send>>;

    fn call(&mut self, request: Request<Streaming<Vec<u8>>>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

/// within_deadline returns whether a call has a deadline of at most 5 s.
fn within_deadline(request: &Request<Streaming<Vec<u8>>>) -> bool {
    let Some(value) = request.metadata().get("grpc-timeout").and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let (digits, unit) = value.split_at(value.len() - 1);
    let Ok(n) = digits.parse::<u64>() else { return false };
    let left = match unit {
        "S" => Duration::from_secs(n),
        "m" => Duration::from_millis(n),
        "u" => Duration::from_micros(n),
        "n" => Duration::from_nanos(n),
        _ => return false,
    };
    left <= Duration::from_secs(5)
}

impl Call {
    async fn answer(self, request: Request<Streaming<Vec<u8>>>) -> Result<Response<Answers>, Status> {
        match self.method.as_str() {
            "Counts" => return Ok(once(vec![self.counts.json()])),
            "Unary" | "Download" | "Upload" | "Both" => {}
            _ => return Err(Status::unimplemented("")),
        }
        self.counts.add("calls");
        let does = request.metadata().get("do").and_then(|v| v.to_str().ok()).unwrap_or_default().to_string();
        match does.as_str() {
            "sleep" => {
                let _ended = Ended(self.counts.clone());
                return pending().await;
            }
            "details" => return Err(Status::with_details(Code::ResourceExhausted, "none", DETAILS.into())),
            "deadline" if !within_deadline(&request) => {
                return Err(Status::failed_precondition("no deadline within 5 s"));
            }
            _ => {}
        }
        let mut messages = request.into_inner();
        if self.method == "Both" {
            return Ok(self.echo(messages, does));
        }
        while messages.message().await?.is_some() {
            self.counts.add("received");
        }
        if does == "exhausted" && self.method == "Unary" {
            return Err(exhausted());
        }
        let (to, from) = mpsc::channel(4);
        for _ in 0..if self.method == "Download" { 3 } else { 1 } {
            if !self.send(&to, &does).await {
                break;
            }
        }
        Ok(Response::new(ReceiverStream::new(from)))
    }

    /// echo answers each message when it arrives.
    fn echo(self, mut messages: Streaming<Vec<u8>>, does: String) -> Response<Answers> {
        let (to, from) = mpsc::channel(4);
        tokio::spawn(async move {
            loop {
                match messages.message().await {
                    Ok(Some(_)) => self.counts.add("received"),
                    Ok(None) => return,
                    Err(status) => {
                        let _ = to.send(Err(status)).await;
                        return;
                    }
                }
                if !self.send(&to, &does).await {
                    return;
                }
            }
        });
        Response::new(ReceiverStream::new(from))
    }

    /// send sends a message. It returns false if the call ends after it.
    async fn send(&self, to: &mpsc::Sender<Result<Vec<u8>, Status>>, does: &str) -> bool {
        let text = match does {
            "large" => [b"\x0a\x90\x4e".to_vec(), vec![b'x'; 10_000]].concat(),
            _ => OK.to_vec(),
        };
        self.counts.add("sent");
        if to.send(Ok(text)).await.is_err() {
            return false;
        }
        if does == "exhausted" {
            let _ = to.send(Err(exhausted())).await;
        }
        does != "exhausted"
    }
}

fn exhausted() -> Status {
    Status::resource_exhausted("none left, 100 %")
}

/// once returns a response with some messages.
fn once(messages: Vec<Vec<u8>>) -> Response<Answers> {
    let (to, from) = mpsc::channel(messages.len());
    for message in messages {
        let _ = to.try_send(Ok(message));
    }
    Response::new(ReceiverStream::new(from))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<u64> = env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments[0] as u16));
    let mut server = Server::builder();
    if arguments[1] > 0 {
        server = server.max_connection_age(Duration::from_millis(arguments[1]));
    }
    server.add_service(Echo { counts: Counts::default() }).serve(address).await?;
    Ok(())
}
