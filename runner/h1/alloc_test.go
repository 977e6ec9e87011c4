//go:build !race

package h1

import (
	"strings"
	"testing"

	"github.com/h2surge/h2surge/runner/protocol"
)

func TestSteadyStateAllocatesNothing(t *testing.T) {
	differing := []byte(strings.Replace(string(nginxResponse), "12:00:00", "12:00:07", 1))
	chunked := []byte("HTTP/1.1 201 Created\r\nLocation: /a/1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nabcde\r\n0\r\nt: x\r\n\r\n")
	h := new(counter)
	c := NewClient(Config{Pipeline: 4}, h)
	turn := func() {
		for range 4 {
			c.Open(append(c.Begin(), getRequest...), 1, getRequest, protocol.WantHeaders|protocol.WantBody)
		}
		c.Wrote(len(c.Pending()))
		for _, r := range [][]byte{nginxResponse, differing, chunked, nginxResponse} {
			for _, piece := range [][]byte{r[:10], r[10:75], r[75:]} {
				if err := c.Receive(piece, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		exchange(t, c, nginxResponse, 0)
		exchange(t, c, differing, 0)
		exchange(t, c, chunked, 0)
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations in a turn of 7 requests", n)
	}
	if h.done != 7*102 {
		t.Errorf("%d completed", h.done)
	}
}
