// Package protocoltest has what the tests of sessions share.
package protocoltest

import (
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/runner/protocol"
)

// Recorder is a protocol.Handler that writes events down as lines. Pieces of a body that come one after another make
// one line.
type Recorder struct{ lines []string }

func (r *Recorder) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// OnStatus implements protocol.Handler.
func (r *Recorder) OnStatus(tok uint32, status int) { r.add("%d status %d", tok, status) }

// OnHeader implements protocol.Handler.
func (r *Recorder) OnHeader(tok uint32, name, value []byte) { r.add("%d %s: %s", tok, name, value) }

// OnTrailer implements protocol.Handler.
func (r *Recorder) OnTrailer(tok uint32, name, value []byte) {
	r.add("%d trailer %s: %s", tok, name, value)
}

// OnData implements protocol.Handler.
func (r *Recorder) OnData(tok uint32, p []byte) {
	prefix := fmt.Sprintf("%d data ", tok)
	if n := len(r.lines); n > 0 && strings.HasPrefix(r.lines[n-1], prefix) {
		r.lines[n-1] += string(p)
		return
	}
	r.add("%s%s", prefix, p)
}

// OnDone implements protocol.Handler.
func (r *Recorder) OnDone(tok uint32, o protocol.Outcome) {
	name := []string{"completed", "reset", "unprocessed", "refused", "lost"}[o.Kind]
	if o.Code != 0 {
		name += " " + protocol.CodeName(o.Code)
	}
	r.add("%d %s", tok, name)
}

// Take returns the lines since the last call.
func (r *Recorder) Take() []string {
	lines := r.lines
	r.lines = nil
	return lines
}
