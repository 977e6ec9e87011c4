"""A server of HTTP/3: h3.py PORT CERTIFICATE KEY COUNT. It writes the number of requests to the file COUNT.

It sends Retry to each client. The path /reset resets the stream, and others get 612 octets."""
import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated

port, certificate, key, count = sys.argv[1:]
requests = 0


class Server(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for e in self.http.handle_event(event):
            if isinstance(e, HeadersReceived):
                self.answer(e.stream_id, dict(e.headers))
        self.transmit()

    def answer(self, stream, headers):
        global requests
        requests += 1
        with open(count, "w") as f:
            f.write(str(requests))
        if headers[b":path"] == b"/reset":
            self._quic.reset_stream(stream, 0x10B)
            return
        head = headers[b":method"] == b"HEAD"
        self.http.send_headers(stream, [(b":status", b"200"), (b"content-length", b"612")], end_stream=head)
        if not head:
            self.http.send_data(stream, b"a" * 612, end_stream=True)


async def main():
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(certificate, key)
    await serve("127.0.0.1", int(port), configuration=configuration, create_protocol=Server, retry=True)
    print("listening", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
