package h2

import (
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// TestFloodBoundOfUpload: the out buffer of a long upload is never empty, and the peer reads what is in it.
func TestFloodBoundOfUpload(t *testing.T) {
	v := converse(t, Config{})
	v.mustReceive(AppendSettings(nil, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}))
	v.mustReceive(AppendWindowUpdate(nil, 0, 1<<31-1-initialWindowSize))
	v.open(make([]byte, 64<<20), protocol.StableBody)
	for range 3 * maxControl {
		v.mustReceive(AppendPing(nil, false, [8]byte{}))
		v.Wrote(min(20<<10, len(v.Pending())))
	}
}

// TestFloodBoundOfWrites: a peer that reads one octet and no more does not lift the bound.
func TestFloodBoundOfWrites(t *testing.T) {
	v := converse(t, Config{})
	v.Wrote(len(v.Pending()))
	n := 0
	for v.Receive(AppendPing(nil, false, [8]byte{}), 0) == nil {
		if n++; n == maxControl {
			v.Wrote(1)
			v.Wrote(0)
		}
	}
	if n != 2*maxControl {
		t.Errorf("%d acknowledgements, want %d", n, 2*maxControl)
	}
}
