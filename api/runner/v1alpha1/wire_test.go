package v1alpha1

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// full has a different distribution in each place but one, which is empty.
func full() *Snapshot {
	s := &Snapshot{
		APIVersion: APIVersion, Kind: SnapshotKind, Shard: 3, Boot: "b", Sequence: 7, State: StateDone,
		Counters: Counters{Requests: Requests{Outcomes: Outcomes{Sent: 5}}}, StatusCodes: map[string]int64{"200": 5}, Steps: make([]StepCounters, 3), Targets: make([]TargetTimes, 2), Histograms: &Histograms{},
	}
	i := 0
	for h := range s.distributions {
		if i++; i != 5 {
			*h = Histogram{Count: int64(i), Max: 9, Counts: bytes.Repeat([]byte{byte(i)}, 10*i)}
		}
	}
	return s
}

func TestBinary(t *testing.T) {
	live := full()
	live.Histograms = nil
	for name, s := range map[string]*Snapshot{"final": full(), "live": live, "empty": {}} {
		before, _ := json.Marshal(s)
		b, err := s.AppendBinary([]byte("x"))
		if err != nil || b[0] != 'x' {
			t.Fatalf("%s: %q, %v", name, b[:1], err)
		}
		if after, _ := json.Marshal(s); !bytes.Equal(before, after) {
			t.Errorf("%s: AppendBinary changed the snapshot", name)
		}
		var got, want Snapshot
		if err := got.ReadBinary(bytes.NewReader(b[1:]), int64(len(b)-1)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.Unmarshal(before, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestReadBinaryRefuses(t *testing.T) {
	good, err := full().AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte, size int64) error { return new(Snapshot).ReadBinary(bytes.NewReader(b), size) }
	for n := range good {
		if err := read(good[:n], int64(len(good))); err == nil {
			t.Fatalf("no error for %d of %d octets", n, len(good))
		}
	}
	part := func(b string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	huge := append(part(`{"responseTime":{"count":1}}`), part(strings.Repeat("a", maxCounts+1))...)
	for name, tc := range map[string]struct {
		in   []byte
		size int64
		want string
	}{
		"more than one snapshot": {append(bytes.Clone(good), 1), 1 << 20, "after the last"},
		"no JSON":                {part("{"), 1 << 20, "JSON"},
		"a document that is larger than the stream":  {part("{}"), 1, "allowed: at most 1"},
		"counts that are larger than the stream":     {good, int64(len(good)) - 200, "allowed: at most"},
		"counts that are larger than a distribution": {huge, 1 << 30, "allowed: at most 262144"},
	} {
		if err := read(tc.in, tc.size); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
	}
}

func FuzzReadBinary(f *testing.F) {
	for _, s := range []*Snapshot{full(), {}} {
		b, err := s.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again Snapshot
		if s.ReadBinary(bytes.NewReader(b), int64(len(b))) != nil {
			return
		}
		b, err := s.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.ReadBinary(bytes.NewReader(b), int64(len(b))); err != nil {
			t.Fatalf("read, but not what was written of it: %v", err)
		}
		first, _ := json.Marshal(&s)
		second, _ := json.Marshal(&again)
		if !bytes.Equal(first, second) {
			t.Fatalf("first %s\nsecond %s", first, second)
		}
	})
}
