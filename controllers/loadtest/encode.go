package loadtest

import (
	"fmt"

	"github.com/h2surge/h2surge/controllers/internal/checkpoint"
)

// fit encodes v in at most limit bytes, taking details away in order until it fits. It returns
// the names of those.
func fit[T any](v T, limit int, details []detail[T]) (gz []byte, dropped []string, err error) {
	for i := 0; ; i++ {
		if gz, err = checkpoint.Compress(v); err != nil {
			return nil, nil, fmt.Errorf("encoding a %T: %w", v, err)
		}
		if len(gz) <= limit {
			return gz, dropped, nil
		}
		if i == len(details) {
			return nil, nil, fmt.Errorf("it has %d bytes without its details; report.maxBytes of the operator allows %d",
				len(gz), limit)
		}
		v = details[i].without(v)
		dropped = append(dropped, details[i].name)
	}
}

// detail is a part of v that can be left out. without must not change its argument.
type detail[T any] struct {
	name    string
	without func(T) T
}
