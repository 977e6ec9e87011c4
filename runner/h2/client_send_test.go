package h2

import (
	"testing"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// TestSend: a body that its owner sends in pieces, within the windows.
func TestSend(t *testing.T) {
	begin := func(t *testing.T, window uint32, body string) *conversation {
		v := converse(t, Config{ResetsPerSecond: 1, ResetBurst: 1}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
		v.open([]byte(body), protocol.WantHeaders|protocol.Unfinished)
		return v
	}
	const head = "HEADERS 1 82"
	response := headers(1, true, ":status", "200")
	for name, tt := range map[string]struct {
		window uint32
		body   string
		do     func(v *conversation)
		want   []string
		left   int
	}{
		"pieces": {100, "ab", func(v *conversation) { v.Send(1, []byte("cde"), false); v.Send(1, []byte("f"), true) },
			[]string{head, "DATA 1 len 2", "DATA 1 len 3", "DATA 1 len 1 end"}, 1},
		"nothing at first":         {100, "", func(v *conversation) { v.Send(1, []byte("a"), true) }, []string{head, "DATA 1 len 1 end"}, 1},
		"an end alone":             {100, "a", func(v *conversation) { v.Send(1, nil, true) }, []string{head, "DATA 1 len 1", "DATA 1 len 0 end"}, 1},
		"an end without a window":  {0, "", func(v *conversation) { v.Send(1, nil, true) }, []string{head, "DATA 1 len 0 end"}, 1},
		"a full window":            {3, "ab", func(v *conversation) { v.Send(1, []byte("cde"), false) }, []string{head, "DATA 1 len 2", "DATA 1 len 1"}, 1},
		"a window that opens":      {1, "ab", func(v *conversation) { v.Send(1, []byte("c"), true); v.mustReceive(AppendWindowUpdate(nil, 1, 10)) }, []string{head, "DATA 1 len 1", "DATA 1 len 2 end"}, 1},
		"a window before the rest": {1, "ab", func(v *conversation) { v.mustReceive(AppendWindowUpdate(nil, 1, 10)); v.Send(1, []byte("c"), true) }, []string{head, "DATA 1 len 1", "DATA 1 len 1", "DATA 1 len 1 end"}, 1},
		"the response ends first":  {100, "a", func(v *conversation) { v.mustReceive(response); v.Send(1, []byte("late"), true) }, []string{head, "DATA 1 len 1", "DATA 1 len 0 end"}, 0},
		"the response ends first, without a window": {1, "ab", func(v *conversation) { v.mustReceive(response); v.mustReceive(AppendWindowUpdate(nil, 1, 10)) },
			[]string{head, "DATA 1 len 1", "DATA 1 len 1 end"}, 0},
		"cancelled": {100, "a", func(v *conversation) { v.Cancel(1, 0); v.Send(1, []byte("late"), true) }, []string{head, "DATA 1 len 1", "RST_STREAM 1 CANCEL"}, 0},
		"cancelled, budget is used up": {100, "a", func(v *conversation) {
			v.Cancel(v.get(), 0)
			v.sent()
			v.Cancel(1, 0)
			v.Send(1, []byte("late"), true)
			v.mustReceive(response)
		}, nil, 1},
		"no such stream":   {100, "a", func(v *conversation) { v.Send(3, []byte("x"), true) }, []string{head, "DATA 1 len 1"}, 1},
		"finished already": {100, "a", func(v *conversation) { v.Send(1, nil, true); v.Send(1, []byte("x"), true) }, []string{head, "DATA 1 len 1", "DATA 1 len 0 end"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := begin(t, tt.window, tt.body)
			tt.do(v)
			want(t, "sent", v.sent(), tt.want...)
			if v.streams.count != tt.left {
				t.Errorf("%d streams are open, want %d", v.streams.count, tt.left)
			}
		})
	}
}
