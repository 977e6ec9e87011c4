//go:build !race

package multipart

import "testing"

func TestReadAllocatesNothing(t *testing.T) {
	contentType, content := written([3]string{"application/json", "", "{}"}, [3]string{"a/b", "n1", "x"})
	kind, body := []byte(contentType), []byte(content)
	if n := testing.AllocsPerRun(100, func() { _, _ = Find(kind, body, "n1"); Root(body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
