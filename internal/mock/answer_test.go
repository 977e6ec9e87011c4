package mock

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

func wantFields(a answer, size int) []xhpack.HeaderField {
	fields := map[answer][]string{
		answerCreated:    {":status", "201", "content-length", "0", "location", "/a"},
		answerContent:    {":status", "200", "content-type", "application/json", "content-length", strconv.Itoa(size)},
		answerHead:       {":status", "200", "content-type", "application/json", "content-length", strconv.Itoa(size)},
		answerNoContent:  {":status", "204"},
		answerNotFound:   {":status", "404", "content-length", "0"},
		answerNotAllowed: {":status", "405", "content-length", "0", "allow", "GET, HEAD, POST, PUT, PATCH, DELETE"},
		answerTooLong:    {":status", "414", "content-length", "0"},
		answerFull:       {":status", "503", "content-length", "0"},
	}[a]
	var want []xhpack.HeaderField
	for i := 0; i < len(fields); i += 2 {
		want = append(want, xhpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return want
}

// TestEncoderAgainstDecoder lets answers of all kinds come in all orders, and decodes them with
// the table that the blocks before have made.
func TestEncoderAgainstDecoder(t *testing.T) {
	for _, size := range []int{0, 15, 100000} {
		e := newEncoder(size)
		for seed := range uint64(40) {
			r := rand.New(rand.NewPCG(seed, 0))
			state, tableSize := uint8(emptyState), e.tableSize
			if seed%4 == 0 {
				state, tableSize = staticState, 0
			}
			dec := xhpack.NewDecoder(tableSize, nil) // not an octet more than is said to be needed
			for range 50 {
				a := answer(r.IntN(int(answerCount)))
				var block []byte
				block, state = e.append(nil, state, a)
				if a == answerCreated {
					block = hpack.AppendString(block, []byte("/a"))
				}
				got, err := dec.DecodeFull(block)
				if err != nil {
					t.Fatalf("seed %d, answer %d: %v", seed, a, err)
				}
				if diff := cmp.Diff(wantFields(a, size), got, cmp.Comparer(func(x, y xhpack.HeaderField) bool {
					return x.Name == y.Name && x.Value == y.Value
				})); diff != "" {
					t.Fatalf("seed %d, answer %d (-want +got):\n%s", seed, a, diff)
				}
			}
		}
	}
}

func TestEncoderHasFewStates(t *testing.T) {
	e := newEncoder(len(defaultBody))
	if len(e.states) > 64 || e.tableSize > 512 {
		t.Errorf("%d states, a table of %d octets", len(e.states), e.tableSize)
	}
	block, state := e.append(nil, emptyState, answerContent)
	again, _ := e.append(nil, state, answerContent)
	if len(block) < 10 || len(again) != 3 {
		t.Errorf("the first 200 takes %d octets, the next %d, want 3", len(block), len(again))
	}
}
