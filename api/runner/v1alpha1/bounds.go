package v1alpha1

import (
	"encoding/json"
	"fmt"
)

const (
	// maxDocument bounds the JSON document of a snapshot in octets. The document of a plan with 256 steps has less than 1
	// MiB.
	maxDocument = 4 << 20
	// maxElements bounds the objects and the elements of lists in the document. A plan with 256 steps has some 4,000. An
	// element of two octets can become a struct of a kilobyte, so a bound in octets alone is not enough.
	maxElements = 16 << 10
)

// UnmarshalSnapshot decodes the JSON form of a snapshot. The memory that it allocates is bounded, whatever a runner
// sends.
func UnmarshalSnapshot(text []byte, into *Snapshot) error {
	if n := elements(text); n > maxElements {
		return fmt.Errorf("the snapshot has %d objects and list elements; allowed: at most %d", n, maxElements)
	}
	return json.Unmarshal(text, into)
}

// elements returns the number of objects and of list elements in a JSON document, without checking its syntax. The
// elements of a list are its commas and one.
func elements(text []byte) (n int) {
	lists := make([]bool, 0, 16) // for each open bracket, whether it is a list
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			n++
			lists = append(lists, text[i] == '[')
			if len(lists) > maxElements {
				return n
			}
		case '}', ']':
			lists = lists[:max(0, len(lists)-1)]
		case ',':
			if len(lists) > 0 && lists[len(lists)-1] {
				n++
			}
		}
	}
	return n
}
