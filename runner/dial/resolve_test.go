package dial

import (
	"net/netip"
	"testing"
)

func TestPick(t *testing.T) {
	parse := func(all ...string) (out []netip.Addr) {
		for _, s := range all {
			out = append(out, netip.MustParseAddr(s))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		ips    []netip.Addr
		number int
		want   string
	}{
		{"ascending, whatever the answer's order", parse("10.0.0.9", "10.0.0.1", "10.0.0.5"), 0, "10.0.0.1"},
		{"one after another", parse("10.0.0.9", "10.0.0.1", "10.0.0.5"), 2, "10.0.0.9"},
		{"and round again", parse("10.0.0.9", "10.0.0.1", "10.0.0.5"), 4, "10.0.0.5"},
		{"the family that comes first", parse("fd00::2", "10.0.0.1", "fd00::1"), 1, "fd00::2"},
		{"mapped addresses are IPv4", parse("::ffff:10.0.0.2", "10.0.0.1", "fd00::1"), 1, "10.0.0.2"},
		{"no address twice", parse("10.0.0.1", "10.0.0.1", "10.0.0.2"), 1, "10.0.0.2"},
	} {
		if got := pick(tt.ips, tt.number).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
