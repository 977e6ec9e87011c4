package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func codesOf(c *Codes) map[int]int64 {
	out := map[int]int64{}
	c.Each(func(code int, n int64) { out[code] = n })
	return out
}

func TestCodes(t *testing.T) {
	var c, total Codes
	for _, code := range []int{200, 100, 999, 200, 599} {
		c.Add(code, 1)
	}
	c.foldInto(&total)
	c.Add(200, 1)
	c.foldInto(&total)
	if diff := cmp.Diff(map[int]int64{100: 1, 200: 3, 599: 1, 999: 1}, codesOf(&total)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := codesOf(&c); len(got) > 0 {
		t.Errorf("folded codes still have %v", got)
	}
	if n := testing.AllocsPerRun(10, func() { c.Add(204, 1) }); n > 0 {
		t.Errorf("counting a code of a known class allocates %v times", n)
	}
}
