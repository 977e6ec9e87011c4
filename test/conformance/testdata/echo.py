"""A server of the service Echo, whose counts the method Counts returns in JSON. Arguments: the port, and the age of connections in ms."""
import collections
import concurrent.futures
import json
import sys
import threading

import grpc

DETAILS = b"\x08\x08\x12\x04none\x1a\x28\x0a\x1dtype.googleapis.com/test.Text\x12\x07\x0a\x05quota"
OK = b"\x0a\x02ok"
counts = collections.Counter()
lock = threading.Lock()


def count(name, n=1):
    with lock:
        counts[name] += n


def watched(request_iterator):
    for message in request_iterator:
        count("received")
        yield message


def answers(name, messages, context):
    """Yields the messages of the response to a call."""
    count("calls")
    do = dict(context.invocation_metadata()).get("do")
    if do == "sleep":
        ended = threading.Event()
        if context.add_callback(ended.set):
            ended.wait()
        count("ended")
        return
    if do == "deadline" and not 0 < (context.time_remaining() or 0) <= 5:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no deadline within 5 s")
    if do == "compress":
        context.set_compression(grpc.Compression.Gzip)
    if do == "details":
        context.set_trailing_metadata((("grpc-status-details-bin", DETAILS),))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "none")
    if do == "exhausted" and name == "Unary":
        list(messages)
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "none left, 100 %")
    text = b"\x0a\x90\x4e" + b"x" * 10000 if do == "large" else OK
    if name == "Both":
        sent = (text for _ in messages)
    else:
        list(messages)
        sent = [text] * (3 if name == "Download" else 1)
    for message in sent:
        count("sent")
        yield message
        if do == "exhausted":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "none left, 100 %")


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        name = details.method.rsplit("/", 1)[1]
        if name == "Counts":
            return grpc.unary_unary_rpc_method_handler(lambda *_: json.dumps(counts).encode())
        if name not in ("Unary", "Download", "Upload", "Both"):
            return None
        return grpc.stream_stream_rpc_method_handler(lambda messages, context: answers(name, watched(messages), context))


server = grpc.server(
    concurrent.futures.ThreadPoolExecutor(max_workers=64),
    handlers=[Echo()],
    options=[("grpc.max_connection_age_ms", int(sys.argv[2])), ("grpc.so_reuseport", 0)] if int(sys.argv[2]) else [],
)
server.add_insecure_port("127.0.0.1:" + sys.argv[1])
server.start()
server.wait_for_termination()
