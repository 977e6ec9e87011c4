//! A server of HTTP/3: quinn-h3 PORT CERTIFICATE KEY COUNT. It writes the number of requests to the file COUNT, and
//! those that came as early data to COUNT.early.
//!
//! It sends Retry to each client whose address it does not know, and reads early data. The path /reset rejects the
//! request, and the others get 612 octets.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::{Connection, RequestStream};
use http::{Method, Request, Response};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The number of requests, and the file that has it.
struct Count {
    requests: AtomicU64,
    file: Mutex<String>,
}

impl Count {
    fn new(file: String) -> Result<Self, Failure> {
        std::fs::write(&file, "0")?;
        Ok(Count { requests: AtomicU64::new(0), file: Mutex::new(file) })
    }

    fn add(&self) -> Result<(), Failure> {
        let file = self.file.lock().unwrap();
        let n = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(std::fs::write(&*file, n.to_string())?)
    }
}

struct Counts {
    all: Count,
    early: Count,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, certificate, key, count] = args.as_slice() else {
        return Err("use: quinn-h3 PORT CERTIFICATE KEY COUNT".into());
    };
    let counts = Arc::new(Counts { all: Count::new(count.clone())?, early: Count::new(format!("{count}.early"))? });
    let address = SocketAddr::from(([127, 0, 0, 1], port.parse()?));
    let endpoint = quinn::Endpoint::server(config(certificate, key)?, address)?;
    println!("listening");
    while let Some(incoming) = endpoint.accept().await {
        if !incoming.remote_address_validated() && incoming.may_retry() {
            incoming.retry()?;
            continue;
        }
        let counts = counts.clone();
        tokio::spawn(async move {
            if let Err(e) = serve(incoming, counts).await {
                eprintln!("{e}");
            }
        });
    }
    Ok(())
}

fn config(certificate: &str, key: &str) -> Result<quinn::ServerConfig, Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.max_early_data_size = u32::MAX;
    let quic = quinn::crypto::rustls::QuicServerConfig::try_from(tls)?;
    Ok(quinn::ServerConfig::with_crypto(Arc::new(quic)))
}

/// Serves a connection to its end.
async fn serve(incoming: quinn::Incoming, counts: Arc<Counts>) -> Result<(), Failure> {
    let mut connecting = incoming.accept()?;
    connecting.handshake_data().await?; // no stream can be opened before the client's limits are known
    let early = Arc::new(AtomicBool::new(true)); // until the handshake is complete
    let connection = match connecting.into_0rtt() {
        Ok((connection, complete)) => {
            let early = early.clone();
            tokio::spawn(async move {
                complete.await;
                early.store(false, Ordering::SeqCst);
            });
            connection
        }
        Err(connecting) => {
            early.store(false, Ordering::SeqCst);
            connecting.await?
        }
    };
    let mut h3 = Connection::new(h3_quinn::Connection::new(connection.clone())).await?;
    while let Some(resolver) = h3.accept().await? {
        let (request, stream) = resolver.resolve_request().await?;
        counts.all.add()?;
        if early.load(Ordering::SeqCst) {
            counts.early.add()?;
        }
        tokio::spawn(async move {
            if let Err(e) = answer(request, stream).await {
                eprintln!("{e}");
            }
        });
    }
    connection.closed().await; // the client closes when it has all responses
    Ok(())
}

async fn answer<S>(request: Request<()>, mut stream: RequestStream<S, Bytes>) -> Result<(), Failure>
where
    S: h3::quic::BidiStream<Bytes>,
{
    if request.uri().path() == "/reset" {
        stream.stop_sending(Code::H3_REQUEST_REJECTED);
        stream.stop_stream(Code::H3_REQUEST_REJECTED);
        return Ok(());
    }
    while let Some(mut p) = stream.recv_data().await? {
        p.advance(p.remaining());
    }
    stream.send_response(Response::builder().header("content-length", "612").body(())?).await?;
    if request.method() != Method::HEAD {
        stream.send_data(Bytes::from_static(&[b'a'; 612])).await?;
    }
    Ok(stream.finish().await?)
}
