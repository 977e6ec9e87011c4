package v1alpha1

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
)

func TestElements(t *testing.T) {
	for text, want := range map[string]int{
		``:                           0,
		`{"a":1,"b":2}`:              1,
		`{"a":[1,2,3]}`:              4,
		`{"a":[{},{}],"b":{"c":[]}}`: 7,
		`{"a":"[,,,\"[,,,{"}`:        1,
		`{"a":"\\","b":[0,0]}`:       3,
		`]]]],,,{`:                   1,
	} {
		if got := elements([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestHostileSnapshots: the memory that an answer allocates is bounded, also if elements of lists have the wrong type.
func TestHostileSnapshots(t *testing.T) {
	for name, document := range map[string]string{
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
