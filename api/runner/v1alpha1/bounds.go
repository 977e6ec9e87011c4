package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// maxDocument bounds the JSON document of the binary form of a snapshot in octets. That of a plan with 256 steps has
// less than 1 MiB.
const maxDocument = 4 << 20

// size is what a JSON document allocates memory for. A bound in octets alone is not enough: an element of two octets can
// become a struct of a kilobyte, and a member of eight an entry of a map with a hundred.
type size struct {
	// elements are the objects and the elements of lists.
	elements int
	// members are those of objects.
	members int
}

// maxSnapshot bounds a snapshot. That of a plan with 256 steps has some 4,000 elements and 30,000 members.
var maxSnapshot = size{elements: 16 << 10, members: 128 << 10}

// UnmarshalSnapshot decodes the JSON form of a snapshot. The memory that it allocates is bounded, whatever a runner
// sends.
func UnmarshalSnapshot(text []byte, into *Snapshot) error {
	if err := maxSnapshot.allow(sizeOf(text, maxSnapshot)); err != nil {
		return fmt.Errorf("the snapshot %w", err)
	}
	return json.Unmarshal(text, into)
}

// allow returns an error if a document is larger than the size.
func (s size) allow(has size) error {
	if has.elements > s.elements || has.members > s.members {
		return fmt.Errorf("has %d objects and list elements and %d members of objects; allowed: at most %d and %d",
			has.elements, has.members, s.elements, s.members)
	}
	return nil
}

// sizeOf returns the size of a JSON document, without checking its syntax, or of a part of it that is larger than most.
// The elements of a list are its commas and one, and so are the members of an object.
func sizeOf(text []byte, most size) (n size) {
	lists := make([]bool, 0, 16) // for each open bracket, whether it is a list
	for i := 0; i < len(text) && n.elements <= most.elements; i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			n.elements++
			lists = append(lists, text[i] == '[')
			if text[i] == '{' {
				n.members++
			}
		case '}', ']':
			lists = lists[:max(0, len(lists)-1)]
		case ',':
			switch {
			case len(lists) == 0:
			case lists[len(lists)-1]:
				n.elements++
			default:
				n.members++
			}
		}
	}
	return n
}
