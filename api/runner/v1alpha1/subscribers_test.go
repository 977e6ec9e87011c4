package v1alpha1

import "testing"

func TestCheckOfSubscribers(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*Subscribers)
	}{
		{"", func(*Subscribers) {}},
		{"", func(s *Subscribers) { s.GPSI, s.PEI, s.IPv4, s.IPv6Prefix = nil, nil, nil, nil }},
		{"", func(s *Subscribers) { s.Start, s.Count = 1<<24-1, 1 }},
		{"", func(s *Subscribers) { s.AKA = &AKA{OPc: &Content{}} }},
		{"count must be from 1 to 10000000000, and start from 0 to 10000000000", func(s *Subscribers) { s.Count = 0 }},
		{"count must be from 1 to 10000000000, and start from 0 to 10000000000", func(s *Subscribers) { s.Start = -1 }},
		{"supi: has values for the numbers 0 to 9999999999, but start and count need 1 to 10000000000", func(s *Subscribers) { s.Start, s.Count = 1, 1e10 }},
		{"supi.mcc: must have 3 digits", func(s *Subscribers) { s.SUPI.MCC = "1" }},
		{"supi.mnc: must have 2 or 3 digits", func(s *Subscribers) { s.SUPI.MNC = "+1" }},
		{"supi.digits: must be from 6 to 15", func(s *Subscribers) { s.SUPI.Digits = 5 }},
		{"supi.digits: must be from 6 to 15", func(s *Subscribers) { s.SUPI.Digits = 16 }},
		{"gpsi.prefix: must consist of digits", func(s *Subscribers) { s.GPSI.Prefix = "" }},
		{"gpsi.digits: must be from 5 to 15", func(s *Subscribers) { s.GPSI.Digits = 4 }},
		{"gpsi: has values for the numbers 0 to 99, but start and count need 0 to 999", func(s *Subscribers) { s.GPSI.Digits = 5 }},
		{"pei.tac: must have 8 digits", func(s *Subscribers) { s.PEI.TAC = "-1234567" }},
		{"pei.softwareVersion: must have 2 digits", func(s *Subscribers) { s.PEI.SoftwareVersion = "1" }},
		{"pei: has values for the numbers 0 to 999999, but start and count need 0 to 1000000", func(s *Subscribers) { s.PEI.TAC, s.Count = "99999999", 1e6+1 }},
		{"ipv4: has values for the numbers 0 to 255, but start and count need 0 to 999", func(s *Subscribers) { s.IPv4.Pool = "10.0.0.0/24" }},
		{"ipv4.pool: has bits after the prefix; write 10.0.0.0/8", func(s *Subscribers) { s.IPv4.Pool = "10.0.0.1/8" }},
		{"ipv4.pool: must be a prefix, such as 10.0.0.0/8", func(s *Subscribers) { s.IPv4.Pool = "2001:db8::/32" }},
		{"ipv4.pool: must be a prefix, such as 10.0.0.0/8", func(s *Subscribers) { s.IPv4.Pool = "" }},
		{"ipv6Prefix.pool: must be a prefix, such as 2001:db8::/32", func(s *Subscribers) { s.IPv6Prefix.Pool = "::ffff:10.0.0.0/104" }},
		{"ipv6Prefix.length: must be from 32, the length of pool, to 128", func(s *Subscribers) { s.IPv6Prefix.Length = 31 }},
		{"ipv6Prefix.length: must be from 32, the length of pool, to 128", func(s *Subscribers) { s.IPv6Prefix.Length = 129 }},
		{"ipv6Prefix: has values for the numbers 0 to 15, but start and count need 0 to 999", func(s *Subscribers) { s.IPv6Prefix.Length = 36 }},
		{"aka: exactly one of op and opc is needed", func(s *Subscribers) { s.AKA = &AKA{} }},
		{"aka: exactly one of op and opc is needed", func(s *Subscribers) { s.AKA = &AKA{OP: &Content{}, OPc: &Content{}} }},
	} {
		s := &Subscribers{
			Count: 1000, SUPI: SUPI{MCC: "001", MNC: "01", Digits: 15}, GPSI: &GPSI{Prefix: "999", Digits: 13}, PEI: &PEI{TAC: "00100000"},
			IPv4: &IPv4Pool{Pool: "10.0.0.0/8"}, IPv6Prefix: &IPv6Pool{Pool: "2001:db8::/32", Length: 64},
		}
		tt.change(s)
		got := ""
		if err := s.Check(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
