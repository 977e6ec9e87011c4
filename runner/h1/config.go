package h1

// Defaults and bounds.
const (
	defaultPipeline       = 1
	defaultMaxHeaderBytes = 64 << 10
	largestPipeline       = 1 << 16
	largestHeaderBytes    = 16 << 20

	// maxInterim bounds the 1xx responses before a final one. RFC 9110 15.2 allows
	// any number, but a peer that sends nothing else is broken.
	maxInterim = 100
	// maxChunkLine bounds a chunk's size with its extensions, in octets. RFC 9112
	// 7.1.1 requires a limit.
	maxChunkLine = 4096
	// maxChunkDigits keeps a chunk's size within an int64.
	maxChunkDigits = 15
)

// Config has the bounds of a session. If a field is zero, the session uses the default
// in its comment. Values out of range are replaced by the nearest bound.
type Config struct {
	// Pipeline is how many requests may be in flight (RFC 9112 9.3.2): 1, without
	// pipelining.
	Pipeline int
	// NoKeepAlive: one request for each connection. The session is Draining after
	// the first Open. The caller adds "connection: close" to the request.
	NoKeepAlive bool
	// MaxHeaderBytes bounds the head of a response, and the trailer section of
	// a chunked one, in octets: 64 KiB. A longer one is malformed.
	MaxHeaderBytes int
}

func (c Config) withDefaults() Config {
	if c.Pipeline <= 0 {
		c.Pipeline = defaultPipeline
	}
	if c.MaxHeaderBytes <= 0 {
		c.MaxHeaderBytes = defaultMaxHeaderBytes
	}
	c.Pipeline = min(c.Pipeline, largestPipeline)
	c.MaxHeaderBytes = min(c.MaxHeaderBytes, largestHeaderBytes)
	if c.NoKeepAlive {
		c.Pipeline = 1
	}
	return c
}
