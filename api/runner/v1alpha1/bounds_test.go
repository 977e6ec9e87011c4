package v1alpha1

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestSizeOf(t *testing.T) {
	for text, want := range map[string]Size{
		``:                           {Elements: 0, Members: 0},
		`{"a":1,"b":2}`:              {Elements: 1, Members: 2},
		`{"a":[1,2,3]}`:              {Elements: 4, Members: 1},
		`{"a":[{},{}],"b":{"c":[]}}`: {Elements: 7, Members: 5},
		`{"a":"[,,,\"[,,,{"}`:        {Elements: 1, Members: 1},
		`{"a":"\\","b":[0,0]}`:       {Elements: 3, Members: 2},
		`]]]],,,{`:                   {Elements: 1, Members: 1},
		`[[[[[[[[[[[[[`:              {Elements: 11, Members: 0},
	} {
		want.Octets = len(text)
		if got := sizeOf([]byte(text), 10); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestHostileSnapshots: the memory that an answer allocates is bounded, also if elements of lists have the wrong type.
func TestHostileSnapshots(t *testing.T) {
	members := strings.Builder{}
	for i := range 1 << 18 {
		fmt.Fprintf(&members, `"%x":1,`, i)
	}
	for name, document := range map[string]string{
		"members":       `{"statusCodes":{` + members.String() + `"":1}}`,
		"empty objects": `{"steps":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"numbers":       `{"steps":[` + strings.Repeat("1,", 1<<20) + `1]}`,
		"nulls":         `{"samples":[` + strings.Repeat("null,", 1<<19) + `null]}`,
		"nested":        strings.Repeat("[", 3<<20),
		"too long":      strings.Repeat(" ", maxDocument+1),
	} {
		t.Run(name, func(t *testing.T) {
			wire := append(binary.BigEndian.AppendUint32(nil, uint32(len(document))), document...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := (&Snapshot{}).ReadBinary(bytes.NewReader(wire), int64(len(wire)))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "allowed: at most") {
				t.Errorf("error %v", err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 2*uint64(len(wire))+1<<20 {
				t.Errorf("%d octets allocate %d", len(wire), n)
			}
		})
	}
}
