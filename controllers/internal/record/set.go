package record

import (
	"fmt"
	"strconv"
	"strings"
)

// maxShard bounds the shards in a Set.
const maxShard = 1 << 20

// Set is a sorted list of shards. Its text has ranges: "0-3,5".
type Set []int

// MarshalText writes the ranges.
func (s Set) MarshalText() ([]byte, error) {
	var out []byte
	for i := 0; i < len(s); {
		last := i
		for last+1 < len(s) && s[last+1] == s[last]+1 {
			last++
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(s[i]), 10)
		if last > i {
			out = strconv.AppendInt(append(out, '-'), int64(s[last]), 10)
		}
		i = last + 1
	}
	return out, nil
}

// UnmarshalText reads the ranges. It returns an error unless they are in ascending order.
func (s *Set) UnmarshalText(text []byte) error {
	*s = nil
	if len(text) == 0 {
		return nil
	}
	next := 0
	for part := range strings.SplitSeq(string(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, err := strconv.Atoi(from)
		if err != nil {
			return fmt.Errorf("shards %q: %w", text, err)
		}
		high, err := strconv.Atoi(to)
		if err != nil {
			return fmt.Errorf("shards %q: %w", text, err)
		}
		if low < next || high < low || high > maxShard {
			return fmt.Errorf("shards %q: must be in ascending order", text)
		}
		for i := low; i <= high; i++ {
			*s = append(*s, i)
		}
		next = high + 1
	}
	return nil
}
