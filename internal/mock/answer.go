package mock

import (
	"slices"
	"strconv"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// answer is a kind of response.
type answer uint8

const (
	answerCreated    answer = iota // 201 with a location
	answerContent                  // 200 with the body
	answerHead                     // 200 without it
	answerNoContent                // 204
	answerNotFound                 // 404
	answerNotAllowed               // 405 with allow
	answerTooLong                  // 414: no location is made below such a path
	answerFull                     // 503: the store or the queue is full
	answerCount
)

var answerStatus = [answerCount]int{201, 200, 200, 204, 404, 405, 414, 503}

type field struct{ name, value string }

// answerFields has the constant header fields of each answer. A 204 must not have a
// content-length (RFC 9110 section 8.6).
func answerFields(bodySize int) [answerCount][]field {
	none := field{"content-length", "0"}
	content := []field{
		{":status", "200"},
		{"content-type", "application/json"},
		{"content-length", strconv.Itoa(bodySize)},
	}
	return [answerCount][]field{
		answerCreated:    {{":status", "201"}, none},
		answerContent:    content,
		answerHead:       content,
		answerNoContent:  {{":status", "204"}},
		answerNotFound:   {{":status", "404"}, none},
		answerNotAllowed: {{":status", "405"}, none, {"allow", "GET, HEAD, POST, PUT, PATCH, DELETE"}},
		answerTooLong:    {{":status", "414"}, none},
		answerFull:       {{":status", "503"}, none},
	}
}

// encoder has the header blocks of all answers, ready to be copied.
//
// The first response with a constant field inserts it into the client's dynamic table. No other fields are inserted.
// So the table has few states: one for each order of insertion. In each state the blocks are constant. A connection
// stores the number of its state. State 0 is for clients whose table is too small: its blocks use no table.
type encoder struct {
	states []tableState
	// tableSize is the size of the table, in bytes, that the states above 0 need.
	tableSize uint32
	// location is an encoded location field without its value, which follows as a literal.
	location []byte
}

type tableState struct {
	inserted []field // oldest first
	block    [answerCount][]byte
	next     [answerCount]uint8
}

const (
	staticState = 0
	emptyState  = 1
)

func newEncoder(bodySize int) *encoder {
	fields := answerFields(bodySize)
	e := &encoder{states: []tableState{{}, {}}}
	e.location = literalPrefix(nil, "location")
	for a, fs := range fields {
		e.states[staticState].block[a] = appendStatic(nil, fs)
	}
	for i := emptyState; i < len(e.states); i++ { // grows as states are found
		for a, fs := range fields {
			block, inserted := appendDynamic(nil, fs, e.states[i].inserted)
			e.states[i].block[a] = block
			e.states[i].next[a] = e.state(inserted)
		}
	}
	for _, f := range tableFields(fields) {
		e.tableSize += uint32(hpack.EntrySize(f.name, f.value))
	}
	return e
}

// state returns the number of the state with these entries. If it does not exist, state adds it.
func (e *encoder) state(inserted []field) uint8 {
	for i := emptyState; i < len(e.states); i++ {
		if slices.Equal(e.states[i].inserted, inserted) {
			return uint8(i)
		}
	}
	e.states = append(e.states, tableState{inserted: inserted})
	return uint8(len(e.states) - 1)
}

// append appends the block of an answer, without the value of location, and returns the next state of the client's
// table.
func (e *encoder) append(dst []byte, state uint8, a answer) ([]byte, uint8) {
	s := &e.states[state]
	dst = append(dst, s.block[a]...)
	if a == answerCreated {
		dst = append(dst, e.location...)
	}
	return dst, s.next[a]
}

// worthIndexing returns false for fields of the static table and for fields of rare answers: each additional field
// multiplies the number of states.
func worthIndexing(f field) bool {
	full, _ := hpack.StaticIndex(f.name, f.value)
	rare := f.name == ":status" && f.value != "201" || f.name == "allow"
	return full == 0 && !rare
}

// tableFields returns the fields that the encoder may insert into the table.
func tableFields(answers [answerCount][]field) (table []field) {
	for _, fs := range answers {
		for _, f := range fs {
			if worthIndexing(f) && !slices.Contains(table, f) {
				table = append(table, f)
			}
		}
	}
	return table
}

func appendStatic(dst []byte, fs []field) []byte {
	for _, f := range fs {
		full, name := hpack.StaticIndex(f.name, f.value)
		if full != 0 {
			dst = hpack.AppendIndexed(dst, full)
			continue
		}
		dst = hpack.AppendLiteral(dst, hpack.Without, name, f.name, f.value)
	}
	return dst
}

// appendDynamic appends the fields for a table with these entries, and returns the entries afterwards.
func appendDynamic(dst []byte, fs, inserted []field) ([]byte, []field) {
	const firstDynamic = 62 // RFC 7541 section 2.3.3: the newest entry
	table := slices.Clone(inserted)
	for _, f := range fs {
		if !worthIndexing(f) {
			dst = appendStatic(dst, []field{f})
			continue
		}
		if at := slices.Index(table, f); at >= 0 {
			dst = hpack.AppendIndexed(dst, firstDynamic+len(table)-1-at)
			continue
		}
		_, name := hpack.StaticIndex(f.name, f.value)
		dst = hpack.AppendLiteral(dst, hpack.Incremental, name, f.name, f.value)
		table = append(table, f)
	}
	return dst, table
}

func literalPrefix(dst []byte, name string) []byte {
	_, index := hpack.StaticIndex(name, "")
	return hpack.AppendLiteralPrefix(dst, hpack.Without, index, name)
}
