package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// peerSettings are the SETTINGS of the other side (RFC 9113 6.5.2), without those
// that have no effect here: the session never pushes, and a request's header is as
// large as the user makes it.
type peerSettings struct {
	maxConcurrent uint32
	initialWindow uint32
	maxFrame      uint32
	table         encoderTable
}

func initialPeerSettings() peerSettings {
	return peerSettings{
		maxConcurrent: 1<<32 - 1,
		initialWindow: initialWindowSize,
		maxFrame:      minMaxFrameSize,
		table:         encoderTable{size: hpack.DefaultTableSize},
	}
}

// apply handles the payload of a SETTINGS frame, in order (RFC 9113 6.5.3).
// Unknown settings are ignored.
func (s *peerSettings) apply(p []byte, fromServer bool) *ConnError {
	for ; len(p) >= settingLen; p = p[settingLen:] {
		id, v := http2.SettingID(binary.BigEndian.Uint16(p)), binary.BigEndian.Uint32(p[2:])
		if err := s.set(id, v, fromServer); err != nil {
			return err
		}
	}
	return nil
}

func (s *peerSettings) set(id http2.SettingID, v uint32, fromServer bool) *ConnError {
	switch id {
	case http2.SettingHeaderTableSize:
		s.table.resize(v)
	case http2.SettingEnablePush:
		if v > 1 || (v == 1 && fromServer) {
			return &ConnError{http2.ErrCodeProtocol, "SETTINGS_ENABLE_PUSH out of range"}
		}
	case http2.SettingMaxConcurrentStreams:
		s.maxConcurrent = v
	case http2.SettingInitialWindowSize:
		if v > maxWindow {
			return &ConnError{http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1"}
		}
		s.initialWindow = v
	case http2.SettingMaxFrameSize:
		if v < minMaxFrameSize || v > maxMaxFrameSize {
			return &ConnError{http2.ErrCodeProtocol, "SETTINGS_MAX_FRAME_SIZE out of range"}
		}
		s.maxFrame = v
	}
	return nil
}

// encoderTable is the size of the dynamic table for sending, and the size updates
// that the peer must get after it changed the size. The session never uses more
// than the default, because requests do not repeat more fields than fit.
type encoderTable struct {
	size  uint32
	low   uint32 // with owed, the smallest size since the last update was sent
	owed  bool   // the next header block must begin with an update
	epoch uint32 // counts changes
}

// resize applies a SETTINGS_HEADER_TABLE_SIZE.
func (t *encoderTable) resize(v uint32) {
	n := min(v, hpack.DefaultTableSize)
	if n == t.size {
		return
	}
	if !t.owed {
		t.low = n
	}
	t.size, t.low, t.owed = n, min(t.low, n), true
	t.epoch++
}

// appendUpdates appends the beginning of the next header block: the smallest size
// since the last block, then the current one (RFC 7541 4.2).
func (t *encoderTable) appendUpdates(dst []byte) []byte {
	if !t.owed {
		return dst
	}
	if t.low < t.size {
		dst = hpack.AppendTableSizeUpdate(dst, t.low)
	}
	return hpack.AppendTableSizeUpdate(dst, t.size)
}

// sent notes that the updates were sent.
func (t *encoderTable) sent() { t.owed = false }
