import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Echo is a server of the service test.Echo on grpc-java, whose counts the method Counts returns in JSON. Arguments: the port, and the age of
 * connections in ms.
 */
public final class Echo {
  private static final byte[] DETAILS =
      "\b\b\u0012\u0004none\u001a\u0028\n\u001dtype.googleapis.com/test.Text\u0012\u0007\n\u0005quota".getBytes(StandardCharsets.US_ASCII);
  private static final Metadata.Key<String> DO = Metadata.Key.of("do", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
  private static final Set<String> METHODS = Set.of("Unary", "Download", "Upload", "Both", "Counts");
  private static final Status EXHAUSTED = Status.RESOURCE_EXHAUSTED.withDescription("none left, 100 %");
  private static final Map<String, Long> COUNTS = new TreeMap<>();

  private Echo() {}

  private static synchronized void count(String name) {
    COUNTS.merge(name, 1L, Long::sum);
  }

  private static synchronized byte[] counts() {
    return COUNTS.entrySet().stream()
        .map(e -> "\"" + e.getKey() + "\":" + e.getValue())
        .collect(Collectors.joining(",", "{", "}"))
        .getBytes(StandardCharsets.UTF_8);
  }

  /** Octets is the marshaller of messages that are encoded already. */
  private static final class Octets implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw Status.INTERNAL.withCause(e).asRuntimeException();
      }
    }
  }

  /** Methods finds the methods of the service. */
  private static final class Methods extends HandlerRegistry {
    @Override
    public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
      String method = name.substring(name.indexOf('/') + 1);
      if (!METHODS.contains(method)) {
        return null;
      }
      MethodDescriptor<byte[], byte[]> descriptor =
          MethodDescriptor.<byte[], byte[]>newBuilder(new Octets(), new Octets())
              .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(name)
              .build();
      ServerCallHandler<byte[], byte[]> handler = (call, headers) -> new Answer(call, method, headers.get(DO));
      return ServerMethodDefinition.create(descriptor, handler);
    }
  }

  /** Answer answers a call. */
  private static final class Answer extends ServerCall.Listener<byte[]> {
    private final ServerCall<byte[], byte[]> call;
    private final String method;
    private final String does;
    private boolean closed;

    Answer(ServerCall<byte[], byte[]> call, String method, String does) {
      this.call = call;
      this.method = method;
      this.does = does == null ? "" : does;
      begin();
    }

    private void begin() {
      if (method.equals("Counts")) {
        call.sendHeaders(new Metadata());
        call.sendMessage(counts());
        close(Status.OK, new Metadata());
        return;
      }
      count("calls");
      Deadline deadline = Context.current().getDeadline();
      if (does.equals("sleep")) {
        return;
      }
      if (does.equals("details")) {
        Metadata trailers = new Metadata();
        trailers.put(STATUS_DETAILS, DETAILS);
        close(Status.RESOURCE_EXHAUSTED.withDescription("none"), trailers);
      } else if (does.equals("deadline") && (deadline == null || deadline.timeRemaining(TimeUnit.MILLISECONDS) > 5000)) {
        close(Status.FAILED_PRECONDITION.withDescription("no deadline within 5 s"), new Metadata());
      } else {
        call.request(1);
      }
    }

    private void close(Status status, Metadata trailers) {
      closed = true;
      call.close(status, trailers);
    }

    /** send sends a message, and the header before the first one. */
    private void send(boolean first) {
      if (first) {
        if (does.equals("compress")) {
          call.setCompression("gzip");
        }
        call.sendHeaders(new Metadata());
      }
      count("sent");
      byte[] text = {'\n', 2, 'o', 'k'};
      if (does.equals("large")) {
        text = ("\n__" + "x".repeat(10_000)).getBytes(StandardCharsets.US_ASCII);
        text[1] = (byte) 0x90;
        text[2] = 0x4e;
      }
      call.sendMessage(text);
      if (does.equals("exhausted")) {
        close(EXHAUSTED, new Metadata());
      }
    }

    private boolean sent;

    @Override
    public void onMessage(byte[] message) {
      if (closed) {
        return;
      }
      count("received");
      if (method.equals("Both")) {
        send(!sent);
        sent = true;
      }
      if (!closed) {
        call.request(1);
      }
    }

    @Override
    public void onHalfClose() {
      if (closed || does.equals("sleep")) {
        return;
      }
      if (method.equals("Unary") && does.equals("exhausted")) {
        close(EXHAUSTED, new Metadata());
        return;
      }
      int messages = method.equals("Both") ? 0 : method.equals("Download") ? 3 : 1;
      for (int i = 0; i < messages && !closed; i++) {
        send(i == 0);
      }
      if (!closed) {
        close(Status.OK, new Metadata());
      }
    }

    @Override
    public void onCancel() {
      if (does.equals("sleep")) {
        count("ended");
      }
    }
  }

  /** Serves until the process ends. */
  public static void main(String[] arguments) throws Exception {
    NettyServerBuilder server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])))
            .fallbackHandlerRegistry(new Methods());
    long age = Long.parseLong(arguments[1]);
    if (age > 0) {
      server.maxConnectionAge(age, TimeUnit.MILLISECONDS);
    }
    server.build().start().awaitTermination();
  }
}
