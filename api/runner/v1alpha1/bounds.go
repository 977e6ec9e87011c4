package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// maxDocument bounds the JSON document of the binary form of a snapshot in octets. That of a plan with 256 steps has
// less than 1 MiB.
const maxDocument = 4 << 20

// Size is what a JSON document allocates memory for. A bound in octets alone is not enough: an element of two octets
// can become a struct of a kilobyte, and a member of eight an entry of a map with a hundred.
type Size struct {
	Octets int
	// Elements are the objects and the elements of lists.
	Elements int
	// Members are those of objects.
	Members int
}

// maxSnapshot bounds a snapshot. That of a plan with 256 steps has some 4,000 elements and 30,000 members. The JSON
// form also has the distributions.
var maxSnapshot = Size{Octets: 16 << 20, Elements: 16 << 10, Members: 128 << 10}

// UnmarshalSnapshot decodes the JSON form of a snapshot. The memory that it allocates is bounded, whatever a runner
// sends.
func UnmarshalSnapshot(text []byte, into *Snapshot) error {
	if err := maxSnapshot.allow(sizeOf(text, maxSnapshot.Elements)); err != nil {
		return fmt.Errorf("the snapshot %w", err)
	}
	return json.Unmarshal(text, into)
}

// UnmarshalReport decodes a report. Its size is taken off left.
func UnmarshalReport(text []byte, into *Report, left *Size) error {
	has := sizeOf(text, left.Elements)
	if err := left.allow(has); err != nil {
		return fmt.Errorf("the report %w", err)
	}
	left.Octets, left.Elements, left.Members = left.Octets-has.Octets, left.Elements-has.Elements, left.Members-has.Members
	return json.Unmarshal(text, into)
}

// allow returns an error if a document is larger than the size.
func (s Size) allow(has Size) error {
	if has.Octets > s.Octets || has.Elements > s.Elements || has.Members > s.Members {
		return fmt.Errorf("has %d octets, %d objects and list elements, and %d members of objects; allowed: at most %d, %d "+
			"and %d", has.Octets, has.Elements, has.Members, s.Octets, s.Elements, s.Members)
	}
	return nil
}

// sizeOf returns the size of a JSON document, without checking its syntax, or of a part of it with more elements than
// most. The elements of a list are its commas and one, and so are the members of an object.
func sizeOf(text []byte, most int) Size {
	n := Size{Octets: len(text)}
	lists := make([]bool, 0, 16) // for each open bracket, whether it is a list
	for i := 0; i < len(text) && n.Elements <= most; i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			n.Elements++
			lists = append(lists, text[i] == '[')
			if text[i] == '{' {
				n.Members++
			}
		case '}', ']':
			lists = lists[:max(0, len(lists)-1)]
		case ',':
			switch {
			case len(lists) == 0:
			case lists[len(lists)-1]:
				n.Elements++
			default:
				n.Members++
			}
		}
	}
	return n
}
