package grpc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Gzip compresses messages of requests, and decompresses those of responses. It belongs to one goroutine. The zero
// value has no memory until it is used. It compresses at the fastest level: the default level clears half a megabyte
// for each message, which costs 20 times as much for a message of 50 octets.
type Gzip struct {
	writer *gzip.Writer
	reader *gzip.Reader
	in     bytes.Reader
	octets buffer
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// compress replaces dst[at:] by what it is compressed.
func (g *Gzip) compress(dst []byte, at int) []byte {
	g.octets = g.octets[:0]
	if g.writer == nil {
		g.writer, _ = gzip.NewWriterLevel(&g.octets, gzip.BestSpeed)
	} else {
		g.writer.Reset(&g.octets)
	}
	_, _ = g.writer.Write(dst[at:]) // a buffer takes all
	_ = g.writer.Close()
	return append(dst[:at], g.octets...)
}

// ErrTooLarge means that the messages of a response take more octets, decompressed, than may be kept.
var ErrTooLarge = errors.New("the messages are too large when they are decompressed")

// decompress returns the octets of a message, of which at most so many may be kept. They are valid until the next call.
func (g *Gzip) decompress(message []byte, most int) (octets []byte, err error) {
	g.in.Reset(message)
	if g.reader == nil {
		g.reader = new(gzip.Reader)
	}
	if err := g.reader.Reset(&g.in); err != nil {
		return nil, fmt.Errorf("a message is not compressed with gzip: %w", err)
	}
	g.octets = g.octets[:0]
	for {
		if len(g.octets) == cap(g.octets) {
			g.octets = append(g.octets, 0)[:len(g.octets)]
		}
		n, err := g.reader.Read(g.octets[len(g.octets):cap(g.octets)])
		switch g.octets = g.octets[:len(g.octets)+n]; {
		case len(g.octets) > most:
			return nil, ErrTooLarge
		case errors.Is(err, io.EOF):
			return g.octets, nil
		case err != nil:
			return nil, fmt.Errorf("a message is not compressed with gzip: %w", err)
		}
	}
}
